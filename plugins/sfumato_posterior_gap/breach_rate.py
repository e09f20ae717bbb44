"""How many of the sensitive states that really occurred an adversary gets wind of."""

from __future__ import annotations

import functools
import math
from collections.abc import Hashable
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Markov
from sfumato.channels import (
    Emission,
    RelabelledSuppression,
    RememberingSuppression,
    Suppression,
    WholeTrace,
    suppression_of,
)
from sfumato.errors import ImpossibleObservation, OutsideHypotheses
from sfumato.inference.markov.events import TimedEvents
from sfumato.inference.markov.remembered import remembered_releases
from sfumato.inference.markov.segments import expected_releases
from sfumato.inference.markov.smoothing import forward_backward
from sfumato.parameters import CHOICE, LIST_OF, OPTIONAL, SEED, UNIT, Label, declare, parameter
from sfumato.protocols import LossMeasure, Quantity, Reading
from sfumato.quantities import RELEASED_FRACTION
from sfumato.questions import Events, Nearness
from sfumato.values import FloatArray
from sfumato.views import EventMeasure, GaussianPart
from sfumato.views.gaussian import ENDS, End, near_chances, near_law

CONFIDENCE = 0.99

ROUNDS, CLOSE, HALVINGS = 9, 4e-6, 40
"""How often places are looked at more closely, how close both ends come, and steps to a root."""


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
    edges, grid = np.linspace(0.0, far + 9.0 * spread, 513), np.linspace(0.0, far, 100_001)
    falling = -near_chances(grid, near, deviation)[0]
    low, high, cells = 0.0, 1.0, np.stack([edges[:-1], edges[1:]])
    if away is not None:
        cells = np.full((2, 1), away)
    for _ in range(ROUNDS):
        wanted = near_chances(cells, near, sigma)[0] + delta
        place = np.searchsorted(falling, -wanted)
        least, most = grid[np.maximum(place - 1, 0)], grid[place]
        for _ in range(HALVINGS):
            middle = (least + most) / 2.0
            above = near_chances(middle, near, deviation)[0] > wanted
            least, most = np.where(above, middle, least), np.where(above, most, middle)
        halves = least[0], np.where(place[1] > 0, most[1], 0.0)
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

    Formula: $∑_t Pr[X_t is released] / T$.

    Assumptions: suppression that depends on the last release at most.

    Guarantee: exact.

    Reference: Götz, Nath and Gehrke (2012), section 2, utility.

    >>> ReleasedFraction().quantity.worse
    'smaller'
    """

    name = "released_fraction"
    oracle = "sfumato_posterior_gap.brute_force"
    promises = ("utility",)
    quantity = RELEASED_FRACTION
    reads = (
        (Markov, object, Suppression),
        (Markov, object, RelabelledSuppression),
        (Markov, object, RememberingSuppression),
    )

    def evaluate(self, belief: Markov, question: Any, channel: Any) -> Reading:
        """Return the expected number of releases over the number of steps."""
        del question
        if isinstance(channel, RememberingSuppression):
            released = float(remembered_releases(belief, channel).sum())
        else:
            released = expected_releases(belief, suppression_of(channel))
        how = "recursion over last releases"
        return Reading(value=released / belief.steps, bound="exact", how=how)

    def between_members(self, worst: float, bend: float, turn: float) -> float:
        """Return the bound for a sum of probabilities, from below."""
        del turn
        return worst * math.exp(-bend)
