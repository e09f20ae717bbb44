"""The exact conditional inferential privacy loss of Gaussian releases."""

from __future__ import annotations

import math

import attrs
import numpy as np

from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.errors import OutsideHypotheses, Undecidable
from sfumato.inference.gaussian.fisher_information import fisher_information, scalar_informations
from sfumato.inference.gaussian.information import EXACT
from sfumato.inference.gaussian.worst_pair import is_scalar, positions, worst_pair
from sfumato.parameters import ORDER, declare, parameter
from sfumato.protocols import LossMeasure, Quantity, Reading
from sfumato.quantities import renyi_divergence
from sfumato.questions import Displacements
from sfumato.questions.displacements import Group


def worst_square(belief: Gaussian, question: Displacements, channel: AdditiveGaussian) -> Reading:
    """Return sup ΔᵀMΔ over the question's displacements, M = V_SS⁻¹ − Σ_SS⁻¹.

    The witness names the entries that move and the worst displacement.

    >>> from sfumato.matrices import Diagonal
    >>> belief, channel = Gaussian(Diagonal([1.0])), AdditiveGaussian(Diagonal([0.5]))
    >>> worst_square(belief, Displacements((((0,),),), radii=2.0), channel).value
    8.0
    """
    for radius in set(question.radii):
        within_float64(radius, radius)
    if len(question.groups) > 1 and all(is_scalar(group) for group in question.groups):
        return _every_scalar(belief, question, channel)
    readings = [
        group_square(belief, group, radius, channel)
        for group, radius in zip(question.groups, question.radii, strict=True)
    ]
    worst = max(readings, key=lambda reading: reading.value)
    # An upper bound of equal value elsewhere hides nothing; one below the worst cannot matter.
    tied = any(r.bound == "upper" and r.value >= worst.value for r in readings)
    return attrs.evolve(worst, bound="upper", relative_error=0.0) if tied else worst


def scaled(reading: Reading, factor: float) -> Reading:
    """Return the reading of `factor` times as much."""
    return attrs.evolve(reading, value=within_float64(factor, reading.value))


def within_float64(*factors: float) -> float:
    """Return a product, or refuse it where it vanishes or overflows though no factor does.

    >>> within_float64(2.0, 0.0), within_float64(2.0, math.inf)
    (0.0, inf)
    """
    product = math.prod(factors)
    vanished = product == 0 and all(factor != 0 for factor in factors)
    if vanished or (math.isinf(product) and all(math.isfinite(factor) for factor in factors)):
        raise Undecidable(
            "the loss does not fit float64: use a moderate radius and order, or other units."
        )
    return product


def group_square(
    belief: Gaussian, group: Group, radius: float, channel: AdditiveGaussian
) -> Reading:
    """Return the largest square of one product of balls."""
    entries = tuple(entry for ball in group for entry in ball)
    information = fisher_information(belief, channel, entries)
    if information.infinite:
        return Reading(
            value=math.inf, bound="exact", how=information.how, witness={"entries": entries}
        )
    worst = worst_pair(information.matrix, positions(group), radius, support=information.support)
    exact = information.bound == worst.bound == "exact"
    value = worst.value
    if not exact and information.bound == "exact":
        value *= 1 + information.relative_error  # a bound is one only above its rounding
    return Reading(
        value=value,
        bound="exact" if exact else "upper",
        relative_error=information.relative_error if exact else 0.0,
        witness={"entries": entries, "displacement": tuple(worst.witness.tolist())},
        how=f"{information.how}; {worst.how}",
    )


def _every_scalar(belief: Gaussian, question: Displacements, channel: AdditiveGaussian) -> Reading:
    """Return the worst of many one-entry secrets, from one factorisation."""
    entries = np.array([group[0][0] for group in question.groups])
    informations, error = scalar_informations(belief, channel)
    with np.errstate(over="ignore", under="ignore"):  # looked at below
        worst = int(np.argmax(np.square(question.radii) * informations[entries]))
    radius = question.radii[worst]
    return Reading(
        value=within_float64(radius, radius, float(informations[entries[worst]])),
        bound="exact" if error <= EXACT else "upper",
        relative_error=error if error <= EXACT else 0.0,
        witness={"entries": (int(entries[worst]),), "displacement": (radius,)},
        how="one factorisation for all entries",
    )


