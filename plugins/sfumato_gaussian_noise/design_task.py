"""What is to be designed, and when a design is good enough."""

from __future__ import annotations

import functools

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Gaussian
from sfumato.errors import SolverFailed
from sfumato.matrices import Matrix
from sfumato.protocols import PriorClass, Secret
from sfumato_gaussian_noise.class_losses import ClassLosses, class_losses
from sfumato_gaussian_noise.closed_forms import Solution
from sfumato_gaussian_noise.dual_bound import DualBound, dual_bound
from sfumato_gaussian_noise.sampled_noise import sampled_noise

CONTRADICTION = 1e-9
"""A loss below its own lower bound by more than this share is no rounding of the loss."""


@attrs.frozen(eq=False)
class Certified:
    """Noise, its losses over the class, and what no other noise of that budget can beat."""

    noise: Matrix
    losses: ClassLosses
    bound: DualBound
    route: str


@attrs.frozen(eq=False, slots=False)
class Task:
    """Noise of total variance `budget` for a prior class and a secret.

    Attributes
    ----------
    floor : float
        Share κ of the budget that is spent on independent noise on every entry.
    tolerance : float
        Largest relative gap between the loss and the lower bound, the floor's price apart.
    independent : array, optional
        Entries whose noise must be independent, of equal variance, and apart from the rest.
    """

    prior: PriorClass
    secret: Secret
    budget: float
    floor: float
    tolerance: float
    independent: NDArray[np.intp] | None = None

    @functools.cached_property
    def belief(self) -> Gaussian:
        """The first member's belief: all members share the trace."""
        belief: Gaussian = next(self.prior.members()).belief()
        return belief

    def certify(self, solution: Solution, route: str) -> Certified:
        """Return the noise that a solution stands for, measured over the whole class."""
        noise = sampled_noise(solution, self.budget, self.floor)
        losses = class_losses(self.prior, self.secret, noise)
        bound = dual_bound(solution.witnesses, self.budget, self.independent)
        return Certified(noise, losses, bound, route)

    def lower(self, found: Certified) -> float:
        """Return the certified lower bound on the loss of any noise of the budget."""
        return found.bound.loss(self.budget)

    def gap(self, found: Certified) -> float:
        """Return loss / lower bound − 1, or refuse two figures that contradict each other."""
        lower = self.lower(found)
        if found.losses.worst < lower * (1 - CONTRADICTION):
            raise SolverFailed(
                f"{found.route} must prove a lower bound below the loss it attains; got "
                f"{lower:.6g} above {found.losses.worst:.6g}: use a moderate budget or other units."
            )
        if found.losses.worst <= lower:
            return 0.0
        return found.losses.worst / lower - 1 if lower > 0 else np.inf

    def met(self, found: Certified) -> bool:
        """Whether loss and lower bound agree to the tolerance."""
        return (1 + self.gap(found)) * (1 - self.floor) <= 1 + self.tolerance
