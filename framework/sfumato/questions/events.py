"""Events about the states of a trace at some times."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.content import ByContent, read_only


def _masks(value: ArrayLike) -> NDArray[np.bool_]:
    array = np.asarray(value)
    if array.dtype != np.bool_:
        raise ValueError(f"events.masks must be booleans; got {array.dtype}.")
    return read_only(array, np.bool_)


@attrs.frozen(eq=False)
class Events(ByContent):
    """Masks over time and state: event e says that X_t lies in its mask for some time t.

    Most events are about a single time. An event over a window of times is a union, "in the
    hospital at some time between 9 and 12".

    Attributes
    ----------
    masks
        Booleans of shape (events, times, states), each non-zero at one time or at several.
    names
        What each event is called in a witness, such as ``("hospital", 3)``.

    >>> Events(np.array([[[False, False], [True, False]]]), (("hospital", 1),)).times
    array([1])
    """

    masks: NDArray[np.bool_] = attrs.field(converter=_masks)
    names: tuple[Hashable, ...]

    def __attrs_post_init__(self) -> None:
        if self.masks.ndim != 3 or len(self.names) != len(self.masks) or not len(self.masks):
            raise ValueError(
                f"events.masks must have shape (events, times, states), one name each; "
                f"got {self.masks.shape} and {len(self.names)} names."
            )
        if not self.masks.any(axis=(1, 2)).all():
            raise ValueError("each event must be about some time; one is about none.")

    @property
    def has_windows(self) -> bool:
        """Whether some event is about several times."""
        return bool((self.masks.any(axis=2).sum(axis=1) > 1).any())

    @classmethod
    def union(cls, questions: Iterable[Events]) -> Events:
        """Return the question that has the events of all."""
        parts = list(questions)
        masks = np.concatenate([part.masks for part in parts])
        return cls(masks, tuple(name for part in parts for name in part.names))

    @property
    def times(self) -> NDArray[np.intp]:
        """The time of each event, its first one for a window."""
        times: NDArray[np.intp] = np.argmax(self.masks.any(axis=2), axis=1)
        return times
