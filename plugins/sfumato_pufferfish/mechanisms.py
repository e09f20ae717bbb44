"""Mechanisms that release a count of a whole trace, with just enough noise or with more."""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Hashable
from typing import Any, ClassVar

import attrs
import numpy as np

from sfumato.beliefs import Markov
from sfumato.errors import OutsideHypotheses, Undecidable
from sfumato.parameters import (
    CHOICE,
    LABEL_SET,
    OPTIONAL,
    POSITIVE,
    POSITIVE_WHOLE,
    ExactlyOne,
    declare,
    parameter,
)
from sfumato.protocols import Mechanism, Prior, PriorClass, Release, Secret
from sfumato.quantities import NOISE_VARIANCE
from sfumato.questions import Events, JointStates
from sfumato.values import FloatArray
from sfumato.views import Outcomes
from sfumato_pufferfish.counts import (
    CountLaws,
    IntArray,
    NoisyCount,
    count_query,
    histogram,
    possible_counts,
    sensitivity,
    worst_ratio,
)
from sfumato_pufferfish.noise_program import best_noise
from sfumato_pufferfish.quilts import quilt_scale

LEAST = 1.0 / 64.0
"""Less noise than this hides nothing of a whole number, and none is taken."""

ROOM = 1.0 - 1e-6
"""The share of ε that the noise a program begins with takes: the solver needs some."""

Laws = list[tuple[FloatArray, IntArray]]
"""Of every secret variable, the law of the count under each value, and the pairs of values."""


