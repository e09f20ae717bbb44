"""A release that suppresses states, and the stream that answers while the trace happens."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from sfumato.channels import RememberingSuppression, Suppression
from sfumato.channels.suppression import LastRelease
from sfumato.errors import ParameterError
from sfumato.inference.markov.remembered import expected_releases
from sfumato.protocols import Mechanism, PriorClass, Release, Secret
from sfumato.quantities import EXPECTED_RELEASES
from sfumato.release.streams import Stream, keyed_generator, open_stream, whole
from sfumato.values import SUPPRESSED, position_in, positions_of


@attrs.frozen(kw_only=True, repr=False)
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

    def stream(
        self,
        rng: np.random.Generator | None = None,
        state: str | Mapping[str, Any] | None = None,
    ) -> SuppressionStream:
        """Begin a stream, or resume one from its `state`: that table, or JSON text of it."""
        return open_stream(SuppressionStream, self, rng, state)

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
    channel: Suppression,
    claims: Mapping[str, Any] | None = None,
) -> SuppressingRelease:
    """Return the release; over a class its utility is that of the least favourable member."""
    worst = prior.supremum(lambda member: -expected_releases(member.belief(), channel))
    return SuppressingRelease(
        mechanism=mechanism,
        prior=prior,
        secret=secret,
        channel=channel,
        utility_value=-worst.value,
        utility_quantity=EXPECTED_RELEASES,
        claims=claims or {},
    )


class SuppressionStream(Stream):
    """Answers each state at once with what is shown for it, or `SUPPRESSED`.

    The coin of time t is a function of the key and of t alone, so nobody can send the same state
    until it is let through.
    """

    def __init__(
        self,
        release: SuppressingRelease,
        key: bytes,
        time: int = 0,
        last: LastRelease = None,
        memory: int = 0,
    ) -> None:
        super().__init__(release, key, time)
        channel: Suppression | RememberingSuppression = release.channel
        self._channel, self._last = channel, last
        self._memory = memory  # of the last visit; part of the secret, like the key
        self._positions = positions_of(channel.states)
        self._coins = [float(coin) for coin in keyed_generator(key).random(channel.steps)]

    @property
    def state(self) -> dict[str, Any]:
        """What is needed to go on later, in plain values for JSON."""
        last = None if self._last is None else list(self._last)
        remembers = isinstance(self._channel, RememberingSuppression)
        saved = {"memory": self._memory} if remembers else {}
        return {**super().state, "last": last, **saved}

    @classmethod
    def resumed(cls, release: Release, saved: Mapping[str, Any]) -> SuppressionStream | None:
        """Return the stream with the last release and the memory that were saved."""
        stream, channel, last = super().resumed(release, saved), release.channel, saved["last"]
        if stream is None:
            return None
        time = stream._time  # noqa: SLF001 - its own
        shown = None if last is None else (whole(last[0]), whole(last[1]))
        if shown is not None and not (0 <= shown[0] < time and 0 <= shown[1] < len(channel.states)):
            return None
        memory = 0
        if isinstance(channel, RememberingSuppression):
            memory, visits = whole(saved["memory"]), channel.visits
            if memory and not (0 < memory <= len(visits) and visits[memory - 1][0] < time):
                return None
        return cls(release, stream._key, time, shown, memory)  # type: ignore[arg-type]  # noqa: SLF001

    def answer(self, value: Hashable, time: int) -> Any:
        """Return what is released for the state of now."""
        try:
            position = self._positions[value]
        except (KeyError, TypeError):
            position = position_in(self._positions, value, "states")  # says what is wrong
        # Coins lie in [0, 1): probability 0 never suppresses, probability 1 always does.
        if isinstance(self._channel, RememberingSuppression):
            self._memory = self._channel.visits_at(time).get(position, self._memory)
        if self._coins[time] < self._channel.chances(self._last, time)[self._memory, position]:
            return SUPPRESSED
        self._last = (time, position)
        return self._channel.shown[position]
