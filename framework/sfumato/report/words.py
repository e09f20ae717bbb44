"""Names that fit beside a figure: cut where they are long, and still told apart."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from sfumato.report.sweeps import distinct, flat, tables_of
from sfumato.values import to_json

if TYPE_CHECKING:
    from sfumato.comparison.cells import Cell


LONGEST = 46
"""Characters of a name beside a panel."""
BETWEEN = " · "


def short_names(names: Sequence[tuple[str, ...]], longest: int = LONGEST) -> list[str]:
    """Join the words of each name, cutting the longest words until the names fit.

    >>> short_names([("rough", "uniform"), ("rough", "optimal")])
    ['rough · uniform', 'rough · optimal']
    >>> short_names([("rbf length_scale=1", "x"), ("rbf length_scale=3", "x")], longest=15)
    ['rbf…scale=1 · x', 'rbf…scale=3 · x']
    """
    if not any(map(any, names)):  # nothing varies, so there is nothing to tell apart
        return [""] * len(names)
    widest = [max(map(len, words)) for words in zip(*names, strict=True)]
    room = longest - len(BETWEEN) * (sum(width > 0 for width in widest) - 1)
    while sum(widest) > room and max(widest) > 6:
        widest[widest.index(max(widest))] -= 1
    columns = [
        _cut(words, width) for words, width in zip(zip(*names, strict=True), widest, strict=True)
    ]
    return [BETWEEN.join(word for word in words if word) for words in zip(*columns, strict=True)]


def _cut(words: Sequence[str], width: int) -> list[str]:
    """Return the words at a width; cut ones that became equal are numbered."""
    known: dict[str, dict[str, int]] = {}
    cut = []
    for word in words:
        short = word if len(word) <= width else _elided(word, width)
        number = known.setdefault(short, {}).setdefault(word, len(known[short]) + 1)
        cut.append(short if number == 1 else f"{_elided(word, width - 2)}#{number}")
    return cut


def _elided(word: str, width: int) -> str:
    """Leave out the middle: names begin with what they are and end with what tells them apart."""
    beginning = width // 3
    return f"{word[:beginning].rstrip()}…{word[beginning + 1 - width :].lstrip()}"


LONGEST_NAME = 40
"""Characters of a list; a longer one is shown by its beginning."""

NAMELESS = {"any_of": " or ", "union": " | ", "sum": " + ", "product": " × "}
"""Nouns made of others, and the word between those."""
NOT_SAID = ("name", *NAMELESS)

Table = Mapping[str, Any]


@attrs.frozen
class NounNames:
    """The names of one factor's nouns: `of` each, and what is `shared` by all of them.

    A label is used as it is; where several nouns share it, the parameters in which they differ
    follow. A noun without a label has its registered name and the parameters that are not shared
    by all, or by all of its name.
    """

    shared: str
    names: Mapping[Any, str]

    def of(self, cell: Cell, kind: str) -> str:
        """Return the short name of a cell's noun."""
        return self.names[cell.labels.get(kind, ""), getattr(cell, kind)]


def noun_names(cells: Sequence[Cell], kind: str, without: str = "") -> NounNames:
    """Return the names of the cells' nouns of one kind, as if they had no parameter `without`."""
    pairs = distinct((cell.labels.get(kind, ""), getattr(cell, kind)) for cell in cells)
    said = tables_of([noun for _, noun in pairs])
    for table in said:
        table.pop(without, None)
    tables = dict(zip(pairs, said, strict=True))
    bare = [tables[pair] for pair in pairs if not pair[0]]
    fixed = _fixed(bare)
    one_name = len({_head(table) for table in bare}) == 1 and len(bare) == len(pairs)
    shared = _said(fixed)
    if len(pairs) == 1 and not pairs[0][0]:
        whole = _called(_head(bare[0]), shared)
        return NounNames(whole, {pairs[0]: whole})
    own = {} if one_name else _fixed_by_name(bare, fixed)
    names = {}
    for pair, table in tables.items():
        if pair[0]:
            alike = [tables[other] for other in pairs if other[0] == pair[0]]
            inside = _different(table, _fixed(alike))
            names[pair] = ", ".join([pair[0], *inside])
        else:
            inside = _different(table, {**fixed, **own.get(_head(table), {})})
            names[pair] = ", ".join(inside) if one_name else _called(_head(table), inside)
    by_name = [
        f"every {_called(head, _said(items))}" for head, items in own.items() if _said(items)
    ]
    common = _called(_head(bare[0]), shared) if one_name else ", ".join(shared)
    return NounNames(
        "; ".join(filter(None, (common, *by_name))),
        _told_apart(names, tables),
    )


