"""Decisions one at a time: a table look-up, and a coin that can be tossed only once."""

from __future__ import annotations

import json
import secrets
from collections.abc import Hashable, Mapping
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
    """

    def __init__(
        self,
        channel: Suppression | RelabelledSuppression,
        key: bytes,
        time: int = 0,
        last: LastRelease = None,
    ) -> None:
        self._suppression = suppression_of(channel)
        self._shown = (
            channel.shown if isinstance(channel, RelabelledSuppression) else channel.states
        )
        self._positions = positions_of(channel.states)
        self._key = key
        self._coins = _coins(key, channel.steps)
        self._time = time
        self._last = last
        self._table = self._suppression.table(last)

    @classmethod
    def begun(
        cls,
        channel: Suppression | RelabelledSuppression,
        rng: np.random.Generator | None = None,
    ) -> SuppressionStream:
        """Begin at time 0 with a key from the secure source, or from a generator for research."""
        if rng is None:
            return cls(channel, secrets.token_bytes(KEY_BYTES))
        return cls(channel, generator_or_secure(rng).bytes(KEY_BYTES))

    @classmethod
    def resumed(
        cls,
        channel: Suppression | RelabelledSuppression,
        state: str | Mapping[str, Any],
    ) -> SuppressionStream:
        """Go on from a saved `state`, given as the table itself or as JSON text."""
        try:
            saved = json.loads(state) if isinstance(state, str) else dict(state)
            key, time, last = bytes.fromhex(saved["key"]), _whole(saved["time"]), saved["last"]
            release = None if last is None else (_whole(last[0]), _whole(last[1]))
            fits = 0 <= time <= channel.steps and len(key) == KEY_BYTES
            if release is not None:
                fits &= 0 <= release[0] < time and 0 <= release[1] < len(channel.states)
        except (KeyError, TypeError, ValueError, IndexError):
            fits = False
        if not fits:
            raise ParameterError(
                f"state must be what the state of a stream of {channel.steps} steps was; got "
                "something else (not shown, as a state holds the stream's key)."
            )
        return cls(channel, key, time, release)

    @property
    def state(self) -> dict[str, Any]:
        """What is needed to go on later, in plain values for JSON."""
        last = None if self._last is None else list(self._last)
        return {"time": self._time, "last": last, "key": self._key.hex()}

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
