"""How many positions, and sets of positions, anyone can expect to guess right."""

from __future__ import annotations

import math

import attrs
import numpy as np

from sfumato.inference.markov.probabilities import max_products
from sfumato.values import FloatArray
from sfumato_fano.sightings import ALONE, IntArray, Sightings, Watch, segments

_ENTRIES = 250_000
"""How many closed segments are held at once."""

_MOST_ENTRIES = 4_000_000
"""How many entries of partial results may be kept."""

SINGLE = 2e10
"""Multiplications that the sum over single positions may take, however small the budget."""

Chosen = tuple[FloatArray, IntArray, IntArray]
"""Largest joint probabilities of chosen positions and the state at the last of them, (R, u_t), the
nodes at which their segments start, (R,), and how many positions are chosen, (R,)."""


def affordable_matches(sightings: Sightings, budget: float) -> int:
    """Return the largest k for which `match_sums` needs at most `budget` multiplications.

    A segment with L inner positions has C(L, j) choices of j of them. With u_t states that may
    stay unseen at t, a choice that ends at t costs u_t + j multiplications to close at every
    later node and, if j > 1, u_t M to extend. One position alone may take up to `SINGLE`.
    """
    states, free = sightings.belief.state_count, sightings.open_counts
    later = len(sightings) - np.searchsorted(sightings.times, np.arange(len(free)), side="right")
    passing = np.where(free > 0, 1.0, 0.0)
    chosen = sightings.begun_counts * passing  # how many choices of `size` positions end at t
    operations, entries = 2.0 * len(sightings) * len(free) * ALONE * sightings.remembers, 0.0
    for size in range(1, len(free) + 1):
        operations += float(chosen @ ((free + size) * later + free * states * (size > 1)))
        if size == 2:  # the matrices of two chosen positions, by a fast matrix product
            operations += len(free) ** 2 * states * float((free**2).max()) / 16.0
        entries += float(chosen @ free)
        chosen = np.concatenate([[0.0], np.cumsum(chosen)[:-1]]) * passing
        # A sum that could underflow is left out: m_k is at least M^(-k).
        too_small = size * math.log(max(states, 2)) > 600.0
        allowed = max(budget, SINGLE) if size == 1 else budget
        if operations > allowed or too_small or (size > 1 and entries > _MOST_ENTRIES):
            return size - 1
    return len(free)


def match_sums(sightings: Sightings, most: int) -> FloatArray:
    """Return m_0, ..., m_k, with m_k = Σ_{|A| = k} Σ_y max_x Pr[X_A = x, y], and m_0 = 1.

    A guesser sees y and names one state for each position; the expected number of k-subsets of
    positions that it gets wholly right is at most m_k. Given y, segments between sightings are
    independent, so the maximum is a product over segments, and a seen position is right for
    certain. With w_j(a, b) the sum, over j positions inside the segment (a, b), of the largest
    joint probability, m_k is the coefficient of z^k in the sum over paths of sightings of
    Π Σ_j w_j z^j, with a factor 1 + z for every sighting.
    """
    paths = np.zeros((len(sightings), most + 1))
    paths[0, 0] = 1.0
    for watch in sightings.watches():
        _Sweep(sightings, watch, most, paths).run()
    return np.asarray(paths[-1])


@attrs.frozen(eq=False)
class _Sweep:
    """One pass in time over the segments of a watch.

    paths[b, k] is the coefficient of z^k in the sum over paths of sightings that end at b; it is
    complete once all earlier times have been passed.
    """

    sightings: Sightings
    watch: Watch
    most: int
    paths: FloatArray

    def run(self) -> None:
        """Add to the paths what every segment brings, without and with chosen positions."""
        unseen, endings = self.watch.unseen, self._endings()
        pending: list[list[Chosen]] = [[] for _ in unseen]
        for part in segments(self.sightings, self.watch):
            self.paths[part.nodes] += part.weights.T @ self._leading(part.starts)
            if self.most > 0 and part.time < len(unseen) and unseen[part.time].any():
                on = self.watch.open_states(part.time)
                ones = np.ones(len(part.ways), dtype=np.intp)
                here = part.ways[:, on] * unseen[part.time, on]
                parts = zip(*pending[part.time], (here, part.starts, ones), strict=True)
                values, starts, sizes = map(np.concatenate, parts)
                pending[part.time] = []  # nothing comes back to this time
                self._close((values, starts, sizes), *endings[part.time])
                self._extend((values, starts, sizes), pending, part.time)

    def _leading(self, starts: IntArray) -> FloatArray:
        """Return the paths up to some nodes, with the factor 1 + z of a node that is seen."""
        leading = self.paths[starts]
        leading[:, 1:] += np.where(starts > 0, 1.0, 0.0)[:, None] * self.paths[starts, :-1]
        return leading

    def _endings(self) -> list[tuple[IntArray, FloatArray]]:
        """Return, for each time, the later nodes and Pr[seen next there | X_t], (E, u_t)."""
        belief, sightings = self.sightings.belief, self.sightings
        nodes = np.array([len(sightings) - 1])
        on = self.watch.open_states(belief.steps - 1)
        chances = np.ones((1, belief.state_count))[:, on]
        endings = [(nodes, chances)]
        for time in range(belief.steps - 1, 0, -1):
            here = np.arange(*sightings.entering(time).indices(len(sightings)))
            places, before = sightings.states[here], self.watch.open_states(time - 1)
            matrix = belief.matrix(time - 1)[before]
            seen = matrix[:, places] * self.watch.seen[time, places]
            passed = (chances * self.watch.unseen[time, on]) @ matrix[:, on].T
            nodes, chances, on = np.concatenate([here, nodes]), np.vstack([seen.T, passed]), before
            endings.append((nodes, chances))
        return endings[::-1]

    def _close(self, chosen: Chosen, nodes: IntArray, chances: FloatArray) -> None:
        """End every segment with chosen positions at every later node."""
        values, starts, sizes = chosen
        stride = max(1, _ENTRIES // len(nodes))
        for begin in range(0, len(values), stride):
            part = slice(begin, begin + stride)
            best = max_products(values[part], chances.T)
            self.paths[nodes] += best.T @ self._shifted(starts[part], sizes[part])

    def _shifted(self, starts: IntArray, sizes: IntArray) -> FloatArray:
        """Return the paths up to the starts of segments, times z^j for j chosen positions."""
        leading, powers = self._leading(starts), np.arange(self.most + 1) - sizes[:, None]
        found = np.take_along_axis(leading, np.maximum(powers, 0), axis=1)
        return np.where(powers >= 0, found, 0.0)

    def _extend(self, chosen: Chosen, pending: list[list[Chosen]], time: int) -> None:
        """Choose one more position after `time`, for those that may."""
        values, starts, sizes = chosen
        going = sizes < self.most
        if not going.any():
            return
        values, starts, sizes = values[going], starts[going], sizes[going] + 1
        on, moves = self.watch.open_states(time), np.empty(0)
        for later in range(time + 1, len(pending)):
            chance, after = self.watch.unseen[later], self.watch.open_states(later)
            if not chance.any():  # everyone is seen here: no segment goes on
                return
            step = self.sightings.belief.matrix(later - 1)[on][:, after] * chance[after]
            moves = step if later == time + 1 else moves @ step
            pending[later].append((max_products(values, moves), starts, sizes))
            on = after
