"""How far a release moves the odds of two secrets."""

from __future__ import annotations

import math

import attrs
import numpy as np

from sfumato.errors import OutsideHypotheses
from sfumato.inference.gaussian.fisher_information import EXACT
from sfumato.inference.gaussian.worst_pair import multiply
from sfumato.matrices.matrix import ROUNDOFF
from sfumato.parameters import OPEN_UNIT, OPTIONAL, ORDER, SWITCH, declare, parameter
from sfumato.protocols import Quantity, Reading
from sfumato.questions import Nearness
from sfumato.values import FloatArray
from sfumato.views import GaussianPart, GaussianView, Outcomes, PairMeasure
from sfumato.views.gaussian import ENDS, near_shifts
from sfumato.views.measures import Found, highest, worst_square


def gap_chance(mean: float, gap: float) -> float:
    """Return Pr[|G| > gap] for G ~ N(m, 2m).

    For a Gaussian trace and noise the log-odds of two secrets move by log p(Z|s_i)/p(Z|s_j), which
    under s_i is N(m, 2m) with m = ½ ΔᵀMΔ.
    """
    from scipy.special import ndtr

    if mean == 0:
        return 0.0 if gap >= 0 else 1.0
    if math.isinf(mean):
        return 1.0
    spread = math.sqrt(2 * mean)
    return float(ndtr((mean - gap) / spread) + ndtr((-mean - gap) / spread))


def gap_quantile(mean: float, chance: float) -> float:
    """Return the gap that |G| exceeds with the given chance.

    With gap = m + z √(2m) the chance is Φ(−z) + Φ(−z − √(2m)), decreasing in z from 1 at
    z = −√(m/2). It lies between Φ(−z) and twice that, which brackets z.
    """
    from scipy.optimize import brentq
    from scipy.special import log_ndtr, ndtri

    if mean == 0 or math.isinf(mean):
        return mean
    spread = math.sqrt(2 * mean)

    def excess(z: float) -> float:
        return float(np.logaddexp(log_ndtr(-z), log_ndtr(-z - spread))) - math.log(chance)

    low = max(-spread / 2, float(-ndtri(chance)))
    high = max(low, float(-ndtri(chance / 2))) + 1e-9
    z = (
        low
        if excess(low) <= 0
        else float(brentq(excess, low, high, xtol=1e-14, rtol=1e-14, maxiter=1000))
    )
    return spread * (z + spread / 2)


def conversion_gap(divergence: float, order: float, delta: float) -> float:
    """Return ε' = ε + log(1/δ) / (λ − 1), for a Rényi divergence ε of order λ."""
    return divergence + math.log(1 / delta) / (order - 1)


def conversion_chance(gap: float, delta: float) -> float:
    """Return δ (1 + e^(−ε')), the chance at most with which the gap exceeds ε' on either side.

    Pr_i[gap > ε'] ≤ δ is one-sided. On the other side p_i < e^(−ε') p_j, so Pr_i[gap < −ε'] is at
    most e^(−ε') Pr_j[gap < −ε'], and the last is the one-sided chance under s_j, at most δ.
    """
    return delta * (1 + math.exp(-gap))


def best_conversion_gap(mean: float, delta: float) -> float:
    """Return the smallest λ m + log(1/δ)/(λ − 1), at λ = 1 + √(log(1/δ)/m): m + 2 √(m log(1/δ))."""
    return mean + 2 * math.sqrt(mean * math.log(1 / delta))


