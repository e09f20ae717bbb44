"""Noise for a budget or for a target loss, and the mechanisms that need no design."""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.errors import OutsideHypotheses
from sfumato.matrices import Dense, Diagonal, Matrix
from sfumato.parameters import (
    COVARIANCE,
    ORDER,
    POSITIVE,
    ExactlyOne,
    Together,
    declare,
    parameter,
)
from sfumato.protocols import Mechanism, PriorClass, Release, Secret
from sfumato.quantities import MEAN_SQUARED_ERROR
from sfumato.questions import Displacements
from sfumato_gaussian_noise.design import Members

# Budgets in units of the prior's variance, and in the trace's own, that float64 computes with.
SMALLEST, LARGEST = 1e-304, 1e304


@attrs.frozen(eq=False)
class Design:
    """A noise covariance, what is certified about it, and the worst loss where that is known."""

    noise: Matrix
    claims: Mapping[str, Any] = attrs.field(factory=dict)
    loss: float | None = None  # over the class designed for, in units of half the order


class AdditiveMechanism(Mechanism):
    """A mechanism that adds Gaussian noise."""

    asks = ((Gaussian, Displacements),)
    yields = AdditiveGaussian

    def release(self, members: Members, found: Design) -> Release:
        """Return the release that adds the noise; its utility is the noise variance per entry."""
        belief = members.first.belief
        return Release(
            mechanism=self,
            prior=members.prior,
            secret=members.secret,
            channel=AdditiveGaussian(found.noise, dimensions=belief.dimensions),
            utility_value=found.noise.trace() / belief.entries,
            utility_quantity=MEAN_SQUARED_ERROR,
            claims=found.claims,
        )


@declare
class Calibrated(AdditiveMechanism):
    """A mechanism that designs noise for a budget: the author writes `noise`.

    With `epsilon` and `order`, the smallest budget is searched for at which the Rényi loss of that
    order is at most `epsilon` for every member of the prior class.
    """

    rules = (ExactlyOne(("mse", "epsilon")), Together("epsilon", "order"))
    promises = (("mse", "mean_squared_error"), ("epsilon", "renyi"))
    strength = ("mse", "more")

    mse: float | None = parameter(POSITIVE, default=None, doc="average noise variance per entry")
    epsilon: float | None = parameter(
        POSITIVE, default=None, doc="target: the largest Rényi loss over the prior class"
    )
    order: float | None = parameter(ORDER, default=None, doc="the Rényi order of the target")

    @abstractmethod
    def noise(self, members: Members, mse: float) -> Design:
        """Design noise with `mse` as its average variance per entry."""

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Design for the budget, or for the smallest budget that meets the target."""
        asked = Members(prior, secret)
        if self.epsilon is None or self.order is None:
            return self.release(asked, self._within(asked, self.mse or 0.0))
        return self.release(asked, self._for_target(asked, 2 * self.epsilon / self.order))

    def _within(self, asked: Members, mse: float) -> Design:
        """Design, if the total variance and the prior's share of it fit float64."""
        belief = asked.first.belief
        least = SMALLEST * max(1.0, float(belief.covariance.diagonal().max()))
        if not least <= mse * belief.entries <= LARGEST:
            total = f"such that the total over {belief.entries} entries lies between {least:.3g}"
            raise self.reject("mse", f"{total} and {LARGEST:.0e}", mse)
        return self.noise(asked, mse)

    def _for_target(self, asked: Members, target: float) -> Design:
        def try_budget(mse: float) -> tuple[float, Design]:
            found = self._within(asked, mse)
            if found.loss is None:
                return asked.smallest.proved_losses(found.noise).worst, found
            return found.loss, found

        start = max(r * r for r in asked.first.question.radii) / target
        return smallest_budget(try_budget, target, start)


@declare
class Uniform(Calibrated):
    """Independent noise of variance `mse` on every entry, whatever is secret: $Γ = mse · I$.

    Reference: Meehan and Chaudhuri (2021), section 5, the independent/uniform baseline.

    >>> import sfumato as sf
    >>> prior, secret = sf.priors.rbf(length_scale=6.0, times=50), sf.secrets.basic(24)
    >>> release = sf.mechanisms.gaussian_uniform(mse=0.02).protect(prior, secret)
    >>> print(sf.measures.renyi().loss(prior, secret, release))
    Rényi divergence (order=2) [nats] = 260.603
    """

    name = "gaussian_uniform"

    def noise(self, members: Members, mse: float) -> Design:
        """Spread the noise evenly; the secret does not matter."""
        return Design(Diagonal.constant(mse, members.first.belief.entries))


