"""Several times of a trace, kept secret together."""

from __future__ import annotations

from sfumato.beliefs import Gaussian
from sfumato.parameters import INDEX, POSITIVE, Collection, declare, parameter
from sfumato.protocols import DeclaredSecret
from sfumato.questions import Displacements


@declare
class Compound(DeclaredSecret):
    """The values at several times jointly: pairs that differ by at most `radius` at each of them.

    The pairs form a product of balls, one for each time.
    Hiding a compound secret does not by itself hide each of its times.

    Reference: Meehan and Chaudhuri (2021), section 2.2, compound secrets.

    >>> Compound([20, 24])
    sf.secrets.compound(indices=[20, 24])
    """

    name = "compound"
    yields = {Gaussian: Displacements}  # noqa: RUF012 - a class attribute, never changed

    indices: tuple[int, ...] = parameter(
        Collection(INDEX("n"), distinct=True), doc="positions of the secret times in the trace"
    )
    radius: float = parameter(POSITIVE, default=1.0, doc="radius of the pairs at each time")

    def question(self, belief: Gaussian) -> Displacements:
        """Return one group with a ball for each time."""
        outside = [index for index in self.indices if index >= belief.times]
        if outside:
            raise self.reject("indices", f"below the trace length {belief.times}", outside[0])
        group = tuple(belief.entries_at(index) for index in self.indices)
        return Displacements(groups=(group,), radii=self.radius)
