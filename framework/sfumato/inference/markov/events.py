"""Events of the form "the state at time t is one of these"."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.beliefs import Markov
from sfumato.errors import ParameterError
from sfumato.questions.events import Masks, masks_of
from sfumato.values import FloatArray


@attrs.frozen(eq=False)
class TimedEvents:
    """E events, each about one time: its time (E,) and the states that belong to it, (E, M).

    >>> from sfumato.beliefs import Markov
    >>> from sfumato.inference.markov.events import TimedEvents
    >>> chain = Markov([0.5, 0.5], [[1.0, 0.0], [0.0, 1.0]], steps=2)
    >>> events = TimedEvents.from_masks(chain, [[[False, False], [False, True]]])
    >>> events.times.tolist(), events.priors(chain).tolist()
    ([1], [0.5])
    """

    times: NDArray[np.intp]
    members: NDArray[np.bool_]

    @classmethod
    def from_masks(cls, belief: Markov, masks: ArrayLike | Masks) -> TimedEvents:
        """Read (E, T, M) booleans, each of which is true at exactly one time."""
        array = masks if isinstance(masks, Masks) else np.asarray(masks)
        shape = (belief.steps, belief.state_count)
        if (
            array.dtype != np.bool_
            or array.ndim != 3
            or array.shape[1:] != shape
            or not array.shape[0]
        ):
            raise ParameterError(
                f"masks must be booleans of shape (E, {shape[0]}, {shape[1]}), E at least 1; got "
                f"{array.dtype} of shape {array.shape}."
            )
        kept = masks_of(array)
        counts = np.bincount(kept.events, minlength=kept.shape[0])
        if (counts != 1).any():
            wrong = int((counts != 1).argmax())
            raise ParameterError(
                f"each mask must be true at exactly one time; mask {wrong} is at {counts[wrong]}."
            )
        return cls(kept.times, kept.rows)

    def only(self, numbers: NDArray[np.intp]) -> TimedEvents:
        """Return some of the events, in this order."""
        return TimedEvents(self.times[numbers], self.members[numbers])

    def priors(self, belief: Markov) -> FloatArray:
        """Return the probability of every event, (E,)."""
        return self.probabilities(belief.marginals())

    def probabilities(self, marginals: FloatArray) -> FloatArray:
        """Return the probability of every event, (..., E), under marginals (..., T, M)."""
        chosen = marginals[..., self.times, :] * self.members
        return np.asarray(chosen.sum(axis=-1))


@attrs.frozen
class Gap:
    """Pr[event | output] − Pr[event] at its worst: between `floor` and `ceiling`, both proved.

    >>> from sfumato.inference.markov.events import Gap
    >>> gap = Gap.of(0.75, 0.5, 1e-13, event=0, output=("home",))
    >>> gap.floor < 0.25 < gap.ceiling
    True
    """

    posterior: float
    prior: float
    event: int  # its number among the masks
    output: tuple[Any, ...]
    floor: float
    ceiling: float

    @classmethod
    def of(
        cls, posterior: float, prior: float, error: float, *, event: int, output: tuple[Any, ...]
    ) -> Gap:
        """Return the gap of two probabilities with that relative error; some output has none."""
        gap, margin = max(0.0, posterior - prior), error * (posterior + prior)
        ends = max(0.0, gap - margin), min(1.0, gap + margin)
        return cls(posterior, prior, event, output, *ends)

    @property
    def value(self) -> float:
        """The gap, rounded up."""
        return self.ceiling
