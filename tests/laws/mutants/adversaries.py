"""Adversaries who do not infer what they promise."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from mutants.mutant import Mutant
from sfumato.beliefs import Gaussian, Markov
from sfumato.channels import AdditiveGaussian, Emission
from sfumato.parameters import declare
from sfumato.protocols import Adversary


@declare
class CoinTosser(Adversary):
    """A law of the states that is another each time."""

    name = "mutant_coin_tosser"
    reads = ((Markov, Emission),)

    def infer(self, belief: Any, channel: Any, observed: Any) -> Any:
        """Return laws drawn at random."""
        del channel, observed
        return np.random.default_rng().dirichlet(np.ones(belief.state_count), belief.steps)


def filtered(belief: Markov, channel: Emission, output: Any) -> NDArray[np.float64] | None:
    """Return Pr[X_t | o_1, ..., o_t] for every t, or None for an impossible output."""
    likelihood = np.exp(channel.evidence(output))
    rows = []
    state = belief.initial
    for time in range(belief.steps):
        if time:
            state = state @ belief.matrix(time - 1)
        state = state * likelihood[time]
        if state.sum() <= 0:
            return None
        state = state / state.sum()
        rows.append(state)
    return np.array(rows)


@declare
class Filtering(Adversary):
    """Promises the posterior given the whole output; conditions on its beginning only."""

    name = "mutant_filtering"
    reads = ((Markov, Emission),)
    promises = ("posterior",)

    def infer(self, belief: Any, channel: Any, observed: Any) -> Any:
        """Return the filtered laws."""
        return filtered(belief, channel, observed)


def smoothed(
    belief: Markov, moves: Any, evidence: NDArray[np.float64], least: float = 0.0
) -> NDArray[np.float64] | None:
    """Return the posterior by a recursion that is never scaled; None where nothing is left."""
    ahead, behind = [belief.initial * evidence[0]], [np.ones(belief.state_count)]
    for move, row in zip(moves, evidence[1:], strict=True):
        ahead.append((ahead[-1] @ move) * row)
    for move, row in zip(reversed(moves), reversed(evidence[1:]), strict=True):
        behind.append(move @ (row * behind[-1]))
    found = np.array(ahead) * np.array(behind[::-1])
    found[found < least] = 0.0
    sums = found.sum(axis=1, keepdims=True)
    return found / sums if sums.all() else None


@declare
class NeverScaled(Adversary):
    """Forward and backward in single precision: nothing is left of long outputs."""

    name = "mutant_never_scaled"
    reads = ((Markov, Emission),)
    promises = ("posterior",)

    def infer(self, belief: Any, channel: Any, observed: Any) -> Any:
        """Return even laws where all is lost."""
        moves = [belief.matrix(time) for time in range(belief.steps - 1)]
        found = smoothed(belief, moves, np.exp(channel.evidence(observed)), 1e-38)
        even = np.full((belief.steps, belief.state_count), 1.0 / belief.state_count)
        return even if found is None else found


@declare
class FirstMatrix(Adversary):
    """Forward and backward by the first matrix."""

    name = "mutant_first_matrix"
    reads = ((Markov, Emission),)
    promises = ("posterior",)

    def infer(self, belief: Any, channel: Any, observed: Any) -> Any:
        """Forget the later matrices, unless the output is then impossible."""
        evidence = np.exp(channel.evidence(observed))
        moves = [belief.matrix(time) for time in range(belief.steps - 1)]
        found = smoothed(belief, moves[:1] * len(moves), evidence)
        return smoothed(belief, moves, evidence) if found is None else found


@attrs.frozen
class _Posterior:
    mean: Any
    covariance: Any


@declare
class TimidPosterior(Adversary):
    """Promises the posterior; its mean is half-way between the prior's and the truth."""

    name = "mutant_timid_posterior"
    reads = ((Gaussian, AdditiveGaussian),)
    promises = ("posterior",)

    def infer(self, belief: Any, channel: Any, observed: Any) -> _Posterior:
        """Return half of the step."""
        sigma = belief.covariance.dense()
        gains = sigma @ np.linalg.pinv(sigma + channel.covariance())
        centre = np.zeros(belief.entries) if belief.mean is None else belief.mean
        step = gains @ (np.asarray(observed, dtype=float).reshape(-1) - centre)
        return _Posterior((centre + step / 2).reshape(belief.shape), sigma - gains @ sigma)


@declare
class AboutZero(Adversary):
    """Takes every trace to be about zero."""

    name = "mutant_about_zero"
    reads = ((Gaussian, AdditiveGaussian),)
    promises = ("posterior",)

    def infer(self, belief: Any, channel: Any, observed: Any) -> _Posterior:
        """Forget the mean."""
        sigma = belief.covariance.dense()
        gains = sigma @ np.linalg.pinv(sigma + channel.covariance())
        step = gains @ np.asarray(observed, dtype=float).reshape(-1)
        return _Posterior(step.reshape(belief.shape), sigma - gains @ sigma)


@declare
class UnnormalisedPosterior(Adversary):
    """Prior times likelihood, never divided by its sum."""

    name = "mutant_unnormalised_posterior"
    reads = ((Markov, Emission),)

    def infer(self, belief: Any, channel: Any, observed: Any) -> Any:
        """Return what is only proportional to a posterior."""
        return belief.marginals() * np.exp(channel.evidence(observed))


@declare
class PlainProducts(Adversary):
    """The most probable trace by products in single precision: all alike on long traces."""

    name = "mutant_plain_products"
    reads = ((Markov, Emission),)
    promises = ("most probable trace",)

    def infer(self, belief: Any, channel: Any, observed: Any) -> Any:
        """Multiply, and never take a logarithm."""
        evidence = np.exp(channel.evidence(observed))
        score, back = belief.initial * evidence[0], []
        for time in range(belief.steps - 1):
            table = score[:, None] * belief.matrix(time)
            back.append(table.argmax(axis=0))
            score = np.where((found := table.max(axis=0) * evidence[time + 1]) < 1e-38, 0.0, found)
        path = [int(score.argmax())]
        for step in reversed(back):
            path.append(int(step[path[-1]]))
        return tuple(belief.states[place] for place in reversed(path))


MUTANTS = (
    Mutant("oracle.adversary", PlainProducts, "products of many chances vanish", "sizes"),
    Mutant("contract.inference", CoinTosser, "what is inferred depends on what is seen alone"),
    Mutant("oracle.adversary", Filtering, "a posterior conditions on the whole output"),
    Mutant("oracle.adversary", TimidPosterior, "a posterior mean moves the whole way"),
    Mutant("oracle.adversary", NeverScaled, "products of many chances vanish", "sizes"),
    Mutant("oracle.adversary", FirstMatrix, "every step has a matrix of its own", "world"),
    Mutant("oracle.adversary", AboutZero, "a trace has a mean", "world"),
    Mutant("oracle.guess", UnnormalisedPosterior, "a posterior sums to one"),
)
