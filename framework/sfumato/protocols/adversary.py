"""How someone who sees the release reasons."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Protocol, runtime_checkable

from sfumato.parameters import Declared


@runtime_checkable
class Adversary(Protocol):
    """Someone who knows a belief and the channel, sees an output, and infers.

    Attributes
    ----------
    reads
        The (belief, channel) types it can reason about.
    """

    kind: ClassVar[str] = "adversary"
    reads: ClassVar[tuple[tuple[type, type], ...]]

    @abstractmethod
    def infer(self, belief: Any, channel: Any, observed: Any) -> Any:
        """Return a posterior, or a guess, from what was observed."""
        ...


class DeclaredAdversary(Declared, Adversary):
    """An adversary with declared parameters: what a plugin author subclasses."""

    kind: ClassVar[str] = "adversary"
