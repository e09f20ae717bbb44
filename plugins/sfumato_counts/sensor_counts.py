"""Counts from sensors that watch one place at each step."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from sfumato.beliefs import Markov
from sfumato.channels import Emission, NoisyVectors, Symbols
from sfumato.parameters import LIST_OF, OPTIONAL, POSITIVE, Label, declare, parameter
from sfumato.protocols import DeclaredMechanism, PriorClass, Release, Secret
from sfumato.quantities import NOISE_VARIANCE


@declare
class SensorCounts(DeclaredMechanism):
    """At step t a sensor counts who is at place c_t; the target adds 1[X_t = c_t] to it.

    The adversary knows everyone else and subtracts them, so what is released about the target is
    that indicator, plus N(0, noise²) where noise is added.

    Reference: Koga, Meehan and Chaudhuri (2024), section 3.

    >>> SensorCounts([0, 1, 0])
    sf.mechanisms.sensor_counts(sensors=[0, 1, 0])
    """

    name = "sensor_counts"
    asks = ((Markov, object),)
    yields = Emission

    sensors: tuple[Hashable, ...] = parameter(
        LIST_OF(Label("M"), size="T"), doc="the place watched at each step"
    )
    noise: float | None = parameter(
        OPTIONAL(POSITIVE), default=None, doc="standard deviation of the noise; none by default"
    )

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Place the sensors among the chain's states."""
        belief = next(prior.members()).belief()
        if len(self.sensors) != belief.steps:
            raise self.reject(
                "sensors", f"one place for each of {belief.steps} steps", list(self.sensors)
            )
        unknown = [place for place in self.sensors if place not in belief.states]
        if unknown:
            raise self.reject("sensors", f"among {list(belief.states)}", unknown[0])
        return Release(
            mechanism=self,
            prior=prior,
            secret=secret,
            channel=self._channel(belief),
            utility_value=0.0 if self.noise is None else self.noise**2,
            utility_quantity=NOISE_VARIANCE,
        )

    def _channel(self, belief: Markov) -> Emission:
        seen = np.zeros((belief.steps, belief.state_count))
        seen[np.arange(belief.steps), belief.encode(self.sensors)] = 1.0
        if self.noise is not None:
            return NoisyVectors(belief.states, seen[:, :, None], self.noise)
        return Symbols(belief.states, (0, 1), np.stack([1.0 - seen, seen], axis=-1))
