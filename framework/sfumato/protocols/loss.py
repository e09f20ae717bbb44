"""A measured loss, with the direction in which it can be trusted."""

from __future__ import annotations

import math
from typing import Any, Literal

import attrs

from sfumato.protocols.quantity import Quantity
from sfumato.protocols.scenario import Scenario

Bound = Literal["exact", "upper", "lower", "estimate"]
EstimateOf = Literal["value", "lower", "upper"]


def _as_float(value: object) -> float:
    """Return a number as a float; text is not a number."""
    if isinstance(value, (str, bytes, bool)):
        raise ValueError(f"a loss must be a number; got {value!r}.")  # noqa: TRY004 - one error
    return float(value)  # type: ignore[arg-type]  # anything else says so itself


def _number(instance: Any, attribute: Any, value: float) -> None:
    if math.isnan(value):
        raise ValueError(
            f"{type(instance).__name__.lower()}.{attribute.name} must be a number; got {value!r}."
        )


def _error(_: Any, attribute: Any, value: float) -> None:
    if not 0 <= value < math.inf:  # written so that NaN fails
        raise ValueError(f"{attribute.name} must be finite and not negative; got {value!r}.")


def _ends(value: Any) -> tuple[float, float] | None:
    if value is None:
        return None
    low, high = (_as_float(end) for end in value)
    return low, high


def _interval(instance: Any, attribute: Any, value: tuple[float, float] | None) -> None:
    if instance.bound == "estimate" and value is None:
        raise ValueError("an estimate must have an interval; got None.")
    if value is not None and not value[0] <= value[1]:  # written so that NaN fails
        raise ValueError(f"{attribute.name} must be (low, high) with low <= high; got {value}.")


@attrs.frozen(kw_only=True)
class Reading:
    """What a measure finds for one belief: a value, its direction and how it was found.

    Attributes
    ----------
    value
        The number; infinities are answers, NaN is rejected.
    bound
        ``"exact"``, ``"upper"``, ``"lower"`` or ``"estimate"``.
    interval
        A confidence interval, for an estimate.
    estimate_of
        What an estimate estimates: the value itself, or a bound on it.
        An attack's success estimates a *lower* bound on the optimum, so it limits nothing above.
    relative_error
        Certified bound on the rounding in the value; two exact values may differ by it.
    witness
        Where the value is attained: an output, a displacement, a guess.
    how
        The method, in a few words.

    >>> Reading(value=0.25, bound="upper").ceiling
    0.25
    """

    value: float = attrs.field(converter=_as_float, validator=_number)
    bound: Bound = attrs.field(
        default="exact", validator=attrs.validators.in_(("exact", "upper", "lower", "estimate"))
    )
    interval: tuple[float, float] | None = attrs.field(
        default=None, converter=_ends, validator=_interval
    )
    estimate_of: EstimateOf = attrs.field(
        default="value", validator=attrs.validators.in_(("value", "lower", "upper"))
    )
    relative_error: float = attrs.field(default=0.0, converter=_as_float, validator=_error)
    witness: Any = attrs.field(default=None, eq=False)
    how: str = ""

    @property
    def floor(self) -> float:
        """The largest number that the true value is known not to be below."""
        if self.bound in ("exact", "lower"):
            return self.value
        if self.interval is None or self.estimate_of == "upper":
            return -math.inf
        return self.interval[0]

    @property
    def ceiling(self) -> float:
        """The smallest number that the true value is known not to exceed."""
        if self.bound in ("exact", "upper"):
            return self.value
        if self.interval is None or self.estimate_of == "lower":
            return math.inf
        return self.interval[1]


@attrs.frozen(kw_only=True, order=False)
class Loss(Reading):
    """A reading of one quantity in one scenario, over a whole prior class.

    `worst` is the member of the class that attains it.
    Losses of one quantity can be ordered; ordering different quantities is a `TypeError`.

    >>> import sfumato as sf
    >>> prior, secret = sf.priors.rbf(length_scale=6.0, times=50), sf.secrets.basic(24)
    >>> release = sf.mechanisms.gaussian_uniform(mse=0.02).protect(prior, secret)
    >>> loss = sf.measures.renyi(order=2.0).loss(prior, secret, release)
    >>> print(loss)
    Rényi divergence (order=2) [nats] = 260.603
    >>> loss.floor == loss.value == loss.ceiling
    True
    """

    quantity: Quantity
    scenario: Scenario
    worst: Any = attrs.field(default=None, eq=False)

    def _comparable(self, other: object) -> float:
        if not isinstance(other, Loss):
            raise TypeError(f"a loss can be ordered against a loss; got {type(other).__name__}.")
        if other.quantity != self.quantity:
            raise TypeError(
                f"losses of different quantities have no order: {self.quantity} and "
                f"{other.quantity}."
            )
        return other.value

    def __lt__(self, other: object) -> bool:
        return self.value < self._comparable(other)

    def __le__(self, other: object) -> bool:
        return self.value <= self._comparable(other)

    def __gt__(self, other: object) -> bool:
        return self.value > self._comparable(other)

    def __ge__(self, other: object) -> bool:
        return self.value >= self._comparable(other)

    def __str__(self) -> str:
        marks = {"exact": "=", "upper": "<=", "lower": ">=", "estimate": "~"}
        return f"{self.quantity} {marks[self.bound]} {self.value:.6g}"