def _said(fixed: Table) -> list[str]:
    return [f"{key}={shown(value)}" for key, value in fixed.items() if key not in NOT_SAID]


def _fixed_by_name(tables: Sequence[Table], fixed: Table) -> dict[str, dict[str, Any]]:
    """Return what several nouns of one name say alike, beyond what all nouns do."""
    groups: dict[str, list[Table]] = {}
    for table in tables:
        groups.setdefault(_head(table), []).append(table)
    return {
        head: {key: value for key, value in _fixed(group).items() if key not in fixed}
        for head, group in groups.items()
        if len(group) > 1
    }


def full_name(noun: Any) -> str:
    """Return a noun with all that it says: ``rbf length_scale=6, times=50``.

    >>> import sfumato as sf
    >>> full_name(sf.priors.rbf(length_scale=sf.Interval(3, 6), times=50))
    'rbf length_scale=3 to 6, times=50'
    """
    table = flat(noun)
    return _called(_head(table), _different(table, {}))


def _head(table: Table) -> str:
    for key, between in NAMELESS.items():
        if key in table and "name" not in table:
            return between.join(shown(option) for option in table[key])
    return str(table.get("name") or next(iter(table)).partition(".")[0])


def _fixed(tables: Sequence[Table]) -> dict[str, Any]:
    """Return what all tables say alike."""
    if not tables:
        return {}
    written = [{key: to_json(value) for key, value in table.items()} for table in tables]
    return {
        key: value
        for key, value in tables[0].items()
        if all(other.get(key) == written[0][key] for other in written)
    }


def _different(table: Table, fixed: Table) -> list[str]:
    return [
        f"{key.removesuffix('.name')}={shown(value)}"
        for key, value in table.items()
        if key not in fixed and key != "name" and not (key in NAMELESS and "name" not in table)
    ]


def _told_apart(names: dict[Any, str], tables: Mapping[Any, Table]) -> dict[Any, str]:
    """Add numbers to names that are still equal though what they say is not."""
    written = {pair: to_json(table) for pair, table in tables.items()}
    meanings: dict[str, list[str]] = {}
    for pair, name in names.items():
        if written[pair] not in meanings.setdefault(name, []):
            meanings[name].append(written[pair])
    return {
        pair: f"{name} #{1 + meanings[name].index(written[pair])}"
        if len(meanings[name]) > 1
        else name
        for pair, name in names.items()
    }


def _called(head: str, inside: Sequence[str]) -> str:
    """Write a name and its parameters with spaces, where lines may break."""
    return f"{head} {', '.join(inside)}" if inside else head


def shown(value: Any) -> str:
    """Write a value for people: 6 for 6.0, a table by its shape, a class by its ends.

    >>> shown(6.0), shown({"interval": [3.0, 12.0]}), shown(["home", "work"]), shown([[1], [0]])
    ('6', '3 to 12', '[home, work]', '2×1 table')
    """
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    if isinstance(value, (int, float)):
        return f"{value:.6g}".replace("inf", "∞")
    if isinstance(value, Mapping):
        return _shown_table(value)
    if isinstance(value, (list, tuple)):
        return _shown_list(value)
    return str(value)


def _shown_table(value: Table) -> str:
    if set(value) == {"interval"}:
        return " to ".join(shown(end) for end in value["interval"])
    if set(value) == {"any_of"}:
        return NAMELESS["any_of"].join(shown(option) for option in value["any_of"])
    inside = ", ".join(_different(value, {}))
    return f"{_head(value)}({inside})"


def _shown_list(value: Sequence[Any]) -> str:
    if value and all(isinstance(item, (list, tuple)) for item in value):
        sizes = [len(value)]
        while isinstance(value[0], (list, tuple)) and value[0]:
            value = value[0]
            sizes.append(len(value))
        return "×".join(map(str, sizes)) + " table"
    text = ", ".join(shown(item) for item in value)
    text = text if len(text) <= LONGEST_NAME else text[:LONGEST_NAME].rsplit(" ", 1)[0] + " …"
    return text if len(value) == 1 else f"[{text}]"


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
