"""The best chance to guess every state of a trace, from a finite release."""

from __future__ import annotations

import math
import sys

import attrs

from sfumato.beliefs import Markov
from sfumato.channels import Emission
from sfumato.errors import OutsideHypotheses, Undecidable
from sfumato.inference.bayes_success import bayes_success
from sfumato.inference.sighted_success import sighted_log_success
from sfumato.inference.success_bounds import SMALLEST
from sfumato.matrices.matrix import ROUNDOFF
from sfumato_fano.information import followed


@attrs.frozen
class WholeTrace:
    """Σ_y max_x Pr[x, y], rounded up by at most `relative_error` of itself.

    Noise cannot raise it, so that it bounds the success from a noisy release as it is. A value
    below 2.2e-308 does not have all digits of float64, and is an upper bound only.

    >>> belief = Markov([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], steps=2)
    >>> from sfumato.channels import Symbols
    >>> found = WholeTrace.of(belief, Symbols((0, 1), (0,), [[[1.0], [1.0]]] * 2))
    >>> 0.25 <= found.value < 0.25 * (1 + 1e-13), found.is_exact
    (True, True)
    """

    value: float
    relative_error: float

    @classmethod
    def of(cls, belief: Markov, channel: Emission) -> WholeTrace | None:
        """Return the success of the best guess, or None where that takes too long."""
        sightings = followed(belief, channel)
        if sightings is not None:
            steps, nodes = belief.steps, len(sightings)
            log_outputs = steps * math.log1p(nodes / steps)  # at most, however nodes are spread
            found = math.exp(sighted_log_success(sightings))
            return cls._up(found, steps, nodes, log_outputs)
        try:
            found = bayes_success(belief, channel, 0)
        except (OutsideHypotheses, Undecidable):
            return None
        log_outputs = sum(math.log(len(alphabet)) for alphabet in channel.outputs())
        return cls._up(found, belief.steps, 0, log_outputs)

    @classmethod
    def _up(cls, value: float, steps: int, nodes: int, log_outputs: float) -> WholeTrace:
        """Return the value raised by more than its rounding.

        A step rounds the log of the product so far at most eight times (it adds, shifts and takes
        logarithms), and sums over at most all nodes. Of K outputs y with largest terms m_y and
        sum S, the mean of −log m_y with weights m_y / S is at most log K − log S.
        """
        depth = nodes + 16.0 + 8.0 * (log_outputs - math.log(max(value, SMALLEST)))
        error = steps * depth * ROUNDOFF
        raised = value * (1.0 + error)
        if raised < sys.float_info.min:
            raised += SMALLEST
        return cls(min(raised, 1.0), 2.0 * error)

    @property
    def is_exact(self) -> bool:
        """Whether float64 holds all digits of it."""
        return self.value >= sys.float_info.min
