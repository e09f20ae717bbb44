"""Say the risk, get the noise: the strength at which a mechanism meets a target, as certified."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import attrs

from sfumato.domains.alternatives import Either
from sfumato.domains.domain import Real
from sfumato.errors import Incompatible, OutsideHypotheses, ParameterError
from sfumato.protocols import Loss, LossMeasure, Mechanism, PriorClass, Release, Secret
from sfumato.release.designs import DesignedFor

DOUBLINGS = 60
"""How often a strength is doubled or halved before a target counts as out of reach."""


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
    weaker: Loss

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
            "at_half_the_strength": self.weaker.value,
        }

    def __str__(self) -> str:
        name = self.mechanism.strength[0] if self.mechanism.strength else ""
        sign = self.loss.quantity.sign
        end = self.loss.ceiling if sign > 0 else self.loss.floor
        setting = getattr(inner_mechanism(self.mechanism), name)
        return (
            f"{self.mechanism.name} with {name} = {setting:.6g} keeps the "
            f"{self.loss.quantity.name} at {end:.4g}, {'below' if sign > 0 else 'above'} the "
            f"{self.target:g} that was asked for; the {self.release.utility_quantity.name} is "
            f"{self.release.utility():.4g}. At half that strength it would be "
            f"{self.weaker.value:.4g}."
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

    The strength is the parameter that the mechanism declares; it is bracketed and bisected on
    certified ends over the whole class. Whatever the loss does in between, what is returned has
    been measured to meet the target; it is the weakest such setting, to `tolerance`, where the
    loss falls with the strength.

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
    if not isinstance(mechanism, Mechanism):
        raise ParameterError(f"calibrate takes a mechanism; got {type(mechanism).__name__}.")
    if mechanism.strength is None:
        raise Incompatible(
            f"{mechanism.name} declares no strength: calibrate a mechanism that does, such as one "
            f"with a noise level or an allowed gap."
        )
    if math.isnan(target):
        raise ParameterError(f"target must be a number; got {target!r}.")
    name, hides = mechanism.strength
    own = inner_mechanism(mechanism)
    if getattr(own, name) is None:
        raise ParameterError(f"{mechanism.name}.{name} must be given to be calibrated; got None.")
    tried: dict[float, tuple[Release, Loss]] = {}

    def measured(value: float) -> tuple[Release, Loss]:
        if value not in tried:
            release = mechanism.at_strength(value).protect(prior, secret)
            tried[value] = release, measure.loss(prior, secret, release)
        return tried[value]

    def meets(value: float) -> bool:
        loss = measured(value)[1]
        if loss.quantity.sign > 0:
            return loss.ceiling <= target
        return loss.floor >= target

    low, high = _limits(own, name)
    if math.isfinite(high):
        weak, strong = (low, high) if hides == "more" else (high, low)
        _require(meets(strong), measured(strong)[1], target, f"{name} = {strong:g}")
    else:
        weak, strong = _bracket(meets, float(getattr(own, name)), hides)
        _require(meets(strong), measured(strong)[1], target, f"{name} = {strong:g}")
    found = weak if meets(weak) else _bisect(meets, weak, strong, tolerance)
    release, loss = measured(found)
    weaker = found / 2 if hides == "more" else min(high, 2 * found)
    return Calibration(
        mechanism=mechanism.at_strength(found),
        release=release,
        loss=loss,
        target=target,
        weaker=measured(weaker)[1],
    )


def inner_mechanism(mechanism: Any) -> Any:
    """Return what really has the parameters: of a design for others, its mechanism."""
    return inner_mechanism(mechanism.mechanism) if isinstance(mechanism, DesignedFor) else mechanism


def _limits(mechanism: Mechanism, name: str) -> tuple[float, float]:
    """Return the smallest and the largest strength that the parameter's domain takes."""
    domain: Any = next(item.domain for item in mechanism.parameters() if item.name == name)
    options = domain.options if isinstance(domain, Either) else (domain,)
    real = next(option for option in options if isinstance(option, Real))
    return real.low, real.high


def _bracket(meets: Callable[[float], bool], start: float, hides: str) -> tuple[float, float]:
    """Return a strength that is too weak (or the weakest tried), and the next, twice as strong."""
    stronger = 2.0 if hides == "more" else 0.5
    value = start
    if meets(value):
        for _ in range(DOUBLINGS):
            if not meets(value / stronger):
                return value / stronger, value
            value /= stronger
        return value, value
    for _ in range(DOUBLINGS):
        if meets(value * stronger):
            return value, value * stronger
        value *= stronger
    return value, value


def _bisect(meets: Callable[[float], bool], weak: float, strong: float, tolerance: float) -> float:
    while abs(strong - weak) > tolerance * abs(strong) and abs(strong - weak) > tolerance**3:
        middle = (weak + strong) / 2
        weak, strong = (weak, middle) if meets(middle) else (middle, strong)
    return strong


def _require(met: object, loss: Loss, target: float, setting: str) -> None:
    if not met:
        raise OutsideHypotheses(
            f"the target {target:g} is out of reach: even {setting} leaves {loss}."
        )
