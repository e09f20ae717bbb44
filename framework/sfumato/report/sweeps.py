"""Which parameters of a comparison were swept: found from what its nouns say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from sfumato.parameters import Declared
from sfumato.prior_classes.families import Family
from sfumato.values import to_json

if TYPE_CHECKING:
    from sfumato.comparison.cells import Cell


KINDS = ("prior", "secret", "mechanism", "measure")
FEWEST = 3
"""Values that make a sweep; two are a comparison of two."""


@attrs.frozen
class SweepAxis:
    """A numeric parameter of one noun that takes several values while the rest stays the same."""

    kind: str
    parameter: str

    def value(self, cell: Cell) -> float | None:
        """Return the cell's value of the parameter, or None where its noun has none."""
        found: Any = said(getattr(cell, self.kind)).get(self.parameter)
        return float(found) if _is_number(found) else None


def flat(noun: Any) -> dict[str, Any]:
    """Return what a noun says, nested tables opened: ``{"adversary.name": "map"}``.

    >>> import sfumato as sf
    >>> flat(sf.priors.rbf(length_scale=6.0, times=50))
    {'name': 'rbf', 'length_scale': 6.0, 'times': 50}
    """
    specification = getattr(noun, "specification", None)
    plain = specification() if specification else {"name": str(noun)}
    return dict(_leaves(plain, ""))


def said(noun: Any) -> dict[str, Any]:
    """Return what a noun says, with the defaults of what it leaves open.

    >>> import sfumato as sf
    >>> said(sf.secrets.basic(3))
    {'radius': 1.0, 'name': 'basic', 'index': 3}
    """
    return {**_defaults(noun), **flat(noun)}


def tables_of(nouns: Sequence[Any]) -> list[dict[str, Any]]:
    """Return what each noun says, with its default where another noun of its name says more.

    >>> import sfumato as sf
    >>> tables_of([sf.secrets.trajectory(0), sf.secrets.trajectory(2)])
    [{'name': 'trajectory', 'mistakes': 0}, {'name': 'trajectory', 'mistakes': 2}]
    """
    written = [flat(noun) for noun in nouns]
    keys: dict[Any, dict[str, None]] = {}
    for table in written:
        keys.setdefault(table.get("name"), {}).update(dict.fromkeys(table))
    return [
        {key: table.get(key, _defaults(noun).get(key)) for key in keys[table.get("name")]}
        for noun, table in zip(nouns, written, strict=True)
    ]


def _defaults(noun: Any) -> dict[str, Any]:
    """Return the defaults of a noun's optional parameters."""
    cls = noun.prior if isinstance(noun, Family) else type(noun)
    if not (attrs.has(cls) and issubclass(cls, Declared)):
        return {}
    try:
        return {item.name: item.default for item in cls.parameters() if not item.required}
    except KeyError:  # made by the framework, without declared parameters
        return {}


def _leaves(plain: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for key, value in plain.items():
        if isinstance(value, Mapping) and "name" in value:
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def distinct(nouns: Iterable[Any]) -> list[Any]:
    """Return the nouns without repetitions, in order."""
    return list(dict.fromkeys(nouns))


def sweep_axes(cells: Sequence[Cell], fewest: int = FEWEST) -> list[SweepAxis]:
    """Return the parameters with at least `fewest` values, the one with the most first."""
    sizes: dict[SweepAxis, int] = {}
    for kind in KINDS:
        tables = tables_of(distinct(getattr(cell, kind) for cell in cells))
        numeric = {key for table in tables for key, value in table.items() if _is_number(value)}
        for parameter in sorted(numeric):
            longest = _longest_run(tables, parameter)
            if longest >= fewest:
                sizes[SweepAxis(kind, parameter)] = longest
    return sorted(sizes, key=lambda axis: -sizes[axis])


def _longest_run(tables: list[dict[str, Any]], parameter: str) -> int:
    """Return the most values that the parameter takes while nothing else changes."""
    groups: dict[str, set[float]] = {}
    for table in tables:
        if _is_number(table.get(parameter)):
            rest = to_json({key: value for key, value in table.items() if key != parameter})
            groups.setdefault(rest, set()).add(table[parameter])
    return max((len(values) for values in groups.values()), default=0)
