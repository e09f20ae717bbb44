"""The mechanism that nearly reaches what any could, with the bound that says so."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Markov
from sfumato.channels import RememberingSuppression, Suppression
from sfumato.errors import OutsideHypotheses
from sfumato.inference.markov.remembered import remembered_releases, worst_remembered_gap
from sfumato.parameters import UNIT, declare, parameter
from sfumato.protocols import Mechanism, PriorClass, Release, Secret
from sfumato.quantities import EXPECTED_RELEASES
from sfumato.questions import Events
from sfumato.values import FloatArray, Labels
from sfumato_suppression.limits import RELAXED, SegmentLimit, first_laws
from sfumato_suppression.mechanisms import Segmented
from sfumato_suppression.memory_program import Policy, SegmentProgram
from sfumato_suppression.protected_chain import ProtectedChain, releasable
from sfumato_suppression.release import SuppressingRelease

ROOM = 1e-8
"""By how much δ is lowered, relatively, for the design: more than its recomputation errs."""

RAISE = 1e-6
"""By how much probabilities of a seed are raised, relatively, to make up for that room."""


@declare
class Optimal(Mechanism):
    """Suppress by the last release and a hidden memory of the last sensitive visit since then.

    Segments are designed backwards in time, each by linear programs that come near the bound on
    what *any* δ-private suppression can release, and never worth less than the segmented check's.
    The claims are `attained`, `upper_bound` (certified, not merely solved for) and `relative_gap`
    = 1 − attained / upper_bound; the posterior gap is measured from the finished channel.
    A segment is not improved further once it is within a tenth of `gap` of its own bound.

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
    strength = ("delta", "less")
    asks = ((Markov, Events),)
    yields = RememberingSuppression

    delta: float = parameter(UNIT, doc="how far an output may raise a sensitive probability")
    gap: float = parameter(UNIT, default=0.01, doc="how far below the bound is near enough")

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Design for the one member, and certify from scratch."""
        if not prior.finite or len(members := list(prior.members())) != 1:
            raise OutsideHypotheses(
                f"{self.name} designs for one belief; for a class of priors use suppress_segmented."
            )
        belief = members[0].belief()
        question: Events = secret.question(belief)
        if question.has_windows:
            raise OutsideHypotheses(
                f"{self.name} protects events of a single time: an event over a window of times "
                "spans several segments, which then no longer decouple; measure it instead."
            )
        order = canonical_order(belief, question)
        moves = belief.transitions[:, order[:, None], order]
        labels = [belief.states[state] for state in order]
        ordered = Markov(belief.initial[order], moves, belief.steps, labels)
        channel, attained, gap, bound = self._certify(
            ordered, Events(question.masks[..., order], question.names)
        )
        claims = {"delta": self.delta, "posterior_gap": gap, "attained": attained}
        claims |= {"upper_bound": bound, "relative_gap": _relative_gap(attained, bound)}
        return SuppressingRelease(
            mechanism=self,
            prior=prior,
            secret=secret,
            channel=_reorder(channel, belief.states, order),
            utility_value=attained,
            utility_quantity=EXPECTED_RELEASES,
            claims=claims,
        )

    def _certify(
        self, belief: Markov, question: Events
    ) -> tuple[RememberingSuppression, float, float, float]:
        """Return the channel, its releases and gap, measured from scratch, and the bound."""
        seed = Segmented(delta=self.delta).best([(belief, question)])
        channel, bound = self._search(belief, question, seed.channel)
        gap = worst_remembered_gap(belief, channel, question.masks).value
        attained = float(remembered_releases(belief, channel).sum())
        if gap > self.delta or attained < seed.utility:
            return RememberingSuppression.of(seed.channel), seed.utility, seed.ceiling, bound
        return channel, attained, gap, bound

    def _search(
        self, belief: Markov, question: Events, seed: Suppression
    ) -> tuple[RememberingSuppression, float]:
        """Return the channel and the bound, from the latest segments to the first."""
        loose = ProtectedChain.of(belief, question, self.delta + RELAXED)
        strict = ProtectedChain.of(belief, question, self.delta * (1.0 - ROOM))
        may, able = releasable([loose]), releasable([strict])
        most, attained = np.zeros(may.shape), np.zeros(may.shape)
        tables: list[FloatArray] = []
        value = 0.0
        for start in range(belief.steps - 2, -2, -1):
            limit, program = SegmentLimit(loose, may, start), SegmentProgram(strict, able, start)
            after = [program.hidden] * (1 if start < 0 else belief.state_count)
            for state, initial in first_laws(belief, start, may):
                bound = limit.bound(initial, most[start + 1 :])
                value = bound.value
                best: Policy | None = None
                if start < 0 or able[start, state]:
                    last = None if start < 0 else (start, state)
                    best = program.measure(
                        _seed_chances(seed.table(last)[start + 1 :], program.hidden.shape),
                        initial,
                        attained[start + 1 :],
                    )
                    enough = value * (1.0 - self.gap / 10.0)
                    if best.value < enough:
                        suggested = program.suggest(limit, bound)
                        found = program.improve(suggested, initial, attained[start + 1 :], enough)
                        best = max(best, found, key=_value)
                    after[state] = best.chances
                if start >= 0:
                    most[start, state] = value
                    attained[start, state] = 0.0 if best is None else best.value
            tables.insert(0, np.array(after))
        return RememberingSuppression(belief.states, _visits(strict), tuple(tables)), value


def canonical_order(belief: Markov, question: Events) -> NDArray[np.intp]:
    """Return the states in an order that does not depend on how they are listed.

    States are told apart by their probabilities and events, then by how they move to states that
    are told apart already, until nothing more is.
    """
    own = np.concatenate([belief.marginals().T, question.masks.any(axis=0).T], axis=1).round(12)
    colours = np.unique(own, axis=0, return_inverse=True)[1].ravel()
    moves = belief.transitions.round(12)
    for _ in range(belief.state_count):
        order = np.lexsort((np.broadcast_to(colours, moves.shape), moves))
        ways = [np.take_along_axis(moves, order, axis=2), colours[order]]
        rows = [way.swapaxes(0, 1).reshape(belief.state_count, -1) for way in ways]
        refined = np.column_stack([colours, *rows])
        finer = np.unique(refined, axis=0, return_inverse=True)[1].ravel()
        if finer.max() == colours.max():
            break
        colours = finer
    return np.argsort(colours, kind="stable")


def _reorder(
    channel: RememberingSuppression, states: Labels, order: NDArray[np.intp]
) -> RememberingSuppression:
    """Return the channel with its states in the order in which they were given."""
    back = np.argsort(order)
    visits = tuple((time, int(order[state])) for time, state in channel.visits)
    first, *after = (table[..., back] for table in channel.tables)
    return RememberingSuppression(states, visits, (first, *(table[back] for table in after)))


def _value(policy: Policy) -> float:
    return policy.value


def _seed_chances(table: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    """Return a table (L, M) for every memory, its probabilities raised a little."""
    raised = np.where(table > 0.0, np.minimum(table * (1.0 + RAISE), 1.0), 0.0)
    return np.array(np.broadcast_to(raised[:, None], shape))


def _visits(chain: ProtectedChain) -> tuple[tuple[int, int], ...]:
    """Return the (time, state) of every event that can be breached."""
    visited: NDArray[np.bool_] = np.zeros(chain.possible.shape, dtype=bool)
    np.logical_or.at(visited, chain.times, chain.members)
    return tuple((int(time), int(state)) for time, state in np.argwhere(visited))


def _relative_gap(attained: float, bound: float) -> float:
    return 0.0 if bound <= 0.0 else max(0.0, 1.0 - attained / bound)
