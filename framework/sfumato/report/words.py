"""The words of figures and pages: sweeps in one line, names cut to fit and still told apart."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from sfumato.comparison.cells import Cell
from sfumato.comparison.names import (
    COMPOUNDS,
    full_name,
    group_by,
    keyed_tables,
    noun_names,
    value_text,
)
from sfumato.values import to_json

LONGEST = 46
"""Characters of a name beside a panel."""
FEW = 4
"""Values of a sweep that are all written."""
BETWEEN = " · "


@attrs.frozen
class NounGroup:
    """Nouns of one name and label that are swept: ``rbf length_scale=1, 2, …, 9 (9 values)``."""

    label: str
    words: str
    first: Any
    size: int = 1


def noun_groups(cells: Sequence[Cell], kind: str) -> list[NounGroup]:
    """Return the nouns of one kind; those that are all values of a sweep, as one."""
    tables = keyed_tables(cells, kind)
    found = []
    # Nouns made of others have no name of their own and stay by themselves.
    groups = group_by(tables, lambda key: (key[0], tables[key].get("name", key[1])))
    for members in groups.values():
        words = _sweep_words([tables[key] for key in members])
        if words:
            found.append(NounGroup(members[0][0], words, members[0][1], len(members)))
        else:
            found += [NounGroup(label, full_name(noun), noun) for label, noun in members]
    return found


def _sweep_words(tables: Sequence[Mapping[str, Any]]) -> str:
    """Return the words for all tables at once, or none unless they are every combination."""
    values = {
        key: list({to_json(table[key]): table[key] for table in tables}.values())
        for key in tables[0]
        if key != "name"
    }
    sizes = [len(some) for some in values.values()]
    if len(tables) == 1 or math.prod(sizes) != len(tables) or set(values) & set(COMPOUNDS):
        return ""
    inside = []
    for key, some in values.items():
        texts = list(map(value_text, some))
        if len(texts) > FEW:
            texts[2:-1] = ["…"]
        # "1 or 3" is a class of both, so a sweep is counted instead.
        count = f" ({len(some)} values)" if len(some) > 1 else ""
        inside.append(f"{key.removesuffix('.name')}={', '.join(texts)}{count}")
    return f"{tables[0]['name']} {', '.join(inside)}"


def scenario_names(cells: Sequence[Cell], kinds: Sequence[str]) -> list[str]:
    """Return, for each cell, the names of the nouns in which the cells differ, cut to fit."""
    names = {kind: noun_names(cells, kind) for kind in kinds}
    varying = [kind for kind in kinds if len(names[kind].names) > 1]
    return short_names([tuple(names[kind].of(cell, kind) for kind in varying) for cell in cells])


def short_names(names: Sequence[tuple[str, ...]], longest: int = LONGEST) -> list[str]:
    """Join the words of each name, cutting the longest words until the names fit.

    >>> short_names([("rbf length_scale=1", "x"), ("rbf length_scale=3", "x")], longest=15)
    ['rbf…scale=1 · x', 'rbf…scale=3 · x']
    """
    if not any(map(any, names)):  # nothing varies, so there is nothing to tell apart
        return [""] * len(names)
    columns = list(zip(*names, strict=True))
    widths = [max(map(len, words)) for words in columns]
    room = longest - len(BETWEEN) * (sum(width > 0 for width in widths) - 1)
    while sum(widths) > room and max(widths) > 6:
        widths[widths.index(max(widths))] -= 1
    cut = [_cut(words, width) for words, width in zip(columns, widths, strict=True)]
    return [BETWEEN.join(filter(None, words)) for words in zip(*cut, strict=True)]


def _cut(words: Sequence[str], width: int) -> list[str]:
    """Return the words at a width; cut ones that became equal are numbered."""
    known: dict[str, dict[str, int]] = {}
    cut = []
    for word in words:
        short = word if len(word) <= width else _elide(word, width)
        number = known.setdefault(short, {}).setdefault(word, len(known[short]) + 1)
        cut.append(short if number == 1 else f"{_elide(word, width - 2)}#{number}")
    return cut


def _elide(word: str, width: int) -> str:
    """Leave out the middle: names begin with what they are and end with what tells them apart."""
    beginning = width // 3
    return f"{word[:beginning].rstrip()}…{word[beginning + 1 - width :].lstrip()}"
