"""Exact mutual information of a finite release."""

from __future__ import annotations

import numpy as np

from sfumato.beliefs.markov import Markov
from sfumato.channels.emission import Emission
from sfumato.inference.enumeration import DEFAULT_LIMIT, enumerate_outputs
from sfumato.inference.rounded_information import RoundedInformation
from sfumato.probabilities import FloatArray


def enumerated_information(
    belief: Markov, channel: Emission, limit: int = DEFAULT_LIMIT
) -> RoundedInformation:
    """Return I(X; Y) = Σ_y Pr[y] (E[log Pr[y | X] | y] − log Pr[y]), over every output, in nats.

    The inner expectation is Σ_t Σ_m Pr[X_t = m | y] log Pr[y_t | X_t = m, y before t]: only the
    posterior of single states is needed. Rounding: Pr[y] and the posteriors are products of T
    sums of M terms, so that log Pr[y] loses digits as a number near one does.

    Raises
    ------
    OutsideHypotheses
        If there are more than `limit` outputs, or the alphabet is not finite.

    Examples
    --------
    >>> from sfumato.channels.suppression import Suppression
    >>> chain = Markov([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], steps=2, states="ab")
    >>> shown = Suppression.memoryless("ab", np.full((2, 2), 0.5))
    >>> float(round(enumerated_information(chain, shown).value / np.log(2), 12))
    1.0
    """
    outputs = enumerate_outputs(belief, channel, limit)
    told = untold = 0.0
    for part in outputs.parts():
        inner = _expected(outputs.marginals(part), outputs.log_evidence(part))
        told -= float(outputs.probabilities[part] @ outputs.log_probabilities[part])
        untold -= float(outputs.probabilities[part] @ inner)
    operations = 8.0 * belief.steps * (belief.state_count + 8)
    # Both sums are of positive terms, each raised by one in place of the digits it has lost.
    return RoundedInformation.up(told + 1.0, untold + 1.0, operations)


def _expected(marginals: FloatArray, log_evidence: FloatArray) -> FloatArray:
    """Return Σ p log e, where a state of posterior zero counts nothing."""
    finite = np.where(marginals > 0.0, log_evidence, 0.0)
    return np.asarray((marginals * finite).sum(axis=(1, 2)))
