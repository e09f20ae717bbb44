"""Priors made of others: sums, products, times taken from a longer trace; and classes of them."""

from __future__ import annotations

import functools
import itertools
from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, ClassVar

import attrs
import numpy as np

from sfumato.beliefs import Gaussian
from sfumato.domains import LIST_OF, WHOLE, Rejected, Sizes
from sfumato.errors import Incompatible, ParameterError
from sfumato.matrices import Dense
from sfumato.prior_classes.sets import weakest
from sfumato.protocols import Prior, PriorClass, Supremum

SYMBOLS = {"sum": "+", "product": "*"}


class _Combination:
    """What a sum or product is called, of priors or of classes."""

    operation: str
    parts: tuple[PriorClass, ...]

    @property
    def name(self) -> str:
        """The names of the parts, joined."""
        return f" {SYMBOLS[self.operation]} ".join(part.name for part in self.parts)

    def specification(self) -> dict[str, Any]:
        """Return the plain table that rebuilds it."""
        return {self.operation: [part.specification() for part in self.parts]}

    def __repr__(self) -> str:
        """Write it as code, with brackets around combinations of another kind."""
        texts = [f"({part!r})" if hasattr(part, "operation") else repr(part) for part in self.parts]
        return f" {SYMBOLS[self.operation]} ".join(texts)


@attrs.frozen(eq=False, repr=False)
class CombinedPrior(_Combination, Prior):  # type: ignore[override]  # its own name, not the class's
    """The sum of independent Gaussian traces, or the product of their covariances.

    >>> import sfumato as sf
    >>> trend = sf.priors.rbf(length_scale=9.0, times=3, variance=4.0)
    >>> (trend + sf.priors.periodic(length_scale=1.0, period=2.0, times=3)).belief().definite
    True
    """

    yields: ClassVar[type] = Gaussian

    operation: str = attrs.field(validator=attrs.validators.in_(tuple(SYMBOLS)))
    parts: tuple[Prior, ...]

    def __attrs_post_init__(self) -> None:
        for part in self.parts:
            if not issubclass(part.yields, Gaussian):
                raise Incompatible(
                    f"a {self.operation} takes priors of Gaussian beliefs; '{part.name}' yields "
                    f"{part.yields.__name__}."
                )
        signatures = dict.fromkeys(part.trace_signature() for part in self.parts)
        if len(signatures) > 1:
            shown = " and ".join(str(signature)[:60] for signature in list(signatures)[:2])
            raise ParameterError(
                f"a {self.operation} of priors must be of one trace length and stamps; got {shown}."
            )

    @property
    def sizes(self) -> dict[str, int]:  # type: ignore[override]  # those of the parts
        """The sizes of the parts."""
        return self.parts[0].sizes

    def belief(self) -> Gaussian:
        """Return the combined belief."""
        from sfumato.beliefs.gaussian import gaussian_product, gaussian_sum

        beliefs = [part.belief() for part in self.parts]
        return gaussian_sum(beliefs) if self.operation == "sum" else gaussian_product(beliefs)

    def formula(self, numbers: Any) -> Any:
        """Return the combined covariance in numbers of any kind; None if a part has none."""
        formulas = [part.formula(numbers) for part in self.parts]
        if any(formula is None for formula in formulas):
            return None
        add = self.operation == "sum"
        return functools.reduce(lambda a, b: a + b if add else numbers.entrywise(a, b), formulas)

    def trace_signature(self) -> Hashable:
        """Return what the parts share."""
        return self.parts[0].trace_signature()


def combine(operation: str, parts: Sequence[Any]) -> PriorClass:
    """Return the sum or product; combinations of the same kind are joined into one."""
    flat: list[Any] = []
    for part in parts:
        if not isinstance(part, PriorClass):
            raise ParameterError(f"a {operation} must be of priors; got {part!r}.")
        same = getattr(part, "operation", None) == operation
        flat.extend(part.parts if same else [part])  # type: ignore[attr-defined]  # just looked
    if len(flat) < 2:
        raise ParameterError(f"a {operation} must be of two or more priors; got {len(flat)}.")
    if all(isinstance(part, Prior) for part in flat):
        return CombinedPrior(operation, tuple(flat))
    return CombinedClass(operation, tuple(flat))


