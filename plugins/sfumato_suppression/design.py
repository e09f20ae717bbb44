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
    chains = tuple(ProtectedChain.of(belief, question, delta) for belief, question in members)
    found = [_certify(channel, members) for channel in search(chains)]
    ties = [c for c in found if c.floor <= delta < c.ceiling]
    raised = [_certify(_raise_chances(tie.channel), members) for tie in ties]
    hidden = Suppression.memoryless(belief.states, np.ones((belief.steps, belief.state_count)))
    below = [c for c in (_certify(hidden, members), *found, *raised) if c.ceiling <= delta]
    best = max(below, key=_utility)
    better = [c for c in ties if c.utility > best.utility * (1.0 + WORTH)]
    best = max(better, key=_utility, default=best)
    claims = {"delta": delta, "posterior_gap": best.ceiling}
    return suppressing_release(mechanism, prior, secret, best.channel, claims)


@attrs.frozen(eq=False)
class _Candidate:
    """A channel, its utility, and what its worst gap over all members lies between."""

    channel: Suppression
    utility: float
    floor: float
    ceiling: float


def _certify(channel: Suppression, members: list[tuple[Markov, Events]]) -> _Candidate:
    worst = [worst_segment(belief, channel, question.masks) for belief, question in members]
    return _Candidate(
        channel,
        min(expected_releases(belief, channel) for belief, _ in members),
        max(segment.floor for segment in worst),
        max(segment.ceiling for segment in worst),
    )


def _utility(candidate: _Candidate) -> float:
    return candidate.utility


def _raise_chances(channel: Suppression) -> Suppression:
    """Return the channel with all probabilities between 0 and 1 raised a little."""
    tables = (channel.start,) if channel.after is None else (channel.start, channel.after)
    # A certain suppression stays one, and a certain release too.
    return Suppression(
        channel.states, *(np.minimum(table * (1.0 + RAISE), 1.0) for table in tables)
    )
