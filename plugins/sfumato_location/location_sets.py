"""δ-location sets: only the places where one may well be are kept alike, given what was shown."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Markov
from sfumato.channels import Emission
from sfumato.channels.emission import label_array
from sfumato.parameters import POSITIVE, UNIT, declare, parameter
from sfumato.protocols import Mechanism, PriorClass, Release, Secret
from sfumato.randomness import generator_or_secure
from sfumato.values import (
    ByContent,
    FloatArray,
    Labels,
    cumulative,
    draw_outcomes,
    encode_batch,
    encode_labels,
)
from sfumato_location.mechanisms import EXPECTED_DISTANCE, belief_about
from sfumato_location.places import PLACES, distances_between

SIMULATED = 2_000
"""Traces from which the utility is estimated: all outputs are too many to list."""


@attrs.frozen(eq=False, repr=False)
class PlacesInSets(ByContent, Emission):
    """A place drawn within the set of places that what was shown before leaves likely.

    `predicted` is Pr[X_t | o_1, ..., o_{t−1}], a function of what was seen: the set is the smallest
    of mass 1 − δ or more, a place outside it is replaced by the nearest inside, and z inside is
    shown with probability ∝ exp(−ε d(x, z) / 2D), D the diameter of the set.
    """

    words: ClassVar[str] = "places within likely sets"

    belief: Markov
    far: FloatArray
    epsilon: float
    delta: float

    def __repr__(self) -> str:
        return f"PlacesInSets({len(self.states)} places, {self.steps} steps)"

    @property
    def steps(self) -> int:
        """The length of a trace, T."""
        return self.belief.steps

    @property
    def states(self) -> Labels:
        """The labels of the places."""
        return self.belief.states

    def outputs(self) -> tuple[tuple[Any, ...], ...]:
        """Return the places, once per step."""
        return (self.states,) * self.steps

    def likely_set(self, predicted: FloatArray) -> NDArray[np.intp]:
        """Return the fewest places with a mass of at least 1 − δ, in their order."""
        order = np.argsort(-predicted, kind="stable")
        needed = int(np.searchsorted(np.cumsum(predicted[order]), 1.0 - self.delta)) + 1
        return np.sort(order[:needed])

    def law(self, predicted: FloatArray) -> FloatArray:
        """Return Pr[z is shown | x], (M, M), where the past makes `predicted` of the present."""
        inside = self.likely_set(predicted)
        stands_for = inside[self.far[:, inside].argmin(axis=1)]
        diameter = float(self.far[np.ix_(inside, inside)].max())
        weights = np.zeros_like(self.far)
        rate = self.epsilon / (2.0 * diameter) if diameter else 0.0
        weights[:, inside] = np.exp(-rate * self.far[np.ix_(stands_for, inside)])
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def _after(self, predicted: FloatArray, likelihood: FloatArray, time: int) -> FloatArray:
        """Return the prediction of the next step; after what is impossible, that of the chain."""
        joint = predicted * likelihood
        total = float(joint.sum())
        present = joint / total if total > 0.0 else predicted
        return present if time == self.steps - 1 else np.asarray(present @ self.belief.matrix(time))

    def evidence(self, observed: Sequence[Any]) -> FloatArray:
        """Return log-likelihoods, (k, M)."""
        self._check_length(len(observed))
        memory: Hashable = ()
        rows: list[FloatArray] = []
        for time, place in enumerate(encode_labels(self.states, observed, "states")):
            rows.append(self.next_evidence(memory, time)[place])
            memory = self.remember(memory, time, self.states[place])
        return np.reshape(rows, (-1, len(self.far)))

    def remember(self, memory: Hashable, time: int, symbol: Any) -> Hashable:
        """Return the prediction of the next step, on which alone all later evidence depends."""
        predicted = self._remembered(memory)
        likelihood = self.law(predicted)[:, self.states.index(symbol)]
        return tuple(self._after(predicted, likelihood, time).tolist())

    def next_evidence(self, memory: Hashable, time: int) -> FloatArray:
        """Return log Pr[z is shown | x, what was predicted], (M, M)."""
        del time
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.law(self._remembered(memory)).T))

    def _remembered(self, memory: Any) -> FloatArray:
        return np.array(memory) if memory else self.belief.initial

    def sample_many(
        self, traces: NDArray[np.intp], rng: np.random.Generator | None
    ) -> NDArray[np.object_]:
        """Draw one output per trace of positions, each with its own sets."""
        source, paths = generator_or_secure(rng), np.asarray(traces, dtype=np.intp)
        codes = np.empty(paths.shape, dtype=np.intp)
        for number, trace in enumerate(paths):
            predicted = self.belief.initial
            for time, place in enumerate(trace):
                law = self.law(predicted)
                shown = draw_outcomes(cumulative(law[place][None]), source.random(1))
                codes[number, time] = shown[0]
                predicted = self._after(predicted, law[:, shown[0]], time)
        return label_array(self.states)[codes]


@declare
class DeltaLocationSet(Mechanism):
    """Show a place within the δ-location set: the likely places, given all that was shown so far.

    At each step, any two places of the set are shown as a third with chances at most $e^ε$ times
    each other; a place that is not in the set is protected as the nearest one of it. The noise is
    the exponential mechanism on the set, in place of the planar isotropic mechanism of the paper:
    the same guarantee, on places instead of the plane. Of a class of priors the first member's
    sets are taken. The utility is estimated from 2,000 simulated traces.

    Reference: Xiao and Xiong (2015), definitions 3.1 and 3.2.

    >>> import numpy as np
    >>> import sfumato as sf
    >>> places = sf.priors.location_walk.grid(3, 1)
    >>> walk = sf.priors.location_walk(places, reach=0.2, steps=3)
    >>> mechanism = sf.mechanisms.delta_location_set(epsilon=1.0, delta=0.1, places=places)
    >>> release = mechanism.protect(walk, sf.secrets.basic(1))
    >>> release.apply([0, 0, 1], rng=np.random.default_rng(1))
    (1, 2, 0)
    >>> release.channel.likely_set(np.array([0.9, 0.08, 0.02])).tolist()
    [0]
    """

    name = "delta_location_set"
    asks = ((Markov, object),)
    yields = PlacesInSets

    epsilon: float = parameter(POSITIVE, doc="ε between any two places of a set, each step")
    delta: float = parameter(UNIT, doc="mass of the places that may be left out of a set")
    places: FloatArray = parameter(PLACES, doc="coordinates of the places, as the prior has them")

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Follow the first member's belief."""
        belief = belief_about(self, prior)
        far = distances_between(self.places)
        channel = PlacesInSets(belief, far, self.epsilon, self.delta)
        rng = np.random.default_rng(0)  # the same estimate whenever it is asked for
        paths = belief.sample_encoded(rng, SIMULATED // belief.steps + 1)
        shown = encode_batch(belief.states, channel.sample_many(paths, rng), "states")
        distance = float(far[paths, shown].mean())
        claims = {"utility": "estimated from simulated traces"}
        return Release(self, prior, secret, channel, distance, EXPECTED_DISTANCE, claims)