class DerivedClass(PriorClass):
    """Every prior that is made of a member of each of some classes, the parts."""

    parts: tuple[PriorClass, ...]

    @abstractmethod
    def derive(self, chosen: tuple[Prior, ...]) -> Prior:
        """Return the prior made of one member of each part."""

    @property
    def yields(self) -> type:
        """The type of belief of the members."""
        return self.parts[0].yields

    @property
    def finite(self) -> bool:
        """Whether every part is a finite class."""
        return all(part.finite for part in self.parts)

    def members(self) -> Iterator[Prior]:
        """Yield what every combination of the parts' members makes."""
        for chosen in itertools.product(*(part.members() for part in self.parts)):
            yield self.derive(chosen)

    def supremum(self, function: Callable[[Prior], float]) -> Supremum:
        """Return sup over the first part of the sup over the second, and so on."""
        return self._nested(function, ())

    def _nested(self, function: Callable[[Prior], float], chosen: tuple[Prior, ...]) -> Supremum:
        if len(chosen) == len(self.parts):
            member = self.derive(chosen)
            return Supremum(function(member), member, "single")
        inner: dict[int, tuple[Prior, Supremum]] = {}

        def value(member: Prior) -> float:
            found = self._nested(function, (*chosen, member))
            inner[id(member)] = (member, found)  # the member is kept, so that its id stays its own
            return found.value

        outer = self.parts[len(chosen)].supremum(value)
        hows = {outer.how, *(found.how for _, found in inner.values())}
        _, best = inner[id(outer.member)]
        return Supremum(best.value, best.member, weakest(hows, best.value))


@attrs.frozen(eq=False, repr=False)
class CombinedClass(_Combination, DerivedClass):
    """Every sum (or product) of a member of each part."""

    operation: str
    parts: tuple[PriorClass, ...]

    def __attrs_post_init__(self) -> None:
        for _ in self.members():  # every combination is checked where it is made
            pass

    def derive(self, chosen: tuple[Prior, ...]) -> Prior:
        """Return the sum or the product."""
        return CombinedPrior(self.operation, chosen)


# Times taken from a longer trace, in any order and with repetitions -------------------------------


def trace_positions(places: Iterable[int]) -> tuple[int, ...]:
    """Return positions in a trace as plain whole numbers, or refuse what is none.

    >>> from sfumato.prior_classes.combinations import trace_positions
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
    >>> from sfumato.prior_classes.combinations import joint_traces
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
        return JointTrace((prior,), places)
    return JointTraceClass((prior,), places)


class _Joint:
    """What times taken from a trace are called, of a prior or of a class."""

    parts: tuple[PriorClass]
    positions: tuple[int, ...]

    @property
    def name(self) -> str:
        """The name of the prior or class."""
        return self.parts[0].name

    def specification(self) -> dict[str, Any]:
        """Return the plain table that rebuilds it."""
        return {"joint": self.parts[0].specification(), "positions": list(self.positions)}

    def __repr__(self) -> str:
        return f"joint_traces({self.parts[0]!r}, {self.positions!r})"


@attrs.frozen(eq=False, repr=False)
class JointTrace(_Joint, Prior):  # type: ignore[override]  # its own name, not the class's
    """A prior's belief about the times at some positions of its trace."""

    yields: ClassVar[type] = Gaussian

    parts: tuple[Prior]
    positions: tuple[int, ...]

    @property
    def sizes(self) -> dict[str, int]:  # type: ignore[override]  # of the joint trace
        """The sizes of the prior, with the number of positions."""
        return {**self.parts[0].sizes, "n": len(self.positions)}

    def belief(self) -> Gaussian:
        """Return the belief; it is definite only if no position is taken twice."""
        belief: Gaussian = self.parts[0].belief()
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
        found = self.parts[0].formula(numbers)
        if found is None:
            return None
        rows = np.arange(found.nrows()).reshape(self.parts[0].sizes["n"], -1)[list(self.positions)]
        return numbers.block(found, rows.ravel(), rows.ravel())

    def trace_signature(self) -> Hashable:
        """Return the positions and what the prior's own trace is."""
        return self.positions, self.parts[0].trace_signature()


@attrs.frozen(eq=False, repr=False)
class JointTraceClass(_Joint, DerivedClass):
    """The joint traces of every member of a class."""

    parts: tuple[PriorClass]
    positions: tuple[int, ...]

    def derive(self, chosen: tuple[Prior, ...]) -> Prior:
        """Return the joint trace of a member."""
        return JointTrace((chosen[0],), self.positions)
