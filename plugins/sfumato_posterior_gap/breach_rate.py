"""How many of the sensitive states that really occurred an adversary gets wind of."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Gaussian, Markov
from sfumato.channels import (
    AdditiveGaussian,
    Emission,
    RelabelledSuppression,
    RememberingSuppression,
    Suppression,
    suppression_of,
)
from sfumato.channels.noisy_vectors import normal_chances
from sfumato.errors import ImpossibleObservation, OutsideHypotheses
from sfumato.inference.markov.events import TimedEvents
from sfumato.inference.markov.remembered import remembered_releases
from sfumato.inference.markov.segments import expected_releases
from sfumato.inference.markov.smoothing import forward_backward
from sfumato.parameters import CHOICE, LIST_OF, OPTIONAL, SEED, UNIT, Label, declare, parameter
from sfumato.protocols import LossMeasure, Quantity, Reading
from sfumato.quantities import RELEASED_FRACTION
from sfumato.questions import Displacements, Events, Nearness
from sfumato.values import FloatArray
from sfumato.views import EventMeasure, GaussianView
from sfumato.views.gaussian import ENDS, near_chances, near_law

CONFIDENCE = 0.99


@declare
class BreachRate(EventMeasure):
    """How often what is seen makes a sensitive event likelier by more than δ.

    Formula: without traces, Pr[Pr[A | o] − Pr[A] > δ], over all that can be seen, of the worst
    event. It may rise when less is seen, so only exact views are read; near a place on a
    Gaussian trace it is the chance that the posterior mean falls into an interval, whose ends are
    found by one root.

    With traces, the share of sensitive states in them that are breached: for each trace an output
    is drawn; a sensitive state X_t ∈ A that occurs in the trace is breached if Pr[A | o] − Pr[A] >
    δ for some such A; it counts once. The literature divides by two different numbers:
    ``per="sensitive_state"`` by how many sensitive states occur, ``per="length"`` by the length of
    the traces. The witness holds both.

    Assumptions: the adversary knows the prior and the system.
    Guarantee: exact without traces, or an upper bound where rounding hides whether a rise is above
    δ. With traces exact if the channel leaves nothing to chance; otherwise an estimate of the
    expected rate over the channel's draws for these traces, with a 99 % interval by Hoeffding's
    inequality, traces being drawn independently.
    Reference: Götz, Nath and Gehrke (2012), section 7.1, both definitions.

    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain(
    ...     initial=[0.5, 0.5], transitions=[[0.5, 0.5], [0.5, 0.5]], steps=2, states=["s", "x"]
    ... )
    >>> secret = sf.secrets.contexts({"s"})
    >>> release = sf.mechanisms.suppress_sensitive().protect(chain, secret)
    >>> measure = sf.measures.breach_rate(traces=[["s", "x"], ["x", "x"]], delta=0.25)
    >>> measure.loss(chain, secret, release).witness
    {'sensitive_state': 1.0, 'length': 0.25}
    """

    name = "breach_rate"
    obeys_processing = False
    promises = ("share of outputs",)

    traces: tuple[tuple[Hashable, ...], ...] | None = parameter(
        OPTIONAL(LIST_OF(LIST_OF(Label("M"), "T"))),
        default=None,
        doc="what really happened, one list of states each; None: all that can happen",
    )
    delta: float = parameter(UNIT, default=0.1, doc="the rise that counts as a breach")
    per: str = parameter(
        CHOICE("sensitive_state", "length"), default="sensitive_state", doc="what to divide by"
    )
    seed: int | None = parameter(
        SEED, default=None, doc="of the outputs; if left out 0, or what a study draws"
    )

    @property
    def quantity(self) -> Quantity:
        """The breach rate, by its definition and δ."""
        per = "output" if self.traces is None else self.per
        return Quantity("breach rate", {"delta": self.delta, "per": per})

    def of_posteriors(
        self, prior: float, posteriors: FloatArray, seen: FloatArray, error: float
    ) -> tuple[float, float]:
        """Return Pr[posterior > prior + δ], half-way between what is certain and what may be."""
        certain = posteriors * (1.0 - error) > prior * (1.0 + error) + self.delta
        possible = posteriors * (1.0 + error) > prior * (1.0 - error) + self.delta
        low = float(seen[certain].sum()) * (1.0 - error)
        high = min(1.0, float(seen[possible].sum()) * (1.0 + error))
        return (low + high) / 2.0, (high - low) / 2.0

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Return the chance of a breach, or the share of breaches in the given traces."""
        if self.traces is None:
            if isinstance(question, Nearness):
                return self._near(belief, question, channel)
            return super().evaluate(belief, question, channel)
        if not isinstance(question, Events) or question.has_windows:
            raise OutsideHypotheses("breach_rate counts states; an event over a window is none.")
        return self._in_traces(belief, question, channel)

    def _near(self, belief: Gaussian, question: Nearness, channel: AdditiveGaussian) -> Reading:
        """Return Pr[p(m) > Pr[A] + δ], p falling with the distance of m from the place."""
        from scipy.optimize import brentq

        ball = Displacements((((question.entry,),),), question.radius)
        part = GaussianView((belief, ball, channel)).parts[0]
        if part.information.bound != "exact":
            raise OutsideHypotheses(
                "breach_rate may rise when less is seen, so a bound on what is told says nothing."
            )
        found = []
        for end in ENDS:
            middle, spread, deviation = near_law(part, end)
            sigma = math.sqrt(float(part.prior[0, 0]))
            prior = float(near_chances(np.array(middle), question, sigma)[0])

            def rise(away: float, deviation: float = deviation, prior: float = prior) -> float:
                at = near_chances(np.array(question.place + away), question, deviation)
                return float(at[0]) - prior - self.delta

            if spread == 0.0 or rise(0.0) <= 0.0:
                found.append(0.0)
                continue
            reach = question.radius + 40.0 * deviation
            half = question.radius if deviation == 0.0 else float(brentq(rise, 0.0, reach))
            cuts = np.array([question.place - half, question.place + half])
            found.append(float(normal_chances((cuts - middle) / spread)[0]))
        how = f"{part.information.how}; an interval of posterior means"
        witness = {"event": question.name}
        return self.between(min(found) * (1 - 1e-12), max(found), witness, how)

    def _in_traces(self, belief: Markov, question: Events, channel: Emission) -> Reading:
        """Count breaches in one output for each trace."""
        traces: Any = self.traces
        if any(len(trace) != belief.steps for trace in traces):
            raise self.reject("traces", f"of {belief.steps} states each", traces)
        paths = np.array([belief.encode(trace) for trace in traces])
        if isinstance(channel, RememberingSuppression):  # the memory is a function of the trace
            paths, masks = channel.pairs(paths), channel.lift_masks(question.masks)
            belief, channel = channel.augmented(belief)
            question = Events(masks, question.names, question.both_ways)
        events = TimedEvents.from_masks(belief, question.masks)
        occurred = events.members[np.arange(len(events.times)), paths[:, events.times]]
        exposed = self._exposed(belief, events, channel, paths)
        # A state is counted once, in however many events it lies.
        at = events.times[:, None] == np.arange(belief.steps)
        breached, sensitive = (occurred & exposed) @ at, (occurred @ at).sum(axis=1)
        rates = {"length": float(breached.sum() / paths.size)}
        weights = np.full(len(paths), belief.steps)
        if sensitive.any():
            rates["sensitive_state"] = float(breached.sum() / sensitive.sum())
        elif self.per == "sensitive_state":
            raise OutsideHypotheses("breach_rate needs a sensitive state in the traces; got none.")
        if self.per == "sensitive_state":
            weights = sensitive
        witness = {name: rates[name] for name in ("sensitive_state", "length") if name in rates}
        if _is_deterministic(channel):
            return Reading(value=rates[self.per], bound="exact", witness=witness, how="counted")
        half = _half_width(sensitive, weights)
        interval = (max(rates[self.per] - half, 0.0), min(rates[self.per] + half, 1.0))
        return Reading(
            value=rates[self.per],
            bound="estimate",
            interval=interval,
            witness=witness,
            how=f"one output for each of {len(paths)} traces",
        )

    def brute_force(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Return the expected rate from the table of every trace and output."""
        from sfumato_posterior_gap import brute_force

        return brute_force.breach_rate(
            belief=belief,
            question=question,
            channel=channel,
            traces=self.traces,
            delta=self.delta,
            per=self.per,
        )

    def _exposed(
        self, belief: Markov, events: TimedEvents, channel: Emission, paths: NDArray[np.intp]
    ) -> NDArray[np.bool_]:
        """Return which events each output makes more likely by more than δ, (N, E)."""
        outputs = channel.sample_many(paths, np.random.default_rng(self.seed or 0))
        evidence = channel.evidence_batch([tuple(output) for output in outputs])
        try:
            smoothed = forward_backward(belief, evidence)
        except ImpossibleObservation as error:
            raise ImpossibleObservation(
                "breach_rate.traces must be possible under the belief; one is not "
                f"({error}): fit the chain with some smoothing."
            ) from None
        posteriors = events.probabilities(smoothed.marginals)
        # A rise of δ itself is allowed; a hair more by rounding is that same rise.
        return np.asarray(posteriors > (events.priors(belief) + self.delta) * (1.0 + 1e-12))


def _is_deterministic(channel: Any) -> bool:
    if not isinstance(channel, (Suppression, RelabelledSuppression)):
        return False
    decides = suppression_of(channel)
    tables = [decides.start] if decides.after is None else [decides.start, decides.after]
    return all(bool(((table == 0.0) | (table == 1.0)).all()) for table in tables)


def _half_width(ranges: NDArray[np.intp], weights: NDArray[np.intp]) -> float:
    """Return Hoeffding's half width for Σ breaches / Σ weights, breaches in trace r ≤ ranges[r]."""
    spread = math.sqrt(float((ranges.astype(float) ** 2).sum()))
    return spread * math.sqrt(math.log(2.0 / (1.0 - CONFIDENCE)) / 2.0) / float(weights.sum())


@declare
class ReleasedFraction(LossMeasure):
    """The expected share of states that are released, of T.

    Formula: Σ_t Pr[X_t is released] / T.

    Assumptions: suppression that depends on the last release at most.

    Guarantee: exact.

    Reference: Götz, Nath and Gehrke (2012), section 2, utility.

    >>> ReleasedFraction().quantity.worse
    'smaller'
    """

    name = "released_fraction"
    reads = (
        (Markov, object, Suppression),
        (Markov, object, RelabelledSuppression),
        (Markov, object, RememberingSuppression),
    )

    @property
    def quantity(self) -> Quantity:
        """The released fraction."""
        return RELEASED_FRACTION

    def evaluate(
        self,
        belief: Markov,
        question: Any,
        channel: Suppression | RelabelledSuppression | RememberingSuppression,
    ) -> Reading:
        """Return the expected number of releases over the number of steps."""
        del question
        if isinstance(channel, RememberingSuppression):
            released = float(remembered_releases(belief, channel).sum())
        else:
            released = expected_releases(belief, suppression_of(channel))
        return Reading(
            value=released / belief.steps, bound="exact", how="recursion over last releases"
        )

    def brute_force(self, belief: Markov, question: Any, channel: Emission) -> Reading:
        """Return it from the table of every trace and output."""
        from sfumato_posterior_gap import brute_force

        del question
        return brute_force.released_fraction(belief, channel)
