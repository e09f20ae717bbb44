"""Execution on a Dask cluster."""

from __future__ import annotations

import itertools
import queue
import time
from collections.abc import Iterator, Sequence
from typing import Any

from sfumato.finding import Finding
from sfumato.plugin_registry import Registry
from sfumato.studies.work import Work, answer, failed, read_answer

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
