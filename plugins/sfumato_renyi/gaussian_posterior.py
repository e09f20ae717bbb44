"""The Bayesian who knows the process and the noise."""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.inference.posterior_covariance import posterior
from sfumato.parameters import declare
from sfumato.protocols import DeclaredAdversary


@attrs.frozen(eq=False)
class GaussianBeliefs:
    """A Gaussian posterior over the trace's entries."""

    mean: NDArray[np.float64]
    covariance: NDArray[np.float64]

    def credible_interval(self, entry: int, probability: float = 0.95) -> tuple[float, float]:
        """Return the central interval that holds an entry with the given probability."""
        from scipy.stats import norm

        half = norm.ppf(0.5 + probability / 2) * np.sqrt(self.covariance[entry, entry])
        centre = self.mean.reshape(-1)[entry]
        return float(centre - half), float(centre + half)

    def sample(self, rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        """Draw traces that the adversary finds credible, (size, n)."""
        values, vectors = np.linalg.eigh(self.covariance)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        draws: NDArray[np.float64] = rng.standard_normal((size, len(values))) @ root.T
        return self.mean.reshape(-1) + draws


@declare
class GaussianPosterior(DeclaredAdversary):
    """The posterior N(μ + ΣK⁺(z − μ), Σ − ΣK⁺Σ) with K = Σ + Γ.

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

    def infer(
        self, belief: Gaussian, channel: AdditiveGaussian, observed: ArrayLike
    ) -> GaussianBeliefs:
        """Return the posterior of the trace."""
        mean, covariance = posterior(belief, channel, observed)
        return GaussianBeliefs(mean, covariance)
