"""Expected matches: how many sets of positions anyone can expect to guess right.

Between two sightings the trace is independent of all else, given what is released. Whoever guesses
g there expects Σ_{|A| = k} Pr[X_A = g_A] sets of k positions wholly right, A inside the segment.
From a position u at which X_u = x the most that can be expected of later ones is at most

    v_k(u, x) = Σ_{t > u} max_z Pr[X_t = z | X_u = x] v_{k−1}(t, z),    v_0 = 1,

all joint with staying unseen until the segment's end, as g_t is one z for all sets that go on at t.
Of j right guesses C(j, k) sets are right, so that Pr[at least j right] ≤ v_k / C(j, k) for every k:
Markov's inequality. This takes polynomial time; sets are never listed.

An output that is no sighting may be one of several, each of which tells a little: `hints`. Every
sequence of them inside a segment is followed, and bounds are added up over sequences.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import toeplitz
from scipy.special import comb, log_ndtr, ndtr

from sfumato.channels import NoisyVectors
from sfumato.inference.markov.probabilities import max_products
from sfumato.values import FloatArray
from sfumato_fano.sightings import ALONE, BoolArray, IntArray, Sightings, Watch

UNDERFLOW = 1e-290
"""More than all that float64 may lose in products too small for it, one by one."""

ROUNDING = 1e-12
"""Sums are raised by this share of themselves, well above the rounding of float64."""

SINGLE = 2e10
"""Multiplications that the sum over single positions may take, however small the budget."""

ENTRIES = 300_000
"""How many numbers are held at once while guesses are followed in pairs."""

SEGMENTS, PAIRS = 1, 2
"""How deep to look: at segments one by one, and in them at guesses of two positions together."""

LIKELY = 8
"""How many guesses at a position are looked at together with those at the next one."""

HELD = 5e7
"""How many numbers the segments between all nodes may take."""

TILT = 3.0
"""The likelihood ratio of a hint that somebody was seen."""

Hints = Sequence[FloatArray]
"""For each step the chances of every output that is no sighting, given each state, (A, M)."""


def match_limits(
    sightings: Sightings, hints: Hints | None, mistakes: int, budget: float
) -> dict[str, float]:
    """Return bounds on the success with s mistakes, by name.

    Summed over all outputs, a guesser expects m_k sets of k positions right, sightings among them,
    and so succeeds with at most m_k / C(T − s, k). And by segment: there no guess makes fewer
    mistakes, in law, than D with Pr[D ≤ e] the smallest bound on at least L − e of L right.
    Segments are independent, so that the mistakes of a trace are at least a sum of such D.
    """
    steps, nodes, memory = sightings.belief.steps, len(sightings), sightings.memory
    size, depth = _affordable(sightings, budget, [len(rows) for rows in hints or ()])
    if size == 0:
        return {}
    sets = np.zeros((nodes - 1, nodes, size + 1))
    wrong = np.zeros((nodes - 1, nodes, mistakes + 1) if depth else (1, 2, 1))
    for watch in sightings.watches():
        for part in _tables(sightings, watch, hints, mistakes, size=size, depth=depth):
            sets[part.start, part.nodes] = part.expected.T
            if depth:
                lengths = sightings.times[part.nodes] - sightings.times[part.start] - 1
                left = np.maximum(lengths[:, None] - np.arange(mistakes + 1), 0)
                within = np.take_along_axis(part.right.T, left, axis=1)
                wrong[part.start, part.nodes] = np.diff(within, axis=1, prepend=0.0)
    for law in sets:
        law[:-1, 1:] += law[:-1, :-1].copy()  # whoever is seen is right there, for certain
    limits = {
        f"{k} matches": sum_ / math.comb(steps - mistakes, k)
        for k, sum_ in enumerate(_sum_over_paths(sets))
        if 1 <= k <= steps - mistakes
    }
    if depth:
        limits["matches by segment"] = float(_sum_over_paths(wrong).sum())
    most = float((sightings.unseen + sightings.seen).max()) if memory is None else 1.0
    scale = steps * math.log(max(most, 1.0)) + min(steps * math.log(2.0), size * math.log(steps))
    lost = math.exp(min(0.0, math.log(UNDERFLOW) + scale))
    terms = steps * (sightings.belief.state_count + nodes + steps) * (1 if hints is None else 4)
    raised = 1.0 + ROUNDING + terms * 2.0**-52
    return {name: min(value * raised + lost, 1.0) for name, value in limits.items()}


def noisy_match_limits(
    sightings: Sightings, channel: NoisyVectors, mistakes: int, budget: float
) -> dict[str, float]:
    """Return bounds on the success with a noisy release of these sightings, by name.

    As many steps have two outputs as the budget allows, with guesses followed in pairs or without.
    """
    steps, limits = sightings.belief.steps, dict[str, float]()
    numbers = range(steps + 1)
    allowed = [_affordable(sightings, budget, [2] * number) for number in numbers]
    most = max((n for n in numbers if allowed[n][0] == steps), default=0)
    in_pairs = max((n for n in numbers if allowed[n][1] == PAIRS), default=0)
    tries = [(n, tilt) for n in (most, in_pairs) if n for tilt in (None, TILT)]
    for number, tilt in dict.fromkeys([(0, None), *tries]):
        words = "erased" if tilt is None else "tilted"
        found = match_limits(*noisy_hints(sightings, channel, number, tilt), mistakes, budget)
        limits |= {f"{name}, {number} steps {words}": value for name, value in found.items()}
    return limits


def noisy_hints(
    sightings: Sightings, channel: NoisyVectors, exact_steps: int, tilt: float | None = None
) -> tuple[Sightings, Hints]:
    """Return sightings and hints that bound what a noisy release of these sightings tells.

    Of a step let f be the density of the mean that unseen states share, and f_x that of a state x
    that would be seen, at a distance of d deviations. Their ratio exceeds any γ ≥ 1 by

        h(γ) = ∫ max(f_x − γ f, 0) = Φ(d/2 − log(γ)/d) − γ Φ(−d/2 − log(γ)/d).

    As f_x ≤ f + max(f_x − f, 0) at every output, and the largest probability of a sum is at most
    the sum of largest ones, a step is at most an output that tells nothing, of chance 1, and a
    sighting of x of chance h(1). At so many steps at which most is seen it is two outputs:

    - without a `tilt`, all densities have a common part ∫ min_x f_x ≥ Π 2 Φ(−Δ/2σ), Δ being how far
      a coordinate's means lie apart: then the step is erased. What is left of each density tells
      no more than the state's mean itself;
    - with a `tilt` γ, r = min(f_x/f, γ) is at most a mixture of 1 and γ, with weight
      max(r − 1, 0)/(γ − 1) on γ. So the step tells nothing, or has γ for the likelihood ratio of x,
      that with chance (h(1) − h(γ))/(γ − 1), the sum of these if there are several x; sightings
      are left with chance h(γ). This is the better, the more seldom they are.
    """
    belief, unseen = sightings.belief, sightings.unseen > 0.0
    marginals = belief.marginals()
    common = np.where(unseen, 2.0, marginals).argmax(axis=1)[:, None]
    unseen |= common == np.arange(belief.state_count)  # where all would be seen, one is taken
    centres = np.take_along_axis(channel.means, common[..., None], axis=1)
    far = np.linalg.norm((channel.means - centres) / channel.scale, axis=2)
    beyond = np.where(unseen, 0.0, _excess(far, 1.0))
    hints, seen = [np.ones((1, belief.state_count))] * belief.steps, beyond.copy()
    spread = np.ptp(channel.means, axis=1) / (2.0 * channel.scale)  # (T, K)
    kept = -np.expm1((log_ndtr(-spread) + math.log(2.0)).sum(axis=1)) * (1.0 + ROUNDING)
    often = np.argsort(-(marginals * sightings.seen).sum(axis=1), kind="stable")
    for time in often[:exact_steps]:
        if tilt is None:
            told = min(float(kept[time]), 1.0)
            rows = hints[time][0] - told * (1.0 - 2.0 * ROUNDING), told * sightings.unseen[time]
            seen[time] = told * sightings.seen[time]
        else:
            seen[time] = np.where(unseen[time], 0.0, _excess(far[time], tilt))
            told = (beyond[time] * (1.0 + ROUNDING) - seen[time]).sum() / (tilt - 1.0)
            told = min(float(told), 1.0)
            rows = hints[time][0] - told, told * np.where(unseen[time], 1.0, tilt)
        hints[time] = np.stack(rows)
    totals = np.stack([hint.sum(axis=0) for hint in hints])
    return Sightings.where(belief, totals, seen), hints


def _excess(far: FloatArray, ratio: float) -> FloatArray:
    """Return ∫ max(f_x − γ f, 0) of normal densities so many deviations apart, rounded up."""
    cut = math.log(ratio) / np.where(far > 0.0, far, 1.0)
    above = ndtr(far / 2.0 - cut) * (1.0 + ROUNDING)
    return np.asarray(np.clip(above - ratio * ndtr(-far / 2.0 - cut), 0.0, 1.0))


def _affordable(sightings: Sightings, budget: float, counts: Sequence[int] = ()) -> tuple[int, int]:
    """Return the largest k that the budget allows, and whether segments, and pairs, are looked at.

    Of a segment of L positions, every two of them take M² multiplications for each k, and so many
    for each likely guess and number of right ones in pairs, which are slower; once for every
    sequence of hints, of which so many are `counts` at each step.
    """
    steps, states = sightings.belief.steps, len(sightings.alike[0])
    hops = pairs = single = 0.0
    for time, nodes in zip(*np.unique(sightings.times[1:], return_counts=True), strict=True):
        sequences = np.append(
            1.0, np.cumprod([*counts[:time], *[1.0] * (time - len(counts))][::-1])
        )
        lengths = np.arange(time + 1.0)
        hops += nodes * float(sequences @ lengths) * states**2
        both = 1.2 * min(LIKELY, states) * states**2
        pairs += nodes * float(sequences @ (lengths * (lengths + 1.0))) * both
        single += nodes * float(sightings.begun_counts[:time].sum()) * states
    watches, alone = 1, 0.0
    if sightings.memory is not None:
        watches, alone = len(sightings) - 1, ALONE * steps
    single += watches * (steps * states**2 * len(sightings) + alone)
    held = HELD / len(sightings) ** 2 - 1.0  # sizes for which there is room
    if single > (SINGLE if sightings.memory is None else budget) or held < 1.0:
        return 0, 0
    size = max(1, int(min(steps, held, budget / (watches * (hops + alone)))))
    room, paths = len(sightings) ** 2 * (steps + 1), (len(sightings) * steps) ** 2 / 16.0
    if room > HELD or paths > SINGLE / 20.0:
        return size, 0
    return size, PAIRS if size == steps > 1 and watches * pairs <= budget else SEGMENTS


def _sum_over_paths(laws: FloatArray) -> FloatArray:
    """Return Σ over paths of sightings of the product of their segments' polynomials, (W,).

    The laws are those from each start to every node, (N − 1, N, W); higher powers are left out.
    """
    reach = np.zeros(laws.shape[1:])
    reach[0, 0] = 1.0
    for start, law in enumerate(laws):
        reach += law @ toeplitz(reach[0] * reach[start, 0], reach[start])
    return np.asarray(reach[-1])


class _Part(NamedTuple):
    """Of the segments from a start to some nodes: v_k, (K + 1, N), and Pr[j right], (T + 1, N)."""

    start: int
    nodes: slice
    expected: FloatArray
    right: FloatArray


def _tables(
    sightings: Sightings,
    watch: Watch,
    hints: Hints | None,
    mistakes: int,
    *,
    size: int,
    depth: int,
) -> Iterator[_Part]:
    """Yield the segments of a watch; with hints, those to the nodes of one time after another.

    Of states that can be exchanged, one stands for all: any is as good a guess, and a sum over them
    is so many times as large.
    """
    belief, steps = sightings.belief, sightings.belief.steps
    first = sightings.alike[0]
    rows = [hint[:, first] for hint in (watch.unseen[:, None] if hints is None else hints)]
    groups = [slice(0, len(sightings))]
    if hints is not None:
        groups = [sightings.entering(time) for time in range(steps + 1)]
    grid = np.ix_(first, first)
    moves = [one[grid] for one in belief.transitions[: 1 if belief.is_homogeneous else None]]
    moves *= steps - 1 if belief.is_homogeneous else 1
    moves.append(np.zeros((len(first), len(first))))  # from the last position nobody moves
    for group in groups:
        if group.stop > group.start:
            asked = mistakes, size, depth
            yield from _parts(sightings, watch, group, rows, moves, asked=asked)


def _parts(
    sightings: Sightings,
    watch: Watch,
    group: slice,
    hints: Hints,
    moves: Sequence[FloatArray],
    *,
    asked: tuple[int, int, int],
) -> Iterator[_Part]:
    """Yield the segments of a watch that end in a group of nodes, backwards from its last time.

    Numbers are held for every sequence of hints from a position on, the first varying slowest.
    """
    (mistakes, size, depth), (first, classes) = asked, sightings.alike
    belief, start_times = sightings.belief, sightings.times[watch.starts]
    many, count = np.bincount(classes), group.stop - group.start
    times, last = sightings.times[group], int(sightings.times[group.stop - 1])
    held: dict[int, tuple[IntArray, FloatArray]] = {}
    rights: dict[int, FloatArray] = {}
    ending = np.zeros((1, count, len(first)))  # Pr[the next sighting is the node | x]
    ending[0, times == belief.steps] = 1.0
    for origin in range(min(last, belief.steps) - 1, int(start_times[0]) - 1, -1):
        starts = watch.starts[start_times == origin]
        own = classes[sightings.states[starts]] if origin >= 0 else np.zeros(1, dtype=np.intp)
        matrix = belief.initial[None, first] if origin < 0 else moves[origin]
        if origin < belief.steps - 1:
            if origin + 1 < last:
                unseen = (hints[origin + 1] * many)[:, None, None]  # (A, 1, 1, M)
                ending = ((ending * unseen) @ matrix.T).reshape(-1, count, len(matrix))
            else:
                ending = np.zeros((1, count, len(matrix)))
            now = np.flatnonzero(times == origin + 1)
            states = sightings.states[group][now]
            ending[:, now] = (matrix[:, classes[states]] * watch.seen[origin + 1, states]).T
        rows = np.arange(len(matrix)) if size > 1 and origin > start_times[0] else own
        expected = np.zeros((len(ending), size, count, len(rows)))  # v_k from k = 1 on
        matched, kernel = dict[int, FloatArray](), matrix[None, rows]
        for time in range(origin + 1, last if len(rows) else 0):
            matched[time] = (kernel[:, None] * hints[time][:, None]).reshape(-1, *kernel.shape[1:])
            some, values = held[time]
            found = max_products(values, matched[time].reshape(-1, len(first)).T)
            found = found.reshape(len(some), -1, len(rows)).swapaxes(0, 1)
            expected.reshape(found.shape[0], -1, len(rows))[:, some] += found
            if time < last - 1:
                kernel = (matched[time] * many) @ moves[time]
        columns = np.searchsorted(rows, own)
        shown = rows if depth == PAIRS else own
        right = _likely_right(
            ending[..., shown], expected[..., np.searchsorted(rows, shown)], last if depth else 0
        )
        wrong = times - origin - 1 - np.arange(right.shape[1])[:, None]
        right[:, wrong < 0] = 0.0  # there are fewer
        if depth == PAIRS:
            _follow_pairs(right, wrong <= mistakes, matched, hints, moves, rights=rights)
            rights[origin] = right
            right = right[..., columns]
        if origin > start_times[0]:
            fewer = ending[:, None]
            if size > 1:
                fewer = np.concatenate([fewer, expected[:, :-1]], axis=1)
            fewer = fewer.reshape(-1, len(first))
            some = np.flatnonzero(fewer.any(axis=1))
            held[origin] = some, fewer[some]
        for number, start in enumerate(starts):
            column = columns[number]
            sums = [ending[:, :, own[number]].sum(axis=0), *expected[..., column].sum(axis=0)]
            yield _Part(int(start), group, np.stack(sums), right[..., number].sum(axis=0))


def _likely_right(none: FloatArray, expected: FloatArray, most: int) -> FloatArray:
    """Return min over k of v_k / C(j, k) for j = 0, ..., most, (P, most + 1, N, R)."""
    right, choices = np.repeat(none[:, None], most + 1, axis=1), _choices(most, expected.shape[1])
    for count in range(1, most + 1):
        few = min(count, expected.shape[1])
        shares = expected[:, :few] / choices[count, :few]
        right[:, count] = np.minimum(right[:, count - 1], shares.min(axis=1))
    return right


@functools.cache
def _choices(most: int, size: int) -> FloatArray:
    """Return C(j, k) for j ≤ most and 1 ≤ k ≤ size, (most + 1, size, 1, 1)."""
    table = comb(np.arange(most + 1)[:, None], np.arange(1, size + 1))
    return np.asarray(table[..., None, None])


def _follow_pairs(
    right: FloatArray,
    asked: BoolArray,
    matched: dict[int, FloatArray],
    hints: Hints,
    moves: Sequence[FloatArray],
    *,
    rights: dict[int, FloatArray],
) -> None:
    """Lower the bounds on Pr[at least j right], (P, J + 1, N, R), by a look at the first match.

    With w bounds on at least j − 1 right later, and as a first match at t has none at t − 1,

        max_g Σ_t (Pr[X_t = g_t] − Pr[X_{t−1} = g_{t−1}, X_t = g_t]) w(t, g_t)

    bounds Pr[at least j right]. It is a sum over neighbours, so the best g is found step by step,
    as a likeliest path is; from all but the likeliest g_{t−1} nothing is taken away. Differences
    lose digits of what they are differences of: a share of that is added.
    Only the j and nodes that are `asked` for, (J + 1, N), are lowered; they ask for no others.
    """
    found = np.nonzero(right[:, 1:].any(axis=3) & asked[1:])
    few = min(LIKELY, len(moves[0]))
    width = max(1, ENTRIES // (right.shape[3] * few * len(moves[0])))
    for begin in range(0, len(found[0]) if matched else 0, width):
        pattern, fewer, node = (part[begin : begin + width] for part in found)
        score = whole = before = np.zeros(())
        for time, here in matched.items():
            ahead = len(rights[time])  # sequences of hints after this time
            worth = rights[time][pattern % ahead, fewer, node]  # (n, M)
            if score.ndim:
                hint = hints[time][pattern // ahead % len(hints[time])]
                order = np.argpartition(-score, few - 1, axis=2)
                likely, others = order[..., :few], order[..., few:]
                joint = moves[time - 1][likely] * (hint * worth)[:, None, None]  # (n, R, few, M)
                joint *= -np.take_along_axis(before, likely, axis=2)[..., None]
                joint += np.take_along_axis(score, likely, axis=2)[..., None]
                rest = np.take_along_axis(score, others, axis=2).max(axis=2, initial=0.0)
                score = np.maximum(joint.max(axis=2), rest[..., None])
            before = here[pattern // ahead]
            gain = before * worth[:, None]
            score, whole = score + gain, whole + gain.max(axis=2)
        best = score.max(axis=2) + ROUNDING * whole
        right[pattern, fewer + 1, node] = np.minimum(right[pattern, fewer + 1, node], best)
    np.minimum.accumulate(right, axis=1, out=right)  # more are right no more often
