"""A progress bar for work that turns out to be long."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")

PATIENCE = 2.0
"""Seconds of silence; shorter work shows nothing."""


def watched(items: Iterable[T], what: str, total: int | None = None) -> Iterator[T]:
    """Yield the items; a bar appears on standard error once they have taken two seconds.

    Nothing is shown where standard error is not a terminal.

    >>> list(watched([1, 2], "counting"))
    [1, 2]
    """
    if not sys.stderr.isatty():
        yield from items
        return
    source = iter(items)
    began = time.monotonic()
    done = 0
    for item in source:
        yield item
        done += 1
        if time.monotonic() - began > PATIENCE:
            break
    else:
        return
    yield from _with_bar(source, what, total, done)


def _with_bar(source: Iterator[T], what: str, total: int | None, done: int) -> Iterator[T]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total, completed=done)
        for item in source:
            yield item
            bar.advance(task)
