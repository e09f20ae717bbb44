"""What someone asks of a figure."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

import attrs

from sfumato.plugin_registry import Registry, default_registry, use_registry
from sfumato.progress import watched

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
