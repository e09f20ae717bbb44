"""Counts from sensors that watch one or more places at each step."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Markov
from sfumato.channels import Emission, NoisyVectors, Symbols
from sfumato.errors import ParameterError
from sfumato.parameters import (
    CHOICE,
    LABEL_SET,
    LIST_OF,
    OPTIONAL,
    POSITIVE,
    SEED,
    Label,
    declare,
    parameter,
)
from sfumato.protocols import Mechanism, PriorClass, Release, Secret
from sfumato.quantities import NOISE_VARIANCE
from sfumato.randomness import generator_or_secure
from sfumato.values import FloatArray, encode_labels

Numbers = NDArray[Any]


@attrs.frozen(kw_only=True, repr=False)
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

    watched: FloatArray = attrs.field(eq=False)
    """watched[t, m, k] is 1 if sensor k of step t watches state m."""

    def count(
        self, traces: Sequence[Sequence[Hashable]], rng: np.random.Generator | None = None
    ) -> Numbers:
        """Count everyone at every sensor and add the noise: (T,), or (T, K) with K sensors."""
        counts = self._true_counts(traces)
        if not isinstance(self.channel, NoisyVectors):
            return counts.astype(np.intp)
        noise = self.channel.scale * generator_or_secure(rng).standard_normal(counts.shape)
        return np.rint((counts + noise) / self.channel.grid) * self.channel.grid

    def without(self, counts: Numbers, others: Sequence[Sequence[Hashable]]) -> list[Any]:
        """Subtract the others' part of the counts: the target's own output, one symbol a step."""
        known, given = self._true_counts(others), np.asarray(counts)
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

    def _true_counts(self, traces: Sequence[Sequence[Hashable]]) -> FloatArray:
        """Return the counts without noise, (T,), or (T, K) with K sensors."""
        steps, states, sensors = self.watched.shape
        for trace in traces if _is_list(traces) else [traces]:
            if not _is_list(trace):
                raise ParameterError(
                    f"traces must be a list of traces, each a list of states; got {trace!r}."
                )
            if len(trace) != steps:
                raise ParameterError(f"each trace must have {steps} states; got {len(trace)}.")
        flat = encode_labels(self.channel.states, (x for trace in traces for x in trace), "states")
        steps_of = zip(flat.reshape(-1, steps).T, self.watched, strict=True)
        counts = [np.bincount(here, minlength=states) @ watched for here, watched in steps_of]
        return np.array(counts).reshape((steps,) if sensors == 1 else (steps, sensors))


def _is_list(given: Any) -> bool:
    return hasattr(given, "__len__") and not isinstance(given, (str, bytes))


@declare
class SensorCounts(Mechanism):
    """At step t a sensor counts who is at place $c_t$; the target adds $1[X_t = c_t]$ to it.

    The adversary knows everyone else and subtracts them, so what is released about the target is
    that indicator, plus $N(0, noise²)$ where noise is added. With several sensors at a step, each
    has its own count and its own noise.

    `sensors` lists the place watched at each step, or a list of places for some step; one place
    alone is watched at every step; ``"drawn"`` draws one place for each step, uniformly with the
    given seed, and everyone knows the draw.

    Reference: Koga, Meehan and Chaudhuri (2024), sections 2.1 and 3.1.

    >>> import sfumato as sf
    >>> day = sf.priors.markov_chain("stationary", [[0.8, 0.2], [0.5, 0.5]], 6, ["home", "bar"])
    >>> release = sf.mechanisms.sensor_counts("bar").protect(day, sf.secrets.trajectory())
    >>> release.apply(["home", "bar", "bar", "home", "home", "home"])
    (0, 1, 1, 0, 0, 0)
    """

    name = "sensor_counts"
    strength = ("noise", "more")
    asks = ((Markov, object),)
    yields = Emission

    sensors: tuple[Hashable, ...] | Hashable = parameter(
        CHOICE("drawn") | LIST_OF(Label("M") | LABEL_SET("M"), size="T") | Label("M"),
        doc="the place or places watched at each step; one place for all steps; or 'drawn'",
    )
    noise: float | None = parameter(
        OPTIONAL(POSITIVE), default=None, doc="standard deviation of the noise; none by default"
    )
    seed: int = parameter(SEED, default=0, doc="of the places that are drawn")

    def places(self, belief: Markov) -> tuple[tuple[Hashable, ...], ...]:
        """Return the places watched at each step.

        >>> import sfumato as sf
        >>> from sfumato.beliefs import Markov
        >>> belief = Markov([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], steps=3)
        >>> last, each = sf.mechanisms.sensor_counts(1), sf.mechanisms.sensor_counts([0, [0, 1], 1])
        >>> last.places(belief), each.places(belief)
        (((1,), (1,), (1,)), ((0,), (0, 1), (1,)))
        """
        if self.sensors == "drawn":
            drawn = np.random.default_rng(self.seed).integers(belief.state_count, size=belief.steps)
            return tuple((belief.states[place],) for place in drawn)
        if not isinstance(self.sensors, tuple):
            return ((self.sensors,),) * belief.steps
        return tuple(here if isinstance(here, tuple) else (here,) for here in self.sensors)

    def design(self, prior: PriorClass, secret: Secret) -> CountingRelease:
        """Place the sensors among the chain's states."""
        belief = next(prior.members()).belief()
        watched = self._watched(belief)
        if self.noise is not None:
            channel: Emission = NoisyVectors(belief.states, watched, self.noise)
        else:
            most = watched.shape[2]
            rows = np.eye(most + 1, most, -1, dtype=int).tolist()
            symbols = (0, 1) if most == 1 else tuple(map(tuple, rows))
            laws = np.concatenate([1.0 - watched.sum(axis=2, keepdims=True), watched], axis=2)
            channel = Symbols(belief.states, symbols, laws)
        return CountingRelease(
            mechanism=self,
            prior=prior,
            secret=secret,
            channel=channel,
            utility_value=0.0 if self.noise is None else self.noise * self.noise,
            utility_quantity=NOISE_VARIANCE,
            watched=watched,
        )

    def _watched(self, belief: Markov) -> FloatArray:
        """Return which state each sensor of each step watches, (T, M, K)."""
        places = self.places(belief)
        if len(places) != belief.steps:
            raise self.reject("sensors", f"one place for each of {belief.steps} steps", places)
        unknown = [place for here in places for place in here if place not in belief.states]
        if unknown:
            raise self.reject("sensors", f"among {list(belief.states)}", unknown[0])
        watched = np.zeros((belief.steps, belief.state_count, max(map(len, places))))
        for time, here in enumerate(places):
            watched[time, belief.encode(here), np.arange(len(here))] = 1.0
        return watched