@declare
class Renyi(LossMeasure):
    """The Rényi divergence between releases of the worst pair of secrets.

    Claim: for every two values of the secret that differ by an allowed Δ, the Rényi divergence of
    order λ between what is released is at most the loss, and equals it for the worst Δ.

    Formula: (λ/2) sup ΔᵀMΔ, M = V_SS⁻¹ − Σ_SS⁻¹, V the posterior covariance: what the release adds
    to the adversary's precision. A basic secret takes r² λ_max(M), a compound one the largest
    value over a product of balls.

    Over a class that varies the prior's variance c, the loss is worst at the smallest: M is
    Ãᵀ(c C + Γ)⁻¹Ã, with Ã and C those of c = 1, and decreases with c in Loewner order.

    Assumptions: a Gaussian prior of any mean, and additive Gaussian noise of any covariance.

    Guarantee: exact up to a certified relative error of at most 1e-5; an upper bound where the
    worst pair of a compound secret, or float64, allows no better.

    Reference: Meehan and Chaudhuri (2021), definition 3.2; their equation 5 is a special case.

    >>> import sfumato as sf
    >>> prior, secret = sf.priors.rbf(length_scale=6.0, times=50), sf.secrets.basic(24)
    >>> release = sf.mechanisms.gaussian_uniform(mse=0.02).protect(prior, secret)
    >>> round(sf.measures.renyi(order=2.0).loss(prior, secret, release).value, 3)
    260.603
    """

    name = "renyi"
    reads = ((Gaussian, Displacements, AdditiveGaussian),)
    worst_scale = "low"  # proved above

    order: float = parameter(ORDER, default=2.0, doc="the Rényi order λ")

    @property
    def quantity(self) -> Quantity:
        """The Rényi divergence of that order."""
        return renyi_divergence(self.order)

    def evaluate(
        self, belief: Gaussian, question: Displacements, channel: AdditiveGaussian
    ) -> Reading:
        """Return the worst loss over the question's groups."""
        return scaled(worst_square(belief, question, channel), 0.5 * self.order)

    def brute_force(
        self, belief: Gaussian, question: Displacements, channel: AdditiveGaussian
    ) -> Reading:
        """Return it from the two releases themselves, in exact arithmetic."""
        from sfumato_renyi import brute_force

        return brute_force.renyi_divergence(belief, question, channel, self.order)


SAME = 1e-12
"""Relative difference up to which the variances of the secret entries' noise count as equal."""


@declare
class RenyiPaperBound(LossMeasure):
    """The published bound (λ/2) S r² (1/σ_s² + α*) on the Rényi divergence.

    Claim: for every two values of the secret that differ by at most r at each of its S times, the
    Rényi divergence of order λ between what is released is at most the bound.

    Formula: α* is the largest eigenvalue of Aᵀ(Σ_{u|s} + Γ_uu)⁻¹A, A = Σ_us Σ_ss⁻¹. Within the
    assumptions I/σ_s² + Aᵀ(Σ_{u|s} + Γ_uu)⁻¹A is the gain in precision M, so 1/σ_s² + α* is its
    largest eigenvalue, and that is what is computed.

    Assumptions: the noise of the secret entries is independent of all other noise and of equal
    variance σ_s². Other noise is refused: there the formula can lie below the truth.

    Guarantee: an upper bound; for one secret time it is attained.

    Reference: Meehan and Chaudhuri (2021), Theorem 3.4, equation 5.

    >>> import sfumato as sf
    >>> prior, secret = sf.priors.rbf(length_scale=3.0, times=50), sf.secrets.compound([24, 25])
    >>> release = sf.mechanisms.gaussian_uniform(mse=0.02).protect(prior, secret)
    >>> losses = [
    ...     measure(order=2.0).loss(prior, secret, release).value
    ...     for measure in (sf.measures.renyi, sf.measures.renyi_paper_bound)
    ... ]
    >>> losses[0] <= losses[1] * (1 + 1e-9)
    True
    """

    name = "renyi_paper_bound"
    reads = ((Gaussian, Displacements, AdditiveGaussian),)
    worst_scale = "low"  # as for renyi: what the prior leaves open hides the secret

    order: float = parameter(ORDER, default=2.0, doc="the Rényi order λ")

    @property
    def quantity(self) -> Quantity:
        """The Rényi divergence of that order."""
        return renyi_divergence(self.order)

    def evaluate(
        self, belief: Gaussian, question: Displacements, channel: AdditiveGaussian
    ) -> Reading:
        """Return the largest bound over the question's groups."""
        bounds = [
            0.5 * self.order * radius**2 * len(group) * _largest_gain(belief, group, channel)
            for group, radius in zip(question.groups, question.radii, strict=True)
        ]
        return Reading(value=max(bounds), bound="upper", how="equation 5")


def _largest_gain(belief: Gaussian, group: Group, channel: AdditiveGaussian) -> float:
    """Return 1/σ_s² + α*, raised by its certified error."""
    entries = [entry for ball in group for entry in ball]
    _check_hypotheses(channel, entries)
    information = fisher_information(belief, channel, entries)
    if information.infinite:
        return math.inf
    largest = float(np.linalg.eigvalsh(information.matrix)[-1])
    return max(largest, 0.0) * (1 + information.relative_error)


def _check_hypotheses(channel: AdditiveGaussian, entries: list[int]) -> None:
    columns = channel.noise.columns(entries)
    own = columns[entries]
    variances = np.diagonal(own)
    if np.any(own - np.diag(variances)):
        raise OutsideHypotheses(
            "equation 5 takes independent noise on the secret entries; got correlated noise: use "
            "renyi, which is exact for any noise."
        )
    if np.ptp(variances) > SAME * float(variances.max()):
        raise OutsideHypotheses(
            f"equation 5 takes noise of one variance on the secret entries; got from "
            f"{variances.min():.6g} to {variances.max():.6g}: use renyi."
        )
    rest = np.delete(columns, entries, axis=0)
    if np.any(rest):
        raise OutsideHypotheses(
            "equation 5 takes noise on the secret entries that is independent of the rest; got a "
            "covariance between them: use renyi."
        )
