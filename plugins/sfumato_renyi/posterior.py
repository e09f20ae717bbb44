"""What the Gaussian adversary believes after seeing a release."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.compatibility import require_measure
from sfumato.errors import ParameterError, Undecidable
from sfumato.inference.gaussian.fisher_information import EXACT, Information
from sfumato.inference.gaussian.interval_classes import GroupBounds
from sfumato.inference.gaussian.posterior import posterior, prior_precision
from sfumato.inference.gaussian.worst_pair import entries_of
from sfumato.matrices.matrix import ROUNDOFF
from sfumato.parameters import declare
from sfumato.prior_classes.proofs import prove_loss
from sfumato.protocols import (
    Adversary,
    Loss,
    LossMeasure,
    PriorClass,
    Quantity,
    Reading,
    Release,
    Scenario,
    Secret,
)
from sfumato.quantities import MEAN_SQUARED_ERROR
from sfumato.questions import Displacements
from sfumato.randomness import generator_or_secure
from sfumato.views import GaussianView, view_of

Array = NDArray[np.float64]


@attrs.frozen(eq=False)
class CredibleTraces:
    """A Gaussian posterior over traces: a mean in their shape, and a covariance of the entries.

    >>> import numpy as np
    >>> from sfumato_renyi.posterior import CredibleTraces
    >>> belief = CredibleTraces(np.zeros(1), np.eye(1))
    >>> [round(float(end[0]), 2) for end in belief.credible_intervals(0.95)]
    [-1.96, 1.96]
    """

    mean: Array
    covariance: Array

    def __repr__(self) -> str:
        return f"<CredibleTraces: {self.mean.shape} values, deviations up to {self._widest:.3g}>"

    def _repr_html_(self) -> str:
        from sfumato.report.cards import result_card

        return result_card("Posterior", str(self.mean.shape), mean=self.mean, widest=self._widest)

    @property
    def _widest(self) -> float:
        return float(self.deviations.max(initial=0.0))

    @property
    def deviations(self) -> Array:
        """The standard deviation of each entry, in the shape of a trace."""
        variances = np.maximum(np.diagonal(self.covariance), 0.0)
        return np.asarray(np.sqrt(variances).reshape(self.mean.shape))

    def credible_intervals(self, probability: float = 0.95) -> tuple[Array, Array]:
        """Return lower and upper ends that hold each entry with the given probability."""
        from scipy.stats import norm

        if not 0 < probability < 1:
            raise ParameterError(f"probability must lie strictly in (0, 1); got {probability!r}.")
        half = float(norm.isf((1 - probability) / 2)) * self.deviations
        return self.mean - half, self.mean + half

    def sample(self, rng: np.random.Generator | None = None, size: int | None = None) -> Array:
        """Draw a trace that the adversary finds credible, or `size` of them."""
        values, vectors = np.linalg.eigh(self.covariance)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        count = 1 if size is None else size
        draws = generator_or_secure(rng).standard_normal((count, len(values))) @ root.T
        traces = self.mean + draws.reshape(count, *self.mean.shape)
        return np.asarray(traces[0] if size is None else traces)


@declare
class GaussianPosterior(Adversary):
    """The posterior $N(μ + ΣK⁺(z − μ), Σ − ΣK⁺Σ)$ with $K = Σ + Γ$.

    Its mean and covariance are float64 values without a certificate: they serve an attack, and a
    loss is read from `renyi` or `posterior_interval`.

    Reference: Meehan and Chaudhuri (2021), appendix 7.4.

    >>> import sfumato as sf
    >>> from sfumato.channels import AdditiveGaussian
    >>> from sfumato.matrices import Diagonal
    >>> belief = sf.priors.rbf(length_scale=1.0, times=1).belief()
    >>> channel = AdditiveGaussian(Diagonal([1.0]))
    >>> sf.adversaries.gaussian_posterior().infer(belief, channel, [1.0]).mean
    array([0.5])
    """

    name = "gaussian_posterior"
    reads = ((Gaussian, AdditiveGaussian),)
    promises = ("posterior",)

    def infer(
        self, belief: Gaussian, channel: AdditiveGaussian, observed: ArrayLike
    ) -> CredibleTraces:
        """Return the posterior of the trace."""
        self.require(belief, channel)
        return CredibleTraces(*posterior(belief, channel, observed))


@declare
class PosteriorInterval(LossMeasure):
    """The 68 % interval, two standard deviations wide, of the adversary's posterior.

    Claim: a Bayesian who knows the process and the noise is left with this much uncertainty.

    Formula: $2 √(λ_min(V_SS))$, V the posterior covariance: 2σ for one entry, the narrowest
    direction for several, the narrowest group of a union; but, as published, the *mean* over all
    times where every point is a secret of its own. It is computed as $2 / √(λ_max(Σ_SS⁻¹ + M))$, M
    the gain in precision: both precisions have certified relative errors, and a largest eigenvalue,
    unlike a smallest, keeps its digits.

    Assumptions: a Gaussian prior and additive Gaussian noise.

    Guarantee: exact; a lower bound where M is an upper one. Smaller is worse.

    Reference: Meehan and Chaudhuri (2021), section 5 and appendix 7.4, Figure 2.

    >>> import sfumato as sf
    >>> prior, secret = sf.priors.rbf(length_scale=6.0, times=50), sf.secrets.basic(24)
    >>> release = sf.mechanisms.gaussian_uniform(mse=0.02).protect(prior, secret)
    >>> round(sf.measures.posterior_interval().loss(prior, secret, release).value, 4)
    0.1237
    """

    name = "posterior_interval"
    oracle = "sfumato_renyi.brute_force"
    quantity = Quantity("posterior interval", unit="units of the trace", worse="smaller")
    promises = ("grows with the secret",)
    reads = ((Gaussian, Displacements, AdditiveGaussian),)
    worst_scale = "low"  # both precisions, Σ_SS⁻¹ and M, decrease as the prior is scaled up

    def evaluate(
        self, belief: Gaussian, question: Displacements, channel: AdditiveGaussian
    ) -> Reading:
        """Return the narrowest width of the question's groups, or the mean over every point."""
        variances = belief.covariance.diagonal()
        view = cast("GaussianView", view_of(belief, question, channel))
        found = {
            group: _width(belief, entries_of(group), variances, one)
            for group, one in zip(question.groups, view.squares.informations, strict=True)
        }
        widths, error = [width for width, _ in found.values()], max(e for _, e in found.values())
        if _is_every_point(belief, question):
            width, how = float(np.mean(widths)), "mean over every point"
        else:
            width, how = min(widths), "posterior precision"
        if error <= EXACT:
            return Reading(value=width, bound="exact", relative_error=error, how=how)
        return Reading(value=width * (1 - 1e-12), bound="lower", how=how)

    def of_informations(self, question: Displacements, bounds: Sequence[GroupBounds]) -> Array:
        """Return the least 2 √λ_min(V_SS), from the least V_SS."""
        return np.min(_least_widths(question, bounds), axis=0)  # type: ignore[no-any-return]

    def proved(self, prior: PriorClass, secret: Secret, *given: Any, **options: Any) -> Any:
        """Return the least width over a class with intervals; of every point the least mean."""
        belief = next(prior.members()).belief()
        mean = _is_every_point(belief, secret.question(belief))
        return prove_loss(_MeanInterval() if mean else self, prior, secret, *given, **options)


