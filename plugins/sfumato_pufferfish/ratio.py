"""The measure `pufferfish`: the largest log-ratio of what is seen under two values."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from sfumato.errors import OutsideHypotheses
from sfumato.laws.brute_force import Table, every_trace, secret_tables, worst_of_tables
from sfumato.matrices.matrix import ROUNDOFF
from sfumato.parameters import declare
from sfumato.protocols import Quantity, Reading
from sfumato.quantities import renyi_divergence
from sfumato.questions import Nearness
from sfumato.values import FloatArray
from sfumato.views import PairMeasure
from sfumato_pufferfish.counts import NoisyCount

PIECES, MOST_OUTPUTS = 4, 5_000
"""Into so many pieces brute force cuts the space between whole numbers; outputs, at most."""


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
            quotients = np.where(p > 0.0, p / q, 1.0)
        return np.asarray(np.log(np.maximum(quotients.max(axis=-1), 1.0)))

    def rounding(self, value: float, error: float) -> float:
        """Return the error of the logarithm of a quotient."""
        return 4.0 * (error + ROUNDOFF * value)

    def brute_force(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Return it from every trace and output; of Laplace noise, from densities on a grid."""
        if isinstance(question, Nearness):
            raise OutsideHypotheses("brute force looks at states.")
        if isinstance(channel, NoisyCount) and channel.core is None:
            return Reading(value=_of_densities(belief, question, channel), bound="exact")
        return worst_of_tables(belief, question, channel, _largest)


def _largest(joint: FloatArray, asked: Any, prior: Any = None) -> float:
    """Return max log p/q of rows divided by their prior, which is what they sum to by default."""
    worst, totals = 0.0, [math.fsum(row) for row in joint] if prior is None else prior
    for one, other in asked.pairs.tolist():
        if min(totals[one], totals[other]) > 0.0:
            for p, q in zip(joint[one] / totals[one], joint[other] / totals[other], strict=True):
                if p > 0.0:
                    worst = max(worst, math.log(p / q) if q > 0.0 else math.inf)
    return worst


def _of_densities(belief: Any, question: Any, channel: NoisyCount) -> float:
    """Return the largest log-ratio of densities, over real outputs within and beyond the range."""
    traces, prior = every_trace(belief)
    places = np.arange(-PIECES, PIECES * (channel.most + 1) + 1) / PIECES
    outputs = list(itertools.product(places, repeat=channel.weights.shape[1]))
    if len(outputs) > MOST_OUTPUTS:
        raise OutsideHypotheses("there are too many outputs for brute force.")
    away = np.abs(channel.weights[traces].sum(axis=1)[:, None] - np.array(outputs)).sum(axis=2)
    # Only ratios count: at every output the nearest trace has the density one.
    joint = prior[:, None] * np.exp((away.min(axis=0) - away) / channel.scale)
    tables = secret_tables(Table(traces, outputs, joint), question)
    sizes = secret_tables(Table(traces, [()], prior[:, None]), question)
    return max(
        _largest(rows, asked, size[:, 0])
        for (asked, rows), (_, size) in zip(tables, sizes, strict=True)
    )
