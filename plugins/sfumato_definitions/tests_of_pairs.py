"""How well what is seen tells two values of the secret apart, as tests of hypotheses count it."""

from __future__ import annotations

import math

import numpy as np

from sfumato.matrices.matrix import ROUNDOFF
from sfumato.parameters import NONNEGATIVE, OPEN_UNIT, declare, parameter
from sfumato.protocols import Quantity
from sfumato.values import FloatArray
from sfumato.views import PairMeasure
from sfumato.views.measures import bent_difference, highest


class _Exceeding(PairMeasure):
    """How much of what is seen under one value exceeds e^ε times what is under the other."""

    oracle = "sfumato_definitions.brute_force"
    promises = ("unit free", "nothing from silence", "grows with the secret")
    epsilon: float

    def of_laws(self, p: FloatArray, q: FloatArray) -> FloatArray:
        """Return Σ max(0, p − e^ε q) = Σ p − Σ min(p, e^ε q)."""
        with np.errstate(divide="ignore", over="ignore"):
            if self.epsilon < 700.0:
                allowed = q * math.exp(self.epsilon)
            else:  # too large for float64
                allowed = np.exp(np.log(q) + self.epsilon)
        common = np.minimum(p, allowed, out=allowed).sum(axis=-1)
        return np.asarray(np.clip(p.sum(axis=-1) - common, 0.0, 1.0))

    def at_most(self, apart: FloatArray) -> FloatArray:
        """Return δ(0): the total variation."""
        return apart

    def rounding(self, value: float, error: float) -> float:
        """Return the error of what is left of p, Σ p = 1, where it exceeds e^ε q; at most one."""
        return min(8.0 * error if value > 0.0 else 2.0 * error, max(1.0 - value, 0.0))

    def between_members(self, worst: float, bend: float, turn: float) -> float:
        """Return the bound for Pr[A | one] − c Pr[A | other] of the worst set A of outcomes."""
        return min(1.0, bent_difference(worst, bend, turn))


@declare
class HockeyStick(_Exceeding):
    """δ(ε): how much of what is seen under one value is not explained by $e^ε$ times the other.

    Claim: whatever set of outcomes is looked at, it is at most $e^ε$ times as likely under one
    value of the secret as under another, but for an additional δ.

    Formula: $∑_o max(0, p(o) − e^ε q(o))$, of the worst pair. For Gaussian traces, with $μ² =
    ΔᵀMΔ$, $Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ)$.

    Assumptions: the adversary knows the prior and the channel.

    Guarantee: exact, or an upper bound where the view is one.

    Reference: Balle and Wang (2018), for the Gaussian form.

    >>> import sfumato as sf
    >>> prior, secret = sf.priors.rbf(length_scale=1.0, times=50), sf.secrets.basic(24)
    >>> release = sf.mechanisms.gaussian_uniform(mse=0.1).protect(prior, secret)
    >>> round(sf.measures.hockey_stick(epsilon=1.0).loss(prior, secret, release).value, 7)
    0.8687482
    """

    name = "hockey_stick"

    epsilon: float = parameter(NONNEGATIVE, default=1.0, doc="the ratio that is allowed, as ε")

    @property
    def quantity(self) -> Quantity:
        """δ at that ε."""
        return Quantity("hockey-stick divergence", {"epsilon": self.epsilon}, unit="probability")

    def of_shift(self, distance: float) -> float:
        """Return δ(ε) of two normal laws, from above."""
        value, lost = self._of_shift(distance)
        return min(value * (1.0 + lost), 1.0)

    def shift_error(self, distance: float) -> float:
        """Return by how much, relatively, that may be too large."""
        return 2.0 * self._of_shift(distance)[1]

    def _of_shift(self, distance: float) -> tuple[float, float]:
        """Return δ(ε) of two normal laws and its rounding; far out nothing cancels in a quotient.

        With a = ε/μ − μ/2 and b = ε/μ + μ/2, e^ε = φ(a)/φ(b), so δ = φ(a) (R(a) − R(b)), R(x) the
        Mills ratio Φ(−x)/φ(x) = √(π/2) erfcx(x/√2).
        """
        from scipy.special import erfcx, log_ndtr, ndtr

        if distance == 0.0 or math.isinf(distance):
            return (0.0 if distance == 0.0 else 1.0), 0.0
        a = self.epsilon / distance - distance / 2.0
        b = self.epsilon / distance + distance / 2.0
        if a <= 0.0 and self.epsilon < 1.0:  # Φ(−a) − Φ(−b) as a sum of two positive numbers
            apart = (math.erf(-a / math.sqrt(2.0)) + math.erf(b / math.sqrt(2.0))) / 2.0
            return float(apart - math.expm1(self.epsilon) * ndtr(-b)), 64 * ROUNDOFF
        if a <= 0.0:  # what is taken away is less than what is left
            other = math.exp(self.epsilon + float(log_ndtr(-b)))
            return float(ndtr(-a)) - other, 16 * ROUNDOFF * (4.0 + (self.epsilon + b * b) * other)
        nodes, weights = np.polynomial.legendre.leggauss(12)
        between = a + distance * (1.0 + nodes) / 2.0
        slopes = 1.0 - between * math.sqrt(math.pi / 2.0) * erfcx(between / math.sqrt(2.0))
        mills = float(weights @ slopes) * distance / 2.0  # R(a) − R(b), as R'(x) = xR(x) − 1
        if distance > 0.5:
            ends = erfcx(np.array([a, b]) / math.sqrt(2.0))
            mills = math.sqrt(math.pi / 2.0) * float(ends[0] - ends[1])
        # Exponent and slopes lose digits as a grows.
        density = math.exp(-a * a / 2.0) / math.sqrt(2.0 * math.pi)
        return density * mills, 64.0 * ROUNDOFF * (1.0 + 3.0 * a * a)


