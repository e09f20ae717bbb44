"""What all mechanisms share that take a noise budget or a target loss."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import attrs

from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.matrices import Matrix
from sfumato.parameters import ORDER, POSITIVE, ExactlyOne, Together, declare, parameter
from sfumato.protocols import DeclaredMechanism, PriorClass, Release, Secret
from sfumato.questions import Displacements
from sfumato_gaussian_noise.additive_release import additive_release
from sfumato_gaussian_noise.class_losses import class_losses
from sfumato_gaussian_noise.smallest_budget import smallest_budget

SMALLEST, LARGEST = 1e-304, 1e304
"""Budgets in units of the prior's variance, and in the trace's own, that float64 computes with."""


@attrs.frozen(eq=False)
class Design:
    """A noise covariance, and what is certified about it."""

    noise: Matrix
    claims: Mapping[str, Any] = attrs.field(factory=dict)
    loss: float | None = None
    """Worst loss over the class in units of half the order, where the design knows it."""


@declare
class Calibrated(DeclaredMechanism):
    """A mechanism that designs noise for a budget: the author writes `noise`.

    With `epsilon` and `order`, the smallest budget is searched for at which the Rényi loss of that
    order is at most `epsilon` for every member of the prior class.
    """

    asks = ((Gaussian, Displacements),)
    yields = AdditiveGaussian
    rules = (ExactlyOne(("mse", "epsilon")), Together("epsilon", "order"))

    mse: float | None = parameter(POSITIVE, default=None, doc="average noise variance per entry")
    epsilon: float | None = parameter(
        POSITIVE, default=None, doc="target: the largest Rényi loss over the prior class"
    )
    order: float | None = parameter(ORDER, default=None, doc="the Rényi order of the target")

    @abstractmethod
    def noise(self, prior: PriorClass, secret: Secret, mse: float) -> Design:
        """Design noise with `mse` as its average variance per entry."""

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Design for the budget, or for the smallest budget that meets the target."""
        if self.mse is not None:
            found = self._within(prior, secret, self.mse)
        else:
            found = self._for_target(prior, secret)
        return additive_release(self, prior, secret, found.noise, found.claims)

    def _within(self, prior: PriorClass, secret: Secret, mse: float) -> Design:
        """Design, if the total variance and the prior's share of it fit float64."""
        belief: Gaussian = next(prior.members()).belief()
        least = SMALLEST * max(1.0, float(belief.covariance.diagonal().max()))
        if not least <= mse * belief.entries <= LARGEST:
            raise self.reject(
                "mse",
                f"such that the total over {belief.entries} entries lies between {least:.3g} and "
                f"{LARGEST:.0e}",
                mse,
            )
        return self.noise(prior, secret, mse)

    def _for_target(self, prior: PriorClass, secret: Secret) -> Design:
        if self.epsilon is None or self.order is None:  # the rules exclude it; types do not
            raise self.reject("epsilon", "given where mse is not", self.epsilon)
        target = 2 * self.epsilon / self.order

        def try_budget(mse: float) -> tuple[float, Design]:
            found = self._within(prior, secret, mse)
            loss = found.loss
            if loss is None:
                loss = class_losses(prior, secret, found.noise).worst
            return loss, found

        belief: Gaussian = next(prior.members()).belief()
        start = max(r * r for r in secret.question(belief).radii) / target
        return smallest_budget(try_budget, target, start)
