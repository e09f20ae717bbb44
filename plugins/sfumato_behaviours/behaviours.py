"""A mixture of Gaussian traces as a prior, its component as a secret, and noise for both."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, ClassVar

import attrs
import numpy as np

from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.errors import ParameterError
from sfumato.matrices import Diagonal
from sfumato.parameters import (
    LABELS,
    LIST_OF,
    MATRIX,
    OPTIONAL,
    PLUGIN,
    POSITIVE,
    SIMPLEX,
    declare,
    parameter,
)
from sfumato.protocols import LossMeasure, Mechanism, Prior, PriorClass, Reading, Release, Secret
from sfumato.quantities import MEAN_SQUARED_ERROR
from sfumato.randomness import generator_or_secure
from sfumato.values import ByContent, FloatArray, brief_repr
from sfumato.views import OwnQuestion
from sfumato_behaviours.view import BehaviourView


@attrs.frozen(eq=False)
class GaussianMixture(ByContent):
    """One of several Gaussian traces, each with its probability."""

    __repr__ = brief_repr

    words: ClassVar[str] = "mixtures of Gaussian traces"

    names: tuple[Hashable, ...]
    weights: FloatArray
    components: tuple[Gaussian, ...]

    @property
    def trace_form(self) -> tuple[int, ...]:
        """What traces look like here: their shape."""
        return self.components[0].shape

    @property
    def entries(self) -> int:
        """Number n of real-valued entries."""
        return self.components[0].entries

    def sample(self, rng: np.random.Generator | None = None, size: int | None = None) -> FloatArray:
        """Draw a behaviour and a trace of it, or `size` traces along a leading axis."""
        source = generator_or_secure(rng)
        if size is not None:
            return np.stack([self.sample(source) for _ in range(size)])
        chosen = int(np.searchsorted(np.cumsum(self.weights), source.random()))
        return self.components[min(chosen, len(self.weights) - 1)].sample(source)


@declare
class Behaviours(Prior):
    """A trace that follows one of several Gaussian priors: "at home", "commuting".

    They may differ in their covariances, their kernels and length scales, and in their means.

    >>> import sfumato as sf
    >>> sf.priors.behaviours(
    ...     [sf.priors.rbf(length_scale=9.0, times=24), sf.priors.rbf(length_scale=2.0, times=24)],
    ...     names=["at home", "commuting"],
    ... ).belief().weights
    array([0.5, 0.5])
    """

    name = "behaviours"
    yields = GaussianMixture

    components: tuple[Prior, ...] = parameter(
        LIST_OF(PLUGIN("prior"), "K"), doc="Gaussian priors of one trace, one for each behaviour"
    )
    weights: FloatArray | None = parameter(
        OPTIONAL(SIMPLEX("K")), default=None, doc="how likely each is; alike by default"
    )
    means: FloatArray | None = parameter(
        OPTIONAL(MATRIX("K", "entries")), default=None, doc="mean trace of each; zero by default"
    )
    names: tuple[Hashable, ...] | None = parameter(
        OPTIONAL(LABELS("K")), default=None, doc="what they are called; 0, 1, ... by default"
    )

    def check(self) -> None:
        """Require single Gaussian priors of one trace, and likely behaviours."""
        for component in self.components:
            if not (isinstance(component, Prior) and issubclass(component.yields, Gaussian)):
                raise self.reject("components", "single priors of Gaussian traces", component)
        if len({component.belief().shape for component in self.components}) > 1:
            raise self.reject("components", "about traces of one shape", self.components)
        entries = self.components[0].belief().entries
        if self.means is not None and self.means.shape[1] != entries:
            raise self.reject("means", f"of {entries} entries each", self.means)
        if self.weights is not None and not (self.weights > 0.0).all():
            raise self.reject("weights", "positive, each", self.weights)

    def belief(self) -> GaussianMixture:
        """Return the mixture."""
        count = len(self.components)
        beliefs = [component.belief() for component in self.components]
        if self.means is not None:
            each = zip(beliefs, self.means, strict=True)
            beliefs = [attrs.evolve(belief, mean=mean) for belief, mean in each]
        weights = np.full(count, 1.0 / count) if self.weights is None else self.weights
        return GaussianMixture(self.names or tuple(range(count)), weights, tuple(beliefs))

    def trace_signature(self) -> Hashable:
        """Return the shape of a trace and the names of the behaviours."""
        return (self.components[0].belief().shape, self.names or len(self.components))


def draw_behaviours(sizes: Mapping[str, int]) -> Any:
    """Draw two or three behaviours, with means or without."""
    from hypothesis import strategies as st

    import sfumato as sf

    times = st.just(sizes["n"]) if "n" in sizes else st.integers(1, 4)
    scales = st.tuples(st.floats(0.3, 4.0), st.floats(0.25, 4.0))

    def behaviours(length: int, drawn: list[tuple[float, float]], shifts: list[float]) -> Any:
        components = tuple(
            sf.priors.rbf(length_scale=scale, variance=variance, times=length)
            for scale, variance in drawn
        )
        means = np.outer(shifts[: len(drawn)], np.ones(length)) if shifts else None
        return Behaviours(components, means=means)

    shifts: Any = st.just([]) | st.lists(st.floats(-1.0, 1.0), min_size=3, max_size=3)
    return st.builds(behaviours, times, st.lists(scales, min_size=2, max_size=3), shifts)


@attrs.frozen(eq=False)
class BehaviourQuestion(ByContent, OwnQuestion):
    """Which of the components a trace follows: any two, any one, a guess of it."""

    words: ClassVar[str] = "behaviours"

    names: tuple[Hashable, ...]

    def view(self, belief: GaussianMixture, channel: AdditiveGaussian) -> BehaviourView:
        """Return the laws of the release under every behaviour."""
        return BehaviourView.of(belief, channel)

    def brute_force(
        self, measure: LossMeasure, belief: GaussianMixture, channel: AdditiveGaussian
    ) -> Reading | None:
        """Return the quantity from the densities, or in many digits."""
        from sfumato_behaviours import brute_force

        return brute_force.of_quantity(measure.quantity, belief, channel)


@declare
class WhichBehaviour(Secret):
    """Which behaviour it was: a secret like any other, with pairs, events and a guess.

    Its pairs are any two behaviours, in both orders; its events are the behaviours; its guess is
    the behaviour.

    Reference: Pierquin et al. (2024), Rényi Pufferfish, for secrets with Gaussian laws of their
    own.

    >>> import sfumato as sf
    >>> prior = sf.priors.behaviours(
    ...     [sf.priors.rbf(length_scale=9.0, times=24), sf.priors.rbf(length_scale=2.0, times=24)]
    ... )
    >>> secret = sf.secrets.which_behaviour()
    >>> release = sf.mechanisms.behaviour_noise(mse=1.0).protect(prior, secret)
    >>> print(sf.measures.advantage().loss(prior, secret, release))
    advantage [probability] = 0.641524
    """

    name = "which_behaviour"
    yields = {GaussianMixture: BehaviourQuestion}  # noqa: RUF012 - never changed

    def question(self, belief: GaussianMixture) -> BehaviourQuestion:
        """Return the question."""
        return BehaviourQuestion(belief.names)


@declare
class BehaviourNoise(Mechanism):
    """Independent noise of variance `mse` on every entry, whatever the behaviour.

    Noise that was designed for one behaviour is asked about all of them by `designed_for`.

    >>> import sfumato as sf
    >>> days = sf.priors.behaviours([sf.priors.rbf(length_scale=x, times=24) for x in (9.0, 2.0)])
    >>> secret = sf.secrets.which_behaviour()
    >>> release = sf.mechanisms.behaviour_noise(mse=0.5).protect(days, secret)
    >>> print(sf.measures.advantage().loss(days, secret, release))
    advantage [probability] = 0.793827
    """

    name = "behaviour_noise"
    asks = ((GaussianMixture, BehaviourQuestion),)
    yields = AdditiveGaussian
    strength = ("mse", "more")

    mse: float = parameter(POSITIVE, doc="average noise variance per entry")

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Spread the noise evenly."""
        belief: GaussianMixture = next(prior.members()).belief()
        first = belief.components[0]
        if not np.isfinite(self.mse * belief.entries):
            raise ParameterError(f"behaviour_noise.mse must be smaller; got {self.mse}.")
        noise = Diagonal.constant(self.mse, first.entries)
        channel = AdditiveGaussian(noise, dimensions=first.dimensions)
        return Release(self, prior, secret, channel, self.mse, MEAN_SQUARED_ERROR)
