"""Plugins with two ways to do a thing, which disagree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from mutants.mutant import Mutant
from sfumato.beliefs import Markov
from sfumato.channels import Emission, RememberingSuppression, Suppression
from sfumato.comparison.populations import OfPopulation
from sfumato.inference.markov.remembered import expected_releases
from sfumato.parameters import UNIT, declare, parameter
from sfumato.protocols import LossMeasure, Mechanism, PriorClass, Quantity, Reading, Release, Secret
from sfumato.quantities import EXPECTED_RELEASES
from sfumato.questions import Events, Guess
from sfumato.release.streams import Stream, keyed_generator, open_stream
from sfumato.values import SUPPRESSED


@attrs.frozen(kw_only=True)
class _FromTheBatch(Release):
    def apply(self, trace: Sequence[Any], rng: np.random.Generator | None = None) -> Any:
        """Draw as the channel does for many at once."""
        return tuple(self.channel.sample_many(self.channel.encode(trace)[None], rng)[0])


@attrs.frozen(eq=False, repr=False)
class _QuietAlone(Suppression):
    def sample(
        self, trace: Sequence[Any], rng: np.random.Generator | None = None
    ) -> tuple[Any, ...]:
        """Withhold half as often."""
        return Suppression.memoryless(self.states, self.start / 2).sample(trace, rng)


@attrs.frozen(eq=False, repr=False)
class _QuietLater(Suppression):
    def sample_many(
        self, traces: NDArray[np.intp], rng: np.random.Generator | None
    ) -> NDArray[np.object_]:
        """Withhold half as often from the ninth step on."""
        chances = np.concatenate([self.start[:8], self.start[8:] / 2])
        return Suppression.memoryless(self.states, chances).sample_many(traces, rng)


@attrs.frozen(eq=False, repr=False)
class _HalfAsLikely(Suppression):
    def log_likelihood(self, observed: Sequence[Any], trace: Sequence[Any]) -> float:
        """Return half of the logarithm."""
        return super().log_likelihood(observed, trace) / 2


@declare
class QuietAlone(Mechanism):
    """Half of the states are withheld, from those who ask for many outputs."""

    name = "mutant_quiet_alone"
    asks = ((Markov, object),)
    yields = Suppression
    channel: ClassVar[Any] = _QuietAlone

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Claim ordinary suppression."""
        belief: Any = next(prior.members()).belief()
        channel = self.channel(belief.states, np.full((belief.steps, belief.state_count), 0.5))
        return _FromTheBatch(
            mechanism=self,
            prior=prior,
            secret=secret,
            channel=channel,
            utility_value=expected_releases(belief, channel),
            utility_quantity=EXPECTED_RELEASES,
        )


@declare
class QuietLater(QuietAlone):
    """Half of the states are withheld, at first."""

    name = "mutant_quiet_later"
    channel = _QuietLater


@declare
class HalfAsLikely(QuietAlone):
    """Half of the states are withheld, with a likelihood that is another one's."""

    name = "mutant_half_as_likely"
    channel = _HalfAsLikely


def _until_a_visit(belief: Markov) -> tuple[NDArray[np.float64], ...]:
    """Return tables that withhold half, and all until a release once the visit was made."""
    steps, count = belief.steps, belief.state_count
    first = np.full((1, steps, 2, count), 0.5)
    first[:, :, 1] = 1.0
    after = (np.full((count, steps - t - 1, 1, count), 0.5) for t in range(steps - 1))
    return (first, *after)


@attrs.frozen(eq=False, repr=False)
class _NeverVisited(RememberingSuppression):
    def sample_many(
        self, traces: NDArray[np.intp], rng: np.random.Generator | None
    ) -> NDArray[np.object_]:
        """Draw as if nothing had been visited."""
        first = self.tables[0][0, :, 0]
        return Suppression.memoryless(self.states, first).sample_many(traces, rng)


