"""What everyone loses at worst, whoever they are and wherever they go."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Markov
from sfumato.channels import Emission, NoisyVectors, Symbols
from sfumato.comparison.populations import OfPopulation
from sfumato.errors import OutsideHypotheses
from sfumato.parameters import CHOICE, OPEN_UNIT, declare, parameter
from sfumato.protocols import LossMeasure, Quantity, Reading
from sfumato.values import FloatArray

MARGIN = 1e-11
"""By how much log δ is taken too large: well above the rounding of its computation."""

FAR = 40.0
"""Φ(−FAR) lies below every positive float64."""

NARROW = 0.5
"""Below this shift the difference of two Mills ratios is integrated, not subtracted."""


def gaussian_epsilon(delta: float, shift: float) -> float:
    """Return the smallest ε ≥ 0 for which N(0, 1) and N(μ, 1) are (ε, δ)-indistinguishable.

    That is where δ = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ), with μ the `shift` (Balle and Wang, 2018,
    theorem 8). With x = ε/μ − μ/2 and the Mills ratio m(x) = Φ(−x)/φ(x) this is

        δ(x) = φ(x) (m(x) − m(x + μ)) = φ(x) ∫_x^{x+μ} (1 − u m(u)) du,

    since e^ε φ(x + μ) = φ(x) and m'(u) = u m(u) − 1. It falls in x, and is solved for x, which
    stays moderate where ε is tiny or huge. The answer is never too small: δ(x) is taken too large
    by 1e-11 of itself, or 1 − δ(x) too small where δ > 1/2, and ε = μ (x + μ/2) is rounded up.

    Examples
    --------
    >>> round(gaussian_epsilon(0.01, 1.0), 9)
    2.31778904
    """
    if shift == 0.0:
        return 0.0
    if shift == math.inf:
        return math.inf
    low, high = max(-shift / 2.0, -FAR), FAR
    if low > -FAR and _is_enough(low, delta, shift):
        return 0.0
    middle = (low + high) / 2.0
    while low < middle < high:
        if _is_enough(middle, delta, shift):
            high = middle
        else:
            low = middle
        middle = (low + high) / 2.0
    return _rounded_up(Fraction(shift) * (Fraction(high) + Fraction(shift) / 2))


def _is_enough(x: float, delta: float, shift: float) -> bool:
    """Return whether δ(x) ≤ `delta` for certain."""
    from scipy.special import ndtr

    density = math.exp(-x * x / 2.0) / math.sqrt(2.0 * math.pi)
    if delta > 0.5:  # then 1 − delta is exact, and so is what is compared with it
        rest = float(ndtr(x)) + (density * float(_mills(x + shift)) if density > 0.0 else 0.0)
        return rest * (1.0 - MARGIN) >= 1.0 - delta
    if shift >= NARROW and x < 0.0:
        log_delta = math.log(float(ndtr(-x)) - density * float(_mills(x + shift)))
    else:
        log_delta = -x * x / 2.0 - math.log(2.0 * math.pi) / 2.0 + _log_fall(x, shift)
    return log_delta + MARGIN <= math.log(delta)


def _log_fall(x: float, shift: float) -> float:
    """Return log(m(x) − m(x + μ))."""
    if shift >= NARROW:
        return math.log(float(_mills(x) - _mills(x + shift)))
    nodes, weights = np.polynomial.legendre.leggauss(20)
    inside = x + shift * (nodes + 1.0) / 2.0
    mean = float(weights @ (1.0 - inside * _mills(inside))) / 2.0
    return math.log(shift) + math.log(mean)


def _mills(x: float | FloatArray) -> FloatArray:
    """Return Φ(−x)/φ(x)."""
    from scipy.special import erfcx

    return np.asarray(math.sqrt(math.pi / 2.0) * erfcx(np.asarray(x) / math.sqrt(2.0)))


def _rounded_up(exact: Fraction) -> float:
    """Return a float64 that is not below, and at most two steps above."""
    try:
        return math.nextafter(float(exact), math.inf)
    except OverflowError:
        return math.inf


ROUNDING = 1.0 + 1e-14
"""Lengths are taken larger by this factor, above the rounding of a sum, a root and a ratio."""


@declare
class DifferentialPrivacy(OfPopulation, LossMeasure):
    """The ε of (ε, δ)-differential privacy when one person's whole trace is replaced.

    With Gaussian noise of deviation σ the counts move by at most Δ in Euclidean length, and
    neighbours are as far apart as N(0, 1) and N(μ, 1), μ = Δ/σ. The exact ε is the smallest with
    Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ) ≤ δ. One sensor a step has Δ = √T; with more, a move from
    one to another changes two counts. With ``formula="paper"`` it is
    ε = √(2 log(1.25/δ)) μ, which is √(2 log(1.25/δ) T)/σ for one sensor a step.

    Assumptions: none on the prior, which is why everyone has the same loss. The paper's formula
    is proved for ε ≤ 1 and refused beyond.
    Guarantee: exact, and rounded up; the paper's formula is an upper bound. Without noise ε is
    infinite.
    Reference: Koga, Meehan and Chaudhuri (2024), section 2.2.1; Dwork and Roth (2014),
    theorem A.1; Balle and Wang (2018), theorem 8.

    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain.simulated(states=10, tau=0.1, steps=4)
    >>> secret = sf.secrets.trajectory(mistakes=1)
    >>> release = sf.mechanisms.sensor_counts([0, 3, 6, 9], noise=8.0).protect(chain, secret)
    >>> round(sf.measures.differential_privacy(delta=0.01).loss(chain, secret, release).value, 4)
    0.3599
    >>> paper = sf.measures.differential_privacy(delta=0.01, formula="paper")
    >>> round(paper.loss(chain, secret, release).value, 4)
    0.7769
    """

    name = "differential_privacy"
    reads = ((Markov, object, NoisyVectors), (Markov, object, Symbols))

    delta: float = parameter(OPEN_UNIT, default=1e-5, doc="chance of exceeding ε")
    formula: str = parameter(
        CHOICE("exact", "paper"), default="exact", doc="the exact trade-off, or the paper's formula"
    )

    @property
    def quantity(self) -> Quantity:
        """The ε at this δ."""
        return Quantity("differential privacy", {"delta": self.delta}, unit="nats")

    def evaluate(self, belief: Markov, question: Any, channel: Emission) -> Reading:
        """Return ε."""
        del belief, question
        if isinstance(channel, Symbols):
            return self._without_noise(channel)
        moves = [_farthest(means) for means in channel.means]  # type: ignore[attr-defined]  # NoisyVectors
        shift = ROUNDING * math.sqrt(math.fsum(moves)) / channel.scale  # type: ignore[attr-defined]  # NoisyVectors
        if self.formula == "exact":
            return Reading(
                value=gaussian_epsilon(self.delta, shift), bound="exact", how="Gaussian trade-off"
            )
        value = math.sqrt(2.0 * math.log(1.25 / self.delta)) * shift
        if value > 1.0:
            raise OutsideHypotheses(
                f"the paper's formula is proved for epsilon <= 1; it gives {value:.4g} here, so "
                "add noise or use formula='exact'."
            )
        return Reading(value=value, bound="upper", how="the paper's formula")

    def brute_force(self, belief: Markov, question: Any, channel: Any) -> Reading:
        """Return the smallest ε for every two traces and every set of outputs."""
        from sfumato_counts import brute_force

        del question
        return brute_force.differential_privacy(belief, channel, self.delta)

    def _without_noise(self, channel: Symbols) -> Reading:
        laws = channel.probabilities
        if (laws == laws[:, :1]).all():
            return Reading(value=0.0, bound="exact", how="the output does not depend on the state")
        if ((laws == 0.0) | (laws == 1.0)).all():
            return Reading(
                value=math.inf, bound="exact", how="two states are told apart with certainty"
            )
        raise OutsideHypotheses(
            "differential_privacy reads Gaussian noise or none; outputs here are random symbols."
        )


def _farthest(means: NDArray[np.float64]) -> float:
    """Return the largest squared distance of two states' means, (M, K), holding one row of them."""
    different = np.unique(means, axis=0)
    return max(float(np.square(different - mean).sum(axis=1).max()) for mean in different)
