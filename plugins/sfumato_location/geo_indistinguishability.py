"""How much likelier an output is from one place than from another, per unit of their distance."""

from __future__ import annotations

import itertools
import math
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sfumato.beliefs import Markov
from sfumato.channels import Symbols
from sfumato.errors import OutsideHypotheses
from sfumato.laws.brute_force import worst_of_tables
from sfumato.parameters import declare, parameter
from sfumato.protocols import LossMeasure, Quantity, Reading
from sfumato.quantities import count_text
from sfumato.values import FloatArray
from sfumato.views import Outcomes, ViewMeasure
from sfumato.views.measures import Found
from sfumato_location.places import PLACES, distances_between


def _per_distance(name: str, places: FloatArray) -> Quantity:
    """Return the quantity on that map, which is told by its size, and told apart by a checksum."""
    wide, high = np.ptp(places, axis=0)
    told = f"{count_text(len(places), 'place')} within {wide:.3g} × {high:.3g}"
    own = {"map": told, "_map": f"{zlib.crc32(places.tobytes()):08x}"}
    return Quantity(name, own, unit="nats per unit of distance")


def log_ratios(p: FloatArray, q: FloatArray) -> FloatArray:
    """Return max over the last axis of log p/q; nothing from outputs that neither has."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # Of close numbers the difference is exact, and nothing cancels; beyond float64 little can.
        far = np.where(p / q < np.inf, np.log(p / q), np.log(p) - np.log(q))
        ratios = np.where(p < 2.0 * q, np.log1p((p - q) / q), far)
    return np.asarray(np.where(p > 0.0, ratios, -np.inf).max(axis=-1))


@declare
class GeoIndistinguishability(LossMeasure):
    """The smallest ε per unit of distance of one step of the release, whoever moves how.

    Claim: what is shown of one time is at most $e^{ε d(x, y)}$ times likelier from x than from y.

    Formula: max over times, places x ≠ y and outputs z of $log(C_xz / C_yz) / d(x, y)$.

    Assumptions: none on the prior; of one step alone, so it says nothing of what the other steps
    tell somebody who knows how one moves: for that, `location_leakage`.

    Guarantee: exact.

    Reference: Andrés et al. (2013), definition 1.

    >>> import sfumato as sf
    >>> places = [[0, 0], [2, 0]]
    >>> walk = sf.priors.location_walk(places, reach=1.0, steps=3)
    >>> release = sf.mechanisms.randomised_response(epsilon=1.0).protect(walk, sf.secrets.basic(0))
    >>> smallest = sf.measures.geo_indistinguishability(places=places)
    >>> print(smallest.loss(walk, sf.secrets.basic(0), release))
    geo-indistinguishability (map=2 places within 2 × 0) [nats per unit of distance] = 0.5
    """

    name = "geo_indistinguishability"
    promises = ("nothing from silence",)
    reads = ((Markov, object, Symbols),)

    places: FloatArray = parameter(PLACES, doc="coordinates of the places, as the prior has them")

    @property
    def quantity(self) -> Quantity:
        """ε per unit of distance."""
        return _per_distance("geo-indistinguishability", self.places)

    def evaluate(self, belief: Markov, question: Any, channel: Symbols) -> Reading:
        """Return the largest ratio over times and pairs of places."""
        del question
        far = _distances_for(self.places, belief.state_count)
        worst, witness = 0.0, None
        for x, y in np.argwhere(far > 0.0):
            each = log_ratios(channel.probabilities[:, x], channel.probabilities[:, y]) / far[x, y]
            if each.max() > worst:
                worst, time = float(each.max()), int(each.argmax())
                witness = {"pair": (belief.states[x], belief.states[y]), "time": time}
        return Reading(
            value=worst, bound="exact", relative_error=0.0 if math.isinf(worst) else 1e-14,
            witness=witness, how="every pair of places",
        )  # fmt: skip

    def brute_force(self, belief: Markov, question: Any, channel: Symbols) -> Reading:
        """Return it from the evidence of every single output, in Python's numbers."""
        del belief, question
        worst = 0.0
        for time, alphabet in enumerate(channel.outputs()):
            before = [own[0] for own in channel.outputs()[:time]]
            rows = [np.exp(channel.evidence([*before, one])[time]) for one in alphabet]
            laws = dict(enumerate(zip(*(row.tolist() for row in rows), strict=True)))
            worst = max(worst, _largest_ratio(laws, self.places))
        return Reading(value=worst, bound="exact", relative_error=1e-9, how="brute force")


