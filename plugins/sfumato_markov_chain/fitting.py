"""Transition matrices from observed traces, for one chain or for thousands of people."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.values import encoded
from sfumato_markov_chain.stationary import spectral_gap, stationary_law

if TYPE_CHECKING:
    from sfumato_markov_chain.markov_chain import MarkovChain

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]

SEVERAL = (list, tuple, np.ndarray)
"""What holds states and is none: labels are texts or whole numbers."""


def smoothed(counts: FloatArray, smoothing: float) -> FloatArray:
    """Return laws (n_ij + a) / (Σ_j n_ij + a M); a row that was never left is uniform.

    The second is also the limit of small smoothing, and no state is preferred where nothing is
    known.

    >>> smoothed(np.array([[3.0, 0.0], [0.0, 0.0]]), 1.0).tolist()
    [[0.8, 0.2], [0.5, 0.5]]
    """
    weights = counts + smoothing
    totals = weights.sum(axis=-1, keepdims=True)
    uniform = np.full_like(weights, 1.0 / weights.shape[-1])
    return np.asarray(np.divide(weights, totals, out=uniform, where=totals > 0.0))


def states_of(traces: Iterable[Sequence[Any]]) -> tuple[Hashable, ...]:
    """Return the different labels, in order where they have one.

    >>> states_of([["work", "home"], ["home"]])
    ('home', 'work')
    """
    found = {label for trace in traces for label in _plain(trace)}
    try:
        return tuple(sorted(found))
    except TypeError:
        return tuple(sorted(found, key=repr))


def _plain(trace: Sequence[Any]) -> list[Any]:
    return trace.tolist() if isinstance(trace, np.ndarray) else list(trace)


def traces_of(person: Any) -> list[Any]:
    """Return a person's traces: a list of lists, tuples or arrays is several.

    >>> traces_of(["home", "work"]), traces_of([["home", "work"], ["home"]])
    ([['home', 'work']], [['home', 'work'], ['home']])
    """
    checked_trace(person)
    if isinstance(person, np.ndarray):
        return [person] if person.ndim == 1 else list(person)
    several = [isinstance(part, SEVERAL) for part in person]
    if not any(several):
        return [person]
    if not all(several):
        raise ParameterError(
            f"people must have a trace or a list of traces each; got {person!r} for one."
        )
    return list(person)


def checked_trace(trace: Any) -> Any:
    """Return a trace, or raise if it is a bare state or a text.

    >>> checked_trace(["home", "work"])
    ['home', 'work']
    """
    if isinstance(trace, (str, bytes)) or not hasattr(trace, "__len__"):
        raise ParameterError(
            f"sequences must be a list of traces, each a list of states; got {trace!r} for one."
        )
    return trace


@attrs.frozen(eq=False)
class Moves:
    """Observed moves of many people: who, from where, to where; one row each."""

    rows: IntArray
    people: int
    states: tuple[Hashable, ...]

    @classmethod
    def of(cls, groups: Sequence[Sequence[Sequence[Any]]], states: Iterable[Any] | None) -> Moves:
        """Collect the moves of each person's traces."""
        traces = [trace for group in groups for trace in group]
        if not traces or any(len(trace) == 0 for trace in traces):
            raise ParameterError("sequences must hold at least one state each; got an empty one.")
        if any(isinstance(x, SEVERAL) for trace in traces for x in _plain(trace)):
            raise ParameterError("traces must be lists of states; got one of lists.")
        known = states_of(traces) if states is None else tuple(states)
        people = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
        lengths = np.array([len(trace) for trace in traces])
        flat = encoded(known, (x for trace in traces for x in _plain(trace)), "states")
        who = np.repeat(people, lengths)
        same_trace = np.ones(len(flat), dtype=bool)
        same_trace[np.cumsum(lengths) - 1] = False  # the last state of a trace moves nowhere
        here = np.flatnonzero(same_trace)
        return cls(np.column_stack([who[here], flat[here], flat[here + 1]]), len(groups), known)

    def counts(self, begin: int, end: int) -> FloatArray:
        """Return how often each move was made by the people begin, ..., end − 1, (n, M, M)."""
        first, last = np.searchsorted(self.rows[:, 0], (begin, end))
        who, before, after = self.rows[first:last].T
        size = len(self.states)
        flat = ((who - begin) * size + before) * size + after
        counts = np.bincount(flat, minlength=(end - begin) * size**2)
        return counts.reshape(-1, size, size).astype(np.float64)


