"""A number for what the adversary gained."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

import attrs

from sfumato.compatibility import require_measure, require_one_trace
from sfumato.parameters import Declared
from sfumato.protocols.loss import Loss, Reading
from sfumato.protocols.prior import Prior
from sfumato.protocols.prior_class import PriorClass
from sfumato.protocols.quantity import Quantity
from sfumato.protocols.release import Release
from sfumato.protocols.scenario import Scenario
from sfumato.protocols.secret import Secret
from sfumato.worst_case import over_class


@runtime_checkable
class LossMeasure(Protocol):
    """A quantity of what a release gives away, over a whole prior class.

    Attributes
    ----------
    reads
        The (belief, question, channel) types it can evaluate; ``object`` stands for any.

    >>> import sfumato as sf
    >>> isinstance(sf.measures.renyi(), LossMeasure)
    True
    """

    kind: ClassVar[str] = "measure"
    reads: ClassVar[tuple[tuple[type, type, type], ...]]

    @abstractmethod
    def loss(self, prior: PriorClass, secret: Secret, release: Release) -> Loss:
        """Return the worst loss over the class."""
        ...


class DeclaredMeasure(Declared, LossMeasure):
    """A measure with declared parameters: what a plugin author subclasses.

    The author writes `quantity` and `evaluate`, for one belief;
    `loss` refuses what the measure does not read and takes the worst over the class, in the
    direction in which the quantity is worse.

    Attributes
    ----------
    worst_scale
        At which end of the prior's scale a loss is worst, where its author has proved it: then an
        interval of scales is not searched, and a loss over it can be exact.
    default_for
        Over which classes a certificate holds the measure without being asked to: one that takes
        long for a single belief is left out where there are many.

    >>> import sfumato as sf
    >>> sf.measures.renyi(order=2.0).quantity.worse
    'larger'
    """

    kind: ClassVar[str] = "measure"
    worst_scale: ClassVar[Literal["low", "high"] | None] = None
    default_for: ClassVar[Literal["every class", "finite classes", "one prior"]] = "every class"

    @property
    @abstractmethod
    def quantity(self) -> Quantity:
        """What the measure's numbers are numbers of."""

    @abstractmethod
    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Return the reading for one belief; the types are known to fit."""

    def loss(self, prior: PriorClass, secret: Secret, release: Release) -> Loss:
        """Return the worst loss over the class."""
        require_measure(self, prior, secret, release)

        def reading(member: Prior) -> Reading:
            belief = member.belief()
            require_one_trace(belief, release.channel)
            found = self.evaluate(belief, secret.question(belief), release.channel)
            if not isinstance(found, Reading):
                raise TypeError(f"{self.name}.evaluate must return a Reading; got {found!r}.")
            return found

        narrowed = self._worst_scaled(prior)
        found, worst = over_class(narrowed, reading, self.quantity)
        if narrowed is not prior:
            how = f"{found.how}; the {self.worst_scale} end of the scale, proved".lstrip("; ")
            found = attrs.evolve(found, how=how)
        return Loss(
            **attrs.asdict(found, recurse=False),
            quantity=self.quantity,
            scenario=Scenario(prior, secret, release.channel),
            worst=worst,
        )

    def _worst_scaled(self, prior: PriorClass) -> PriorClass:
        from sfumato.prior_classes import at_scale

        if self.worst_scale is None:
            return prior
        narrowed = at_scale(prior, self.worst_scale)
        return prior if narrowed == prior else narrowed
