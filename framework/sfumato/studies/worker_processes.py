"""Execution in several processes of this machine."""

from __future__ import annotations

import contextlib
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from sfumato.finding import Finding
from sfumato.plain_json import from_json
from sfumato.plugin_registry import Registry
from sfumato.studies.work import Work, failed, read_answer

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
                [sys.executable, "-P", "-m", "sfumato.studies.worker"],
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
