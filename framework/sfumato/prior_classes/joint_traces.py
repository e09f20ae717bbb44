"""Traces taken from a longer one, in any order and with repetitions."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, ClassVar

import attrs
import numpy as np

from sfumato.beliefs import Gaussian
from sfumato.domains import LIST_OF, WHOLE, Rejected, Sizes
from sfumato.errors import Incompatible, ParameterError
from sfumato.matrices import Dense
from sfumato.prior_classes.combinations import DerivedClass
from sfumato.protocols import Prior, PriorClass


def trace_positions(places: Iterable[int]) -> tuple[int, ...]:
    """Return positions in a trace as plain whole numbers, or refuse what is none.

    >>> trace_positions(range(2))
    (0, 1)
    """
    try:
        found: tuple[int, ...] = LIST_OF(WHOLE).convert(places, Sizes())
    except Rejected:
        raise ParameterError(
            f"positions must be lists of whole numbers, 0 or more; got {places!r}."
        ) from None
    return found


def joint_traces(prior: PriorClass, positions: Iterable[int] | None) -> PriorClass:
    """Return the class of beliefs about the times at `positions`; None means the trace as it is.

    >>> import sfumato as sf
    >>> joint = joint_traces(sf.priors.rbf(length_scale=1.0, times=3), (2, 0, 2))
    >>> joint.belief().covariance.dense().round(4)[0]
    array([1.    , 0.1353, 1.    ])
    """
    if positions is None:
        return prior
    places = trace_positions(positions)
    if not issubclass(prior.yields, Gaussian):
        raise Incompatible(
            f"a joint trace takes priors of Gaussian beliefs; '{prior.name}' yields "
            f"{prior.yields.__name__}."
        )
    times = next(prior.members()).belief().times
    if not all(0 <= place < times for place in places):
        raise ParameterError(
            f"positions must lie in 0..{times - 1}; got {min(places)} to {max(places)}."
        )
    if isinstance(prior, Prior):
        return JointTrace(prior, places)
    return JointTraceClass((prior,), places)


@attrs.frozen(eq=False, repr=False)
class JointTrace(Prior):
    """A prior's belief about the times at some positions of its trace."""

    yields: ClassVar[type] = Gaussian

    base: Prior
    positions: tuple[int, ...]

    @property
    def name(self) -> str:  # type: ignore[override]  # of the object, not of the class
        """The name of the prior."""
        return self.base.name

    @property
    def sizes(self) -> dict[str, int]:  # type: ignore[override]  # of the joint trace
        """The sizes of the prior, with the number of positions."""
        return {**self.base.sizes, "n": len(self.positions)}

    def belief(self) -> Gaussian:
        """Return the belief; it is definite only if no position is taken twice."""
        belief: Gaussian = self.base.belief()
        entries = [entry for place in self.positions for entry in belief.entries_at(place)]
        return attrs.evolve(
            belief,
            covariance=Dense(belief.covariance.block(entries, entries)),
            mean=None if belief.mean is None else belief.mean[np.array(entries)],
            definite=belief.definite and len(set(self.positions)) == len(self.positions),
            exact=belief.exact_block(entries),
        )

    def formula(self, numbers: Any) -> Any:
        """Return the covariance of the positions in exact numbers, or in Taylor coefficients."""
        found = self.base.formula(numbers)
        if found is None:
            return None
        rows = np.arange(found.nrows()).reshape(self.base.sizes["n"], -1)[list(self.positions)]
        return numbers.block(found, rows.ravel(), rows.ravel())

    def trace_signature(self) -> Hashable:
        """Return the positions and what the prior's own trace is."""
        return self.positions, self.base.trace_signature()

    def specification(self) -> dict[str, Any]:
        """Return the plain table that rebuilds the prior."""
        return {"joint": self.base.specification(), "positions": list(self.positions)}

    def __repr__(self) -> str:
        return f"joint_traces({self.base!r}, {self.positions!r})"


@attrs.frozen(eq=False, repr=False)
class JointTraceClass(DerivedClass):
    """The joint traces of every member of a class."""

    parts: tuple[PriorClass]
    positions: tuple[int, ...]

    @property
    def name(self) -> str:
        """The name of the class."""
        return self.parts[0].name

    def derive(self, chosen: tuple[Prior, ...]) -> Prior:
        """Return the joint trace of a member."""
        return JointTrace(chosen[0], self.positions)

    def specification(self) -> dict[str, Any]:
        """Return the plain table that rebuilds the class."""
        return {"joint": self.parts[0].specification(), "positions": list(self.positions)}

    def __repr__(self) -> str:
        return f"joint_traces({self.parts[0]!r}, {self.positions!r})"
