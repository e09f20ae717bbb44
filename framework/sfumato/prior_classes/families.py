"""Families: the priors of one kind whose parameters lie in intervals or choices."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import attrs
import numpy as np

from sfumato.domains import Domain
from sfumato.parameters import Declared, code, literal
from sfumato.prior_classes.sets import AnyOf, Interval, largest, require_one_trace
from sfumato.prior_classes.suprema import search_box, search_line
from sfumato.protocols import Prior, PriorClass, ScaleEnd, Supremum
from sfumato.values import content_key, places, replace_at, value_at

RoughValues = Callable[[Any], Sequence[float] | None]

AGREEMENT = 1e-3
"""Largest relative difference at which rough values can be trusted to rank members."""


def is_set(value: object) -> bool:
    """Whether a parameter is given a set of values; a class of whole priors is one value.

    >>> is_set(Interval(1, 2)), is_set(2.0)
    (True, False)
    """
    if isinstance(value, AnyOf):
        return not isinstance(value.options[0], PriorClass)
    return isinstance(value, Interval)


def sets_of(cls: type[Declared], given: Mapping[str, Any]) -> dict[str, Interval | AnyOf]:
    """Return the sets among the values given to a class, by parameter or by place inside one.

    >>> import sfumato as sf
    >>> table = {"name": "RBF", "length_scale": sf.Interval(3, 6)}
    >>> sets_of(sf.priors.kernel.plugin, {"kernel": table, "times": 5})
    {'kernel.length_scale': sf.Interval(3.0, 6.0)}
    """
    domains = _domains(cls)
    opened = {name: domains[name].open_parts(value) for name, value in given.items()}
    return dict(places(opened, is_set))


def _domains(cls: type[Declared]) -> dict[str, Domain]:
    return {declared.name: declared.domain for declared in cls.parameters()}


def _as_held(kind: Interval | AnyOf, place: str, members: list[Prior]) -> Interval | AnyOf:
    """Return a choice of the values that the members hold; an interval as it is."""
    if isinstance(kind, Interval):
        return kind
    values = (value_at(_opened(member), place) for member in members)
    return AnyOf.listed({content_key(value): value for value in values}.values())


def _opened(member: Prior) -> dict[str, Any]:
    return {
        declared.name: declared.domain.open_parts(getattr(member, declared.name))
        for declared in member.parameters()
    }


@attrs.frozen(eq=False, repr=False)
class Family(PriorClass):
    """The priors of one kind whose parameters lie in given intervals or choices.

    The namespaces make it. What varies is named by its parameter or, for a parameter that is a
    table, by its place in it, such as ``"kernel.k1.length_scale"``.

    >>> import sfumato as sf
    >>> family = sf.priors.rbf(length_scale=sf.AnyOf(1.0, 3.0), times=5)
    >>> [member.length_scale for member in family.members()]
    [1.0, 3.0]
    """

    prior: type[Prior]
    fixed: Mapping[str, Any]
    varying: Mapping[str, Interval | AnyOf]
    _members: tuple[Prior, ...] = attrs.field(default=(), init=False, eq=False)

    def __attrs_post_init__(self) -> None:
        members = list(self._spread())  # checks every end point and every choice
        require_one_trace(members, self.name)
        # Kept as the members hold them: checked, read-only, and without what is the default.
        given = {declared.name: value for declared, value in members[0].given()}
        fixed = {name: value for name, value in given.items() if name not in self.varying}
        varying = {place: _as_held(kind, place, members) for place, kind in self.varying.items()}
        object.__setattr__(self, "fixed", MappingProxyType(fixed))
        object.__setattr__(self, "varying", MappingProxyType(varying))
        object.__setattr__(self, "_members", tuple(members))

    def __reduce__(self) -> tuple[Any, ...]:
        return Family, (self.prior, dict(self.fixed), dict(self.varying))

    @property
    def name(self) -> str:
        """The registered name of the prior."""
        return self.prior.name

    @property
    def yields(self) -> type:
        """The type of belief of the members."""
        return self.prior.yields

    @property
    def finite(self) -> bool:
        """Whether no parameter varies over an interval."""
        return all(isinstance(domain, AnyOf) for domain in self.varying.values())

    def member(self, values: Mapping[str, Any]) -> Prior:
        """Return the member with these values of what varies."""
        domains, table = _domains(self.prior), dict(self.fixed)
        for place, value in values.items():
            name, _, inside = place.partition(".")
            if inside:
                table[name] = replace_at(domains[name].open_parts(table[name]), inside, value)
            else:
                table[name] = value
        return self.prior(**table)

    def choices(self) -> Iterator[dict[str, Any]]:
        """Yield every combination of the choices (not of the intervals)."""
        lists = {k: v.options for k, v in self.varying.items() if isinstance(v, AnyOf)}
        for values in itertools.product(*lists.values()):
            yield dict(zip(lists, values, strict=True))

    def intervals(self) -> dict[str, Interval]:
        """Return what varies over an interval, by its place."""
        return {k: v for k, v in self.varying.items() if isinstance(v, Interval)}

    def members(self) -> Iterator[Prior]:
        """Yield every member of a finite family; of intervals, the ends and a few between.

        They are the same objects each time, so that each member's belief is built once.
        """
        yield from self._members

    def _spread(self) -> Iterator[Prior]:
        intervals = self.intervals()
        for chosen in self.choices():
            spreads = (interval.spread() for interval in intervals.values())
            for point in itertools.product(*spreads):
                yield self.member({**chosen, **dict(zip(intervals, point, strict=True))})

    def supremum(self, function: Callable[[Prior], float]) -> Supremum:
        """Return the largest value: over all members, or searched where an interval varies."""
        intervals = self.intervals()
        if not intervals:
            found = [Supremum(function(member), member, "finite") for member in self.members()]
            return largest(found)
        return largest(self._search(function, chosen, intervals) for chosen in self.choices())

    def _search(
        self,
        function: Callable[[Prior], float],
        chosen: Mapping[str, Any],
        intervals: Mapping[str, Interval],
    ) -> Supremum:
        tried: dict[tuple[float, ...], tuple[float, Prior]] = {}

        def value_at(point: tuple[float, ...]) -> float:
            if point not in tried:
                member = self.member({**chosen, **dict(zip(intervals, point, strict=True))})
                tried[point] = (function(member), member)
            return tried[point][0]

        box = tuple((interval.low, interval.high) for interval in intervals.values())
        best = search_box(value_at, box)
        value, member = tried[best]
        return Supremum(value, member, "searched")

    def ranked(self, function: Callable[[Prior], float], rough: RoughValues) -> Supremum:
        """Return the supremum; over one interval, led by rough values of many members at once.

        `rough` takes covariances (k, n, n) and returns k numbers to rank by, or None. `function`
        then looks at the peaks and at the ends: the value that is returned is its own. Where it
        contradicts the rough values, these led nowhere, and the search is done without them.
        """
        intervals = self.intervals()
        if len(intervals) != 1 or self.prior.glance(self._members[:1]) is None:
            return self.supremum(function)
        ((place, interval),) = intervals.items()
        found = []
        for chosen in self.choices():

            def members_at(points: list[float], chosen: Any = chosen) -> list[Prior]:
                return [self.member({**chosen, place: point}) for point in points]

            def values_at(points: list[float], members_at: Any = members_at) -> Sequence[float]:
                # Where there are none, `function` will contradict these.
                return rough(self.prior.glance(members_at(points))) or [math.inf] * len(points)

            peaks = search_line(values_at, interval.low, interval.high)
            members = members_at([*peaks, interval.low, interval.high])
            values = [function(member) for member in members]
            guesses = rough(self.prior.glance(members))
            if guesses is None or not np.allclose(guesses, values, rtol=AGREEMENT, atol=0.0):
                return self.supremum(function)
            found += [Supremum(v, m, "searched") for v, m in zip(values, members, strict=True)]
        return largest(found)

    def at_scale(self, end: ScaleEnd) -> PriorClass:
        """Return the members whose covariance is the smallest ("low") or largest ("high")."""
        name = self.prior.scale_parameter
        if name is None or name not in self.varying:
            return self
        domain = self.varying[name]
        ends = (domain.low, domain.high) if isinstance(domain, Interval) else domain.options
        fixed = {**self.fixed, name: min(ends) if end == "low" else max(ends)}
        varying = {key: value for key, value in self.varying.items() if key != name}
        return Family(self.prior, fixed, varying) if varying else self.prior(**fixed)

    def specification(self) -> dict[str, Any]:
        """Return the plain table that rebuilds this family."""
        plain = next(self.members()).specification()
        domains = _domains(self.prior)
        for place, kind in self.varying.items():
            written: dict[str, Any]
            if isinstance(kind, Interval):
                written = {"interval": [kind.low, kind.high]}
            elif "." in place:  # as the table holds it
                written = {"any_of": list(kind.options)}
            else:
                written = {"any_of": [domains[place].plain(value) for value in kind.options]}
            plain = replace_at(plain, place, written)
        return plain

    def __repr__(self) -> str:
        shown = []
        for declared in self.prior.parameters():
            name = declared.name
            inside = {p: kind for p, kind in self.varying.items() if p.startswith(f"{name}.")}
            if name in self.varying:
                shown.append(f"{name}={self.varying[name]!r}")
            elif inside:
                table = {name: declared.domain.open_parts(self.fixed[name])}
                for place, kind in inside.items():
                    table = replace_at(table, place, kind)
                shown.append(f"{name}={literal(table[name])}")
            elif name in self.fixed:
                shown.append(f"{name}={code(declared.domain, self.fixed[name])}")
        return f"sf.priors.{self.name}({', '.join(shown)})"


def family_of(cls: type[Prior], given: Mapping[str, Any]) -> PriorClass:
    """Return the prior with the given values, or the class of priors if some of them are sets.

    An option that holds sets itself is a class of its own, so that the whole is a choice of them.

    >>> import sfumato as sf
    >>> family_of(sf.priors.rbf.plugin, {"times": 5, "length_scale": sf.AnyOf(1.0, 3.0)}).finite
    True
    """
    varying = sets_of(cls, given)
    if not varying:
        return cls(**given)
    domains = _domains(cls)
    opened = {name: domains[name].open_parts(value) for name, value in given.items()}
    for place, kind in varying.items():
        domain = domains[place.partition(".")[0]]
        options = [domain.open_parts(x) for x in kind.options] if isinstance(kind, AnyOf) else []
        if any(isinstance(option, Mapping) and any(places(option, is_set)) for option in options):
            return AnyOf(*(family_of(cls, replace_at(opened, place, option)) for option in options))
    fixed = {name: value for name, value in opened.items() if name not in varying}
    return Family(cls, fixed, varying)
