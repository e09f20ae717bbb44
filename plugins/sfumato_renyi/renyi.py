"""The exact conditional inferential privacy loss of Gaussian releases."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.errors import OutsideHypotheses
from sfumato.inference.gaussian.fisher_information import fisher_information
from sfumato.inference.gaussian.worst_pair import largest_square, multiply, worst_squares
from sfumato.matrices.matrix import ROUNDOFF, Array
from sfumato.parameters import ORDER, declare, parameter
from sfumato.protocols import LossMeasure, Quantity, Reading
from sfumato.quantities import renyi_divergence
from sfumato.questions import Displacements
from sfumato.questions.displacements import Group


def worst_square(
    belief: Gaussian, question: Displacements, channel: AdditiveGaussian, factor: float = 1.0
) -> Reading:
    """Return factor · sup ΔᵀMΔ over the question's displacements, M = V_SS⁻¹ − Σ_SS⁻¹.

    The witness names the entries that move and the worst displacement.

    >>> from sfumato.matrices import Diagonal
    >>> belief, channel = Gaussian(Diagonal([1.0])), AdditiveGaussian(Diagonal([0.5]))
    >>> worst_square(belief, Displacements((((0,),),), radii=2.0), channel).value
    8.0
    """
    squares = worst_squares(belief, question, channel)
    worst, ceiling = squares.worst, squares.ceilings.max()
    value = squares.values[worst]
    # An upper bound below the worst cannot matter; a less certain value close to it can.
    exact = bool(np.all(squares.exact[squares.values >= value]))
    certain = ceiling == value or not exact
    entries = tuple(entry for ball in question.groups[worst] for entry in ball)
    displacement = question.radii[worst] * squares.displacements[worst]
    moved = {"displacement": tuple(displacement.tolist())} if displacement.size else {}
    return Reading(
        value=float(multiply(factor, np.array([value if exact else ceiling]))[0]),
        bound="exact" if exact else "upper",
        relative_error=0.0 if certain else float(ceiling / value - 1) + 2 * ROUNDOFF,
        witness={"entries": entries, **moved},
        how=squares.hows[worst],
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
        return worst_square(belief, question, channel, 0.5 * self.order)

    def of_informations(self, question: Displacements, informations: Sequence[Array]) -> Array:
        """Return (λ/2) sup ΔᵀMΔ, which grows with M."""
        return 0.5 * self.order * (1 + 4 * ROUNDOFF) * largest_square(question, informations)

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
