"""What must not be learnt."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Protocol, runtime_checkable

from sfumato.parameters import Declared


@runtime_checkable
class Secret(Protocol):
    """Events, and the pairs of them that must stay indistinguishable.

    >>> import sfumato as sf
    >>> isinstance(sf.secrets.basic(3), Secret)
    True
    """

    kind: ClassVar[str] = "secret"
    yields: ClassVar[Mapping[type, type]]

    @abstractmethod
    def question(self, belief: Any) -> Any:
        """Return the secret in its mathematical form for that belief."""
        ...

    @abstractmethod
    def specification(self) -> dict[str, Any]:
        """Return the plain table that rebuilds the secret."""
        ...


class DeclaredSecret(Declared, Secret):
    """A secret with declared parameters: what a plugin author subclasses.

    `yields` maps each type of belief the secret makes sense for to the type of question it
    becomes.

    >>> import sfumato as sf
    >>> sf.secrets.basic(3).question(sf.priors.rbf(length_scale=1.0, times=5).belief()).groups
    (((3,),),)
    """

    kind: ClassVar[str] = "secret"

    def __or__(self, other: Secret) -> Secret:
        """Return the union: neither secret may be learnt."""
        from sfumato.secret_unions import SecretUnion

        return SecretUnion((self, other))
