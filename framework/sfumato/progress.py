"""A progress bar for work that turns out to be long."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

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
