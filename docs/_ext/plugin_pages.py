"""The reference of every registered plugin, written from its declaration and its docstring.

``.. plugins:: prior`` writes a section for each prior, ``.. plugin:: measure renyi`` one plugin,
``.. plugin-list:: measure`` a table of links to the pages of single measures, which are written
when a build begins, and ``.. worlds::`` a table of which measure can be read in which world.
"""

from __future__ import annotations

import inspect
import re
import string
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from docutils import nodes
from docutils.statemachine import StringList
from mathml import mark_formulas
from sphinx import addnodes
from sphinx.util.docutils import SphinxDirective

from sfumato.commands.list_command import MARKS, definitions_by_world
from sfumato.compatibility import words_of
from sfumato.plugin_registry import default_registry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx

PARTS = ("Claim", "Formula", "Assumptions", "Guarantee", "Proof", "Reference")
"""The parts of a docstring, as CONTRIBUTING orders them."""
NEEDS = {"asks": "Needs", "reads": "Needs", "yields": "Gives"}
NAMESPACES = {
    "prior": "priors",
    "secret": "secrets",
    "mechanism": "mechanisms",
    "adversary": "adversaries",
    "measure": "measures",
}
PAGES = "measure"
"""The noun whose plugins have a page each."""


def split_docstring(cls: type) -> tuple[list[tuple[str, str]], str]:
    """Return the parts of a docstring, each with its label or "", and its examples."""
    text, mark, examples = (inspect.getdoc(cls) or "").partition("\n>>>")
    text = re.sub(rf"\n(?=(?:{'|'.join(PARTS)}): )", "\n\n", text.split("\nExamples\n")[0])
    parts = []
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        label, colon, rest = paragraph.partition(": ")
        known = bool(colon) and label in PARTS
        parts.append((label, rest) if known else ("", paragraph))
    return parts, (mark + examples).strip()


def write_pages(app: Sphinx) -> None:
    """Write a page for each measure, and remove those of measures that are gone."""
    folder = Path(app.srcdir) / "reference" / f"{PAGES}s"
    wanted = {
        f"{name}.rst": f"{name}\n{'=' * len(name)}\n\n.. plugin:: {PAGES} {name}\n"
        for name in default_registry().names(PAGES)
    }
    for page in folder.glob("*.rst"):
        if page.name not in {"index.rst", *wanted}:
            page.unlink()
    for name, text in wanted.items():
        page = folder / name
        if not page.exists() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")


class PluginDirective(SphinxDirective):
    """What the three directives share: parsing, and one plugin as nodes."""

    required_arguments: ClassVar[int] = 1

    def parse(self, text: str, source: str) -> list[nodes.Node]:
        """Return docstring text, parsed."""
        holder = nodes.container()
        lines = mark_formulas(text).split("\n")
        self.state.nested_parse(StringList(lines, source=source), self.content_offset, holder)
        return holder.children

    def describe(self, kind: str, name: str) -> list[nodes.Node]:
        """Return one plugin: how it is written, its statement, its parameters, its examples."""
        cls = default_registry().get(kind, name)
        self.env.note_dependency(inspect.getfile(cls))  # a page is old when its docstring is new
        parts, examples = split_docstring(cls)
        found: list[nodes.Node] = [_signature(kind, name, cls)]
        statement = nodes.definition_list(classes=["statement"])
        for label, text in [*parts, *_types(cls)]:
            capital = label and re.match(r"[a-z]+\b(?! ?[=(])", text)
            words = text[0].upper() + text[1:] if capital else text
            parsed = self.parse(words, f"{kind} {name}")
            if not label and not statement.children:
                found += parsed
            elif not label:
                statement.children[-1].children[-1].extend(parsed)
            else:
                term, body = nodes.term(text=label), nodes.definition("", *parsed)
                statement += nodes.definition_list_item("", term, body)
        found += [statement] if statement.children else []
        found += self._parameters(cls)
        if examples and re.search(rf"\b{cls.__name__}\(", examples):
            examples = f">>> from {cls.__module__} import {cls.__name__}\n{examples}"
        if examples:
            found.append(nodes.rubric(text="Example"))
            found.append(nodes.literal_block(examples, examples, language="pycon"))
        return found

    def _parameters(self, cls: Any) -> list[nodes.Node]:
        if not cls.parameters():
            return []
        rows = [
            (
                nodes.literal(text=item.name),
                nodes.Text(item.domain.sentence),
                nodes.Text("") if item.required else nodes.literal(text=repr(item.default)),
                nodes.Text(item.doc),
            )
            for item in cls.parameters()
        ]
        return [_table(("parameter", "must be", "default", "meaning"), rows)]


class Plugin(PluginDirective):
    """``.. plugin:: measure renyi`` is one plugin."""

    required_arguments: ClassVar[int] = 2

    def run(self) -> list[nodes.Node]:
        """Return its description."""
        return self.describe(*self.arguments)


class Plugins(PluginDirective):
    """``.. plugins:: prior`` is every prior, a section each."""

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        kind = self.arguments[0]
        found: list[nodes.Node] = []
        for name in default_registry().names(kind):
            section = nodes.section("", nodes.title(text=name), ids=[f"{kind}-{name}"])
            section += self.describe(kind, name)
            found.append(section)
        return found


