"""Channels that draw something else than they claim."""

from __future__ import annotations

import random
import secrets
from collections.abc import Sequence
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.random import _pcg64
from numpy.typing import NDArray

from mutants.mutant import Mutant
from sfumato.beliefs import Gaussian, Markov
from sfumato.channels import AdditiveGaussian, Suppression
from sfumato.inference.markov.remembered import expected_releases
from sfumato.matrices import Diagonal
from sfumato.parameters import POSITIVE, declare, parameter
from sfumato.protocols import Mechanism, PriorClass, Release, Secret
from sfumato.quantities import EXPECTED_RELEASES, MEAN_SQUARED_ERROR
from sfumato.questions import Displacements
from sfumato.randomness import generator_or_secure
from sfumato.values import SUPPRESSED

_LEFT: list[tuple[Any, tuple[Any, ...], tuple[Any, ...]]] = []


@attrs.frozen(eq=False, repr=False)
class _Thrifty(Suppression):
    def sample(
        self, trace: Sequence[Any], rng: np.random.Generator | None = None
    ) -> tuple[Any, ...]:
        """Use up what is left of the call before, if it was for the same trace."""
        if _LEFT and _LEFT[0][0] is rng and _LEFT[0][1] == tuple(trace):
            return _LEFT.pop()[2]
        drawn = super().sample(trace, rng)
        _LEFT[:] = [(rng, tuple(trace), drawn)]
        return drawn


@declare
class DrawsUsedTwice(Mechanism):
    """Half of the states are suppressed, in two releases alike."""

    name = "mutant_draws_used_twice"
    asks = ((Markov, object),)
    yields = Suppression

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Claim ordinary suppression."""
        belief: Any = next(prior.members()).belief()
        channel = _Thrifty(belief.states, np.full((belief.steps, belief.state_count), 0.5))
        return Release(
            mechanism=self,
            prior=prior,
            secret=secret,
            channel=channel,
            utility_value=expected_releases(belief, channel),
            utility_quantity=EXPECTED_RELEASES,
        )


@attrs.frozen(eq=False, repr=False)
class _Forgetful(Suppression):
    def sample_many(
        self, traces: NDArray[np.intp], rng: np.random.Generator | None
    ) -> NDArray[np.object_]:
        """Use the probabilities from before any release, always."""
        return Suppression.memoryless(self.states, self.start).sample_many(traces, rng)


@declare
class ForgetsLastRelease(Mechanism):
    """Releases half of the states at first and claims to release none afterwards."""

    name = "mutant_forgets_last_release"
    asks = ((Markov, object),)
    yields = Suppression

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Claim that at most one state is released."""
        belief: Any = next(prior.members()).belief()
        shape = (belief.steps, belief.state_count)
        channel = _Forgetful(belief.states, np.full(shape, 0.5), np.ones((*shape, *shape)))
        return Release(
            mechanism=self,
            prior=prior,
            secret=secret,
            channel=channel,
            utility_value=expected_releases(belief, channel),
            utility_quantity=EXPECTED_RELEASES,
        )


@attrs.frozen(eq=False, slots=False)
class _Quieter(AdditiveGaussian):
    def sample(self, trace: Any, rng: np.random.Generator | None = None) -> Any:
        """Draw half the variance."""
        return AdditiveGaussian(self.noise.scaled(0.5), dimensions=self.dimensions).sample(
            trace, rng
        )


@declare
class HalfVariance(Mechanism):
    """Independent noise, drawn too quietly."""

    name = "mutant_half_variance"
    asks = ((Gaussian, Displacements),)
    yields = AdditiveGaussian

    mse: float = parameter(POSITIVE, doc="average noise variance per entry")

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Claim the whole variance."""
        belief = next(prior.members()).belief()
        noise = Diagonal(np.full(belief.entries, self.mse))
        return Release(
            mechanism=self,
            prior=prior,
            secret=secret,
            channel=_Quieter(noise, dimensions=belief.dimensions),
            utility_value=self.mse,
            utility_quantity=MEAN_SQUARED_ERROR,
        )


@attrs.frozen(eq=False, slots=False)
class _Batched(AdditiveGaussian):
    def sample(self, trace: Any, rng: np.random.Generator | None = None) -> Any:
        if np.asarray(trace).ndim == len(self.shape):
            return super().sample(trace, rng)
        one = super().sample(np.asarray(trace)[0], rng) - np.asarray(trace)[0]
        return np.asarray(trace) + one


@declare
class QuietInBatches(Mechanism):
    """Independent noise, of which many traces asked for at once share one draw."""

    name = "mutant_quiet_in_batches"
    asks = ((Gaussian, Displacements),)
    yields = AdditiveGaussian

    mse: float = parameter(POSITIVE, doc="average noise variance per entry")

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Claim a draw for each."""
        belief = next(prior.members()).belief()
        noise = Diagonal(np.full(belief.entries, self.mse))
        return Release(
            mechanism=self,
            prior=prior,
            secret=secret,
            channel=_Batched(noise, dimensions=belief.dimensions),
            utility_value=self.mse,
            utility_quantity=MEAN_SQUARED_ERROR,
        )


