"""A Markov chain over labelled states: an initial law and one transition matrix per step."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import ClassVar

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.errors import ParameterError
from sfumato.randomness import generator_or_secure
from sfumato.values import (
    SUM_TOLERANCE,
    ByContent,
    FloatArray,
    Labels,
    as_labels,
    checked_labels,
    checked_laws,
    cumulative,
    draw_outcomes,
    encode_labels,
    position_in,
    positions_of,
    read_only,
)

IntArray = NDArray[np.intp]


def _checked_initial(law: ArrayLike) -> FloatArray:
    return checked_laws(law, "initial")


def _checked_stack(transitions: ArrayLike) -> FloatArray:
    """Return checked laws; a broadcast view of one matrix is checked and kept once."""
    if _is_repeated(transitions):
        matrix = checked_laws(transitions[0], "transitions")  # type: ignore[index]  # an array
        return np.broadcast_to(matrix, np.shape(transitions))
    return checked_laws(transitions, "transitions")


def _is_repeated(transitions: ArrayLike) -> bool:
    """Whether this is a stack that repeats one matrix without storing it more than once."""
    return (
        isinstance(transitions, np.ndarray)
        and transitions.ndim == 3
        and len(transitions) > 1
        and transitions.strides[0] == 0
    )


def _compact(laws: FloatArray) -> FloatArray:
    """Return the one matrix of a stack whose matrices are all equal."""
    if laws.ndim == 3 and len(laws) > 0 and (_is_repeated(laws) or (laws == laws[0]).all()):
        return read_only(laws[0].copy())
    return laws


@attrs.frozen(eq=False, repr=False)
class Markov(ByContent):
    """The belief that a trace is a Markov chain, $X_1, …, X_T$.

    Parameters
    ----------
    initial
        The law of the first state, (M,).
    transitions
        One matrix per step, (T − 1, M, M), or one (M, M) matrix for all of them, which is then
        kept once: memory does not grow with T. Rows are laws of the next state.
    steps
        T; needed (and only needed) with a single matrix.
    states
        M distinct labels; 0, ..., M − 1 where none are given.

    Examples
    --------
    >>> import numpy as np
    >>> from sfumato.beliefs import Markov
    >>> chain = Markov([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], steps=3, states=("home", "work"))
    >>> chain.marginals()[1].round(3).tolist()
    [0.55, 0.45]
    >>> float(round(np.exp(chain.log_probability(["home", "home", "work"])), 3))
    0.045
    """

    words: ClassVar[str] = "Markov chains"

    initial: FloatArray = attrs.field(converter=_checked_initial)
    # (M, M) for a homogeneous chain, (T - 1, M, M) otherwise: equal chains are stored alike.
    _matrices: FloatArray = attrs.field(converter=_checked_stack, alias="transitions")
    steps: int = attrs.field(default=None)
    states: Labels = attrs.field(default=None, converter=as_labels)
    smallest_probability: float = attrs.field(init=False, eq=False, default=1.0)
    """The smallest positive probability in `initial` and `transitions`."""

    def __attrs_post_init__(self) -> None:
        if self.initial.ndim != 1 or self.initial.size == 0:
            raise ParameterError(f"initial must be one law, (M,); got shape {self.initial.shape}.")
        count = self.initial.size
        object.__setattr__(self, "steps", _checked_steps(self._matrices, self.steps, count))
        empty = np.empty((0, count, count))
        matrices = read_only(empty) if self.steps == 1 else _compact(self._matrices)
        object.__setattr__(self, "_matrices", matrices)
        smallest = min(_smallest_positive(self.initial), _smallest_positive(self._matrices))
        object.__setattr__(self, "smallest_probability", smallest)
        labels = range(count) if self.states is None else self.states
        object.__setattr__(self, "states", checked_labels(labels, count, "states"))

    def __repr__(self) -> str:
        return f"Markov({self.state_count} states, {self.steps} steps)"

    @property
    def state_count(self) -> int:
        """The number of states, M."""
        return int(self.initial.size)

    @property
    def trace_form(self) -> tuple[int, Labels]:
        """What traces look like here: their steps and the labels of the states, in order."""
        return self.steps, self.states

    @property
    def transitions(self) -> FloatArray:
        """The matrices, (T − 1, M, M), read-only; a view of one matrix if the chain repeats it."""
        if self._matrices.ndim == 3:
            return self._matrices
        return np.broadcast_to(self._matrices, (self.steps - 1, *self._matrices.shape))

    @property
    def is_homogeneous(self) -> bool:
        """Whether every step has the same matrix."""
        return self.steps == 1 or self._matrices.ndim == 2

    @property
    def log_transitions(self) -> FloatArray:
        """The logarithms of the matrices, (T − 1, M, M), kept once if the chain repeats one."""
        with np.errstate(divide="ignore"):
            logs = np.log(self._matrices)
        return np.broadcast_to(logs, self.transitions.shape)

    def matrix(self, time: int) -> FloatArray:
        """Return the law of the state at `time` + 1 given the state at `time` (0-based)."""
        if not 0 <= time < self.steps - 1:
            raise IndexError(f"time must be at least 0 and below {self.steps - 1}; got {time}.")
        return self._matrices if self._matrices.ndim == 2 else np.asarray(self._matrices[time])

    def reversed_matrix(self, time: int, marginals: FloatArray) -> FloatArray:
        """Return the law of the state at `time` given that at `time` + 1; zeros if it cannot be.

        >>> from sfumato.beliefs import Markov
        >>> chain = Markov([1.0, 0.0], [[0.5, 0.5], [0.0, 1.0]], steps=2)
        >>> chain.reversed_matrix(0, chain.marginals()).tolist()
        [[1.0, 0.0], [1.0, 0.0]]
        """
        joint = (marginals[time][:, None] * self.matrix(time)).T
        whole = joint.sum(axis=1, keepdims=True)
        return np.asarray(np.divide(joint, whole, out=np.zeros_like(joint), where=whole > 0.0))

    def index(self, state: Hashable) -> int:
        """Return the position of a label."""
        return position_in(positions_of(self.states), state, "states")

    def encode(self, trace: Iterable[Hashable]) -> IntArray:
        """Return the positions of a trace's labels."""
        return encode_labels(self.states, trace, "states")

    def decode(self, positions: Iterable[int]) -> Labels:
        """Return the labels of a trace's positions."""
        return tuple(self.states[position] for position in positions)

    def marginals(self) -> FloatArray:
        """Return $Pr[X_t = x]$ as (T, M)."""
        marginals = np.empty((self.steps, self.state_count))
        marginals[0] = self.initial
        for time, matrix in enumerate(self.transitions):
            marginals[time + 1] = marginals[time] @ matrix
        return marginals

    def log_probability(self, trace: Sequence[Hashable]) -> float:
        """Return log Pr[X = trace]; −∞ where it is impossible."""
        path = self.encode(trace)
        if len(path) != self.steps:
            raise ParameterError(f"trace must have {self.steps} states; got {len(path)}.")
        moves = self.transitions[np.arange(self.steps - 1), path[:-1], path[1:]]
        with np.errstate(divide="ignore"):
            return float(np.log(self.initial[path[0]]) + np.log(moves).sum())

    def sample_encoded(self, rng: np.random.Generator | None, size: int) -> IntArray:
        """Draw `size` traces as positions, (size, T); None is the secure source."""
        source = generator_or_secure(rng)
        paths = np.empty((size, self.steps), dtype=np.intp)
        start = np.broadcast_to(cumulative(self.initial), (size, self.state_count))
        paths[:, 0] = draw_outcomes(start, source.random(size))
        repeated = cumulative(self._matrices) if self._matrices.ndim == 2 else None
        for time in range(self.steps - 1):
            laws = cumulative(self.matrix(time)) if repeated is None else repeated
            paths[:, time + 1] = draw_outcomes(laws[paths[:, time]], source.random(size))
        return paths

    def sample(
        self, rng: np.random.Generator | None = None, size: int | None = None
    ) -> Labels | list[Labels]:
        """Draw one trace of labels, or a list of `size` of them."""
        paths = self.sample_encoded(rng, 1 if size is None else size)
        traces = [self.decode(path) for path in paths]
        return traces[0] if size is None else traces

    def permuted(self, order: Sequence[int]) -> Markov:
        """Return the same belief with position k holding what was at position order[k]."""
        if sorted(order) != list(range(self.state_count)):
            raise ParameterError(
                f"order must be a permutation of 0..{self.state_count - 1}; got {list(order)}."
            )
        positions = np.asarray(order, dtype=np.intp)
        return Markov(
            self.initial[positions],
            self._matrices[..., positions[:, None], positions],
            steps=self.steps,
            states=self.decode(positions),
        )

    def is_stationary(self) -> bool:
        """Whether one matrix P rules every step and π P = π, to 1e-9 in total variation."""
        if self.steps == 1:
            return True
        if not self.is_homogeneous:
            return False
        drift = np.abs(self.initial @ self._matrices - self.initial).sum() / 2.0
        return bool(drift <= SUM_TOLERANCE)


def _smallest_positive(probabilities: FloatArray) -> float:
    return float(probabilities.min(initial=1.0, where=probabilities > 0.0))


def _checked_steps(matrices: FloatArray, steps: object, count: int) -> int:
    """Return T, from the stack of matrices or as given."""
    if matrices.ndim not in (2, 3) or matrices.shape[-2:] != (count, count):
        raise ParameterError(
            f"transitions must be ({count}, {count}) or (T - 1, {count}, {count}), as initial has "
            f"{count} states; got shape {matrices.shape}."
        )
    if steps is None:
        if matrices.ndim == 2:
            raise ParameterError("steps must be given with a single transition matrix.")
        return len(matrices) + 1
    if isinstance(steps, bool) or not isinstance(steps, (int, np.integer)) or steps < 1:
        raise ParameterError(f"steps must be a positive integer; got {steps!r}.")
    if matrices.ndim == 3 and len(matrices) + 1 != steps:
        raise ParameterError(
            f"steps must be {len(matrices) + 1} with {len(matrices)} transitions; got {steps}."
        )
    return int(steps)
