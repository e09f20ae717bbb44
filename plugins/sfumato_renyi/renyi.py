"""The conditional inferential privacy loss: the Rényi divergence of what is seen."""

from __future__ import annotations

import math
from typing import cast

import numpy as np

from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.domains.domain import Real
from sfumato.errors import OutsideHypotheses
from sfumato.inference.gaussian.worst_pair import entries_of, multiply
from sfumato.parameters import CHOICE, ORDER, declare, parameter
from sfumato.protocols import LossMeasure, Quantity, Reading
from sfumato.quantities import renyi_divergence
from sfumato.questions import Displacements
from sfumato.values import FloatArray
from sfumato.views import FiniteView, GaussianView, PairMeasure, view_of

LIMITS = Real("1", low=1.0, high=1.0, draw=(1.0, 1.0)) | CHOICE(math.inf)
"""Orders that are limits: the Kullback–Leibler divergence and the worst ratio."""

NEAR_ONE = 1.5
"""Below this order a sum near one would lose the digits in which the divergence lies."""


@declare
class Renyi(PairMeasure):
    """The Rényi divergence between what is released under the worst pair of secret values.

    Claim: for every two values of the secret that must look alike, the Rényi divergence of order λ
    between what is seen is at most the loss, and equals it for the worst pair.

    Formula: $log ∑_o p(o)^λ q(o)^{1−λ} / (λ − 1)$, p and q the laws of what is seen; of infinite
    order $log max_o p(o)/q(o)$, the Pufferfish ε, and of order one the limit $∑_o p(o) log
    p(o)/q(o)$ of Kullback and Leibler. For Gaussian traces $(λ/2) sup ΔᵀMΔ$, $M = V_SS⁻¹ − Σ_SS⁻¹$,
    V the posterior covariance: what the release adds to the adversary's precision. A basic secret
    takes $r² λ_max(M)$, a compound one the largest value over a product of balls.

    Over a class that varies the prior's variance c, the loss is worst at the smallest: M is
    $Ãᵀ(c C + Γ)⁻¹Ã$, with $Ã$ and C those of $c = 1$, and decreases with c in Loewner order.

    Assumptions: the adversary knows the prior and the channel.

    Guarantee: exact up to a certified relative error of at most 1e-5; an upper bound where the
    worst pair of a compound secret, the view, or float64 allows no better.

    Reference: Meehan and Chaudhuri (2021), definition 3.2; their equation 5 is a special case.

    >>> import sfumato as sf
    >>> prior, secret = sf.priors.rbf(length_scale=6.0, times=50), sf.secrets.basic(24)
    >>> release = sf.mechanisms.gaussian_uniform(mse=0.02).protect(prior, secret)
    >>> round(sf.measures.renyi(order=2.0).loss(prior, secret, release).value, 3)
    260.603
    """

    name = "renyi"
    oracle = "sfumato_renyi.brute_force"
    promises = (
        "unit free",
        "nothing from silence",
        "grows with the secret",
        "grows with its order",
    )
    is_additive = True

    order: float = parameter(
        ORDER | LIMITS, default=2.0, doc="the Rényi order λ; 1: Kullback–Leibler; inf: worst ratio"
    )

    @property
    def quantity(self) -> Quantity:
        """The Rényi divergence of that order."""
        return renyi_divergence(self.order)

    def of_laws(self, p: FloatArray, q: FloatArray) -> FloatArray:
        """Return the divergence; infinite where something is seen under one value only."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratios = np.where(p > 0.0, p / q, 0.0)
            if math.isinf(self.order):
                return np.asarray(np.log(np.maximum(ratios.max(axis=-1), 1.0)))
            if self.order < NEAR_ONE:  # as Σ p = 1, log Σ p r^{λ−1} = log1p Σ p (r^{λ−1} − 1)
                above = self.order - 1.0
                moves = np.expm1(above * np.log(ratios)) / above if above else np.log(ratios)
                total = np.maximum(np.where(p > 0.0, p * moves, 0.0).sum(axis=-1), 0.0)
                return np.asarray(np.log1p(above * total) / above if above else total)
            powers = ratios if self.order == 2.0 else ratios ** (self.order - 1.0)
            total = np.log((p * powers).sum(axis=-1))
            if (np.isinf(total) & np.isfinite(ratios.max(axis=-1))).any():  # float64 holds no more
                logs = np.log(p) + (self.order - 1.0) * np.log(ratios)
                total = np.logaddexp.reduce(np.where(p > 0.0, logs, -np.inf), axis=-1)
        return np.asarray(np.maximum(total, 0.0) / (self.order - 1.0))

    def _of_finite(self, view: FiniteView) -> Reading:
        """Return the worst pair; of real outputs no more than coupled traces allow."""
        found = super()._of_finite(view)
        if view.coupled is None or math.isinf(self.order):
            return found
        most = view.coupled(self.order)
        if most >= found.ceiling:
            return found
        return self.between(found.floor, most, found.witness, f"{view.how}; coupled traces")

    def rounding(self, value: float, error: float) -> float:
        """Return the error of a logarithm of a sum of p^λ q^{1−λ}, over λ − 1."""
        if math.isinf(self.order):
            return 4.0 * error
        if self.order < NEAR_ONE:  # Σ |p log p/q| is at most the divergence and two more
            return 4.0 * error * (value + 4.0)
        return 4.0 * error * (2.0 * self.order - 1.0) / (self.order - 1.0)

    def of_shift(self, distance: float) -> float:
        """Return λμ²/2; infinite for infinite order, as soon as anything is told."""
        if math.isinf(self.order):
            return math.inf if distance > 0.0 else 0.0
        return float(multiply(0.5 * self.order, np.array([distance * distance]))[0])

    def between_members(self, worst: float, bend: float, turn: float) -> float:
        """Return the bound for log Σ p^λ q^{1−λ}: the logarithm of a sum of exponentials is convex.

        Each term's logarithm is λ log p + (1 − λ) log q.
        """
        del turn
        quotients = 2.0 if math.isinf(self.order) else (2 * self.order - 1) / (self.order - 1)
        return worst + quotients * bend


SAME = 1e-12
"""Relative difference up to which the variances of the secret entries' noise count as equal."""


