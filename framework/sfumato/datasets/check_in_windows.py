"""Check-ins as one state for each window of days: the preprocessing of the counting experiments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable

import numpy as np

from sfumato.datasets.state_sequence import StateSequence

SECONDS_PER_DAY = 86400.0
ELSEWHERE = "somewhere else"


def check_ins_as_published(
    people: Iterable[StateSequence], *, days: float = 20.0, places: int = 100, fewest: int = 10
) -> list[StateSequence]:
    """Return one state for each window of `days`: the place visited, or "somewhere else".

    Only the `places` most visited places count (ties in order of first appearance), and only
    people who have checked in there in at least `fewest` windows.
    Windows start at the first check-in of anybody; a last window that is not complete counts.
    Where a person visits several places in one window, the one visited most often stands for it,
    the earliest of equals; the paper does not say.

    Reference: Koga, Meehan and Chaudhuri (2024), section 4.1.

    >>> ann = StateSequence("ann", [0.0, 1.0, 5.0], ["a", "b", "b"])
    >>> [p.states for p in check_ins_as_published([ann], days=2 / 86400, places=1, fewest=1)]
    [('b', 'somewhere else', 'b')]
    """
    everybody = list(people)
    if not everybody:
        return []
    visits = Counter(state for person in everybody for state in person.states)
    popular = {state for state, _ in visits.most_common(places)}
    begin = min(float(person.times[0]) for person in everybody)
    end = max(float(person.times[-1]) for person in everybody)
    length = days * SECONDS_PER_DAY
    count = int((end - begin) // length) + 1
    starts = begin + length * np.arange(count)
    windowed = []
    for person in everybody:
        seen: list[Counter[Hashable]] = [Counter() for _ in range(count)]
        for time, state in zip(person.times.tolist(), person.states, strict=True):
            if state in popular:
                seen[int((time - begin) // length)][state] += 1
        if sum(bool(window) for window in seen) >= fewest:
            states = [window.most_common(1)[0][0] if window else ELSEWHERE for window in seen]
            windowed.append(StateSequence(person.user, starts, states))
    return windowed
