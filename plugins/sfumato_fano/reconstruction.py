"""The measure `reconstruction`: the best chance that anyone has to reconstruct a trajectory."""

from __future__ import annotations

import math

import attrs
import numpy as np

from sfumato.beliefs import Markov
from sfumato.channels import Emission, NoisyVectors, Symbols
from sfumato.errors import OutsideHypotheses, Undecidable
from sfumato.inference.markov.enumeration import enumerate_outputs
from sfumato.inference.markov.probabilities import max_products
from sfumato.parameters import CHOICE, POSITIVE, declare, parameter
from sfumato.protocols import Reading
from sfumato.questions import Guess
from sfumato.values import FloatArray
from sfumato_fano.best_guess import SuccessMeasure, best_success, whole_trace_success
from sfumato_fano.fano import (
    consecutive_logs,
    divergence_success,
    fano_success,
    log_choose,
    position_sets,
)
from sfumato_fano.information import best_information, chain_entropy
from sfumato_fano.sightings import (
    IntArray,
    Sightings,
    Watch,
    segments,
    sightings_of,
    tractable_sightings,
    without_noise,
)

FEW = 200_000
"""How many pairs of an output and a guess are listed, at most, to sharpen the bounds."""

GRID = 1e13
"""Enumerated bounds are rounded up by 2 to 3 parts in GRID: more than any success without mistakes,
lest the loss fall where one is allowed."""

ROUNDING = 1e-12
"""Sums are raised by this share of themselves, well above the rounding of float64."""

_ENTRIES = 250_000
"""How many closed segments are held at once."""

_MOST_ENTRIES = 4_000_000
"""How many entries of partial results may be kept."""

SINGLE = 2e10
"""Multiplications that the sum over single positions may take, however small the budget."""

Chosen = tuple[FloatArray, IntArray, IntArray]
"""Largest joint probabilities of chosen positions and the state at the last of them, (R, u_t), the
nodes at which their segments start, (R,), and how many positions are chosen, (R,)."""


@declare
class Reconstruction(SuccessMeasure):
    """The success of the best possible guess: max over guessers of Pr[d(X, X̂) ≤ mistakes].

    Without mistakes it is Σ_y max_x Pr[x, y], exactly. With s mistakes it is the smallest of
    these bounds, each of which holds for every guesser:

    - matches: a success gets all C(T − s, k) subsets of k of T − s positions right, and the
      expected number of k-subsets wholly right is at most
      m_k = Σ_{|A| = k} Σ_y max_x Pr[X_A = x, y]; by Markov's inequality
      p ≤ m_k / C(T − s, k), for every k that the budget allows;
    - divergence: d(p‖q) ≤ I(X; Y), with q a bound on success without the release;
    - Fano: equation (3) of the paper, with the smallest known I(X; Y);
    - enumeration: on small instances, the best guess itself, found among all of them.

    What bounds the success from a release without noise bounds it with noise (data processing),
    so noise never raises the answer. `witness` holds all bounds that could win, `how` names the
    smallest.

    Assumptions: the adversary knows the chain and the channel; d counts differing positions.
    Guarantee: exact without mistakes and without noise, in polynomial time for sensors and for
    suppression, as long as it takes at most 1e11 multiplications, T² n (M − n) M / 2 with n
    sensors a step, and the success is at least 2.2e-308, below which float64 has fewer digits.
    Otherwise an upper bound. Rounding errs upwards: the exact value exceeds the true one by at
    most its `relative_error`.
    With ``method="enumeration"`` exact for any mistakes, by listing all outputs and searching all
    guesses, refused where there are too many. The bound by single matches may take 2e10
    multiplications where `budget` is less.
    Reference: Koga, Meehan and Chaudhuri (2024), sections 3.1 and 3.3.

    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain.simulated(states=10, tau=0.1, steps=10)
    >>> secret = sf.secrets.trajectory(mistakes=2)
    >>> sensors = sf.mechanisms.sensor_counts([37 * t % 10 for t in range(10)])
    >>> release = sensors.protect(chain, secret)
    >>> loss = sf.measures.reconstruction().loss(chain, secret, release)
    >>> round(loss.value, 4), loss.bound, loss.how
    (0.1552, 'upper', '5 matches, the smallest of 9 bounds')
    """

    name = "reconstruction"

    method: str = parameter(
        CHOICE("bounds", "enumeration"), default="bounds", doc="bounds, or all outputs and guesses"
    )
    budget: float = parameter(
        POSITIVE, default=2e8, doc="multiplications that the bounds by matches may take"
    )

    def evaluate(self, belief: Markov, question: Guess, channel: Emission) -> Reading:
        """Return the Bayes-optimal success, or the smallest bound on it."""
        if self.method == "enumeration":
            value = best_success(belief, channel, question.mistakes)
            return Reading(value=value, bound="exact", how="all outputs, all guesses")
        exactly = question.mistakes == 0 and not isinstance(channel, NoisyVectors)
        if exactly and (found := whole_trace_success(belief, channel)) is not None:
            return found
        bounds = success_limits(belief, channel, question.mistakes, self.budget)
        bounds |= _enumerated_limit(belief, without_noise(channel), question.mistakes)
        best = min(bounds, key=lambda name: bounds[name])
        how = f"{best}, the smallest of {len(bounds)} bounds"
        return Reading(value=bounds[best], bound="upper", witness=bounds, how=how)

    def brute_force(self, belief: Markov, question: Guess, channel: Emission) -> Reading:
        """Return the best guess of every output, from the table of every trace and output."""
        from sfumato_fano import brute_force

        return brute_force.reconstruction(belief, question, channel)


