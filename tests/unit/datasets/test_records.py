"""The records reject what no data set may contain."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.datasets import ActivityLog, RealTrace, StateSequence, labels_of


@pytest.mark.parametrize(
    ("times", "values", "words"),
    [
        ([0.0, 1.0], [[1.0]], "as many rows"),
        ([], np.zeros((0, 1)), "at least one"),
        ([0.0, np.nan], [1.0, 2.0], "finite"),
        ([0.0, 1.0], [1.0, np.inf], "finite"),
        ([1.0, 0.0], [1.0, 2.0], "not decrease"),
    ],
)
def test_real_traces_are_checked(times, values, words):
    with pytest.raises(ValueError, match=words):
        RealTrace("a", times, values)


def test_a_trace_of_one_coordinate_has_a_column():
    trace = RealTrace("a", [0.0, 1.0], [3.0, 4.0])
    assert trace.values.shape == (2, 1)
    assert trace == RealTrace("a", np.array([0.0, 1.0]), [[3.0], [4.0]])
    with pytest.raises(ValueError, match="read-only"):
        trace.values[0] = 1.0


@pytest.mark.parametrize(
    ("times", "states", "words"),
    [([0.0], ["a", "b"], "as many states"), ([], [], "at least one"), ([1.0, 0.0], "ab", "finite")],
)
def test_sequences_are_checked(times, states, words):
    with pytest.raises(ValueError, match=words):
        StateSequence("a", times, states)


def test_labels_are_sorted_and_unique():
    days = [StateSequence("a", [0.0, 1.0], ["z", "b"]), StateSequence("a", [0.0], ["b"])]
    assert labels_of(days) == ("b", "z")


def test_day_streams_hold_the_activity_in_force():
    hour = 3600.0
    log = ActivityLog(
        "h",
        begins=[-2 * hour, 7 * hour, 7.25 * hour, 12 * hour, 23 * hour],
        ends=[7 * hour, 9 * hour, 7.75 * hour, 12 * hour, 50 * hour],
        activities=["sleep", "breakfast", "phone", "blink", "sleep"],
    )
    one, two = log.day_streams(minutes=30)
    assert one.user == "h 1970-01-01"
    assert one.states[:14] == ("sleep",) * 14
    # The newest of two overlapping activities counts; an activity without length never does.
    assert one.states[14:18] == ("breakfast", "phone", "breakfast", "breakfast")
    assert one.states[18:46] == ("nothing",) * 28
    assert one.states[46:] == ("sleep", "sleep")
    assert set(two.states) == {"sleep"}
    assert len(two) == 48
    assert two.times[0] == 86400.0


def test_days_that_are_not_covered_are_left_out():
    log = ActivityLog("h", [3600.0], [2 * 86400.0], ["x"])
    assert [day.user for day in log.day_streams()] == ["h 1970-01-02"]
    assert ActivityLog("h", [3600.0], [7200.0], ["x"]).day_streams() == []


def test_steps_must_divide_a_day():
    with pytest.raises(ValueError, match="minutes must divide a day; got 7"):
        ActivityLog("h", [0.0], [1.0], ["x"]).day_streams(minutes=7)


def test_an_activity_must_end_after_it_begins():
    with pytest.raises(ValueError, match="must not end before"):
        ActivityLog("h", [1.0], [0.0], ["x"])
    with pytest.raises(ValueError, match="must not end before"):
        ActivityLog("h", [1.0], [np.nan], ["x"])
