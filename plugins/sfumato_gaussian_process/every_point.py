"""Every time of a trace, each a secret of its own."""

from __future__ import annotations

from sfumato.beliefs import Gaussian
from sfumato.parameters import POSITIVE, declare, parameter
from sfumato.protocols import DeclaredSecret
from sfumato.questions import Displacements


@declare
class EveryPoint(DeclaredSecret):
    """Each time of the trace on its own: the union of all basic secrets.

    Reference: Meehan and Chaudhuri (2021), section 4, Algorithm 1 for all basic secrets.

    >>> EveryPoint()
    sf.secrets.every_point()
    """

    name = "every_point"
    yields = {Gaussian: Displacements}  # noqa: RUF012 - a class attribute, never changed

    radius: float = parameter(POSITIVE, default=1.0, doc="radius of the discriminative pairs")

    def question(self, belief: Gaussian) -> Displacements:
        """Return one group for each time."""
        groups = tuple((belief.entries_at(time),) for time in range(belief.times))
        return Displacements(groups=groups, radii=self.radius)
