"""What is recorded of one person: a trace of numbers, or a sequence of states."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError
from sfumato.quantities import count_text
from sfumato.values import ByContent, read_only

EARTH_RADIUS = 6.371e6


def _columns(values: Any) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    return read_only(array[:, None] if array.ndim == 1 else array)


def _labels(states: Iterable[Hashable]) -> tuple[Hashable, ...]:  # typed, as `tuple` would not be
    return tuple(states)


def _require_times(times: NDArray[np.float64], count: int, what: str, user: str) -> None:
    if times.shape != (count,) or count == 0:
        raise DataError(
            f"a record must have as many {what} as times, at least one; got {count} and times of "
            f"shape {times.shape}: {user!r}."
        )
    if not np.isfinite(times).all() or (np.diff(times) < 0).any():
        raise DataError(f"times must be finite and not decrease; got others: {user!r}.")


class Record(ByContent):
    """What both kinds of record share: whose it is, when, and how it shows itself."""

    __slots__ = ()

    user: str
    times: NDArray[np.float64]
    name: str

    def __len__(self) -> int:
        return len(self.times)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.user!r:.60}: {count_text(len(self), 'sample')}>"

    def _repr_html_(self) -> str:
        from sfumato.report.cards import result_card

        kind = "numbers" if isinstance(self, RealTrace) else "states"
        facts = {"name": self.name} if self.name else {}
        facts |= {"from": f"{self.times[0]:g} s", "to": f"{self.times[-1]:g} s"}
        size = count_text(len(self), "sample")
        return result_card(f"Trace of {kind}", f"{self.user}: {size}", **facts)


@attrs.frozen(eq=False, repr=False)
class RealTrace(Record):
    """Numbers recorded at times: N time stamps in seconds and an (N, d) array of values.

    Time stamps never decrease; NaN and infinities are rejected.

    >>> from sfumato.datasets import RealTrace
    >>> trace = RealTrace("ann", [0.0, 5.0], [[1.0, 2.0], [1.5, 2.5]])
    >>> len(trace), trace.dimensions
    (2, 2)
    """

    user: str
    times: NDArray[np.float64] = attrs.field(converter=read_only)
    values: NDArray[np.float64] = attrs.field(converter=_columns)
    name: str = ""
    columns: tuple[str, ...] = ()  # what a table calls the values, if it was read from one
    since: float = 0.0  # when time zero was, where times are counted from the first sample
    named: bool = True  # whether the data say whose it is; a file's name does not

    def __attrs_post_init__(self) -> None:
        _require_times(self.times, len(self.values), "rows of values", self.user)
        if not np.isfinite(self.values).all():
            raise DataError(f"a trace must be finite; got NaN or infinity for {self.user!r}.")

    @property
    def dimensions(self) -> int:
        """The number of values at each time."""
        return int(self.values.shape[1])


@attrs.frozen(eq=False, repr=False)
class StateSequence(Record):
    """Labels recorded at times (seconds): check-ins, contexts, rooms.

    >>> from sfumato.datasets import StateSequence
    >>> day = StateSequence("ann", [0.0, 1800.0], ["home", "work"])
    >>> day.states
    ('home', 'work')
    """

    user: str
    times: NDArray[np.float64] = attrs.field(converter=read_only)
    states: tuple[Hashable, ...] = attrs.field(converter=_labels)
    name: str = ""
    named: bool = True  # whether the data say whose it is; a file's name does not

    def __attrs_post_init__(self) -> None:
        _require_times(self.times, len(self.states), "states", self.user)


def labels_of(sequences: Iterable[StateSequence]) -> tuple[Hashable, ...]:
    """Return every label of the sequences once, in alphabetical order.

    >>> from sfumato.datasets import StateSequence, labels_of
    >>> labels_of([StateSequence("ann", [0.0, 1.0], ["work", "home"])])
    ('home', 'work')
    """
    return tuple(sorted({state for sequence in sequences for state in sequence.states}, key=str))


@attrs.frozen
class LocalMetres:
    """The flat map (x, y) = R (cos φ₀ · longitude, latitude), in metres, at a public latitude φ₀.

    The map is linear and does not depend on the trace, so that noise in metres is noise of known
    covariance in degrees.

    >>> import numpy as np
    >>> from sfumato.datasets import LocalMetres
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
        return math.radians(EARTH_RADIUS) * np.array([math.cos(math.radians(self.latitude)), 1.0])

    def metres(self, degrees: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (x, y) of rows (latitude, longitude)."""
        return degrees[:, ::-1] * self._stretch

    def degrees(self, metres: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (latitude, longitude) of rows (x, y)."""
        return (metres / self._stretch)[:, ::-1]
