"""The records reject what no data set may contain."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.datasets import RealTrace, StateSequence, labels_of


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
