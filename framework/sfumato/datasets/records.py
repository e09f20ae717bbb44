"""A recorded trace of numbers."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from datetime import UTC, datetime
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.values import ByContent, read_only


def _columns(values: Any) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    return read_only(array[:, None] if array.ndim == 1 else array)


@attrs.frozen(eq=False)
class RealTrace(ByContent):
    """Numbers recorded at times: N time stamps in seconds and an (N, d) array of values.

    Time stamps never decrease; NaN and infinities are rejected.

    >>> trace = RealTrace("ann", [0.0, 5.0], [[1.0, 2.0], [1.5, 2.5]])
    >>> len(trace), trace.dimensions
    (2, 2)
    """

    user: str
    times: NDArray[np.float64] = attrs.field(converter=read_only)
    values: NDArray[np.float64] = attrs.field(converter=_columns)
    name: str = ""

    def __attrs_post_init__(self) -> None:
        count = len(self.times)
        if self.times.shape != (count,) or self.values.shape[:1] != (count,) or count == 0:
            raise DataError(
                f"a trace must have as many rows of values as times, at least one; got "
                f"{self.values.shape} for {self.times.shape}."
            )
        if not (np.isfinite(self.times).all() and np.isfinite(self.values).all()):
            raise DataError(f"a trace must be finite; got NaN or infinity for {self.user!r}.")
        if (np.diff(self.times) < 0).any():
            raise DataError(f"times of a trace must not decrease; got a step back: {self.user!r}.")

    def __len__(self) -> int:
        return len(self.times)

    @property
    def dimensions(self) -> int:
        """The number of values at each time."""
        return int(self.values.shape[1])


def _labels(states: Iterable[Hashable]) -> tuple[Hashable, ...]:
    return tuple(states)


@attrs.frozen(eq=False)
class StateSequence(ByContent):
    """Labels recorded at times (seconds): check-ins, contexts, rooms.

    >>> day = StateSequence("ann", [0.0, 1800.0], ["home", "work"])
    >>> day.states
    ('home', 'work')
    """

    user: str
    times: NDArray[np.float64] = attrs.field(converter=read_only)
    states: tuple[Hashable, ...] = attrs.field(converter=_labels)
    name: str = ""

    def __attrs_post_init__(self) -> None:
        if self.times.shape != (len(self.states),) or not self.states:
            raise DataError(
                f"a sequence must have as many states as times, at least one; got "
                f"{len(self.states)} states and times of shape {self.times.shape}."
            )
        if not np.isfinite(self.times).all() or (np.diff(self.times) < 0).any():
            raise DataError(f"times must be finite and not decrease; got others: {self.user!r}.")

    def __len__(self) -> int:
        return len(self.states)


def labels_of(sequences: Iterable[StateSequence]) -> tuple[Hashable, ...]:
    """Return every label of the sequences once, in alphabetical order.

    >>> labels_of([StateSequence("ann", [0.0, 1.0], ["work", "home"])])
    ('home', 'work')
    """
    return tuple(sorted({state for sequence in sequences for state in sequence.states}, key=str))


SECONDS_PER_DAY = 86400


def _names(activities: Iterable[str]) -> tuple[str, ...]:
    return tuple(activities)


@attrs.frozen(eq=False)
class ActivityLog(ByContent):
    """Activities of one home with their beginnings and ends (seconds since 1970).

    >>> log = ActivityLog("A", [0.0, 43200.0], [30000.0, 90000.0], ["sleep", "out"])
    >>> [day.states for day in log.day_streams(minutes=360)]
    [('sleep', 'sleep', 'out', 'out')]
    """

    home: str
    begins: NDArray[np.float64] = attrs.field(converter=read_only)
    ends: NDArray[np.float64] = attrs.field(converter=read_only)
    activities: tuple[str, ...] = attrs.field(converter=_names)

    def __attrs_post_init__(self) -> None:
        count = len(self.activities)
        if count == 0 or self.begins.shape != (count,) or self.ends.shape != (count,):
            raise DataError(
                f"an activity log must have a beginning and an end for each activity; got "
                f"{count} activities, {self.begins.shape} and {self.ends.shape}."
            )
        if not (self.begins <= self.ends).all():  # written so that NaN fails
            raise DataError(f"an activity must not end before it begins; got one of {self.home}.")

    def day_streams(self, *, minutes: int = 30, idle: str = "nothing") -> list[StateSequence]:
        """Return one stream for each day that the log covers from midnight to midnight.

        Step k of a day holds the activity in force at k · `minutes` after midnight: of those that
        have begun and not ended the one begun last, or `idle` where there is none.
        The first and the last day count only where the log covers all of their steps.
        """
        if minutes < 1 or (24 * 60) % minutes:
            raise DataError(f"minutes must divide a day; got {minutes}.")
        steps = np.arange(0, SECONDS_PER_DAY, minutes * 60)
        first = int(np.ceil(self.begins.min() / SECONDS_PER_DAY))
        last = int(np.floor((self.ends.max() - steps[-1]) / SECONDS_PER_DAY))
        return [
            StateSequence(
                f"{self.home} {_date(day)}",
                day * SECONDS_PER_DAY + steps.astype(np.float64),
                self._in_force(day * SECONDS_PER_DAY + steps, idle),
            )
            for day in range(first, last + 1)
        ]

    def _in_force(self, moments: NDArray[np.int64], idle: str) -> list[str]:
        open_now = (self.begins <= moments[:, None]) & (moments[:, None] < self.ends)
        newest = np.where(open_now, self.begins, -np.inf).argmax(axis=1)
        labels = np.array([*self.activities, idle], dtype=object)
        labelled = np.where(np.any(open_now, axis=1), newest, len(self.activities))
        return [str(label) for label in labels[labelled]]


def _date(day: int) -> str:
    return datetime.fromtimestamp(day * SECONDS_PER_DAY, UTC).date().isoformat()


EARTH_RADIUS = 6.371e6


@attrs.frozen
class LocalMetres:
    """The flat map (x, y) = R (cos φ₀ · longitude, latitude), in metres, at a public latitude φ₀.

    The map is linear and does not depend on the trace, so that noise in metres is noise of known
    covariance in degrees.

    >>> flat = LocalMetres(0.0)
    >>> flat.metres(np.array([[0.0, 1.0]])).round(1)
    array([[111194.9,      0. ]])
    """

    latitude: float = attrs.field(converter=float)

    def __attrs_post_init__(self) -> None:
        if not -89 <= self.latitude <= 89:  # written so that NaN fails
            raise DataError(f"the latitude must lie within ±89 degrees; got {self.latitude}.")

    @property
    def _stretch(self) -> NDArray[np.float64]:
        """Metres for each degree of longitude and of latitude."""
        degree = math.radians(1.0) * EARTH_RADIUS
        return np.array([degree * math.cos(math.radians(self.latitude)), degree])

    def metres(self, degrees: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (x, y) of rows (latitude, longitude)."""
        return degrees[:, ::-1] * self._stretch

    def degrees(self, metres: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (latitude, longitude) of rows (x, y)."""
        return (metres / self._stretch)[:, ::-1]
