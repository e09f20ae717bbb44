"""Who does the work: this process, worker processes that may crash, or a Dask cluster.

`run` is the one way in which sfumato does many things at once, and `progress` the one bar.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import re
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from functools import cache, partial
from threading import Event
from typing import Any

import attrs
from typing_extensions import Generator, TypeVar

from sfumato.errors import BrokenPluginWarning
from sfumato.plugin_registry import Registry, default_registry, use_registry

T = TypeVar("T")
R = TypeVar("R")

PULSE = 1.0
"""Seconds after which a cluster that has not answered is asked whether it is still there."""
ANSWER_WITHIN = 10
"""Seconds in which a scheduler must answer."""
NO_WORKERS_FOR = 60
"""Seconds to wait for a cluster that has no workers, at first or any more."""
PATIENCE = 2.0
"""Seconds of work before a bar is shown."""
_IS_WORKER = Event()
"""Set in worker processes, which show no bars and take one thread each."""


def run(
    work: Callable[[T], R],
    tasks: Iterable[T],
    *,
    jobs: int = 1,
    cluster: str | None = None,
    limit: float | None = None,
    what: str = "",
    total: int | None = None,
) -> Generator[tuple[int, Future[R]]]:
    """Do `work` on every task and yield (number of the task, its future), as they finish.

    The future is done: its ``result()`` returns, or raises what went wrong with that task alone.
    A task whose worker died is tried once more, after the others and by itself (where there is a
    `limit`, it is not), and then has failed (`WorkerDied`); when a cluster is lost, what it had not
    finished has failed.
    Tasks are taken one by one, as there is room for them. Closing the generator, also by Ctrl-C,
    stops the workers.

    `work` is a function of an importable module, and tasks are plain values, such as
    specifications: instances of plugin classes cannot travel. They may be anything where `jobs`
    is 1, which means this process, unless there is a `limit`: a task that has not ended after so
    many seconds has failed (`WorkerDied`), and its process is stopped.
    `cluster` is the address of a Dask scheduler to use instead.
    `what` a progress bar is to say, and of how many tasks in `total`; without, there is none.

    >>> from sfumato.comparison.executors import run
    >>> [(number, future.result()) for number, future in run(abs, [-1, 2])]
    [(0, 1), (1, 2)]
    """
    if what:
        finished = run(work, tasks, jobs=jobs, cluster=cluster, limit=limit)
        yield from with_progress(finished, what, total)
        return
    here = jobs == 1 and cluster is None and limit is None
    call = work if here else partial(_call, work, default_registry().paths)
    with _open_place(jobs, cluster, limit) as place:
        again: list[tuple[int, T]] = []
        for number, task, future in _iterate_finished(place, call, enumerate(tasks), place.room):
            if _died(future) and limit is None:
                again.append((number, task))
            else:
                yield number, _explain_death(future) if _died(future) else future
        for number, _, future in _iterate_finished(place, call, iter(again), room=1):
            yield number, _explain_death(future, ", 2 times") if _died(future) else future


def results(work: Callable[[T], R], tasks: Iterable[T], **where: Any) -> list[R]:
    """Return `work` of every task, in order, or raise the first error; see `run`.

    >>> from sfumato.comparison.executors import results
    >>> results(abs, [-1, 2])
    [1, 2]
    """
    with contextlib.closing(run(work, tasks, **where)) as finished:
        found = {number: future.result() for number, future in finished}
    return [found[number] for number in sorted(found)]


def results_in_threads(work: Callable[[T], R], tasks: Iterable[T]) -> list[R]:
    """Return `work` of every task, in order: for work that waits or computes outside of Python.

    A worker, which shares its machine with others, takes one thread.

    >>> from sfumato.comparison.executors import results_in_threads
    >>> results_in_threads(abs, [-1, 2])
    [1, 2]
    """
    with ThreadPoolExecutor(1 if _IS_WORKER.is_set() else os.cpu_count()) as pool:
        return list(pool.map(work, tasks))


class WorkerDied(RuntimeError):
    """The processes that had a task ended before they had answered."""


def _died(future: Future[Any]) -> bool:
    """Whether a task's process died: loky's pool is then broken; Dask says it by its own name."""
    error = None if future.cancelled() else future.exception()
    return isinstance(error, BrokenExecutor) or type(error).__name__ == "KilledWorker"


def _explain_death(future: Future[R], often: str = "") -> Future[R]:
    """Return the future with an error that says what happened, in one sentence."""
    error = future.exception()
    if not isinstance(error, BrokenExecutor):  # a cluster has tried it more often
        return _failed_future(WorkerDied("the workers that had this task died again and again"))
    status = re.search(r"EXIT\((-?\d+)\)|(SIG\w+)", str(error))
    how = f" (exit status {status[1] or status[2]})" if status else ""
    return _failed_future(WorkerDied(f"the worker process died{how}{often}"))


def _failed_future(error: BaseException) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_exception(error)
    return future


def _iterate_finished(
    place: Place, call: Callable[[T], R], tasks: Iterator[tuple[int, T]], room: int
) -> Iterator[tuple[int, T, Future[R]]]:
    """Yield what finishes, with at most `room` tasks under way; when the place is lost, the rest.

    Nothing is submitted between the end of a task and its yield: what runs here would hold it up.
    """
    under_way: dict[Future[R], tuple[int, T, float]] = {}
    while True:
        for number, task in itertools.islice(tasks, room - len(under_way)):
            under_way[place.take(call, task)] = number, task, time.monotonic()
        if not under_way:
            return
        done = wait(under_way, timeout=PULSE, return_when=FIRST_COMPLETED).done
        before = time.monotonic() - place.limit
        for future in [f for f, (*_, begun) in under_way.items() if begun < before]:
            if future not in done:
                place.stop(future)
                error = WorkerDied(f"the task did not end within {place.limit:g} seconds")
                yield *under_way.pop(future)[:2], _failed_future(error)
        lost = place.trouble(done)
        for future in done:
            if lost is None or not future.cancelled():
                yield *under_way.pop(future)[:2], future
        if lost is not None:
            for number, task in (*(one[:2] for one in under_way.values()), *tasks):
                yield number, task, _failed_future(lost)
            return


# Workers -----------------------------------------------------------------------------------------


def _call(work: Callable[[T], R], paths: tuple[str, ...], task: T) -> R:
    """Do the work in another process, with the caller's plugins."""
    _prepare(paths)
    return work(task)