class CountMechanism(Mechanism):
    """What the mechanisms share: what is counted, and a channel that adds noise to it."""

    asks: ClassVar[tuple[tuple[type, type], ...]] = ((Markov, Events), (Markov, JointStates))
    yields = NoisyCount
    promises = (("epsilon", "pufferfish"),)

    states: Any

    @abstractmethod
    def noise_for(self, belief: Markov, question: Any, weights: IntArray) -> float:
        """Return the scale that suffices for one member of the class."""

    def weights(self, belief: Markov) -> IntArray:
        """Return what each state adds to each count, (M, k)."""
        if self.states == "histogram":
            return histogram(belief)
        unknown = [state for state in self.states if state not in belief.states]
        if unknown:
            raise self.reject("states", f"among {list(belief.states)}", unknown[0])
        return count_query(belief, self.states)

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Add Laplace noise that suffices for every member."""
        if not prior.finite and getattr(self, "scale", None) is None:
            raise OutsideHypotheses(
                "noise is calibrated to the members of a class: give them by AnyOf."
            )
        belief: Markov = next(prior.members()).belief()
        weights, more = self.weights(belief), set[float]()

        def needed(member: Prior) -> float:
            own = member.belief()
            try:
                return self.noise_for(own, secret.question(own), weights)
            except NotTheLeast as enough:
                more.add(enough.args[0])
                return float(enough.args[0])

        scale = prior.supremum(needed).value
        if scale in more:
            raise Undecidable(
                f"float64 cannot tell the least noise: outputs are too unlikely. The scale "
                f"{math.nextafter(scale * (1 + 1e-6), math.inf):.6g} suffices; give it."
            )
        return self._release(prior, secret, NoisyCount(belief.states, belief.steps, weights, scale))

    def _release(self, prior: PriorClass, secret: Secret, channel: NoisyCount) -> Release:
        claims = {"scale": channel.scale}
        return Release(self, prior, secret, channel, channel.variance, NOISE_VARIANCE, claims)


class NotTheLeast(Undecidable):
    """A scale, the first argument, suffices; whether less noise would, float64 cannot tell."""


def count_laws(belief: Markov, question: Any, weights: IntArray) -> tuple[Laws, float, float]:
    """Return the law of the count under each value of the secret.

    With it come a proved relative error and the least chance of a value.
    """
    laws, within = CountLaws(belief, weights), possible_counts(belief, weights)
    found: Laws = []
    rarest = 1.0
    for asked in question.asked():
        joint = laws.joint(asked)[:, *[within] * laws.dimensions]
        outcomes = Outcomes.of(asked, joint.reshape(len(joint), -1), laws.error)
        if len(outcomes.pairs):
            shape = (-1, *joint.shape[1:])
            found.append((outcomes.likelihoods.reshape(shape), outcomes.pairs))
            rarest = min(rarest, float(outcomes.prior.min()))
    return found, laws.error, rarest


def exact_scale(belief: Markov, question: Any, weights: IntArray, epsilon: float) -> float:
    """Return the smallest b for which no output makes a pair's ratio exceed e^ε.

    The worst output is at a whole number, and the worst ratio falls with b, as more Laplace noise
    is a post-processing: b is found by bisection, and given from above.
    """
    laws, error, rarest = count_laws(belief, question, weights)
    allowed = epsilon - 8.0 * error
    unknown = 0.0  # the largest scale of which float64 could not tell

    def suffices(scale: float) -> bool:
        nonlocal unknown
        try:
            return worst_ratio(laws, scale, rarest) <= allowed
        except Undecidable:  # so little noise that outputs vanish
            unknown = max(unknown, scale)
            return False

    low, high = LEAST, max(belief.steps * sensitivity(weights) / allowed * (1 + 1e-9), 2 * LEAST)
    if allowed <= 0.0 or not suffices(high):
        raise Undecidable(f"float64 cannot tell how much noise gives epsilon = {epsilon:.3g}.")
    if not laws or suffices(low):
        return low
    while high > low * (1.0 + 1e-10):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if suffices(middle) else (middle, high)
    if low <= unknown:
        raise NotTheLeast(high)
    return high


def transport_distance(laws: Laws, error: float) -> int:
    """Return the largest W_∞ of two laws of a count: the largest difference of their quantiles.

    Quantiles up to a half are found from below, the others from above, where nothing is lost; pairs
    count in both orders, and what float64 cannot tell apart is equal.
    """
    farthest, room = 0, 1.0 + 8.0 * error
    for law, pairs in laws:
        for side in (law, law[:, ::-1]):
            within = np.cumsum(side, axis=1)
            for one, other in itertools.chain(pairs, pairs[:, ::-1]):
                places = np.searchsorted(within[other] * room, np.minimum(within[one], 0.5))
                farthest = max(farthest, int((places - np.arange(len(places))).max()))
    return farthest


STATES = LABEL_SET("M") | CHOICE("histogram")
COUNTED = "whose visits are counted; 'histogram': the visits of each state, apart"


@declare
class LaplaceCount(CountMechanism):
    """A count with Laplace noise: of a given scale, or the least that gives ε.

    With `epsilon` the scale is the smallest for which every two values of the secret are at most ε
    apart (order ∞), whatever is released: calibrated to this count and this chain, or to the worst
    chain of a class, and not to any query.

    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain("stationary", [[0.8, 0.2], [0.3, 0.7]], steps=100)
    >>> mechanism = sf.mechanisms.laplace_count(states=[1], epsilon=1.0)
    >>> release = mechanism.protect(chain, sf.secrets.every_point())
    >>> round(release.channel.scale, 6)
    3.023907
    """

    name = "laplace_count"
    rules = (ExactlyOne(("scale", "epsilon")),)
    strength = ("scale", "more")

    states: tuple[Hashable, ...] | str = parameter(STATES, doc=COUNTED)
    scale: float | None = parameter(OPTIONAL(POSITIVE), default=None, doc="b of the noise")
    epsilon: float | None = parameter(
        OPTIONAL(POSITIVE), default=None, doc="the largest log-ratio that is allowed"
    )

    def noise_for(self, belief: Markov, question: Any, weights: IntArray) -> float:
        """Return the scale that is given, or found."""
        if self.scale is not None:
            return self.scale
        return exact_scale(belief, question, weights, float(self.epsilon or 0.0))


@declare
class MarkovQuilt(CountMechanism):
    """A count with Laplace noise by the Markov quilt mechanism, which needs no more of the query.

    The scale is the sensitivity of the counts times the largest score; what is beyond a quilt says
    little of the secret state. It holds for any query of that sensitivity, and ε adds up linearly
    over releases with the same quilts. The form "approximate" takes only the spectral gap. Of a
    stationary chain no time needs more than one in the middle, so a million steps take no longer.

    Reference: Song, Wang and Chaudhuri (2017), algorithms 3 and 4; nodes at the ends of the chain
    are looked at too.

    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain("stationary", [[0.8, 0.2], [0.3, 0.7]], steps=100)
    >>> mechanism = sf.mechanisms.markov_quilt(states=[1], epsilon=1.0)
    >>> release = mechanism.protect(chain, sf.secrets.every_point())
    >>> round(release.channel.scale, 5)
    10.12001
    """

    name = "markov_quilt"
    asks = ((Markov, Events),)

    states: tuple[Hashable, ...] | str = parameter(STATES, doc=COUNTED)
    epsilon: float = parameter(POSITIVE, doc="the largest log-ratio that is allowed")
    form: str = parameter(
        CHOICE("exact", "approximate"), default="exact", doc="of the influences of the quilts"
    )

    def noise_for(self, belief: Markov, question: Any, weights: IntArray) -> float:
        """Return the sensitivity times the largest score over the secret's times."""
        if question.has_windows:
            raise OutsideHypotheses("a quilt is of one node; ask about single times.")
        times = np.flatnonzero(np.bincount(question.times)).tolist()
        score = quilt_scale(belief, self.epsilon, times, self.form)
        return max(math.nextafter(score * sensitivity(weights), math.inf), LEAST)


