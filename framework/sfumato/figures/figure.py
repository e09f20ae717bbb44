"""A published figure or table that can be computed again."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Literal, TypeVar

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.comparison.executors import watched
from sfumato.plugin_registry import Registry, default_registry, use_registry
from sfumato.values import read_only

Style = Literal["line", "dashed", "dots", "bars", "level"]


def _numbers(values: Any) -> NDArray[np.float64]:
    return read_only(np.atleast_1d(np.asarray(values, dtype=np.float64)))


@attrs.frozen(eq=False)
class Curve:
    """Values y at x; infinite values are kept in the table and left out of the picture.

    ``"level"`` is a horizontal line at y[0], for a value that does not depend on x.
    NaN is rejected. Curves of one family have one colour; by default the label is the family.

    >>> Curve("uniform", [1, 2], [0.5, 0.25]).y
    array([0.5 , 0.25])
    """

    label: str
    x: NDArray[np.float64] = attrs.field(converter=_numbers)
    y: NDArray[np.float64] = attrs.field(converter=_numbers)
    style: Style = "line"
    family: str = attrs.field(default=attrs.Factory(lambda self: self.label, takes_self=True))

    def __attrs_post_init__(self) -> None:
        if self.x.shape != self.y.shape or np.isnan(self.x).any() or np.isnan(self.y).any():
            raise ValueError(
                f"the curve '{self.label}' must have a number y for each x; got {self.y!r}."
            )


@attrs.frozen(kw_only=True, eq=False)
class MatrixPanel:
    """A matrix as a map of colours, from its smallest to its largest entry."""

    title: str
    matrix: NDArray[np.float64] = attrs.field(converter=read_only)

    def rows(self) -> list[list[object]]:
        """Return (panel, row, column, entry) of every entry."""
        return [
            [self.title, f"row {row}", column, entry]
            for row, entries in enumerate(self.matrix.tolist())
            for column, entry in enumerate(entries)
        ]


def _listed(curves: Iterable[Curve]) -> tuple[Curve, ...]:
    return tuple(curves)


@attrs.frozen(kw_only=True, eq=False)
class Panel:
    """Curves over one pair of axes.

    Attributes
    ----------
    band
        An interval of x that is shaded, such as the quartiles of fitted length scales.
    mark
        A value of x with a vertical line, such as their median.
    band_name, mark_name
        What the legend calls them; nothing where they have no name.
    names
        Words below the places x = 0, 1, ... where x counts things.
    log
        Which axis is logarithmic: "", "x" or "y".
    """

    title: str
    x: str
    y: str
    curves: tuple[Curve, ...] = attrs.field(converter=_listed)
    band: tuple[float, float] | None = None
    mark: float | None = None
    band_name: str | None = None
    mark_name: str | None = None
    names: tuple[str, ...] = ()
    log: Literal["", "x", "y"] = ""

    def rows(self) -> list[list[object]]:
        """Return (panel, curve, x, y) of every value."""
        return [
            [self.title, curve.label, x, y]
            for curve in self.curves
            for x, y in zip(curve.x.tolist(), curve.y.tolist(), strict=True)
        ]


def _panels(panels: Iterable[Panel | MatrixPanel]) -> tuple[Panel | MatrixPanel, ...]:
    return tuple(panels)


@attrs.frozen(kw_only=True, eq=False)
class Drawing:
    """The panels of a figure, row by row, and an honest account.

    Attributes
    ----------
    account
        What was reproduced exactly, what differs from the published figure, and why.
    columns
        Panels in a row of the picture.
    """

    panels: tuple[Panel | MatrixPanel, ...] = attrs.field(converter=_panels)
    account: str = attrs.field(default="", converter=inspect.cleandoc)
    columns: int = 2


T = TypeVar("T")


@attrs.frozen(kw_only=True)
class FigureRequest:
    """How a figure is to be computed.

    Attributes
    ----------
    data
        The user's own files, for figures of real data; None for what stands in for them.
    ours
        Leave out the published programs, and show only baselines and ours.
    jobs
        Number of processes.
    """

    data: Path | None = None
    ours: bool = False
    jobs: int = attrs.field(factory=lambda: os.cpu_count() or 1)

    def each(self, work: Callable[[Any], T], tasks: Iterable[Any], what: str) -> list[T]:
        """Return `work` of every task, in order; `work` is a function of a module.

        >>> FigureRequest(jobs=1).each(abs, [-1, 2], "counting")
        [1, 2]
        """
        chosen = list(tasks)
        return list(watched(self._done(work, chosen), what, len(chosen)))

    def _done(self, work: Callable[[Any], T], tasks: list[Any]) -> Iterator[T]:
        if self.jobs == 1 or len(tasks) < 2:
            yield from map(work, tasks)
            return
        paths = default_registry().paths
        with ProcessPoolExecutor(
            min(self.jobs, len(tasks)),
            mp_context=get_context("spawn"),
            initializer=_prepare,
            initargs=(paths,),
        ) as pool:
            yield from pool.map(work, tasks)


def _prepare(paths: tuple[str, ...]) -> None:
    """Give a new process the plugins of this one, and one thread: there is a process per core."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    use_registry(Registry.load(paths))


@attrs.frozen
class Figure:
    """Where a figure was published, and how it is computed.

    Attributes
    ----------
    reference
        Paper and number.
    compute
        Returns the drawing; imports what it needs when it is called.
    needs
        The data of one's own that it can be given, in words; "" for none.

    >>> Figure("Nobody (1999), Figure 1", lambda request: Drawing(panels=())).reference
    'Nobody (1999), Figure 1'
    """

    reference: str
    compute: Callable[[FigureRequest], Drawing]
    needs: str = ""
