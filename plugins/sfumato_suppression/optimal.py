"""The mechanism that nearly reaches what any could, with the bound that says so."""

from __future__ import annotations

import math
import time
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Markov
from sfumato.channels import RememberingSuppression
from sfumato.comparison.executors import results_in_threads, with_progress
from sfumato.errors import OutsideHypotheses
from sfumato.inference.markov.remembered import expected_releases
from sfumato.inference.markov.segments import check_length
from sfumato.parameters import OPTIONAL, POSITIVE, UNIT, declare, parameter
from sfumato.protocols import Mechanism, PriorClass, Release, Secret
from sfumato.quantities import EXPECTED_RELEASES
from sfumato.questions import Events
from sfumato.values import FloatArray
from sfumato.views.segments import worst_gap
from sfumato_suppression.limits import RELAXED, Budget, belief_bound, bound_segments
from sfumato_suppression.mechanisms import HALVINGS, Candidate, Segmented
from sfumato_suppression.memory_program import SegmentProgram, Start
from sfumato_suppression.protected_chain import (
    ProtectedChain,
    canonical_order,
    releasable,
    reorder,
)
from sfumato_suppression.release import SuppressingRelease

ROOM = 1e-8
"""By how much δ is lowered, relatively, for the design: more than its recomputation errs."""

RAISE = 1e-6
"""By how much probabilities of a seed are raised, relatively, to make up for that room."""