@declare
class Concentrated(Calibrated):
    """Independent noise that spends the whole budget on the secret entries S.

    $Γ_SS = (n · mse / |S|) · I$ and nothing elsewhere, so the other entries are released as they
    are: on a smooth prior they give the secret away, and the loss is astronomical though finite.

    Reference: Meehan and Chaudhuri (2021), section 5, the independent/concentrated baseline.

    >>> import sfumato as sf
    >>> prior, secret = sf.priors.rbf(length_scale=6.0, times=50), sf.secrets.basic(24)
    >>> release = sf.mechanisms.gaussian_concentrated(mse=0.02).protect(prior, secret)
    >>> f"{sf.measures.renyi().loss(prior, secret, release):.1e}"
    '2.4e+41'
    """

    name = "gaussian_concentrated"

    def noise(self, members: Members, mse: float) -> Design:
        """Spread the noise over the secret entries."""
        entries, chosen = members.first.belief.entries, list(members.first.question.entries)
        variances = np.zeros(entries)
        variances[chosen] = mse * entries / len(chosen)
        return Design(Diagonal(variances))


@declare
class Given(AdditiveMechanism):
    """Noise of a given covariance, such as another library's, measured as it is.

    The noise is `scale` times the covariance, which is what calibration turns.

    >>> import sfumato as sf
    >>> prior, secret = sf.priors.rbf(length_scale=6.0, times=2), sf.secrets.basic(0)
    >>> release = sf.mechanisms.gaussian_given([[1.0, 0.5], [0.5, 1.0]]).protect(prior, secret)
    >>> print(sf.measures.renyi().loss(prior, secret, release))
    Rényi divergence (order=2) [nats] = 1.30409
    """

    name = "gaussian_given"
    strength = ("scale", "more")

    covariance: NDArray[np.float64] = parameter(COVARIANCE("entries"), doc="the noise covariance Γ")
    scale: float = parameter(POSITIVE, default=1.0, doc="what the covariance is multiplied by")

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Use the covariance for traces of its size."""
        members = Members(prior, secret)
        entries = members.first.belief.entries
        if len(self.covariance) != entries:
            raise self.reject(
                "covariance", f"{entries} by {entries}, as the trace has it", self.covariance
            )
        noise = self.covariance if self.scale == 1.0 else self.scale * self.covariance
        return self.release(members, Design(Dense(noise)))


# The smallest budget for a target -----------------------------------------------------------------

T = TypeVar("T")
SLACK = 1e-7  # relative amount by which the loss may stay below its target
STEPS = 20  # false position needs fewer where the loss is continuous in the budget
JUMP = 1e-6  # where the loss jumps, a budget is settled to this relative width
REACH = 1e15  # largest factor between the first budget tried and the last


class _Trial(NamedTuple, Generic[T]):
    """A budget, how far its loss lies above the target (as a logarithm), and what it gave."""

    budget: float
    excess: float
    found: T


def smallest_budget(
    try_budget: Callable[[float], tuple[float, T]], target: float, start: float
) -> T:
    """Return what the smallest budget gave whose loss is at most `target`.

    The loss falls as the budget grows, much like its inverse: the root of log loss − log target as
    a function of log budget is bracketed by steps of slope −1, then refined by false position with
    the kept end's value halved (the Illinois rule), and by halving where the loss jumps at its
    root. The result is always from the safe side.

    >>> from sfumato_gaussian_noise.baselines import smallest_budget
    >>> round(smallest_budget(lambda b: (3.0 / b, b), target=1.5, start=1.0), 6)
    2.0
    """

    def trial(budget: float) -> _Trial[T]:
        loss, found = try_budget(budget)
        return _Trial(budget, math.log(loss / target) if loss > 0 else -math.inf, found)

    low, high = _bracket(trial, start)
    above, below = min(low.excess, 1e3), max(high.excess, -1e3)
    for step in itertools.count():
        jumps = step >= STEPS
        if -SLACK <= high.excess <= 0 or high.budget <= low.budget * (
            1 + (JUMP if jumps else 1e-12)
        ):
            break
        width = math.log(high.budget / low.budget)
        # Aim a little beyond the root: the answer must come from its safe side.
        share = min(max(above / (above - below) + 0.1 * SLACK / width, 1e-3), 1 - 1e-3)
        middle = trial(low.budget * math.exp((0.5 if jumps else share) * width))
        if not low.budget < middle.budget < high.budget:
            break
        if middle.excess > 0:
            low, above, below = middle, min(middle.excess, 1e3), below / 2
        else:
            high, below, above = middle, max(middle.excess, -1e3), above / 2
    return high.found


def _bracket(trial: Callable[[float], _Trial[T]], start: float) -> tuple[_Trial[T], _Trial[T]]:
    """Return a budget that is too small and one that is not; one budget twice if it is the end."""
    low = high = trial(start)
    least = 1e-6  # doubled each time: where the loss hardly moves, its slope says nothing
    while low.excess <= 0:
        if low.excess >= -SLACK or low.budget < start / REACH:
            return low, low
        high, low = low, trial(low.budget * math.exp(max(1.01 * low.excess - least, -7.0)))
        least *= 2
    while high.excess > 0:
        if high.budget > start * REACH:
            raise OutsideHypotheses(
                "the target loss must be reachable by adding noise; got one that no budget up to "
                f"{high.budget:.3g} per entry reaches: allow a larger epsilon."
            )
        low, high = high, trial(high.budget * math.exp(min(1.01 * high.excess + least, 7.0)))
        least *= 2
    return low, high