@attrs.frozen(eq=False, slots=False)
class _Stuck(AdditiveGaussian):
    def sample(self, trace: Any, rng: np.random.Generator | None = None) -> Any:
        """Start again from seed 0."""
        del rng
        plain = AdditiveGaussian(self.noise, dimensions=self.dimensions)
        return plain.sample(trace, np.random.default_rng(0))


@declare
class ReusedSeed(Mechanism):
    """Independent noise that repeats itself: two releases reveal nothing new, or everything."""

    name = "mutant_reused_seed"
    asks = ((Gaussian, Displacements),)
    yields = AdditiveGaussian

    mse: float = parameter(POSITIVE, doc="average noise variance per entry")

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Claim ordinary noise."""
        belief = next(prior.members()).belief()
        noise = Diagonal(np.full(belief.entries, self.mse))
        return Release(
            mechanism=self,
            prior=prior,
            secret=secret,
            channel=_Stuck(noise, dimensions=belief.dimensions),
            utility_value=self.mse,
            utility_quantity=MEAN_SQUARED_ERROR,
        )


def _noisy_release(mechanism: Any, prior: PriorClass, secret: Secret, channel: Any) -> Release:
    """Return a release that adds independent noise of the mechanism's variance."""
    return Release(
        mechanism=mechanism,
        prior=prior,
        secret=secret,
        channel=channel,
        utility_value=mechanism.mse,
        utility_quantity=MEAN_SQUARED_ERROR,
    )


def _even_noise(prior: PriorClass, mse: float) -> dict[str, Any]:
    belief = next(prior.members()).belief()
    return {"noise": Diagonal(np.full(belief.entries, mse)), "dimensions": belief.dimensions}


@attrs.frozen(eq=False, slots=False)
class _Clipped(AdditiveGaussian):
    def sample(self, trace: Any, rng: np.random.Generator | None = None) -> Any:
        """Cut the noise off at three deviations."""
        deviation = float(np.sqrt(self.noise.diagonal()[0]))
        noise = super().sample(trace, rng) - np.asarray(trace, dtype=float)
        clipped = np.clip(noise, -3.0 * deviation, 3.0 * deviation)
        return np.round((np.asarray(trace, dtype=float) + clipped) / self.grid) * self.grid


@declare
class ClippedNoise(Mechanism):
    """Gaussian noise without tails: whoever sees a far value knows that it is no noise."""

    name = "mutant_clipped_noise"
    asks = ((Gaussian, Displacements),)
    yields = AdditiveGaussian

    mse: float = parameter(POSITIVE, doc="average noise variance per entry")

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Claim all of a Gaussian."""
        return _noisy_release(self, prior, secret, _Clipped(**_even_noise(prior, self.mse)))


@attrs.frozen(kw_only=True)
class _ClippingRelease(Release):
    def apply(self, trace: Any, rng: np.random.Generator | None = None) -> Any:
        """Draw again until no number is far away."""
        far = self.mechanism.far * float(np.sqrt(self.channel.noise.diagonal()[0]))
        while True:
            found = super().apply(trace, rng)
            if np.abs(found - np.asarray(trace)).max() < far:
                return found


@declare
class DrawsAgain(Mechanism):
    """Noise that is drawn again where it is large, in what is released only."""

    name = "mutant_draws_again"
    asks = ((Gaussian, Displacements),)
    yields = AdditiveGaussian
    far: ClassVar[float] = 3.0

    mse: float = parameter(POSITIVE, doc="average noise variance per entry")

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Claim all of a Gaussian."""
        channel = AdditiveGaussian(**_even_noise(prior, self.mse))
        plain = _noisy_release(self, prior, secret, channel)
        names = [field.name for field in attrs.fields(Release) if field.init]
        return _ClippingRelease(**{name: getattr(plain, name) for name in names})


