"""Differential privacy from its definition: every two traces, every event of outputs."""

from __future__ import annotations

import itertools
import math

import numpy as np

from sfumato.beliefs import Markov
from sfumato.channels import NoisyVectors, Symbols
from sfumato.laws.oracles.markov_tables import MOST
from sfumato.laws.violation import NotHere
from sfumato.probabilities import FloatArray

LARGEST = 700.0
"""Above this, e^ε leaves float64."""


def differential_privacy(belief: Markov, channel: NoisyVectors | Symbols, delta: float) -> float:
    """Return the smallest ε with Pr[O ∈ E | x] ≤ e^ε Pr[O ∈ E | x'] + δ for all x, x' and E."""
    traces = np.array(list(itertools.product(range(belief.state_count), repeat=belief.steps)))
    if len(traces) > 300:
        raise NotHere("too many pairs of traces for the oracle")
    if isinstance(channel, NoisyVectors):
        return _shifted_normals(_farthest(channel, traces) / channel.scale, delta)
    return _tables(_laws(channel, traces), delta)


def _farthest(channel: NoisyVectors, traces: FloatArray) -> float:
    """Return the largest distance of what two traces are released as, before noise."""
    centres = channel.means[np.arange(channel.steps), traces].reshape(len(traces), -1)
    return float(
        max(np.linalg.norm(one - other) for one, other in itertools.combinations(centres, 2))
        if len(centres) > 1
        else 0.0
    )


def _shifted_normals(shift: float, delta: float) -> float:
    """Return ε for N(0, 1) and N(μ, 1): the worst event is z > ε/μ + μ/2, the likelier side.

    Its two chances are taken with fifty digits: their difference cancels in float64.
    """
    if shift == 0:
        return 0.0
    try:
        import mpmath
    except ImportError:
        raise NotHere("the oracle needs mpmath, of the extra sfumato[laws]") from None
    with mpmath.workdps(50):
        mu, target = mpmath.mpf(shift), mpmath.mpf(delta)

        def excess(epsilon: mpmath.mpf) -> mpmath.mpf:
            cut = epsilon / mu + mu / 2
            near, far = (mpmath.erfc(z / mpmath.sqrt(2)) / 2 for z in (cut - mu, cut))
            return near - mpmath.exp(epsilon) * far - target

        if excess(mpmath.mpf(0)) <= 0:
            return 0.0
        low, high = mpmath.mpf(0), mu * mu / 2 + 60 * mu
        for _ in range(90):
            middle = (low + high) / 2
            low, high = (middle, high) if excess(middle) > 0 else (low, middle)
        return float(high)


def _laws(channel: Symbols, traces: FloatArray) -> FloatArray:
    """Return Pr[o | x] for every trace (rows) and output (columns)."""
    outputs = list(itertools.product(*channel.outputs()))
    if len(outputs) > MOST // 20:
        raise NotHere("too many outputs for the oracle")
    likelihoods = np.exp(channel.evidence_batch(outputs))
    factors = [likelihoods[:, time, traces[:, time]].T for time in range(channel.steps)]
    return np.asarray(np.prod(factors, axis=0))


def _tables(laws: FloatArray, delta: float) -> float:
    """Return the smallest ε with Σ_o max(P(o) − e^ε Q(o), 0) ≤ δ for every two rows."""

    def excess(epsilon: float) -> float:
        reduced = math.exp(epsilon) * laws
        return max(float(np.maximum(row - reduced, 0.0).sum(axis=1).max()) for row in laws) - delta

    if excess(0.0) <= 0:
        return 0.0
    if excess(LARGEST) > 0:
        return math.inf
    low, high = 0.0, LARGEST
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return high
