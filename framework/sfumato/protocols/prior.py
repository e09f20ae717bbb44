"""One belief, by name and parameters: what a plugin author writes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, ClassVar, Self

from sfumato.parameters import Declared
from sfumato.prior_operators import PriorOperators
from sfumato.protocols.prior_class import PriorClass, Supremum


class Prior(Declared, PriorOperators, PriorClass):
    """A single prior: the class of one member.

    An author declares parameters and writes `belief`, which sees only numbers:
    ``Interval`` and ``AnyOf`` are turned into a `Family` before they reach it.

    Attributes
    ----------
    name
        The registered name.
    yields
        The type of belief that `belief` returns.
    scale_parameter
        The parameter to which the covariance is proportional, if there is one.

    >>> import sfumato as sf
    >>> prior = sf.priors.rbf(length_scale=1.0, times=5)
    >>> list(prior.members()) == [prior], prior.belief().entries
    (True, 5)
    """

    kind: ClassVar[str] = "prior"
    scale_parameter: ClassVar[str | None] = None
    yields: ClassVar[type]

    @abstractmethod
    def belief(self) -> Any:
        """Return the belief in its mathematical form."""

    def members(self) -> Iterator[Prior]:
        """Yield the prior itself."""
        yield self

    @property
    def finite(self) -> bool:
        """A single prior is a finite class."""
        return True

    def supremum(self, function: Callable[[Prior], float]) -> Supremum:
        """Return the function's value at the prior itself."""
        return Supremum(function(self), self, "single")

    @classmethod
    def glance(cls, members: Sequence[Self]) -> Any:  # noqa: ARG003  # authors override it
        """Return many members' covariances (k, n, n) at once, unchecked: for searches to rank by.

        None, the default, says that there is no quicker way than belief by belief.
        """
        return None

    def trace_signature(self) -> Hashable:
        """Return what all members of a class must share: by default the declared sizes."""
        return tuple(sorted(self.sizes.items()))