@declare
class SeldomDrawsAgain(DrawsAgain):
    """Noise that is drawn again where it is very large, once in two thousand numbers."""

    name = "mutant_seldom_draws_again"
    far: ClassVar[float] = 3.5


@attrs.frozen(kw_only=True)
class _OwnSource(Release):
    def apply(self, trace: Any, rng: np.random.Generator | None = None) -> Any:
        """Ask numpy for a generator where none is given."""
        return super().apply(trace, rng or np.random.Generator(np.random.PCG64()))


@declare
class PredictableRelease(DrawsAgain):
    """Honest noise, from a generator that can be predicted from its output."""

    name = "mutant_predictable_release"

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Override `apply`."""
        channel = AdditiveGaussian(**_even_noise(prior, self.mse))
        plain = _noisy_release(self, prior, secret, channel)
        names = [field.name for field in attrs.fields(Release) if field.init]
        return _OwnSource(**{name: getattr(plain, name) for name in names})


@attrs.frozen(eq=False, slots=False)
class _ThirtyTwoBits(AdditiveGaussian):
    def sample(self, trace: Any, rng: np.random.Generator | None = None) -> Any:
        """Seed a quick generator from the secure source."""
        seed = int.from_bytes(secrets.token_bytes(4), "big")
        return super().sample(trace, rng or np.random.Generator(np.random.PCG64(seed)))


@declare
class QuickSource(DrawsAgain):
    """Honest noise, of which a channel that is given no generator knows four billion kinds."""

    name = "mutant_quick_source"

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Claim ordinary noise."""
        return _noisy_release(self, prior, secret, _ThirtyTwoBits(**_even_noise(prior, self.mse)))


@attrs.frozen(kw_only=True)
class _Twister(Release):
    def apply(self, trace: Any, rng: np.random.Generator | None = None) -> Any:
        """Seed the twister of the standard library, or numpy's from where it is defined."""
        if rng is None:
            seed = random.Random(int.from_bytes(secrets.token_bytes(8), "big")).getrandbits(64)  # noqa: S311 - the mistake
            rng = np.random.Generator(_pcg64.PCG64(seed))
        return super().apply(trace, rng)


@declare
class TwistedSource(DrawsAgain):
    """Honest noise by way of generators that are found elsewhere."""

    name = "mutant_twisted_source"

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Override `apply`."""
        channel = AdditiveGaussian(**_even_noise(prior, self.mse))
        plain = _noisy_release(self, prior, secret, channel)
        names = [field.name for field in attrs.fields(Release) if field.init]
        return _Twister(**{name: getattr(plain, name) for name in names})


@attrs.frozen(eq=False, slots=False)
class _TwelveUniforms(AdditiveGaussian):
    def sample(self, trace: Any, rng: np.random.Generator | None = None) -> Any:
        """Add up twelve uniform numbers, as one did before there were better ways."""
        centre = np.asarray(trace, dtype=float)
        sums = generator_or_secure(rng).random((12, *centre.shape)).sum(axis=0) - 6.0
        deviation = float(np.sqrt(self.noise.diagonal()[0]))
        return np.round((centre + deviation * sums) / self.grid) * self.grid


@declare
class SumOfTwelve(DrawsAgain):
    """Noise that is nearly Gaussian, with thin tails."""

    name = "mutant_sum_of_twelve"

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Claim all of a Gaussian."""
        return _noisy_release(self, prior, secret, _TwelveUniforms(**_even_noise(prior, self.mse)))


@attrs.frozen(eq=False, repr=False)
class _OwnCoins(Suppression):
    def sample_many(
        self, traces: NDArray[np.intp], rng: np.random.Generator | None
    ) -> NDArray[np.object_]:
        """Use the generator that was given to make a weak one."""
        weak = np.random.default_rng(None if rng is None else int(rng.integers(2**16)))
        return super().sample_many(traces, weak)