class PluginList(PluginDirective):
    """``.. plugin-list:: measure`` is a table of links."""

    def run(self) -> list[nodes.Node]:
        """Return the table: the name, the sentence, the guarantee."""
        kind = self.arguments[0]
        rows = []
        for name in default_registry().names(kind):
            parts, _ = split_docstring(default_registry().get(kind, name))
            words = nodes.inline(
                "", "", *self.parse(" ".join(parts[0][1].split()), name)[0].children
            )
            rows.append((_link(kind, name, self.env.docname), words))
        return [_table((kind, "in one sentence"), rows)]


class Worlds(SphinxDirective):
    """``.. worlds::`` is a table of which measure can be read in which world, and why not."""

    def run(self) -> list[nodes.Node]:
        """Return the worlds by letter, the table, and below it the reasons by number."""
        letters: dict[str, str] = {}
        reasons: dict[str, int] = {}
        marks: dict[str, list[str]] = {}
        for place in definitions_by_world(default_registry()):
            letters.setdefault(place.world, string.ascii_uppercase[len(letters)])
            mark = MARKS[place.standing]
            if place.reason:
                mark = str(reasons.setdefault(place.reason, len(reasons) + 1))
            marks.setdefault(place.measure, []).append(mark)
        alike: dict[tuple[str, ...], list[str]] = {}  # attackers stand in one row where they can
        for title in sorted(marks):
            name, _, attacker = title.partition(" ")
            alike.setdefault((name, *marks[title]), []).append(attacker)
        rows: list[tuple[nodes.Node, ...]] = []
        for (name, *own), attackers in alike.items():
            label = nodes.inline("", "", _link("measure", name, self.env.docname))
            if any(attackers):
                label += nodes.Text(f" by {', '.join(attackers)}")
            rows.append((label, *map(nodes.Text, own)))
        worlds = "; ".join(f"{letter} {world}" for world, letter in letters.items())
        why = (nodes.list_item("", nodes.paragraph(text=reason)) for reason in reasons)
        return [
            nodes.paragraph(text=f"{worlds}."),
            nodes.paragraph(text="● exact; ◐ between bounds; a number: no, for the reason below"),
            _table(("measure", *letters.values()), rows),
            nodes.raw("", "<details><summary>The reasons, by number</summary>", format="html"),
            nodes.enumerated_list("", *why, enumtype="arabic", prefix="", suffix="."),
            nodes.raw("", "</details>", format="html"),
        ]


def _link(kind: str, name: str, page: str) -> nodes.Node:
    """Return a link to the page of a plugin."""
    return addnodes.pending_xref(
        "",
        nodes.literal(text=name),
        reftype="doc",
        refdomain="std",
        refexplicit=True,
        reftarget=f"/reference/{kind}s/{name}",
        refdoc=page,
        refwarn=True,
    )


def _signature(kind: str, name: str, cls: Any) -> nodes.Node:
    """Return how a user writes it, with a link to its source."""
    written = ", ".join(
        item.name if item.required else f"{item.name}={item.default!r}" for item in cls.parameters()
    )
    signature = addnodes.desc_signature(
        "", "", module=cls.__module__, fullname=cls.__qualname__, class_="", is_multiline=False
    )
    signature["ids"] = [f"{cls.__module__}.{cls.__qualname__}"]
    signature += addnodes.desc_addname(text=f"sf.{NAMESPACES[kind]}.")
    signature += addnodes.desc_name(text=name)
    signature += addnodes.desc_sig_punctuation(text=f"({written})")
    return addnodes.desc(
        "",
        signature,
        addnodes.desc_content(),
        domain="py",
        objtype="class",
        desctype="class",
        classes=["py", "plugin-signature"],
    )


def _types(cls: Any) -> Iterator[tuple[str, str]]:
    """Yield what it needs and gives, in a user's words."""
    for attribute, label in NEEDS.items():
        value = getattr(cls, attribute, None)
        if value is None:
            continue
        rows = _words(value)
        yield label, "\n".join(f"- {row}" for row in rows) if len(rows) > 1 else f"{rows[0]}."


def _words(value: Any) -> list[str]:
    """Return what fits, a phrase for each way."""
    if isinstance(value, type):
        return [words_of(value)]
    if hasattr(value, "items"):
        return [f"{words_of(item)} of {words_of(key)}" for key, item in value.items()]
    rows = (" with ".join(words_of(kind) for kind in row if kind is not object) for row in value)
    return [row for row in rows if row]  # packages' own questions have no words of their own


def _table(heads: tuple[str, ...], rows: list[tuple[nodes.Node, ...]]) -> nodes.Node:
    group = nodes.tgroup("", cols=len(heads))
    group += [nodes.colspec(colwidth=1) for _ in heads]
    group += nodes.thead("", _row([nodes.Text(head) for head in heads]))
    group += nodes.tbody("", *(_row(row) for row in rows))
    return nodes.table("", group)


def _row(cells: Any) -> nodes.Node:
    return nodes.row("", *(nodes.entry("", nodes.paragraph("", "", cell)) for cell in cells))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives."""
    app.connect("builder-inited", write_pages)
    app.add_directive("plugin", Plugin)
    app.add_directive("plugins", Plugins)
    app.add_directive("plugin-list", PluginList)
    app.add_directive("worlds", Worlds)
    return {"parallel_read_safe": True}
