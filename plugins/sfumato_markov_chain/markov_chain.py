"""Markov chains over labelled states.

The transitions of two of them have a formula in one number, how far somebody moves or how much of
another life they lead, so that losses over an interval of that number can be proved.
"""

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
    POSITIVE,
    SIMPLEX,
    STOCHASTIC,
    UNIT,
    declare,
    parameter,
)
from sfumato.protocols import Prior
from sfumato.values import FloatArray
from sfumato_markov_chain import fitting
from sfumato_markov_chain.stationary import spectral_gap, stationary_law

MOST_SMOOTHING = 1e100
"""More makes rows no more uniform, and their sums overflow."""


FARTHEST = 600.0
"""Exponent of the rarest move: exp(−600) still has all digits of float64."""


def line_moves(states: int, tau: float) -> FloatArray:
    """Return the transition matrix ∝ exp(−|i − j| / (τ M)) of places on a line."""
    weights = np.exp(-_distances(states) / (float(tau) * states))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _distances(states: int) -> FloatArray:
    places = np.arange(states, dtype=float)
    return np.abs(places[:, None] - places)


class LabelledChain(Prior):
    """A chain that has a first law, or its stationary one, and may have labels of its states."""

    yields = Markov

    initial: Any
    steps: int
    states: tuple[Hashable, ...] | None

    def _moves(self) -> FloatArray:
        """Return the transition matrix, or one for each step."""
        raise NotImplementedError

    def check(self) -> None:
        """Require one matrix, and one law, for a stationary start."""
        try:
            self._initial_law()
        except OutsideHypotheses as error:
            needed = f"a probability vector here ({error})"
            raise self.reject("initial", needed, self.initial) from None

    def _initial_law(self) -> FloatArray:
        if not isinstance(self.initial, str):
            return np.asarray(self.initial)
        if (moves := self._moves()).ndim == 3:
            raise self.reject(
                "initial", "a probability vector where transitions vary", self.initial
            )
        return stationary_law(moves)

    def belief(self) -> Markov:
        """Return the Markov belief."""
        steps, states = self.trace_signature()
        return Markov(self._initial_law(), self._moves(), steps=steps, states=states)

    def trace_signature(self) -> tuple[int, tuple[Hashable, ...]]:
        """Return the number of steps and the labels."""
        return (self.steps, self.states or tuple(range(self.sizes["M"])))


@declare
class MarkovChain(LabelledChain):
    """A chain: the law of the first state, and a transition matrix for each step.

    One matrix of shape (M, M) rules every step; a stack of shape (T-1, M, M) one step each.
    ``markov_chain.fit``, ``fit_each`` and ``simulated`` make chains from data or by formula.

    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain(
    ...     initial="stationary", transitions=[[0.5, 0.5], [1.0, 0.0]], steps=3
    ... )
    >>> chain.belief().initial.round(4)
    array([0.6667, 0.3333])
    """

    name = "markov_chain"

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

    def _moves(self) -> FloatArray:
        return np.asarray(self.transitions)

    def spectral_gap(self) -> float:
        """Return 1 − |λ_2|: near 0 for someone who stays, near 1 for someone who jumps about.

        >>> import sfumato as sf
        >>> sf.priors.markov_chain("stationary", [[0.9, 0.1], [0.1, 0.9]], 3).spectral_gap()
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

        >>> import sfumato as sf
        >>> chain = sf.priors.markov_chain.simulated(states=3, tau=0.5, steps=2)
        >>> chain.transitions.round(3).tolist()
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
        >>> import sfumato as sf
        >>> chain = sf.priors.markov_chain.fit([["home", "work", "home", "home"]], smoothing=0.5)
        >>> chain.states, chain.transitions.round(3).tolist()
        (('home', 'work'), [[0.5, 0.5], [0.75, 0.25]])
        >>> days = [["bed", "bed", "out"], ["bed", "out", "out"]]
        >>> chain = sf.priors.markov_chain.fit(days, homogeneous=False, smoothing=0.0)
        >>> chain.transitions[:, 0].tolist()
        [[0.5, 0.5], [0.0, 1.0]]
        """
        listed = fitting.checked_list(sequences, "sequences")
        traces = [fitting.checked_trace(trace) for trace in listed]
        if homogeneous:
            one = cls._each({0: traces}, smoothing, states, steps)
            return cls("stationary", one.transitions(0, 1)[0], one.steps, one.states)
        found = fitting.stepwise_laws(traces, states, _checked_smoothing(smoothing))
        if steps not in (None, len(traces[0])):
            raise ParameterError(
                f"markov_chain.fit must have steps={len(traces[0])}, as the traces have, where "
                f"homogeneous is False; got {steps!r}."
            )
        initial, matrices, labels = found
        return cls(initial, matrices, len(traces[0]), labels)

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
        >>> import sfumato as sf
        >>> chains = sf.priors.markov_chain.fit_each([[0, 1, 0], [1, 1, 1]], steps=5)
        >>> len(chains), chains[1].transitions.round(3).tolist()
        (2, [[0.5, 0.5], [0.25, 0.75]])
        >>> days = sf.priors.markov_chain.fit_each({"ann": [[0, 1], [1, 1, 1]], "bob": [0, 0, 0]})
        >>> days.names, days[0].transitions.round(3).tolist()
        (('ann', 'bob'), [[0.333, 0.667], [0.25, 0.75]])
        """
        listed = fitting.checked_list(people, "people")
        table = listed if isinstance(listed, Mapping) else dict(enumerate(listed))
        groups = {name: fitting.traces_of(person) for name, person in table.items()}
        return cls._each(groups, smoothing, states, steps)

    @classmethod
    def _each(
        cls, groups: Mapping[Hashable, Any], smoothing: Any, states: Any, steps: int | None
    ) -> fitting.FittedChains:
        """Return one chain for each person's traces, as long as given or as the longest trace."""
        smoothing = _checked_smoothing(smoothing)
        moves, labels = fitting.moves_of(list(groups.values()), states)
        if steps is None:
            steps = max(len(trace) for traces in groups.values() for trace in traces)
        _require_whole("fit must have steps", steps)
        return fitting.FittedChains(moves, labels, smoothing, steps, cls, tuple(groups))


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


def _require_whole(where: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ParameterError(f"markov_chain.{where} >= 1; got {value!r}.")


@declare
class LineChain(Prior):
    """A stationary chain on a line with transitions $∝ exp(−|i − j| / (τ M))$.

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
class MixedChain(LabelledChain):
    """A chain that moves by one matrix with chance $1 − w$, and by another with chance w.

    At every step anew: the transitions are $(1 − w) A + w B$.

    >>> import sfumato as sf
    >>> home, away = [[0.9, 0.1], [0.9, 0.1]], [[0.1, 0.9], [0.1, 0.9]]
    >>> chain = sf.priors.mixed_chain("stationary", home, away, weight=0.25, steps=3)
    >>> chain.belief().initial.round(6).tolist()
    [0.7, 0.3]
    """

    name = "mixed_chain"

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

    def _moves(self) -> FloatArray:
        return np.asarray((1.0 - self.weight) * self.first + self.weight * self.second)

    def formula(self, numbers: Any) -> Any:
        """Return the initial law, None for the stationary one, and the transitions."""
        first, second = numbers.number(self.first), numbers.number(self.second)
        initial = None if isinstance(self.initial, str) else numbers.number(self.initial[None])
        return initial, first + (second - first) * self.weight
