"""How far an output can raise the probability of a secret event."""

from __future__ import annotations

from typing import Any

from sfumato.parameters import declare
from sfumato.protocols import Reading
from sfumato.quantities import POSTERIOR_GAP
from sfumato.values import FloatArray
from sfumato.views import EventMeasure, GaussianPart
from sfumato.views.gaussian import End
from sfumato.views.measures import bent_difference
from sfumato.views.segments import worst_gap


@declare
class PosteriorGap(EventMeasure):
    """How far an output can raise the probability of a secret event.

    Claim: nobody who sees the release believes any event with a probability that exceeds its prior
    one by more than the loss. A release is δ-private exactly when this is at most δ.

    Formula: max over outputs o and events A of $Pr[A | o] − Pr[A]$.

    For a Gaussian trace the events of a secret of radius r are "within r of some place"; the worst
    place is far out, where the prior vanishes, and the loss is $Pr[‖N(0, V_SS)‖ ≤ r]$, V the
    posterior covariance, by Anderson's inequality. The secret `near` names the place.

    Assumptions: the adversary knows the prior and the system.
    Guarantee: exact. For suppression the view's suprema are taken segment by segment, in polynomial
    time, rounded up by the proved error of the check, which the relative error states; a gap that
    rounding hides, some 1e-8 of an event's probability or less, is an upper bound. For other
    channels from the view's tables, between two proved ends where outputs are too many to list.
    Reference: Götz, Nath and Gehrke (2012), definition 1.

    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain(initial=[0.5, 0.5], transitions=[[0, 1], [0, 1]], steps=1)
    >>> secret = sf.secrets.contexts({0})
    >>> release = sf.mechanisms.suppress_given(probabilities=[[1, 1 / 3]]).protect(chain, secret)
    >>> round(sf.measures.posterior_gap().loss(chain, secret, release).value, 12)
    0.25
    """

    name = "posterior_gap"
    oracle = "sfumato_posterior_gap.brute_force"
    quantity = POSTERIOR_GAP
    promises = ("nothing from silence",)

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Return the worst gap, with the output that attains it where that is found at once."""
        gap = worst_gap(belief, question, channel)
        if gap is None:
            return super().evaluate(belief, question, channel)
        witness = {"output": gap.output, "event": question.names[gap.event]}
        return self.between(gap.floor, gap.ceiling, witness, "segments")

    def of_posteriors(
        self, prior: float, posteriors: FloatArray, seen: FloatArray, error: float
    ) -> tuple[float, float]:
        """Return the largest rise of one event; none is below zero."""
        del seen
        top = float(posteriors.max())
        low = max(0.0, top - prior - error * (top + prior))
        high = min(1.0, top * (1.0 + error)) - prior * (1.0 - error)
        return (low + high) / 2.0, (high - low) / 2.0

    def of_part(self, part: GaussianPart, end: End) -> tuple[float, float]:
        """Return Pr[‖N(0, V_SS)‖ ≤ r]; zero where nothing is told."""
        if part.distance(end) == 0.0:
            return 0.0, 0.0
        return part.success(part.posterior(end), part.radius)

    def between_members(self, worst: float, bend: float, turn: float) -> float:
        """Return the bound for Pr[A | o] − Pr[A] of the worst output and event."""
        return min(1.0, bent_difference(worst, bend, turn))
