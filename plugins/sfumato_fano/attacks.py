"""Attacks on a whole trajectory: those who attempt them, and how often they succeed."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from typing import Any, ClassVar

import attrs
import numpy as np

from sfumato.beliefs import Markov
from sfumato.channels import Emission, NoisyVectors, RememberingSuppression
from sfumato.channels.remembering import with_memory
from sfumato.errors import Incompatible, ParameterError
from sfumato.inference.markov.probabilities import log_of
from sfumato.inference.markov.smoothing import TINY, forward_backward, viterbi
from sfumato.parameters import OPTIONAL, PLUGIN, POSITIVE_WHOLE, SEED, Label, declare, parameter
from sfumato.protocols import Adversary, Reading
from sfumato.questions import Guess
from sfumato.values import FloatArray
from sfumato_fano.best_guess import SuccessMeasure, count_mistakes
from sfumato_fano.sightings import IntArray, Sightings, segments

Outputs = Sequence[Any]
Released = Emission | RememberingSuppression

RISK = 1e-6
"""How likely the interval misses the attacker's success: few enough for many comparisons."""

_BATCH = 4_000_000
"""How many log-likelihoods are held at once."""

_SWEEPS = 4
"""How often every state of a guess is reconsidered."""

_PREPARATION = 1e8
"""How many additions may prepare for outputs to come: a fraction of a second."""


class Guesser(Adversary):
    """An adversary whose answer is a trajectory; it works on many outputs at once.

    The author writes `guesses`, for a batch of outputs that are all different.
    """

    reads: ClassVar[tuple[tuple[type, type], ...]] = (
        (Markov, Emission),
        (Markov, RememberingSuppression),
    )

    @abstractmethod
    def guesses(
        self, belief: Markov, channel: Released, observed: Outputs, mistakes: int | None
    ) -> IntArray:
        """Return guesses as positions, (B, T); the mistakes that are allowed may be unknown."""

    def infer(self, belief: Markov, channel: Released, observed: Any) -> tuple[Hashable, ...]:
        """Return the guessed labels."""
        guess = self.infer_many(belief, channel, [observed])[0]
        with_memory(belief, channel)[1].evidence(
            observed
        )  # even those who do not look refuse what is never released
        return belief.decode(guess)

    def infer_many(
        self, belief: Markov, channel: Released, observed: Outputs, mistakes: int | None = None
    ) -> IntArray:
        """Return guesses as positions, (B, T), for so many mistakes; equal outputs solved once."""
        self.require(belief, channel)
        for output in observed:
            got = len(output) if isinstance(output, (Sequence, np.ndarray)) else repr(output)
            if got != channel.steps:
                raise ParameterError(f"observed must have {channel.steps} symbols; got {got}.")
        first, number = _distinct(observed)
        return self.guesses(belief, channel, [observed[place] for place in first], mistakes)[number]


def _distinct(observed: Outputs) -> tuple[IntArray, IntArray]:
    """Return where each different output occurs first, and the number of every output."""
    numbers: dict[Hashable, int] = {}
    number = np.empty(len(observed), dtype=np.intp)
    for place, output in enumerate(observed):
        plain = isinstance(output, np.ndarray) and output.dtype != object
        key = output.tobytes() if plain else tuple(output)
        number[place] = numbers.setdefault(key, len(numbers))
    return np.unique(number, return_index=True)[1], number


@declare
class MaximumPosterior(Guesser):
    """The trajectory of largest posterior probability, by the Viterbi recursion.

    For noisy counts the ways between sensors are found once for all outputs. Optimal for guesses
    without mistakes; with mistakes allowed others can do better.

    Reference: Koga, Meehan and Chaudhuri (2024), section 3.2.2, the MAP estimator.

    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain([0.6, 0.4], [[0.5, 0.5], [0.5, 0.5]], steps=1)
    >>> release = sf.mechanisms.sensor_counts(1).protect(chain, sf.secrets.trajectory())
    >>> sf.adversaries.map().infer(chain.belief(), release.channel, [1])
    (1,)
    """

    name = "map"
    promises = ("most probable trace",)

    def guesses(
        self, belief: Markov, channel: Released, observed: Outputs, mistakes: int | None
    ) -> IntArray:
        """Return the likeliest trajectory for each output."""
        del mistakes
        if isinstance(channel, NoisyVectors):
            marked = MarkedPaths.of(belief, channel)
            if marked.is_quick:
                return marked.best(observed)
        chain, emission = with_memory(belief, channel)
        path = viterbi(chain, emission.evidence_batch(observed))[0]
        return np.asarray(path % belief.state_count)


