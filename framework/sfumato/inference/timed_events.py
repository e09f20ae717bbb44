"""Events of the form "the state at time t is one of these"."""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.beliefs.markov import Markov
from sfumato.errors import ParameterError
from sfumato.probabilities import FloatArray


@attrs.frozen(eq=False)
class TimedEvents:
    """E events, each about one time.

    Parameters
    ----------
    times
        The time of each event, (E,).
    members
        Which states belong to each event, (E, M) booleans.

    Examples
    --------
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
        active = np.asarray(array.any(axis=2))
        wrong = np.flatnonzero(active.sum(axis=1) != 1)
        if len(wrong):
            raise ParameterError(
                f"each mask must be true at exactly one time; mask {wrong[0]} is at "
                f"{int(active[wrong[0]].sum())}."
            )
        times = active.argmax(axis=1)
        return cls(times, array[np.arange(len(array)), times])

    def priors(self, belief: Markov) -> FloatArray:
        """Return the probability of every event, (E,)."""
        return self.probabilities(belief.marginals())

    def probabilities(self, marginals: FloatArray) -> FloatArray:
        """Return the probability of every event, (..., E), under marginals (..., T, M)."""
        chosen = marginals[..., self.times, :] * self.members
        return np.asarray(chosen.sum(axis=-1))
