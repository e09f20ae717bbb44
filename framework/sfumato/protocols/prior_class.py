"""What the adversary may believe: a set of beliefs about a trace."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, runtime_checkable

import attrs

if TYPE_CHECKING:
    from sfumato.protocols.prior import Prior

How = Literal["single", "finite", "proved", "searched"]


@attrs.frozen
class Supremum:
    """The largest value of a function over a class, the member with it, and how it was found.

    ``"searched"`` means that a larger value may exist between the members looked at.

    >>> import sfumato as sf
    >>> family = sf.priors.rbf(length_scale=sf.AnyOf(1.0, 3.0), times=5)
    >>> found = family.supremum(lambda member: member.length_scale)
    >>> found.value, found.how
    (3.0, 'finite')
    """

    value: float
    member: Prior
    how: How


@runtime_checkable
class PriorClass(Protocol):
    """A *set* of beliefs; a single prior is the set of one.

    All members share the trace: its length, its dimensions, its states.

    >>> import sfumato as sf
    >>> isinstance(sf.priors.rbf(length_scale=sf.Interval(1, 3), times=5), PriorClass)
    True
    """

    kind: ClassVar[str] = "prior"

    @property
    @abstractmethod
    def name(self) -> str:
        """What the class is called in messages."""
        ...

    @property
    @abstractmethod
    def yields(self) -> type:
        """The type of belief that the members have."""
        ...

    @abstractmethod
    def specification(self) -> dict[str, Any]:
        """Return the plain table that rebuilds the class."""
        ...

    @abstractmethod
    def members(self) -> Iterator[Prior]:
        """Yield members: all of a finite class, a spread of a continuous one."""
        ...

    @abstractmethod
    def supremum(self, function: Callable[[Prior], float]) -> Supremum:
        """Return the largest value of `function` over the class, and how it was found."""
        ...

    @property
    @abstractmethod
    def finite(self) -> bool:
        """Whether `members` yields the whole class."""
        ...