@attrs.frozen(eq=False)
class MarkedPaths:
    """A chain and the states at which its noisy output has another mean than elsewhere.

    Most states of a step share one mean; those that do not are marked, as if they were seen.
    Between marked states the best path does not depend on the output, so it is found once: an
    output then costs O(N²) for N marked states, where the Viterbi recursion takes O(T M²).
    """

    channel: NoisyVectors
    sightings: Sightings

    @classmethod
    def of(cls, belief: Markov, channel: NoisyVectors) -> MarkedPaths:
        """Mark every state that does not have the commonest mean of its step."""
        members = channel.without_noise().probabilities
        commonest = members.sum(axis=1).argmax(axis=1)
        unmarked = np.take_along_axis(members, commonest[:, None, None], axis=2)[..., 0]
        return cls(channel, Sightings.where(belief, unmarked, 1.0 - unmarked))

    @property
    def is_quick(self) -> bool:
        """Whether this beats the Viterbi recursion; the outputs have no say in it."""
        belief = self.sightings.belief
        few = 4 * len(self.sightings) ** 2 <= belief.steps * belief.state_count**2
        return few and self.sightings.operations <= _PREPARATION

    def best(self, observed: Outputs) -> IntArray:
        """Return argmax_x Pr[x | o] of B outputs as positions, (B, T)."""
        times, steps = self.sightings.times, self.sightings.belief.steps
        arrivals, between = self._ways()
        before = self._nodes_before(self._gains(observed), between)
        rows = np.arange(len(before))
        ahead = np.full(len(before), len(times) - 1)
        pieces = np.empty((len(before), steps), dtype=np.intp)
        for time in reversed(range(steps)):
            behind = before[rows, ahead]
            ahead = np.where(times[behind] == time, behind, ahead)
            pieces[:, time] = before[rows, ahead] * len(times) + ahead
        different, number = np.unique(pieces, return_inverse=True)
        starts, ends = np.divmod(different, len(times))
        paths = self._paths_between(arrivals, starts, ends)
        return np.asarray(paths[number.reshape(pieces.shape), np.arange(steps)])

    def _ways(self) -> tuple[FloatArray, FloatArray]:
        """Return the logs of the likeliest ways that avoid marks.

        From each node to X_t = m, (T, N − 1, M), and to each later node, (N − 1, N).
        """
        count, belief = len(self.sightings), self.sightings.belief
        arrivals = np.full((belief.steps, count - 1, belief.state_count), -np.inf)
        between = np.full((count - 1, count), -np.inf)
        (watch,) = self.sightings.watches()
        for part in segments(self.sightings, watch, likeliest=True):
            if part.time < belief.steps:
                arrivals[part.time, : len(part.ways)] = part.ways
            between[: len(part.weights), part.nodes] = part.weights
        return arrivals, between

    def _gains(self, observed: Outputs) -> FloatArray:
        """Return what each marked state adds to the log-likelihood of B outputs, (B, N − 2)."""
        times, states = self.sightings.times[1:-1], self.sightings.states[1:-1]
        common = self.sightings.unseen.argmax(axis=1)
        usual = self.channel.evidence_at(observed, np.arange(len(common)), common)
        return np.asarray(self.channel.evidence_at(observed, times, states) - usual[:, times])

    def _nodes_before(self, gains: FloatArray, between: FloatArray) -> IntArray:
        """Return the node before each node on the best path that leads to it, (B, N)."""
        times = self.sightings.times
        scores = np.zeros((len(gains), len(times) - 1))
        before = np.zeros((len(gains), len(times)), dtype=np.intp)
        for node in range(1, len(times)):
            earlier = np.searchsorted(times, times[node])
            ways = scores[:, :earlier] + between[:earlier, node]
            before[:, node] = ways.argmax(axis=1)
            if node < len(times) - 1:
                scores[:, node] = ways.max(axis=1) + gains[:, node - 1]
        return before

    def _paths_between(self, arrivals: FloatArray, starts: IntArray, ends: IntArray) -> IntArray:
        """Return the likeliest ways between nodes, (P, T), at the times after start up to end."""
        times, log_matrices = self.sightings.times, self.sightings.log_transitions
        log_unmarked = log_of(self.sightings.unseen)
        paths = np.zeros((len(starts), len(arrivals)), dtype=np.intp)
        for time in reversed(range(len(arrivals))):
            inside = (times[starts] < time) & (time < times[ends])
            ways = arrivals[time, starts[inside]] + log_unmarked[time]
            if time < len(log_matrices):
                ways = ways + log_matrices[time][:, paths[inside, time + 1]].T
            paths[inside, time] = ways.argmax(axis=1)
            arrived = times[ends] == time
            paths[arrived, time] = self.sightings.states[ends[arrived]]
        return paths