def _distances_for(places: FloatArray, states: int) -> FloatArray:
    if len(places) != states:
        raise OutsideHypotheses(
            f"places must be those of the {states} states; got {len(places)} of them."
        )
    return distances_between(places)


@declare
class LocationLeakage(ViewMeasure):
    """What ε per step means for somebody who moves: ε per unit of distance of the secret place.

    Claim: all that is released, at whatever times, is at most $e^{ε d(x, y)}$ times likelier if one
    was at x at the secret time than if one was at y.

    Formula: max over places x ≠ y and outcomes o of $log(Pr[o | X_t = x] / Pr[o | X_t = y]) / d(x,
    y)$.

    Assumptions: the adversary knows the prior and the channel; the secret is where one was at a
    time (`basic`, `every_point`).

    Guarantee: exact, or an upper bound where the view is one.

    Reference: Andrés et al. (2013), for ε per distance; Kifer and Machanavajjhala (2014), for
    likelihoods under a belief.

    >>> import sfumato as sf
    >>> places = [[0, 0], [2, 0]]
    >>> walk = sf.priors.location_walk(places, reach=1.0, steps=3)
    >>> release = sf.mechanisms.randomised_response(epsilon=1.0).protect(walk, sf.secrets.basic(1))
    >>> print(sf.measures.location_leakage(places=places).loss(walk, sf.secrets.basic(1), release))
    location leakage (map=2 places within 2 × 0) [nats per unit of distance] = 1.23533
    """

    name = "location_leakage"
    promises = ("nothing from silence",)

    places: FloatArray = parameter(PLACES, doc="coordinates of the places, as the prior has them")

    @property
    def quantity(self) -> Quantity:
        """ε per unit of distance of the secret."""
        return _per_distance("location leakage", self.places)

    def of_outcomes(self, outcomes: Outcomes) -> Found:
        """Return the largest ratio over pairs of places that are possible."""
        far = self._distances(outcomes.asked)
        laws, rows = outcomes.likelihoods, outcomes.values
        worst, pair, apart = 0.0, None, far[np.ix_(rows, rows)] > 0.0
        for one, other in np.argwhere(apart):
            ratio = float(log_ratios(laws[one], laws[other])) / far[rows[one], rows[other]]
            if ratio > worst:
                worst, pair = ratio, {"pair": (outcomes.name(one), outcomes.name(other))}
        if math.isinf(worst) or not apart.any():
            return Found(worst, 0.0, pair)
        return Found(worst, 8.0 * outcomes.error / float(far[far > 0.0].min()), pair)

    def _distances(self, asked: Any) -> FloatArray:
        if not np.array_equal(asked.members, np.eye(len(asked.members), dtype=bool)) or (
            len(asked.times) != 1
        ):
            raise OutsideHypotheses("location_leakage needs a secret that is the place at a time.")
        return _distances_for(self.places, len(asked.members))

    def brute_force(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Return it from every trace and output."""
        if not hasattr(question, "asked"):
            raise OutsideHypotheses("brute force looks at states.")

        def worst(joint: FloatArray, asked: Any) -> float:
            if asked.members.shape != (len(self.places),) * 2:
                raise OutsideHypotheses("brute force looks at one time, and at all its places.")
            laws = {x: (row / math.fsum(row)).tolist() for x, row in enumerate(joint) if row.any()}
            return _largest_ratio(laws, self.places)

        return worst_of_tables(belief, question, channel, worst)


def _largest_ratio(laws: Mapping[int, Sequence[float]], places: FloatArray) -> float:
    """Return max log p/q per distance, one pair and one outcome after the other."""
    worst = 0.0
    for x, y in itertools.permutations(laws, 2):
        for a, b in zip(laws[x], laws[y], strict=True):
            if a > 0.0:
                ratio = math.log(a / b) if b > 0.0 else math.inf
                worst = max(worst, ratio / math.dist(places[x], places[y]))
    return worst