@attrs.frozen(eq=False, repr=False)
class FittedChains(Sequence["MarkovChain"]):
    """One fitted chain for each person; a chain is made when it is asked for.

    Only the observed moves are kept, so ten thousand people with a hundred places each take
    megabytes, not gigabytes. `of_population` of a measure reads it.

    >>> import sfumato as sf
    >>> chains = sf.priors.markov_chain.fit_each([["a", "b", "a"], ["b", "b", "b"]], steps=2)
    >>> chains[0].transitions.round(3).tolist()
    [[0.333, 0.667], [0.667, 0.333]]

    `names` are the people's own where they were given as a table, else their numbers.
    """

    moves: Moves
    smoothing: float
    steps: int
    make: Callable[..., MarkovChain]
    names: tuple[Hashable, ...]

    def __len__(self) -> int:
        return self.moves.people

    def __repr__(self) -> str:
        return f"FittedChains({len(self)} people, {len(self.moves.states)} states)"

    @overload
    def __getitem__(self, person: int) -> MarkovChain: ...
    @overload
    def __getitem__(self, person: slice) -> FittedChains: ...

    def __getitem__(self, person: int | slice) -> MarkovChain | FittedChains:
        if isinstance(person, slice):
            return self.some(range(*person.indices(len(self))))
        if not -len(self) <= person < len(self):
            raise IndexError(f"person must be below {len(self)}; got {person}.")
        place = person % len(self)
        transitions = self.transitions(place, place + 1)[0]
        return self.make(
            initial=self._initial(place, transitions),
            transitions=transitions,
            steps=self.steps,
            states=self.moves.states,
        )

    def __iter__(self) -> Iterator[MarkovChain]:
        return (self[person] for person in range(len(self)))

    def _initial(self, person: int, transitions: FloatArray) -> FloatArray:
        """Return the stationary law.

        States that a person never visited are alike: all rows lead to them with one probability,
        and all their rows are uniform. They are lumped into one state, and share its probability.
        """
        first, last = np.searchsorted(self.moves.rows[:, 0], (person, person + 1))
        visited = np.zeros(len(transitions), dtype=bool)
        visited[self.moves.rows[first:last, 1:]] = True
        alike = np.count_nonzero(~visited)
        if alike < 2:
            return stationary_law(transitions)
        kept = np.append(np.flatnonzero(visited), np.flatnonzero(~visited)[0])
        lumped = transitions[np.ix_(kept, kept)]
        lumped[:, -1] *= alike
        law = stationary_law(lumped)
        initial = np.empty(len(transitions))
        initial[visited] = law[:-1]
        initial[~visited] = law[-1] / alike
        return initial

    def transitions(self, begin: int, end: int) -> FloatArray:
        """Return the matrices of the people begin, ..., end − 1, (n, M, M)."""
        return smoothed(self.moves.counts(begin, end), self.smoothing)

    def key(self, person: int) -> Hashable:
        """Return what decides a person's chain: how often each move was made."""
        first, last = np.searchsorted(self.moves.rows[:, 0], (person, person + 1))
        return np.sort(self._codes(slice(int(first), int(last)))).tobytes()

    def _codes(self, part: slice) -> IntArray:
        rows = self.moves.rows[part]
        return rows[:, 1] * len(self.moves.states) + rows[:, 2]

    def some(self, chosen: Sequence[int]) -> FittedChains:
        """Return the chains of some of the people."""
        ends = np.searchsorted(self.moves.rows[:, 0], np.asarray(chosen))
        lasts = np.searchsorted(self.moves.rows[:, 0], np.asarray(chosen), side="right")
        pieces = [self.moves.rows[a:b].copy() for a, b in zip(ends, lasts, strict=True)]
        for number, piece in enumerate(pieces):
            piece[:, 0] = number
        rows = np.concatenate(pieces) if pieces else self.moves.rows[:0]
        moves = attrs.evolve(self.moves, rows=rows, people=len(pieces))
        return attrs.evolve(self, moves=moves, names=tuple(self.names[k] for k in chosen))

    def spectral_gaps(self) -> FloatArray:
        """Return everyone's spectral gap, (N,), some people at a time."""
        stride = max(1, 4_000_000 // len(self.moves.states) ** 2)
        parts = [
            spectral_gap(self.transitions(begin, min(begin + stride, len(self))))
            for begin in range(0, len(self), stride)
        ]
        return np.concatenate(parts)
