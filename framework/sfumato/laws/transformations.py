"""What laws do to channels, questions and classes: post-process, silence, reorder, rescale."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from sfumato.beliefs import Gaussian, Markov
from sfumato.channels import (
    AdditiveGaussian,
    Emission,
    NoisyVectors,
    RememberingSuppression,
    Suppression,
    Symbols,
    WholeTrace,
)
from sfumato.laws.law import NotHere
from sfumato.matrices import Dense, Diagonal, LowRank, Sum
from sfumato.parameters import LIST_OF, OPTIONAL, PLUGIN, VECTOR, WHOLE, declare, parameter
from sfumato.prior_classes.families import Family
from sfumato.prior_classes.sets import AnyOf, Interval
from sfumato.protocols import Prior, PriorClass, Situation
from sfumato.questions import Displacements, Events, Guess, JointStates, Nearness, StateAt
from sfumato.values import FloatArray

SILENCE = 1e14
"""How many times more noise than signal counts as releasing nothing."""


def garble(channel: Any, rng: np.random.Generator) -> Any:
    """Return the channel followed by a random post-processing of what it releases."""
    if isinstance(channel, AdditiveGaussian):
        return noisier(channel, rng, amount=float(rng.uniform(0.01, 2.0)))
    if isinstance(channel, Symbols):
        size = len(channel.alphabet)
        mixing = rng.dirichlet(np.full(size, 0.5), size=(channel.steps, size))
        return Symbols(channel.states, channel.alphabet, channel.probabilities @ mixing)
    if isinstance(channel, NoisyVectors):
        return attrs.evolve(channel, scale=channel.scale * float(rng.uniform(1.0, 3.0)))
    if isinstance(channel, Suppression):
        if channel.after is not None:
            return beginning(channel, int(rng.integers(0, channel.steps)))
        more = rng.uniform(size=channel.start.shape) * rng.integers(0, 2, channel.start.shape)
        return attrs.evolve(channel, start=channel.start + (1.0 - channel.start) * more)
    if isinstance(channel, WholeTrace) and (garbled := channel.garbled(rng)) is not None:
        return garbled
    raise NotHere(f"no post-processing is known for {type(channel).__name__} channels")


def noisier(channel: AdditiveGaussian, rng: np.random.Generator, amount: float) -> AdditiveGaussian:
    """Return the channel with more noise: of rank one, and a little on some entries."""
    direction = rng.standard_normal((channel.entries, 1))
    direction *= np.sqrt(amount) / np.linalg.norm(direction)
    some = amount * rng.integers(0, 2, channel.entries) * rng.uniform(0, 1, channel.entries)
    extra = (LowRank(direction), Diagonal(some))
    return attrs.evolve(channel, noise=Sum((channel.noise, *extra)))


def beginning(channel: Suppression, length: int) -> Suppression:
    """Return suppression that withholds all from that time on: a post-processing of any kind."""
    start, after = channel.start.copy(), np.array(channel.after)
    start[length:], after[:, :, length:] = 1.0, 1.0
    return attrs.evolve(channel, start=start, after=after)


LARGER = (
    {"entries": (9, 30), "steps": (39, 45), "states": (1, 5)},
    {"entries": (30, 60), "steps": (1, 4), "states": (9, 25)},
)
"""How much a situation is enlarged by what does not matter: one way or the other."""

Places = NDArray[np.intp]


IDLE = 1000
"""Symbols that a loud channel shows by chance where it tells nothing."""


def padded(
    at: Situation, rng: np.random.Generator, *, loud: bool = False
) -> tuple[Situation, Places, Places]:
    """Return the situation among what does not matter, and where its times and states are now.

    Independent times of a Gaussian trace, in any order; or states that nobody is ever in, and steps
    that nothing is told of: before the first one, behind the last one, and between others, where
    the state then stays as it is; of a trace to be guessed, steps before and behind at which
    everyone knows the state. A `loud` channel of symbols shows any of a thousand at each of
    three times as many such steps, so that every output is all but impossible.
    """
    if isinstance(at.belief, Gaussian):
        return _among_independent_times(at, rng)
    if isinstance(at.belief, Markov):
        return _among_idle_states(at, rng, IDLE if loud and type(at.channel) is Symbols else 0)
    raise NotHere("what does not matter to such a belief is not known")


def _among_independent_times(
    at: Situation, rng: np.random.Generator
) -> tuple[Situation, Places, Places]:
    belief, times = at.belief, int(rng.integers(*LARGER[int(rng.integers(2))]["entries"]))
    extra = np.eye(times * belief.dimensions)
    mean = None if belief.mean is None else np.append(belief.mean, np.ones(len(extra)))
    covariance = Dense(block_diag(belief.covariance.dense(), extra))
    noise = Dense(block_diag(at.channel.covariance(), extra))
    larger = attrs.evolve(belief, covariance=covariance, mean=mean, exact=None)
    order = rng.permutation(larger.times)
    there = Situation(
        larger.permuted(order),
        question_of_permuted_times(at.question, order.tolist(), larger),
        attrs.evolve(at.channel, noise=noise).permuted(order),
    )
    return there, np.argsort(order)[: belief.times], np.arange(0)


def _among_idle_states(
    at: Situation, rng: np.random.Generator, symbols: int
) -> tuple[Situation, Places, Places]:
    belief, question = at.belief, at.question
    larger = LARGER[0 if symbols else int(rng.integers(2))]
    steps, idle = (int(rng.integers(*larger[what])) for what in ("steps", "states"))
    steps *= 3 if symbols else 1
    if isinstance(question, StateAt | JointStates):  # every state is a value of theirs
        idle = 0
    total, count = belief.steps + steps, belief.state_count
    places = np.sort(rng.choice(total, belief.steps, replace=False))
    whole = isinstance(question, Guess)  # then the state at other times is known to everyone
    if whole:
        places = int(rng.integers(steps + 1)) + np.arange(belief.steps)
    states = np.sort(rng.choice(count + idle, count, replace=False))
    old, initial = np.ix_(states, states), np.zeros(count + idle)
    sure = np.eye(count)[int(rng.integers(count))]
    elsewhere = sure if whole else rng.dirichlet(np.ones(count))
    initial[states] = belief.initial if places[0] == 0 else elsewhere
    matrices = np.full((total - 1, count + idle, count + idle), 1.0 / (count + idle))
    for time, matrix in enumerate(matrices):
        matrix[states] = 0.0
        done = int(np.searchsorted(places, time, side="right"))
        if done == 0 and time + 1 == places[0]:
            matrix[old] = belief.initial
        elif done in (0, belief.steps):
            matrix[old] = sure if whole else rng.dirichlet(np.ones(count), size=count)
        else:
            matrix[old] = belief.matrix(done - 1) if time in places else np.eye(count)
    labels = [f"never {number}" for number in range(count + idle)]
    for place, state in zip(states, belief.states, strict=True):
        labels[place] = state
    there = Situation(
        Markov(initial, matrices, states=labels),
        _question_among(question, places, states, (total, count + idle)),
        _channel_among(at.channel, tuple(labels), places, states, (total, symbols)),
    )
    return there, places, states


def _question_among(question: Any, places: Places, states: Places, shape: tuple[int, int]) -> Any:
    """Return the question about the same times and states, where they are now."""
    if isinstance(question, Events):
        masks = np.zeros((len(question.masks), *shape), dtype=bool)
        masks[np.ix_(np.arange(len(masks)), places, states)] = question.masks
        return attrs.evolve(question, masks=masks)
    if type(question) is JointStates:
        groups = tuple(tuple(places[list(group)].tolist()) for group in question.groups)
        return attrs.evolve(question, groups=groups)
    if isinstance(question, Guess):
        return question
    raise NotHere("what does not matter to such a question is not known")


REPEATED = 24
"""How often the first thing that is asked about is asked about again."""


def repeated(question: Any) -> Any:
    """Return the question that asks for the same, the first thing often, the last one first."""
    if isinstance(question, Displacements):
        places = _repeated_places(len(question.groups))
        groups = tuple(question.groups[place] for place in places)
        return Displacements(groups, tuple(question.radii[place] for place in places))
    if isinstance(question, Nearness):
        parts = question.parts
        return Nearness.union([parts[place] for place in _repeated_places(len(parts))])
    if type(question) is Events:
        places = _repeated_places(len(question.masks))
        names = tuple(f"asked {number}" for number in range(len(places)))
        return attrs.evolve(question, masks=question.masks[places], names=names)
    raise NotHere(f"parts of a {type(question).__name__} are not known")


def _repeated_places(count: int) -> list[int]:
    return [*[0] * REPEATED, *reversed(range(count))]


def _channel_among(
    channel: Any, labels: tuple[Any, ...], places: Places, states: Places, size: tuple[int, int]
) -> Any:
    """Return the channel that tells nothing at all other times and states."""
    old, (steps, symbols) = np.ix_(places, states), size
    if type(channel) is Suppression and channel.after is None:
        start = np.ones((steps, len(labels)))
        start[old] = channel.start
        return Suppression.memoryless(labels, start)
    if isinstance(channel, Symbols):
        known, idle = len(channel.alphabet), tuple(f"idle {number}" for number in range(symbols))
        chances = np.zeros((steps, len(labels), known + symbols))
        chances[:, :, known if symbols else 0 :][:, :, : max(symbols, 1)] = 1.0 / max(symbols, 1)
        chances[old] = np.pad(channel.probabilities, ((0, 0), (0, 0), (0, symbols)))
        return Symbols(labels, (*channel.alphabet, *idle), chances)
    if isinstance(channel, NoisyVectors):
        means = np.zeros((steps, len(labels), channel.means.shape[2]))
        means[old] = channel.means
        return NoisyVectors(labels, means, channel.scale)
    raise NotHere(f"longer {type(channel).__name__} channels are not known")


MANY = 12
"""More states than one digit counts; of two steps brute force still checks everything."""


def with_many_states(at: Situation, rng: np.random.Generator) -> Situation:
    """Return a situation of the same kinds in a short world of many states."""
    if not isinstance(at.belief, Markov):
        raise NotHere("such a belief has no states")
    rows = rng.dirichlet(np.ones(MANY), size=(2, MANY))
    belief = Markov(rows[0, 0], rows[1:])
    channel: Any = Suppression.memoryless(belief.states, rng.uniform(size=(2, MANY)))
    if type(at.channel) is Symbols:
        channel = Symbols(belief.states, "abc", rng.dirichlet(np.ones(3), size=(2, MANY)))
    elif not isinstance(at.channel, Suppression):
        raise NotHere(f"{type(at.channel).__name__} channels of many states are not known")
    if isinstance(at.question, StateAt):
        return Situation(belief, StateAt.of(belief, [1]), channel)
    if type(at.question) is Events:
        masks = np.zeros((1, 2, MANY), dtype=bool)
        masks[0, 1, rng.choice(MANY, 3, replace=False)] = True
        return Situation(belief, Events(masks, ("there",), at.question.both_ways), channel)
    if isinstance(at.question, Guess):
        return Situation(belief, Guess(min(at.question.mistakes, 1)), channel)
    raise NotHere("such a question about many states is not known")


@declare
class Changed(Prior):
    """Another prior's belief with a mean, with its states in another order, or with more of them.

    Times that are added are independent, or steps at which one mostly stays; states that are added
    are where one is a quarter of the time.
    """

    name = "changed"

    prior: Prior = parameter(PLUGIN("prior"), doc="whose belief it is")
    mean: FloatArray | None = parameter(OPTIONAL(VECTOR("k")), default=None, doc="of each entry")
    order: tuple[int, ...] | None = parameter(
        OPTIONAL(LIST_OF(WHOLE)), default=None, doc="position k has the state that was at order[k]"
    )
    extra: int = parameter(WHOLE, default=0, doc="times that are added")
    states: int = parameter(WHOLE, default=0, doc="states that are added")
    home: int | None = parameter(
        OPTIONAL(WHOLE), default=None, doc="the state where half of all traces begin, besides"
    )

    @property
    def yields(self) -> type:  # type: ignore[override]  # of the object, not of the class
        """The kind of belief that the other prior has."""
        return type(self.prior).yields

    def belief(self) -> Any:
        """Return the belief with that one change."""
        belief = self.prior.belief()
        if self.mean is not None:
            return attrs.evolve(belief, mean=self.mean)
        if self.order is not None:
            return belief.permuted(self.order)
        if self.states:
            return self._among_more(belief)
        if self.home is not None:
            start = (belief.initial + (np.arange(belief.state_count) == self.home)) / 2.0
            return attrs.evolve(belief, initial=start)
        if isinstance(belief, Markov):
            count = belief.state_count
            sticky = np.full((count, count), 0.1 / count) + 0.9 * np.eye(count)
            moves = [*belief.transitions, *[sticky] * self.extra]
            return Markov(belief.initial, np.array(moves), states=belief.states)
        if not isinstance(belief, Gaussian):
            raise NotHere("longer traces of such a belief are not known")
        extra = np.eye(self.extra * belief.dimensions)
        mean = None if belief.mean is None else np.append(belief.mean, np.zeros(len(extra)))
        covariance = Dense(block_diag(belief.covariance.dense(), extra))
        return attrs.evolve(belief, covariance=covariance, mean=mean, exact=None)

    def _among_more(self, belief: Any) -> Markov:
        if not isinstance(belief, Markov):
            raise NotHere("such a belief has no states")
        old, count = belief.state_count, belief.state_count + self.states
        laws = np.full((belief.steps, count, count), 1.0 / count)
        laws[:, :old, old:] = 0.25 / self.states
        laws[0, 0, :old] = 0.75 * belief.initial
        laws[1:, :old, :old] = 0.75 * belief.transitions
        labels = (*belief.states, *(f"added {number}" for number in range(self.states)))
        return Markov(laws[0, 0], laws[1:], belief.steps, labels)


def elsewhere(at: Situation, rng: np.random.Generator) -> Situation:
    """Return the situation in a world with every feature that a measure may meet.

    A mean, and pairs of a second radius; or moves that differ from step to step, and suppression
    that remembers its last release.
    """
    belief = at.belief
    if isinstance(belief, Gaussian):
        shifted = attrs.evolve(belief, mean=rng.normal(0.0, 3.0, belief.entries))
        if not isinstance(at.question, Displacements):
            return attrs.evolve(at, belief=shifted)
        ball = belief.entries_at(int(rng.integers(belief.times)))
        radius = float(at.question.radii[0] * rng.choice([0.25, 4.0]))
        second = Displacements(groups=((ball,),), radii=radius)
        question = Displacements.union([at.question, second])
        return attrs.evolve(at, belief=shifted, question=question)
    if isinstance(belief, Markov) and belief.steps > 1:
        shape = (belief.steps - 1, belief.state_count)
        moves = rng.dirichlet(np.full(belief.state_count, 0.7), size=shape)
        channel = at.channel
        if type(channel) is Suppression and channel.after is None:
            after = rng.uniform(size=2 * channel.start.shape)
            channel = Suppression(channel.states, channel.start, after)
        there = Markov(belief.initial, moves, states=belief.states)
        return attrs.evolve(at, belief=there, channel=channel)
    raise NotHere("there is no other world for such a belief")


WELL_CONDITIONED = 1e6
"""Up to this condition number of prior plus noise float64 decides every loss."""


def from_loud_to_quiet(channel: Any, belief: Any) -> list[Any]:
    """Return channels of one kind, each telling more than the one before, none nearly noiseless."""
    if isinstance(channel, AdditiveGaussian) and isinstance(belief, Gaussian):
        sigma = belief.covariance.dense()
        scaled = [channel.scaled(4.0**power) for power in range(4, -5, -1)]
        totals = [np.linalg.cond(sigma + one.covariance()) for one in scaled]
        return [c for c, total in zip(scaled, totals, strict=True) if total < WELL_CONDITIONED]
    if isinstance(channel, NoisyVectors):
        return [attrs.evolve(channel, scale=channel.scale * 2.0**p) for p in range(3, -4, -1)]
    if isinstance(channel, Symbols):
        even = 1.0 / len(channel.alphabet)
        return [
            attrs.evolve(channel, probabilities=share * even + (1 - share) * channel.probabilities)
            for share in (0.99, 0.9, 0.6, 0.3, 0.0)
        ]
    if isinstance(channel, Suppression) and channel.after is None:
        start = channel.start
        louder = [1.0 - (1.0 - start) * share for share in (0.01, 0.1, 0.4, 0.7)]
        quieter = [start * share for share in (1.0, 0.7, 0.4, 0.1)]
        return [Suppression.memoryless(channel.states, table) for table in (*louder, *quieter)]
    raise NotHere(f"louder and quieter {type(channel).__name__} channels are not known")


MEMORY = (0.0, 0.3, 0.7, 1.0)
"""Shares of what one time tells about another."""


def from_forgetful_on(belief: Any, channel: Any) -> list[Any]:
    """Return beliefs with the same law of each time, every one remembering more than the last."""
    if isinstance(belief, Gaussian):
        own, noise = belief.covariance.dense(), channel.covariance()
        mixed = [share * own + (1.0 - share) * np.diag(own.diagonal()) for share in MEMORY]
        mixed = [one for one in mixed if np.linalg.cond(one + noise) < WELL_CONDITIONED]
        return [attrs.evolve(belief, covariance=Dense(one), exact=None) for one in mixed]
    if not isinstance(belief, Markov) or belief.steps == 1:
        return []
    moves = np.array([belief.matrix(time) for time in range(belief.steps - 1)])
    anew = belief.marginals()[1:, None, :]
    tables = [share * moves + (1.0 - share) * anew for share in MEMORY]
    return [Markov(belief.initial, table, states=belief.states) for table in tables]


def independent(channel: AdditiveGaussian) -> AdditiveGaussian:
    """Return the channel with noise of the same variances that is independent."""
    return attrs.evolve(channel, noise=Diagonal(channel.noise.diagonal()))


def correlated(channel: AdditiveGaussian) -> AdditiveGaussian:
    """Return the channel with noise of the same variances, of which half is shared by all."""
    deviations = np.sqrt(channel.noise.diagonal())
    half = Dense((np.outer(deviations, deviations) + np.diag(deviations**2)) / 2)
    return attrs.evolve(channel, noise=half)


def silent(channel: Any, belief: Any) -> Any:
    """Return a channel of the same kind that releases nothing (Gaussian: next to nothing)."""
    if isinstance(channel, AdditiveGaussian) and isinstance(belief, Gaussian):
        scale = SILENCE * float(belief.covariance.diagonal().max())
        return attrs.evolve(channel, noise=Diagonal(np.full(channel.entries, scale)))
    if isinstance(channel, Suppression):
        return Suppression.memoryless(channel.states, np.ones(channel.start.shape))
    if isinstance(channel, NoisyVectors):
        return attrs.evolve(channel, means=np.zeros_like(channel.means))
    if isinstance(channel, Emission | WholeTrace):
        blank = np.ones((channel.steps, len(channel.states), 1))
        return Symbols(channel.states, ("nothing",), blank)
    raise NotHere(f"silence is not known for {type(channel).__name__} channels")


def identity(channel: Any) -> Any:
    """Return a channel of the same kind that releases the trace itself."""
    if isinstance(channel, AdditiveGaussian):
        return attrs.evolve(channel, noise=Diagonal(np.zeros(channel.entries)))
    if isinstance(channel, Suppression):
        return Suppression.memoryless(channel.states, np.zeros(channel.start.shape))
    if isinstance(channel, Emission | WholeTrace):
        states = channel.states
        every = np.broadcast_to(np.eye(len(states)), (channel.steps, len(states), len(states)))
        return Symbols(states, states, every)
    raise NotHere(f"releasing everything is not known for {type(channel).__name__} channels")


def channel_of_permuted_states(channel: Any, order: Sequence[int]) -> Any:
    """Return the channel for states listed in another order."""
    if isinstance(channel, Suppression | RememberingSuppression):
        return channel.permuted(order)
    places = np.asarray(order)
    states = tuple(channel.states[place] for place in places)
    if isinstance(channel, Symbols):
        return Symbols(states, channel.alphabet, channel.probabilities[:, places])
    if isinstance(channel, NoisyVectors):
        return NoisyVectors(states, channel.means[:, places], channel.scale)
    if isinstance(channel, WholeTrace) and (permuted := channel.permuted(order)) is not None:
        return permuted
    raise NotHere(f"reordering states is not known for {type(channel).__name__} channels")


def question_of_permuted_states(question: Any, order: Sequence[int]) -> Any:
    """Return the question for states listed in another order."""
    places = np.asarray(order)
    close = getattr(question, "close", None)
    close = None if close is None else close[np.ix_(places, places)]
    if isinstance(question, StateAt):
        # Its events are grouped by time, all states of each: their masks are listed anew.
        count = len(places)
        rows = (np.arange(0, len(question.masks), count)[:, None] + places).ravel()
        masks, names = question.masks[rows], tuple(question.names[row] for row in rows)
        return attrs.evolve(question, masks=masks[:, :, places], names=names, close=close)
    if isinstance(question, Events):
        return attrs.evolve(question, masks=question.masks[:, :, places])
    if isinstance(question, JointStates):
        states = tuple(question.states[place] for place in places)
        return attrs.evolve(question, states=states, close=close)
    if isinstance(question, Guess):
        return question
    raise NotHere(f"reordering states is not known for {type(question).__name__} questions")


def question_shifted(question: Any, shift: Any) -> Any:
    """Return the question about X + shift."""
    if isinstance(question, Nearness):
        return attrs.evolve(question, place=question.place + float(shift[question.entry]))
    return question


def question_of_permuted_times(question: Any, order: Sequence[int], belief: Gaussian) -> Any:
    """Return the question about the trace whose time i is the old trace's time order[i]."""
    new_place = np.argsort(np.asarray(order))
    d = belief.dimensions
    if isinstance(question, Nearness):
        entry = int(new_place[question.entry // d]) * d + question.entry % d
        return attrs.evolve(question, entry=entry)
    groups = tuple(
        tuple(tuple(int(new_place[e // d]) * d + e % d for e in ball) for ball in group)
        for group in question.groups
    )
    return attrs.evolve(question, groups=groups)


def question_in_units(question: Any, factor: float) -> Any:
    """Return the question about √factor · X."""
    if isinstance(question, Nearness):
        root = float(np.sqrt(factor))
        return attrs.evolve(question, place=question.place * root, radius=question.radius * root)
    return attrs.evolve(question, radii=tuple(r * float(np.sqrt(factor)) for r in question.radii))


def value_in_units(unit: str, factor: float) -> float:
    """Return what a value of that unit is multiplied by when X becomes √factor · X.

    >>> from sfumato.laws.transformations import value_in_units
    >>> value_in_units("nats", 4.0), value_in_units("units of the trace", 4.0)
    (1.0, 2.0)
    """
    if unit.startswith("squared units of the trace"):
        return factor
    if unit.startswith("units of the trace"):
        return float(np.sqrt(factor))
    return 1.0


def member_at(prior: PriorClass, place: float) -> Any:
    """Return the member at a place between 0 and 1: inside an interval, or along a list."""
    if isinstance(prior, Family) and not prior.finite:
        chosen = {name: _within(domain, place) for name, domain in prior.varying.items()}
        return prior.member(chosen)
    members = list(prior.members())
    return members[min(int(place * len(members)), len(members) - 1)]


def _within(domain: Interval | AnyOf, place: float) -> Any:
    if isinstance(domain, Interval):
        return min(domain.low + place * (domain.high - domain.low), domain.high)
    return domain.options[min(int(place * len(domain.options)), len(domain.options) - 1)]
