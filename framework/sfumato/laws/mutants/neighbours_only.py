"""Correlation beyond the neighbouring entries ignored."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.laws.mutant import Mutant
from sfumato.laws.mutants.plain_gaussian import FloatArray, PlainRenyi, gain
from sfumato.parameters import declare
from sfumato.protocols import Reading


@declare
class NeighboursOnly(PlainRenyi):
    """The loss from the secret entry and the two next to it in the list."""

    name = "mutant_neighbours_only"

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Cut a window out of the trace."""
        sigma, gamma = belief.covariance.dense(), channel.covariance()
        return Reading(
            value=self.worst(question, lambda s: _windowed(sigma, gamma, s)), bound="exact"
        )


def _windowed(sigma: FloatArray, gamma: FloatArray, entry: int) -> float:
    near = np.arange(max(entry - 1, 0), min(entry + 2, len(sigma)))
    window = np.ix_(near, near)
    return gain(sigma[window], gamma[window], int(np.flatnonzero(near == entry)[0]))


MUTANT = Mutant("invariance.times", NeighboursOnly, "the order of a list is not the order of time")
