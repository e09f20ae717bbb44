"""Chains from observed traces: one for a person, or one for each of thousands."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, overload

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.quantities import count_text
from sfumato.values import FloatArray, checked_labels, encode_labels
from sfumato_markov_chain.stationary import spectral_gap, stationary_law

if TYPE_CHECKING:
    from sfumato_markov_chain.markov_chain import MarkovChain

IntArray = NDArray[np.intp]

MOST_NUMBERS = 100_000_000
"""Entries of transition matrices that are held at one time."""

SEVERAL = (list, tuple, np.ndarray)
"""What holds states and is none: labels are texts or whole numbers."""


def lean(counts: FloatArray, habit: FloatArray, weight: float) -> FloatArray:
    """Return (counts + weight · habit) / (total + weight) row by row; habit where all is zero."""
    totals = counts.sum(axis=-1, keepdims=True) + weight
    laws = np.broadcast_to(habit, counts.shape).copy()
    np.divide(counts + weight * habit, totals, out=laws, where=totals > 0.0)
    return np.asarray(laws / laws.sum(axis=-1, keepdims=True))


def stepwise_laws(
    days: Sequence[Sequence[Any]], states: Iterable[Hashable] | None, smoothing: float
) -> tuple[FloatArray, FloatArray, tuple[Hashable, ...]]:
    """Return an initial law, one transition matrix for each step, and the labels.

    With N_t(i, j) the number of days that move from i to j at step t, and c the smoothing,

        P_t(i, j) = (N_t(i, j) + c P(i, j)) / (N_t(i) + c),
        P(i, j)   = (Σ_t N_t(i, j) + c/M) / (Σ_t N_t(i) + c):

    a step that was seen seldom leans on how i moves at any time, and that on the uniform law.
    Equally the initial law leans on how often each state occurs at all, and that on the uniform
    law. So c is the number of days that the general habit counts for. c = 0 takes the bare
    frequencies, and for a row that was never seen the general habit.
    """
    lengths = sorted({len(day) for day in days})
    if len(lengths) != 1 or lengths == [0]:
        raise ParameterError(f"days must be lists of states of one length; got lengths {lengths}.")
    known = _labels_of(days, states)
    labels = checked_labels(known, len(known), "states")
    paths = np.array([encode_labels(labels, _plain(day), "states") for day in days])
    size, last = len(labels), lengths[0] - 1
    codes = (np.arange(last) * size + paths[:, :-1]) * size + paths[:, 1:]
    moves = _count(codes, last * size**2).reshape(-1, size, size)
    uniform = np.full(size, 1.0 / size)
    ever = lean(_count(paths, size), uniform, smoothing)
    habit = lean(moves.sum(axis=0), uniform, smoothing)
    transitions = lean(moves, habit, smoothing) if last else np.eye(size)
    return lean(_count(paths[:, 0], size), ever, smoothing), transitions, labels


def _count(codes: IntArray, size: int) -> FloatArray:
    return np.bincount(codes.ravel(), minlength=size).astype(np.float64)


def _labels_of(
    traces: Iterable[Sequence[Any]], states: Iterable[Hashable] | None
) -> tuple[Hashable, ...]:
    """Return the states as given, or the different labels, in order where they have one."""
    if states is not None:
        return tuple(states)
    found = {label for trace in traces for label in _plain(trace)}
    try:
        return tuple(sorted(found))
    except TypeError:
        return tuple(sorted(found, key=repr))


def _plain(trace: Sequence[Any]) -> list[Any]:
    return trace.tolist() if isinstance(trace, np.ndarray) else list(trace)


def checked_list(given: Any, name: str) -> Any:
    """Return traces of one person, or people, or raise if they are none."""
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise ParameterError(f"{name} must be a list of traces; got {given!r}.")
    return given


def checked_trace(trace: Any) -> Any:
    """Return a trace, or raise if it is a bare state or a text."""
    if isinstance(trace, (str, bytes)) or not hasattr(trace, "__len__"):
        raise ParameterError(
            f"sequences must be a list of traces, each a list of states; got {trace!r} for one."
        )
    return trace


def traces_of(person: Any) -> list[Any]:
    """Return a person's traces: a list of lists, tuples or arrays is several."""
    several = [isinstance(part, SEVERAL) for part in checked_trace(person)]
    if any(several) and not all(several):
        raise ParameterError(
            f"people must have a trace or a list of traces each; got {person!r} for one."
        )
    return list(person) if any(several) else [person]


