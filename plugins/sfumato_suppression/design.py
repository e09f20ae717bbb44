"""From a search for suppression tables to a release that is certified to be private."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import attrs
import numpy as np

from sfumato.beliefs import Markov
from sfumato.channels import Suppression
from sfumato.errors import OutsideHypotheses
from sfumato.inference.markov.segments import expected_releases, worst_segment
from sfumato.protocols import Mechanism, PriorClass, Secret
from sfumato.questions import Events
from sfumato.values import FloatArray
from sfumato_suppression.protected_chain import Chains, ProtectedChain
from sfumato_suppression.release import SuppressingRelease, suppressing_release

Search = Callable[[Chains], Iterable[Suppression]]

WORTH = 1e-9
"""What a design may lose, relatively, for staying below δ rather than at it."""

RAISE = 1e-11
"""By how much probabilities are raised, relatively, where the gap ties with δ."""


def private_release(
    mechanism: Mechanism, prior: PriorClass, secret: Secret, delta: float, search: Search
) -> SuppressingRelease:
    """Return the best channel found whose gap the segment check bounds by δ, for every member.

    The claim `posterior_gap` is that bound, rounded up. It exceeds δ at a *tie* only: where the
    gap equals δ as far as float64 can tell, and every channel below δ releases less.
    Suppressing everything is always private, so there is always an answer.
    """
    if not prior.finite:
        raise OutsideHypotheses(
            f"{mechanism.name} certifies every member of a prior class, and '{prior.name}' varies "
            "over an interval, whose members cannot all be checked; use sf.AnyOf."
        )
    members = []
    for member in prior.members():
        belief = member.belief()
        question: Events = secret.question(belief)
        if question.has_windows:
            raise OutsideHypotheses(
                f"{mechanism.name} protects events of a single time: an event over a window of "
                "times spans several segments, which then no longer decouple; measure it instead."
            )
        members.append((belief, question))
    best = _Designer(members, search).best(delta)
    claims = {"delta": delta, "posterior_gap": best.ceiling}
    return suppressing_release(mechanism, prior, secret, best.channel, claims)


@attrs.frozen(eq=False)
class _Candidate:
    """A channel, its utility, and what its worst gap over all members lies between."""

    channel: Suppression
    utility: float
    floor: float
    ceiling: float


@attrs.frozen(eq=False)
class _Designer:
    """Searches and certifies for the members of a class."""

    members: list[tuple[Markov, Events]]
    search: Search

    def best(self, delta: float) -> _Candidate:
        """Return the best channel below δ, or at δ where that is worth more than rounding."""
        found = [self._candidate(channel) for channel in self.search(self._chains(delta))]
        ties = [c for c in found if c.floor <= delta < c.ceiling]
        below = [c for c in found if c.ceiling <= delta]
        below += [c for c in map(self._with_raised_chances, ties) if c.ceiling <= delta]
        best = min([self._hidden(), *below], key=_by_utility)
        better = [c for c in ties if c.utility > best.utility * (1.0 + WORTH)]
        return min(better, key=_by_utility, default=best)

    def _chains(self, delta: float) -> Chains:
        return tuple(ProtectedChain.of(b, question, delta) for b, question in self.members)

    def _candidate(self, channel: Suppression) -> _Candidate:
        worst = [worst_segment(b, channel, question.masks) for b, question in self.members]
        return _Candidate(
            channel,
            min(expected_releases(belief, channel) for belief, _ in self.members),
            max(segment.floor for segment in worst),
            max(segment.ceiling for segment in worst),
        )

    def _with_raised_chances(self, tie: _Candidate) -> _Candidate:
        """Return the channel with all probabilities between 0 and 1 raised a little."""
        channel = tie.channel
        after = None if channel.after is None else _raise(channel.after)
        return self._candidate(Suppression(channel.states, _raise(channel.start), after))

    def _hidden(self) -> _Candidate:
        belief = self.members[0][0]
        table = np.ones((belief.steps, belief.state_count))
        return _Candidate(Suppression.memoryless(belief.states, table), 0.0, 0.0, 0.0)


def _by_utility(candidate: _Candidate) -> float:
    return -candidate.utility


def _raise(table: FloatArray) -> FloatArray:
    between = (table > 0.0) & (table < 1.0)
    return np.where(between, np.minimum(table * (1.0 + RAISE), 1.0), table)
