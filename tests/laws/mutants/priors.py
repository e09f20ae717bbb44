"""Priors that believe something impossible, or not what they say."""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np

from mutants.mutant import Mutant
from sfumato.beliefs import Gaussian
from sfumato.matrices import Dense, Diagonal
from sfumato.parameters import COUNT, OPEN_UNIT, POSITIVE, TIMES, declare, parameter, stamps
from sfumato.protocols import Prior


@declare
class CertainDirection(Prior):
    """All entries equal: their differences are certain."""

    name = "mutant_certain_direction"
    yields = Gaussian

    times: int = parameter(COUNT("n"), doc="number of points")

    def belief(self) -> Gaussian:
        """Return ones everywhere, exactly."""
        return Gaussian(Dense(np.ones((self.times, self.times))), definite=True, rounding=0.0)


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


@declare
class IndefiniteKernel(Prior):
    """Entries closer than a width are equal, others independent: no covariance at all."""

    name = "mutant_indefinite_kernel"
    yields = Gaussian

    width: float = parameter(POSITIVE, doc="distance over which entries are equal")
    times: Any = parameter(TIMES("n"), doc="number of points, or time stamps")

    def belief(self) -> Gaussian:
        """Return ones in a band."""
        t = stamps(self.times)
        return Gaussian(Dense((np.abs(t[:, None] - t) < self.width).astype(float)))


@declare
class OtherBalls(Prior):
    """Independent entries; the variance is forgotten in the balls."""

    name = "mutant_other_balls"
    yields = Gaussian

    variance: float = parameter(POSITIVE, doc="variance of each entry")
    times: int = parameter(COUNT("n"), doc="number of points")

    def belief(self) -> Gaussian:
        """Return independent entries."""
        noise = Diagonal(np.full(self.times, self.variance))
        return Gaussian(noise, exact=self._formula, definite=True)

    def _formula(self, numbers: Any) -> Any:
        return numbers.matrix(np.eye(self.times))


@declare
class PrecisionAsScale(Prior):
    """Independent entries; an interval of precisions would be judged by its wrong end."""

    name = "mutant_precision_as_scale"
    yields = Gaussian
    scale_parameter = "precision"

    precision: float = parameter(POSITIVE, doc="one over the variance of each entry")
    times: int = parameter(COUNT("n"), doc="number of points")

    def belief(self) -> Gaussian:
        """Return independent entries."""
        return Gaussian(Diagonal(np.full(self.times, 1.0 / self.precision)))


@declare
class FickleBelief(Prior):
    """Independent entries of a variance that is another each time the prior is built."""

    name = "mutant_fickle_belief"
    yields = Gaussian

    times: int = parameter(COUNT("n"), doc="number of points")

    def belief(self) -> Gaussian:
        """Draw the variance."""
        return Gaussian(Diagonal(np.full(self.times, np.random.default_rng().uniform(1.0, 2.0))))


class _Exponential(Prior):
    """Correlations that fall exponentially with the time between two entries."""

    yields = Gaussian

    length_scale: float
    times: Any

    def belief(self) -> Gaussian:
        """Return the covariance exp(−|s − t| / l)."""
        t = stamps(self.times)
        return Gaussian(Dense(np.exp(-np.abs(t[:, None] - t) / self.length_scale)))


@declare
class LouderWhenLong(_Exponential):
    """Four times the variance on more than twenty points."""

    name = "mutant_louder_when_long"

    length_scale: float = parameter(POSITIVE, doc="time after which 1/e is remembered")
    times: Any = parameter(TIMES("n"), doc="number of points, or time stamps")

    def belief(self) -> Gaussian:
        """Forget to scale long traces."""
        found = super().belief()
        long = found.entries > 20
        return Gaussian(Dense((4.0 if long else 1.0) * found.covariance.dense()))


@declare
class ForgetsTooSoon(_Exponential):
    """Says that its covariance falls like a Gaussian, which a ledger believes."""

    name = "mutant_forgets_too_soon"

    length_scale: float = parameter(POSITIVE, doc="time after which 1/e is remembered")
    times: Any = parameter(TIMES("n"), doc="number of points, or time stamps")

    def covariance_beyond(self, distance: float) -> float:
        """Square the distance."""
        return math.exp(-((distance / self.length_scale) ** 2))


MUTANTS = (
    Mutant("belief.doors", LouderWhenLong, "fewer times, the same process", "sizes"),
    Mutant("belief.doors", ForgetsTooSoon, "what dies out dies out as it is said", "two doors"),
    Mutant("belief.possible", FickleBelief, "the same prior always believes the same"),
    Mutant("belief.definite", CertainDirection, "what is certain has no variance"),
    Mutant("belief.sampling", DrawsWithoutCorrelation, "traces must have the law that is believed"),
    Mutant("belief.possible", IndefiniteKernel, "a band of ones has negative eigenvalues"),
    Mutant("belief.balls", OtherBalls, "the exact covariance must be the stored one"),
    Mutant("belief.scale", PrecisionAsScale, "the covariance must grow with its scale"),
)
