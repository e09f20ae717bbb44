"""Chains that vary with one number: how far somebody moves, or how much of another life they lead.

Their transitions have a formula, so that losses over an interval of that number can be proved.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Markov
from sfumato.errors import OutsideHypotheses
from sfumato.parameters import (
    CHOICE,
    COUNT,
    LABELS,
    OPTIONAL,
    POSITIVE,
    SIMPLEX,
    STOCHASTIC,
    UNIT,
    declare,
    parameter,
)
from sfumato.protocols import Prior
from sfumato.values import FloatArray
from sfumato_markov_chain.stationary import stationary_law

FARTHEST = 600.0
"""Exponent of the rarest move: exp(−600) still has all digits of float64."""


def line_moves(states: int, tau: float) -> FloatArray:
    """Return the transition matrix ∝ exp(−|i − j| / (τ M)) of places on a line.

    >>> line_moves(2, 1.0).round(4).tolist()
    [[0.6225, 0.3775], [0.3775, 0.6225]]
    """
    weights = np.exp(-_distances(states) / (float(tau) * states))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _distances(states: int) -> FloatArray:
    places = np.arange(states, dtype=float)
    return np.abs(places[:, None] - places)


@declare
class LineChain(Prior):
    """A stationary chain on a line with transitions ∝ exp(−|i − j| / (τ M)).

    The larger τ, the more independent the places of different steps. Weights are symmetric, so the
    stationary law is proportional to their sums by rows.

    Reference: Koga, Meehan and Chaudhuri (2024), section 4.1, simulated data.

    >>> import sfumato as sf
    >>> chain = sf.priors.line_chain(states=3, tau=0.5, steps=2)
    >>> chain.belief().transitions[0].round(3).tolist()
    [[0.563, 0.289, 0.148], [0.253, 0.493, 0.253], [0.148, 0.289, 0.563]]
    """

    name = "line_chain"
    yields = Markov

    states: int = parameter(COUNT("M"), doc="number of places on the line")
    tau: float = parameter(POSITIVE, doc="how far a step goes, as a share of the line")
    steps: int = parameter(COUNT("T"), doc="number of states in a trace")

    def check(self) -> None:
        """Require moves that float64 can hold."""
        least = (self.states - 1) / (FARTHEST * self.states)
        if self.tau < least:
            raise self.reject("tau", f"at least {least:.2g} for {self.states} places", self.tau)

    def belief(self) -> Markov:
        """Return the Markov belief."""
        moves = line_moves(self.states, self.tau)
        return Markov(stationary_law(moves), moves, steps=self.steps, states=range(self.states))

    def formula(self, numbers: Any) -> Any:
        """Return the initial law and the transitions in numbers of any kind."""
        apart = numbers.number(-_distances(self.states) / self.states)
        weights = (apart * (numbers.number(1.0) / self.tau)).exp()
        every = range(self.states)
        sums = sum(numbers.block(weights, list(every), [place]) for place in every)
        row = sum(numbers.block(weights, [place], list(every)) for place in every)
        total = sum(numbers.block(row, [0], [place]) for place in every)
        return row / total, weights / sums


@declare
class MixedChain(Prior):
    """A chain that moves by one matrix with chance 1 − w, and by another with chance w.

    At every step anew: the transitions are (1 − w) A + w B.

    >>> import sfumato as sf
    >>> home, away = [[0.9, 0.1], [0.9, 0.1]], [[0.1, 0.9], [0.1, 0.9]]
    >>> chain = sf.priors.mixed_chain("stationary", home, away, weight=0.25, steps=3)
    >>> chain.belief().initial.round(6).tolist()
    [0.7, 0.3]
    """

    name = "mixed_chain"
    yields = Markov

    initial: NDArray[np.float64] | str = parameter(
        SIMPLEX("M") | CHOICE("stationary"), doc="law of the first state, or 'stationary'"
    )
    first: NDArray[np.float64] = parameter(STOCHASTIC("M", "M"), doc="transitions A")
    second: NDArray[np.float64] = parameter(STOCHASTIC("M", "M"), doc="transitions B")
    weight: float = parameter(UNIT, doc="the weight w of B")
    steps: int = parameter(COUNT("T"), doc="number of states in a trace")
    states: tuple[Hashable, ...] | None = parameter(
        OPTIONAL(LABELS("M")), default=None, doc="labels of the states; 0, 1, ... by default"
    )

    def check(self) -> None:
        """Require a stationary law where one is asked for."""
        try:
            self._initial_law()
        except OutsideHypotheses as error:
            needed = f"a probability vector here ({error})"
            raise self.reject("initial", needed, self.initial) from None

    def _moves(self) -> FloatArray:
        return np.asarray((1.0 - self.weight) * self.first + self.weight * self.second)

    def _initial_law(self) -> FloatArray:
        return stationary_law(self._moves()) if isinstance(self.initial, str) else self.initial

    def belief(self) -> Markov:
        """Return the Markov belief."""
        states = self.states or tuple(range(self.sizes["M"]))
        return Markov(self._initial_law(), self._moves(), steps=self.steps, states=states)

    def trace_signature(self) -> Hashable:
        """Return the number of steps and the labels."""
        return (self.steps, self.states or tuple(range(self.sizes["M"])))

    def formula(self, numbers: Any) -> Any:
        """Return the initial law, None for the stationary one, and the transitions."""
        first, second = numbers.number(self.first), numbers.number(self.second)
        initial = None if isinstance(self.initial, str) else numbers.number(self.initial[None])
        return initial, first + (second - first) * self.weight
