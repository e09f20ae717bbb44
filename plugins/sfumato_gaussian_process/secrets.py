"""Secrets about the values of a trace at some times: real values, or the states of a chain."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.beliefs import Gaussian, Markov
from sfumato.parameters import (
    INDEX,
    MATRIX,
    OPTIONAL,
    POSITIVE,
    REAL,
    Collection,
    declare,
    parameter,
)
from sfumato.protocols import Secret
from sfumato.questions import Displacements, JointStates, Nearness, StateAt
from sfumato.values import FloatArray

DISTANCES = (
    "distances between the states of a chain, in which the radius counts; without them any two "
    "states are a pair"
)


class _AtTimes(Secret):
    """What secrets about the values at some times share."""

    radius: float
    distances: FloatArray | None

    def _require_below(self, name: str, indices: tuple[int, ...], length: int) -> None:
        outside = [index for index in indices if index >= length]
        if outside:
            raise self.reject(name, f"below the trace length {length}", outside[0])

    def _close(self, belief: Markov) -> Any:
        """Return which states are within the radius of each other; None where all are pairs."""
        if self.distances is None:
            return None
        if self.distances.shape != (belief.state_count, belief.state_count):
            wanted = f"a table for the {belief.state_count} states"
            raise self.reject("distances", wanted, self.distances.shape)
        return (self.distances <= self.radius) | np.eye(belief.state_count, dtype=bool)


@declare
class Basic(_AtTimes):
    """The value at one time: pairs of values at most `radius` apart stay indistinguishable.

    On a Gaussian trace its events are "within the radius of a place" (see `near` for a given one)
    and a guess within the radius is right; on a chain its pairs are any two states, its events
    $X_t = a$, its guess the state.

    Reference: Meehan and Chaudhuri (2021), section 2.2, basic secrets.

    >>> import sfumato as sf
    >>> prior, secret = sf.priors.rbf(length_scale=6.0, times=50), sf.secrets.basic(24, radius=1.0)
    >>> release = sf.mechanisms.gaussian_uniform(mse=1.0).protect(prior, secret)
    >>> print(sf.measures.renyi().loss(prior, secret, release))
    Rényi divergence (order=2) [nats] = 7.60858
    """

    name = "basic"
    yields = {Gaussian: Displacements, Markov: StateAt}  # noqa: RUF012 - never changed

    index: int = parameter(INDEX("n"), doc="position of the secret time in the trace")
    radius: float = parameter(POSITIVE, default=1.0, doc="radius of the discriminative pairs")
    distances: FloatArray | None = parameter(
        OPTIONAL(MATRIX("M", "M")), default=None, doc=DISTANCES
    )

    def question(self, belief: Any) -> Any:
        """Return the displacements of that time's coordinates, or the state at that time."""
        if isinstance(belief, Markov):
            self._require_below("index", (self.index,), belief.steps)
            return StateAt.of(belief, [self.index], self._close(belief))
        self._require_below("index", (self.index,), belief.times)
        return Displacements(groups=((belief.entries_at(self.index),),), radii=self.radius)


@declare
class Compound(_AtTimes):
    """The values at several times jointly: pairs that differ by at most `radius` at each of them.

    The pairs form a product of balls, one for each time; on a chain they are pairs of joint states.
    Hiding a compound secret does not by itself hide each of its times.

    Reference: Meehan and Chaudhuri (2021), section 2.2, compound secrets.

    >>> import sfumato as sf
    >>> prior, secret = sf.priors.rbf(length_scale=6.0, times=50), sf.secrets.compound([20, 24])
    >>> release = sf.mechanisms.gaussian_uniform(mse=1.0).protect(prior, secret)
    >>> print(sf.measures.renyi().loss(prior, secret, release))
    Rényi divergence (order=2) [nats] = 30.8945
    """

    name = "compound"
    yields = {Gaussian: Displacements, Markov: JointStates}  # noqa: RUF012 - never changed

    indices: tuple[int, ...] = parameter(
        Collection(INDEX("n"), distinct=True), doc="positions of the secret times in the trace"
    )
    radius: float = parameter(POSITIVE, default=1.0, doc="radius of the pairs at each time")
    distances: FloatArray | None = parameter(
        OPTIONAL(MATRIX("M", "M")), default=None, doc=DISTANCES
    )

    def question(self, belief: Any) -> Any:
        """Return one group with a ball for each time, or the states at those times."""
        if isinstance(belief, Markov):
            self._require_below("indices", self.indices, belief.steps)
            times = tuple(sorted(self.indices))
            return JointStates((times,), belief.states, self._close(belief))
        self._require_below("indices", self.indices, belief.times)
        group = tuple(belief.entries_at(index) for index in self.indices)
        return Displacements(groups=(group,), radii=self.radius)


@declare
class EveryPoint(_AtTimes):
    """Each time of the trace on its own: the union of all basic secrets.

    Reference: Meehan and Chaudhuri (2021), section 4, Algorithm 1 for all basic secrets.

    >>> import sfumato as sf
    >>> prior, secret = sf.priors.rbf(length_scale=6.0, times=50), sf.secrets.every_point()
    >>> release = sf.mechanisms.gaussian_uniform(mse=1.0).protect(prior, secret)
    >>> print(sf.measures.renyi().loss(prior, secret, release))
    Rényi divergence (order=2) [nats] = 7.60858
    """

    name = "every_point"
    yields = {Gaussian: Displacements, Markov: StateAt}  # noqa: RUF012 - never changed

    radius: float = parameter(POSITIVE, default=1.0, doc="radius of the discriminative pairs")
    distances: FloatArray | None = parameter(
        OPTIONAL(MATRIX("M", "M")), default=None, doc=DISTANCES
    )

    def question(self, belief: Any) -> Any:
        """Return one group for each time, or the state at each time."""
        if isinstance(belief, Markov):
            return StateAt.of(belief, range(belief.steps), self._close(belief))
        groups = tuple((belief.entries_at(time),) for time in range(belief.times))
        return Displacements(groups=groups, radii=self.radius)


@declare
class Near(Secret):
    """Being within `radius` of a place at one time of a Gaussian trace.

    >>> import sfumato as sf
    >>> prior, secret = sf.priors.rbf(length_scale=6.0, times=50), sf.secrets.near(0.0, index=24)
    >>> noise = sf.mechanisms.gaussian_uniform(mse=1.0)
    >>> release = noise.protect(prior, sf.secrets.basic(24))  # asked about another secret
    >>> print(sf.measures.posterior_gap().loss(prior, secret, release))
    posterior gap [probability] = 0.313965
    """

    name = "near"
    yields = {Gaussian: Nearness}  # noqa: RUF012 - a class attribute, never changed

    place: float = parameter(REAL, doc="the place")
    radius: float = parameter(POSITIVE, default=1.0, doc="how near counts")
    index: int = parameter(INDEX("n"), default=0, doc="position of the time in the trace")

    def question(self, belief: Gaussian) -> Nearness:
        """Return the event."""
        if self.index >= belief.times:
            raise self.reject("index", f"below the trace length {belief.times}", self.index)
        return Nearness(belief.entries_at(self.index)[0], self.place, self.radius)
