"""Classes of priors: intervals and choices of any parameter, and choices of whole priors."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal

import attrs

from sfumato.content import ByContent, content_key
from sfumato.domains import REAL, Rejected, Sizes
from sfumato.errors import ParameterError
from sfumato.parameters import code
from sfumato.prior_operators import PriorOperators
from sfumato.protocols.prior import Prior
from sfumato.protocols.prior_class import PriorClass, Supremum
from sfumato.supremum_search import search_box, search_line

ScaleEnd = Literal["low", "high"]
RoughValues = Callable[[Any], Sequence[float] | None]

# How many values of an interval `members` shows; a supremum looks at many more.
SPREAD = 5


class _NoGlanceError(Exception):
    """No quick look at many members is to be had."""


def _as_number(value: object, words: str) -> float:
    try:
        return REAL.convert(value, Sizes())
    except Rejected:
        raise ParameterError(f"Interval.{words} must be a finite number; got {value!r}.") from None


def _low(value: object) -> float:
    return _as_number(value, "low")


def _high(value: object) -> float:
    return _as_number(value, "high")


@attrs.frozen
class Interval:
    """Every value between `low` and `high`, both included, of a real parameter of a prior.

    >>> import sfumato as sf
    >>> sf.priors.rbf(length_scale=sf.Interval(3, 12), times=50).finite
    False
    """

    low: float = attrs.field(converter=_low)
    high: float = attrs.field(converter=_high)

    def __attrs_post_init__(self) -> None:
        if not self.low < self.high:
            raise ParameterError(
                f"Interval must have low below high; got {self.low} and {self.high}."
            )

    def spread(self) -> tuple[float, ...]:
        """Return a few values: the ends and some between."""
        width = self.high - self.low
        inner = (self.low + width * step / (SPREAD - 1) for step in range(1, SPREAD - 1))
        return (self.low, *inner, self.high)

    def __repr__(self) -> str:
        return f"sf.Interval({self.low}, {self.high})"


@attrs.frozen(init=False, eq=False, repr=False)
class AnyOf(ByContent, PriorOperators, PriorClass):
    """Any of the listed values of a parameter, or any of the listed priors.

    Given to a prior's parameter it makes a family of priors; of whole priors it is a class.

    >>> import sfumato as sf
    >>> smooth, rough = (sf.priors.rbf(length_scale=l, times=9) for l in (6.0, 1.0))
    >>> len(list(sf.AnyOf(smooth, rough).members()))
    2
    """

    options: tuple[Any, ...]

    def __init__(self, *options: Any) -> None:
        if len(options) == 1 and isinstance(options[0], (list, tuple)):
            raise ParameterError(
                f"AnyOf must have its options one by one, as in AnyOf(1, 2); got {options[0]!r}."
            )
        self._keep(options)

    @classmethod
    def listed(cls, options: Iterable[Any]) -> AnyOf:
        """Return the choice from a list of options, each of which may be a list itself."""
        made = cls.__new__(cls)
        made._keep(tuple(options))  # noqa: SLF001 - of this very class
        return made

    def _keep(self, options: tuple[Any, ...]) -> None:
        if not options:
            raise ParameterError("AnyOf must have at least one option; got none.")
        priors = [isinstance(option, PriorClass) for option in options]
        if any(priors) and not all(priors):
            raise ParameterError("AnyOf must have priors only or values only; got both.")
        self.__attrs_init__(options)
        if all(priors):
            _require_one_trace(self.members(), "AnyOf")

    def _priors(self) -> tuple[PriorClass, ...]:
        if not isinstance(self.options[0], PriorClass):
            raise TypeError(
                f"{self!r} is a choice of values, not a class of priors; give it to a parameter "
                f"of a prior."
            )
        return self.options

    @property
    def yields(self) -> type:
        """The type of belief all options share."""
        kinds = {option.yields for option in self._priors()}
        if len(kinds) > 1:
            raise ParameterError(
                "AnyOf must have priors of one type of belief; got "
                + " and ".join(sorted(kind.__name__ for kind in kinds))
                + "."
            )
        return kinds.pop()

    @property
    def name(self) -> str:
        """The names of the options."""
        return " or ".join(dict.fromkeys(option.name for option in self._priors()))

    @property
    def finite(self) -> bool:
        """Whether every option is a finite class."""
        return all(option.finite for option in self._priors())

    def members(self) -> Iterator[Prior]:
        """Yield the members of every option."""
        for option in self._priors():
            yield from option.members()

    def supremum(self, function: Callable[[Prior], float]) -> Supremum:
        """Return the largest of the options' suprema."""
        return largest([option.supremum(function) for option in self._priors()])

    def at_scale(self, end: ScaleEnd) -> PriorClass:
        """Return the class of every option's members of smallest or largest covariance."""
        return AnyOf(*(at_scale(option, end) for option in self._priors()))

    def specification(self) -> dict[str, Any]:
        """Return the plain table that rebuilds this class."""
        return {"any_of": [option.specification() for option in self._priors()]}

    def __repr__(self) -> str:
        return f"sf.AnyOf({', '.join(map(repr, self.options))})"


