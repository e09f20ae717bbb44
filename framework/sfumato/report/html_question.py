"""The question of a comparison in words, as HTML."""

from __future__ import annotations

import inspect
from html import escape
from typing import TYPE_CHECKING, Any

from sfumato.prior_classes import AnyOf
from sfumato.prior_families import Family
from sfumato.report.noun_groups import NounGroup, noun_groups
from sfumato.secret_unions import SecretUnion

if TYPE_CHECKING:
    from sfumato.comparison import Comparison

ROLES = {
    "prior": "The adversary believes",
    "secret": "What must stay hidden",
    "mechanism": "What is released",
    "measure": "How loss is counted",
}
MOST_NOUNS = 8


def question(comparison: Comparison) -> str:
    """Return a list of the four roles, each with its nouns and what they are."""
    roles = []
    for kind, words in ROLES.items():
        groups = noun_groups(comparison.cells, kind)
        told: set[str] = set()
        items = "".join(_item(group, told) for group in groups[:MOST_NOUNS])
        more = sum(group.size for group in groups[MOST_NOUNS:])
        if more > 0:
            items += f"<li class='more'>and {more} more</li>"
        roles.append(f"<div><dt>{words}</dt><dd><ul>{items}</ul></dd></div>")
    return f"<dl class='question'>{''.join(roles)}</dl>"


def _item(group: NounGroup, told: set[str]) -> str:
    """Return a noun; what it is, unless that was told before."""
    summary = _summary(group.first)
    words = "" if summary in told else f"<span>{escape(summary)}</span>"
    told.add(summary)
    name = f"<b>{escape(group.label)}</b> " if group.label else ""
    return f"<li>{name}<code>{escape(group.said)}</code>{words}</li>"


def _summary(noun: Any) -> str:
    """Return the first paragraph of the plugin's documentation."""
    if isinstance(noun, AnyOf):
        return "Any of several priors."
    if isinstance(noun, SecretUnion):
        return "Several secrets, none of which may be learnt."
    cls = noun.prior if isinstance(noun, Family) else type(noun)
    return (inspect.getdoc(cls) or "").split("\n\n")[0].replace("\n", " ").replace("`", "")