def moves_of(
    groups: Sequence[Sequence[Sequence[Any]]], states: Iterable[Any] | None
) -> tuple[IntArray, tuple[Hashable, ...]]:
    """Return the moves of each person's traces (who, from where, to where), and the labels."""
    traces = [_plain(trace) for group in groups for trace in group]
    if not traces or not all(traces):
        raise ParameterError("sequences must hold at least one state each; got an empty one.")
    if any(isinstance(x, SEVERAL) for trace in traces for x in trace):
        raise ParameterError("traces must be lists of states; got one of lists.")
    known = _labels_of(traces, states)
    flat = encode_labels(known, (x for trace in traces for x in trace), "states")
    lengths = np.array([len(trace) for trace in traces])
    who = np.repeat(np.arange(len(groups)), [len(group) for group in groups]).repeat(lengths)
    # The last state of a trace moves nowhere.
    here = np.setdiff1d(np.arange(len(flat)), np.cumsum(lengths) - 1)
    return np.column_stack([who[here], flat[here], flat[here + 1]]), known


@attrs.frozen(eq=False, repr=False)
class FittedChains(Sequence["MarkovChain"]):
    """One fitted chain for each person; a chain is made when it is asked for.

    Only the observed moves are kept, so ten thousand people with a hundred places each take
    megabytes, not gigabytes. `of_population` of a measure takes it as it is. `names` are the
    people's own where they were given as a table, else their numbers.

    >>> import sfumato as sf
    >>> chains = sf.priors.markov_chain.fit_each([["a", "b", "a"], ["b", "b", "b"]], steps=2)
    >>> chains[0].transitions.round(3).tolist()
    [[0.333, 0.667], [0.667, 0.333]]
    """

    moves: IntArray  # who, from where, to where; in order of who
    states: tuple[Hashable, ...]
    smoothing: float
    steps: int
    make: Callable[..., MarkovChain]
    names: tuple[Hashable, ...]

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        states = count_text(len(self.states), "state")
        return f"FittedChains({count_text(len(self), 'person')}, {states})"

    def _repr_html_(self) -> str:
        from sfumato.report.cards import result_card

        people, states = count_text(len(self), "person"), len(self.states)
        facts = {"states": states, "steps": self.steps, "smoothing": self.smoothing}
        return result_card("Fitted chains", people, **facts)

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
        initial = self._initial(place, transitions)
        return self.make(initial, transitions, self.steps, self.states)

    def _initial(self, person: int, transitions: FloatArray) -> FloatArray:
        """Return the stationary law.

        States that a person never visited are alike: all rows lead to them with one probability,
        and all their rows are uniform. They are lumped into one state, and share its probability.
        """
        visited = np.zeros(len(transitions), dtype=bool)
        visited[self._rows(person, person + 1)[:, 1:]] = True
        alike = np.count_nonzero(~visited)
        if alike < 2:
            return stationary_law(transitions)
        kept = np.append(np.flatnonzero(visited), np.flatnonzero(~visited)[0])
        lumped = transitions[np.ix_(kept, kept)]
        lumped[:, -1] *= alike
        law = stationary_law(lumped)
        initial = np.full(len(transitions), law[-1] / alike)
        initial[visited] = law[:-1]
        return initial

    def _rows(self, begin: int, end: int) -> IntArray:
        """Return the moves of the people begin, ..., end − 1."""
        first, last = np.searchsorted(self.moves[:, 0], (begin, end))
        return self.moves[first:last]

    def transitions(self, begin: int, end: int) -> FloatArray:
        """Return the matrices of the people begin, ..., end − 1, (n, M, M)."""
        who, before, after = self._rows(begin, end).T
        size = len(self.states)
        if (end - begin) * size**2 > MOST_NUMBERS:
            raise ParameterError(
                f"a chain must have fewer states, its matrix at most {MOST_NUMBERS:,} entries; got "
                f"{size:,} states: fit each person's own, or only those visited most."
            )
        codes = ((who - begin) * size + before) * size + after
        counts = _count(codes, (end - begin) * size**2).reshape(-1, size, size)
        # (n_ij + a) / (Σ_j n_ij + a M); a row that was never left is uniform.
        return lean(counts, np.full(size, 1.0 / size), self.smoothing * size)

    def key(self, person: int) -> bytes:
        """Return what decides a person's chain, for populations: how often each move was made."""
        _, before, after = self._rows(person, person + 1).T
        return np.sort(before * len(self.states) + after).tobytes()

    def some(self, chosen: Sequence[int]) -> FittedChains:
        """Return the chains of some of the people."""
        pieces = [self._rows(person, person + 1) for person in chosen]
        moves = np.concatenate([self.moves[:0], *pieces])
        moves[:, 0] = np.repeat(np.arange(len(pieces)), [len(piece) for piece in pieces])
        return attrs.evolve(self, moves=moves, names=tuple(self.names[k] for k in chosen))

    def spectral_gaps(self) -> FloatArray:
        """Return everyone's spectral gap, (N,), some people at a time."""
        stride = max(1, 4_000_000 // len(self.states) ** 2)
        cuts = [*range(0, len(self), stride), len(self)]
        return np.concatenate([spectral_gap(self.transitions(*c)) for c in pairwise(cuts)])
