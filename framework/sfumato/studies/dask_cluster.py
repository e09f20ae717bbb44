"""Execution on a Dask cluster."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from sfumato.finding import Finding
from sfumato.plugin_registry import Registry
from sfumato.studies.work import Work, answer, failed, read_answer

NO_WORKERS_FOR = 60
"""Seconds to wait for a cluster that has no workers."""


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
        from distributed import Client
    except ImportError:
        raise ImportError(
            "--dask must have the package 'distributed'; install sfumato[dask]."
        ) from None
    try:
        client = Client(address, set_as_default=False, timeout="10s")
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
    """Yield (number, answer or exception), keeping at most `at_once` messages under way."""
    from distributed import as_completed

    left = iter(numbers)
    first = list(itertools.islice(left, at_once))
    under_way = {client.submit(answer, messages[number], pure=False): number for number in first}
    if not under_way:
        return
    finished = as_completed(list(under_way))
    for future in finished:
        number = under_way.pop(future)
        for following in itertools.islice(left, 1):
            new = client.submit(answer, messages[following], pure=False)
            under_way[new] = following
            finished.add(new)
        yield number, (future.exception() if future.status != "finished" else future.result())
        future.release()


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
