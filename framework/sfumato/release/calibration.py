"""Say the risk, get the noise: the strength at which a mechanism meets a target, as certified."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from sfumato.domains.alternatives import Either
from sfumato.domains.domain import Real
from sfumato.errors import Incompatible, OutsideHypotheses, ParameterError, Undecidable
from sfumato.protocols import (
    Bound,
    Loss,
    LossMeasure,
    Mechanism,
    PriorClass,
    Quantity,
    Release,
    Secret,
)
from sfumato.quantities import round_outwards
from sfumato.release.designs import DesignedFor

REACH = 2.0**60
"""How many times the first strength may grow or shrink before a target is out of reach."""

IN_WORDS: Mapping[str, str] = {
    "advantage": "of two secrets the right one is guessed {guess} of the time, where a coin has 50",
    "Bayes success": "the best guess at the secret is right {share} of the time",
    "posterior gap": "what is seen raises the probability of the secret by {share}age points",
    "expected error": "the best guess at the secret is off by {number}{unit} on average",
    "expected squared error": "the best guess at the secret is typically off by {root}{unit}",
    "mean squared error": "a value is typically off by {root}{unit}",
    "expected number of released states": "{number} states are released on average",
    "expected number of states shown as they are": "{number} states are shown as they are",
    "noise variance": "a count is typically off by {root}",
}
"""Quantities that are said without symbols; of others, the name is."""


LENGTHS: Mapping[str, float] = {"": 1.0, "cm": 0.01, "m": 1.0, "km": 1000.0}
"""Units of a trace in metres, in metres; none for a trace in units of its own."""


def _is_squared(quantity: Quantity) -> bool:
    return dict(quantity.parameters).get("metric") == "squared"


def in_words(quantity: Quantity, value: float, bound: Bound = "exact", unit: str = "") -> str:
    """Return what a quantity's value means, in plain words; bounds are rounded outwards.

    `unit` is that in which lengths are said, of a trace in metres.

    >>> from sfumato import Quantity
    >>> from sfumato.release.calibration import in_words
    >>> in_words(Quantity("Bayes success"), 0.05)
    'the best guess at the secret is right 5 percent of the time'
    >>> in_words(Quantity("mean squared error"), 100.0)
    'a value is typically off by 10'
    """
    squared = _is_squared(quantity)
    name = quantity.name.replace("expected", "expected squared") if squared else quantity.name
    metres = LENGTHS[unit] if "{unit}" in IN_WORDS.get(name, "") else 1.0
    said = IN_WORDS.get(name, f"the {quantity.name} is {{number}}")
    return said.format(
        number=_three_digits(value / metres, bound),
        share=f"{round_outwards(100 * value, bound, '.3g')} percent",
        guess=f"{round_outwards(50 + 50 * value, bound, '.3g')} percent",
        root=_three_digits(math.sqrt(max(value, 0.0)) / metres, bound),
        unit=unit and f" {unit}",
    )


def _three_digits(value: float, bound: Bound) -> str:
    text = round_outwards(value, bound, ".3g")
    return f"{float(text):,.0f}" if 1e3 <= value < 1e15 else text


@attrs.frozen(kw_only=True)
class Calibration:
    """A mechanism that meets a target, its release, and what half of its strength would give away.

    `loss` is certified over the whole prior class: its ceiling (for a quantity that is worse when
    smaller, its floor) is at most the target.
    """

    mechanism: Mechanism
    release: Release
    loss: Loss
    target: float
    weaker: Loss | None  # None where it cannot be measured
    unit: str = ""  # in which lengths are said, of a trace in metres

    def plain(self) -> dict[str, Any]:
        """Return what was found in plain values."""
        return {
            "mechanism": self.mechanism.specification(),
            "quantity": str(self.loss.quantity),
            "target": self.target,
            "floor": self.loss.floor,
            "ceiling": self.loss.ceiling,
            "utility": self.release.utility(),
            "utility_quantity": str(self.release.utility_quantity),
            "at_half_the_strength": self.weaker and self.weaker.value,
            "in_words": self.in_words,
        }

    @property
    def end(self) -> float:
        """The certified end of the loss: its ceiling, or its floor where smaller is worse."""
        return self.loss.ceiling if self.loss.quantity.sign > 0 else self.loss.floor

    @property
    def _side(self) -> Bound:
        return "upper" if self.loss.quantity.sign > 0 else "lower"

    @property
    def in_words(self) -> str:
        """What is given away, at what price, and what half the strength would give away."""
        quantity = self.loss.quantity
        half = "nobody can tell"
        if self.weaker is not None:
            half = in_words(quantity, self.weaker.value, unit=self.unit)
        price = in_words(self.release.utility_quantity, self.release.utility(), unit=self.unit)
        more = self.mechanism.strength is not None and self.mechanism.strength[1] == "more"
        return (
            f"At worst, {in_words(quantity, self.end, self._side, self.unit)}, while {price}; with "
            f"{'half the noise' if more else 'twice the allowance'}, {half}."
        )

    def __repr__(self) -> str:
        return f"<Calibration {self.mechanism!r}: {self.loss}>"

    def _repr_html_(self) -> str:
        from sfumato.report.cards import result_card

        return result_card(
            "Calibration", repr(self.mechanism), found=str(self), loss=str(self.loss)
        )

    def __str__(self) -> str:
        name = self.mechanism.strength[0] if self.mechanism.strength else ""
        side = "no more" if self.loss.quantity.sign > 0 else "no less"
        setting = getattr(inner_mechanism(self.mechanism), name)
        kept, end, target, unit = self.loss.quantity.name, self.end, self.target, ""
        if _is_squared(self.loss.quantity):
            metres, unit = LENGTHS[self.unit], self.unit and f" {self.unit}"
            kept = f"{kept} (root mean square)"
            end, target = (math.sqrt(max(one, 0.0)) / metres for one in (end, target))
        return (
            f"{self.mechanism.name} with {name} = {setting:.6g} keeps the {kept} at "
            f"{round_outwards(end, self._side, '.4g')}{unit}, {side} than the {target:g}{unit} "
            f"that was asked for.\n{self.in_words}"
        )


def calibrate(
    mechanism: Mechanism,
    prior: PriorClass,
    secret: Secret,
    measure: LossMeasure,
    target: float,
    *,
    tolerance: float = 1e-3,
) -> Calibration:
    """Return the weakest setting of a mechanism whose certified loss meets a target.

    The strength is the parameter that the mechanism declares; it is bracketed, and the bracket
    narrowed by false position and halving, on certified ends over the whole class. Whatever the
    loss does in between, what is returned has been measured to meet the target; it is the weakest
    such setting, to `tolerance`, where the loss falls with the strength.

    >>> import sfumato as sf
    >>> found = sf.calibrate(
    ...     sf.mechanisms.gaussian_uniform(mse=1.0),
    ...     sf.priors.rbf(length_scale=6.0, times=50),
    ...     sf.secrets.basic(24),
    ...     sf.measures.advantage(),
    ...     target=0.5,
    ... )
    >>> found.loss.ceiling <= 0.5, f"{found.mechanism.mse:.2f}"
    (True, '4.96')
    """
    if math.isnan(target):
        raise ParameterError(f"target must be a number; got {target!r}.")
    own, name, hides = _strength_of(mechanism)
    tried: dict[float, tuple[Release, Loss]] = {}

    def measured(value: float) -> tuple[Release, Loss]:
        if value not in tried:
            release = mechanism.at_strength(value).protect(prior, secret)
            tried[value] = release, measure.loss(prior, secret, release)
        return tried[value]

    def excess(value: float) -> float:
        """Return by how much the certified end misses the target; a refusal misses it."""
        try:
            loss = measured(value)[1]
        except (OutsideHypotheses, Undecidable):
            return math.inf
        return loss.ceiling - target if loss.quantity.sign > 0 else target - loss.floor

    low, high = _limits(own, name)
    if math.isfinite(high):
        weak, strong = (low, high) if hides == "more" else (high, low)
    else:
        weak, strong = _bracket(excess, float(getattr(own, name)), hides)
    if (missed := excess(strong)) > 0:
        least = measured(strong)[1]
        why = f"even {name} = {strong:g} leaves {least}"
        if math.isinf(missed) and least.bound == "estimate":
            why = (
                f"the {least.quantity.name} is only searched for over this class, and nothing is "
                f"certified; over a single prior it would be"
            )
        wanted = f"{target:g}"
        if _is_squared(least.quantity):
            wanted = f"{math.sqrt(max(target, 0.0)):g} (root mean square)"
            why += f", {math.sqrt(max(least.value, 0.0)):g} as a root mean square"
        raise OutsideHypotheses(f"the target {wanted} is out of reach: {why}.")
    found = weak if excess(weak) <= 0 else _narrow(excess, weak, strong, tolerance)
    release, loss = measured(found)
    weaker = found / 2 if hides == "more" else min(high, 2 * found)
    return Calibration(
        mechanism=mechanism.at_strength(found),
        release=release,
        loss=loss,
        target=target,
        weaker=measured(weaker)[1] if excess(weaker) < math.inf else None,
    )


def _strength_of(mechanism: Any) -> tuple[Any, str, str]:
    """Return what has the strength, its name, and whether more or less of it hides more."""
    if not isinstance(mechanism, Mechanism):
        raise ParameterError(f"calibrate takes a mechanism; got {type(mechanism).__name__}.")
    if mechanism.strength is None:
        raise Incompatible(
            f"{mechanism.name} declares no strength: calibrate a mechanism that does, such as one "
            f"with a noise level or an allowed gap."
        )
    name, hides = mechanism.strength
    own = inner_mechanism(mechanism)
    if getattr(own, name) is None:
        raise ParameterError(f"{mechanism.name}.{name} must be given to be calibrated; got None.")
    return own, name, hides


def inner_mechanism(mechanism: Any) -> Any:
    """Return what really has the parameters: of a design for others, its mechanism."""
    return inner_mechanism(mechanism.mechanism) if isinstance(mechanism, DesignedFor) else mechanism


def _limits(mechanism: Mechanism, name: str) -> tuple[float, float]:
    """Return the smallest and the largest strength that the parameter's domain takes."""
    domain: Any = next(item.domain for item in mechanism.parameters() if item.name == name)
    options = domain.options if isinstance(domain, Either) else (domain,)
    real = next(option for option in options if isinstance(option, Real))
    return real.low, real.high


