"""One time of a trace, kept secret."""

from __future__ import annotations

from sfumato.beliefs import Gaussian
from sfumato.parameters import INDEX, POSITIVE, declare, parameter
from sfumato.protocols import DeclaredSecret
from sfumato.questions import Displacements


@declare
class Basic(DeclaredSecret):
    """The value at one time: pairs of values at most `radius` apart stay indistinguishable.

    Reference: Meehan and Chaudhuri (2021), section 2.2, basic secrets.

    >>> Basic(24, radius=1.0)
    sf.secrets.basic(index=24)
    """

    name = "basic"
    yields = {Gaussian: Displacements}  # noqa: RUF012 - a class attribute, never changed

    index: int = parameter(INDEX("n"), doc="position of the secret time in the trace")
    radius: float = parameter(POSITIVE, default=1.0, doc="radius of the discriminative pairs")

    def question(self, belief: Gaussian) -> Displacements:
        """Return the displacements of that time's coordinates."""
        if self.index >= belief.times:
            raise self.reject("index", f"below the trace length {belief.times}", self.index)
        return Displacements(groups=((belief.entries_at(self.index),),), radii=self.radius)