@declare
class MarginalMode(Guesser):
    """At each step the state of largest posterior probability, by smoothing.

    No guess has a larger expected number of matches, so it beats `map` when many mistakes are
    allowed; the guessed trajectory itself may be impossible.

    >>> import sfumato as sf
    >>> from sfumato.beliefs import Markov
    >>> from sfumato.channels import Symbols
    >>> belief = Markov([0.4, 0.6], [[0.5, 0.5], [1.0, 0.0]], steps=2)
    >>> blind = Symbols((0, 1), ("nothing",), [[[1.0], [1.0]]] * 2)
    >>> sf.adversaries.marginal_mode().infer(belief, blind, ["nothing"] * 2)
    (1, 0)
    """

    name = "marginal_mode"

    def guesses(
        self, belief: Markov, channel: Released, observed: Outputs, mistakes: int | None
    ) -> IntArray:
        """Return the likeliest state of every step, for each output."""
        del mistakes
        chain, emission = with_memory(belief, channel)
        pairs = forward_backward(chain, emission.evidence_batch(observed)).marginals
        marginals = pairs.reshape(*pairs.shape[:2], -1, belief.state_count).sum(axis=2)
        return np.asarray(marginals.argmax(axis=-1), dtype=np.intp)


@declare
class HammingBall(Guesser):
    """The trajectory around which most posterior probability lies, up to the allowed mistakes.

    $max_g Pr[d(X, g) ≤ s | o]$ is what the best attacker looks for. From the answers of `map` and
    of `marginal_mode`, one state after another is replaced by the best in its place, the others
    being as they are: with $b(e, x)$ the probability of the past and of $X_t = x$ with e mistakes
    before t, and $a(e, x)$ that of the future with at most $s − e$ more,

    $Pr[d ≤ s, o] = ∑_{e, x} b(e, x) a(e + 1[x ≠ g_t], x)$,

    for every $g_t$ at once. No replacement lowers it, so it is never worse than either start; it
    may miss the best. Where the mistakes are not known (in `infer`), it answers as `marginal_mode`.

    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain([0.4, 0.6], [[0.5, 0.5], [1.0, 0.0]], steps=2)
    >>> release = sf.mechanisms.sensor_counts([1, 1]).protect(chain, sf.secrets.trajectory(1))
    >>> ball = sf.adversaries.hamming_ball()
    >>> ball.infer_many(chain.belief(), release.channel, [[0, 0]], mistakes=1).tolist()
    [[0, 0]]
    """

    name = "hamming_ball"
    reads = ((Markov, Emission),)

    def guesses(
        self, belief: Markov, channel: Any, observed: Outputs, mistakes: int | None
    ) -> IntArray:
        """Climb from both starts, and keep the better one for each output."""
        modes = MarginalMode().guesses(belief, channel, observed, mistakes)
        if mistakes is None:
            return modes
        paths = MaximumPosterior().guesses(belief, channel, observed, mistakes)
        if mistakes == 0:
            return paths
        stride = max(1, _BATCH // (belief.steps * belief.state_count * (mistakes + 1)))
        for begin in range(0, len(observed), stride):
            part = slice(begin, begin + stride)
            evidence = channel.evidence_batch(observed[part])
            found = [_climb(belief, evidence, start[part], mistakes) for start in (paths, modes)]
            better = found[1][1] > found[0][1]
            paths[part] = np.where(better[:, None], found[1][0], found[0][0])
        return paths


def _climb(
    belief: Markov, evidence: FloatArray, guesses: IntArray, mistakes: int
) -> tuple[IntArray, FloatArray]:
    """Return better guesses, (B, T), and the logs of the mass around them, (B,).

    Laws are over (mistakes so far, state), (B, s + 1, M). They are scaled to sum to one at every
    step; the future's scales do not matter, as they are those of all g_t.
    """
    weights = np.exp(evidence - evidence.max(axis=2, keepdims=True))[:, :, None]  # (B, T, 1, M)
    steps, shape = belief.steps, (len(evidence), mistakes + 1, belief.state_count)
    guesses, best = guesses.copy(), np.full(len(evidence), -np.inf)
    for _ in range(_SWEEPS):
        future = [np.ones(shape)]
        for time in range(steps - 1, 0, -1):
            later = _allow_mistakes(future[-1], guesses[:, time]) * weights[:, time]
            later = later @ belief.matrix(time - 1).T
            future.append(later / np.maximum(later.max(axis=(1, 2), keepdims=True), TINY))
        law, logs = np.zeros(shape), np.zeros(len(evidence))
        law[:, 0] = belief.initial * weights[:, 0, 0]
        for time in range(steps):
            law = law if time == 0 else (law @ belief.matrix(time - 1)) * weights[:, time]
            after = future[steps - 1 - time]
            spared = after.copy()
            spared[:, :-1] -= after[:, 1:]  # what one mistake less is worth
            gains = (law * spared).sum(axis=1)
            now, rows = gains.argmax(axis=1), np.arange(len(gains))
            improved = gains[rows, now] > gains[rows, guesses[:, time]] * (1.0 + 1e-12)
            guesses[improved, time] = now[improved]
            law = count_mistakes(law, guesses[:, time])
            total = np.maximum(law.sum(axis=(1, 2)), TINY)
            law, logs = law / total[:, None, None], logs + np.log(total)
        if not (logs > best + 1e-9).any():
            break
        best = logs
    return guesses, logs


def _allow_mistakes(future: FloatArray, guesses: IntArray) -> FloatArray:
    """Return a(e + 1[x ≠ g], x) of a(e, x), for each of B guesses of one state, (B, s + 1, M)."""
    rows, moved = np.arange(len(future)), np.zeros_like(future)
    moved[:, :-1] = future[:, 1:]
    moved[rows, :, guesses] = future[rows, :, guesses]
    return moved


@declare
class PriorMode(Guesser):
    """The trajectory of largest prior probability, whatever was released.

    Its success is what the prior alone gives away.

    Reference: Koga, Meehan and Chaudhuri (2024), section 3.2.2, the maximum a priori estimator.

    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain([0.6, 0.4], [[0.5, 0.5], [0.5, 0.5]], steps=1)
    >>> release = sf.mechanisms.sensor_counts(1).protect(chain, sf.secrets.trajectory())
    >>> sf.adversaries.prior_mode().infer(chain.belief(), release.channel, [1])
    (0,)
    """

    name = "prior_mode"

    def guesses(
        self, belief: Markov, channel: Released, observed: Outputs, mistakes: int | None
    ) -> IntArray:
        """Return the same trajectory for each output."""
        del channel, mistakes
        path, _ = viterbi(belief, np.zeros((belief.steps, belief.state_count)))
        return np.tile(path, (len(observed), 1))


@declare
class Constant(Guesser):
    """One and the same place at every step: a given one, or the best of all M.

    The best place has the largest chance to be right up to the allowed mistakes, computed from
    the prior. Where the mistakes are not known (in `infer`), it is the place with the largest
    expected number of matches.

    Reference: Koga, Meehan and Chaudhuri (2024), section 3.2.2, the lucky constant estimator.

    >>> import sfumato as sf
    >>> from sfumato.beliefs import Markov
    >>> from sfumato.channels import Symbols
    >>> belief = Markov([0.4, 0.6], [[0.5, 0.5], [1.0, 0.0]], steps=2)
    >>> blind = Symbols((0, 1), ("nothing",), [[[1.0], [1.0]]] * 2)
    >>> sf.adversaries.constant().infer(belief, blind, ["nothing"] * 2)
    (0, 0)
    """

    name = "constant"

    place: Hashable = parameter(
        OPTIONAL(Label("M")), default=None, doc="the place; the best one by default"
    )

    def guesses(
        self, belief: Markov, channel: Released, observed: Outputs, mistakes: int | None
    ) -> IntArray:
        """Return the same place everywhere, the best for these mistakes if they are known."""
        del channel
        if self.place is not None:
            if self.place not in belief.states:
                raise self.reject("place", f"among {list(belief.states)}", self.place)
            best = belief.index(self.place)
        elif mistakes is None:
            best = int(belief.marginals().sum(axis=0).argmax())
        else:
            best = int(staying_successes(belief, mistakes).argmax())
        return np.full((len(observed), belief.steps), best, dtype=np.intp)


def staying_successes(belief: Markov, mistakes: int) -> FloatArray:
    """Return Pr[X_t = l for all but at most `mistakes` times t], for every state l, (M,)."""
    places = np.arange(belief.state_count)
    law = np.zeros((len(places), mistakes + 1, len(places)))  # (guess, mistakes so far, state)
    law[:, 0] = belief.initial
    law = count_mistakes(law, places)
    for matrix in belief.transitions:
        law = count_mistakes(law @ matrix, places)
    return np.asarray(np.minimum(law.sum(axis=(1, 2)), 1.0))


@declare
class AttackSuccess(SuccessMeasure):
    """The share of trials in which an attacker's guess is right up to the allowed mistakes.

    Formula: traces are drawn from the prior and released through the channel, the attacker guesses,
    and right guesses are counted.
    An attacker who answers with a posterior of every state, (T, M), is taken to guess its mode.

    Assumptions: the attacker knows the chain and the channel.
    Guarantee: an estimate of this attacker's success, and so of a lower bound on the best
    attacker's. The interval is that of Clopper and Pearson; it misses with probability at most
    1e-6.
    Reference: Koga, Meehan and Chaudhuri (2024), section 3.2.1.

    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain.simulated(states=10, tau=0.1, steps=5)
    >>> secret = sf.secrets.trajectory(mistakes=2)
    >>> release = sf.mechanisms.sensor_counts([0, 7, 4, 1, 8]).protect(chain, secret)
    >>> attack = sf.measures.attack_success(adversary=sf.adversaries.map(), trials=1000, seed=0)
    >>> loss = attack.loss(chain, secret, release)
    >>> loss.bound, loss.interval[0] < loss.value < loss.interval[1], loss.ceiling
    ('estimate', True, inf)
    """

    name = "attack_success"
    reads = (*SuccessMeasure.reads, (Markov, Guess, RememberingSuppression))

    adversary: Adversary = parameter(PLUGIN("adversary"), doc="the attacker")
    trials: int = parameter(POSITIVE_WHOLE, default=1000, doc="how many traces are drawn")
    seed: int | None = parameter(
        SEED, default=None, doc="of traces and channel; if left out 0, or what a study draws"
    )

    def for_person(self, number: int) -> AttackSuccess:
        """Return the same attack with that person's own seed, so that errors are independent."""
        own = np.random.SeedSequence((self.seed or 0, number)).generate_state(1, np.uint64)
        return AttackSuccess(adversary=self.adversary, trials=self.trials, seed=int(own[0]))

    def evaluate(self, belief: Markov, question: Guess, channel: Released) -> Reading:
        """Attack, count, and estimate."""
        self.adversary.require(belief, channel)
        rng = np.random.default_rng(self.seed or 0)
        stride = max(1, _BATCH // (belief.steps * belief.state_count))
        successes = 0
        for begin in range(0, self.trials, stride):
            traces = belief.sample_encoded(rng, min(stride, self.trials - begin))
            outputs = channel.sample_many(traces, rng)
            guesses = self._guesses(belief, channel, outputs, question.mistakes)
            wrong = (guesses != traces).sum(axis=1)
            successes += int((wrong <= question.mistakes).sum())
        return Reading(
            value=successes / self.trials,
            bound="estimate",
            interval=binomial_interval(successes, self.trials, RISK),
            estimate_of="lower",
            how=f"{successes} of {self.trials} attacks by {self.adversary.name}",
        )

    def _guesses(self, belief: Markov, channel: Released, outputs: Any, mistakes: int) -> IntArray:
        """Return one guess for each output, as positions, (B, T): of a posterior, its mode."""
        if isinstance(self.adversary, Guesser):
            return self.adversary.infer_many(belief, channel, outputs, mistakes)
        shape, guesses = (belief.steps, belief.state_count), []
        first, number = _distinct(outputs)
        for place in first:
            answer = self.adversary.infer(belief, channel, outputs[place])
            law = isinstance(answer, np.ndarray) and answer.shape == shape
            guesses.append(answer.argmax(axis=1) if law else belief.encode(answer))
            if len(guesses[-1]) != belief.steps:
                raise Incompatible(
                    f"attack_success needs guesses of {belief.steps} states; "
                    f"{self.adversary.name} answers with {len(guesses[-1])}."
                )
        return np.stack(guesses)[number]


def binomial_interval(successes: int, trials: int, risk: float) -> tuple[float, float]:
    """Return the interval of Clopper and Pearson (1934), which misses with probability ≤ `risk`.

    The ends are the probabilities at which so many (so few) successes have chance risk / 2.
    """
    from scipy.special import betaincinv

    failures = trials - successes
    low = 0.0 if successes == 0 else float(betaincinv(successes, failures + 1, risk / 2.0))
    high = 1.0 if failures == 0 else float(betaincinv(successes + 1, failures, 1.0 - risk / 2.0))
    return low, high
