"""A Markov chain over labelled states."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Markov
from sfumato.errors import OutsideHypotheses
from sfumato.inference.stationary_law import stationary_law
from sfumato.parameters import (
    CHOICE,
    COUNT,
    LABELS,
    OPTIONAL,
    SIMPLEX,
    STOCHASTIC,
    declare,
    parameter,
)
from sfumato.protocols import Prior


@declare
class MarkovChain(Prior):
    """A chain: the law of the first state, and a transition matrix for each step.

    One matrix of shape (M, M) rules every step; a stack of shape (T-1, M, M) one step each.

    >>> chain = MarkovChain(initial="stationary", transitions=[[0.5, 0.5], [1.0, 0.0]], steps=3)
    >>> chain.belief().initial.round(4)
    array([0.6667, 0.3333])
    """

    name = "markov_chain"
    yields = Markov

    initial: NDArray[np.float64] | str = parameter(
        SIMPLEX("M") | CHOICE("stationary"), doc="law of the first state, or 'stationary'"
    )
    transitions: NDArray[np.float64] = parameter(
        STOCHASTIC("M", "M") | STOCHASTIC("T-1", "M", "M"),
        doc="row-stochastic matrix, or one for each step",
    )
    steps: int = parameter(COUNT("T"), doc="number of states in a trace")
    states: tuple[Hashable, ...] | None = parameter(
        OPTIONAL(LABELS("M")), default=None, doc="labels of the states; 0, 1, ... by default"
    )

    def check(self) -> None:
        """Require one matrix for a stationary start."""
        if isinstance(self.initial, str) and self.transitions.ndim == 3:
            raise self.reject(
                "initial", "a probability vector where transitions vary", self.initial
            )
        try:
            self._initial_law()
        except OutsideHypotheses as error:
            reason = f"a probability vector here ({error})"
            raise self.reject("initial", reason, self.initial) from None

    def _initial_law(self) -> NDArray[np.float64]:
        if isinstance(self.initial, str):
            return stationary_law(self.transitions)
        return self.initial

    def belief(self) -> Markov:
        """Return the Markov belief."""
        states = self.states or tuple(range(self.sizes["M"]))
        return Markov(self._initial_law(), self.transitions, steps=self.steps, states=states)

    def trace_signature(self) -> Hashable:
        """Return the number of steps and the labels."""
        return (self.steps, self.states or self.sizes["M"])
