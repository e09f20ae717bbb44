"""A release that suppresses states, and the stream that answers while the trace happens."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from typing import Any

import attrs
import numpy as np

from sfumato.channels import (
    RelabelledSuppression,
    RememberingSuppression,
    Suppression,
    suppression_of,
)
from sfumato.channels.suppression import LastRelease
from sfumato.errors import ParameterError
from sfumato.inference.markov.segments import expected_releases
from sfumato.protocols import Mechanism, PriorClass, Release, Secret
from sfumato.quantities import EXPECTED_RELEASES
from sfumato.randomness import generator_or_secure
from sfumato.values import SUPPRESSED, position_in, positions_of

KEY_BYTES = 32

AnySuppression = Suppression | RelabelledSuppression | RememberingSuppression


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

    @cached_property
    def fingerprint(self) -> str:
        """16 digits that another release has with probability 2⁻⁶⁴; a stream's `state` holds them.

        The recipe (mechanism, prior and secret) counts in full, so that another δ is another
        release; the tables that came of it to six decimals, as a design done again may differ by
        rounding.
        """
        recipe = [noun.specification() for noun in (self.mechanism, self.prior, self.secret)]
        digest = hashlib.sha256(json.dumps(recipe, sort_keys=True, default=repr).encode())
        if isinstance(self.channel, RememberingSuppression):
            digest.update(repr((self.channel.states, self.channel.visits)).encode())
            tables: tuple[Any, ...] = self.channel.tables
        else:
            channel = suppression_of(self.channel)
            digest.update(repr(channel.states).encode())
            tables = channel.start, channel.after
        for table in tables:
            if table is not None:
                digest.update(np.round(table, 6).tobytes())
        return digest.hexdigest()[:16]

    def stream(
        self,
        rng: np.random.Generator | None = None,
        state: str | Mapping[str, Any] | None = None,
    ) -> SuppressionStream:
        """Begin a stream, or resume one from its `state`: that table, or JSON text of it.

        Without a generator the decisions come from the secure source. A state that was saved by
        a stream of another release is refused. A state holds its own decisions to come, so none
        can be drawn from a generator then.
        """
        if state is None:
            source = secrets.token_bytes if rng is None else generator_or_secure(rng).bytes
            return SuppressionStream(self, source(KEY_BYTES))
        if rng is not None:
            raise ParameterError(
                "stream must have an rng or a state, not both; a state goes on with the decisions "
                "it was saved with."
            )
        saved, saved_by = _read_state(state, self.channel)
        if saved_by != self.fingerprint:
            raise ParameterError(
                f"state must have been saved by a stream of this release, {self.fingerprint}; got "
                f"one of release {saved_by!r}, whose answers this release's tables do not fit."
            )
        return SuppressionStream(self, *saved)

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


class SuppressionStream:
    """Answers each state at once with what is shown for it, or `SUPPRESSED`.

    The coin of time t is a function of a secret key and of t alone. So whoever resumes a saved
    `state`, once or many times, meets the same coins again: no decision is ever drawn twice, and
    nobody can send the same state until it is let through.

    The key is as confidential as the trace itself: it tells which states would be suppressed.
    """

    def __init__(
        self,
        release: SuppressingRelease,
        key: bytes,
        time: int = 0,
        last: LastRelease = None,
        memory: int = 0,
    ) -> None:
        channel: AnySuppression = release.channel
        self._release, self._key, self._time, self._last = release, key, time, last
        self._remembering = channel if isinstance(channel, RememberingSuppression) else None
        self._memory = memory  # of the last visit; part of the secret, like the key
        self._shown = (
            channel.shown if isinstance(channel, RelabelledSuppression) else channel.states
        )
        self._positions = positions_of(channel.states)
        self._coins = _coins(key, channel.steps)
        if not isinstance(channel, RememberingSuppression):
            self._suppression = suppression_of(channel)
            self._table = self._suppression.table(last)

    @property
    def state(self) -> dict[str, Any]:
        """What is needed to go on later, in plain values for JSON."""
        last = None if self._last is None else list(self._last)
        release = self._release.fingerprint
        saved = {"time": self._time, "last": last, "key": self._key.hex(), "release": release}
        return saved if self._remembering is None else {**saved, "memory": self._memory}

    def send(self, state: Hashable) -> Any:
        """Return what is released for the state of now."""
        time = self._time
        if time == len(self._coins):
            raise ParameterError(f"a stream must have at most {time} states; got one more.")
        try:
            position = self._positions[state]
        except (KeyError, TypeError):
            position = position_in(self._positions, state, "states")  # says what is wrong
        self._time = time + 1
        # Coins lie in [0, 1): probability 0 never suppresses, probability 1 always does.
        if self._remembering is not None:
            self._memory = self._remembering.visits_at(time).get(position, self._memory)
            chances = self._remembering.chances(self._last, time)[self._memory]
        else:
            chances = self._table[time]
        if self._coins[time] < chances[position]:
            return SUPPRESSED
        self._last = (time, position)
        if self._remembering is None:
            self._table = self._suppression.table(self._last)
        return self._shown[position]


def _coins(key: bytes, count: int) -> list[float]:
    """Return uniform numbers in [0, 1), a function of the key alone."""
    from randomgen import ChaCha

    source = np.random.Generator(ChaCha(key=int.from_bytes(key), rounds=20))
    return [float(coin) for coin in source.random(count)]


def _read_state(
    state: str | Mapping[str, Any], channel: AnySuppression
) -> tuple[tuple[bytes, int, LastRelease, int], Any]:
    """Return key, time, last release and memory, and the fingerprint, as they were saved."""
    steps, states = channel.trace_form
    visits = channel.visits if isinstance(channel, RememberingSuppression) else ()
    try:
        saved = json.loads(state) if isinstance(state, str) else dict(state)
        key, time, last = bytes.fromhex(saved["key"]), _whole(saved["time"]), saved["last"]
        shown = None if last is None else (_whole(last[0]), _whole(last[1]))
        fits = 0 <= time <= steps and len(key) == KEY_BYTES
        if shown is not None:
            fits &= 0 <= shown[0] < time and 0 <= shown[1] < len(states)
        remembers = isinstance(channel, RememberingSuppression)
        memory = _whole(saved["memory"]) if remembers else 0
        fits &= memory == 0 or (0 < memory <= len(visits) and visits[memory - 1][0] < time)
        saved_by = saved["release"]
    except (KeyError, TypeError, ValueError, IndexError):
        fits = False
    if not fits:
        raise ParameterError(
            f"state must be what the state of a stream of {steps} steps was; got something else "
            "(not shown, as a state holds the stream's key)."
        )
    return (key, time, shown, memory), saved_by


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise TypeError("a saved state must hold whole numbers.")
    return value