def success_limits(
    belief: Markov, channel: Emission, mistakes: int, budget: float
) -> dict[str, float]:
    """Return bounds on max over guessers of Pr[d(X, X̂) ≤ mistakes], by name.

    What holds without noise holds with it. Every choice of what to compute depends on the
    budget and not on the mistakes, so that the smallest bound never falls as mistakes grow.
    """
    steps, matched = belief.steps, belief.steps - mistakes
    if matched <= 0:
        return {"every guess succeeds": 1.0}
    quiet = without_noise(channel)
    told = best_information(belief, channel).value
    entropy, states = chain_entropy(belief), belief.state_count
    bounds = {"Fano": fano_success(entropy, told, states, steps, mistakes)}
    sums = _match_sums(belief, quiet, tractable_sightings(belief, quiet), budget)
    for size in range(1, min(len(sums) - 1, matched) + 1):
        bounds[f"{size} matches"] = min(float(sums[size]) / math.comb(matched, size), 1.0)
    # Those who see nothing can guess the likeliest trace: if even that success makes the
    # divergence bound larger than what is known, the bound itself is not worth its price.
    least = float(consecutive_logs(belief)[-1])
    if divergence_success(told, least) < min(bounds.values()):
        bounds["divergence"] = divergence_success(told, _log_blind(belief, matched, budget))
    if mistakes == 0 and (whole := whole_trace_success(belief, quiet)) is not None:
        bounds["whole trace"] = whole.value
    return bounds


def _match_sums(
    belief: Markov, channel: Emission, sightings: Sightings | None, budget: float
) -> FloatArray:
    """Return m_0, ..., m_k for every k within the budget; at least m_0. Rounding errs upwards.

    Only positive numbers are added and multiplied, so the relative error of a sum is below
    the number of its operations in a row, at most T (M + nodes), times 2^-52. Where there are no
    sightings to follow but outputs can be listed, m_1 = Σ_y Pr[y] Σ_t max_x Pr[X_t = x | y].
    """
    if sightings is not None:
        terms = belief.steps * (belief.state_count + len(sightings))
        sums = match_sums(sightings, affordable_matches(sightings, budget))
        return sums * (1.0 + ROUNDING + terms * 2.0**-52)
    try:
        outputs = enumerate_outputs(belief, channel)
    except (OutsideHypotheses, Undecidable):
        return np.ones(1)
    single = 0.0
    for part in outputs.parts():
        best = outputs.marginals(part).max(axis=2).sum(axis=1)
        single += float(outputs.probabilities[part] @ best)
    return np.array([1.0, single]) * (1.0 + ROUNDING)


def _log_blind(belief: Markov, matched: int, budget: float) -> float:
    """Return the log of a bound on the success of those who see nothing.

    Matching T − s positions means matching C(T − s, k) subsets of k, of which C(T, k) exist, none
    with a probability above f(k).
    """
    steps = belief.steps
    nothing = Symbols(belief.states, (0,), np.ones((steps, belief.state_count, 1)))
    sums = _match_sums(belief, nothing, sightings_of(belief, nothing), budget)
    logs = [(size, math.log(found)) for size, found in enumerate(sums)]
    if len(sums) <= steps:
        largest = enumerate(position_sets(belief, steps, budget).logs)
        logs += [(size, log_choose(steps, size) + float(log)) for size, log in largest]
    return min(log - log_choose(matched, size) for size, log in logs if 1 <= size <= matched)


def _enumerated_limit(belief: Markov, channel: Emission, mistakes: int) -> dict[str, float]:
    """Return the best guess's success where that is as quick as the bounds, else nothing.

    Rounding is taken upwards. Whether to enumerate does not depend on the mistakes, lest the
    answer fall where more of them are allowed; beginnings of guesses never outnumber the pairs,
    so the search itself refuses nothing.
    """
    try:
        choices = sum(math.log(len(alphabet)) for alphabet in channel.outputs())
        if choices + belief.steps * math.log(belief.state_count) > math.log(FEW):
            return {}
        found = best_success(belief, channel, mistakes, FEW)
    except (OutsideHypotheses, Undecidable):
        return {}
    return {"enumeration": min(1.0, math.ceil(found * GRID + 2.0) / GRID)}


# Matches: how many sets of positions anyone can expect to guess right -----------------------------


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
    operations, entries = 2.0 * len(sightings) * len(free) * sightings.overhead, 0.0
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

    def _leading(self, starts: IntArray, sizes: IntArray | int = 0) -> FloatArray:
        """Return the paths up to the starts of segments, times z^j for j chosen positions.

        A start that is seen, as all but the beginning are, has the factor 1 + z.
        """
        leading = self.paths[starts]
        leading[:, 1:] += np.where(starts > 0, 1.0, 0.0)[:, None] * self.paths[starts, :-1]
        powers = np.arange(self.most + 1) - np.broadcast_to(sizes, len(starts))[:, None]
        return np.where(powers >= 0, np.take_along_axis(leading, np.maximum(powers, 0), 1), 0.0)

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
            self.paths[nodes] += best.T @ self._leading(starts[part], sizes[part])

    def _extend(self, chosen: Chosen, pending: list[list[Chosen]], time: int) -> None:
        """Choose one more position after `time`, for those that may."""
        values, starts, sizes = chosen
        going = sizes < self.most
        values, starts, sizes = values[going], starts[going], sizes[going] + 1
        on, moves = self.watch.open_states(time), np.empty(0)
        for later in range(time + 1, len(pending)):
            chance, after = self.watch.unseen[later], self.watch.open_states(later)
            if not len(values) or not chance.any():  # where everyone is seen, no segment goes on
                return
            step = self.sightings.belief.matrix(later - 1)[on][:, after] * chance[after]
            moves = step if later == time + 1 else moves @ step
            pending[later].append((max_products(values, moves), starts, sizes))
            on = after
