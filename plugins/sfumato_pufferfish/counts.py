"""A count over a chain and noise: the law of the count given the secret, and what is seen of it.

F = Σ_u w(X_u), with whole-number weights w of one count or of several. Given the states that are
asked about, what is counted before and after them is independent: two recursions over (count,
state) and one convolution give Pr[secret, F].

With Laplace noise of scale b the density of the output under a value s is, between two whole
numbers, A_s e^{z/b} + B_s e^{−z/b} with A_s, B_s ≥ 0. Such a function is fixed by its values at the
ends c < d of any piece of length h, and is a mixture of the same two shapes for every s:

    f_s(z) = f_s(c) sinh((d − z)/b)/sinh(h/b) + f_s(d) sinh((z − c)/b)/sinh(h/b).

So a piece has the mass b tanh(h/2b) (f_s(c) + f_s(d)), and the output is a post-processing of a
*point of the grid* that takes its share of the pieces on either side; beyond the range of F the
ratio of two densities is constant, and the ends take that mass too. Points of a grid bound every
loss from above, pieces from below, both as closely as the grid is fine.
At whole numbers alone the worst *ratio* is already exact: it is attained there.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.beliefs import Markov
from sfumato.channels import WholeTrace
from sfumato.errors import OutsideHypotheses, ParameterError, Undecidable
from sfumato.inference.markov.probabilities import reachable_states
from sfumato.matrices.matrix import ROUNDOFF
from sfumato.questions import Asked
from sfumato.randomness import generator_or_secure
from sfumato.values import ByContent, FloatArray, Labels, as_labels, read_only
from sfumato.views import FiniteView, Outcomes

IntArray = NDArray[np.intp]

MOST = 20_000_000
"""How many numbers the recursions over (count, state) may hold."""

ROOM, ROOM_OF_TRACES = 4_000_000, 20_000
"""How many numbers all tables of a bounded view may hold, and how many outcomes a trace has."""

FINE = 512.0
"""Points of the grid in a length b, where there is room: losses then agree to about 1e-6."""

SMALLEST = 1e-270
"""A density above this has lost nothing to underflow."""

NARROW = 1e-8
"""Half the width of the cells around whole numbers, in units of b or of one."""


# What is counted ----------------------------------------------------------------------------------


def count_query(belief: Markov, states: Sequence[Any]) -> IntArray:
    """Return the weights, (M, 1), of how often a trace is in some states."""
    return np.array([[int(state in states)] for state in belief.states], dtype=np.intp)


def histogram(belief: Markov) -> IntArray:
    """Return the weights, (M, M), of how often a trace is in each state."""
    return np.eye(belief.state_count, dtype=np.intp)


def sensitivity(weights: IntArray) -> int:
    """Return how far one state can move the counts: the largest Σ_j |w_j(x) − w_j(y)|."""
    return int(np.abs(weights[:, None] - weights).sum(axis=2).max())


def possible_counts(belief: Markov, weights: IntArray) -> slice:
    """Return from the least to the largest that any of the counts of a possible trace is.

    Beyond, the ratio of two densities is constant. No probability is asked: these may underflow.
    """
    held = belief.initial > 0.0
    least, most = (np.where(held[:, None], weights, none) for none in (math.inf, -math.inf))
    for time in range(belief.steps - 1):
        moves = belief.matrix(time)[:, :, None] > 0.0
        least = np.where(moves, least[:, None], math.inf).min(axis=0) + weights
        most = np.where(moves, most[:, None], -math.inf).max(axis=0) + weights
    return slice(int(least.min()), int(most.max()) + 1)


class CountLaws:
    """The joint law of a chain's states at some times and of its counts.

    Counts are kept as one number, Σ_j F_j B^j with B above every count: sums of counts are sums of
    these.
    """

    def __init__(self, belief: Markov, weights: IntArray) -> None:
        self.belief = belief
        self.base = belief.steps * int(weights.max()) + 1
        self.dimensions = weights.shape[1]
        self.length = self.base**self.dimensions
        if belief.steps * self.length * belief.state_count > MOST:
            raise OutsideHypotheses(
                f"{belief.steps} steps and {self.dimensions} counts have too many values to list; "
                f"count fewer states or take a shorter trace."
            )
        self._codes = (weights @ self.base ** np.arange(self.dimensions)).tolist()

    @functools.cached_property
    def _possible(self) -> NDArray[np.bool_]:
        return reachable_states(self.belief)

    @functools.cached_property
    def _before(self) -> list[FloatArray]:
        """Pr[count up to and with t, X_t], (L, M), for every t."""
        start = np.zeros((self.length, self.belief.state_count))
        for state, code in enumerate(self._codes):
            start[code, state] = self.belief.initial[state]
        found = [start]
        for time in range(self.belief.steps - 1):
            found.append(self._shifted(found[-1] @ self.belief.matrix(time)))
        return found

    @functools.cached_property
    def _after(self) -> list[FloatArray]:
        """Pr[count after t | X_t], (L, M), for every t."""
        found = [np.zeros((self.length, self.belief.state_count))]
        found[0][0] = 1.0
        for time in reversed(range(self.belief.steps - 1)):
            found.append(self._shifted(found[-1]) @ self.belief.matrix(time).T)
        return found[::-1]

    def _shifted(self, table: FloatArray) -> FloatArray:
        """Return the table with each state's own weight counted; states are the last axis."""
        moved = np.zeros_like(table)
        for state, code in enumerate(self._codes):
            moved[code:, ..., state] = table[: self.length - code, ..., state]
        return moved

    def joint(self, asked: Asked) -> FloatArray:
        """Return Pr[value, F], (R, B, ..., B), for the values of one secret variable.

        A value that is possible, but too unlikely for float64, is refused.
        """
        first, *others = asked.times
        count = self.belief.state_count
        front = self._before[first][:, None] * np.eye(count)
        can = np.diag(self._possible[first])
        for time in range(first + 1, asked.times[-1] + 1):
            moves = self.belief.matrix(time - 1)
            front, can = self._shifted(front @ moves), can @ (moves > 0.0)
            if time in others:
                split = front[..., None] * np.eye(count)
                front = split.reshape(self.length, -1, count)
                can = (can[..., None] * np.eye(count)).reshape(-1, count)
        after = self._after[asked.times[-1]]
        rows = np.zeros((front.shape[1], self.length))
        for value in range(front.shape[1]):
            for state in range(count):
                rows[value] += _convolve(front[:, value, state], after[:, state], self.length)
        merged = asked.members.astype(float) @ rows
        require_positive(merged.sum(axis=1)[asked.members @ can.any(axis=1)])
        return merged.reshape(-1, *[self.base] * self.dimensions)

    @property
    def error(self) -> float:
        """A proved relative error: sums of products of numbers that are not negative."""
        steps, count = self.belief.steps, self.belief.state_count
        roundings = 4.0 * (steps * (count + 2) + self.length + 8.0 * self.dimensions * self.base)
        return float(roundings * ROUNDOFF)


