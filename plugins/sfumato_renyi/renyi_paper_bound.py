"""The published bound on the conditional inferential privacy loss."""

from __future__ import annotations

import math

import numpy as np

from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.errors import OutsideHypotheses
from sfumato.inference.fisher_information import fisher_information
from sfumato.parameters import ORDER, declare, parameter
from sfumato.protocols import DeclaredMeasure, Quantity, Reading
from sfumato.quantities import renyi_divergence
from sfumato.questions import Displacements
from sfumato.questions.displacements import Group

SAME = 1e-12
"""Relative difference up to which the variances of the secret entries' noise count as equal."""


@declare
class RenyiPaperBound(DeclaredMeasure):
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
