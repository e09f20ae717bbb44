"""Classes of priors: intervals and choices of any parameter, and choices of whole priors."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

import attrs

from sfumato.domains import REAL, Rejected, Sizes
from sfumato.errors import ParameterError
from sfumato.parameters import literal
from sfumato.protocols import How, Prior, PriorClass, ScaleEnd, Supremum

# How many values of an interval `members` shows; a supremum looks at many more.
SPREAD = 5


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
class AnyOf(PriorClass):
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
            require_one_trace(self.members(), "AnyOf")

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
        return AnyOf(*(option.at_scale(end) for option in self._priors()))

    def specification(self) -> dict[str, Any]:
        """Return the plain table that rebuilds this class."""
        return {"any_of": [option.specification() for option in self._priors()]}

    def __repr__(self) -> str:
        return f"sf.AnyOf({', '.join(map(literal, self.options))})"


def largest(suprema: Iterable[Supremum]) -> Supremum:
    """Return the largest supremum; it is only as certain as the least certain of them."""
    found = list(suprema)
    best = max(found, key=lambda supremum: supremum.value)
    hows = {supremum.how for supremum in found}
    if len(found) > 1:
        hows.add("finite")
    return attrs.evolve(best, how=weakest(hows, best.value))


def weakest(hows: Collection[How], value: float) -> How:
    """Return how certain a supremum of several is: as the least certain of them."""
    if value == math.inf:
        return "proved"  # nothing is larger
    order: tuple[How, ...] = ("searched", "proved", "finite", "single")
    return next(how for how in order if how in hows)


def require_one_trace(members: Iterable[Prior], who: str) -> None:
    """Refuse members about traces of different lengths or stamps."""
    signatures = dict.fromkeys(member.trace_signature() for member in members)
    if len(signatures) > 1:
        shown = " and ".join(str(signature)[:60] for signature in list(signatures)[:2])
        raise ParameterError(
            f"{who} must have members of one trace length, the same stamps and, of chains, the "
            f"same states in the same order; got {shown}."
        )
