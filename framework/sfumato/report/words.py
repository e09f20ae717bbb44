"""What nouns are called: by label or by what they say, cut to fit and still told apart."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import attrs

from sfumato.comparison.cells import KINDS, Cell
from sfumato.parameters import Declared
from sfumato.prior_classes.families import Family
from sfumato.values import to_json

FACTORS = KINDS[:-1]
"""The nouns of a scenario."""
COMPOUNDS = {"any_of": " or ", "union": " | ", "sum": " + ", "product": " × "}
"""What nouns made of others say instead of a name, and the word between those."""
LONGEST = 46
"""Characters of a name beside a panel."""
LONGEST_LIST = 40
"""Characters of a list; a longer one is written by its beginning."""
FEW = 4
"""Values of a sweep that are all written."""
BETWEEN = " · "

Table = Mapping[str, Any]
K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


def group_by(items: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """Return the items by key, both in the order of their first appearance.

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
    >>> noun_table(sf.secrets.basic(3)), noun_table(sf.secrets.basic(3), defaults=True)
    ({'name': 'basic', 'index': 3}, {'radius': 1.0, 'name': 'basic', 'index': 3})
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


def _keyed_tables(cells: Sequence[Cell], kind: str) -> dict[tuple[str, Any], dict[str, Any]]:
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

    def of(self, cell: Cell, kind: str) -> str:
        """Return the short name of a cell's noun."""
        return self.names[noun_key(cell, kind)]


def noun_names(cells: Sequence[Cell], kind: str, without: str = "") -> NounNames:
    """Return the names of the cells' nouns of one kind, as if they had no parameter `without`."""
    tables = _keyed_tables(cells, kind)
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


@attrs.frozen
class NounGroup:
    """Nouns of one name and label that are swept: ``rbf length_scale=1, 2, …, 9 (9 values)``."""

    label: str
    words: str
    first: Any
    size: int = 1


def noun_groups(cells: Sequence[Cell], kind: str) -> list[NounGroup]:
    """Return the nouns of one kind; those that are all values of a sweep, as one."""
    tables = _keyed_tables(cells, kind)
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


def _sweep_words(tables: Sequence[Table]) -> str:
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
