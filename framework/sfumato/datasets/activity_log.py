"""What someone did when: labelled intervals of time, and the day streams made of them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.content import ByContent, read_only
from sfumato.datasets.state_sequence import StateSequence
from sfumato.errors import DataError

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
