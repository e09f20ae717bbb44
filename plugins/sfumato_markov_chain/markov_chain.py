"""A Markov chain over labelled states."""

from __future__ import annotations

import math
import numbers
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Markov
from sfumato.errors import OutsideHypotheses, ParameterError
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
from sfumato_markov_chain import fitting
from sfumato_markov_chain.parametric import line_moves
from sfumato_markov_chain.stationary import spectral_gap, stationary_law

MOST_SMOOTHING = 1e100
"""More makes rows no more uniform, and their sums overflow."""


@declare
class MarkovChain(Prior):
    """A chain: the law of the first state, and a transition matrix for each step.

    One matrix of shape (M, M) rules every step; a stack of shape (T-1, M, M) one step each.
    ``markov_chain.fit``, ``fit_each`` and ``simulated`` make chains from data or by formula.

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
            needed = "a probability vector where transitions vary"
            raise self.reject("initial", needed, self.initial)
        try:
            self._initial_law()
        except OutsideHypotheses as error:
            needed = f"a probability vector here ({error})"
            raise self.reject("initial", needed, self.initial) from None

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
        return (self.steps, self.states or tuple(range(self.sizes["M"])))

    def spectral_gap(self) -> float:
        """Return 1 − |λ_2|: near 0 for someone who stays, near 1 for someone who jumps about.

        >>> MarkovChain("stationary", [[0.9, 0.1], [0.1, 0.9]], 3).spectral_gap()
        0.2
        """
        if self.transitions.ndim == 3:
            raise OutsideHypotheses("the spectral gap is that of one matrix; got one each step.")
        return round(float(spectral_gap(self.transitions)), 15)

    @classmethod
    def simulated(cls, states: int, tau: float, steps: int) -> MarkovChain:
        """Return the chain on a line with transitions ∝ exp(−|i − j| / (τ M)), stationary.

        The larger τ, the more independent the places of different steps. The prior `line_chain` is
        the same chain with τ as its parameter, which may be an interval.

        Reference: Koga, Meehan and Chaudhuri (2024), section 4.1, simulated data.

        >>> MarkovChain.simulated(states=3, tau=0.5, steps=2).transitions.round(3).tolist()
        [[0.563, 0.289, 0.148], [0.253, 0.493, 0.253], [0.148, 0.289, 0.563]]
        """
        _require_whole("simulated must have states", states)
        if isinstance(tau, bool) or not isinstance(tau, numbers.Real) or not 0 < tau < math.inf:
            raise ParameterError(f"markov_chain.simulated must have tau > 0; got {tau!r}.")
        return cls(initial="stationary", transitions=line_moves(states, tau), steps=steps)

    @classmethod
    def fit(
        cls,
        sequences: Sequence[Sequence[Any]],
        *,
        homogeneous: bool = True,
        smoothing: float = 1.0,
        states: Iterable[Any] | None = None,
        steps: int | None = None,
    ) -> MarkovChain:
        """Fit one chain to traces of one person (or of many, taken for one).

        Transitions are (n_ij + a) / (Σ_j n_ij + a M), with a the smoothing; the chain starts in
        its stationary law. With ``homogeneous=False`` there is one matrix for each step; a row that
        was seen seldom leans on how its state moves at any time, which counts for a days; the
        first states give the initial law.

        Parameters
        ----------
        sequences
            Traces of labels; without homogeneity of one length, which is that of the chain.
        homogeneous
            Whether one matrix rules every step.
        smoothing
            The a above; 0 for bare frequencies.
        states
            All possible labels, also those never seen; those seen by default.
        steps
            Length of the traces that the chain is to describe; of the longest trace by default.

        Examples
        --------
        >>> chain = MarkovChain.fit([["home", "work", "home", "home"]], smoothing=0.5)
        >>> chain.states, chain.transitions.round(3).tolist()
        (('home', 'work'), [[0.5, 0.5], [0.75, 0.25]])
        >>> days = [["bed", "bed", "out"], ["bed", "out", "out"]]
        >>> MarkovChain.fit(days, homogeneous=False, smoothing=0.0).transitions[:, 0].tolist()
        [[0.5, 0.5], [0.0, 1.0]]
        """
        traces = [fitting.checked_trace(trace) for trace in _checked_list(sequences, "sequences")]
        smoothing = _checked_smoothing(smoothing)
        if not homogeneous:
            initial, matrices, labels = fitting.stepwise_laws(traces, states, smoothing)
            if steps not in (None, len(traces[0])):
                raise ParameterError(
                    f"markov_chain.fit must have steps={len(traces[0])}, as the traces have, where "
                    f"homogeneous is False; got {steps!r}."
                )
            return cls(initial, matrices, len(traces[0]), labels)
        moves = fitting.Moves.of([traces], states)
        transitions = fitting.smoothed_laws(moves.counts(0, 1)[0], smoothing)
        return cls("stationary", transitions, _length(steps, traces), moves.states)

    @classmethod
    def fit_each(
        cls,
        people: Sequence[Sequence[Any]] | Mapping[Hashable, Sequence[Any]],
        *,
        smoothing: float = 1.0,
        states: Iterable[Any] | None = None,
        steps: int | None = None,
    ) -> fitting.FittedChains:
        """Fit one chain to each person's trace or traces, all over the same states.

        No move is counted from the end of one trace to the beginning of the next.

        For each person `people` has one trace of labels, or a list of traces; an (N, L) array will
        do. Or it is a table {name: trace or traces}, whose order is kept and whose names the result
        has. The rest is as for `fit`. The result is a sequence of priors, each made when it is
        asked for.

        Examples
        --------
        >>> chains = MarkovChain.fit_each([[0, 1, 0], [1, 1, 1]], steps=5)
        >>> len(chains), chains[1].transitions.round(3).tolist()
        (2, [[0.5, 0.5], [0.25, 0.75]])
        >>> days = MarkovChain.fit_each({"ann": [[0, 1], [1, 1, 1]], "bob": [0, 0, 0]})
        >>> days.names, days[0].transitions.round(3).tolist()
        (('ann', 'bob'), [[0.333, 0.667], [0.25, 0.75]])
        """
        smoothing = _checked_smoothing(smoothing)
        listed = _checked_list(people, "people")
        table = listed if isinstance(listed, Mapping) else dict(enumerate(listed))
        groups = [fitting.traces_of(person) for person in table.values()]
        moves = fitting.Moves.of(groups, states)
        length = _length(steps, [trace for group in groups for trace in group])
        return fitting.FittedChains(moves, smoothing, length, cls, tuple(table))


def _checked_list(given: Any, name: str) -> Any:
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise ParameterError(f"{name} must be a list of traces; got {given!r}.")
    return given


def _checked_smoothing(smoothing: object) -> float:
    if (
        isinstance(smoothing, bool)
        or not isinstance(smoothing, numbers.Real)
        or not 0.0 <= float(smoothing) <= MOST_SMOOTHING  # written so that NaN fails
    ):
        raise ParameterError(
            f"markov_chain.fit must have smoothing from 0 to {MOST_SMOOTHING:g}; got {smoothing!r}."
        )
    return float(smoothing)


def _length(steps: int | None, traces: list[Sequence[Any]]) -> int:
    """Return the length to describe: as given, or that of the longest trace."""
    if steps is None:
        return max(len(trace) for trace in traces)
    _require_whole("fit must have steps", steps)
    return steps


def _require_whole(where: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ParameterError(f"markov_chain.{where} >= 1; got {value!r}.")
