"""Streams: a release that answers while the trace happens, and can be saved and resumed.

What is random at a step is a function of a secret key and of the step alone: nothing is drawn
twice, to be averaged. Nor is it used for two values, whose difference would be told: once a state
is saved, a record outside of it holds a keyed digest of every answer, and a step that was answered
is only answered the same again, or refused, in any process and from any copy of the state.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import numpy as np

from sfumato.channels import AdditiveGaussian
from sfumato.channels.additive_gaussian import as_trace, on_grid
from sfumato.errors import OverBudget, ParameterError
from sfumato.randomness import generator_or_secure
from sfumato.values import write_whole

if TYPE_CHECKING:
    from sfumato.protocols import Release

KEY_BYTES = 32

ENVIRONMENT = "SFUMATO_STREAMS"
"""Names the folder where answered steps are recorded, instead of one in the user's state folder."""

LINE = 65
"""Bytes of an answered step in its record: a digest in hexadecimal digits, and the line's end."""


class Stream:
    """Answers each value at once; a subclass writes `answer` and what more its state holds.

    The key is as confidential as the trace itself: it tells what was added, or would be withheld.
    """

    def __init__(self, release: Release, key: bytes, time: int = 0) -> None:
        self._release, self._key, self._time = release, key, time
        self._steps = int(release.channel.trace_form[0])
        self._answers: list[Any] = []  # while no state was saved
        self._record: Path | None = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self._time} of {self._steps} steps answered>"

    def _repr_html_(self) -> str:
        from sfumato.report.cards import result_card

        answered = f"{self._time} of {self._steps} steps answered"
        return result_card("Stream", answered, mechanism=self._release.mechanism)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a stream is saved by its state, and never copied.")

    @property
    def state(self) -> dict[str, Any]:
        """What is needed to go on later, in plain values for JSON; from now on it is recorded."""
        release = fingerprint(self._release)
        if self._record is None:
            self._record = record_path(self._key, release)
            self._record.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            lines = [self._line(*answered) for answered in enumerate(self._answers)]
            write_whole(self._record, b"".join(lines).decode(), confidential=True)
        return {"time": self._time, "key": self._key.hex(), "release": release}

    @classmethod
    def resumed(cls, release: Release, saved: Mapping[str, Any]) -> Stream | None:
        """Return the stream that a state was saved by; None, or an error, if it is no state."""
        time = whole(saved["time"])
        key = bytes.fromhex(saved["key"])
        fits = 0 <= time <= release.channel.trace_form[0] and len(key) == KEY_BYTES
        return cls(release, key, time) if fits else None

    def send(self, value: Any) -> Any:
        """Return what is released for the value of now."""
        if self._time == self._steps:
            raise ParameterError(f"a stream must have at most {self._steps} states; got one more.")
        before = dict(vars(self))
        answer = self.answer(value, self._time)
        if self._record is None:
            self._answers.append(answer)
        elif not self._is_only(answer):
            vars(self).update(before)
            raise OverBudget(
                f"step {self._time} of this stream was answered for another value: two answers by "
                "the same noise would tell how the values differ; nothing was released."
            )
        self._time += 1
        return answer

    def _line(self, time: int, answer: Any) -> bytes:
        said = f"{time} {answer!r}".encode()
        return f"{hashlib.blake2b(said, key=self._key, digest_size=32).hexdigest()}\n".encode()

    def _is_only(self, answer: Any) -> bool:
        """Whether nothing else was answered for the step of now; it is on the disk from then on."""
        import fcntl

        line = self._line(self._time, answer)
        with _opened(self._record, self._time) as record:
            fcntl.flock(record, fcntl.LOCK_EX)
            record.seek(self._time * LINE)
            found = record.read(LINE)
            if len(found) < LINE:  # new, or half a line of a writer who was killed before answering
                record.seek(self._time * LINE)
                record.write(line)
                record.flush()
                os.fsync(record.fileno())
        return len(found) < LINE or found == line

    def answer(self, value: Any, time: int) -> Any:
        """Return what is released at a step."""
        raise NotImplementedError


