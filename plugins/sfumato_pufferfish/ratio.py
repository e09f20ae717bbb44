"""The measure `pufferfish`: the largest log-ratio of what is seen under two values."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from sfumato.errors import OutsideHypotheses
from sfumato.laws.brute_force import every_trace, worst_of_tables
from sfumato.parameters import declare
from sfumato.protocols import Quantity, Reading
from sfumato.quantities import renyi_divergence
from sfumato.questions import Nearness
from sfumato.values import FloatArray
from sfumato.views import PairMeasure
from sfumato_pufferfish.counts import NoisyCount

PIECES = 4
"""Into so many pieces brute force cuts the space between whole numbers."""


@declare
class Pufferfish(PairMeasure):
    """The ε of Pufferfish privacy: how many times likelier, as a logarithm, an output can be.

    Claim: no output, and no set of them, is more than $e^ε$ times as likely under one value of the
    secret as under another of a pair, for any prior in the class.

    Formula: $log max_o p(o)/q(o)$ of the worst pair: the Rényi divergence of infinite order. Of a
    count with Laplace noise the maximum is at a whole number, where it is found.

    Assumptions: the adversary knows the prior and the channel.

    Guarantee: exact, or an upper bound where the view is one.

    Reference: Kifer and Machanavajjhala (2014), definition 3.4.

    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain("stationary", [[0.9, 0.1], [0.1, 0.9]], steps=100)
    >>> secret = sf.secrets.basic(50)
    >>> mechanism = sf.mechanisms.laplace_count(states=[1], scale=31.73779)
    >>> loss = sf.measures.pufferfish().loss(chain, secret, mechanism.protect(chain, secret))
    >>> round(loss.value, 6), loss.bound
    (0.28264, 'exact')
    """

    name = "pufferfish"
    promises = ("nothing from silence", "grows with the secret")
    is_additive = True  # over independent pieces, as every Rényi divergence is

    @property
    def quantity(self) -> Quantity:
        """The Rényi divergence of infinite order."""
        return renyi_divergence(math.inf)

    def of_laws(self, p: FloatArray, q: FloatArray) -> FloatArray:
        """Return log max p/q; infinite where something is seen under one value only."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where(p > 0.0, np.log(p) - np.log(q), -np.inf)
        return np.asarray(np.maximum(ratios.max(axis=-1), 0.0))

    def rounding(self, value: float, error: float) -> float:
        """Return the error of the logarithm of a quotient."""
        del value
        return 4.0 * error

    def brute_force(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Return it from every trace and output; of Laplace noise, from densities on a grid."""
        if isinstance(question, Nearness):
            raise OutsideHypotheses("brute force looks at states.")
        if isinstance(channel, NoisyCount) and channel.core is None:
            return Reading(value=_of_densities(belief, question, channel), bound="exact")
        return worst_of_tables(belief, question, channel, _largest)


def _largest(joint: FloatArray, asked: Any) -> float:
    worst = 0.0
    for one, other in asked.pairs.tolist():
        totals = math.fsum(joint[one]), math.fsum(joint[other])
        if min(totals) > 0.0:
            for p, q in zip(joint[one] / totals[0], joint[other] / totals[1], strict=True):
                if p > 0.0:
                    worst = max(worst, math.log(p / q) if q > 0.0 else math.inf)
    return worst


def _of_densities(belief: Any, question: Any, channel: NoisyCount) -> float:
    """Return the largest log-ratio of densities, over real outputs within and beyond the range."""
    traces, prior = every_trace(belief)
    counts = [
        [sum(column) for column in zip(*(channel.weights[s] for s in t), strict=True)]
        for t in traces.tolist()
    ]
    places = np.arange(-PIECES, PIECES * (channel.most + 1) + 1) / PIECES
    if len(places) ** len(counts[0]) > 5_000:
        raise OutsideHypotheses("there are too many outputs for brute force.")
    worst = 0.0
    for asked in question.asked():
        width = round(asked.members.shape[1] ** (1 / len(asked.times)))
        states = [sum(t[u] * width**k for k, u in enumerate(reversed(asked.times))) for t in traces]
        for output in itertools.product(places, repeat=len(counts[0])):
            away = np.abs(np.array(counts) - output).sum(axis=1) / channel.scale
            masses = prior * np.exp(away.min() - away)
            rows = [
                (masses[member[states]].sum(), prior[member[states]].sum())
                for member in asked.members
            ]
            for one, other in asked.pairs.tolist():
                if rows[one][1] > 0 and rows[other][1] > 0:
                    top, bottom = (row[0] / row[1] for row in (rows[one], rows[other]))
                    worst = max(worst, math.log(top / bottom) if bottom > 0 else math.inf)
    return worst
