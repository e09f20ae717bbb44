"""How far an output can raise the probability of a secret event."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.beliefs import Markov
from sfumato.channels import (
    Emission,
    RelabelledSuppression,
    RememberingSuppression,
    Suppression,
)
from sfumato.inference.markov.enumeration import DEFAULT_LIMIT, enumerate_outputs
from sfumato.inference.markov.events import Gap, TimedEvents
from sfumato.inference.markov.probabilities import row_maxima
from sfumato.inference.markov.remembered import worst_remembered_gap
from sfumato.inference.markov.segments import worst_segment_gap
from sfumato.inference.markov.windows import worst_window_gap
from sfumato.parameters import declare
from sfumato.protocols import Quantity, Reading
from sfumato.quantities import POSTERIOR_GAP
from sfumato.questions import Events
from sfumato.values import FloatArray
from sfumato.views import EventMeasure, GaussianPart
from sfumato.views.gaussian import End
from sfumato.views.segments import joint_error

CERTIFIED = 1e-5
"""The largest relative error of a gap that is called exact; of others only a bound is known."""


@declare
class PosteriorGap(EventMeasure):
    """How far an output can raise the probability of a secret event.

    Claim: nobody who sees the release believes any event with a probability that exceeds its prior
    one by more than the loss. A release is δ-private exactly when this is at most δ.

    Formula: max over outputs o and events A of Pr[A | o] − Pr[A].

    For a Gaussian trace the events of a secret of radius r are "within r of some place"; the worst
    place is far out, where the prior vanishes, and the loss is Pr[‖N(0, V_SS)‖ ≤ r], V the
    posterior covariance, by Anderson's inequality. The secret `near` names the place.

    Assumptions: the adversary knows the prior and the system.
    Guarantee: exact. For suppression in polynomial time, segment by segment, rounded up by the
    proved error of the check, which the relative error states; a gap that rounding hides, some
    1e-8 of an event's probability or less, is an upper bound. For other channels from the view,
    between two proved ends where the outputs are too many to list; there events over a window of
    times by listing all outputs.
    Reference: Götz, Nath and Gehrke (2012), definition 1.

    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain(initial=[0.5, 0.5], transitions=[[0, 1], [0, 1]], steps=1)
    >>> secret = sf.secrets.contexts({0})
    >>> release = sf.mechanisms.suppress_given(probabilities=[[1, 1 / 3]]).protect(chain, secret)
    >>> round(sf.measures.posterior_gap().loss(chain, secret, release).value, 12)
    0.25
    """

    name = "posterior_gap"
    promises = ("nothing from silence",)

    @property
    def quantity(self) -> Quantity:
        """The posterior gap."""
        return POSTERIOR_GAP

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Return the worst gap, with the output and the event that attain it where it is listed."""
        if isinstance(channel, RelabelledSuppression) and isinstance(question, Events):
            reading = self.evaluate(belief, question, channel.suppression)
            shown = channel.to_labels(reading.witness["output"])
            return attrs.evolve(reading, witness={**reading.witness, "output": shown})
        if isinstance(channel, RememberingSuppression) and isinstance(question, Events):
            if question.has_windows:  # the memory is part of the state: list all outputs
                pairs, emission = channel.augmented(belief)
                lifted = Events(channel.lift_masks(question.masks), question.names)
                return self.evaluate(pairs, lifted, emission)
            return self._of_gap(worst_remembered_gap(belief, channel, question.masks), question)
        if isinstance(question, Events) and isinstance(channel, Suppression):
            # The check that certifies designs: the same segments, and the worst of them first.
            check = worst_window_gap if question.has_windows else worst_segment_gap
            return self._of_gap(check(belief, channel, question.masks), question)
        if isinstance(question, Events) and question.has_windows:
            found = worst_listed_gap(belief, channel, question.masks)
            error = 4.0 * joint_error(belief) * (found.posterior + found.prior)
            raised = max(found.value, 0.0) + error
            relative = min(1.0, 2.0 * error / raised) if raised > 0.0 else 0.0
            found = attrs.evolve(found, value=raised, relative_error=relative)
            return self._of_gap(found, question, "all outputs")
        return super().evaluate(belief, question, channel)

    def _of_gap(self, gap: Gap, question: Events, how: str = "segments") -> Reading:
        is_known = gap.relative_error <= CERTIFIED
        return Reading(
            value=max(gap.value, 0.0),  # some output leaves an event as it is, or raises it
            bound="exact" if is_known else "upper",
            relative_error=gap.relative_error if is_known else 0.0,
            witness={"output": gap.output, "event": question.names[gap.event]},
            how=how,
        )

    def of_posteriors(
        self, prior: float, posteriors: FloatArray, seen: FloatArray, error: float
    ) -> tuple[float, float]:
        """Return the largest rise of one event; none is below zero."""
        del seen
        top = float(posteriors.max())
        return max(0.0, top - prior), error * (top + prior)

    def of_part(self, part: GaussianPart, end: End) -> tuple[float, float]:
        """Return Pr[‖N(0, V_SS)‖ ≤ r]; zero where nothing is told."""
        if part.distance(end) == 0.0:
            return 0.0, 0.0
        return part.success(part.posterior(end), part.radius)

    def brute_force(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Return it from the table of every trace and output, or from exact covariances."""
        from sfumato_posterior_gap import brute_force

        return brute_force.posterior_gap(belief, question, channel)


def worst_listed_gap(
    belief: Markov, channel: Emission, masks: ArrayLike, limit: int = DEFAULT_LIMIT
) -> Gap:
    """Return the worst gap over all outputs, listed; A is "X_t lies in its mask for some t".

    Only complete outputs are listed: the posterior after a prefix is a convex combination of the
    posteriors after its completions, so no prefix is worse than all of them. A window may span
    several segments between releases, whose posteriors then multiply.

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
    >>> chain = Markov([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], steps=2, states="sx")
    >>> channel = Suppression.memoryless("sx", [[1.0, 0.0], [1.0, 0.0]])
    >>> gap = worst_listed_gap(chain, channel, np.array([[[True, False]] * 2]))
    >>> gap.value, gap.prior
    (0.25, 0.75)
    """
    windows = np.asarray(masks)
    outputs = enumerate_outputs(belief, channel, limit)
    events = None
    if (windows.any(axis=-1).sum(axis=-1) <= 1).all():
        events = TimedEvents.from_masks(belief, masks)
        priors = events.priors(belief)
    else:
        priors = visit_probabilities(belief, np.zeros((1, *windows.shape[1:])), windows)[0]
    worst: Gap | None = None
    # Posteriors of the events take more room than marginals if there are more than T of them.
    entries = 4_000_000 * belief.steps // max(belief.steps, len(priors))
    for part in outputs.parts(entries):
        if events is None:
            posteriors = visit_probabilities(belief, outputs.log_evidence(part), windows)
        else:
            posteriors = events.probabilities(outputs.marginals(part))
        number, event = np.unravel_index(int((posteriors - priors).argmax()), posteriors.shape)
        posterior, prior = float(posteriors[number, event]), float(priors[event])
        if worst is None or posterior - prior > worst.value:
            output = outputs.observed(part.start + int(number))
            worst = Gap(posterior - prior, posterior, prior, int(event), output)
    return worst  # type: ignore[return-value]  # a chain has at least one output


def visit_probabilities(
    belief: Markov, log_evidence: FloatArray, masks: NDArray[np.bool_]
) -> FloatArray:
    """Return Pr[X_t in the mask for some t | o], (N, E), from the evidence of N outputs.

    The forward recursion is run on pairs (state, whether the mask was met): nothing is subtracted.

    Examples
    --------
    >>> chain = Markov([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], steps=2)
    >>> visit_probabilities(chain, np.zeros((1, 2, 2)), np.array([[[True, False]] * 2])).tolist()
    [[0.75]]
    """
    evidence = np.exp(log_evidence - row_maxima(log_evidence))
    found = np.empty((len(evidence), len(masks)))
    for event, mask in enumerate(masks):
        laws = np.zeros((2, len(evidence), belief.state_count))  # not met yet, met
        laws[0] = belief.initial
        for time in range(belief.steps):
            if time > 0:
                laws = laws @ belief.matrix(time - 1)
            laws *= evidence[:, time]
            laws[1] += laws[0] * mask[time]
            laws[0] *= ~mask[time]
            laws /= laws.sum(axis=(0, 2))[:, None]
        found[:, event] = laws[1].sum(axis=-1)
    return found
