"""The worst rise of an event's probability over all outputs, by listing them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sfumato.beliefs.markov import Markov
from sfumato.channels.emission import Emission
from sfumato.inference.enumeration import DEFAULT_LIMIT, enumerate_outputs
from sfumato.inference.gap import Gap
from sfumato.inference.timed_events import TimedEvents


def worst_posterior_gap(
    belief: Markov, channel: Emission, masks: ArrayLike, limit: int = DEFAULT_LIMIT
) -> Gap:
    """Return max over outputs o and events A of Pr[A | o] − Pr[A].

    Only complete outputs are listed: the posterior after a prefix is a convex combination of the
    posteriors after its completions, so no prefix is worse than all of them.

    Parameters
    ----------
    belief, channel
        A chain and a finite emission.
    masks
        The events, (E, T, M) booleans, each true at exactly one time.
    limit
        How many outputs to list before refusing with `OutsideHypotheses`.

    Examples
    --------
    >>> from sfumato.channels.suppression import Suppression
    >>> chain = Markov([0.5, 0.5], np.eye(2)[None][:0], states="sx")
    >>> channel = Suppression.memoryless("sx", [[1.0, 1 / 3]])
    >>> gap = worst_posterior_gap(chain, channel, [[[True, False]]])
    >>> gap.output, round(gap.value, 12)
    ((sf.SUPPRESSED,), 0.25)
    """
    events = TimedEvents.from_masks(belief, masks)
    priors = events.priors(belief)
    outputs = enumerate_outputs(belief, channel, limit)
    worst: Gap | None = None
    # Posteriors of the events take more room than marginals if there are more than T of them.
    entries = 4_000_000 * belief.steps // max(belief.steps, len(priors))
    for part in outputs.parts(entries):
        posteriors = events.probabilities(outputs.marginals(part))
        number, event = np.unravel_index(int((posteriors - priors).argmax()), posteriors.shape)
        posterior, prior = float(posteriors[number, event]), float(priors[event])
        if worst is None or posterior - prior > worst.value:
            worst = Gap(
                value=posterior - prior,
                posterior=posterior,
                prior=prior,
                event=int(event),
                time=int(events.times[event]),
                output=outputs.observed(part.start + int(number)),
            )
    return worst  # type: ignore[return-value]  # a chain has at least one output
