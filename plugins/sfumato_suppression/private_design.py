"""From a search for suppression tables to a release that is certified to be private."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from sfumato.beliefs import Markov
from sfumato.channels import Suppression
from sfumato.errors import OutsideHypotheses
from sfumato.inference.markov.segments import expected_releases, worst_segment_gap
from sfumato.protocols import Mechanism, PriorClass, Secret
from sfumato.questions import Events
from sfumato_suppression.protected_chain import ProtectedChain
from sfumato_suppression.release import SuppressingRelease, suppressing_release
from sfumato_suppression.sharpening import sharpened

Chains = tuple[ProtectedChain, ...]


Search = Callable[[Chains], Iterable[Suppression]]


INSIDE = 1e-12
"""How far inside δ a second search aims where rounding put the best of the first above it."""


def private_release(
    mechanism: Mechanism, prior: PriorClass, secret: Secret, delta: float, search: Search
) -> SuppressingRelease:
    """Return the best channel found that the segment check, from scratch, finds δ-private.

    Its measured gap is never above δ, not even by rounding, for any member of the prior class.
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
    designer = _Designer(members, search)
    channel, gap = designer.design(delta)
    return suppressing_release(
        mechanism, prior, secret, channel, {"delta": delta, "posterior_gap": gap}
    )


class _Designer:
    """Searches, certifies and measures for the members of a class."""

    def __init__(self, members: list[tuple[Markov, Events]], search: Search) -> None:
        self._members = members
        self._search = search

    def design(self, delta: float) -> tuple[Suppression, float]:
        """Return a channel, and its posterior gap, which is never above δ.

        Where a constraint holds with equality, rounding may put the gap of the best channel
        above δ. The best of the others is then returned, be it one found for a hair less than δ.
        Where rational arithmetic can tell, probabilities are then lowered to their very limit.
        """
        found = self._found(delta)
        channel, gap = self._best(found, delta)
        if channel is not found[0]:
            found += self._found(delta * (1.0 - INSIDE))
            channel, gap = self._best(self._by_utility(found), delta)
        sharp = sharpened(channel, self._members, delta, lambda other: self._gap(other) <= delta)
        return (channel, gap) if sharp is channel else (sharp, self._gap(sharp))

    def _found(self, aim: float) -> list[Suppression]:
        """Return what the search finds, the most useful first."""
        chains = tuple(ProtectedChain.of(b, question, aim) for b, question in self._members)
        return self._by_utility(self._search(chains))

    def _best(self, found: list[Suppression], delta: float) -> tuple[Suppression, float]:
        """Return the first channel that is private, from scratch, and its posterior gap."""
        for channel in found:
            gap = self._gap(channel)
            if gap <= delta:
                return channel, gap
        belief = self._members[0][0]
        hidden = np.ones((belief.steps, belief.state_count))
        return Suppression.memoryless(belief.states, hidden), 0.0

    def _by_utility(self, found: Iterable[Suppression]) -> list[Suppression]:
        return sorted(found, key=self._utility, reverse=True)

    def _utility(self, channel: Suppression) -> float:
        return min(expected_releases(belief, channel) for belief, _ in self._members)

    def _gap(self, channel: Suppression) -> float:
        gaps = (worst_segment_gap(b, channel, question.masks) for b, question in self._members)
        return max(0.0, *(gap.value for gap in gaps))  # below zero is only rounding
