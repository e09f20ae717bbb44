"""What sensors hand out: one target's output, or the counts of everyone."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.channels import NoisyVectors, Symbols
from sfumato.errors import ParameterError
from sfumato.labels import encoded
from sfumato.protocols import Release
from sfumato.randomness import generator_or_secure

Numbers = NDArray[Any]


@attrs.frozen(kw_only=True)
class CountingRelease(Release):
    """A release of counts.

    `apply` draws the target's own output, as the channel states it. `count` counts a whole
    population and adds the noise; `without` subtracts the people whom the adversary knows, and
    gives what the channel speaks of.

    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], steps=2)
    >>> release = sf.mechanisms.sensor_counts([0, 1]).protect(chain, sf.secrets.trajectory(0))
    >>> everyone = [(0, 1), (0, 0), (1, 1)]
    >>> release.count(everyone).tolist()
    [2, 2]
    >>> release.without(release.count(everyone), everyone[1:])
    [1, 1]
    """

    watched: NDArray[np.float64] = attrs.field(eq=False)
    """watched[t, m, k] is 1 if sensor k of step t watches state m."""

    def count(
        self, traces: Sequence[Sequence[Hashable]], rng: np.random.Generator | None = None
    ) -> Numbers:
        """Count everyone at every sensor and add the noise: (T,), or (T, K) with K sensors."""
        counts = self._exact(traces)
        if isinstance(self.channel, NoisyVectors):
            noise = self.channel.scale * generator_or_secure(rng).standard_normal(counts.shape)
            grid = self.channel.grid
            return self._shaped(np.rint((counts + noise) / grid) * grid)
        return self._shaped(counts.astype(np.intp))

    def without(self, counts: Numbers, others: Sequence[Sequence[Hashable]]) -> list[Any]:
        """Subtract the others' part of the counts: the target's own output, one symbol a step."""
        known = self._shaped(self._exact(others))
        given = np.asarray(counts)
        if given.dtype.kind not in "iuf" or not np.isfinite(given).all():
            raise ParameterError(f"counts must be finite numbers; got {given.tolist()}.")
        if given.shape != known.shape:
            raise ParameterError(f"counts must have shape {known.shape}; got {given.shape}.")
        own = given - known
        if isinstance(self.channel, Symbols):
            if not np.isin(own, (0, 1)).all():
                raise ParameterError(
                    f"counts must exceed those of the others by 0 or 1; got {own.tolist()} more."
                )
            own = own.astype(np.intp)
        return [x if own.ndim == 1 else tuple(x) for x in own.tolist()]

    def _exact(self, traces: Sequence[Sequence[Hashable]]) -> NDArray[np.float64]:
        """Return the true counts, (T, K)."""
        steps = len(self.watched)
        _check_traces(traces)
        wrong = [len(trace) for trace in traces if len(trace) != steps]
        if wrong:
            raise ParameterError(f"each trace must have {steps} states; got one of {wrong[0]}.")
        flat = encoded(self.channel.states, (x for trace in traces for x in trace), "states")
        paths = flat.reshape(-1, steps)
        counts = np.zeros((steps, self.watched.shape[2]))
        for time in range(steps):
            here = np.bincount(paths[:, time], minlength=self.watched.shape[1])
            counts[time] = here @ self.watched[time]
        return counts

    def _shaped(self, counts: Numbers) -> Numbers:
        return counts[:, 0] if counts.shape[1] == 1 else counts


def _check_traces(traces: Any) -> None:
    """Require a list of lists of states."""
    if isinstance(traces, (str, bytes)) or not hasattr(traces, "__len__"):
        raise ParameterError(f"traces must be a list of traces; got {traces!r}.")
    for trace in traces:
        if isinstance(trace, (str, bytes)) or not hasattr(trace, "__len__"):
            raise ParameterError(
                f"traces must be a list of traces, each a list of states; got {trace!r} for one."
            )
