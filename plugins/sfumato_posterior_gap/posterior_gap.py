"""How far, and how often, what is seen makes a secret event likelier; and what is released."""

from __future__ import annotations

import functools
import math
from collections.abc import Hashable
from typing import Any

import attrs
import numpy as np

from sfumato.beliefs import Markov
from sfumato.channels import (
    Emission,
    RememberingSuppression,
    Suppression,
    WholeTrace,
)
from sfumato.errors import ImpossibleObservation, OutsideHypotheses
from sfumato.inference.markov.events import TimedEvents
from sfumato.inference.markov.remembered import expected_releases
from sfumato.parameters import CHOICE, LIST_OF, OPTIONAL, SEED, UNIT, Label, declare, parameter
from sfumato.protocols import LossMeasure, Quantity, Reading
from sfumato.quantities import POSTERIOR_GAP, RELEASED_FRACTION
from sfumato.questions import Events, Nearness
from sfumato.values import FloatArray
from sfumato.views import EventMeasure, GaussianPart
from sfumato.views.gaussian import ENDS, End, near_chances, near_law
from sfumato.views.measures import bent_difference
from sfumato.views.segments import worst_gap
from sfumato_posterior_gap.adversaries import state_posteriors

CONFIDENCE = 0.99

ROUNDS, CLOSE, HALVINGS = 9, 4e-6, 64
"""How often places are looked at more closely, how close both ends come, and steps to a root."""


