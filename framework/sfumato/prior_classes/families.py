"""Families: the priors of one kind whose parameters lie in intervals or choices."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import attrs

from sfumato.domains import Domain
from sfumato.parameters import Declared, code, literal
from sfumato.prior_classes.combinations import DerivedClass
from sfumato.prior_classes.sets import AnyOf, Interval, largest, require_one_trace
from sfumato.prior_classes.suprema import search_box
from sfumato.protocols import Prior, PriorClass, ScaleEnd, Supremum
from sfumato.values import content_key, places, replace_at, value_at


def is_set(value: object) -> bool:
    """Whether a parameter is given a set of values; a class of whole priors is one value.

    >>> from sfumato import Interval
    >>> from sfumato.prior_classes.families import is_set
    >>> is_set(Interval(1, 2)), is_set(2.0)
    (True, False)
    """
    if isinstance(value, AnyOf):
        return not isinstance(value.options[0], PriorClass)
    return isinstance(value, Interval)


def sets_of(cls: type[Declared], given: Mapping[str, Any]) -> dict[str, Interval | AnyOf]:
    """Return the sets among the values given to a class, by parameter or by place inside one.

    >>> import sfumato as sf
    >>> from sfumato.prior_classes.families import sets_of
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
    >>> from sfumato.prior_classes.families import family_of
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


# A class as boxes of parameters, for proofs that cover every member -------------------------------


@attrs.frozen(eq=False)
class Box:
    """The members with parameters in a box; with none, a single prior."""

    ends: tuple[tuple[float, float], ...]
    member: Callable[[Sequence[float]], Prior]
    # The same, unchecked, for parameters that are numbers of any kind: for its `formula` only.
    abstract: Callable[[Sequence[Any]], Prior]


def boxes_of(prior: PriorClass) -> list[Box] | None:
    """Return boxes that together are the class; None for a class of an unknown kind."""
    if isinstance(prior, Prior):
        return [Box((), lambda _: prior, lambda _: prior)]
    if isinstance(prior, Family):
        return [_box_of(prior, chosen) for chosen in prior.choices()]
    if isinstance(prior, AnyOf):
        parts = [boxes_of(option) for option in prior.options]
        return None if None in parts else [box for part in parts for box in part or ()]
    if isinstance(prior, DerivedClass):
        parts = [boxes_of(part) for part in prior.parts]
        if None in parts:
            return None
        products = itertools.product(*(part or () for part in parts))
        return [_derived_box(prior, boxes) for boxes in products]
    return None


def _box_of(family: Family, chosen: dict[str, Any]) -> Box:
    intervals = family.intervals()
    ends = tuple((interval.low, interval.high) for interval in intervals.values())

    def member(point: Sequence[float]) -> Prior:
        return family.member({**chosen, **dict(zip(intervals, point, strict=True))})

    first = member([low for low, _ in ends])

    def abstract(values: Sequence[Any]) -> Prior:
        made = copy.copy(first)
        for place, value in zip(intervals, values, strict=True):
            name, _, inside = place.partition(".")
            held = getattr(made, name).with_number(inside, value) if inside else value
            object.__setattr__(made, name, held)
        return made

    return Box(ends, member, abstract)


def _derived_box(derived: DerivedClass, boxes: Sequence[Box]) -> Box:
    sizes = [len(box.ends) for box in boxes]
    starts = [0, *itertools.accumulate(sizes)]

    def parts(values: Sequence[Any]) -> list[Sequence[Any]]:
        return [values[start : start + size] for start, size in zip(starts, sizes, strict=False)]

    def member(point: Sequence[float]) -> Prior:
        chosen = zip(boxes, parts(point), strict=True)
        return derived.derive(tuple(box.member(values) for box, values in chosen))

    def abstract(values: Sequence[Any]) -> Prior:
        chosen = zip(boxes, parts(values), strict=True)
        return derived.derive(tuple(box.abstract(inner) for box, inner in chosen))

    return Box(tuple(end for box in boxes for end in box.ends), member, abstract)
