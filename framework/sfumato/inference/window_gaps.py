"""Events over several times: how far an output raises the chance that one of them happened."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs.markov import Markov
from sfumato.channels.emission import Emission
from sfumato.inference.enumeration import DEFAULT_LIMIT, enumerate_outputs
from sfumato.inference.gap import Gap
from sfumato.inference.log_products import row_maxima
from sfumato.probabilities import FloatArray


def visit_probabilities(
    belief: Markov, log_evidence: FloatArray, mask: NDArray[np.bool_]
) -> FloatArray:
    """Return Pr[X_t in the mask for some t | o] for N outputs, from evidence (N, T, M).

    The forward recursion is run on pairs (state, whether the mask was met): nothing is subtracted.

    Examples
    --------
    >>> chain = Markov([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], steps=2)
    >>> visit_probabilities(chain, np.zeros((1, 2, 2)), np.array([[True, False]] * 2)).tolist()
    [0.75]
    """
    evidence = np.exp(log_evidence - row_maxima(log_evidence))
    laws = np.zeros((2, len(evidence), belief.state_count))  # not met yet, met
    laws[0] = belief.initial
    for time in range(belief.steps):
        if time > 0:
            laws = laws @ belief.matrix(time - 1)
        laws *= evidence[:, time]
        laws[1] += laws[0] * mask[time]
        laws[0] *= ~mask[time]
        laws /= laws.sum(axis=(0, 2))[:, None]
    return np.asarray(laws[1].sum(axis=-1))


def worst_window_gap(
    belief: Markov,
    channel: Emission,
    masks: NDArray[np.bool_],
    limit: int = DEFAULT_LIMIT,
) -> Gap:
    """Return max over outputs o and events A of Pr[A | o] − Pr[A].

    A is the event that X_t lies in its mask for some t.

    A window may span several segments between releases, whose posteriors then multiply, so all
    outputs are listed; prefixes are convex combinations of their completions, as ever.

    Parameters
    ----------
    belief, channel
        A chain and a finite emission.
    masks
        The events, (E, T, M) booleans.
    limit
        How many outputs to list before refusing with `OutsideHypotheses`.

    Examples
    --------
    >>> from sfumato.channels.suppression import Suppression
    >>> chain = Markov([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], steps=2, states="sx")
    >>> channel = Suppression.memoryless("sx", [[1.0, 0.0], [1.0, 0.0]])
    >>> gap = worst_window_gap(chain, channel, np.array([[[True, False]] * 2]))
    >>> gap.value, gap.prior
    (0.25, 0.75)
    """
    outputs = enumerate_outputs(belief, channel, limit)
    nothing = np.zeros((1, belief.steps, belief.state_count))
    worst: Gap | None = None
    for event, mask in enumerate(masks):
        prior = float(visit_probabilities(belief, nothing, mask)[0])
        for part in outputs.parts():
            posteriors = visit_probabilities(belief, outputs.log_evidence(part), mask)
            number = int(posteriors.argmax())
            value = float(posteriors[number]) - prior
            if worst is None or value > worst.value:
                worst = Gap(
                    value=value,
                    posterior=float(posteriors[number]),
                    prior=prior,
                    event=event,
                    time=int(mask.any(axis=1).argmax()),
                    output=outputs.observed(part.start + number),
                )
    return worst  # type: ignore[return-value]  # a chain has at least one output
