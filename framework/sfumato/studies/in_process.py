"""Execution in this process, one scenario after another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sfumato.finding import Finding
from sfumato.studies.work import Work, one_thread_for_linear_algebra


def run_in_process(works: Sequence[Work]) -> Iterator[tuple[int, int, Finding]]:
    """Yield (number of the work, number of the measure, finding), each as it is found."""
    with one_thread_for_linear_algebra():
        for number, work in enumerate(works):
            for place, finding in enumerate(work.run()):
                yield number, place, finding
