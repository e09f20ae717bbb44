"""What a mutant is, and a Rényi divergence written plainly, for mutants to spoil."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.errors import OutsideHypotheses
from sfumato.parameters import ORDER, declare, parameter
from sfumato.plugin_registry import BY_HAND, Entry, Registry
from sfumato.protocols import LossMeasure, Quantity, Reading
from sfumato.quantities import renyi_divergence
from sfumato.questions import Displacements

KINDS = (
    "sizes",
    "own quantity",
    "claimed error",
    "silence",
    "tails and sources",
    "two doors",
    "secret",
    "world",
    "promise",
)
"""What has once fooled the kit: of each, at least two mutants are told apart."""


@attrs.frozen
class Mutant:
    """A wrong plugin, the name of the law that catches it, and what is wrong in one sentence."""

    law: str
    plugin: Any
    mistake: str
    kind: str = attrs.field(default="", validator=attrs.validators.in_(("", *KINDS)))
    outcome: str = attrs.field()

    @outcome.default
    def _outcome(self) -> str:
        return "unverified" if self.law == "oracle.exists" else "violated"

    @property
    def name(self) -> str:
        """The registered name of the wrong class."""
        return str(self.plugin.name)

    def registry(self, shipped: Registry) -> Registry:
        """Return the shipped plugins with this one among them."""
        entry = Entry(self.plugin.kind, self.name, self.plugin, BY_HAND)
        return attrs.evolve(shipped, entries=(*shipped.entries, entry))


FloatArray = NDArray[np.float64]


@declare
class PlainRenyi(LossMeasure):
    """(λ/2) r² (1/V_ss − 1/Σ_ss), the worst over single entries s."""

    name = "mutant_plain_renyi"
    reads = ((Gaussian, Displacements, AdditiveGaussian),)

    order: float = parameter(ORDER, default=2.0, doc="the Rényi order")

    @property
    def quantity(self) -> Quantity:
        """The Rényi divergence of that order."""
        return renyi_divergence(self.order)

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Return the worst value over single entries."""
        sigma, gamma = belief.covariance.dense(), channel.covariance()
        return Reading(value=self.worst(question, lambda s: gain(sigma, gamma, s)), bound="exact")

    def worst(self, question: Displacements, gain_of: Callable[[int], float]) -> float:
        """Return the largest (λ/2) r² gain over the question's entries."""
        if any(len(group) != 1 or len(group[0]) != 1 for group in question.groups):
            raise OutsideHypotheses("only single entries are understood here")
        return max(
            0.5 * self.order * radius**2 * gain_of(group[0][0])
            for group, radius in zip(question.groups, question.radii, strict=True)
        )


def gain(sigma: FloatArray, gamma: FloatArray, entry: int) -> float:
    """Return 1/V_ss − 1/Σ_ss: what a release adds to the precision of one entry."""
    column = sigma[:, entry]
    posterior = sigma[entry, entry] - column @ np.linalg.pinv(sigma + gamma) @ column
    return max(0.0, 1.0 / max(float(posterior), 1e-300) - 1.0 / float(sigma[entry, entry]))