@declare
class WassersteinLaplace(CountMechanism):
    """A count with Laplace noise by the Wasserstein mechanism: $b = W_∞/ε$.

    $W_∞$ is the largest ∞-Wasserstein distance of the laws of the count under a pair of values:
    a coupling moves no count farther, and Laplace noise hides that. It is never below the scale of
    `laplace_count`, which is exact.

    Reference: Song, Wang and Chaudhuri (2017), algorithm 1.

    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain("stationary", [[0.8, 0.2], [0.3, 0.7]], steps=20)
    >>> mechanism = sf.mechanisms.wasserstein_laplace(states=[1], epsilon=1.0)
    >>> release = mechanism.protect(chain, sf.secrets.every_point())
    >>> release.channel.scale >= 3.02
    True
    """

    name = "wasserstein_laplace"

    states: tuple[Hashable, ...] = parameter(LABEL_SET("M"), doc="whose visits are counted")
    epsilon: float = parameter(POSITIVE, doc="the largest log-ratio that is allowed")

    def noise_for(self, belief: Markov, question: Any, weights: IntArray) -> float:
        """Return W_∞/ε; where equal quantiles were taken for equal, the exact loss confirms it."""
        laws, error, rarest = count_laws(belief, question, weights)
        distance = transport_distance(laws, error)
        while True:
            scale = max(math.nextafter(distance / self.epsilon, math.inf), LEAST)
            if worst_ratio(laws, scale, rarest) <= self.epsilon * (1 + 1e-9):
                return scale
            distance += 1


@declare
class OptimalCountNoise(CountMechanism):
    """A count with whole-number noise of the least variance that gives ε, by a linear program.

    Of noise n on whole numbers the constraints $∑_k n(z − k)(ℓ_s(k) − e^ε ℓ_{s'}(k)) ≤ 0$ are
    linear.
    Within `reach` its chances are free; beyond, it falls as the geometric noise does that takes the
    scale of `laplace_count`, with which the program begins and which it can only improve on.

    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain("stationary", [[0.8, 0.2], [0.3, 0.7]], steps=12)
    >>> mechanism = sf.mechanisms.optimal_count_noise(states=[1], epsilon=1.0, reach=8)
    >>> release = mechanism.protect(chain, sf.secrets.every_point())
    >>> release.utility() < 2 * 2.96**2
    True
    """

    name = "optimal_count_noise"

    states: tuple[Hashable, ...] = parameter(LABEL_SET("M"), doc="whose visits are counted")
    epsilon: float = parameter(POSITIVE, doc="the largest log-ratio that is allowed")
    reach: int = parameter(POSITIVE_WHOLE, default=12, doc="N: chances of −N ... N are free")

    def noise_for(self, belief: Markov, question: Any, weights: IntArray) -> float:
        """Return the scale of geometric noise, which suffices as Laplace noise does."""
        try:
            return exact_scale(belief, question, weights, self.epsilon * ROOM)
        except NotTheLeast as enough:
            return float(enough.args[0])

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Solve the program for all members together, from the scale of the worst one."""
        channel = super().design(prior, secret).channel
        beliefs = [member.belief() for member in prior.members()]
        each = [count_laws(one, secret.question(one), channel.weights) for one in beliefs]
        allowed = self.epsilon - 8.0 * max(error for _, error, _ in each)
        laws = [law for own, *_ in each for law in own]
        core = best_noise(laws, allowed, channel.scale, self.reach)
        return self._release(prior, secret, attrs.evolve(channel, core=core))