def _convolve(one: FloatArray, other: FloatArray, length: int) -> FloatArray:
    """Return the law of a sum, term by term: nothing cancels, as it would with transforms."""
    left, right = np.flatnonzero(one), np.flatnonzero(other)
    sums = (left[:, None] + right).ravel()
    products = (one[left, None] * other[right]).ravel()
    return np.asarray(np.bincount(sums, products, minlength=length), dtype=float)


# Noise --------------------------------------------------------------------------------------------


def heights_at(most: int, scale: float, offsets: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return e^{−|z − k|/b} for counts k at the points z of a grid, and tanh(h/2b) of its pieces.

    The points are whole numbers plus `offsets`, from 0 to the largest count. Distances are taken
    to the whole number on the count's side, so that each has a small relative error.
    """
    counts, wholes = np.arange(most + 1)[:, None], np.arange(most + 2)
    far = np.exp(-np.abs(counts - wholes) / scale)
    heights = far[:, :-1, None] * np.exp(-offsets / scale)
    beyond = (counts > wholes[:-1])[..., None]
    np.multiply(far[:, 1:, None], np.exp((offsets - 1.0) / scale), out=heights, where=beyond)
    heights = heights.reshape(most + 1, -1)[:, : most * len(offsets) + 1]
    return heights, np.tanh(np.tile(np.diff(offsets, append=1.0), most) / (2.0 * scale))


def whole_noise(most: int, scale: float, core: FloatArray) -> FloatArray:
    """Return the law of the output for each count, (K + 1, K + 2N + 1), its tails in the ends.

    Beyond the range the noise is geometric, so those outputs say what the last one says.
    """
    reach = len(core) // 2
    tail = -math.expm1(-1.0 / scale)
    shifts = np.arange(-reach, most + reach + 1) - np.arange(most + 1)[:, None]
    beyond = np.maximum(np.abs(shifts) - reach, 0)
    law = core[np.clip(shifts, -reach, reach) + reach] * np.exp(-beyond / scale)
    law[:, [0, -1]] /= tail
    return np.asarray(law)


def moments(reach: int, scale: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return what the chances of −N ... N weigh in Σ n, Σ k n(k) and Σ k² n(k), tails in the ends.

    An end goes with Σ_j ρ^j, Σ_j (N + j) ρ^j and Σ_j (N + j)² ρ^j over j ≥ 0, ρ = e^{−1/b}.
    """
    places = np.arange(-reach, reach + 1.0)
    tail, ratio = -1.0 / math.expm1(-1.0 / scale), math.exp(-1.0 / scale)
    first, second = ratio * tail**2, ratio * (1.0 + ratio) * tail**3
    total, mean, square = np.ones(len(places)), places.copy(), np.square(places)
    total[[0, -1]] = tail
    mean[[0, -1]] = np.array([-1.0, 1.0]) * (reach * tail + first)
    square[[0, -1]] = reach**2 * tail + 2 * reach * first + second
    return total, mean, square


def apply_noise(laws: FloatArray, kernel: FloatArray) -> FloatArray:
    """Return laws of counts, (R, B, ...), with noise on each count: (R, O) with O = O₁^d."""
    for _ in range(laws.ndim - 1):  # each pass takes the first count and puts its output last
        laws = np.tensordot(laws, kernel, axes=(1, 0))
    return laws.reshape(len(laws), -1)


def worst_ratio(laws: Sequence[tuple[FloatArray, IntArray]], scale: float, rarest: float) -> float:
    """Return max log f_s(z)/f_s'(z) over whole numbers z and pairs of rows, for Laplace noise.

    `rarest` is the least chance of a row: what vanished by underflow is divided by it.
    """
    worst = 0.0
    for law, pairs in laws:
        seen = apply_noise(law, heights_at(law.shape[1] - 1, scale, np.zeros(1))[0])
        require_positive(seen * rarest)
        logs = np.log(seen)
        for one, other in pairs:
            worst = max(worst, float((logs[one] - logs[other]).max()))
    return worst


def require_positive(densities: FloatArray) -> None:
    """Refuse likelihoods, and chances of values, that float64 cannot hold."""
    if not densities.min(initial=1.0) > SMALLEST:
        raise Undecidable("an output or a state is less likely than 1e-270: too small for float64.")


def _outcomes(asked: Asked, table: FloatArray, error: float) -> Outcomes:
    require_positive(table[table.any(axis=1)])
    return Outcomes.of(asked, table, error)


# The channel --------------------------------------------------------------------------------------


def _checked_weights(given: ArrayLike) -> IntArray:
    array = np.asarray(given)
    if array.ndim != 2 or 0 in array.shape or array.dtype.kind not in "iu" or (array < 0).any():
        raise ParameterError(f"weights must be whole numbers, (M, k); got {given!r}.")
    return read_only(array, np.intp)


def _checked_scale(given: object) -> float:
    scale = float(given)  # type: ignore[arg-type]  # what is no number says so
    if not 0.0 < scale < math.inf:
        raise ParameterError(f"scale must be positive and finite; got {given!r}.")
    return scale


@attrs.frozen(eq=False, repr=False)
class NoisyCount(ByContent, WholeTrace):
    """F + noise on each of its counts, F = Σ_u w(X_u).

    Parameters
    ----------
    states
        The labels of the M states.
    steps
        The length of a trace, T.
    weights
        Whole numbers, (M, k): what a state adds to each count.
    scale
        b of Laplace noise; of whole-number noise, that of its geometric tails.
    core
        Without it, Laplace noise; else the chances of the noise −N ... N, outside of which each
        further step is e^{−1/b} times less likely.

    What is released with Laplace noise is rounded to `grid`, far below the noise.

    >>> from sfumato_pufferfish.counts import NoisyCount
    >>> channel = NoisyCount(("idle", "active"), 2, [[0], [1]], scale=1.0)
    >>> round(channel.log_likelihood([2.0], ["active", "active"]), 6)
    -0.693147
    """

    words: ClassVar[str] = "noisy counts of a whole trace"

    states: Labels = attrs.field(converter=as_labels)
    steps: int
    weights: IntArray = attrs.field(converter=_checked_weights)
    scale: float = attrs.field(converter=_checked_scale)
    core: FloatArray | None = attrs.field(
        default=None, converter=attrs.converters.optional(read_only)
    )

    def __attrs_post_init__(self) -> None:
        if len(self.weights) != len(self.states):
            raise ParameterError(
                f"weights must have a row for each of {len(self.states)} states; got "
                f"{len(self.weights)}."
            )
        if self.core is not None:
            total = 0.0
            if len(self.core) % 2 == 1 and len(self.core) >= 3 and (self.core > 0.0).all():
                total = float(moments(len(self.core) // 2, self.scale)[0] @ self.core)
            if not abs(total - 1.0) <= 1e-9:
                raise ParameterError(
                    f"core must be positive chances of −N ... N, N ≥ 1, that sum to 1 with their "
                    f"tails; got a sum of {total:.9g} over {len(self.core)}."
                )

    def __repr__(self) -> str:
        kind = "Laplace" if self.core is None else "whole-number"
        return f"NoisyCount({self.steps} steps, {self.weights.shape[1]} counts, {kind} noise)"

    @property
    def most(self) -> int:
        """The largest count."""
        return self.steps * int(self.weights.max())

    @property
    def grid(self) -> float:
        """The spacing of released values: 1, or about 2⁻³⁰ of the noise."""
        return 2.0 ** (math.frexp(self.scale)[1] - 30) if self.core is None else 1.0

    @property
    def variance(self) -> float:
        """The variance of the noise on a count."""
        if self.core is None:
            return 2.0 * self.scale**2
        _, mean, square = moments(len(self.core) // 2, self.scale)
        return float(self.core @ square - (self.core @ mean) ** 2)

    def counts(self, traces: NDArray[np.intp]) -> IntArray:
        """Return F of traces of positions, (N, k)."""
        return np.asarray(self.weights[np.asarray(traces)].sum(axis=1))

    def view(self, belief: Markov, question: Any) -> FiniteView:
        """Return the view: exact for whole-number noise, else from both sides of a grid."""
        laws, within = CountLaws(belief, self.weights), possible_counts(belief, self.weights)
        asked = question.asked()
        joints = [laws.joint(one)[:, *[within] * laws.dimensions] for one in asked]
        most = within.stop - within.start - 1
        kernels = self._kernels(ROOM // (2 * sum(map(len, joints))), most)
        if max(map(len, joints)) * kernels[0].shape[1] ** laws.dimensions > MOST:
            raise OutsideHypotheses(
                f"{laws.dimensions} noisy counts have more outputs than can be listed; count fewer "
                f"states or take a shorter trace."
            )
        # Exponents up to 700 are rounded, those of what is less likely are refused.
        error = laws.error + (64.0 + 4.0 * min(laws.base / self.scale, 700.0)) * ROUNDOFF
        ends = [
            tuple(
                _outcomes(one, apply_noise(joint, kernel), error)
                for one, joint in zip(asked, joints, strict=True)
            )
            for kernel in kernels
        ]
        how = "the law of the count" if self.core is not None else "cells and points of a grid"
        return FiniteView(ends[0], ends[-1], how)

    def _kernels(self, room: float, most: int) -> list[FloatArray]:
        """Return laws of outcomes of counts 0 ... `most`: of whole numbers, or cells and points."""
        if self.core is not None:
            return [whole_noise(most, self.scale, self.core)]
        starts = self._cell_starts(room, most)
        heights, shares = heights_at(most, self.scale, starts)
        pieces = np.pad(heights / 2.0, ((0, 0), (1, 0)), mode="edge")
        pieces[:, 1:-1] += pieces[:, 2:]
        pieces[:, 1:-1] *= shares
        # What lies on both sides of a whole number is one cell; beyond the range nothing is new.
        whole = 1 + len(starts) * np.arange(most)
        alone = np.delete(np.arange(len(shares) + 2), [*whole, len(shares) + 1])
        cells = np.add.reduceat(pieces, alone, axis=1)
        heights, shares = heights_at(most, self.scale, np.delete(starts, [1, -1]))
        return [cells, heights * ((np.append(shares, 1.0) + np.append(1.0, shares)) / 2.0)]

    def _cell_starts(self, room: float, most: int) -> FloatArray:
        """Return where cells begin after a whole number: narrow ones beside it, then even ones."""
        dimensions = self.weights.shape[1]
        # Several counts cannot be cut finely anyway, and their tables take long to build.
        outcomes = (room / 8.0 ** (dimensions - 1)) ** (1.0 / dimensions)
        fine = max(1, min(math.ceil(FINE / self.scale), int(outcomes / (most + 2)) - 2))
        narrow = min(NARROW * min(1.0, self.scale), 1e-3 / fine)
        return np.array([0.0, narrow, *np.arange(1, fine) / fine, 1.0 - narrow])

    def tables(self, traces: NDArray[np.intp]) -> tuple[FloatArray, FloatArray]:
        """Return the law of the cells, and of the grid's points, for each trace."""
        found = []
        for kernel in self._kernels(ROOM_OF_TRACES, self.most):
            table = np.ones((len(traces), 1))
            for column in self.counts(traces).T:
                table = (table[:, :, None] * kernel[column][:, None]).reshape(len(table), -1)
            found.append(table)
        return found[0], found[-1]

    def cells(self, outputs: Sequence[Any]) -> NDArray[np.intp]:
        """Return for each output the number of its cell."""
        values = np.asarray(outputs, dtype=float).reshape(len(outputs), -1)
        if self.core is not None:
            reach = len(self.core) // 2
            edges = np.arange(-reach, self.most + reach) + 0.5
        else:
            starts = self._cell_starts(ROOM_OF_TRACES, self.most)
            edges = np.add.outer(np.arange(self.most), starts[1:]).ravel()
        codes = np.zeros(len(values), dtype=np.intp)
        for column in values.T:
            codes = codes * (len(edges) + 1) + np.searchsorted(edges, column)
        return codes

    def log_likelihood(self, observed: Any, trace: Sequence[Any]) -> float:
        """Return the log density, or the log chance, of an output."""
        away = np.asarray(observed, dtype=float) - self.counts(self.encode(trace)[None])[0]
        if self.core is None:
            return float(-np.abs(away).sum() / self.scale - away.size * math.log(2 * self.scale))
        if (away != np.rint(away)).any():
            return -math.inf
        reach = len(self.core) // 2
        near = np.clip(away, -reach, reach).astype(np.intp) + reach
        beyond = np.maximum(np.abs(away) - reach, 0)
        return float((np.log(self.core[near]) - beyond / self.scale).sum())

    def sample_many(self, traces: NDArray[np.intp], rng: np.random.Generator | None) -> FloatArray:
        """Draw noisy counts, (B, k)."""
        source, counts = generator_or_secure(rng), self.counts(traces)
        if self.core is None:
            noise = source.laplace(scale=self.scale, size=counts.shape)
            return np.asarray(np.rint((counts + noise) / self.grid) * self.grid)
        reach = len(self.core) // 2
        chances = self.core.copy()
        chances[[0, -1]] /= -math.expm1(-1.0 / self.scale)
        drawn = source.choice(len(chances), size=counts.shape, p=chances / chances.sum()) - reach
        further = source.geometric(-math.expm1(-1.0 / self.scale), size=counts.shape) - 1
        drawn = drawn + further * ((drawn == reach).astype(int) - (drawn == -reach))
        return np.asarray(counts + drawn, dtype=float)

    def garbled(self, rng: np.random.Generator) -> NoisyCount | None:
        """Return more Laplace noise, which is a post-processing: the law is self-decomposable."""
        if self.core is not None:
            return None
        return attrs.evolve(self, scale=self.scale * float(rng.uniform(1.0, 3.0)))

    def permuted(self, order: Sequence[int]) -> NoisyCount:
        """Return the channel for states listed in another order."""
        places = np.asarray(order)
        states = tuple(self.states[place] for place in places)
        return attrs.evolve(self, states=states, weights=self.weights[places])
