"""Differential privacy from its definition: every two traces and the worst set of outputs."""

from __future__ import annotations

import itertools
import math

import flint
import numpy as np

from sfumato.beliefs import Markov
from sfumato.channels import Emission, NoisyVectors
from sfumato.errors import OutsideHypotheses
from sfumato.laws.brute_force import crossing, every_output, every_trace, likelihoods
from sfumato.protocols import Reading
from sfumato.values import FloatArray

MOST_TRACES, MOST_OUTPUTS = 300, 1_000
LARGEST = 700.0
"""Above this, e^ε leaves float64."""


def differential_privacy(belief: Markov, channel: Emission, delta: float) -> Reading:
    """Return the smallest ε with Pr[O ∈ E | x] ≤ e^ε Pr[O ∈ E | x'] + δ for all x, x' and E."""
    traces, _ = every_trace(belief)
    if len(traces) > MOST_TRACES:
        raise OutsideHypotheses("there are too many pairs of traces for brute force.")
    if isinstance(channel, NoisyVectors):
        centres = channel.means[np.arange(channel.steps), traces].reshape(len(traces), -1)
        pairs = itertools.combinations(centres, 2)
        farthest = max((float(np.linalg.norm(a - b)) for a, b in pairs), default=0.0)
        return Reading(value=_of_normals(farthest / channel.scale, delta), bound="exact")
    laws = likelihoods(channel, traces, every_output(channel, MOST_OUTPUTS))
    return Reading(value=_of_tables(laws, delta), bound="exact")


def _of_normals(shift: float, delta: float) -> float:
    """Return ε for N(0, 1) and N(μ, 1): the worst event is z > ε/μ + μ/2, the likelier side.

    Its two chances are taken with 200 bits: their difference cancels in float64.
    """
    if shift == 0:
        return 0.0

    def exceeds(epsilon: float) -> bool:
        mu, root = flint.arb(shift), flint.arb(2).sqrt()
        cut = epsilon / mu + mu / 2
        near, far = (((z / root).erfc() / 2) for z in (cut - mu, cut))
        return bool(near - flint.arb(epsilon).exp() * far > delta)

    with flint.ctx.workprec(200):
        return crossing(exceeds, shift * shift / 2 + 60 * shift)


def _of_tables(laws: FloatArray, delta: float) -> float:
    """Return the smallest ε with Σ_o max(P(o) − e^ε Q(o), 0) ≤ δ for every two rows."""

    def exceeds(epsilon: float) -> bool:
        reduced = math.exp(epsilon) * laws
        return any(float(np.maximum(p - reduced, 0.0).sum(axis=1).max()) > delta for p in laws)

    return math.inf if exceeds(LARGEST) else crossing(exceeds, LARGEST)