@cache
def _prepare(paths: tuple[str, ...]) -> None:
    """Load the plugins, once in each process, and compute on one thread."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BrokenPluginWarning)  # the caller has reported them
        use_registry(Registry.load(paths))
    one_thread_for_linear_algebra()
    _IS_WORKER.set()


def one_thread_for_linear_algebra() -> Any:
    """Limit linear algebra to one thread, so that sums are added in one order on every machine.

    The context that is returned restores the earlier limits.
    """
    import scipy.linalg  # noqa: F401 - its libraries must be loaded to be limited
    from threadpoolctl import threadpool_limits

    return threadpool_limits(limits=1)


def _do_here(call: Callable[[T], R], task: T) -> Future[R]:
    """Do the work at once; what it raises is taken for the task's failure by `Place.take`."""
    future: Future[R] = Future()
    future.set_result(call(task))
    return future


@attrs.define
class Workers:
    """Processes that may crash: each is a pool of its own, so that a death costs its task only."""

    _last: dict[Any, Future[Any]] = attrs.field(factory=dict, init=False)

    def submit(self, call: Callable[[T], R], task: T) -> Future[R]:
        """Give the task to a worker that has nothing to do, or to a new one."""
        from loky import ProcessPoolExecutor

        pool = next((pool for pool, last in self._last.items() if last.done()), None)
        if pool is not None and _died(self._last[pool]):
            del self._last[pool]
            pool = None
        pool = pool or ProcessPoolExecutor(max_workers=1, initializer=_keep_to_oneself)
        self._last[pool] = pool.submit(call, task)
        return self._last[pool]

    def stop_one(self, future: Future[Any]) -> None:
        """Stop the process that has a task."""
        for pool in [pool for pool, last in self._last.items() if last is future]:
            del self._last[pool]
            pool.shutdown(kill_workers=True)

    def stop(self) -> None:
        """Stop the processes, whatever they are doing; one that is idle tidies up after itself."""
        for pool, last in self._last.items():
            pool.shutdown(kill_workers=not last.done())


