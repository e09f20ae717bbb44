"""Priors made of others: sums, products, and classes of what their members make."""

from __future__ import annotations

import functools
import itertools
from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, ClassVar

import attrs

from sfumato.beliefs import Gaussian
from sfumato.errors import Incompatible, ParameterError
from sfumato.prior_classes.sets import weakest
from sfumato.protocols import Prior, PriorClass, Supremum

SYMBOLS = {"sum": "+", "product": "*"}


@attrs.frozen(eq=False, repr=False)
class CombinedPrior(Prior):
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
    def name(self) -> str:  # type: ignore[override]  # of the object, not of the class
        """The names of the parts, joined."""
        return f" {SYMBOLS[self.operation]} ".join(part.name for part in self.parts)

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

    def specification(self) -> dict[str, Any]:
        """Return the plain table that rebuilds the prior."""
        return {self.operation: [part.specification() for part in self.parts]}

    def __repr__(self) -> str:
        return infix(self.operation, self.parts)


def infix(operation: str, parts: Sequence[Any]) -> str:
    """Write the combination as code, with brackets around combinations of another kind."""
    texts = [f"({part!r})" if hasattr(part, "operation") else repr(part) for part in parts]
    return f" {SYMBOLS[operation]} ".join(texts)


def combine(operation: str, parts: Sequence[Any]) -> PriorClass:
    """Return the sum or product; combinations of the same kind are joined into one.

    >>> import sfumato as sf
    >>> rough = sf.priors.rbf(length_scale=sf.AnyOf(1.0, 2.0), times=4)
    >>> combine("sum", [rough, sf.priors.rbf(length_scale=9.0, times=4)]).finite
    True
    """
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
class CombinedClass(DerivedClass):
    """Every sum (or product) of a member of each part."""

    operation: str
    parts: tuple[PriorClass, ...]

    def __attrs_post_init__(self) -> None:
        for _ in self.members():  # every combination is checked where it is made
            pass

    @property
    def name(self) -> str:
        """The names of the parts, joined."""
        return f" {SYMBOLS[self.operation]} ".join(part.name for part in self.parts)

    def derive(self, chosen: tuple[Prior, ...]) -> Prior:
        """Return the sum or the product."""
        return CombinedPrior(self.operation, chosen)

    def specification(self) -> dict[str, Any]:
        """Return the plain table that rebuilds the class."""
        return {self.operation: [part.specification() for part in self.parts]}

    def __repr__(self) -> str:
        return infix(self.operation, self.parts)