@declare
class OddsGap(PairMeasure):
    """The change of log-odds between two secrets that is exceeded with chance δ only.

    Claim: for every two values of the secret that must look alike, their posterior log-odds differ
    from their prior log-odds by more than the loss with chance at most δ.

    Formula: the change is $log p/q$, p and q the laws of what is seen under the two values, and the
    loss the smallest g with $∑ p$ over $|log p/q| > g$ at most δ. It may rise when less is seen, so
    only exact views are read. For Gaussian traces, under either secret the change is $N(m, 2m)$, $m
    = ½ ΔᵀMΔ$, M the gain in precision; the chance $Pr[|change| > ε'] = Φ((m − ε')/√(2m)) + Φ((−m −
    ε')/√(2m))$ increases with m, so the worst pair is the one of the largest m. With
    ``conversion=True``, $ε' = ε + log(1/δ)/(λ − 1)$ from the Rényi divergence $ε = λm$ of order λ;
    without an order, of the best one. For priors in general that chance is δ on one side and at
    most $δ(1 + e^{−ε'})$ on both, as the witness says; for Gaussian ones at most δ on both, since
    $Pr[change > ε'] = Φ(−z) ≤ ½ e^{−z²/2} ≤ ½ δ$, and the other side is smaller. With
    ``expected=True``, the expected change instead: exactly m; by conversion at most ε.

    Assumptions: the adversary knows the prior and the channel; a conversion, or an expectation, is
    for Gaussian priors and additive Gaussian noise.

    Guarantee: exact; upper bounds by conversion.

    Reference: Meehan and Chaudhuri (2021), Theorem 3.1; (2019), Corollary 1.

    >>> import math
    >>> import sfumato as sf
    >>> prior, secret = sf.priors.rbf(length_scale=3.0, times=1), sf.secrets.basic(0)
    >>> release = sf.mechanisms.gaussian_uniform(mse=25.0).protect(prior, secret)
    >>> round(sf.measures.renyi(order=5.0).loss(prior, secret, release).value, 12)
    0.1
    >>> converted = sf.measures.odds_gap(delta=0.01, conversion=True, conversion_order=5.0)
    >>> round(math.exp(converted.loss(prior, secret, release).value), 3)
    3.495
    >>> round(math.exp(sf.measures.odds_gap(delta=0.01).loss(prior, secret, release).value), 3)
    1.678
    """

    name = "odds_gap"
    oracle = "sfumato_renyi.brute_force"
    obeys_processing = False
    promises = ("unit free", "nothing from silence", "grows with the secret", "share of outputs")

    delta: float = parameter(OPEN_UNIT, default=0.01, doc="the chance δ")
    conversion: bool = parameter(SWITCH, default=False, doc="convert from a Rényi divergence")
    expected: bool = parameter(SWITCH, default=False, doc="the expected change, whatever δ")
    conversion_order: float | None = parameter(
        OPTIONAL(ORDER), default=None, doc="the Rényi order λ of a conversion; None: the best"
    )

    def check(self) -> None:
        """Refuse an order that would not be used, and a conversion of unknown order."""
        order = self.conversion_order
        if order is not None and not self.conversion:
            raise self.reject("conversion_order", "None without conversion=True", order)
        if order is None and self.expected and self.conversion:
            raise self.reject("conversion_order", "given for a converted expectation", order)

    @property
    def quantity(self) -> Quantity:
        """The change of log-odds."""
        if self.expected:
            return Quantity("expected log-odds gap", unit="log-odds")
        return Quantity("log-odds gap", {"delta": self.delta}, unit="log-odds")

    def of_laws(self, p: FloatArray, q: FloatArray) -> FloatArray:
        """Return the gap that |log p/q| exceeds with chance δ under p, of each pair."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            gaps = np.where(p > 0.0, np.maximum(p / q, q / p), 1.0)
        # The first gap at which more than δ lies at or beyond it is not exceeded more often.
        edges = [highest(gap, law, self.delta)[1] for gap, law in zip(gaps, p, strict=True)]
        return np.asarray(np.log(gaps[np.arange(len(gaps)), edges]))

    def of_outcomes(self, outcomes: Outcomes, beyond: float = -math.inf) -> Found:
        """Return the worst gap, for a little less than δ: chances are rounded.

        For a little more than δ it may be smaller, and what lies between is its rounding.
        """
        if self.conversion or self.expected:
            raise OutsideHypotheses("conversions and expectations are for Gaussian traces.")
        room = 64.0 * outcomes.error
        high = super(OddsGap, OddsGap(self.delta * (1.0 - room))).of_outcomes(outcomes, beyond)
        if math.isinf(high.value) or not high.rows:
            return high
        laws = outcomes.likelihoods[list(high.rows)][:, None]
        more = self.delta * (1.0 + room)
        low = float(OddsGap(more).of_laws(*laws)[0]) if more < 1.0 else 0.0
        slack = (high.value - low) / 2.0 + high.slack
        return attrs.evolve(high, value=(high.value + low) / 2.0, slack=slack)

    def of_near(self, part: GaussianPart, event: Nearness) -> tuple[float, float]:
        """Return two ends of the gap: the odds move monotonely in each cell of posterior means."""
        if self.conversion or self.expected:
            raise OutsideHypotheses("conversions and expectations are for pairs of real values.")
        found = []
        for end in ENDS:
            table, *gaps = near_shifts(part, event, end)
            law = table[0] / table[0].sum()
            for gap, side in zip(gaps, (1.0 + 1e-9, 1.0 - 1e-9), strict=True):
                found.append(float(gap[highest(gap, law, self.delta * side)[1]]))
        return min(found), max(found)

    def of_shift(self, distance: float) -> float:
        """Return the gap for m = μ²/2, or its expectation, or a bound on either."""
        mean = float(multiply(0.5, np.array([distance * distance]))[0])
        if self.expected:
            return mean * (self.conversion_order or 1.0)
        if not self.conversion:
            return gap_quantile(mean, self.delta)
        if self.conversion_order is None:
            return best_conversion_gap(mean, self.delta)
        return conversion_gap(self.conversion_order * mean, self.conversion_order, self.delta)

    def _of_gaussian(self, view: GaussianView) -> Reading:
        """Return the gap of the worst pair, with what rounding of δ may hide."""
        found = super()._of_gaussian(view)
        if self.conversion:
            return self._converted(found, worst_square(view))
        how = f"{found.how}; {'expectation' if self.expected else 'quantile'} of the gap"
        if self.expected or found.value in (0.0, math.inf):
            return attrs.evolve(found, how=how)
        room = 64 * ROUNDOFF
        sides = min(self.delta * (1 + room), 1 - ROUNDOFF), self.delta * (1 - room)
        low, high = (super(OddsGap, OddsGap(side))._of_gaussian(view) for side in sides)
        ends = low.floor * (1 - 1e-12), high.ceiling * (1 + 1e-12)
        error = max(ends[1] - found.value, found.value - ends[0]) / found.value
        if found.bound == "exact" and error <= EXACT:
            return attrs.evolve(found, relative_error=error, how=how)
        return self.between(*ends, found.witness, how)

    def _converted(self, found: Reading, square: Reading) -> Reading:
        """Return the bound, and how often it is exceeded; an expectation is not."""
        value = found.ceiling * (1 + 2 * ROUNDOFF)
        if self.expected:
            how = f"{found.how}; Corollary 1"
            return Reading(value=value, bound="upper", witness=found.witness, how=how)
        chances = {
            "chance for any prior": conversion_chance(value, self.delta),
            "chance for this prior": gap_chance(square.ceiling / 2.0, value),
        }
        witness = {**(found.witness or {}), **chances}
        how = f"{found.how}; Theorem 3.1"
        return Reading(value=value, bound="upper", witness=witness, how=how)
