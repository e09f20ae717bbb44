"""How someone who sees the release reasons."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Protocol, runtime_checkable

from sfumato.compatibility import require_adversary
from sfumato.parameters import Declared


@runtime_checkable
class Adversary(Protocol):
    """Someone who knows a belief and the channel, sees an output, and infers.

    Attributes
    ----------
    reads
        The (belief, channel) types it can reason about.
    promises
        Optional: what it infers, for the laws to check: "posterior" or "most probable trace".

    >>> import sfumato as sf
    >>> isinstance(sf.adversaries.map(), Adversary)
    True
    """

    kind: ClassVar[str] = "adversary"
    reads: ClassVar[tuple[tuple[type, type], ...]]

    @abstractmethod
    def infer(self, belief: Any, channel: Any, observed: Any) -> Any:
        """Return a posterior, or a guess, from what was observed."""
        ...


class DeclaredAdversary(Declared, Adversary):
    """An adversary with declared parameters: what a plugin author subclasses.

    The author writes `infer`, which may first `require` that what it is given fits.

    >>> import sfumato as sf
    >>> sf.adversaries.map()
    sf.adversaries.map()
    """

    kind: ClassVar[str] = "adversary"

    def require(self, belief: Any, channel: Any) -> None:
        """Refuse a belief or a channel that is not read here, or that speak of two traces."""
        require_adversary(self, belief, channel)