@declare
class Advantage(_Exceeding):
    """How much better than a coin someone tells two values of the secret apart: total variation.

    Claim: whoever sees the release, and must say which of two equally likely values the secret has,
    is right with a chance of at most (1 + advantage)/2.

    Formula: $∑_o max(0, p(o) − q(o))$, of the worst pair; for Gaussian traces $2Φ(μ/2) − 1$, $μ² =
    ΔᵀMΔ$.

    Assumptions: the adversary knows the prior and the channel.

    Guarantee: exact, or an upper bound where the view is one.

    Reference: Kulynych et al. (2024), for how advantage, power and δ(ε) hang together.

    >>> import sfumato as sf
    >>> prior, secret = sf.priors.rbf(length_scale=6.0, times=50), sf.secrets.basic(24)
    >>> release = sf.mechanisms.gaussian_uniform(mse=1.0).protect(prior, secret)
    >>> round(sf.measures.advantage().loss(prior, secret, release).value, 7)
    0.8321615
    """

    name = "advantage"
    epsilon = 0.0
    quantity = Quantity("advantage", unit="probability")

    def of_shift(self, distance: float) -> float:
        """Return 2Φ(μ/2) − 1."""
        return math.erf(distance / math.sqrt(8.0))


@declare
class Power(PairMeasure):
    """How often the best test finds a value of the secret, at a given rate of false alarms.

    Claim: no test that raises a false alarm with chance α finds the other value of a pair with a
    larger chance than the loss.

    Formula: outcomes are taken by falling likelihood ratio until q has mass α, the last one by
    chance (Neyman and Pearson). For Gaussian traces $Φ(Φ⁻¹(α) + μ)$, $μ² = ΔᵀMΔ$.

    Assumptions: the adversary knows the prior and the channel.

    Guarantee: exact, or an upper bound where the view is one.

    Reference: Dong, Roth and Su (2022), for trade-off functions.

    >>> import sfumato as sf
    >>> prior, secret = sf.priors.rbf(length_scale=6.0, times=50), sf.secrets.basic(24)
    >>> release = sf.mechanisms.gaussian_uniform(mse=1.0).protect(prior, secret)
    >>> round(sf.measures.power(false_alarm=0.01).loss(prior, secret, release).value, 6)
    0.667136
    """

    name = "power"
    oracle = "sfumato_definitions.brute_force"
    promises = ("unit free", "grows with the secret")

    false_alarm: float = parameter(OPEN_UNIT, default=0.05, doc="the rate of false alarms, α")

    @property
    def quantity(self) -> Quantity:
        """The power at that rate."""
        return Quantity("power", {"false_alarm": self.false_alarm}, unit="probability")

    def of_laws(self, p: FloatArray, q: FloatArray) -> FloatArray:
        """Return the mass of p on the outcomes that speak most for it, up to mass α of q."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratios = np.where(q > 0.0, p / q, np.inf)
        found = np.empty(len(p))
        for row, (ratio, alarm) in enumerate(zip(ratios, q, strict=True)):
            taken, edge = highest(ratio, alarm, self.false_alarm)
            found[row] = p[row, taken].sum()
            if edge >= 0:
                left = self.false_alarm - alarm[taken].sum()
                found[row] += left / alarm[edge] * p[row, edge]
        return np.asarray(np.minimum(found, 1.0))

    def at_most(self, apart: FloatArray) -> FloatArray:
        """Return α + TV."""
        return self.false_alarm + apart

    def rounding(self, value: float, error: float) -> float:
        """Return the error: the power is concave in α, so an error of α counts relatively."""
        return min(8.0 * error, max(1.0 - value, 0.0))

    def of_shift(self, distance: float) -> float:
        """Return Φ(Φ⁻¹(α) + μ)."""
        from scipy.special import ndtr, ndtri

        return float(ndtr(ndtri(self.false_alarm) + distance))
