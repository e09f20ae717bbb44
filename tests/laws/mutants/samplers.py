"""Channels that draw something else than they claim."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from mutants.mutant import Mutant
from sfumato.beliefs import Gaussian, Markov
from sfumato.channels import AdditiveGaussian, Suppression
from sfumato.inference.markov.segments import expected_releases
from sfumato.matrices import Diagonal
from sfumato.parameters import POSITIVE, declare, parameter
from sfumato.protocols import Mechanism, PriorClass, Release, Secret
from sfumato.quantities import EXPECTED_RELEASES, MEAN_SQUARED_ERROR
from sfumato.questions import Displacements

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


MUTANTS = (
    Mutant("sampling.honest", DrawsUsedTwice, "different calls must draw independently"),
    Mutant("sampling.honest", ForgetsLastRelease, "the draw must depend on the last release"),
    Mutant("sampling.honest", HalfVariance, "the noise drawn is not the noise claimed"),
    Mutant("sampling.honest", QuietInBatches, "every trace has noise of its own"),
    Mutant("sampling.seeds", ReusedSeed, "calls without a seed must not repeat themselves"),
)
