"""Sums and products of single priors."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, ClassVar

import attrs

from sfumato.beliefs import Gaussian
from sfumato.errors import Incompatible, ParameterError
from sfumato.protocols.prior import Prior

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
        from sfumato.beliefs.gaussian_algebra import gaussian_product, gaussian_sum

        beliefs = [part.belief() for part in self.parts]
        return gaussian_sum(beliefs) if self.operation == "sum" else gaussian_product(beliefs)

    def trace_signature(self) -> Hashable:
        """Return what the parts share."""
        return self.parts[0].trace_signature()

    def specification(self) -> dict[str, Any]:
        """Return the plain table that rebuilds the prior."""
        return {self.operation: [part.specification() for part in self.parts]}

    def __repr__(self) -> str:
        return shown(self.operation, self.parts)


def shown(operation: str, parts: Sequence[Any]) -> str:
    """Write the combination as code, with brackets around combinations of another kind."""
    texts = [f"({part!r})" if hasattr(part, "operation") else repr(part) for part in parts]
    return f" {SYMBOLS[operation]} ".join(texts)
