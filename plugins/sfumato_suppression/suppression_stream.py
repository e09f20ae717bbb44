"""Decisions one at a time: a table look-up, and a coin that can be tossed only once."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np

from sfumato.channels import RelabelledSuppression, Suppression, suppression_of
from sfumato.channels.suppression import LastRelease
from sfumato.errors import ParameterError
from sfumato.labels import position_in, positions_of
from sfumato.randomness import generator_or_secure
from sfumato.suppressed import SUPPRESSED

KEY_BYTES = 32


class SuppressionStream:
    """Answers each state at once with what is shown for it, or `SUPPRESSED`.

    The coin of time t is a function of a secret key and of t alone. So whoever resumes a saved
    `state`, once or many times, meets the same coins again: no decision is ever drawn twice, and
    nobody can send the same state until it is let through.

    The key is as confidential as the trace itself: it tells which states would be suppressed.

    Parameters
    ----------
    channel
        What decides.
    fingerprint
        Returns the digits of the release, which a saved `state` holds; called only if needed.
    key
        Where the coins come from.
    time, last
        How many states were sent, and the last release.
    """

    def __init__(
        self,
        channel: Suppression | RelabelledSuppression,
        fingerprint: Callable[[], str],
        key: bytes,
        time: int = 0,
        last: LastRelease = None,
    ) -> None:
        self._suppression = suppression_of(channel)
        self._shown = (
            channel.shown if isinstance(channel, RelabelledSuppression) else channel.states
        )
        self._positions = positions_of(channel.states)
        self._fingerprint = fingerprint
        self._key = key
        self._coins = _coins(key, channel.steps)
        self._time = time
        self._last = last
        self._table = self._suppression.table(last)

    @classmethod
    def begun(
        cls,
        channel: Suppression | RelabelledSuppression,
        rng: np.random.Generator | None,
        fingerprint: Callable[[], str],
    ) -> SuppressionStream:
        """Begin at time 0 with a key from the secure source, or from a generator for research."""
        if rng is None:
            return cls(channel, fingerprint, secrets.token_bytes(KEY_BYTES))
        return cls(channel, fingerprint, generator_or_secure(rng).bytes(KEY_BYTES))

    @classmethod
    def resumed(
        cls,
        channel: Suppression | RelabelledSuppression,
        state: str | Mapping[str, Any],
        fingerprint: Callable[[], str],
    ) -> SuppressionStream:
        """Go on from a saved `state`, given as the table itself or as JSON text."""
        try:
            saved = json.loads(state) if isinstance(state, str) else dict(state)
            key, time, last = bytes.fromhex(saved["key"]), _whole(saved["time"]), saved["last"]
            shown = None if last is None else (_whole(last[0]), _whole(last[1]))
            saved_by = saved["release"]
            fits = 0 <= time <= channel.steps and len(key) == KEY_BYTES
            if shown is not None:
                fits &= 0 <= shown[0] < time and 0 <= shown[1] < len(channel.states)
        except (KeyError, TypeError, ValueError, IndexError):
            fits = False
        if not fits:
            raise ParameterError(
                f"state must be what the state of a stream of {channel.steps} steps was; got "
                "something else (not shown, as a state holds the stream's key)."
            )
        if saved_by != fingerprint():
            raise ParameterError(
                f"state must have been saved by a stream of this release, {fingerprint()}; got one "
                f"of release {saved_by!r}, whose answers this release's tables do not fit."
            )
        return cls(channel, fingerprint, key, time, shown)

    @property
    def state(self) -> dict[str, Any]:
        """What is needed to go on later, in plain values for JSON."""
        last = None if self._last is None else list(self._last)
        release = self._fingerprint()
        return {"time": self._time, "last": last, "key": self._key.hex(), "release": release}

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
        if self._coins[time] < self._table[time, position]:
            return SUPPRESSED
        self._last = (time, position)
        self._table = self._suppression.table(self._last)
        return self._shown[position]


def _coins(key: bytes, count: int) -> list[float]:
    """Return uniform numbers in [0, 1), a function of the key alone."""
    from randomgen import ChaCha

    source = np.random.Generator(ChaCha(key=int.from_bytes(key), rounds=20))
    return [float(coin) for coin in source.random(count)]


def _whole(value: object) -> int:
    """Return a whole number as it was saved; anything else was not saved by a stream."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"a saved state must hold whole numbers; got {value!r}.")
    return value
