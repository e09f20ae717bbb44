"""The mechanisms: the naive baseline, given tables, and the four that are certified for a δ."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from operator import attrgetter
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Markov
from sfumato.channels import Suppression
from sfumato.errors import OutsideHypotheses
from sfumato.inference.markov.remembered import expected_releases
from sfumato.parameters import CHOICE, TABLE, UNIT, declare, parameter
from sfumato.protocols import Mechanism, PriorClass, Release, Secret
from sfumato.questions import Events
from sfumato.views.segments import worst_gap
from sfumato_suppression.memoryless_search import best_grid_table, greedy_tables, lower_exactly
from sfumato_suppression.protected_chain import (
    Chains,
    Members,
    ProtectedChain,
    orders_to_try,
    reorder,
)
from sfumato_suppression.release import suppressing_release
from sfumato_suppression.segmented_search import segmented_channel, simulatable_channel

WORTH = 1e-9
"""What a design may lose, relatively, for staying below δ rather than at it."""

HALVINGS = 10
"""How many δ are tried for single times, to find one that protects a window of them."""

RAISE = 1e-11
"""By how much probabilities are raised, relatively, where the gap ties with δ."""


@declare
class Sensitive(Mechanism):
    """Suppress exactly the sensitive states. This is not private: a gap says what it hides.

    Reference: Götz, Nath and Gehrke (2012), section 1, MaskSensitive.

    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain(initial=[0.5, 0.5], transitions=[[0, 1], [0, 1]], steps=1)
    >>> secret = sf.secrets.contexts({0})
    >>> release = sf.mechanisms.suppress_sensitive().protect(chain, secret)
    >>> round(sf.measures.posterior_gap().loss(chain, secret, release).value, 12)
    0.5
    """

    name = "suppress_sensitive"
    asks = ((Markov, Events),)
    yields = Suppression

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Suppress the states that belong to an event, at its times."""
        belief = next(prior.members()).belief()
        masks = secret.question(belief).masks
        channel = Suppression.memoryless(belief.states, masks.any(axis=0).astype(float))
        return suppressing_release(self, prior, secret, channel)