def _bracket(excess: Callable[[float], float], start: float, hides: str) -> tuple[float, float]:
    """Return a strength that misses the target (or the weakest tried), and one that meets it.

    Steps grow: twice, 4 times, 16 times, ... as far as `REACH`.
    """
    met = excess(start) <= 0
    factor = 2.0 if (hides == "more") != met else 0.5
    before = start
    while max(factor, 1 / factor) <= REACH:
        value = start * factor
        if (excess(value) <= 0) != met:
            return (value, before) if met else (before, value)
        before, factor = value, factor * factor
    return before, before


def _narrow(
    excess: Callable[[float], float], weak: float, strong: float, tolerance: float
) -> float:
    """Return a strength that meets the target, within `tolerance` of one that does not.

    False position on the logarithm, the kept end's excess halved (the Illinois rule), never nearer
    to an end than half the tolerance; halving where an excess is infinite or zero is an end.
    """
    over, under = excess(weak), excess(strong)
    while True:
        straight = min(weak, strong) <= 0
        a, b = (weak, strong) if straight else (math.log(weak), math.log(strong))
        nearest = max(tolerance * abs(b), tolerance**3) if straight else tolerance
        if abs(b - a) <= nearest:
            return strong
        share = over / (over - under) if math.isfinite(over) and under < 0 else 0.5
        edge = nearest / 2 / abs(b - a)
        point = a + (b - a) * min(max(share, edge), 1 - edge)
        value = point if straight else math.exp(point)
        if (found := excess(value)) <= 0:
            strong, under, over = value, found, over / 2
        else:
            weak, over, under = value, found, under / 2
