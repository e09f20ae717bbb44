"""A specification that means something in this process only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs

from sfumato.beliefs import Gaussian
from sfumato.laws.mutant import Mutant
from sfumato.matrices import Diagonal
from sfumato.parameters import Domain, Rejected, Sizes, declare, parameter
from sfumato.protocols import Prior

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

_SEEN: list[tuple[float, ...]] = []


@attrs.frozen
class _Numbered(Domain):
    """Variances, written as their number in a list that only this process has."""

    sentence = "variances, or the number of some seen before"

    def convert(self, value: Any, sizes: Sizes) -> tuple[float, ...]:
        """Look a number up, or keep new variances."""
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(_SEEN):
            value = _SEEN[value]
        if not isinstance(value, tuple) or not value:
            raise Rejected(str(self.sentence))
        sizes.agree("n", len(value))
        return value

    def plain(self, value: Any) -> Any:
        """Write the number."""
        if value not in _SEEN:
            _SEEN.append(value)
        return _SEEN.index(value)

    def strategy(self, sizes: Mapping[str, int]) -> SearchStrategy[Any]:
        """Draw a few variances."""
        from hypothesis import strategies as st

        del sizes
        return st.lists(st.floats(0.5, 2.0), min_size=1, max_size=4).map(tuple)


@declare
class KnownHereOnly(Prior):
    """Independent entries, specified by reference."""

    name = "mutant_known_here_only"
    yields = Gaussian

    variances: Any = parameter(_Numbered(), doc="variance of each entry")

    def belief(self) -> Gaussian:
        """Return independent entries."""
        return Gaussian(Diagonal(self.variances))


MUTANT = Mutant(
    "interface.process", KnownHereOnly, "another process has not seen what this one has"
)