@declare
class NeverVisited(Mechanism):
    """Withholds everything once the first state was visited, as its channel says."""

    name = "mutant_never_visited"
    asks = ((Markov, Events),)
    yields = RememberingSuppression

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Show half of the states until the visit."""
        belief: Any = next(prior.members()).belief()
        made = [RememberingSuppression, _NeverVisited]
        honest, channel = (kind(belief.states, ((0, 0),), _until_a_visit(belief)) for kind in made)
        return _FromTheBatch(
            mechanism=self,
            prior=prior,
            secret=secret,
            channel=channel,
            utility_value=expected_releases(belief, honest),
            utility_quantity=EXPECTED_RELEASES,
        )


class _MemoryLost(Stream):
    """A stream whose saved state has no hidden memory."""

    def __init__(self, release: Release, key: bytes, time: int = 0) -> None:
        super().__init__(release, key, time)
        self._coins = keyed_generator(key).random(release.channel.steps)
        self._visited = False

    def answer(self, value: Any, time: int) -> Any:
        """Show what is decided by the table of one who was there, or was not."""
        channel = self._release.channel
        self._visited |= time == 0 and value == channel.states[0]
        chance = 1.0 if self._visited else 0.5
        return SUPPRESSED if self._coins[time] < chance else value


@attrs.frozen(kw_only=True)
class _WithoutMemory(Release):
    def stream(self, rng: Any = None, state: Any = None) -> Any:
        """Begin a stream, or resume one."""
        return open_stream(_MemoryLost, self, rng, state)


@declare
class MemoryLost(Mechanism):
    """Withholds half, and everything once the trace began in the first state, until resumed."""

    name = "mutant_memory_lost"
    asks = ((Markov, Events),)
    yields = RememberingSuppression

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Hide what is shown after such a beginning: nothing is ever forgotten."""
        belief: Any = next(prior.members()).belief()
        channel = RememberingSuppression(belief.states, ((0, 0),), _until_a_visit(belief))
        return _WithoutMemory(
            mechanism=self,
            prior=prior,
            secret=secret,
            channel=channel,
            utility_value=expected_releases(belief, channel),
            utility_quantity=EXPECTED_RELEASES,
        )


@declare
class FirstForEveryone(OfPopulation, LossMeasure):
    """The best guess of the first state, by the first symbol; of many people, the first one's."""

    name = "mutant_first_for_everyone"
    reads = ((Markov, Guess, Emission),)

    @property
    def quantity(self) -> Quantity:
        """A chance of success."""
        return Quantity("success at first", unit="probability")

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Return Σ_y max_x Pr[X_0 = x, y], called a lower bound."""
        del question
        chances = np.exp(channel.next_evidence((), 0)) * belief.initial
        return Reading(value=float(chances.max(axis=1).sum()), bound="lower")

    def of_population(self, people: Any, secret: Any, mechanism: Any, **where: Any) -> Any:
        """Take the first for everyone."""
        found = super().of_population(people, secret, mechanism, **where)
        return attrs.evolve(found, values=np.full(len(people), found.values[0]))


@declare
class TenStates(Mechanism):
    """Withholds everything, but of ten states or more only a share δ."""

    name = "mutant_ten_states"
    asks = ((Markov, Events),)
    yields = Suppression
    promises = (("delta", "posterior_gap"),)

    delta: float = parameter(UNIT, doc="how far an output may raise a sensitive probability")

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Show nothing, and of many states everything."""
        belief: Any = next(prior.members()).belief()
        hidden = 1.0 if belief.state_count < 10 else self.delta
        channel = Suppression.memoryless(
            belief.states, np.full((belief.steps, belief.state_count), hidden)
        )
        return Release(
            mechanism=self,
            prior=prior,
            secret=secret,
            channel=channel,
            utility_value=expected_releases(belief, channel),
            utility_quantity=EXPECTED_RELEASES,
        )


MUTANTS = (
    Mutant("sampling.honest", QuietAlone, "one output is drawn as many are", "two doors"),
    Mutant("sampling.honest", QuietLater, "a long trace is drawn as a short one", "sizes"),
    Mutant("sampling.honest", NeverVisited, "a hidden memory is drawn with", "two doors"),
    Mutant("sampling.stream", MemoryLost, "a saved state has the hidden memory", "two doors"),
    Mutant("contract.release", HalfAsLikely, "a likelihood is the evidence's", "two doors"),
    Mutant("contract.population", FirstForEveryone, "everyone is someone else", "two doors"),
    Mutant("budget.size", TenStates, "many states are hidden as few are", "sizes"),
)
