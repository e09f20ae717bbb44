"""What the Gaussian adversary believes after seeing a release."""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.randomness import generator_or_secure

Array = NDArray[np.float64]


@attrs.frozen(eq=False)
class CredibleTraces:
    """A Gaussian posterior over traces.

    Attributes
    ----------
    mean : array in the shape of a trace
    covariance : array (n, n) over the entries, time · d + coordinate

    >>> belief = CredibleTraces(np.zeros(1), np.eye(1))
    >>> [round(float(end[0]), 2) for end in belief.credible_intervals(0.95)]
    [-1.96, 1.96]
    """

    mean: Array
    covariance: Array

    @property
    def deviations(self) -> Array:
        """The standard deviation of each entry, in the shape of a trace."""
        variances = np.maximum(np.diagonal(self.covariance), 0.0)
        return np.asarray(np.sqrt(variances).reshape(self.mean.shape))

    def credible_intervals(self, probability: float = 0.95) -> tuple[Array, Array]:
        """Return lower and upper ends that hold each entry with the given probability."""
        from scipy.stats import norm

        if not 0 < probability < 1:
            raise ParameterError(f"probability must lie strictly in (0, 1); got {probability!r}.")
        half = float(norm.isf((1 - probability) / 2)) * self.deviations
        return self.mean - half, self.mean + half

    def sample(self, rng: np.random.Generator | None = None, size: int | None = None) -> Array:
        """Draw a trace that the adversary finds credible, or `size` of them."""
        values, vectors = np.linalg.eigh(self.covariance)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        count = 1 if size is None else size
        draws = generator_or_secure(rng).standard_normal((count, len(values))) @ root.T
        traces = self.mean + draws.reshape(count, *self.mean.shape)
        return np.asarray(traces[0] if size is None else traces)
