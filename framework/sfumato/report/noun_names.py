"""Short names for nouns: what they all share is said once, above, and left out below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from sfumato.plain_json import to_json
from sfumato.report.sweep_axes import distinct, flat, tables_of

if TYPE_CHECKING:
    from sfumato.comparison import Cell

LONGEST = 40
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
    text = text if len(text) <= LONGEST else text[:LONGEST].rsplit(" ", 1)[0] + " …"
    return text if len(value) == 1 else f"[{text}]"
