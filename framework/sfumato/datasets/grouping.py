"""From rows in any order to one record for each user or trace.

Rows are kept as packed columns (24 bytes a row and 8 for each further value), sorted once.
"""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from sfumato.datasets.real_trace import RealTrace
from sfumato.datasets.state_sequence import StateSequence


def traces_of(
    rows: Iterable[tuple[str, str, float, tuple[float, ...]]],
) -> Iterator[RealTrace]:
    """Yield a trace for each (user, name), in order of appearance, from (user, name, time, values).

    >>> [trace.times.tolist() for trace in traces_of([("a", "", 2.0, (0.0,)),
    ...     ("b", "", 0.0, (1.0,)), ("a", "", 1.0, (5.0,))])]
    [[1.0, 2.0], [0.0]]
    """
    codes: dict[tuple[str, str], int] = {}
    groups, times, values = array("q"), array("d"), array("d")
    width = 0
    for user, name, time, value in rows:
        groups.append(codes.setdefault((user, name), len(codes)))
        times.append(time)
        values.extend(value)
        width = len(value)
    if not groups:
        return
    stamps = np.frombuffer(times)
    table = np.frombuffer(values).reshape(len(stamps), width)
    for (user, name), rows_of in zip(codes, _groups(groups, stamps), strict=True):
        yield RealTrace(user, stamps[rows_of], table[rows_of], name=name)


def sequences_of(rows: Iterable[tuple[str, str, float, Hashable]]) -> Iterator[StateSequence]:
    """Yield a sequence for each (user, name), in order of appearance.

    Rows are (user, name, time, state).

    >>> rows = [("a", "", 2.0, "y"), ("a", "", 1.0, "x"), ("a", "later", 1.5, "x")]
    >>> [day.states for day in sequences_of(rows)]
    [('x', 'y'), ('x',)]
    """
    codes: dict[tuple[str, str], int] = {}
    labels: dict[Hashable, int] = {}
    groups, times, states = array("q"), array("d"), array("q")
    for user, name, time, state in rows:
        groups.append(codes.setdefault((user, name), len(codes)))
        times.append(time)
        states.append(labels.setdefault(state, len(labels)))
    if not groups:
        return
    names = list(labels)
    stamps = np.frombuffer(times)
    visited = np.frombuffer(states, dtype=np.int64)
    for (user, name), rows_of in zip(codes, _groups(groups, stamps), strict=True):
        states_of = tuple(names[k] for k in visited[rows_of])
        yield StateSequence(user, stamps[rows_of], states_of, name=name)


def _groups(groups: array[int], stamps: NDArray[np.float64]) -> list[NDArray[np.intp]]:
    """Return the row numbers of each group in order of time; equal times keep their order."""
    codes = np.frombuffer(groups, dtype=np.int64)
    order = np.lexsort((stamps, codes))
    return np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)
