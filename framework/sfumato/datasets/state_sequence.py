"""A recorded sequence of labelled states."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.content import ByContent, read_only
from sfumato.errors import DataError


def _labels(states: Iterable[Hashable]) -> tuple[Hashable, ...]:
    return tuple(states)


@attrs.frozen(eq=False)
class StateSequence(ByContent):
    """Labels recorded at times (seconds): check-ins, contexts, rooms.

    >>> day = StateSequence("ann", [0.0, 1800.0], ["home", "work"])
    >>> day.states
    ('home', 'work')
    """

    user: str
    times: NDArray[np.float64] = attrs.field(converter=read_only)
    states: tuple[Hashable, ...] = attrs.field(converter=_labels)
    name: str = ""

    def __attrs_post_init__(self) -> None:
        if self.times.shape != (len(self.states),) or not self.states:
            raise DataError(
                f"a sequence must have as many states as times, at least one; got "
                f"{len(self.states)} states and times of shape {self.times.shape}."
            )
        if not np.isfinite(self.times).all() or (np.diff(self.times) < 0).any():
            raise DataError(f"times must be finite and not decrease; got others: {self.user!r}.")

    def __len__(self) -> int:
        return len(self.states)


def labels_of(sequences: Iterable[StateSequence]) -> tuple[Hashable, ...]:
    """Return every label of the sequences once, in alphabetical order.

    >>> labels_of([StateSequence("ann", [0.0, 1.0], ["work", "home"])])
    ('home', 'work')
    """
    return tuple(sorted({state for sequence in sequences for state in sequence.states}, key=str))
