"""Events of the form "the state at time t is one of these"."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.beliefs import Markov
from sfumato.errors import ParameterError
from sfumato.values import FloatArray


@attrs.frozen(eq=False)
class TimedEvents:
    """E events, each about one time: its time (E,) and the states that belong to it, (E, M).

    >>> chain = Markov([0.5, 0.5], [[1.0, 0.0], [0.0, 1.0]], steps=2)
    >>> events = TimedEvents.from_masks(chain, [[[False, False], [False, True]]])
    >>> events.times.tolist(), events.priors(chain).tolist()
    ([1], [0.5])
    """

    times: NDArray[np.intp]
    members: NDArray[np.bool_]

    @classmethod
    def from_masks(cls, belief: Markov, masks: ArrayLike) -> TimedEvents:
        """Read (E, T, M) booleans, each of which is true at exactly one time."""
        array = np.asarray(masks)
        shape = (belief.steps, belief.state_count)
        if array.dtype != np.bool_ or array.ndim != 3 or array.shape[1:] != shape:
            raise ParameterError(
                f"masks must be booleans of shape (E, {shape[0]}, {shape[1]}); got {array.dtype} "
                f"of shape {array.shape}."
            )
        if len(array) == 0:
            raise ParameterError("masks must hold at least one event; got none.")
        flat = np.flatnonzero(array)  # few are true
        numbers, places = np.divmod(flat, shape[0] * shape[1])
        entry_times, states = np.divmod(places, shape[1])
        times = np.full(len(array), -1)
        times[numbers] = entry_times
        if (times < 0).any() or (times[numbers] != entry_times).any():
            active = array.any(axis=2).sum(axis=1)
            wrong = int((active != 1).argmax())
            raise ParameterError(
                f"each mask must be true at exactly one time; mask {wrong} is at {active[wrong]}."
            )
        members = np.zeros((len(array), shape[1]), dtype=bool)
        members[numbers, states] = True
        return cls(times, members)

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
    """Pr[event | output] − Pr[event] at its worst.

    The value may exceed the truth by `relative_error` of it.

    >>> Gap(value=0.25, posterior=0.75, prior=0.5, event=0, output=("home",)).value
    0.25
    """

    value: float
    posterior: float
    prior: float
    event: int  # its number among the masks
    output: tuple[Any, ...]
    relative_error: float = 0.0
