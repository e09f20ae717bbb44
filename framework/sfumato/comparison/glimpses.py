"""Glimpses: the scenarios in which only one time of the release is seen, and their losses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import singledispatch
from typing import Any

import attrs
import numpy as np

from sfumato.beliefs import Gaussian, Markov
from sfumato.channels import AdditiveGaussian, Emission, Suppression
from sfumato.errors import OutsideHypotheses
from sfumato.inference.markov.enumeration import output_laws
from sfumato.matrices import Dense, Diagonal
from sfumato.protocols import Reading
from sfumato.questions import Displacements, Events
from sfumato.values import FloatArray

DROWNED = 1e6
"""Noise, in variances of the prior, on what is not seen: it adds 10⁻⁶ of the prior's precision."""

LeakMatrix = dict[tuple[int, int], Reading]
"""By the time of the secret and the time of the release."""


def leak_matrix(
    measure: Any, belief: Any, channel: Any, questions: Mapping[int, Any], times: Sequence[int]
) -> LeakMatrix:
    """Return what the release at each of `times` says, alone, of the secret at each of them.

    Scenarios that are equal, as those at equal distances of a stationary trace, are read once.
    """
    known: dict[Any, Reading] = {}
    found: LeakMatrix = {}
    for glimpse in glimpses(belief, channel, {time: questions[time] for time in times}, times):
        scenario = (glimpse.belief, glimpse.question, glimpse.channel)
        if scenario not in known:
            known[scenario] = measure.evaluate(*scenario)
        found[glimpse.secret, glimpse.released] = known[scenario]
    if not found:
        raise OutsideHypotheses("its single releases have no law of their own")
    return found


@attrs.frozen
class Glimpse:
    """A scenario of its own: the secret at one time, and the release at one time.

    Any measure that reads the whole scenario reads it.
    """

    secret: int
    released: int
    belief: Any
    question: Any
    channel: Any


@singledispatch
def glimpses(
    belief: Any, channel: Any, questions: Mapping[int, Any], times: Sequence[int]
) -> Iterator[Glimpse]:
    """Yield, for the question about each time, what the release at each of `times` says alone.

    Beliefs that nobody has registered this for have no glimpses.

    >>> from sfumato.matrices import Diagonal
    >>> belief, channel = Gaussian(Diagonal([1.0, 1.0])), AdditiveGaussian(Diagonal([0.1, 0.2]))
    >>> questions = {0: Displacements(groups=(((0,),),), radii=1.0)}
    >>> [(one.secret, one.released) for one in glimpses(belief, channel, questions, [1])]
    [(0, 1)]
    """
    del belief, channel, questions, times
    yield from ()


@glimpses.register
def _(
    belief: Gaussian, channel: Any, questions: Mapping[int, Any], times: Sequence[int]
) -> Iterator[Glimpse]:
    """Keep two times of the trace; the secret one, if it is not the released one, is drowned.

    Drowned in noise, rather than left out, it stands in the trace that a measure reads; what it
    still says makes losses larger, not smaller.
    """
    if not isinstance(channel, AdditiveGaussian):
        return
    own = tuple(range(belief.dimensions))
    for secret, question in questions.items():
        if not isinstance(question, Displacements):
            continue
        asked = Displacements(groups=((own,),), radii=max(question.radii))
        for released in times:
            kept = list(dict.fromkeys((*belief.entries_at(secret), *belief.entries_at(released))))
            covariance = belief.covariance.block(kept, kept)
            noise = np.array(channel.noise.block(kept, kept))
            if released != secret:
                noise[: len(own)] = noise[:, : len(own)] = 0.0
                noise[own, own] = _drowning(np.diag(covariance)[: len(own)])
            independent = np.array_equal(noise, np.diag(np.diag(noise)))
            yield Glimpse(
                secret,
                released,
                Gaussian(
                    Dense(covariance),
                    dimensions=belief.dimensions,
                    definite=belief.definite,
                    rounding=belief.rounding,
                ),
                asked,
                AdditiveGaussian(
                    Diagonal(np.diag(noise)) if independent else Dense(noise),
                    dimensions=belief.dimensions,
                ),
            )


def _drowning(variances: FloatArray) -> FloatArray:
    return np.where(variances > 0, DROWNED * variances, 1.0)


@glimpses.register
def _(
    belief: Markov, channel: Any, questions: Mapping[int, Any], times: Sequence[int]
) -> Iterator[Glimpse]:
    """Make of the event and the output a chain of two steps, of which the second is shown.

    It starts at 0 (the event does not happen) or 1 (it does) and goes to 2 + y for output y.
    """
    if not isinstance(channel, Emission):
        return
    masks = {
        time: question.masks[0, time]
        for time, question in questions.items()
        if isinstance(question, Events) and not question.has_windows
    }
    laws = output_laws(belief, channel, masks)
    marginals = belief.marginals()
    for row, (secret, mask) in enumerate(masks.items(), start=1):
        chance = min(1.0, float(marginals[secret, mask].sum()))
        for released in times:
            chain = _two_steps(chance, laws[released][0], laws[released][row])
            hidden = np.stack([np.ones(chain.state_count), np.zeros(chain.state_count)])
            shown = Suppression.memoryless(chain.states, hidden)
            happens = np.zeros((1, 2, chain.state_count), dtype=bool)
            happens[0, 0, 1] = True
            asked = Events(happens, questions[secret].names)
            yield Glimpse(secret, released, chain, asked, shown)


def _two_steps(chance: float, outputs: FloatArray, together: FloatArray) -> Markov:
    """Return the chain from the event to the output, given Pr[o = y] and Pr[event, o = y]."""
    size = 2 + outputs.size
    matrix = np.eye(size)
    for row, joint in enumerate((np.maximum(outputs - together, 0.0), together)):
        total = joint.sum()
        matrix[row] = 0.0  # a row that cannot be left to still has to be a law
        matrix[row, 2:] = joint / total if total > 0 else outputs / outputs.sum()
    initial = np.zeros(size)
    initial[:2] = 1.0 - chance, chance
    return Markov(initial, matrix, steps=2)
