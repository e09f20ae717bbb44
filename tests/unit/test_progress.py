"""The progress bar: silent for short work, and it never loses an item."""

from __future__ import annotations

import io
import sys

from sfumato.comparison import executors as progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_short_work_shows_nothing(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert list(progress.watched(iter(range(3)), "x", 3)) == [0, 1, 2]
    assert terminal.getvalue() == ""


def test_long_work_shows_a_bar_and_loses_nothing(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress, "PATIENCE", -1.0)
    assert list(progress.watched(range(50), "reading")) == list(range(50))
    assert "reading" in terminal.getvalue()
