"""A study: one or more comparisons under a title."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from sfumato.comparison import Comparison, compare
from sfumato.protocols.loss_measure import LossMeasure
from sfumato.protocols.mechanism import Mechanism
from sfumato.protocols.prior_class import PriorClass
from sfumato.protocols.secret import Secret


@attrs.frozen(kw_only=True)
class Part:
    """One comparison: every prior, secret, mechanism and measure of its lists."""

    title: str = ""
    priors: tuple[PriorClass, ...]
    secrets: tuple[Secret, ...]
    mechanisms: tuple[Mechanism, ...]
    measures: tuple[LossMeasure, ...]


@attrs.frozen(kw_only=True)
class Study:
    """A titled question in one or more parts."""

    title: str
    notes: str = ""
    parts: tuple[Part, ...]

    def run(self) -> Iterator[tuple[Part, Comparison]]:
        """Yield each part with its comparison, as it is finished."""
        for part in self.parts:
            yield part, compare(part.priors, part.secrets, part.mechanisms, part.measures)
