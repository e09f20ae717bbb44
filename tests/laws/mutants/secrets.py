"""Secrets that ask about something else than they say."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, ClassVar

import attrs
import numpy as np

from mutants.mutant import Mutant
from sfumato.beliefs import Gaussian, Markov
from sfumato.domains.alternatives import Label
from sfumato.parameters import (
    INDEX,
    LABEL_SET,
    POSITIVE,
    REAL,
    WHOLE,
    Collection,
    declare,
    parameter,
)
from sfumato.protocols import Secret
from sfumato.questions import Displacements, Events, Guess, JointStates, Nearness, StateAt
from sfumato_gaussian_process.secrets import Basic, Compound
from sfumato_markov_chain.secrets import Contexts


@declare
class RadiusForDiameter(Secret):
    """Pairs that differ by half the radius."""

    name = "mutant_radius_for_diameter"
    yields: ClassVar = {Gaussian: Displacements}

    index: int = parameter(INDEX("n"), doc="position of the secret time")
    radius: float = parameter(POSITIVE, default=1.0, doc="radius of the pairs")

    def question(self, belief: Any) -> Displacements:
        """Halve the radius."""
        if self.index >= belief.times:
            raise self.reject("index", f"below {belief.times}", self.index)
        return Displacements(groups=((belief.entries_at(self.index),),), radii=self.radius / 2)


@declare
class FixedRadius(RadiusForDiameter):
    """Pairs that differ by one, whatever the radius."""

    name = "mutant_fixed_radius"

    def question(self, belief: Any) -> Displacements:
        """Forget the radius."""
        found = super().question(belief)
        return Displacements(groups=found.groups, radii=1.0)


@declare
class OffByOne(RadiusForDiameter):
    """The time after the one that is named."""

    name = "mutant_off_by_one"

    def question(self, belief: Any) -> Displacements:
        """Count from one."""
        place = (self.index + 1) % belief.times
        return Displacements(groups=((belief.entries_at(place),),), radii=self.radius)


@declare
class UnionForCompound(Secret):
    """Each of several times on its own, where all of them move at once."""

    name = "mutant_union_for_compound"
    yields: ClassVar = {Gaussian: Displacements}

    indices: tuple[int, ...] = parameter(
        Collection(INDEX("n"), distinct=True), doc="positions of the secret times"
    )
    radius: float = parameter(POSITIVE, default=1.0, doc="radius of the pairs at each time")

    def question(self, belief: Any) -> Displacements:
        """Return a group for each time."""
        if max(self.indices) >= belief.times:
            raise self.reject("indices", f"below {belief.times}", self.indices)
        groups = tuple((belief.entries_at(index),) for index in self.indices)
        return Displacements(groups=groups, radii=self.radius)


@declare
class LastPointForgotten(Secret):
    """Every time of the trace but the last."""

    name = "mutant_last_point_forgotten"
    yields: ClassVar = {Gaussian: Displacements}

    radius: float = parameter(POSITIVE, default=1.0, doc="radius of the pairs")

    def question(self, belief: Any) -> Displacements:
        """Stop one too early."""
        times = range(max(1, belief.times - 1))
        return Displacements(
            groups=tuple((belief.entries_at(time),) for time in times), radii=self.radius
        )


@declare
class Complement(Secret):
    """Being anywhere else."""

    name = "mutant_complement"
    yields: ClassVar = {Markov: Events}

    states: tuple[Hashable, ...] = parameter(LABEL_SET("M"), doc="the sensitive states")

    def mask(self, belief: Any) -> Any:
        """Return which states count."""
        return np.array([state not in self.states for state in belief.states])

    def question(self, belief: Any) -> Events:
        """Return one event for each time."""
        inside = self.mask(belief)
        if any(state not in belief.states for state in self.states) or not inside.any():
            raise self.reject("states", f"among {belief.states}", self.states)
        masks = np.zeros((belief.steps, belief.steps, belief.state_count), dtype=bool)
        masks[np.arange(belief.steps), np.arange(belief.steps)] = inside
        return Events(masks, tuple(range(belief.steps)))


@declare
class FirstStateOnly(Complement):
    """The first of the sensitive states."""

    name = "mutant_first_state_only"

    def mask(self, belief: Any) -> Any:
        """Forget the others."""
        return np.array([state == self.states[0] for state in belief.states])


@declare
class FirstTenTimes(LastPointForgotten):
    """Every time of short traces."""

    name = "mutant_first_ten_times"

    def question(self, belief: Any) -> Displacements:
        """Stop after ten."""
        times = range(min(belief.times, 10))
        return Displacements(
            groups=tuple((belief.entries_at(time),) for time in times), radii=self.radius
        )


@declare
class TodayOrTomorrow(Complement):
    """Being there at a time or at the next one."""

    name = "mutant_today_or_tomorrow"

    def question(self, belief: Any) -> Events:
        """Make a window of every time."""
        inside = np.array([state in self.states for state in belief.states])
        if any(state not in belief.states for state in self.states):
            raise self.reject("states", f"among {belief.states}", self.states)
        masks = np.zeros((belief.steps, belief.steps, belief.state_count), dtype=bool)
        for time in range(belief.steps):
            masks[time, time : time + 2] = inside
        return Events(masks, tuple(range(belief.steps)))


@declare
class StrictGuess(Secret):
    """One mistake fewer than is allowed."""

    name = "mutant_strict_guess"
    yields: ClassVar = {Markov: Guess}

    mistakes: int = parameter(WHOLE, default=0, doc="positions that may be wrong")

    def question(self, belief: Any) -> Guess:
        """Take "at most" for "less than"."""
        if self.mistakes > belief.steps:
            raise self.reject("mistakes", f"at most {belief.steps}", self.mistakes)
        return Guess(max(0, self.mistakes - 1))


@declare
class OtherSide(Secret):
    """Being near a place on the other side of zero."""

    name = "mutant_other_side"
    yields: ClassVar = {Gaussian: Nearness}

    place: float = parameter(REAL, doc="the place")
    radius: float = parameter(POSITIVE, default=1.0, doc="how near counts")

    def question(self, belief: Any) -> Nearness:
        """Change the sign."""
        return Nearness(belief.entries_at(0)[0], -self.place, self.radius)


@declare
class PositionOffByOne(Secret):
    """The time before the one that is named, by a name of its own."""

    name = "mutant_position_off_by_one"
    yields: ClassVar = {Gaussian: Displacements}

    position: int = parameter(INDEX("n"), doc="position of the secret time")
    radius: float = parameter(POSITIVE, default=1.0, doc="radius of the pairs")

    def question(self, belief: Any) -> Displacements:
        """Count from one."""
        if self.position >= belief.times:
            raise self.reject("position", f"below {belief.times}", self.position)
        place = belief.entries_at(max(0, self.position - 1))
        return Displacements(groups=((place,),), radii=self.radius)


@declare
class HalfTheDistance(Secret):
    """Pairs that are half as far apart as a parameter says that has a name of its own."""

    name = "mutant_half_the_distance"
    yields: ClassVar = {Gaussian: Displacements}

    index: int = parameter(INDEX("n"), doc="position of the secret time")
    apart: float = parameter(POSITIVE, default=1.0, doc="how far apart pairs are")

    def question(self, belief: Any) -> Displacements:
        """Halve it."""
        if self.index >= belief.times:
            raise self.reject("index", f"below {belief.times}", self.index)
        return Displacements(groups=((belief.entries_at(self.index),),), radii=self.apart / 2)


@declare
class WindowIgnored(Contexts):
    """Each time on its own, where they count as one."""

    name = "mutant_window_ignored"

    def question(self, belief: Any) -> Events:
        """Forget the window."""
        return Contexts.question(attrs.evolve(self, window=False), belief)


@declare
class TogetherIgnored(Contexts):
    """Each state on its own, where they count as one."""

    name = "mutant_together_ignored"

    def question(self, belief: Any) -> Events:
        """Forget the switch."""
        return Contexts.question(attrs.evolve(self, together=False), belief)


@declare
class OneWay(Contexts):
    """Pairs in one order, where both are asked for."""

    name = "mutant_one_way"

    def question(self, belief: Any) -> Events:
        """Forget the other order."""
        return attrs.evolve(Contexts.question(self, belief), both_ways=False)


@declare
class AnywhereElse(Secret):
    """Being anywhere but in the state that is given, by a parameter of another name."""

    name = "mutant_anywhere_else"
    yields: ClassVar = {Markov: Events}

    where: Hashable = parameter(Label("M"), doc="the sensitive state")

    def question(self, belief: Any) -> Events:
        """Return the complement."""
        if self.where not in belief.states or belief.state_count < 2:
            raise self.reject("where", f"among {belief.states}", self.where)
        others = np.array([state != self.where for state in belief.states])
        masks = np.eye(belief.steps, dtype=bool)[:, :, None] & others
        return Events(masks, tuple(range(belief.steps)))


@declare
class StrictlyClose(Basic):
    """States that are less than the radius apart."""

    name = "mutant_strictly_close"

    def question(self, belief: Any) -> Any:
        """Leave out those that are just that far."""
        found = Basic.question(self, belief)
        if not isinstance(found, StateAt) or self.distances is None:
            return found
        close = (self.distances < self.radius) | np.eye(belief.state_count, dtype=bool)
        return attrs.evolve(found, close=close)


@declare
class NeighboursOnly(Basic):
    """Pairs of states that are listed next to each other."""

    name = "mutant_neighbours_only"

    def question(self, belief: Any) -> Any:
        """Take the list for a street."""
        found = Basic.question(self, belief)
        if not isinstance(found, StateAt) or self.distances is not None:
            return found
        places = np.arange(belief.state_count)
        return attrs.evolve(found, close=abs(np.subtract.outer(places, places)) <= 1)


@declare
class ThreeOfMany(Compound):
    """The first three of the times that move at once."""

    name = "mutant_three_of_many"

    def question(self, belief: Any) -> Any:
        """Forget the others."""
        found = Compound.question(self, belief)
        if isinstance(found, JointStates):
            return attrs.evolve(found, groups=(found.groups[0][:3],))
        return Displacements(groups=(found.groups[0][:3],), radii=self.radius)


@declare
class LastButOne(Secret):
    """The last time, or rather the one before it."""

    name = "mutant_last_but_one"
    yields: ClassVar = {Gaussian: Displacements}

    radius: float = parameter(POSITIVE, default=1.0, doc="radius of the pairs")

    def question(self, belief: Any) -> Displacements:
        """Count from one."""
        place = belief.entries_at(max(0, belief.times - 2))
        return Displacements(groups=((place,),), radii=self.radius)


@declare
class BothEnds(Secret):
    """Where one begins and where one ends a stretch of the trace, and nothing between."""

    name = "mutant_both_ends"
    yields: ClassVar[Any] = {Gaussian: Displacements}

    begin: int = parameter(INDEX("n"), doc="position of the first time")
    end: int = parameter(INDEX("n"), doc="position of the last time")
    radius: float = parameter(POSITIVE, default=1.0, doc="radius of the pairs")

    def question(self, belief: Any) -> Displacements:
        """Forget what lies between."""
        if max(self.begin, self.end) >= belief.times:
            raise self.reject("end", f"below {belief.times}", self.end)
        groups = tuple((belief.entries_at(time),) for time in {self.begin, self.end})
        return Displacements(groups=groups, radii=self.radius)


@declare
class SlipsByAnotherName(Secret):
    """One slip fewer than is allowed, by a name that nothing knows."""

    name = "mutant_slips_by_another_name"
    yields: ClassVar[Any] = {Markov: Guess}

    slips: int = parameter(WHOLE, default=0, doc="positions that may be wrong")

    def question(self, belief: Any) -> Guess:
        """Count one too few."""
        return Guess(max(0, min(self.slips, belief.steps) - 1))


@declare
class LastStateForgotten(Secret):
    """Being in any state at a time, but for the last of the list."""

    name = "mutant_last_state_forgotten"
    yields: ClassVar[Any] = {Markov: Events}

    index: int = parameter(INDEX("n"), doc="position of the time")

    def question(self, belief: Any) -> Events:
        """Stop too soon."""
        if self.index >= belief.steps:
            raise self.reject("index", f"below {belief.steps}", self.index)
        count = max(1, belief.state_count - 1)
        masks = np.zeros((count, belief.steps, belief.state_count), dtype=bool)
        masks[np.arange(count), self.index, np.arange(count)] = True
        return Events(masks, belief.states[:count])


MUTANTS = (
    Mutant("secret.times", BothEnds, "what lies between two times", "secret", "unverified"),
    Mutant("secret.values", SlipsByAnotherName, "mistakes by a name", "secret", "unverified"),
    Mutant("secret.states", LastStateForgotten, "states by a name", "secret", "unverified"),
    Mutant("secret.times", WindowIgnored, "a window is one event", "secret"),
    Mutant("secret.times", ThreeOfMany, "all of many times", "secret"),
    Mutant("secret.times", LastButOne, "a time that nothing names", "secret", "unverified"),
    Mutant("secret.states", TogetherIgnored, "states that count as one", "secret"),
    Mutant("secret.states", AnywhereElse, "a state is one by any name", "secret"),
    Mutant("secret.values", OneWay, "pairs in both orders", "secret"),
    Mutant("secret.radius", StrictlyClose, "a radius is within itself", "secret"),
    Mutant("secret.radius", NeighboursOnly, "any two states are a pair", "secret"),
    Mutant("secret.times", PositionOffByOne, "a position is one by any name", "secret"),
    Mutant(
        "secret.radius", HalfTheDistance, "a radius that nothing checks", "secret", "unverified"
    ),
    Mutant("secret.radius", RadiusForDiameter, "a radius is no diameter", "secret"),
    Mutant("secret.radius", FixedRadius, "twice the radius, twice as far apart", "secret"),
    Mutant("secret.times", OffByOne, "an index counts from zero", "secret"),
    Mutant("secret.times", UnionForCompound, "indices move at once", "secret"),
    Mutant("secret.times", LastPointForgotten, "every time is every time", "secret"),
    Mutant("secret.times", FirstTenTimes, "every time of a long trace, too", "sizes"),
    Mutant("secret.times", TodayOrTomorrow, "times count each on its own", "secret"),
    Mutant("secret.values", StrictGuess, "as many mistakes as are given", "secret"),
    Mutant("secret.values", OtherSide, "the place that is given", "secret"),
    Mutant("secret.states", Complement, "an event is not its complement", "secret"),
    Mutant("secret.states", FirstStateOnly, "more states, more events", "secret"),
)
