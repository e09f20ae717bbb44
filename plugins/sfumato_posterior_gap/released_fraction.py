"""How much of a stream is released."""

from __future__ import annotations

from typing import Any

from sfumato.beliefs import Markov
from sfumato.channels import RelabelledSuppression, Suppression, suppression_of
from sfumato.inference.expected_releases import expected_releases
from sfumato.parameters import declare
from sfumato.protocols import DeclaredMeasure, Quantity, Reading
from sfumato.quantities import RELEASED_FRACTION


@declare
class ReleasedFraction(DeclaredMeasure):
    """The expected share of states that are released, of T.

    Exact, for suppression that depends on the last release at most.

    Reference: Götz, Nath and Gehrke (2012), section 2, utility.

    >>> ReleasedFraction().quantity.worse
    'smaller'
    """

    name = "released_fraction"
    reads = ((Markov, object, Suppression), (Markov, object, RelabelledSuppression))

    @property
    def quantity(self) -> Quantity:
        """The released fraction."""
        return RELEASED_FRACTION

    def evaluate(
        self, belief: Markov, question: Any, channel: Suppression | RelabelledSuppression
    ) -> Reading:
        """Return the expected number of releases over the number of steps."""
        del question
        released = expected_releases(belief, suppression_of(channel))
        return Reading(value=released / belief.steps, how="recursion over last releases")