@declare
class Optimal(Mechanism):
    """Suppress by the last release and a hidden memory of the last sensitive visit since then.

    Segments are designed backwards in time, each by linear programs that come near the bound on
    what *any* δ-private suppression can release that answers as the trace happens, and never worth
    less than the segmented check's.
    The claims are `attained`, `upper_bound` (certified, not merely solved for) and `relative_gap`
    = 1 − attained / upper_bound; the posterior gap is measured from the finished channel. The bound
    alone is `sfumato_suppression.limits.utility_bound`; the measure `releasable_fraction` shows it
    beside any other suppression.
    A segment is not improved further once it is within a tenth of `gap` of its own bound. After
    `seconds`, what is left has the segmented check's tables and bounds proved by other programs'
    duals: both hold as well, only the gap between them is larger.
    Of an event over a window, the times are protected one by one, for several δ, of which the best
    that keeps the window is taken.

    Reference: extends Götz, Nath and Gehrke (2012); the proofs are in `limits` and
    `memory_program`.

    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain(
    ...     initial=[0.5, 0.5], transitions=[[0.25, 0.75], [0.75, 0.25]], steps=3
    ... )
    >>> secret = sf.secrets.contexts({0})
    >>> release = sf.mechanisms.suppress_optimal(delta=0.2).protect(chain, secret)
    >>> round(release.utility(), 3), round(release.certificate["upper_bound"], 3)
    (0.286, 0.286)
    """

    name = "suppress_optimal"
    promises = (("delta", "posterior_gap"),)
    strength = ("delta", "less")
    asks = ((Markov, Events),)
    yields = RememberingSuppression

    delta: float = parameter(UNIT, doc="how far an output may raise a sensitive probability")
    gap: float = parameter(UNIT, default=0.01, doc="how far below the bound is near enough")
    seconds: float | None = parameter(
        OPTIONAL(POSITIVE), default=None, doc="how long to search; until it is done by default"
    )

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Design for the one member, and certify from scratch."""
        if not prior.finite or len(members := list(prior.members())) != 1:
            raise OutsideHypotheses(
                f"{self.name} designs for one belief; for a class of priors use suppress_segmented."
            )
        belief = members[0].belief()
        question: Events = secret.question(belief)
        check_length(belief)
        order = canonical_order([(belief, question)])
        ((ordered, events),) = reorder([(belief, question)], order)
        channel, attained, gap, bound = self._certify(ordered, events)
        claims = {"delta": self.delta, "posterior_gap": gap, "attained": attained}
        relative_gap = max(0.0, 1.0 - attained / bound) if bound > 0.0 else 0.0
        claims |= {"upper_bound": bound, "relative_gap": relative_gap}
        return SuppressingRelease(
            mechanism=self,
            prior=prior,
            secret=secret,
            channel=channel.permuted(np.argsort(order).tolist()),
            utility_value=attained,
            utility_quantity=EXPECTED_RELEASES,
            claims=claims,
        )

    def _certify(
        self, belief: Markov, question: Events
    ) -> tuple[RememberingSuppression, float, float, float]:
        """Return the channel, its releases and gap, measured from scratch, and the bound."""
        budget = Budget() if self.seconds is None else Budget(time.monotonic() + self.seconds)
        seed = Segmented(delta=self.delta).best([(belief, question)])
        channel, bound = RememberingSuppression.of(seed.channel), math.inf
        best = channel, seed.utility, seed.ceiling
        if question.has_windows:
            bound = belief_bound(belief, question, self.delta, budget.part(1.0 / HALVINGS))
        # A window spans segments: its times are protected one by one, for several δ, by halving.
        low, high, deltas = 0.0, 1.0, HALVINGS if question.has_windows else 1
        for left in range(deltas, 0, -1):
            delta = (low + high) / 2.0 if question.has_windows else self.delta
            part = budget.part(1.0 / left)
            channel, most = self._search(belief, question.single_times(), seed, delta, part)
            gap = worst_gap(belief, question, channel).value  # type: ignore[union-attr]  # of such
            attained = expected_releases(belief, channel)
            low, high = (delta, high) if gap <= self.delta else (low, delta)
            if gap <= self.delta and attained >= best[1]:
                best = channel, attained, gap
        return *best, bound if question.has_windows else most

    def _search(
        self, belief: Markov, question: Events, seed: Candidate, delta: float, budget: Budget
    ) -> tuple[RememberingSuppression, float]:
        """Return the channel and the bound, from the latest segments to the first."""
        loose = ProtectedChain.of(belief, question, delta + RELAXED)
        strict = ProtectedChain.of(belief, question, delta * (1.0 - ROOM))
        able, attained = releasable([strict]), np.zeros((belief.steps, belief.state_count))
        every = bound_segments(loose, releasable([loose]), budget.part(0.7))
        tables: list[FloatArray] = []
        # A program takes about as long as the cube of its segment's length.
        costs = [(belief.steps - starts.time) ** 3 * len(starts.laws) + 1 for starts in every]
        for number, starts in enumerate(with_progress(every, "segments", len(every))):
            part, start = budget.part(costs[number] / sum(costs[number:])), starts.time
            program = SegmentProgram(strict, able, start)
            some = [n for n, state in enumerate(starts.states) if start < 0 or able[start, state]]
            begun = []
            for n in some:
                last = None if start < 0 else (start, int(starts.states[n]))
                table = seed.channel.table(last)[start + 1 :]
                enough = starts.bounds[n].value * (1.0 - self.gap / 10.0)
                suggested = program.suggest(starts.limit, starts.bounds[n])
                chances = _seed_chances(table, program.hidden.shape)
                begun.append(Start(starts.laws[n], chances, suggested, enough))
            improve = partial(program.improve, to_go=attained[start + 1 :], budget=part)
            after = [program.hidden] * (1 if start < 0 else belief.state_count)
            found = zip(starts.states[some], results_in_threads(improve, begun), strict=True)
            for state, best in found:
                after[state] = best.chances
                attained[start, state] = best.value  # of time −1 nobody asks
            tables.insert(0, np.array(after))
        channel = RememberingSuppression(belief.states, _visits(strict), tuple(tables))
        return channel, every[-1].bounds[0].value


def _seed_chances(table: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    """Return a table (L, M) for every memory, its probabilities raised a little."""
    raised = np.where(table > 0.0, np.minimum(table * (1.0 + RAISE), 1.0), 0.0)
    return np.array(np.broadcast_to(raised[:, None], shape))


def _visits(chain: ProtectedChain) -> tuple[tuple[int, int], ...]:
    """Return the (time, state) of every event that can be breached."""
    visited: NDArray[np.bool_] = np.zeros(chain.possible.shape, dtype=bool)
    np.logical_or.at(visited, chain.times, chain.members)
    return tuple((int(time), int(state)) for time, state in np.argwhere(visited))
