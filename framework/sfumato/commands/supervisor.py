"""Ctrl-C ends a command within a second, also one that is deep in a call into C.

Python answers a signal between two of its own instructions, and a factorisation or a solver is one
instruction, however long. So the command runs in a child, and the process that was started only
waits for it: it passes signals on, and stops a child that does not end soon after Ctrl-C.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

INTERRUPTED = 130
"""The exit status of a command that was stopped by Ctrl-C."""
GRACE = 0.7
"""Seconds after Ctrl-C in which a command may say what is finished."""


def supervise(work: Callable[[], None]) -> None:
    """Do the work in a child process, where there is such a thing, and exit with its status."""
    if not hasattr(os, "fork"):
        return work()
    alive, held = os.pipe()  # its writing end is open as long as this process lives
    child = os.fork()
    if child == 0:
        os.close(held)
        threading.Thread(target=_end_with_parent, args=(alive,), daemon=True).start()
        signal.signal(signal.SIGINT, _interrupt_once)
        return work()
    os.close(alive)
    sys.exit(_wait_for(child))


def _end_with_parent(alive: int) -> None:
    os.read(alive, 1)  # until the other end is closed
    os._exit(1)


def _interrupt_once(*_: Any) -> None:
    """Take the second of two equal signals, the terminal's and the parent's, for the first."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt


def _wait_for(child: int) -> int:
    """Return the exit status of the child."""
    asked: list[float] = []

    def pass_on(number: int, _frame: Any) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, number)
        if number == signal.SIGINT:
            asked.append(time.monotonic())
            signal.setitimer(signal.ITIMER_REAL, GRACE)

    def stop(*_: Any) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, pass_on)
    signal.signal(signal.SIGALRM, stop)
    _, status = os.waitpid(child, 0)  # goes on after each of these signals
    signal.setitimer(signal.ITIMER_REAL, 0)  # else it would end this process on its own way out
    code = os.waitstatus_to_exitcode(status)
    if code == -signal.SIGKILL and asked:
        sys.stderr.write("interrupted in the middle of a computation.\n")
    return INTERRUPTED if asked and code < 0 else code if code >= 0 else 128 - code