def at_scale(prior: PriorClass, end: ScaleEnd) -> PriorClass:
    """Return the part of a class that matters to what is monotone in the prior's scale.

    >>> import sfumato as sf
    >>> at_scale(sf.priors.rbf(length_scale=1.0, times=3, variance=sf.Interval(1, 4)), "low")
    sf.priors.rbf(length_scale=1.0, times=3)
    """
    return prior.at_scale(end) if isinstance(prior, (AnyOf, Family)) else prior


def largest(suprema: Iterable[Supremum]) -> Supremum:
    """Return the largest supremum; it is only as certain as the least certain of them."""
    found = list(suprema)
    best = max(found, key=lambda supremum: supremum.value)
    if best.value == math.inf:
        return attrs.evolve(best, how="proved")  # nothing is larger
    hows = {supremum.how for supremum in found}
    for how in ("searched", "proved"):
        if how in hows:
            return attrs.evolve(best, how=how)
    return attrs.evolve(best, how="finite" if len(found) > 1 else best.how)


def _require_one_trace(members: Iterable[Prior], who: str) -> None:
    signatures = dict.fromkeys(member.trace_signature() for member in members)
    if len(signatures) > 1:
        shown = " and ".join(str(signature)[:60] for signature in list(signatures)[:2])
        raise ParameterError(
            f"{who} must have members of one trace length and stamps; got {shown}."
        )


def _as_held(kind: Interval | AnyOf, name: str, members: list[Prior]) -> Interval | AnyOf:
    """Return a choice of the values that the members hold; an interval as it is."""
    if isinstance(kind, Interval):
        return kind
    values = (getattr(member, name) for member in members)
    return AnyOf.listed({content_key(value): value for value in values}.values())


