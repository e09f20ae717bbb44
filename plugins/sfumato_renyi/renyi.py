"""The exact conditional inferential privacy loss of Gaussian releases."""

from __future__ import annotations

import math

import numpy as np

from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.inference.fisher_information import fisher_information, scalar_informations
from sfumato.inference.information import EXACT
from sfumato.inference.worst_pair import worst_pair
from sfumato.parameters import ORDER, declare, parameter
from sfumato.protocols import DeclaredMeasure, Quantity, Reading
from sfumato.questions import Displacements
from sfumato.questions.displacements import Group


@declare
class Renyi(DeclaredMeasure):
    """The Rényi divergence between releases of the worst pair of secrets.

    Claim: for every two values of the secret that differ by an allowed Δ, the Rényi divergence of
    order λ between what is released is at most the loss, and equals it for the worst Δ.

    Formula: (λ/2) sup ΔᵀMΔ, M = V_SS⁻¹ − Σ_SS⁻¹, V the posterior covariance: what the release adds
    to the adversary's precision. A basic secret takes r² λ_max(M), a compound one the largest
    value over a product of balls.

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

    order: float = parameter(ORDER, default=2.0, doc="the Rényi order λ")

    @property
    def quantity(self) -> Quantity:
        """The Rényi divergence of that order."""
        return Quantity("Rényi divergence", {"order": self.order}, unit="nats")

    def evaluate(
        self, belief: Gaussian, question: Displacements, channel: AdditiveGaussian
    ) -> Reading:
        """Return the worst loss over the question's groups."""
        scale = 0.5 * self.order
        if len(question.groups) > 1 and all(_is_scalar(group) for group in question.groups):
            return self._every_scalar(belief, question, channel, scale)
        readings = [
            _group_reading(belief, group, radius, channel, scale)
            for group, radius in zip(question.groups, question.radii, strict=True)
        ]
        worst = max(readings, key=lambda reading: reading.value)
        exact = all(r.bound == "exact" or r.value < worst.value for r in readings)
        return worst if exact or worst.bound == "upper" else _as_upper(worst)

    def _every_scalar(
        self, belief: Gaussian, question: Displacements, channel: AdditiveGaussian, scale: float
    ) -> Reading:
        """Return the worst of many one-entry secrets, from one factorisation."""
        entries = np.array([group[0][0] for group in question.groups])
        informations, error = scalar_informations(belief, channel)
        values = scale * np.square(question.radii) * informations[entries]
        worst = int(np.argmax(values))
        return Reading(
            value=values[worst],
            bound="exact" if error <= EXACT else "upper",
            relative_error=error if error <= EXACT else 0.0,
            witness={"entries": (int(entries[worst]),), "displacement": (question.radii[worst],)},
            how="one factorisation for all entries",
        )


def _is_scalar(group: Group) -> bool:
    return len(group) == 1 and len(group[0]) == 1


def _as_upper(reading: Reading) -> Reading:
    return Reading(value=reading.value, bound="upper", witness=reading.witness, how=reading.how)


def _group_reading(
    belief: Gaussian, group: Group, radius: float, channel: AdditiveGaussian, scale: float
) -> Reading:
    """Return the loss of one product of balls."""
    entries = tuple(entry for ball in group for entry in ball)
    information = fisher_information(belief, channel, entries)
    if information.infinite:
        return Reading(value=math.inf, how=information.how)
    positions = iter(range(len(entries)))
    balls = tuple(tuple(next(positions) for _ in ball) for ball in group)
    worst = worst_pair(information.matrix, balls, radius, support=information.support)
    exact = information.bound == worst.bound == "exact"
    return Reading(
        value=scale * worst.value,
        bound="exact" if exact else "upper",
        relative_error=information.relative_error if exact else 0.0,
        witness={"entries": entries, "displacement": tuple(worst.witness)},
        how=f"{information.how}; {worst.how}",
    )
