"""What everyone loses at worst, whoever they are and wherever they go."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Markov
from sfumato.channels import Emission, NoisyVectors, Symbols
from sfumato.errors import OutsideHypotheses
from sfumato.inference.gaussian_tradeoff import gaussian_epsilon
from sfumato.parameters import CHOICE, OPEN_UNIT, declare, parameter
from sfumato.populations import OfPopulation
from sfumato.protocols import DeclaredMeasure, Quantity, Reading

ROUNDING = 1.0 + 1e-14
"""Lengths are taken larger by this factor, above the rounding of a sum, a root and a ratio."""


@declare
class DifferentialPrivacy(OfPopulation, DeclaredMeasure):
    """The ε of (ε, δ)-differential privacy when one person's whole trace is replaced.

    With Gaussian noise of deviation σ the counts move by at most Δ in Euclidean length, and
    neighbours are as far apart as N(0, 1) and N(μ, 1), μ = Δ/σ. The exact ε is the smallest with
    Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ) ≤ δ. One sensor a step has Δ = √T; with more, a move from
    one to another changes two counts. With ``formula="paper"`` it is
    ε = √(2 log(1.25/δ)) μ, which is √(2 log(1.25/δ) T)/σ for one sensor a step.

    Assumptions: none on the prior, which is why everyone has the same loss. The paper's formula
    is proved for ε ≤ 1 and refused beyond.
    Guarantee: exact, and rounded up; the paper's formula is an upper bound. Without noise ε is
    infinite.
    Reference: Koga, Meehan and Chaudhuri (2024), section 2.2.1; Dwork and Roth (2014),
    theorem A.1; Balle and Wang (2018), theorem 8.

    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain.simulated(states=10, tau=0.1, steps=4)
    >>> secret = sf.secrets.trajectory(mistakes=1)
    >>> release = sf.mechanisms.sensor_counts([0, 3, 6, 9], noise=8.0).protect(chain, secret)
    >>> round(sf.measures.differential_privacy(delta=0.01).loss(chain, secret, release).value, 4)
    0.3599
    >>> paper = sf.measures.differential_privacy(delta=0.01, formula="paper")
    >>> round(paper.loss(chain, secret, release).value, 4)
    0.7769
    """

    name = "differential_privacy"
    reads = ((Markov, object, NoisyVectors), (Markov, object, Symbols))

    delta: float = parameter(OPEN_UNIT, default=1e-5, doc="chance of exceeding ε")
    formula: str = parameter(
        CHOICE("exact", "paper"), default="exact", doc="the exact trade-off, or the paper's formula"
    )

    @property
    def quantity(self) -> Quantity:
        """The ε at this δ."""
        return Quantity("differential privacy", {"delta": self.delta}, unit="nats")

    def evaluate(self, belief: Markov, question: Any, channel: Emission) -> Reading:
        """Return ε."""
        del belief, question
        if isinstance(channel, Symbols):
            return self._without_noise(channel)
        moves = [_farthest(means) for means in channel.means]  # type: ignore[attr-defined]  # NoisyVectors
        shift = ROUNDING * math.sqrt(math.fsum(moves)) / channel.scale  # type: ignore[attr-defined]  # NoisyVectors
        if self.formula == "exact":
            return Reading(value=gaussian_epsilon(self.delta, shift), how="Gaussian trade-off")
        value = math.sqrt(2.0 * math.log(1.25 / self.delta)) * shift
        if value > 1.0:
            raise OutsideHypotheses(
                f"the paper's formula is proved for epsilon <= 1; it gives {value:.4g} here, so "
                "add noise or use formula='exact'."
            )
        return Reading(value=value, bound="upper", how="the paper's formula")

    def _without_noise(self, channel: Symbols) -> Reading:
        laws = channel.probabilities
        if (laws == laws[:, :1]).all():
            return Reading(value=0.0, how="the output does not depend on the state")
        if ((laws == 0.0) | (laws == 1.0)).all():
            return Reading(value=math.inf, how="two states are told apart with certainty")
        raise OutsideHypotheses(
            "differential_privacy reads Gaussian noise or none; outputs here are random symbols."
        )


def _farthest(means: NDArray[np.float64]) -> float:
    """Return the largest squared distance of two states' means, (M, K), holding one row of them."""
    different = np.unique(means, axis=0)
    return max(float(np.square(different - mean).sum(axis=1).max()) for mean in different)
