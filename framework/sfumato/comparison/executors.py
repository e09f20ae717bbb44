"""A progress bar for work that turns out to be long."""

from __future__ import annotations

import contextlib
import itertools
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import attrs

from sfumato.comparison.cells import Finding
from sfumato.comparison.engine import Work, answer, failed, read_answer
from sfumato.plugin_registry import Registry
from sfumato.values import from_json

T = TypeVar("T")

PATIENCE = 2.0
"""Seconds of work before a bar is shown."""


@contextlib.contextmanager
def delayed_progress(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Yield a function that counts work done; a bar appears on stderr after two seconds.

    >>> with delayed_progress("fitting", 3) as advance:
    ...     advance(3)
    """
    from rich.console import Console
    from rich.progress import Progress

    with contextlib.ExitStack() as stack:
        console = Console(stderr=True)
        # Where nobody watches, a bar would leave empty lines in a log.
        bar = Progress(console=console, transient=True, disable=not console.is_terminal)
        task = bar.add_task(what, total=total)
        begun, shown = time.monotonic(), False

        def advance(count: int) -> None:
            nonlocal shown
            bar.advance(task, count)
            if not shown and time.monotonic() - begun > PATIENCE:
                stack.enter_context(bar)
                shown = True

        yield advance


def watched(items: Iterable[T], what: str, total: int | None = None) -> Iterator[T]:
    """Yield the items, counting them.

    >>> list(watched([1, 2], "reading"))
    [1, 2]
    """
    with delayed_progress(what, total) as advance:
        for item in items:
            yield item
            advance(1)


ATTEMPTS = 2


class WorkerDied(RuntimeError):
    """The worker ended before it had answered."""


@attrs.define
class Worker:
    """One process that answers messages, started anew when it has died."""

    process: subprocess.Popen[str] | None = None
    stopped: bool = False

    def ask(self, message: str) -> str:
        """Return the answer to one message, or raise `WorkerDied` or what went wrong there."""
        process = self._running()
        if process.stdin is None or process.stdout is None:  # for the type checker: both are pipes
            raise WorkerDied("no pipes")
        try:
            process.stdin.write(message + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except (OSError, ValueError):
            line = ""
        if not line.endswith("\n"):
            raise WorkerDied(f"the worker process died (exit status {process.wait()})")
        reply: dict[str, Any] = from_json(line)
        if "error" in reply:
            raise RuntimeError(reply["error"])
        return str(reply["answer"])

    def _running(self) -> subprocess.Popen[str]:
        if self.process is None or self.process.poll() is not None:
            self.close()
            if self.stopped:
                raise WorkerDied("the run was stopped")
            paths = [path or os.getcwd() for path in sys.path]  # noqa: PTH109 - as sys.path has it
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", "sfumato.comparison.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                encoding="utf-8",
                env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
                start_new_session=True,  # Ctrl-C is for the caller, who then stops the workers
            )
            if self.stopped:  # meanwhile
                self.process.kill()
        return self.process

    def close(self) -> None:
        """Stop the process, whatever it is doing."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            for pipe in (self.process.stdin, self.process.stdout):
                if pipe is not None:
                    _close_quietly(pipe)
            self.process = None


def _close_quietly(pipe: Any) -> None:
    with contextlib.suppress(OSError):  # unsent text for a process that is gone
        pipe.close()


def run_in_workers(
    works: Sequence[Work], jobs: int, registry: Registry
) -> Iterator[tuple[int, int, Finding]]:
    """Yield (number of the work, number of the measure, finding), as scenarios finish.

    A scenario whose worker dies is tried once more, in a new one, and then has failed.
    """
    messages = [work.message(registry) for work in works]
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    for number in range(len(works)):
        waiting.put(number)
    done: queue.SimpleQueue[tuple[int, list[Finding]]] = queue.SimpleQueue()
    workers = [Worker() for _ in range(min(jobs, len(works)))]

    def serve(worker: Worker) -> None:
        while not worker.stopped:
            try:
                number = waiting.get_nowait()
            except queue.Empty:
                return
            done.put((number, _attempts(worker, works[number], messages[number])))

    threads = [threading.Thread(target=serve, args=(worker,), daemon=True) for worker in workers]
    for thread in threads:
        thread.start()
    try:
        for _ in works:
            number, findings = done.get()
            for place, finding in enumerate(findings):
                yield number, place, finding
    finally:
        _stop(workers, threads)


def _attempts(worker: Worker, work: Work, message: str) -> list[Finding]:
    reason = ""
    for _ in range(ATTEMPTS):
        try:
            return read_answer(worker.ask(message))
        except WorkerDied as error:
            reason = f"{error}, {ATTEMPTS} times"
        except Exception as error:  # noqa: BLE001 - a failed cell must not end the study
            return failed(work, str(error))
    return failed(work, reason)


def _stop(workers: list[Worker], threads: list[threading.Thread]) -> None:
    for worker in workers:
        worker.stopped = True
        process = worker.process
        if process is not None:
            process.kill()  # its thread then reads the end of the pipe
    for thread in threads:
        thread.join()
    for worker in workers:
        worker.close()


ANSWER_WITHIN = 10
"""Seconds in which a scheduler must answer."""
RUNNING = "running"
"""The status of a client whose scheduler is there."""
NO_WORKERS_FOR = 60
"""Seconds to wait for a cluster that has no workers, at first or any more."""


class SchedulerGone(ConnectionError):
    """The scheduler no longer answers; what it had finished is kept."""

    def __str__(self) -> str:
        return "the Dask scheduler is gone; run again to measure what is left"


def run_on_dask(
    works: Sequence[Work], address: str, registry: Registry
) -> Iterator[tuple[int, int, Finding]]:
    """Yield (number of the work, number of the measure, finding), as scenarios finish.

    Each thread of the cluster has one scenario at a time. The scheduler moves the work of a worker
    that died to another one; work that it gives up, as its workers died again and again, is tried
    once more at the end, alone, so that a neighbour's crash is not held against it.
    """
    messages = [work.message(registry) for work in works]
    with _connected(address) as client:
        suspects: list[int] = []
        threads = max(1, sum(client.nthreads().values()))
        for number, outcome in _answers(client, messages, range(len(works)), threads):
            if _is_death(outcome):
                suspects.append(number)
            else:
                yield from _numbered(number, works[number], outcome)
        for number, outcome in _answers(client, messages, suspects, at_once=1):
            yield from _numbered(number, works[number], outcome)


def _connected(address: str) -> Any:
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


def _answers(
    client: Any, messages: Sequence[str], numbers: Sequence[int], at_once: int
) -> Iterator[tuple[int, Any]]:
    """Yield (number, answer or exception); when the scheduler is gone, that, for all the rest."""
    answered: set[int] = set()
    try:
        for number, outcome in _answers_of_scheduler(client, messages, numbers, at_once):
            answered.add(number)
            yield number, outcome
    except Exception as error:
        if not isinstance(error, SchedulerGone) and client.status == RUNNING:
            raise
        gone = SchedulerGone()
        yield from ((number, gone) for number in numbers if number not in answered)


def _answers_of_scheduler(
    client: Any, messages: Sequence[str], numbers: Sequence[int], at_once: int
) -> Iterator[tuple[int, Any]]:
    """Yield (number, answer or exception), keeping at most `at_once` messages under way."""
    left = iter(numbers)
    done: queue.SimpleQueue[Any] = queue.SimpleQueue()
    under_way: dict[Any, int] = {}

    def submit(how_many: int) -> None:
        for number in itertools.islice(left, how_many):
            future = client.submit(answer, messages[number], pure=False)
            under_way[future] = number
            future.add_done_callback(done.put)

    submit(at_once)
    while under_way:
        future = _next(client, done)
        if future is None:
            gone = ConnectionError("the Dask cluster has no workers any more")
            yield from ((number, gone) for number in (*under_way.values(), *left))
            return
        number = under_way.pop(future)
        if future.status != "finished" and client.status != RUNNING:
            raise SchedulerGone  # which cancels all that is under way
        submit(1)
        yield number, (future.exception() if future.status != "finished" else future.result())


def _next(client: Any, done: queue.SimpleQueue[Any]) -> Any:
    """Return the next finished future, or None when the cluster stays without workers."""
    alive = time.monotonic()
    while True:
        try:
            return done.get(timeout=1.0)
        except queue.Empty:
            now = time.monotonic()
            alive = now if client.nthreads() else alive
            if now - alive > NO_WORKERS_FOR:
                return None


def _is_death(outcome: Any) -> bool:
    from distributed.scheduler import KilledWorker

    return isinstance(outcome, KilledWorker)


def _numbered(number: int, work: Work, outcome: Any) -> Iterator[tuple[int, int, Finding]]:
    if isinstance(outcome, str):
        findings = read_answer(outcome)
    elif _is_death(outcome):
        findings = failed(work, "the workers that had this cell died again and again")
    else:
        findings = failed(work, f"{type(outcome).__name__}: {outcome}")
    for place, finding in enumerate(findings):
        yield number, place, finding
