"""How often an attacker succeeds, by trying."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Markov
from sfumato.channels import Emission
from sfumato.comparison.populations import OfPopulation
from sfumato.compatibility import why_not
from sfumato.errors import Incompatible
from sfumato.parameters import PLUGIN, POSITIVE_WHOLE, SEED, declare, parameter
from sfumato.protocols import Adversary, LossMeasure, Quantity, Reading
from sfumato.quantities import RECONSTRUCTION
from sfumato.questions import Guess
from sfumato_fano.attackers import Guesser, distinct


def binomial_interval(successes: int, trials: int, risk: float) -> tuple[float, float]:
    """Return the interval of Clopper and Pearson (1934), which misses with probability ≤ `risk`.

    The ends are the probabilities at which so many (so few) successes have chance risk / 2.

    Examples
    --------
    >>> low, high = binomial_interval(0, 100, 0.05)
    >>> low, round(high, 4)
    (0.0, 0.0362)
    """
    from scipy.special import betaincinv

    failures = trials - successes
    low = 0.0 if successes == 0 else float(betaincinv(successes, failures + 1, risk / 2.0))
    high = 1.0 if failures == 0 else float(betaincinv(successes + 1, failures, 1.0 - risk / 2.0))
    return low, high


RISK = 1e-6
"""How likely the interval misses the attacker's success: few enough for many comparisons."""

_BATCH = 4_000_000
"""How many log-likelihoods are held at once."""


@declare
class AttackSuccess(OfPopulation, LossMeasure):
    """The share of trials in which an attacker's guess is right up to the allowed mistakes.

    Traces are drawn from the prior and released through the channel; the attacker guesses.
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
    reads = ((Markov, Guess, Emission),)

    adversary: Adversary = parameter(PLUGIN("adversary"), doc="the attacker")
    trials: int = parameter(POSITIVE_WHOLE, default=1000, doc="how many traces are drawn")
    seed: int | None = parameter(
        SEED, default=None, doc="of traces and channel; if left out 0, or what a study draws"
    )

    @property
    def quantity(self) -> Quantity:
        """The reconstruction success."""
        return RECONSTRUCTION

    def for_person(self, number: int) -> AttackSuccess:
        """Return the same attack with that person's own seed, so that errors are independent."""
        own = np.random.SeedSequence((self.seed or 0, number)).generate_state(1, np.uint64)
        return AttackSuccess(adversary=self.adversary, trials=self.trials, seed=int(own[0]))

    def evaluate(self, belief: Markov, question: Guess, channel: Emission) -> Reading:
        """Attack, count, and estimate."""
        slots = ((type(belief), "the prior"), (type(channel), "the mechanism"))
        problem = why_not(self.adversary, slots, self.adversary.reads)
        if problem:
            raise Incompatible(problem)
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

    def _guesses(
        self, belief: Markov, channel: Emission, outputs: Sequence[Any], mistakes: int
    ) -> NDArray[np.intp]:
        """Return one guess for each output, as positions, (B, T)."""
        if isinstance(self.adversary, Guesser):
            return self.adversary.infer_many(belief, channel, outputs, mistakes)
        first, number = distinct(outputs)
        answers = [self.adversary.infer(belief, channel, outputs[place]) for place in first]
        return np.stack([self._positions(belief, answer) for answer in answers])[number]

    def _positions(self, belief: Markov, answer: Any) -> NDArray[np.intp]:
        """Read a guess, or the mode of a posterior."""
        if isinstance(answer, np.ndarray) and answer.shape == (belief.steps, belief.state_count):
            return np.asarray(answer.argmax(axis=1), dtype=np.intp)
        path = belief.encode(answer)
        if len(path) != belief.steps:
            raise Incompatible(
                f"attack_success reads guesses of {belief.steps} states; "
                f"{self.adversary.name} answers with {len(path)}."
            )
        return path
