"""The domain of scikit-learn kernels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs

from sfumato.domains import Domain, Rejected, Sizes
from sfumato_gaussian_process.kernel_expression import KernelExpression

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


@attrs.frozen
class KernelDomain(Domain):
    """A scikit-learn kernel: the object itself, or a table of its name and parameters.

    >>> KernelDomain().convert({"name": "RBF", "length_scale": 2.0}, Sizes()).name
    'RBF'
    """

    @property
    def sentence(self) -> str:
        """Describe both forms."""
        return 'a scikit-learn kernel, or a table such as {name = "RBF", length_scale = 2.0}'

    def convert(self, value: Any, sizes: Sizes) -> KernelExpression:
        """Return the expression."""
        del sizes
        try:
            return KernelExpression.read(value)
        except ValueError as reason:
            raise Rejected(str(reason)) from None

    def plain(self, value: Any) -> Any:
        """Write the table."""
        return KernelExpression.read(value).plain()

    def opened(self, value: Any) -> Any:
        """Return the table of a kernel and of the kernels inside it."""
        return KernelExpression.opened(value)

    def strategy(self, sizes: Mapping[str, int]) -> SearchStrategy[Any]:
        """Draw kernels, sums and products of them."""
        from hypothesis import strategies as st

        del sizes
        scale = st.floats(0.25, 8.0)
        single = st.one_of(
            st.builds(lambda x: {"name": "RBF", "length_scale": x}, scale),
            st.builds(
                lambda x, a: {"name": "RationalQuadratic", "length_scale": x, "alpha": a},
                scale,
                scale,
            ),
            st.builds(
                lambda x, p: {"name": "ExpSineSquared", "length_scale": x, "periodicity": p},
                scale,
                scale,
            ),
            st.builds(lambda x: {"name": "WhiteKernel", "noise_level": x}, scale),
        )
        pair = st.builds(
            lambda name, one, other: {"name": name, "k1": one, "k2": other},
            st.sampled_from(["Sum", "Product"]),
            single,
            single,
        )
        return (single | pair).map(KernelExpression.read)