class GaussianStream(Stream):
    """Adds the noise of a step, which does not depend on the trace: the batch's, drawn by the key.

    >>> import sfumato as sf
    >>> prior, secret = sf.priors.rbf(length_scale=2.0, times=3), sf.secrets.basic(1)
    >>> release = sf.mechanisms.gaussian_optimal(mse=0.5).protect(prior, secret)
    >>> stream = release.stream()
    >>> first, saved = stream.send(1.0), stream.state
    >>> release.stream(state=saved).send(2.0) == stream.send(2.0)
    True
    """

    def __init__(self, release: Release, key: bytes, time: int = 0) -> None:
        super().__init__(release, key, time)
        channel: AdditiveGaussian = release.channel
        self._noise = channel.noise.sample(keyed_generator(key)).reshape(channel.shape)

    def answer(self, value: Any, time: int) -> Any:
        """Return the value with the noise of its step, rounded as the batch is."""
        channel: AdditiveGaussian = self._release.channel
        row = as_trace(value, channel.shape[1:], "value")
        shown = on_grid(row + self._noise[time], channel.grid)
        return float(shown) if channel.dimensions == 1 else tuple(shown.tolist())


S = TypeVar("S", bound=Stream)


def open_stream(
    cls: type[S],
    release: Release,
    rng: np.random.Generator | None,
    state: str | Mapping[str, Any] | None,
) -> S:
    """Begin a stream, or resume one from its `state`: that table, or JSON text of it.

    Without a generator the key comes from the secure source. A state that was saved by a stream of
    another release is refused, and so is a generator beside a state, which holds its own key.
    """
    if state is None:
        source: Callable[[int], bytes] = secrets.token_bytes
        if rng is not None:
            source = generator_or_secure(rng).bytes
        return cls(release, source(KEY_BYTES))
    if rng is not None:
        raise ParameterError(
            "stream must have an rng or a state, not both; a state goes on with the decisions it "
            "was saved with."
        )
    try:
        saved = json.loads(state) if isinstance(state, str) else dict(state)
        stream, saved_by = cls.resumed(release, saved), saved["release"]
    except (KeyError, TypeError, ValueError, IndexError):
        stream = None
    if stream is None:
        raise ParameterError(
            f"state must be what the state of a stream of {release.channel.trace_form[0]} steps "
            "was; got something else (not shown, as a state holds the stream's key)."
        )
    if saved_by != (own := fingerprint(release)):
        raise ParameterError(
            f"state must have been saved by a stream of this release, {own}; got one of release "
            f"{saved_by!r}, whose answers this release's tables do not fit."
        )
    stream._record = record_path(stream._key, own)  # noqa: SLF001 - of the same module
    _opened(stream._record, saved["time"]).close()  # noqa: SLF001
    return stream  # type: ignore[return-value]  # `resumed` is of the class


def record_path(key: bytes, release: str) -> Path:
    """Return where the answered steps of a stream are recorded."""
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    folder = Path(os.environ.get(ENVIRONMENT) or Path(home) / "sfumato" / "streams")
    return folder / hashlib.sha256(key + release.encode()).hexdigest()


def _opened(record: Path | None, time: int) -> Any:
    """Return the record of a stream that has answered so many steps, or refuse to go on."""
    if record is None or not record.exists() or record.stat().st_size < time * LINE:
        raise ParameterError(
            f"a saved stream must have the record of the {time} steps it has answered, {record}; "
            "without it nobody can tell what was answered since: begin another stream."
        )
    return record.open("r+b", buffering=0)


def fingerprint(release: Release) -> str:
    """Return 16 digits that another release has with probability 2⁻⁶⁴; a state holds them.

    The recipe (mechanism, prior and secret) counts in full, so that another δ is another release;
    the numbers that came of it to six digits, as a design done again may differ by rounding.
    """
    recipe = [noun.specification() for noun in (release.mechanism, release.prior, release.secret)]
    digest = hashlib.sha256(json.dumps(recipe, sort_keys=True, default=repr).encode())
    names, tables = release.channel.essence()
    digest.update(repr(names).encode())
    for table in tables:
        digest.update(np.round(table, 6).tobytes())
    return digest.hexdigest()[:16]


def keyed_generator(key: bytes) -> np.random.Generator:
    """Return the generator of a key: ChaCha, whose numbers are a function of the key alone."""
    from randomgen import ChaCha

    return np.random.Generator(ChaCha(key=int.from_bytes(key), rounds=20))


def whole(value: Any) -> int:
    """Return a whole number of a saved state as it is."""
    if type(value) is not int:
        raise TypeError("a saved state must hold whole numbers.")
    return value
