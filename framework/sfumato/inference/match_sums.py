"""How many k-subsets of positions a guesser can get wholly right, summed over all outputs."""

from __future__ import annotations

import math

import attrs
import numpy as np

from sfumato.inference.max_products import max_products
from sfumato.inference.segments import Segments, arrivals
from sfumato.inference.sightings import IntArray, Sightings, Watch
from sfumato.probabilities import FloatArray

_ENTRIES = 2_000_000
"""How many products are held at once."""

_MOST_ROWS = 4_000_000
"""How many entries of partial results may be kept."""


def affordable_matches(sightings: Sightings, budget: float) -> int:
    """Return the largest k for which `match_sums` needs at most `budget` multiplications.

    A segment with L inner positions has C(L, j) choices of j of them; each choice but the first
    costs M² multiplications to extend, and M to close at every node. At least 1.
    """
    belief = sightings.belief
    inner = belief.steps - 1 - sightings.times[:-1]
    states, nodes = belief.state_count, len(sightings)
    operations, rows = 0.0, 0.0
    for size in range(1, belief.steps + 1):
        chosen = float(sum(math.comb(int(length), size) for length in inner))
        operations += chosen * (nodes + states if size > 1 else nodes) * states
        if size == 2:  # the matrices of two chosen positions, by a fast matrix product
            operations += belief.steps**2 * states**3 / 16.0
        rows += chosen * states
        # A sum that could underflow is left out: m_k is at least M^(-k).
        too_small = size * math.log(max(states, 2)) > 600.0
        if operations > budget or rows > _MOST_ROWS or too_small:
            return max(size - 1, 1)
    return belief.steps


def match_sums(sightings: Sightings, found: Segments, most: int) -> FloatArray:
    """Return m_0, ..., m_k, with m_k = Σ_{|A| = k} Σ_y max_x Pr[X_A = x, y], and m_0 = 1.

    A guesser sees y and names one state for each position; the expected number of k-subsets of
    positions that it gets wholly right is at most m_k. Given y, segments between sightings are
    independent, so the maximum is a product over segments, and a seen position is right for
    certain. With w_j(a, b) the sum, over j positions inside the segment (a, b), of the largest
    joint probability, m_k is the coefficient of z^k in the sum over paths of sightings of
    Π Σ_j w_j z^j, with a factor 1 + z for every sighting.

    Parameters
    ----------
    sightings, found
        The release, and its `segments`.
    most
        The largest k.

    Examples
    --------
    >>> from sfumato.beliefs.markov import Markov
    >>> from sfumato.channels.symbols import Symbols
    >>> from sfumato.inference.segments import segments
    >>> from sfumato.inference.sightings import sightings_of
    >>> chain = Markov([0.2, 0.3, 0.5], np.full((3, 3), 1 / 3), steps=2)
    >>> blind = sightings_of(chain, Symbols((0, 1, 2), (0,), np.ones((2, 3, 1))))
    >>> match_sums(blind, segments(blind), 2).round(6).tolist()
    [1.0, 0.833333, 0.166667]
    """
    inside = np.zeros((most + 1, *found.weights.shape))
    inside[0] = found.weights
    for watch in sightings.watches():
        _Sweep(sightings, watch, most, inside).run()
    paths = np.zeros((len(sightings), most + 1))
    paths[0, 0] = 1.0
    for node in range(1, len(sightings)):
        # Σ over the last node before this one, and over how many matches came before it.
        for size in range(most + 1):
            paths[node, size:] += paths[:node, : most + 1 - size].T @ inside[size, :node, node]
        if node < len(sightings) - 1:
            paths[node, 1:] += paths[node, :-1].copy()
    return np.asarray(paths[-1])


@attrs.define(eq=False)
class _Rows:
    """Largest joint probabilities of chosen positions and of the state at the last of them."""

    values: list[FloatArray] = attrs.field(factory=list)
    starts: list[IntArray] = attrs.field(factory=list)
    sizes: list[IntArray] = attrs.field(factory=list)

    def add(self, values: FloatArray, starts: IntArray, sizes: IntArray) -> None:
        self.values.append(values)
        self.starts.append(starts)
        self.sizes.append(sizes)


@attrs.frozen(eq=False)
class _Sweep:
    """One pass in time over the segments of a watch, adding to `inside` the sums w_j."""

    sightings: Sightings
    watch: Watch
    most: int
    inside: FloatArray

    def run(self) -> None:
        belief = self.sightings.belief
        endings = self._endings()
        rows = [_Rows() for _ in range(belief.steps)]
        for time, law in arrivals(self.sightings, self.watch):
            if len(law) > 0:
                starts = self.watch.starts[: len(law)]
                ones = np.ones(len(law), dtype=np.intp)
                rows[time].add(law * self.watch.unseen[time], starts, ones)
                self._close(rows[time], *endings[time])
                self._extend(rows, time)
            rows[time] = _Rows()  # nothing comes back to this time

    def _endings(self) -> list[tuple[IntArray, FloatArray]]:
        """Return, for each time, the later nodes and Pr[seen next there | X_t, unseen], (E, M)."""
        belief, sightings = self.sightings.belief, self.sightings
        nodes = np.array([len(sightings) - 1])
        chances = np.ones((1, belief.state_count))
        endings = [(nodes, chances)]
        for time in range(belief.steps - 1, 0, -1):
            unseen = self.watch.unseen[time]
            here = np.arange(*sightings.entering(time).indices(len(sightings)))
            seen = np.zeros((len(here), belief.state_count))
            places = sightings.states[here]
            seen[np.arange(len(here)), places] = 1.0 - unseen[places]
            nodes = np.concatenate([here, nodes])
            chances = np.concatenate([seen, chances * unseen]) @ belief.matrix(time - 1).T
            endings.append((nodes, chances))
        return endings[::-1]

    def _close(self, rows: _Rows, nodes: IntArray, chances: FloatArray) -> None:
        """End every segment of `rows` at every later node."""
        values = np.concatenate(rows.values)
        starts, sizes = np.concatenate(rows.starts), np.concatenate(rows.sizes)
        stride = max(1, _ENTRIES // chances.size)
        for begin in range(0, len(values), stride):
            part = slice(begin, begin + stride)
            best = (values[part, None, :] * chances).max(axis=2)
            np.add.at(self.inside, (sizes[part, None], starts[part, None], nodes), best)

    def _extend(self, rows: list[_Rows], time: int) -> None:
        """Choose one more position after `time`, for those that may."""
        belief = self.sightings.belief
        sizes = np.concatenate(rows[time].sizes)
        going = sizes < self.most
        if not going.any() or time == belief.steps - 1:
            return
        values = np.concatenate(rows[time].values)[going]
        starts, sizes = np.concatenate(rows[time].starts)[going], sizes[going] + 1
        moves = np.empty(0)
        for later in range(time + 1, belief.steps):
            step = belief.matrix(later - 1) * self.watch.unseen[later]
            moves = step if later == time + 1 else moves @ step
            rows[later].add(max_products(values, moves), starts, sizes)
