"""A progress bar around anything that can be iterated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from sfumato.report.delayed_progress import delayed_progress

T = TypeVar("T")


def watched(items: Iterable[T], what: str, total: int | None = None) -> Iterator[T]:
    """Yield the items; a bar appears on standard error once they have taken two seconds.

    >>> list(watched([1, 2], "counting"))
    [1, 2]
    """
    with delayed_progress(what, total) as advance:
        for item in items:
            yield item
            advance(1)
