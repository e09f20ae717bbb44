"""A release that withholds states, one at a time if need be."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from typing import Any

import attrs
import numpy as np

from sfumato.channels import RelabelledSuppression, Suppression, suppression_of
from sfumato.errors import ParameterError
from sfumato.inference.expected_releases import expected_releases
from sfumato.protocols import Mechanism, PriorClass, Release, Secret
from sfumato.quantities import EXPECTED_RELEASES
from sfumato_suppression.release_fingerprint import release_fingerprint
from sfumato_suppression.suppression_stream import SuppressionStream


@attrs.frozen(kw_only=True)
class SuppressingRelease(Release):
    """A release whose channel suppresses states; it can answer while the trace happens.

    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain(
    ...     initial=[0.5, 0.5], transitions=[[0.5, 0.5], [0.5, 0.5]], steps=2, states=["s", "x"]
    ... )
    >>> release = sf.mechanisms.suppress_sensitive().protect(chain, sf.secrets.contexts({"s"}))
    >>> stream = release.stream()
    >>> stream.send("s"), stream.send("x")
    (sf.SUPPRESSED, 'x')
    """

    @cached_property
    def fingerprint(self) -> str:
        """A few digits that another release does not share; a stream's `state` holds them."""
        return release_fingerprint(self)

    def stream(
        self,
        rng: np.random.Generator | None = None,
        state: str | Mapping[str, Any] | None = None,
    ) -> SuppressionStream:
        """Begin a stream, or resume one from its `state`.

        Without a generator the decisions come from the secure source. A state that was saved by
        a stream of another release is refused. A state holds its own decisions to come, so none
        can be drawn from a generator then.
        """
        if state is not None and rng is not None:
            raise ParameterError(
                "stream must have an rng or a state, not both; a state goes on with the decisions "
                "it was saved with."
            )
        if state is not None:
            return SuppressionStream.resumed(self.channel, state, lambda: self.fingerprint)
        return SuppressionStream.begun(self.channel, rng, lambda: self.fingerprint)

    def apply(
        self, trace: Sequence[Hashable], rng: np.random.Generator | None = None
    ) -> tuple[Any, ...]:
        """Release a whole trace: what the stream answers, state by state."""
        if len(trace) != self.channel.steps:
            raise ParameterError(f"trace must have {self.channel.steps} states; got {len(trace)}.")
        stream = self.stream(rng)
        return tuple([stream.send(state) for state in trace])


def suppressing_release(
    mechanism: Mechanism,
    prior: PriorClass,
    secret: Secret,
    channel: Suppression | RelabelledSuppression,
    claims: Mapping[str, Any] | None = None,
) -> SuppressingRelease:
    """Return the release; over a class its utility is that of the least favourable member."""
    decides = suppression_of(channel)
    worst = prior.supremum(lambda member: -expected_releases(member.belief(), decides))
    return SuppressingRelease(
        mechanism=mechanism,
        prior=prior,
        secret=secret,
        channel=channel,
        utility_value=-worst.value,
        utility_quantity=EXPECTED_RELEASES,
        claims=claims or {},
    )