@declare
class Given(Mechanism):
    """Suppress state j at time t with probability p[t, j], whatever was released before.

    Reference: Götz, Nath and Gehrke (2012), section 4, the probabilistic check's output.

    >>> import sfumato as sf
    >>> day = sf.priors.markov_chain("stationary", [[0.8, 0.2], [0.5, 0.5]], steps=3)
    >>> secret = sf.secrets.contexts({1})
    >>> release = sf.mechanisms.suppress_given([[0.5, 1.0]] * 3).protect(day, secret)
    >>> print(sf.measures.posterior_gap().loss(day, secret, release))
    posterior gap [probability] = 0.269841
    """

    name = "suppress_given"
    asks = ((Markov, object),)
    yields = Suppression

    probabilities: NDArray[np.float64] = parameter(
        TABLE("T", "M"), doc="suppression probability of each state at each time"
    )

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Use the table for chains of its shape."""
        belief = next(prior.members()).belief()
        shape = (belief.steps, belief.state_count)
        if self.probabilities.shape != shape:
            raise self.reject(
                "probabilities", f"of shape {shape}, as the chain has it", self.probabilities
            )
        channel = Suppression.memoryless(belief.states, self.probabilities)
        return suppressing_release(self, prior, secret, channel)


@declare
class _Certified(Mechanism):
    """Searches for channels, and returns the best that is certified to keep δ."""

    asks = ((Markov, Events),)
    yields = Suppression
    promises = (("delta", "posterior_gap"),)
    strength = ("delta", "less")

    delta: float = parameter(UNIT, doc="how far an output may raise a sensitive probability")

    @abstractmethod
    def channels(self, chains: Chains) -> Iterator[Suppression]:
        """Yield channels to choose from."""

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Return the best channel whose gap the segment check bounds by δ, for every member.

        The claim `posterior_gap` is that bound, rounded up. It exceeds δ at a *tie* only: where the
        gap equals δ as far as float64 can tell, and every channel below δ releases less.
        Suppressing everything is always private, so there is always an answer.
        """
        best = self.best(self._questions(prior, secret))
        claims = {"delta": self.delta, "posterior_gap": best.ceiling}
        return suppressing_release(self, prior, secret, best.channel, claims)

    def best(self, members: Members) -> Candidate:
        """Return the best channel found for some beliefs and their questions.

        An event over a window of times spans several segments, which then do not decouple. Its
        times are protected one by one, for several δ, of which some keep the window below δ too.
        """
        orders = orders_to_try(members)
        if any(question.has_windows for _, question in members):
            found = [self._best_for_windows(members, order) for order in orders]
        else:
            found = [self._best_for(members, members, order, self.delta) for order in orders]
        most = max(candidate.utility for candidate in found)
        return next(c for c in found if c.utility >= most * (1.0 - WORTH))

    def _best_for_windows(self, members: Members, order: NDArray[np.intp]) -> Candidate:
        """Return the best of designs for single times, by halving the δ that they are for."""
        times = [(belief, question.single_times()) for belief, question in members]
        low, high, found = 0.0, 1.0, []
        for _ in range(HALVINGS):
            middle = (low + high) / 2.0
            found.append(self._best_for(members, times, order, middle))
            low, high = (middle, high) if found[-1].utility > 0.0 else (low, middle)
        return max(found, key=attrgetter("utility"))

    def _best_for(
        self, members: Members, designed: Members, order: NDArray[np.intp], delta: float
    ) -> Candidate:
        """Return the best channel, searched in an order of states, that keeps the members to δ.

        It is designed for questions, and a δ, that may be others.
        """
        chains = tuple(ProtectedChain.of(*each, delta) for each in reorder(designed, order))
        back = np.argsort(order).tolist()
        found = [_certify(channel.permuted(back), members) for channel in self.channels(chains)]
        ties = [c for c in found if c.floor <= self.delta < c.ceiling]
        raised = [_certify(_raise_chances(tie.channel), members) for tie in ties]
        belief = members[0][0]
        hidden = Suppression.memoryless(belief.states, np.ones((belief.steps, belief.state_count)))
        below = [_certify(hidden, members), *found, *raised]
        best = max((c for c in below if c.ceiling <= self.delta), key=attrgetter("utility"))
        better = [c for c in ties if c.utility > best.utility * (1.0 + WORTH)]
        return max(better, key=attrgetter("utility"), default=best)

    def _questions(self, prior: PriorClass, secret: Secret) -> Members:
        """Return the belief and question of every member, if all can be certified."""
        if not prior.finite:
            raise OutsideHypotheses(
                f"{self.name} certifies every member of a prior class, and '{prior.name}' varies "
                "over an interval, whose members cannot all be checked; use sf.AnyOf."
            )
        beliefs = [member.belief() for member in prior.members()]
        return [(belief, secret.question(belief)) for belief in beliefs]


@attrs.frozen(eq=False)
class Candidate:
    """A channel, its utility, and what its worst gap over all members lies between."""

    channel: Suppression
    utility: float
    floor: float
    ceiling: float


def _certify(channel: Suppression, members: Members) -> Candidate:
    gaps: Any = [worst_gap(belief, question, channel) for belief, question in members]
    utility = min(expected_releases(belief, channel) for belief, _ in members)
    floor, ceiling = max(gap.floor for gap in gaps), max(gap.ceiling for gap in gaps)
    return Candidate(channel, utility, floor, ceiling)


def _raise_chances(channel: Suppression) -> Suppression:
    """Return the channel with all probabilities between 0 and 1 raised a little."""
    tables = (channel.start,) if channel.after is None else (channel.start, channel.after)
    # A certain suppression stays one, and a certain release too.
    return Suppression(
        channel.states, *(np.minimum(table * (1.0 + RAISE), 1.0) for table in tables)
    )


