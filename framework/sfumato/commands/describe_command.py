"""`sfumato describe NAME`: signature, domains, formula and reference of one plugin."""

from __future__ import annotations

from typing import Any

import click

from sfumato.commands.arguments import (
    plain_table,
    print_json,
    require_known,
    with_json,
    with_plugins,
)
from sfumato.compatibility import words_of
from sfumato.plugin_registry import Entry, default_registry, written_document

WORDS = {"asks": "needs", "reads": "needs", "yields": "gives"}
"""What the class attributes are called before users."""


@click.command("describe")
@with_plugins
@with_json
@click.argument("name")
def command(*, name: str, as_json: bool) -> None:
    """Describe the plugin NAME: what it takes, what it computes, where it comes from."""
    from rich.console import Console

    entries = require_known(name, default_registry())
    if as_json:
        print_json([_plain(entry) for entry in entries])
        return
    console = Console()
    for entry in entries:
        _describe(entry, console)


def _plain(entry: Entry) -> dict[str, Any]:
    cls = entry.value
    parameters = [
        {
            "name": item.name,
            "must be": item.domain.sentence,
            **({} if item.required else {"default": repr(item.default)}),
            "meaning": item.doc,
        }
        for item in cls.parameters()
    ]
    types = {words: _types(getattr(cls, at)) for at, words in WORDS.items() if hasattr(cls, at)}
    told = {"kind": entry.kind, "name": entry.name, "from": entry.origin}
    return {**told, "what it is": written_document(cls), "parameters": parameters, **types}


def _describe(entry: Entry, console: Any) -> None:
    from rich.markup import escape

    cls = entry.value
    console.print(f"[bold]{entry.name}[/bold]  ({entry.kind}, from {escape(entry.origin)})\n")
    document = written_document(cls).split("\n>>>")[0].strip()
    console.print(escape("\n\n".join(map(_reflowed, document.split("\n\n")))), end="\n\n")
    if cls.parameters():
        table = plain_table("parameter", "must be", "default", "meaning")
        table.columns[0].no_wrap = True
        for item in cls.parameters():
            default = "" if item.required else repr(item.default)
            cells = (item.name, item.domain.sentence, default, item.doc)
            table.add_row(*map(escape, cells))
        console.print(table, "")
    for attribute, words in WORDS.items():
        if hasattr(cls, attribute):
            rows = map(escape, _types(getattr(cls, attribute)))
            console.print(f"{words}:", *rows, sep="\n  ")


def _reflowed(paragraph: str) -> str:
    """Return a paragraph in one line, for the terminal to break; formulas and lists stay."""
    lines = paragraph.splitlines()
    laid_out = any(line.startswith((" ", "-", "*", "|")) for line in lines)
    return paragraph if laid_out else " ".join(lines)


def _types(value: Any) -> list[str]:
    """Return declared types in the words that users know, one combination each."""
    if isinstance(value, type):
        return [_words(value)]
    if isinstance(value, dict):
        return [f"{_words(question)} of {_words(belief)}" for belief, question in value.items()]
    return [" with ".join(map(_words, row)) for row in value if all(map(_words, row))]


def _words(kind: type) -> str:
    return "anything" if kind is object else words_of(kind)
