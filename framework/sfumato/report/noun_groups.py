"""Nouns in words, a whole sweep as one: ``rbf length_scale=1, 2, …, 10 (10 values), times=50``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import attrs

from sfumato.plain_json import to_json
from sfumato.report.noun_names import NAMELESS, full_name, shown
from sfumato.report.sweep_axes import distinct, tables_of

if TYPE_CHECKING:
    from sfumato.comparison import Cell

FEW = 4
"""Values of a sweep that are all written."""


@attrs.frozen
class NounGroup:
    """Nouns of one name and label that are swept: a label, the words, the first and how many."""

    label: str
    said: str
    first: Any
    size: int


def noun_groups(cells: Sequence[Cell], kind: str) -> list[NounGroup]:
    """Return the nouns of one kind; those that are all values of a sweep, as one.

    >>> import sfumato as sf
    >>> cells = sf.compare(
    ...     [sf.priors.rbf(length_scale=float(l), times=3) for l in range(1, 11)],
    ...     [sf.secrets.basic(1)],
    ...     [sf.mechanisms.gaussian_uniform(mse=0.1)],
    ...     [sf.measures.renyi()],
    ... ).cells
    >>> [group.said for group in noun_groups(cells, "prior")]
    ['rbf length_scale=1, 2, …, 10 (10 values), times=3']
    """
    pairs = distinct((cell.labels.get(kind, ""), getattr(cell, kind)) for cell in cells)
    tables = tables_of([noun for _, noun in pairs])
    groups: dict[Any, list[tuple[Any, dict[str, Any]]]] = {}
    for (label, noun), table in zip(pairs, tables, strict=True):
        # Nouns made of others have no name of their own and stay by themselves.
        groups.setdefault((label, table.get("name", noun)), []).append((noun, table))
    found = []
    for (label, _), members in groups.items():
        nouns = [noun for noun, _ in members]
        words = _swept([table for _, table in members]) if len(members) > 1 else None
        if words is None:
            found += [NounGroup(label, full_name(noun), noun, 1) for noun in nouns]
        else:
            found.append(NounGroup(label, words, nouns[0], len(nouns)))
    return found


def _swept(tables: Sequence[dict[str, Any]]) -> str | None:
    """Return the words for all tables at once, or None unless they are every combination."""
    values = {
        key: list({to_json(table[key]): table[key] for table in tables}.values())
        for key in tables[0]
        if key != "name"
    }
    if math.prod(map(len, values.values())) != len(tables) or set(values) & set(NAMELESS):
        return None
    inside = [f"{key.removesuffix('.name')}={_listed(options)}" for key, options in values.items()]
    return f"{tables[0]['name']} {', '.join(inside)}"


def _listed(values: Sequence[Any]) -> str:
    """Write the values; "1 or 3" is a class of both, so a sweep is counted instead."""
    texts = [shown(value) for value in values]
    if len(texts) == 1:
        return texts[0]
    if len(texts) > FEW:
        texts[2:-1] = ["…"]
    return f"{', '.join(texts)} ({len(values)} values)"
