"""The Bayesian who knows the process and the noise."""

from __future__ import annotations

from numpy.typing import ArrayLike

from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.inference.posterior_covariance import posterior
from sfumato.parameters import declare
from sfumato.protocols import DeclaredAdversary
from sfumato_renyi.credible_traces import CredibleTraces


@declare
class GaussianPosterior(DeclaredAdversary):
    """The posterior N(μ + ΣK⁺(z − μ), Σ − ΣK⁺Σ) with K = Σ + Γ.

    Its mean and covariance are float64 values without a certificate: they serve an attack, and a
    loss is read from `renyi` or `posterior_interval`.

    Reference: Meehan and Chaudhuri (2021), appendix 7.4.

    >>> import sfumato as sf
    >>> from sfumato.matrices import Diagonal
    >>> belief = sf.priors.rbf(length_scale=1.0, times=1).belief()
    >>> channel = AdditiveGaussian(Diagonal([1.0]))
    >>> sf.adversaries.gaussian_posterior().infer(belief, channel, [1.0]).mean
    array([0.5])
    """

    name = "gaussian_posterior"
    reads = ((Gaussian, AdditiveGaussian),)
    promises = ("posterior",)

    def infer(
        self, belief: Gaussian, channel: AdditiveGaussian, observed: ArrayLike
    ) -> CredibleTraces:
        """Return the posterior of the trace."""
        self.require(belief, channel)
        return CredibleTraces(*posterior(belief, channel, observed))
