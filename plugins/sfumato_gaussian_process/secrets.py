"""One time of a trace, kept secret."""

from __future__ import annotations

from sfumato.beliefs import Gaussian
from sfumato.parameters import INDEX, POSITIVE, Collection, declare, parameter
from sfumato.protocols import Secret
from sfumato.questions import Displacements


@declare
class Basic(Secret):
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


@declare
class Compound(Secret):
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


@declare
class EveryPoint(Secret):
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