@declare
class PosteriorGap(EventMeasure):
    """How far an output can raise the probability of a secret event.

    Claim: nobody who sees the release believes any event with a probability that exceeds its prior
    one by more than the loss. A release is δ-private exactly when this is at most δ.

    Formula: max over outputs o and events A of $Pr[A | o] − Pr[A]$.

    For a Gaussian trace the events of a secret of radius r are "within r of some place"; the worst
    place is far out, where the prior vanishes, and the loss is $Pr[‖N(0, V_SS)‖ ≤ r]$, V the
    posterior covariance, by Anderson's inequality. The secret `near` names the place.

    Assumptions: the adversary knows the prior and the system.
    Guarantee: exact. For suppression the view's suprema are taken segment by segment, in polynomial
    time, rounded up by the proved error of the check, which the relative error states; a gap that
    rounding hides, some 1e-8 of an event's probability or less, is an upper bound. For other
    channels from the view's tables, between two proved ends where outputs are too many to list.
    Reference: Götz, Nath and Gehrke (2012), definition 1.

    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain(initial=[0.5, 0.5], transitions=[[0, 1], [0, 1]], steps=1)
    >>> secret = sf.secrets.contexts({0})
    >>> release = sf.mechanisms.suppress_given(probabilities=[[1, 1 / 3]]).protect(chain, secret)
    >>> round(sf.measures.posterior_gap().loss(chain, secret, release).value, 12)
    0.25
    """

    name = "posterior_gap"
    oracle = "sfumato_posterior_gap.brute_force"
    quantity = POSTERIOR_GAP
    promises = ("nothing from silence",)

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Return the worst gap, with the output that attains it where that is found at once."""
        gap = worst_gap(belief, question, channel)
        if gap is None:
            return super().evaluate(belief, question, channel)
        witness = {"output": gap.output, "event": question.names[gap.event]}
        return self.between(gap.floor, gap.ceiling, witness, "segments")

    def of_posteriors(
        self, prior: float, posteriors: FloatArray, seen: FloatArray, error: float
    ) -> tuple[float, float]:
        """Return the largest rise of one event; none is below zero."""
        del seen
        top = float(posteriors.max())
        low = max(0.0, top - prior - error * (top + prior))
        high = min(1.0, top * (1.0 + error)) - prior * (1.0 - error)
        return (low + high) / 2.0, (high - low) / 2.0

    def of_part(self, part: GaussianPart, end: End) -> tuple[float, float]:
        """Return Pr[‖N(0, V_SS)‖ ≤ r]; zero where nothing is told."""
        if part.distance(end) == 0.0:
            return 0.0, 0.0
        return part.success(part.posterior(end), part.radius)

    def between_members(self, worst: float, bend: float, turn: float) -> float:
        """Return the bound for Pr[A | o] − Pr[A] of the worst output and event."""
        return min(1.0, bent_difference(worst, bend, turn))


@declare
class BreachRate(EventMeasure):
    """How often what is seen makes a sensitive event likelier by more than δ.

    Formula: without traces, $Pr[Pr[A | o] − Pr[A] > δ]$, over all that can be seen, of the worst
    event. It may rise when less is seen, so only exact views are read; near a place on a Gaussian
    trace it is the chance that the posterior mean falls into an interval, whose ends are found by
    one root. Of a secret value of radius r the place is the worst one: the likelier a place, the
    more often it is met, but the less can be learnt.

    With traces, the share of sensitive states in them that are breached: for each trace an output
    is drawn; a sensitive state $X_t ∈ A$ that occurs in the trace is breached if $Pr[A | o] −
    Pr[A] > δ$ for some such A; it counts once. The literature divides by two different numbers:
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
    oracle = "sfumato_posterior_gap.brute_force"
    obeys_processing = False
    default_for = "finite classes"  # over an interval it is searched, root by root, and not proved
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
        least, most = (
            float(seen[posteriors > (prior * (1.0 + side) + self.delta) / (1.0 - side)].sum())
            for side in (error, -error)
        )
        low, high = least * (1.0 - error), min(1.0, most * (1.0 + error))
        return (low + high) / 2.0, (high - low) / 2.0

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Return the chance of a breach, or the share of breaches in the given traces."""
        if self.traces is None:
            return super().evaluate(belief, question, channel)
        if not isinstance(question, Events) or question.has_windows:
            raise OutsideHypotheses("breach_rate counts states; an event over a window is none.")
        if isinstance(channel, WholeTrace):
            raise OutsideHypotheses("breach_rate of traces takes an output for each state.")
        return self._in_traces(belief, question, channel)

    def of_near(self, part: GaussianPart, event: Nearness) -> tuple[float, float]:
        """Return two ends of Pr[p(m) > Pr[A] + δ], p falling with the distance from the place."""
        return self._ends(part, abs(event.place - float(part.mean[0])))

    def of_part(self, part: GaussianPart, end: End) -> tuple[float, float]:
        """Return two ends of the chance of a breach of the worst place, for one real value."""
        del end  # nothing is known to grow with the information: both ends are looked at
        if len(self.require_exact(part).prior) > 1 or self.delta < 1e-6:
            raise OutsideHypotheses(
                "breach_rate knows the worst place of one real value, for a delta of at least 1e-6."
            )
        return self._ends(part, None)

    def _ends(self, part: GaussianPart, away: float | None) -> tuple[float, float]:
        found = [_chance_of_breach(part, end, self.delta, away) for end in ENDS]
        return min(low for low, _ in found), max(high for _, high in found)

    def _in_traces(self, belief: Markov, question: Events, channel: Emission) -> Reading:
        """Count breaches in one output for each trace."""
        traces: Any = self.traces
        if any(len(trace) != belief.steps for trace in traces):
            raise self.reject("traces", f"of {belief.steps} states each", traces)
        paths = np.array([belief.encode(trace) for trace in traces])
        events = TimedEvents.from_masks(belief, question.kept)
        occurred = events.members[np.arange(len(events.times)), paths[:, events.times]]
        outputs = channel.sample_many(paths, np.random.default_rng(self.seed or 0))
        try:
            posteriors = state_posteriors(belief, channel, list(map(tuple, outputs)))
        except ImpossibleObservation as error:
            raise ImpossibleObservation(
                "breach_rate.traces must be possible under the belief; one is not "
                f"({error}): fit the chain with some smoothing."
            ) from None
        # A rise of δ itself is allowed; a hair more by rounding is that same rise.
        allowed = (events.priors(belief) + self.delta) * (1.0 + 1e-12)
        exposed = events.probabilities(posteriors) > allowed
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
        if isinstance(channel, Suppression) and all(
            ((table == 0.0) | (table == 1.0)).all() for table in channel.essence()[1]
        ):
            return Reading(value=rates[self.per], bound="exact", witness=witness, how="counted")
        # Hoeffding, for Σ breaches / Σ weights with at most `sensitive` breaches in each trace.
        spread = math.sqrt(float(np.square(sensitive, dtype=float).sum()))
        half = spread * math.sqrt(math.log(2.0 / (1.0 - CONFIDENCE)) / 2.0) / float(weights.sum())
        interval = (max(rates[self.per] - half, 0.0), min(rates[self.per] + half, 1.0))
        return Reading(
            value=rates[self.per],
            bound="estimate",
            interval=interval,
            witness=witness,
            how=f"one output for each of {len(paths)} traces",
        )


@functools.lru_cache(maxsize=64)
def _chance_of_breach(
    part: GaussianPart, end: End, delta: float, away: float | None
) -> tuple[float, float]:
    """Return two ends of Pr[|m − c| < h(c)], p(h) = Pr[c] + δ, of a place so far from the mean.

    None: of the worst place, in cells of places. The prior falls with the distance of c from its
    mean, so h grows with it, and over a cell [a, b] the chance is at most that of an interval of
    half-width h(b) around a.
    """
    _, spread, deviation = near_law(part, end)
    near: Any = Nearness(0, 0.0, part.radius)
    sigma = math.sqrt(float(part.prior[0, 0]))
    if spread == 0.0:
        return 0.0, 0.0
    if deviation == 0.0:  # the value itself is told, and surprises unless it was to be expected
        chance, room = float(near_chances(np.array(away or 0.0), near, sigma)[0]), 1.0 - delta
        return (min(chance, room) if away is None or chance < room else 0.0,) * 2
    far = part.radius + 40.0 * deviation  # p is below any δ there
    edges, low, high = np.linspace(0.0, far + 9.0 * spread, 513), 0.0, 1.0
    cells = np.stack([edges[:-1], edges[1:]]) if away is None else np.full((2, 1), away)
    for _ in range(ROUNDS):
        wanted = near_chances(cells, near, sigma)[0] + delta
        least, most = np.zeros_like(cells), np.full_like(cells, far)
        for _ in range(HALVINGS):
            middle = (least + most) / 2.0
            above = near_chances(middle, near, deviation)[0] > wanted
            least, most = np.where(above, middle, least), np.where(above, most, middle)
        never = near_chances(np.array(0.0), near, deviation)[0] <= wanted[1]
        halves = least[0], np.where(never, 0.0, most[1])
        reached, possible = (
            near_chances(cells[0], attrs.evolve(near, radius=half), spread)[0] for half in halves
        )
        low, high = max(low, float(reached.max())), float(possible.max())
        if away is not None:
            return low * (1.0 - 1e-12), high
        cells = cells[:, possible > low * (1.0 + CLOSE)]
        if not cells.size:
            return low, low * (1.0 + 2.0 * CLOSE)
        steps = np.linspace(0.0, 1.0, 9)[:, None] * (cells[1] - cells[0]) + cells[0]
        cells = np.stack([steps[:-1].ravel(), steps[1:].ravel()])
    return low, max(low, high)


@declare
class ReleasedFraction(LossMeasure):
    """The expected share of states that are released, of T.

    Formula: $∑_t Pr[X_t is released] / T$.

    Assumptions: suppression that depends on the last release at most.

    Guarantee: exact.

    Reference: Götz, Nath and Gehrke (2012), section 2, utility.

    >>> import sfumato as sf
    >>> day = sf.priors.markov_chain([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], steps=8)
    >>> secret = sf.secrets.contexts([1], times=[4])
    >>> release = sf.mechanisms.suppress_segmented(delta=0.1).protect(day, secret)
    >>> print(sf.measures.released_fraction().loss(day, secret, release))
    released fraction = 0.279619
    """

    name = "released_fraction"
    oracle = "sfumato_posterior_gap.brute_force"
    promises = ("utility",)
    quantity = RELEASED_FRACTION
    reads = ((Markov, object, Suppression), (Markov, object, RememberingSuppression))

    def evaluate(self, belief: Markov, question: Any, channel: Any) -> Reading:
        """Return the expected number of releases over the number of steps."""
        del question
        released, how = expected_releases(belief, channel), "recursion over last releases"
        return Reading(value=released / belief.steps, bound="exact", how=how)

    def between_members(self, worst: float, bend: float, turn: float) -> float:
        """Return the bound for a sum of probabilities, from below."""
        del turn
        return worst * math.exp(-bend)