@attrs.frozen(eq=False, repr=False)
class Family(ByContent, PriorOperators, PriorClass):
    """The priors of one kind whose parameters lie in given intervals or choices.

    The namespaces make it.

    >>> import sfumato as sf
    >>> family = sf.priors.rbf(length_scale=sf.AnyOf(1.0, 3.0), times=5)
    >>> [member.length_scale for member in family.members()]
    [1.0, 3.0]
    """

    prior: type[Prior]
    fixed: Mapping[str, Any]
    varying: Mapping[str, Interval | AnyOf]

    def __attrs_post_init__(self) -> None:
        members = list(self.members())  # checks every end point and every choice
        _require_one_trace(members, self.name)
        # Kept as the members hold them: checked, read-only, and without what is the default.
        given = {declared.name: value for declared, value in members[0].given()}
        fixed = {name: value for name, value in given.items() if name not in self.varying}
        varying = {name: _as_held(kind, name, members) for name, kind in self.varying.items()}
        object.__setattr__(self, "fixed", MappingProxyType(fixed))
        object.__setattr__(self, "varying", MappingProxyType(varying))

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

    def _member(self, values: Mapping[str, Any]) -> Prior:
        return self.prior(**self.fixed, **values)

    def _choices(self) -> Iterator[dict[str, Any]]:
        """Yield every combination of the choices (not of the intervals)."""
        lists = {k: v.options for k, v in self.varying.items() if isinstance(v, AnyOf)}
        for values in itertools.product(*lists.values()):
            yield dict(zip(lists, values, strict=True))

    def _intervals(self) -> dict[str, Interval]:
        return {k: v for k, v in self.varying.items() if isinstance(v, Interval)}

    def members(self) -> Iterator[Prior]:
        """Yield every member of a finite family; of intervals, the ends and a few between."""
        intervals = self._intervals()
        for chosen in self._choices():
            spreads = (interval.spread() for interval in intervals.values())
            for point in itertools.product(*spreads):
                yield self._member({**chosen, **dict(zip(intervals, point, strict=True))})

    def supremum(self, function: Callable[[Prior], float]) -> Supremum:
        """Return the largest value: over all members, or searched where an interval varies."""
        intervals = self._intervals()
        if not intervals:
            found = [Supremum(function(member), member, "finite") for member in self.members()]
            return largest(found)
        return largest(self._search(function, chosen, intervals) for chosen in self._choices())

    def _search(
        self,
        function: Callable[[Prior], float],
        chosen: Mapping[str, Any],
        intervals: Mapping[str, Interval],
    ) -> Supremum:
        tried: dict[tuple[float, ...], tuple[float, Prior]] = {}

        def value_at(point: tuple[float, ...]) -> float:
            if point not in tried:
                member = self._member({**chosen, **dict(zip(intervals, point, strict=True))})
                tried[point] = (function(member), member)
            return tried[point][0]

        box = tuple((interval.low, interval.high) for interval in intervals.values())
        best = search_box(value_at, box)
        value, member = tried[best]
        return Supremum(value, member, "searched")

    def ranked(self, function: Callable[[Prior], float], rough: RoughValues) -> Supremum:
        """Return the supremum; over one interval, led by rough values of many members at once.

        `rough` takes covariances (k, n, n) and returns k numbers to rank by, or None. `function`
        then looks at the peaks: the value that is returned is its own.
        """
        intervals = self._intervals()
        if len(intervals) != 1:
            return self.supremum(function)
        ((name, interval),) = intervals.items()
        found = []
        for chosen in self._choices():
            peaks = self._peaks(rough, chosen, name, interval)
            if peaks is None:
                return self.supremum(function)
            found += [Supremum(function(member), member, "searched") for member in peaks]
        return largest(found)

    def _peaks(
        self, rough: RoughValues, chosen: Mapping[str, Any], name: str, interval: Interval
    ) -> list[Prior] | None:
        """Return the members where the rough values peak; None if there are no such values."""

        def values_at(points: list[float]) -> Sequence[float]:
            members = [self._member({**chosen, name: point}) for point in points]
            covariances = self.prior.glance(members)
            values = None if covariances is None else rough(covariances)
            if values is None:
                raise _NoGlanceError
            return values

        try:
            peaks = search_line(values_at, interval.low, interval.high)
        except _NoGlanceError:
            return None
        return [self._member({**chosen, name: peak}) for peak in peaks]

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
        domains = {declared.name: declared.domain for declared in self.prior.parameters()}
        for name, kind in self.varying.items():
            if isinstance(kind, Interval):
                plain[name] = {"interval": [kind.low, kind.high]}
            else:
                plain[name] = {"any_of": [domains[name].plain(value) for value in kind.options]}
        return plain

    def __repr__(self) -> str:
        shown = []
        for declared in self.prior.parameters():
            if declared.name in self.varying:
                shown.append(f"{declared.name}={self.varying[declared.name]!r}")
            elif declared.name in self.fixed:
                shown.append(f"{declared.name}={code(declared.domain, self.fixed[declared.name])}")
        return f"sf.priors.{self.name}({', '.join(shown)})"
