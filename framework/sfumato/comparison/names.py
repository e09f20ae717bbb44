"""What nouns say, as tables and columns, and what they are called: by label or by what they say."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from sfumato.comparison.cells import KINDS, Cell
from sfumato.parameters import Declared
from sfumato.prior_classes.families import Family
from sfumato.values import to_json

if TYPE_CHECKING:
    import pandas as pd

COMPOUNDS = {"any_of": " or ", "union": " | ", "sum": " + ", "product": " × "}
"""What nouns made of others say instead of a name, and the word between those."""
LONGEST_LIST = 40
"""Characters of a list; a longer one is written by its beginning."""
LARGEST = 2**63 - 1
"""That a column of whole numbers holds."""

Table = Mapping[str, Any]
K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


def group_by(items: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """Return the items by key, both in the order of their first appearance.

    >>> from sfumato.comparison.names import group_by
    >>> group_by(["b", "a", "bb"], len)
    {1: ['b', 'a'], 2: ['bb']}
    """
    groups: dict[K, list[T]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def noun_table(noun: Any, *, defaults: bool = False) -> dict[str, Any]:
    """Return what a noun says, nested nouns opened, with or without what it leaves open.

    >>> import sfumato as sf
    >>> from sfumato.comparison.names import noun_table
    >>> one = sf.mechanisms.randomised_response(epsilon=1.0)
    >>> noun_table(one)
    {'name': 'randomised_response', 'epsilon': 1.0}
    """
    specification = getattr(noun, "specification", None)
    table = _open_nested(specification() if specification else {"name": str(noun)})
    return {**_defaults(noun), **table} if defaults else table


def _open_nested(plain: Table, prefix: str = "") -> dict[str, Any]:
    """Return a flat table: ``{"adversary.name": "map"}``."""
    table: dict[str, Any] = {}
    for key, value in plain.items():
        nested = isinstance(value, Mapping) and "name" in value
        table |= _open_nested(value, f"{prefix}{key}.") if nested else {prefix + key: value}
    return table


def noun_tables(nouns: Sequence[Any]) -> list[dict[str, Any]]:
    """Return what each noun says, with its default where another noun of its name says more.

    >>> import sfumato as sf
    >>> from sfumato.comparison.names import noun_tables
    >>> noun_tables([sf.secrets.trajectory(0), sf.secrets.trajectory(2)])
    [{'name': 'trajectory', 'mistakes': 0}, {'name': 'trajectory', 'mistakes': 2}]
    """
    written = list(map(noun_table, nouns))
    keys: dict[Any, dict[str, None]] = {}
    for table in written:
        keys.setdefault(table.get("name"), {}).update(dict.fromkeys(table))
    return [
        {key: table.get(key, _defaults(noun).get(key)) for key in keys[table.get("name")]}
        for noun, table in zip(nouns, written, strict=True)
    ]


def _defaults(noun: Any) -> dict[str, Any]:
    cls = noun.prior if isinstance(noun, Family) else type(noun)
    if not (attrs.has(cls) and issubclass(cls, Declared)):
        return {}
    try:
        return {item.name: item.default for item in cls.parameters() if not item.required}
    except KeyError:  # made by the framework, without declared parameters
        return {}


def value_text(value: Any) -> str:
    """Write a value for people: 6 for 6.0, a table by its shape, a class by its ends.

    >>> from sfumato.comparison.names import value_text
    >>> value_text(6.0), value_text({"interval": [3.0, 12.0]}), value_text([[1], [0]])
    ('6', '3 to 12', '2×1 table')
    """
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    if isinstance(value, (int, float)):
        return f"{value:.6g}".replace("inf", "∞")
    if isinstance(value, (list, tuple)):
        return _list_text(value)
    table = value.specification() if hasattr(value, "specification") else value
    if not isinstance(table, Mapping):
        return str(value)
    if set(table) == {"interval"}:
        return " to ".join(map(value_text, table["interval"]))
    return _head(table) + ("" if set(table) == {"any_of"} else f"({_inside(table)})")


def _list_text(value: Sequence[Any]) -> str:
    if value and all(isinstance(item, (list, tuple)) for item in value):
        sizes = [len(value)]
        while isinstance(value[0], (list, tuple)) and value[0]:
            value = value[0]
            sizes.append(len(value))
        return "×".join(map(str, sizes)) + " table"
    text = ", ".join(map(value_text, value))
    text = text if len(text) <= LONGEST_LIST else text[:LONGEST_LIST].rsplit(" ", 1)[0] + " …"
    return text if len(value) == 1 else f"[{text}]"


def full_name(noun: Any) -> str:
    """Return a noun with all that it says: ``rbf length_scale=6, times=50``.

    >>> import sfumato as sf
    >>> from sfumato.comparison.names import full_name
    >>> full_name(sf.priors.rbf(length_scale=sf.Interval(3, 6), times=50))
    'rbf length_scale=3 to 6, times=50'
    """
    table = noun_table(noun)
    return f"{_head(table)} {_inside(table)}".strip()


def _head(table: Table) -> str:
    """Return the name of a noun, or those of which it is made."""
    for key, between in COMPOUNDS.items():
        if key in table and "name" not in table:
            return between.join(map(value_text, table[key]))
    return str(table.get("name") or next(iter(table)).partition(".")[0])


def _inside(table: Table, but: Iterable[str] = ()) -> str:
    """Return the parameters, but for some, in words: ``mse=0.1, adversary=map``."""
    return ", ".join(
        f"{key.removesuffix('.name')}={value_text(value)}"
        for key, value in table.items()
        if key not in but and key != "name" and (key not in COMPOUNDS or "name" in table)
    )


def noun_key(cell: Cell, kind: str) -> tuple[str, Any]:
    """Return the label and the noun of one kind: what tells a comparison's nouns apart."""
    return cell.labels.get(kind, ""), getattr(cell, kind)