def _keep_to_oneself() -> None:
    """Leave Ctrl-C to the caller, who stops the workers, and the caller's output to the caller."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.dup2(2, 1)


# Places ------------------------------------------------------------------------------------------


@attrs.frozen
class Place:
    """Who takes tasks, how many at once, and how to learn that it was lost."""

    submit: Callable[..., Future[Any]]
    room: int = 1
    trouble: Callable[[Iterable[Future[Any]]], Exception | None] = lambda _done: None
    limit: float = math.inf
    stop: Callable[[Future[Any]], None] = lambda _future: None

    def take(self, call: Callable[[T], R], task: T) -> Future[R]:
        """Return the future of a call, failed where it was refused; only Ctrl-C is not caught."""
        try:
            return self.submit(call, task)
        except Exception as error:  # noqa: BLE001 - the future raises it
            return _failed_future(error)


@contextlib.contextmanager
def _open_place(jobs: int, cluster: str | None, limit: float | None) -> Iterator[Place]:
    if cluster is not None:
        with _connect(cluster) as client:
            room = max(1, sum(client.nthreads().values()))
            # Equal tasks are still two tasks: `pure` would do them once.
            yield Place(client.get_executor(pure=False).submit, room, _watch(client))
    elif jobs > 1 or limit is not None:
        workers = Workers()
        try:
            yield Place(workers.submit, jobs, limit=limit or math.inf, stop=workers.stop_one)
        finally:
            workers.stop()
    else:
        with one_thread_for_linear_algebra():  # as workers have it: the same last digit
            yield Place(_do_here)


def _connect(address: str) -> Any:
    """Return a client of the cluster, or say what is missing."""
    try:
        import distributed
    except ImportError:
        raise ConnectionError(
            "a Dask cluster needs the package 'distributed'; install sfumato[dask]."
        ) from None
    make: Any = distributed.Client  # which has no types
    try:
        client = make(address, set_as_default=False, timeout=ANSWER_WITHIN)
    except (OSError, TimeoutError, ValueError) as error:
        raise ConnectionError(f"there is no Dask scheduler at {address}: {error}") from None
    try:
        client.wait_for_workers(1, timeout=NO_WORKERS_FOR)
    except TimeoutError:
        client.close()
        raise ConnectionError(
            f"the Dask cluster at {address} must have a worker; it had none for "
            f"{NO_WORKERS_FOR} seconds."
        ) from None
    return client


def _watch(client: Any) -> Callable[[Iterable[Future[Any]]], Exception | None]:
    """Return how to learn that the cluster was lost: its scheduler, or its last worker."""
    alive = time.monotonic()

    def trouble(done: Iterable[Future[Any]]) -> Exception | None:
        nonlocal alive
        if client.status != "running" or any(future.cancelled() for future in done):
            return ConnectionError("the Dask scheduler is gone; run again to measure what is left")
        if done or client.nthreads():
            alive = time.monotonic()
        if time.monotonic() - alive > NO_WORKERS_FOR:
            return ConnectionError("the Dask cluster has no workers any more")
        return None

    return trouble


# Progress ----------------------------------------------------------------------------------------


@contextlib.contextmanager
def progress(what: str, total: int | None = None) -> Iterator[Callable[..., None]]:
    """Yield rich's `Progress.update` for one bar on stderr, which appears after two seconds.

    >>> from sfumato.comparison.executors import progress
    >>> with progress("fitting", 3) as update:
    ...     update(advance=2)
    ...     update(completed=3, description="fitted")
    """
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (*Progress.get_default_columns(), MofNCompleteColumn(), TimeElapsedColumn())
    # Where nobody watches, a bar would leave empty lines in a log.
    unseen = not console.is_terminal or _IS_WORKER.is_set()
    bar = Progress(*columns, console=console, transient=True, disable=unseen)
    task = bar.add_task(what, total=total)
    # By a clock of its own: one long computation updates nothing, and the time must still run.
    later = threading.Timer(PATIENCE, _show, (bar,))
    later.daemon = True
    if not unseen:
        later.start()
    try:
        yield partial(bar.update, task)
    finally:
        later.cancel()
        bar.stop()


def _show(bar: Any) -> None:
    from rich.errors import LiveError

    with contextlib.suppress(LiveError):  # another bar is shown already
        bar.start()


def with_progress(items: Iterable[T], what: str, total: int | None = None) -> Iterator[T]:
    """Yield the items, counting them.

    >>> from sfumato.comparison.executors import with_progress
    >>> list(with_progress([1, 2], "reading"))
    [1, 2]
    """
    with progress(what, total) as update:
        for item in items:
            yield item
            update(advance=1)
