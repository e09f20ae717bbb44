"""Expected matches: how many sets of positions anyone can expect to guess right.

The T positions are cut into b blocks. Of a guess with at most s mistakes at least b − s blocks are
wholly right, hence C(b − s, k) sets of k blocks. The expected number of sets of k blocks that a
guesser gets wholly right is at most

    m_k = Σ_{|A| = k} S(A),    S(A) = Σ_y max_x Pr[X_A = x, y],

so that its success is at most m_k / C(b − s, k), by Markov's inequality. Blocks of one position
count single matches; one block is the whole trace.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence

import attrs
import numpy as np
from numpy.typing import NDArray
from scipy.special import comb, gammaln, log_ndtr

from sfumato.channels import NoisyVectors
from sfumato.inference.markov.probabilities import max_products
from sfumato.values import FloatArray
from sfumato_fano.sightings import IntArray, Sightings, Watch

UNDERFLOW = 1e-290
"""More than all that float64 may lose in products too small for it: a loss of d in a partial result
costs at most d in the sum, as Σ_y max_x Pr[x, y | past] ≤ 1, and there are below 1e17 of them."""

ROUNDING = 1e-12
"""Sums are raised by this share of themselves, well above the rounding of float64."""

SINGLE = 2e10
"""Multiplications that the sum over single positions may take, however small the budget."""

MOST_BLOCKS = 64
"""More blocks than this have too many sets."""


Mixture = Sequence[tuple[float, Sightings]]
"""Releases of which one is chosen at random, openly, with their chances."""


def match_limits(mixture: Mixture, mistakes: int, budget: float) -> dict[str, float]:
    """Return bounds m_k / C(b − s, k) on the success with s mistakes, for some b and k, by name.

    Many blocks and many of them chosen are best, but there are C(b, k) sets: it takes the b and k
    that the budget allows and whose bound would be smallest if log S(A) grew linearly from single
    positions to the whole trace, and goes on to larger and smaller k while that helps. Where the
    budget allows all k for b = T, these are taken, whatever s is, so that the smallest bound does
    not fall as s grows. And the ball: a guess and its mistakes are
    N(s) = Σ_{l ≤ s} C(T, l) (M − 1)^l traces, none likelier than the best.
    """

    def bound(blocks: int, size: int) -> float:
        cuts = [number * steps // blocks for number in range(blocks + 1)]
        sums = [chance * match_sum(part, cuts, size) for chance, part in mixture]
        name = f"{size} matches" if blocks == steps else f"{size} of {blocks} blocks"
        limits[name] = min(sum(sums) / math.comb(blocks - mistakes, size), 1.0)
        return limits[name]

    belief, limits = mixture[0][1].belief, dict[str, float]()
    steps, costs = belief.steps, len(mixture) * match_costs(mixture[0][1])
    most = SINGLE if mixture[0][1].memory is None else budget
    if costs[[1, -1], 1].max() > most:
        return limits
    whole = math.log(sum(chance * match_sum(part, (0, steps), 1) for chance, part in mixture))
    others = belief.state_count - 1
    ball = sum(math.comb(steps, wrong) * others**wrong for wrong in range(mistakes + 1))
    limits["ball"] = math.exp(min(0.0, whole + math.log(ball) + ROUNDING))
    single = math.log(bound(steps, 1) * (steps - mistakes) / steps)
    if costs[-1, 1:].sum() <= budget:
        for size in range(2, steps - mistakes + 1):
            bound(steps, size)
        return limits
    allowed = costs <= budget
    allowed[[1, -1], 1] = True
    blocks, first = _smallest_bound(allowed, mistakes, single, whole)
    best = bound(blocks, first)
    for sizes in (range(first + 1, blocks - mistakes + 1), range(first - 1, 0, -1)):
        for size in sizes:
            found = bound(blocks, size) if allowed[blocks, size] else math.inf
            if found >= best:
                break
            best = found
    return limits


def erasures(sightings: Sightings, channel: NoisyVectors, exact_steps: int) -> Mixture:
    """Return releases of which the noisy one, made from these sightings, tells no more.

    Of a coordinate of step t let the means lie within Δ of one another. Noise N(0, σ²) leaves them
    the common part ∫ min_a φ(y − a) dy = 2 Φ(−Δ/2σ), the smallest density being that of an end. So
    its output can be drawn by tossing a coin: with that chance from the common part, which does not
    depend on the state, and else from what is left of the state's own law. Whoever is told the
    tosses, and the state's means where any coordinate of a step is not erased, can draw the noisy
    output: data processing. A step is then seen as it is without noise with chance
    ρ = 1 − Π 2 Φ(−Δ/2σ) and not at all otherwise, independently of the trace, and the success is at
    most the average over the steps that are kept.

    The average is exact over so many steps at which most is seen. At the others "kept, and nobody
    seen" is taken to tell nothing: its joint probabilities ρ 1[x is unseen] are raised to ρ. With
    those of an erased step, 1 − ρ, they make 1 for every state; a sighting has ρ. Sums of maxima
    only grow by that.
    """
    belief = sightings.belief
    spread = np.ptp(channel.means, axis=1) / (2.0 * channel.scale)  # (T, K)
    kept = -np.expm1((log_ndtr(-spread) + math.log(2.0)).sum(axis=1)) * (1.0 + ROUNDING)
    kept = np.minimum(kept, 1.0)[:, None]
    chances = (belief.marginals() * sightings.seen).sum(axis=1)
    exactly = np.argsort(-chances, kind="stable")[:exact_steps]
    mixture = []
    for shown in itertools.product((True, False), repeat=len(exactly)):
        unseen, seen = np.ones_like(sightings.unseen), kept * sightings.seen
        for time, here in zip(exactly, shown, strict=True):
            unseen[time] = sightings.unseen[time] if here else 1.0
            seen[time] = sightings.seen[time] if here else 0.0
        chance = np.where(shown, kept[exactly, 0], 1.0 - kept[exactly, 0]).prod()
        mixture.append((float(chance), Sightings.where(belief, unseen, seen)))
    return mixture


def match_costs(sightings: Sightings) -> FloatArray:
    """Return how many multiplications m_k of b blocks takes, (T + 1, T + 1), infinite for no sets.

    Of the first i of b blocks, sets of k hold max(0, k − b + i) ≤ c ≤ min(k, i). For each such
    beginning and each segment under way, a position takes M (M + 8) if the next block is chosen,
    and M for each node there. Gaps between blocks take fast products of matrices.
    """
    ends = np.bincount(sightings.times[1:-1], minlength=sightings.belief.steps)
    live = sightings.begun_counts
    for time in np.flatnonzero(~sightings.unseen.any(axis=1)):
        live[time + 1 :] = sightings.begun_counts[time + 1 :] - sightings.begun_counts[time]
    counts = (tuple(numbers.tolist()) for numbers in (live, ends))
    costs = _costs(len(sightings.alike[0]), *counts)
    blocks, sizes = np.indices(costs.shape)
    alone = sightings.overhead * len(sightings) * sightings.belief.steps
    return np.asarray(costs + alone * (1.0 + (sizes > 1) * blocks / 2.0))


@functools.lru_cache(maxsize=64)  # everyone in a population asks for the same
def _costs(states: int, begun: tuple[int, ...], ends: tuple[int, ...]) -> FloatArray:
    steps = len(begun)
    costs = np.full((steps + 1, steps + 1), math.inf)
    matching = np.append(0.0, np.cumsum(begun)) * states * (states + 8.0)
    passing = np.append(0.0, np.cumsum(np.multiply(begun, ends))) * states
    fewer = np.zeros((steps, steps + 2))  # sets of fewer than c of i blocks
    fewer[:, 1:] = np.cumsum(comb(np.arange(steps)[:, None], np.arange(steps + 1)), axis=1)
    for blocks in {*range(1, min(steps, MOST_BLOCKS) + 1), steps}:
        passed, sizes = np.arange(blocks)[:, None], np.arange(1, blocks + 1)
        cuts, needed = np.arange(blocks + 1) * steps // blocks, sizes - blocks + passed
        chosen = fewer[passed, sizes] - fewer[passed, np.maximum(0, needed)]
        left = fewer[passed, sizes + 1] - fewer[passed, np.maximum(0, needed + 1)]
        work = np.diff(matching[cuts]) @ chosen + np.diff(passing[cuts]) @ (chosen + left)
        gaps = np.where((sizes > 1) & (sizes < blocks), blocks * steps * states**3 / 16.0, 0.0)
        costs[blocks, sizes] = work + gaps
    return costs


def _smallest_bound(
    affordable: NDArray[np.bool_], mistakes: int, log_single: float, log_whole: float
) -> tuple[int, int]:
    """Return the affordable b and k with the smallest C(b, k) S(k T / b) / C(b − s, k)."""
    blocks, sizes = np.nonzero(affordable)
    right, steps = blocks - mistakes, len(affordable) - 1
    further = (sizes * steps / blocks - 1.0) / max(steps - 1, 1)
    logs = log_single + further * (log_whole - log_single)
    logs += gammaln(blocks + 1) + gammaln(np.maximum(right - sizes, 0) + 1)
    logs -= gammaln(blocks - sizes + 1) + gammaln(np.maximum(right, 0) + 1)
    logs[sizes > right] = math.inf
    return int(blocks[logs.argmin()]), int(sizes[logs.argmin()])


def match_sum(sightings: Sightings, cuts: Sequence[int], size: int) -> float:
    """Return m_k, k = `size`, of the blocks from one cut to the next.

    Given y, segments between sightings are independent, and a seen position is right for certain,
    so S(A) is a sum over paths of sightings of a product over segments: the largest joint
    probability of the chosen positions inside, summed over the others. The state at the last chosen
    position is kept, and a gap is passed by the chance to stay unseen in it. All sets of blocks are
    followed at once, block by block; those that begin alike share their work.

    Rounding errs upwards: numbers that are not negative are added and multiplied, at most
    T (M + nodes) in a row.
    """
    tracks = [_Track(sightings, watch) for watch in sightings.watches()]
    rest = _continuations(sightings, tracks)
    total = float(rest[0]) if size == 0 else 0.0
    fronts = [_Front(tracks, np.zeros(1, dtype=np.intp), np.eye(1, len(sightings)), -1, [])]
    blocks = [range(*pair) for pair in itertools.pairwise(cuts)] if size else []
    for left, block in zip(reversed(range(len(blocks))), blocks, strict=True):
        chosen = _joined([front.matched(block) for front in fronts])
        if (whole := chosen.only(chosen.sizes == size)).sizes.size:
            total += whole.closed(rest)
        going = [front.only(front.sizes + left >= size) for front in fronts]
        fronts = [front.after(block) for front in going if front.sizes.size]
        chosen = chosen.only((chosen.sizes < size) & (chosen.sizes + left >= size))
        fronts += [chosen] if chosen.sizes.size else []
        if not fronts:
            break
    belief = sightings.belief
    terms = belief.steps * (belief.state_count + len(sightings))
    most = float((sightings.unseen + sightings.seen).max()) if sightings.memory is None else 1.0
    lost = math.exp(math.log(UNDERFLOW) + belief.steps * math.log(max(most, 1.0)))
    return total * (1.0 + ROUNDING + terms * 2.0**-52) + lost


def _continuations(sightings: Sightings, tracks: list[_Track]) -> FloatArray:
    """Return Σ_y Pr[y after the node | node], (N,): one, but for sightings raised to a bound."""
    rest = np.ones(len(sightings))
    owner = {int(start): track for track in tracks for start in track.starts}
    for node in range(len(sightings) - 2, -1, -1):
        rest[node] = owner[node].onward(node) @ rest
    return rest


class _Track:
    """The segments of a watch: their starts, and the chances to come from there unseen.

    Of states that can be exchanged, one stands for all: any is as good a guess, and a sum over them
    is so many times as large. The end is a step of its own, at T, to which all states lead for
    certain.
    """

    def __init__(self, sightings: Sightings, watch: Watch) -> None:
        belief, steps = sightings.belief, sightings.belief.steps
        first, classes = sightings.alike
        self.starts, self.unseen = watch.starts, watch.unseen[:, first]
        self._passing = self.unseen * np.bincount(classes)
        self._seen, self._sightings = watch.seen, sightings
        self._places = np.append(classes[sightings.states[:-1]], 0)
        grid = np.ix_(first, first)
        moves = [
            matrix[grid] for matrix in belief.transitions[: 1 if belief.is_homogeneous else None]
        ]
        moves *= steps - 1 if belief.is_homogeneous else 1
        self._matrices = [*moves, np.ones((len(first), 1))]
        times = sightings.times[watch.starts]
        self.before = np.searchsorted(times, np.arange(steps + 1)).tolist()
        # Nobody passes a time at which everyone is seen: what started before it is over.
        closed = np.maximum.accumulate(np.where(watch.unseen.any(axis=1), -1, np.arange(steps)))
        self.over = np.searchsorted(times, [-1, *closed]).tolist()
        self._ways = [np.repeat(belief.initial[None, first], self.before[0], axis=0)]
        self._kernels: dict[int, list[FloatArray]] = {}

    def nodes(self, time: int) -> tuple[slice, IntArray, FloatArray]:
        """Return the nodes at a time, their classes, and the chance of each to be seen."""
        nodes = self._sightings.entering(time)
        states = self._sightings.states[nodes]
        chances = self._seen[time, states] if time < len(self._seen) else np.ones(1)
        return nodes, self._places[nodes], chances

    def ways(self, time: int) -> FloatArray:
        """Return Pr[X_time = j, unseen since | start] of all starts before, (S, M)."""
        for now in range(len(self._ways), time + 1):
            matrix, hidden = self._matrices[now - 1], self._ways[-1] * self._passing[now - 1]
            entering = self.starts[self.before[now - 1] : self.before[now]]
            moved = [hidden @ matrix, matrix[self._places[entering]]]
            self._ways.append(np.concatenate(moved))
        return self._ways[time]

    def kernel(self, last: int, time: int) -> FloatArray:
        """Return Pr[X_time = j, unseen between | X_last = i], (M, M)."""
        found = self._kernels.setdefault(last, [self._matrices[last]])
        for now in range(last + len(found) + 1, time + 1):
            found.append((found[-1] * self._passing[now - 1]) @ self._matrices[now - 1])
        return found[time - last - 1]

    def onward(self, node: int) -> FloatArray:
        """Return Pr[the next sighting is the node | the last is this one], (N,)."""
        time = int(self._sightings.times[node])
        if time >= 0:
            return np.asarray(self.endings[time][self._places[node]])
        nodes, states, seen = self.nodes(0)
        found = (self._ways[0][0] * self._passing[0]) @ self.endings[0]
        found[nodes] = self._ways[0][0, states] * seen
        return np.asarray(found)

    @functools.cached_property
    def endings(self) -> list[FloatArray]:
        """Pr[the next sighting is the node | X_t = i] for every t, (M, N)."""
        found = [np.zeros((self.unseen.shape[1], len(self._sightings)))]
        for time in range(len(self.unseen), 0, -1):
            nodes, states, seen = self.nodes(time)
            matrix, later = self._matrices[time - 1], slice(nodes.stop, None)
            chances = np.zeros_like(found[0])
            chances[:, nodes] = matrix[:, states] * seen
            if time < len(self.unseen):
                chances[:, later] = matrix @ (self._passing[time][:, None] * found[-1][:, later])
            found.append(chances)
        return found[:0:-1]


@attrs.frozen(eq=False)
class _Front:
    """P sets of chosen blocks, followed up to a time, that have their last position in common.

    `reach` sums what leads to every node so far, (P, N). For each track, `values` are the largest
    joint probabilities of the chosen positions of a segment by its start and by the state at the
    last of them, (P, S, M); segments that start later have no chosen position yet.
    """

    tracks: list[_Track]
    sizes: IntArray
    reach: FloatArray
    last: int
    values: list[FloatArray]

    def only(self, some: NDArray[np.bool_]) -> _Front:
        """Return some of the sets."""
        if some.all():
            return self
        values = [held[some] for held in self.values]
        return _Front(self.tracks, self.sizes[some], self.reach[some], self.last, values)

    def after(self, times: Sequence[int]) -> _Front:
        """Return the sets after times at which nothing is chosen."""
        reach = self.reach.copy()
        for time in times:
            for number, track in enumerate(self.tracks):
                nodes, states, seen = track.nodes(time)
                starts = track.starts[track.over[time] : track.before[time]]
                if len(states) and len(starts):
                    chances = track.endings[self.last][:, nodes]
                    ended = self.arrivals(number, time, chances, track.ways(time)[:, states] * seen)
                    reach[:, nodes] += np.einsum("ps,psk->pk", reach[:, starts], ended)
        return attrs.evolve(self, reach=reach)

    def closed(self, rest: FloatArray) -> float:
        """Return the sum over all sets, to which nothing is added: what follows is `rest`."""
        total = 0.0
        for held, track in zip(self.values, self.tracks, strict=True):
            begun, end = track.before[self.last], track.before[self.last + 1]
            total += float(
                (self.reach[:, track.starts[begun:end]] @ rest[track.starts[begun:end]]).sum()
            )
            if held.size:
                best = max_products(held.reshape(-1, held.shape[2]), track.endings[self.last])
                reach = self.reach[:, track.starts[begun - held.shape[1] : begun]]
                total += float(reach.ravel() @ (best @ rest))
        return total

    def matched(self, times: Sequence[int]) -> _Front:
        """Return the sets with a block of times added."""
        front = attrs.evolve(self, sizes=self.sizes + 1)
        for time in times:
            reach, values = front.after([time]).reach, []
            for number, track in enumerate(self.tracks):
                kernel = track.kernel(front.last, time) if front.last >= 0 else None
                moved = front.arrivals(number, time, kernel, track.ways(time))
                values.append(moved * track.unseen[time])
            front = attrs.evolve(front, reach=reach, last=time, values=values)
        return front

    def arrivals(
        self, number: int, time: int, kernel: FloatArray | None, ways: FloatArray
    ) -> FloatArray:
        """Return the values after a move, for every start that is not over, (P, S, K).

        Segments with a chosen position move by the kernel; the ways of the others are given.
        """
        track = self.tracks[number]
        begun = track.before[self.last] if self.last >= 0 else 0
        fresh = ways[max(begun, track.over[time]) :]
        fresh = np.broadcast_to(fresh, (len(self.sizes), *fresh.shape))
        live = begun - track.over[time]
        if kernel is None or live <= 0:
            return fresh
        held = self.values[number][:, -live:]
        moved = max_products(held.reshape(-1, held.shape[2]), kernel)
        return np.concatenate([moved.reshape(*held.shape[:2], -1), fresh], axis=1)


def _joined(fronts: list[_Front]) -> _Front:
    """Return sets that all end with the same block as one front."""
    values = [np.concatenate(parts) for parts in zip(*(f.values for f in fronts), strict=True)]
    sizes, reach = (np.concatenate([getattr(f, n) for f in fronts]) for n in ("sizes", "reach"))
    return _Front(fronts[0].tracks, sizes, reach, fronts[0].last, values)