def keyed_tables(cells: Sequence[Cell], kind: str) -> dict[tuple[str, Any], dict[str, Any]]:
    """Return what each noun of one kind says, by its key."""
    keys = list(dict.fromkeys(noun_key(cell, kind) for cell in cells))
    return dict(zip(keys, noun_tables([noun for _, noun in keys]), strict=True))


@attrs.frozen
class NounNames:
    """The names of one factor's nouns: `of` each, and what is `shared` by all of them.

    A label is used as it is; where several nouns share it, the parameters in which they differ
    follow. A noun without a label has its registered name and the parameters that are not shared
    by all, or by all of its name.
    """

    shared: str
    names: Mapping[Any, str]

    @property
    def several(self) -> bool:
        """Whether there is more than one name, so that one has to be told."""
        return len(self.names) > 1

    def of(self, cell: Cell, kind: str) -> str:
        """Return the short name of a cell's noun."""
        return self.names[noun_key(cell, kind)]


def noun_names(cells: Sequence[Cell], kind: str, without: str = "") -> NounNames:
    """Return the names of the cells' nouns of one kind, as if they had no parameter `without`."""
    tables = keyed_tables(cells, kind)
    for table in tables.values():
        table.pop(without, None)
    by_label = group_by(tables, lambda key: key[0])
    bare = [tables[key] for key in by_label.get("", ())]
    by_head = group_by(bare, _head)
    one_name = len(by_head) == 1 and len(bare) == len(tables)
    common = _common(bare)
    shared = f"{_head(bare[0]) if one_name else ''} {_inside(common)}".strip()
    if len(tables) == 1:
        (key,) = tables
        return NounNames(key[0] or shared, {key: key[0] or shared})
    of_head = {
        head: {key: value for key, value in _common(group).items() if key not in common}
        for head, group in by_head.items()
        if len(group) > 1 and not one_name
    }
    names = {}
    for key, table in tables.items():
        label, head = key[0], _head(table)
        if label:
            different = _inside(table, _common([tables[other] for other in by_label[label]]))
            names[key] = f"{label}, {different}" if different else label
        else:
            different = _inside(table, {**common, **of_head.get(head, {})})
            names[key] = different if one_name else f"{head} {different}".strip()
    every = [f"every {head} {_inside(own)}" for head, own in of_head.items() if _inside(own)]
    return NounNames("; ".join(filter(None, (shared, *every))), _number_equals(names, tables))


def _common(tables: Sequence[Table]) -> dict[str, Any]:
    """Return what all tables say alike."""
    written = [{key: to_json(value) for key, value in table.items()} for table in tables]
    return {
        key: value
        for key, value in (tables[0] if tables else {}).items()
        if all(other.get(key) == written[0][key] for other in written)
    }


def _number_equals(names: Mapping[Any, str], tables: Mapping[Any, Table]) -> dict[Any, str]:
    """Add numbers to names that are equal though what the nouns say is not."""
    meanings: dict[str, dict[str, int]] = {}
    for key, name in names.items():
        known = meanings.setdefault(name, {})
        known.setdefault(to_json(tables[key]), len(known) + 1)
    return {
        key: f"{name} #{meanings[name][to_json(tables[key])]}" if len(meanings[name]) > 1 else name
        for key, name in names.items()
    }


def parameter_columns(cells: Sequence[Cell]) -> dict[str, pd.Series[Any]]:
    """Return the value in every cell of each parameter in which nouns of one name differ.

    Whole numbers stay whole beside cells that have none. A class or a list is text (JSON); tables
    of numbers are left to the noun's own column.
    """
    columns = {}
    for kind in KINDS:
        nouns = dict.fromkeys(getattr(cell, kind) for cell in cells)
        tables = {noun: noun_table(noun, defaults=True) for noun in nouns}
        for parameter in _varying(noun_tables(list(nouns))):
            values = [tables[getattr(cell, kind)].get(parameter) for cell in cells]
            if not any(map(_is_table, values)):
                columns[f"{kind}.{parameter}"] = typed_column(values)
    return columns


def _varying(tables: Sequence[dict[str, Any]]) -> list[str]:
    """Return the parameters that two nouns of one name have with different values."""
    found: dict[str, None] = {}
    for same in group_by(tables, lambda table: table.get("name")).values():
        for key in same[0]:
            if len({to_json(table.get(key)) for table in same}) > 1:
                found[key] = None
    return [parameter for parameter in found if parameter not in ("name", *COMPOUNDS)]


def _is_table(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and any(isinstance(row, (list, tuple)) for row in value)


def typed_column(values: Sequence[Any]) -> pd.Series[Any]:
    """Return a column of the narrowest type: truths, whole numbers, numbers, else text.

    >>> from sfumato.comparison.names import typed_column
    >>> typed_column([3, None]).dtype, typed_column([3, 0.5]).dtype
    (Int64Dtype(), dtype('float64'))
    """
    import pandas as pd

    there = [value for value in values if value is not None]
    types = {next((t for t in (bool, int, float) if isinstance(v, t)), str) for v in there}
    if types == {bool}:
        return pd.Series(values, dtype="boolean")
    if types <= {int} and all(abs(value) <= LARGEST for value in there):
        return pd.Series(values, dtype="Int64")
    if types <= {int, float} and float in types:
        return pd.Series(values, dtype="float64")
    texts = [value if isinstance(value, str | None) else to_json(value) for value in values]
    return pd.Series(texts, dtype=object)
