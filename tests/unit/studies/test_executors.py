"""The one way to run tasks, and its progress bar, which never loses an item."""

from __future__ import annotations

import io
import os
import sys
import time

import pytest

from sfumato.comparison import executors
from sfumato.comparison.executors import WorkerDied, results, run, with_progress


@pytest.mark.parametrize("jobs", [1, 2])
def test_one_failure_is_one_task_s(jobs):
    outcomes = {}
    for number, future in run(int, iter(["7", "seven", "8"]), jobs=jobs):
        outcomes[number] = type(future.exception()) if future.exception() else future.result()
    assert outcomes == {0: 7, 1: ValueError, 2: 8}


def test_results_come_in_order_or_raise():
    assert results(abs, iter([-3, 2, -1])) == [3, 2, 1]
    with pytest.raises(ValueError, match="seven"):
        results(int, ["7", "seven"])


def test_a_death_is_tried_again_and_costs_its_task_only():
    seen = {}
    for number, future in run(os._exit, [3, "not a status"], jobs=2):
        seen[number] = future.exception()
    assert isinstance(seen[0], WorkerDied)
    assert str(seen[0]) == "the worker process died (exit status 3), 2 times"
    assert isinstance(seen[1], TypeError)


def test_a_task_that_does_not_end_is_stopped_and_costs_itself_only():
    seen = dict(run(time.sleep, [3600, 0], jobs=1, limit=20.0))
    assert "did not end within 20 seconds" in str(seen[0].exception())
    assert seen[1].result() is None


def test_tasks_are_taken_as_there_is_room_and_closing_stops():
    taken = []

    def tasks():
        for number in range(100):
            taken.append(number)
            yield number

    running = run(abs, tasks(), jobs=2)
    next(running)
    running.close()
    assert len(taken) <= 4
    taken.clear()
    with pytest.raises(KeyboardInterrupt):
        list(run(interrupted, tasks()))
    assert taken == [0]


def interrupted(_task):
    raise KeyboardInterrupt


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_short_work_shows_nothing(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert list(with_progress(iter(range(3)), "x", 3)) == [0, 1, 2]
    assert terminal.getvalue() == ""


def test_long_work_shows_a_bar_and_loses_nothing(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(executors, "PATIENCE", -1.0)
    assert list(with_progress(range(50), "reading")) == list(range(50))
    assert results(abs, range(3), what="counting", total=3) == [0, 1, 2]
    assert "reading" in terminal.getvalue()
    assert "counting" in terminal.getvalue()