class _MeanInterval(PosteriorInterval):
    """The mean of the intervals of every point, as a class with intervals is proved."""

    def of_informations(self, question: Displacements, bounds: Sequence[GroupBounds]) -> Array:
        """Return a mean that no member's falls below: that of the least widths, each by itself."""
        return np.mean(_least_widths(question, bounds), axis=0)  # type: ignore[no-any-return]


def _is_every_point(belief: Gaussian, question: Displacements) -> bool:
    """Whether the groups are the times of a trace, each on its own."""
    points = [(belief.entries_at(time),) for time in range(belief.times)]
    return len(points) > 1 and sorted(set(question.groups)) == points


def _least_widths(question: Displacements, bounds: Sequence[GroupBounds]) -> list[Array]:
    """Return 2 √λ_min of the least V_SS of each group and cell, rounded down."""
    known = dict(zip(question.groups, bounds, strict=True)).values()  # groups told twice are one
    least = [np.maximum(np.linalg.eigvalsh(bound.left)[:, 0], 0.0) for bound in known]
    down = 1 - 64 * len(question.entries) ** 2 * ROUNDOFF
    return [2.0 * np.sqrt(one * down) for one in least]


def _width(
    belief: Gaussian, entries: list[int], variances: Array, information: Information
) -> tuple[float, float]:
    """Return 2 √λ_min(V_SS) for one group, and the relative error of its precision.

    Where that error is not negligible, the width returned is a lower end.
    """
    if information.infinite or information.support.shape[1] < len(entries):
        return 0.0, 0.0  # some direction is certain
    if len(entries) == 1:  # σ² = Σ / (1 + Σ M)
        variance, gain = float(variances[entries[0]]), float(information.matrix[0, 0])
        width = 2.0 * math.sqrt(variance / (1.0 + variance * gain)) if variance > 0.0 else 0.0
        return width, information.relative_error
    precision, error = prior_precision(belief, entries)
    if error >= 0.5:
        raise Undecidable(
            "float64 cannot tell the prior of these entries from a singular one, nor can exact "
            "arithmetic: choose entries further apart."
        )
    error = max(error, information.relative_error)
    own, gained = (float(np.linalg.norm(matrix, 2)) for matrix in (precision, information.matrix))
    total = float(np.linalg.eigvalsh(precision + information.matrix)[-1])
    # λ_max errs by at most the error of either norm, and each norm is at most λ_max itself.
    absolute = error * (own + gained * len(entries)) + 8 * len(entries) * ROUNDOFF * total
    relative = absolute / total
    if relative <= EXACT:
        return 2.0 / math.sqrt(total), relative
    return 2.0 / math.sqrt(total * (1 + relative)), relative


