"""What is done to a recorded trace before it is fitted or released: the same for both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.datasets.records import RealTrace, StateSequence
from sfumato.domains import POSITIVE, POSITIVE_WHOLE, REAL, SWITCH, Domain, Rejected, Sizes
from sfumato.errors import DataError

Record = RealTrace | StateSequence

SLOWEST = 1.5
"""How much longer than a beat the time between samples may be."""


@attrs.frozen(eq=False)
class Window:
    """A piece of a record, and the places of its samples among the `points` of a prior's trace.

    What a window has no sample for is not released. That is the release of a whole window with
    outputs left out, since noise does not depend on the values and an emission on no later state:
    no loss grows by it.
    """

    record: Record
    places: NDArray[np.intp]
    points: int
    begin: float  # when the first sample of the whole record was
    first: int  # beats from there to the first of the window


@attrs.frozen(kw_only=True)
class Preparation:
    """How records are read, thinned and cut; `sfumato fit` writes it, `sfumato release` replays it.

    `seconds` is the beat: of a trace of numbers the sample nearest to each beat is kept, if it is
    nearer to it than to any other; without one every sample counts, as every state does.
    `window` is the number of beats of a window; without one a record is not cut.
    `metres` is the public latitude of the map to metres, `minutes` the step of a home's days, and
    `published` says that the literature's own preparation comes first.

    >>> from sfumato.datasets import Preparation
    >>> Preparation(seconds=5.0, window=50).plain()
    {'seconds': 5.0, 'window': 50}
    """

    seconds: float | None = None
    window: int | None = None
    metres: float | None = None
    minutes: int | None = None
    published: bool = False

    def __attrs_post_init__(self) -> None:
        kinds: dict[str, Domain] = {
            "seconds": POSITIVE,
            "window": POSITIVE_WHOLE,
            "minutes": POSITIVE_WHOLE,
            "metres": REAL,
            "published": SWITCH,
        }
        given = {name: value for name, value in attrs.asdict(self).items() if value is not None}
        for name, value in given.items():
            try:
                kinds[name].convert(value, Sizes())
            except Rejected as reason:
                raise DataError(
                    f"preparation.{name} must be {reason}; got {value!r}: take the [preparation] "
                    f"that sfumato fit has written."
                ) from None

    def plain(self) -> dict[str, Any]:
        """Return the table of a file: what is not empty."""
        return {
            name: value
            for name, value in attrs.asdict(self).items()
            if value is not None and value is not False
        }

    def windows(self, record: Record) -> Iterator[Window]:
        """Yield the windows from the first sample on; those without a sample are left out.

        >>> import numpy as np
        >>> from sfumato.datasets import Preparation, RealTrace
        >>> trace = RealTrace("ann", [0.0, 1.0, 4.8, 5.1, 15.0, 20.2], np.arange(6.0))
        >>> cut = Preparation(seconds=5.0, window=3).windows(trace)
        >>> [(window.places.tolist(), window.record.times.tolist()) for window in cut]
        [([0, 1], [0.0, 5.1]), ([0, 1], [15.0, 20.2])]
        """
        kept, beats = np.arange(len(record)), np.arange(len(record), dtype=np.float64)
        if self.seconds is not None and isinstance(record, RealTrace):
            exact = (record.times - record.times[0]) / self.seconds
            nearest = np.rint(exact)
            order = np.lexsort((np.abs(exact - nearest), nearest))
            beats, first = np.unique(nearest[order], return_index=True)
            kept = order[first]
        points = self.window or len(record)
        numbers, places = np.divmod(beats, points)
        begin = float(record.times[0]) + (record.since if isinstance(record, RealTrace) else 0.0)
        for rows in np.split(np.arange(len(kept)), np.flatnonzero(np.diff(numbers)) + 1):
            start = int(numbers[rows[0]]) * points
            here = places[rows].astype(np.intp)
            yield Window(_some(record, kept[rows]), here, points, begin, start)

    def require_rate(self, record: Record) -> None:
        """Refuse a trace sampled more slowly than those fitted: that is another motion."""
        step = median_step(record)
        if self.seconds is not None and step is not None and step > SLOWEST * self.seconds:
            raise DataError(
                f"the trace of '{record.user}' must have a sample about every {self.seconds:g} s, "
                f"as those that the prior was fitted to; got one every {step:g} s: fit a prior at "
                f"that rate."
            )


def median_step(record: Record) -> float | None:
    """Return the median time between samples of a trace of numbers; None if there is none."""
    if isinstance(record, StateSequence) or len(record) < 2:
        return None
    return float(np.median(np.diff(record.times)))


def usual_step(records: Sequence[Record]) -> float | None:
    """Return the median over traces of their median step, to six digits.

    >>> from sfumato.datasets import RealTrace
    >>> from sfumato.datasets.preparation import usual_step
    >>> usual_step([RealTrace("ann", [0.0, 5.000002, 10.0], [1.0, 2.0, 3.0])])
    5.0
    """
    steps = [step for record in records if (step := median_step(record))]
    return float(f"{np.median(steps):.6g}") if steps else None


def _some(record: Record, rows: NDArray[np.intp]) -> Record:
    """Return some of the samples."""
    if isinstance(record, StateSequence):
        states = [record.states[row] for row in rows.tolist()]
        return attrs.evolve(record, times=record.times[rows], states=states)
    return attrs.evolve(record, times=record.times[rows], values=record.values[rows])
