"""Tables inside tables, and the values in them by place: ``"k1.length_scale"``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any


def places(table: Mapping[str, Any], wanted: Callable[[Any], bool]) -> Iterator[tuple[str, Any]]:
    """Yield the place and the value of everything that is wanted, however deep it lies.

    >>> list(places({"a": 1, "b": {"c": 2}}, lambda value: value == 2))
    [('b.c', 2)]
    """
    for key, value in table.items():
        if wanted(value):
            yield key, value
        elif isinstance(value, Mapping):
            yield from ((f"{key}.{place}", found) for place, found in places(value, wanted))


def value_at(table: Mapping[str, Any], place: str) -> Any:
    """Return the value at a place.

    >>> value_at({"a": 1, "b": {"c": 2}}, "b.c")
    2
    """
    key, _, rest = place.partition(".")
    return value_at(table[key], rest) if rest else table[key]


def replaced(table: Mapping[str, Any], place: str, value: Any) -> dict[str, Any]:
    """Return a copy of the table with another value at a place.

    >>> replaced({"a": 1, "b": {"c": 2}}, "b.c", 3)
    {'a': 1, 'b': {'c': 3}}
    """
    key, _, rest = place.partition(".")
    return {**table, key: replaced(table[key], rest, value) if rest else value}
