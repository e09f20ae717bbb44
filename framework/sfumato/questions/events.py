"""Events about the states of a trace at some times."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from functools import singledispatch
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.questions.displacements import Displacements
from sfumato.values import ByContent, read_only


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

    words: ClassVar[str] = "events"

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


def _plain(value: object) -> object:
    """Return numpy's whole numbers as Python's; anything else as it is."""
    return int(value) if isinstance(value, np.integer) else value


@attrs.frozen
class Guess:
    """The adversary succeeds with a guess that differs in at most `mistakes` positions.

    >>> Guess(2).mistakes
    2
    """

    words: ClassVar[str] = "a guess of the whole trace"

    mistakes: int = attrs.field(converter=_plain)

    def __attrs_post_init__(self) -> None:
        if isinstance(self.mistakes, bool) or not isinstance(self.mistakes, int):
            raise ValueError(  # noqa: TRY004 - one error for every bad value
                f"guess.mistakes must be a whole number; got {self.mistakes!r}."
            )
        if self.mistakes < 0:
            raise ValueError(f"guess.mistakes must be 0 or more; got {self.mistakes}.")


ByTime = Mapping[str, Mapping[int, Any]]


@singledispatch
def by_time(question: Any, belief: Any) -> ByTime:
    """Return, for each thing that is asked, the question about it at every single time.

    A question that has no times, such as one about a whole trajectory, gives nothing.
    Packages with questions of their own register how those are taken apart.

    >>> from sfumato.beliefs import Gaussian
    >>> from sfumato.matrices import Diagonal
    >>> belief = Gaussian(Diagonal(np.ones(3)))
    >>> list(by_time(Displacements(groups=(((1,),),), radii=1.0), belief)["any value"])
    [0, 1, 2]
    """
    del question, belief
    return {}


@by_time.register
def _(question: Displacements, belief: Any) -> ByTime:
    """Ask of every time of the trace, whatever times the question names, by its widest radius."""
    radius = max(question.radii)
    return {
        "any value": {
            time: Displacements(groups=((belief.entries_at(time),),), radii=radius)
            for time in range(belief.times)
        }
    }


@by_time.register
def _(question: Events, belief: Any) -> ByTime:
    """Ask of every event by itself, at its own time, or at each of its times for a window."""
    found: dict[str, dict[int, Events]] = {}
    for mask, name in zip(question.masks, question.names, strict=True):
        times = np.flatnonzero(mask.any(axis=1))
        states = [str(belief.states[state]) for state in np.flatnonzero(mask[times[0]])]
        row = " or ".join(states) if len(times) == 1 else str(name)
        alone = Events(mask[None], (name,))
        found.setdefault(row, {}).update(dict.fromkeys(map(int, times), alone))
    return found
