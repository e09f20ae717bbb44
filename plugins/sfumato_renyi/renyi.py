"""The exact conditional inferential privacy loss of Gaussian releases."""

from __future__ import annotations

from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.parameters import ORDER, declare, parameter
from sfumato.protocols import DeclaredMeasure, Quantity, Reading
from sfumato.quantities import renyi_divergence
from sfumato.questions import Displacements
from sfumato_renyi.worst_square import scaled, worst_square


@declare
class Renyi(DeclaredMeasure):
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