@declare
class RenyiPaperBound(LossMeasure):
    """The published bound $(λ/2) S r² (1/σ_s² + α*)$ on the Rényi divergence.

    Claim: for every two values of the secret that differ by at most r at each of its S times, the
    Rényi divergence of order λ between what is released is at most the bound.

    Formula: $α*$ is the largest eigenvalue of $Aᵀ(Σ_{u|s} + Γ_uu)⁻¹A$, $A = Σ_us Σ_ss⁻¹$. Within
    the assumptions $I/σ_s² + Aᵀ(Σ_{u|s} + Γ_uu)⁻¹A$ is the gain in precision M, so $1/σ_s² + α*$ is
    its largest eigenvalue, and that is what is computed.

    Assumptions: the noise of the secret entries is independent of all other noise and of equal
    variance $σ_s²$. Other noise is refused: there the formula can lie below the truth.

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
    waivers = {"oracle.refusal": "equation (5) is for independent noise"}  # noqa: RUF012 - never changed
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
        for group in question.groups:
            _check_hypotheses(channel, entries_of(group))
        bounds, view = [], cast("GaussianView", view_of(belief, question, channel))
        each = zip(question.groups, question.radii, view.squares.informations, strict=True)
        for group, radius, told in each:
            largest = math.inf if told.infinite else np.linalg.eigvalsh(told.matrix)[-1]
            gain = max(float(largest), 0.0) * (1 + told.relative_error)  # 1/σ_s² + α*
            bounds.append(0.5 * self.order * radius**2 * len(group) * gain)
        return Reading(value=max(bounds), bound="upper", how="equation 5")


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