@declare
class MeanSquaredError(LossMeasure):
    """The average noise variance per real-valued entry.

    Formula: $tr Γ / n$.

    Assumptions: additive noise of mean zero.

    Guarantee: exact.

    Reference: Meehan and Chaudhuri (2021), the budget $o_t$ of their programs.

    >>> import sfumato as sf
    >>> prior, secret = sf.priors.rbf(length_scale=6.0, times=50), sf.secrets.basic(24)
    >>> release = sf.mechanisms.gaussian_concentrated(mse=0.1).protect(prior, secret)
    >>> print(sf.measures.mean_squared_error().loss(prior, secret, release))
    mean squared error [squared units of the trace] = 0.1
    """

    name = "mean_squared_error"
    oracle = "sfumato_renyi.brute_force"
    quantity = MEAN_SQUARED_ERROR
    promises = ("utility",)
    reads = ((Gaussian, object, AdditiveGaussian),)

    def evaluate(self, belief: Gaussian, question: Any, channel: AdditiveGaussian) -> Reading:
        """Return the trace of the noise over the number of entries."""
        del question
        value = channel.noise.trace() / belief.entries
        return Reading(value=value, bound="exact", how="trace of the noise")

    def loss(
        self, prior: PriorClass, secret: Secret, release: Release, *, tolerance: float = 1e-3
    ) -> Loss:
        """Return the error, which is the same for every member: no class is searched."""
        del tolerance
        require_measure(self, prior, secret, release)
        return attrs.evolve(
            super().loss(next(iter(prior.members())), secret, release),
            scenario=Scenario(prior, secret, release.channel),
        )
