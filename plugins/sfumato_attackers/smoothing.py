"""The smoothing attacker: each state is guessed from all that was released, before and after."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sfumato.beliefs import Markov
from sfumato.channels import Emission
from sfumato.inference.markov.smoothing import forward_backward
from sfumato.laws.brute_force import from_table
from sfumato.parameters import POSITIVE_WHOLE, SEED, declare, parameter
from sfumato.protocols import LossMeasure, Quantity, Reading

DOUBT = 1e-9
"""How often the interval may miss the truth."""

BATCH = 4_000_000
"""Numbers of one batch of traces, at most."""


@declare
class SmoothingSuccess(LossMeasure):
    """The share of a trace's states that the best attacker guesses right, on average.

    Claim: nobody gets a larger share of the states right on average than the attacker who guesses,
    at every time, the likeliest state given the whole release. A promise of ε at each step bounds
    the success by $e^ε/(1 + e^ε)$ for one of two equally likely states that knows nothing of the
    others; this is what is left of it where states depend on each other.

    Formula: $E[(1/T) ∑_t max_x Pr[X_t = x | Z]]$, by the forward and backward recursions.

    Assumptions: the adversary knows the prior and the channel.

    Guarantee: an estimate of the value from simulated traces, each with the exact posterior; the
    interval (empirical Bernstein) misses it with a chance of 1e-9.

    Reference: Lange et al. (2025), attacks on correlated records; Maurer and Pontil (2009),
    theorem 4, for the interval.

    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain([0.5, 0.5], [[0.98, 0.02], [0.02, 0.98]], steps=100)
    >>> secret = sf.secrets.trajectory()
    >>> release = sf.mechanisms.randomised_response(epsilon=0.5).protect(chain, secret)
    >>> loss = sf.measures.smoothing_success(traces=2000).loss(chain, secret, release)
    >>> loss.interval[0] < 0.838 < loss.interval[1]
    True
    """

    name = "smoothing_success"
    reads = ((Markov, object, Emission),)

    traces: int = parameter(POSITIVE_WHOLE, default=1000, doc="how many traces are simulated")
    seed: int = parameter(SEED, default=0, doc="of the traces and outputs")

    @property
    def quantity(self) -> Quantity:
        """The expected share."""
        return Quantity("share of states guessed right", unit="probability")

    def evaluate(self, belief: Markov, question: Any, channel: Emission) -> Reading:
        """Return the average over simulated traces."""
        del question
        rng = np.random.default_rng(self.seed)
        shares: list[float] = []
        batch = max(1, BATCH // (belief.steps * belief.state_count))
        while len(shares) < self.traces:
            paths = belief.sample_encoded(rng, min(batch, self.traces - len(shares)))
            outputs = channel.sample_many(paths, rng)
            smoothed = forward_backward(belief, channel.evidence_batch(list(outputs)))
            shares += smoothed.marginals.max(axis=-1).mean(axis=-1).tolist()
        return _estimate(np.array(shares))

    def brute_force(self, belief: Markov, question: Any, channel: Emission) -> Reading:
        """Return it from every trace and output."""
        del question

        def share(table: Any) -> float:
            right = 0.0
            for time in range(belief.steps):
                places = table.traces[:, time]
                by_state = [
                    table.joint[places == state].sum(axis=0) for state in range(belief.state_count)
                ]
                right += math.fsum(np.max(by_state, axis=0).tolist())
            return right / belief.steps

        return from_table(share, belief, channel)


def _estimate(shares: Any) -> Reading:
    """Return the mean with mean ± √(2 V log(4/d)/n) + 7 log(4/d)/(3(n − 1)), V the variance."""
    count, mean = len(shares), float(shares.mean())
    half = 1.0
    if count > 1:
        room = math.log(4.0 / DOUBT)
        half = math.sqrt(2.0 * float(shares.var(ddof=1)) * room / count)
        half += 7.0 * room / (3.0 * (count - 1))
    return Reading(
        value=mean,
        bound="estimate",
        interval=(max(mean - half, 0.0), min(mean + half, 1.0)),
        how=f"{count} simulated traces",
    )
