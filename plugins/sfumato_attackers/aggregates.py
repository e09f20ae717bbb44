"""Trajectories recovered from aggregates: how many people were where, and nothing else."""

from __future__ import annotations

import math
import operator
from collections.abc import Hashable, Sequence
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Markov
from sfumato.channels import Channel, Emission
from sfumato.errors import ImpossibleObservation, OutsideHypotheses, ParameterError
from sfumato.inference.markov.probabilities import log_of
from sfumato.parameters import declare
from sfumato.protocols import Adversary
from sfumato.values import ByContent, FloatArray

Traces = Sequence[Sequence[Hashable]]


@attrs.frozen(eq=False)
class Crowd(ByContent):
    """Several people who move independently, each by a chain over the same states."""

    words: ClassVar[str] = "several people's Markov chains"

    people: tuple[Markov, ...] = attrs.field(converter=tuple)

    def __attrs_post_init__(self) -> None:
        if len({person.trace_form for person in self.people}) != 1:
            raise ParameterError("a crowd must have people with chains over the same trace.")

    @property
    def trace_form(self) -> tuple[Any, ...]:
        """What is recorded: the people, and the form of each one's trace."""
        return len(self.people), *self.people[0].trace_form


@attrs.frozen(eq=False)
class Aggregates(ByContent, Channel):
    """The number of people at every place and time, without noise and without names."""

    words: ClassVar[str] = "aggregates"

    people: int
    steps: int
    states: tuple[Hashable, ...] = attrs.field(converter=tuple)

    @property
    def trace_form(self) -> tuple[Any, ...]:
        """What is recorded: the people, and the form of each one's trace."""
        return self.people, self.steps, self.states

    def sample(self, trace: Traces, rng: np.random.Generator | None = None) -> NDArray[np.intp]:
        """Return the counts, (T, M); nothing is drawn."""
        del rng
        places = [[self.states.index(state) for state in own] for own in trace]
        counts = np.zeros((self.steps, len(self.states)), dtype=np.intp)
        for own in places:
            counts[np.arange(self.steps), own] += 1
        return counts

    def log_likelihood(self, observed: Any, trace: Traces) -> float:
        """Return 0 if these are the traces' counts, else −∞."""
        return 0.0 if np.array_equal(observed, self.sample(trace)) else -math.inf


@declare
class TrajectoryRecovery(Adversary):
    """Links the counts of successive times into one trace for each person, as likely as may be.

    At each time people are assigned to the places that the counts leave, so that the product of
    their chances to move there is largest (the assignment problem). If all move by one chain the
    result is the likeliest set of traces: what follows depends on the places that are taken, not on
    who is there, so that every time can be decided for itself. Otherwise it is the likeliest step
    after step. Of one person among others that are known, whose counts are taken away, it is the
    likeliest next place that the output and what follows allow.

    Reference: Xu et al. (2017), trajectory recovery from ash.

    >>> import sfumato as sf
    >>> from sfumato.beliefs import Markov
    >>> from sfumato_attackers.aggregates import Aggregates, Crowd
    >>> stay = Markov([0.9, 0.1], [[0.9, 0.1], [0.1, 0.9]], steps=3, states=("home", "work"))
    >>> crowd = Crowd([stay, stay])
    >>> counts = Aggregates(2, 3, stay.states)
    >>> seen = counts.sample([["home", "home", "home"], ["work", "work", "home"]])
    >>> sf.adversaries.trajectory_recovery().infer(crowd, counts, seen)
    (('home', 'home', 'home'), ('work', 'work', 'home'))
    """

    name = "trajectory_recovery"
    reads = ((Crowd, Aggregates), (Markov, Emission))

    def infer(self, belief: Any, channel: Any, observed: Any) -> tuple[Any, ...]:
        """Return one trace of labels for each person; of one person the trace."""
        self.require(belief, channel)
        if isinstance(belief, Markov):
            return belief.decode(_likeliest_steps(belief, channel.evidence(observed)))
        counts = np.asarray(observed)
        wanted = (channel.steps, len(channel.states))
        if counts.shape != wanted or (counts.sum(axis=1) != channel.people).any():
            raise ParameterError(
                f"observed must be {wanted} counts of {channel.people} people at each time."
            )
        places = np.empty((channel.people, channel.steps), dtype=np.intp)
        for time in range(channel.steps):
            chances = [
                person.initial if time == 0 else person.matrix(time - 1)[own[time - 1]]
                for person, own in zip(belief.people, places, strict=True)
            ]
            places[:, time] = likeliest_places(np.stack(chances), counts[time])
        return tuple(tuple(channel.states[place] for place in own) for own in places)


def _likeliest_steps(belief: Markov, evidence: FloatArray) -> NDArray[np.intp]:
    """Return the likeliest next state, time after time, of those from which all can follow."""
    allowed = evidence > -np.inf
    for time in range(belief.steps - 2, -1, -1):
        allowed[time] &= belief.matrix(time) @ allowed[time + 1] > 0.0
    law, places = belief.initial, np.empty(belief.steps, dtype=np.intp)
    for time, log_chances in enumerate(evidence):
        scores = np.where(allowed[time] & (law > 0.0), log_of(law) + log_chances, -np.inf)
        places[time] = scores.argmax()
        if scores.max() == -np.inf:
            raise ImpossibleObservation("observed cannot be released under this chain.")
        law = belief.matrix(time)[places[time]] if time + 1 < belief.steps else law
    return places


def likeliest_places(chances: FloatArray, counts: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return a place for each person, as counted, with the largest product of chances."""
    from scipy.optimize import linear_sum_assignment

    slots = np.repeat(np.arange(len(counts)), counts)
    possible = chances[:, slots] > 0.0
    logs = np.log(np.where(possible, chances[:, slots], 1.0))
    # What cannot be is worse than any number of unlikely moves.
    worst = len(slots) * (logs.min() - 1.0)
    people, taken = linear_sum_assignment(np.where(possible, logs, worst), maximize=True)
    if not possible[people, taken].all():
        raise OutsideHypotheses("the counts must be possible for these people's chains.")
    return np.asarray(slots[taken])


def share_recovered(guessed: Traces, truth: Traces) -> float:
    """Return the share of positions that are right, traces matched as well as they can be.

    >>> from sfumato_attackers.aggregates import share_recovered
    >>> share_recovered([["a", "a"], ["b", "b"]], [["b", "b"], ["a", "b"]])
    0.75
    """
    from scipy.optimize import linear_sum_assignment

    right = np.array([[sum(map(operator.eq, g, t)) for t in truth] for g in guessed])
    rows, columns = linear_sum_assignment(right, maximize=True)
    return float(right[rows, columns].sum()) / (len(truth) * len(truth[0]))
