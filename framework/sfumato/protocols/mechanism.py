"""A recipe for releasing a trace."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Protocol, runtime_checkable

from sfumato.compatibility import require_mechanism
from sfumato.parameters import Declared
from sfumato.protocols.prior_class import PriorClass
from sfumato.protocols.release import Release
from sfumato.protocols.secret import Secret


@runtime_checkable
class Mechanism(Protocol):
    """Given a prior class and a secret, a way of releasing a trace.

    Attributes
    ----------
    asks
        The (belief, question) types it can design for; ``object`` stands for any.
    yields
        The type of channel it designs.

    >>> import sfumato as sf
    >>> isinstance(sf.mechanisms.gaussian_uniform(mse=1.0), Mechanism)
    True
    """

    kind: ClassVar[str] = "mechanism"
    asks: ClassVar[tuple[tuple[type, type], ...]]
    yields: ClassVar[type]

    @abstractmethod
    def protect(self, prior: PriorClass, secret: Secret) -> Release:
        """Design a release of traces for the class and the secret."""
        ...

    @abstractmethod
    def specification(self) -> dict[str, Any]:
        """Return the plain table that rebuilds the mechanism."""
        ...


class DeclaredMechanism(Declared, Mechanism):
    """A mechanism with declared parameters: what a plugin author subclasses.

    The author writes `design`; `protect` first refuses what the mechanism does not ask for.

    >>> import sfumato as sf
    >>> sf.mechanisms.gaussian_uniform(mse=1.0).specification()
    {'name': 'gaussian_uniform', 'mse': 1.0}
    """

    kind: ClassVar[str] = "mechanism"

    @abstractmethod
    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Design the release; the types are known to fit."""

    def protect(self, prior: PriorClass, secret: Secret) -> Release:
        """Design a release of traces for the class and the secret."""
        require_mechanism(self, prior, secret)
        release = self.design(prior, secret)
        if not isinstance(release, Release):
            raise TypeError(f"{self.name}.design must return a Release; got {release!r}.")
        return release
