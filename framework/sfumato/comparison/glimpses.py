"""Glimpses: the scenarios in which only one time of the release is seen, and their losses."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import singledispatch
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Gaussian, Markov
from sfumato.channels import AdditiveGaussian, Emission, Suppression
from sfumato.errors import OutsideHypotheses
from sfumato.inference.markov.enumeration import checked_pair
from sfumato.matrices import Dense, Diagonal
from sfumato.protocols import Reading
from sfumato.questions import Displacements, Events
from sfumato.values import FloatArray

DROWNED = 1e6
"""Noise, in variances of the prior, on what is not seen: it adds 10⁻⁶ of the prior's precision."""

MOST_NUMBERS = 20_000_000
"""That are kept at once before refusing: a channel may remember all that it has released."""

Masks = Mapping[int, NDArray[np.bool_]]
LeakMatrix = dict[tuple[int, int], Reading]
"""By the time of the secret and the time of the release."""


def leak_matrix(
    measure: Any, belief: Any, channel: Any, questions: Mapping[int, Any], times: Sequence[int]
) -> LeakMatrix:
    """Return what the release at each of `times` says, alone, of the secret at each of them.

    Scenarios that are equal, as at equal distances of a stationary trace, are measured once.
    """
    known: dict[Any, Reading] = {}
    found: LeakMatrix = {}
    for glimpse in glimpses(belief, channel, {time: questions[time] for time in times}, times):
        scenario = (glimpse.belief, glimpse.question, glimpse.channel)
        if scenario not in known:
            known[scenario] = measure.evaluate(*scenario)
        found[glimpse.secret, glimpse.released] = known[scenario]
    if not found:
        raise OutsideHypotheses("no law of single releases is known for such a secret")
    return found


@attrs.frozen
class Glimpse:
    """A scenario of its own: the secret at one time, and the release at one time."""

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
                variances = np.diag(covariance)[: len(own)]
                noise[own, own] = np.where(variances > 0, DROWNED * variances, 1.0)
            independent = np.array_equal(noise, np.diag(np.diag(noise)))
            kept_noise = Diagonal(np.diag(noise)) if independent else Dense(noise)
            two_times = attrs.evolve(belief, covariance=Dense(covariance), mean=None, exact=None)
            shown = AdditiveGaussian(kept_noise, dimensions=belief.dimensions)
            yield Glimpse(secret, released, two_times, asked, shown)


@glimpses.register
def _(
    belief: Markov, channel: Any, questions: Mapping[int, Any], times: Sequence[int]
) -> Iterator[Glimpse]:
    """Make of one event and the output a chain of two steps, of which the second is shown.

    It starts at 0 (the event does not happen) or 1 (it does) and goes to 2 + y for output y.
    """
    if not isinstance(channel, Emission):
        return
    masks = {
        time: question.masks[0, time]
        for time, question in questions.items()
        if isinstance(question, Events) and len(question.masks) == 1 and not question.has_windows
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


def output_laws(belief: Markov, channel: Emission, masks: Masks) -> list[FloatArray]:
    """Return, for every time t, Pr[o_t = y] and below it Pr[X_s ∈ masks[s], o_t = y] for each s.

    The tables are (1 + S, Y_t). One sweep forward carries, for each memory that the channel can
    have, the law of the present state, alone and together with each event that has happened
    (s ≤ t). An event to come depends on the output through the present state only, so it is
    weighed by Pr[X_s ∈ masks[s] | X_t].

    >>> from sfumato.channels import Suppression
    >>> chain = Markov([0.5, 0.5], [[1.0, 0.0], [0.5, 0.5]], steps=2)
    >>> hidden_first = Suppression.memoryless((0, 1), [[1.0, 1.0], [0.0, 0.0]])
    >>> output_laws(chain, hidden_first, {0: np.array([True, False])})[1].tolist()
    [[0.75, 0.25, 0.0], [0.5, 0.0, 0.0]]
    """
    checked_pair(belief, channel)
    numbers = {time: row for row, time in enumerate(masks, start=1)}
    awaited = _outlooks(belief, masks)
    first = np.zeros((1 + len(masks), belief.state_count))  # no event has happened yet
    first[0] = belief.initial
    held: dict[Hashable, FloatArray] = {(): first}
    laws = []
    for time, alphabet in enumerate(channel.outputs()):
        seen = np.zeros((len(first), len(alphabet)))
        present = np.zeros((len(alphabet), belief.state_count))
        coming: dict[Hashable, FloatArray] = {}
        for memory, rows in held.items():
            if time in masks:
                rows[numbers[time]] = np.where(masks[time], rows[0], 0.0)
            joint = rows[:, None, :] * np.exp(channel.next_evidence(memory, time))
            seen += joint.sum(axis=2)
            present += joint[0]
            for place in np.flatnonzero(joint[0].any(axis=1)):
                after = channel.remember(memory, time, alphabet[place])
                coming[after] = coming.get(after, 0.0) + joint[:, place]
        for later in (row for row in masks if row > time):
            seen[numbers[later]] = present @ awaited[later][time]
        laws.append(seen)
        if len(coming) * first.size > MOST_NUMBERS:
            raise OutsideHypotheses(
                "the law of a single output needs a channel that remembers little of what it has "
                f"released; this one has {len(coming):,} memories."
            )
        if time + 1 < belief.steps:
            held = {memory: rows @ belief.matrix(time) for memory, rows in coming.items()}
    return laws


def _outlooks(belief: Markov, masks: Masks) -> dict[int, list[FloatArray]]:
    """Return Pr[X_s ∈ masks[s] | X_t] for every t < s."""
    found = {}
    for time, mask in masks.items():
        chances = [mask.astype(np.float64)]
        for earlier in reversed(range(time)):
            chances.append(belief.matrix(earlier) @ chances[-1])
        found[time] = chances[:0:-1]
    return found