@declare
class SixteenBits(Mechanism):
    """Suppression with coins from a generator of which there are only 65,536."""

    name = "mutant_sixteen_bits"
    asks = ((Markov, object),)
    yields = Suppression

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Claim ordinary suppression."""
        belief: Any = next(prior.members()).belief()
        channel = _OwnCoins(belief.states, np.full((belief.steps, belief.state_count), 0.5))
        return Release(
            mechanism=self,
            prior=prior,
            secret=secret,
            channel=channel,
            utility_value=expected_releases(belief, channel),
            utility_quantity=EXPECTED_RELEASES,
        )


class _Stream:
    """A stream over the coins of a channel, with a table of its own."""

    def __init__(self, channel: Any, table: Any, rng: Any, sent: Sequence[Any] = ()) -> None:
        self.channel, self.table, self.rng, self.sent = channel, table, rng, list(sent)

    @property
    def state(self) -> dict[str, Any]:
        return {"sent": self.sent, "coins": self.rng.bit_generator.state}

    def send(self, state: Any) -> Any:
        position = self.channel.states.index(state)
        chance = self.table[len(self.sent), position]
        self.sent.append(position)
        return SUPPRESSED if self.rng.random() < chance else state


@attrs.frozen(kw_only=True)
class _Streaming(Release):
    def stream(self, rng: Any = None, state: Any = None) -> Any:
        """Begin a stream, or resume one."""
        table = self.mechanism.table_of_streams(self.channel.start)
        if state is None:
            return _Stream(self.channel, table, rng or np.random.default_rng())
        coins = np.random.default_rng()
        coins.bit_generator.state = state["coins"]
        return self.mechanism.resumed(_Stream(self.channel, table, coins, state["sent"]))


@declare
class OtherProbabilities(Mechanism):
    """Streams that suppress less than the channel claims."""

    name = "mutant_other_probabilities"
    asks = ((Markov, object),)
    yields = Suppression

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Claim to suppress half of the states."""
        belief: Any = next(prior.members()).belief()
        shape = (belief.steps, belief.state_count)
        channel = Suppression.memoryless(belief.states, np.full(shape, 0.5))
        return _Streaming(
            mechanism=self,
            prior=prior,
            secret=secret,
            channel=channel,
            utility_value=expected_releases(belief, channel),
            utility_quantity=EXPECTED_RELEASES,
        )

    def table_of_streams(self, start: Any) -> Any:
        """Return what streams use."""
        return 0.6 * start

    def resumed(self, stream: Any) -> Any:
        """Return the stream that goes on."""
        return stream


@declare
class CoinsTossedAgain(OtherProbabilities):
    """Streams that toss new coins when they are resumed, until a state is let through."""

    name = "mutant_coins_tossed_again"

    def table_of_streams(self, start: Any) -> Any:
        """Return what streams use."""
        return start

    def resumed(self, stream: Any) -> Any:
        """Return the stream with other coins."""
        stream.rng = np.random.default_rng(7)
        return stream


@declare
class CoinsForTwoStates(CoinsTossedAgain):
    """Streams whose saved state answers a step again, by the same coin, for any other state."""

    name = "mutant_coins_for_two_states"

    def resumed(self, stream: Any) -> Any:
        """Return the stream that goes on."""
        return stream


MUTANTS = (
    Mutant("sampling.honest", SeldomDrawsAgain, "far tails are tails", "tails and sources"),
    Mutant("sampling.honest", DrawsUsedTwice, "different calls must draw independently"),
    Mutant("sampling.honest", ForgetsLastRelease, "the draw must depend on the last release"),
    Mutant("sampling.honest", HalfVariance, "the noise drawn is not the noise claimed"),
    Mutant("sampling.honest", QuietInBatches, "every trace has noise of its own", "two doors"),
    Mutant(
        "sampling.honest",
        ClippedNoise,
        "noise that is called Gaussian has tails",
        "tails and sources",
    ),
    Mutant(
        "sampling.honest",
        DrawsAgain,
        "what is released has the tails of what is claimed",
        "tails and sources",
    ),
    Mutant(
        "sampling.source",
        PredictableRelease,
        "without a generator, the source is secure",
        "tails and sources",
    ),
    Mutant("sampling.honest", SumOfTwelve, "twelve uniforms are no Gaussian", "tails and sources"),
    Mutant("sampling.source", TwistedSource, "no other module is a source", "tails and sources"),
    Mutant("sampling.source", QuickSource, "a secure seed is no source", "tails and sources"),
    Mutant(
        "sampling.source",
        SixteenBits,
        "the secure source must not only seed another",
        "tails and sources",
    ),
    Mutant(
        "sampling.stream", OtherProbabilities, "a stream draws what the batch draws", "two doors"
    ),
    Mutant("sampling.stream", CoinsTossedAgain, "no decision is drawn twice", "two doors"),
    Mutant("sampling.stream", CoinsForTwoStates, "no step has two answers", "two doors"),
    Mutant("sampling.seeds", ReusedSeed, "calls without a seed must not repeat themselves"),
)