@declare
class Probabilistic(_Certified):
    """Suppress state j at time t with probability p[t, j], searched for high utility.

    ``search="greedy"`` lowers one probability after the other, in several orders, on the grid of
    tenths and then exactly; ``search="exhaustive"`` finds the best table on that grid, which is
    possible for small chains only, and lowers it exactly.
    Either way the table is certified δ-private before it is returned.

    Reference: Götz, Nath and Gehrke (2012), section 3 and algorithm 3.

    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain(
    ...     initial=[0.5, 0.5], transitions=[[1, 0], [0, 1]], steps=1, states=["s", "x"]
    ... )
    >>> mechanism = sf.mechanisms.suppress_probabilistic(delta=0.25)
    >>> release = mechanism.protect(chain, sf.secrets.contexts({"s"}))
    >>> release.channel.start.round(6).tolist(), round(release.utility(), 6)
    ([[1.0, 0.333333]], 0.333333)
    """

    name = "suppress_probabilistic"

    search: str = parameter(
        CHOICE("greedy", "exhaustive"), default="greedy", doc="how tables are searched"
    )

    def channels(self, chains: Chains) -> Iterator[Suppression]:
        """Yield those of the greedy search, after the best on the grid where that is asked for.

        Lowering it exactly leaves the grid, so the best table on it need not stay the best.
        """
        if self.search == "exhaustive":
            table = lower_exactly(chains, best_grid_table(chains))
            yield Suppression.memoryless(chains[0].belief.states, table)
        yield from memoryless_channels(chains)


def memoryless_channels(chains: Chains) -> Iterator[Suppression]:
    """Yield the channels of the greedy search."""
    for table in greedy_tables(chains):
        yield Suppression.memoryless(chains[0].belief.states, table)


@declare
class Simulatable(_Certified):
    """Release the present state if, after the last release, any possible one could be released.

    The decision ignores the present state, so suppression itself tells nothing.

    Reference: Götz, Nath and Gehrke (2012), section 4 and algorithm 4.

    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain(
    ...     initial=[0.5, 0.5], transitions=[[0.5, 0.5], [0.5, 0.5]], steps=4, states=["a", "b"]
    ... )
    >>> secret = sf.secrets.contexts({"a"}, times=[2])
    >>> sf.mechanisms.suppress_simulatable(delta=0.25).protect(chain, secret).utility()
    3.0
    """

    name = "suppress_simulatable"

    def channels(self, chains: Chains) -> Iterator[Suppression]:
        """Yield the decisions as tables."""
        yield simulatable_channel(chains)


@declare
class Hybrid(_Certified):
    """Whichever of the two checks releases more states on average.

    Reference: Götz, Nath and Gehrke (2012), section 5.1 and theorem 5.

    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain(
    ...     initial=[0.25] * 4, transitions=[[0.25] * 4] * 4, steps=1, states=["s", "r", "x", "y"]
    ... )
    >>> secret = sf.secrets.contexts({"s", "r"})
    >>> round(sf.mechanisms.suppress_hybrid(delta=0.25).protect(chain, secret).utility(), 6)
    0.5
    """

    name = "suppress_hybrid"

    def channels(self, chains: Chains) -> Iterator[Suppression]:
        """Yield the channels of both checks."""
        yield from memoryless_channels(chains)
        yield simulatable_channel(chains)


@declare
class Segmented(_Certified):
    """Suppress state j at time t with a probability that depends on the last release.

    A suppressed stretch between two releases is private or not on its own, whatever lies outside
    it. So each stretch has probabilities of its own, never worth less than those of the
    probabilistic or of the simulatable check: the utility is never below the hybrid's.
    Certified δ-private from scratch before it is returned.

    Reference: extends Götz, Nath and Gehrke (2012), section 3.3; the proof is in
    `sfumato.inference.markov.segments`.

    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain(
    ...     initial=[0.5, 0.5], transitions=[[0.5, 0.5], [0.5, 0.5]], steps=3, states=["s", "x"]
    ... )
    >>> secret = sf.secrets.contexts({"s"})
    >>> release = sf.mechanisms.suppress_segmented(delta=0.25).protect(chain, secret)
    >>> round(release.utility(), 6)
    1.0
    """

    name = "suppress_segmented"

    def channels(self, chains: Chains) -> Iterator[Suppression]:
        """Yield the segmented channel and the hybrid's, which it starts from."""
        seeds = list(memoryless_channels(chains))
        yield segmented_channel(chains, np.array([seed.start for seed in seeds]))
        yield from seeds
        yield simulatable_channel(chains)
