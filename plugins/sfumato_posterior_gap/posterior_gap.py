"""How far an output can raise the probability of a secret event."""

from __future__ import annotations

import attrs

from sfumato.beliefs import Markov
from sfumato.channels import Emission, RelabelledSuppression, Suppression
from sfumato.inference.posterior_gaps import worst_posterior_gap
from sfumato.inference.segment_check import worst_segment_gap
from sfumato.inference.window_gaps import worst_window_gap
from sfumato.parameters import declare
from sfumato.protocols import DeclaredMeasure, Quantity, Reading
from sfumato.quantities import POSTERIOR_GAP
from sfumato.questions import Events


@declare
class PosteriorGap(DeclaredMeasure):
    """max over outputs o and events A of Pr[A | o] − Pr[A].

    A release is δ-private exactly when this is at most δ.

    Assumptions: the adversary knows the chain and the system.
    Guarantee: exact. For suppression in polynomial time, segment by segment; for any other finite
    channel, and for events over a window of times, by listing all outputs, refused where they are
    too many.
    Reference: Götz, Nath and Gehrke (2012), definition 1.

    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain(initial=[0.5, 0.5], transitions=[[0, 1], [0, 1]], steps=1)
    >>> secret = sf.secrets.contexts({0})
    >>> release = sf.mechanisms.suppress_given(probabilities=[[1, 1 / 3]]).protect(chain, secret)
    >>> round(sf.measures.posterior_gap().loss(chain, secret, release).value, 12)
    0.25
    """

    name = "posterior_gap"
    reads = ((Markov, Events, Emission),)

    @property
    def quantity(self) -> Quantity:
        """The posterior gap."""
        return POSTERIOR_GAP

    def evaluate(self, belief: Markov, question: Events, channel: Emission) -> Reading:
        """Return the worst gap, with the output and the event that attain it."""
        if isinstance(channel, RelabelledSuppression):
            reading = self.evaluate(belief, question, channel.suppression)
            shown = channel.relabelled(reading.witness["output"])
            return attrs.evolve(reading, witness={**reading.witness, "output": shown})
        if question.has_windows:
            gap, how = worst_window_gap(belief, channel, question.masks), "all outputs"
        elif isinstance(channel, Suppression):
            gap, how = worst_segment_gap(belief, channel, question.masks), "segments"
        else:
            gap, how = worst_posterior_gap(belief, channel, question.masks), "all outputs"
        witness = {"output": gap.output, "event": question.names[gap.event]}
        # Some output raises an event's probability or leaves it: below zero is only rounding.
        return Reading(value=max(gap.value, 0.0), witness=witness, how=how)
