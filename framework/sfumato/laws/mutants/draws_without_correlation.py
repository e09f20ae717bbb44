"""Traces drawn without the correlation that is believed."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from sfumato.beliefs import Gaussian
from sfumato.laws.mutant import Mutant
from sfumato.matrices import Dense, Diagonal
from sfumato.parameters import COUNT, OPEN_UNIT, declare, parameter
from sfumato.protocols import Prior


@attrs.frozen(eq=False)
class _Independent(Gaussian):
    def sample(self, rng: np.random.Generator | None = None, size: int | None = None) -> Any:
        """Draw every entry on its own."""
        return Gaussian(Diagonal(self.covariance.diagonal())).sample(rng, size)


@declare
class DrawsWithoutCorrelation(Prior):
    """Equally correlated entries, drawn as independent ones."""

    name = "mutant_draws_without_correlation"
    yields = Gaussian

    correlation: float = parameter(OPEN_UNIT, doc="correlation of any two entries")
    times: int = parameter(COUNT("n"), doc="number of points")

    def belief(self) -> Gaussian:
        """Return equally correlated entries."""
        size = self.times
        covariance = np.full((size, size), self.correlation)
        np.fill_diagonal(covariance, 1.0)
        return _Independent(Dense(covariance), definite=True)


MUTANT = Mutant(
    "belief.sampling", DrawsWithoutCorrelation, "traces must have the law that is believed"
)
