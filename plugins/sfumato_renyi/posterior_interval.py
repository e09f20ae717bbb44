"""How uncertain the adversary is left."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.errors import Undecidable
from sfumato.inference.fisher_information import fisher_information, scalar_informations
from sfumato.inference.group_losses import is_scalar
from sfumato.inference.information import EXACT
from sfumato.inference.prior_precision import prior_precision
from sfumato.matrices.matrix import ROUNDOFF
from sfumato.parameters import declare
from sfumato.protocols import DeclaredMeasure, Quantity, Reading
from sfumato.questions import Displacements
from sfumato.questions.displacements import Group


@declare
class PosteriorInterval(DeclaredMeasure):
    """The 68 % interval, two standard deviations wide, of the adversary's posterior.

    Claim: a Bayesian who knows the process and the noise is left with this much uncertainty.

    Formula: 2 √λ_min(V_SS), V the posterior covariance: 2σ for one entry, the narrowest direction
    for several, the narrowest group of a union; but, as published, the *mean* over all times where
    every point is a secret of its own.
    It is computed as 2 / √λ_max(Σ_SS⁻¹ + M), M the gain in precision: both precisions have
    certified relative errors, and a largest eigenvalue, unlike a smallest, keeps its digits.

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
    reads = ((Gaussian, Displacements, AdditiveGaussian),)
    worst_scale = "low"  # both precisions, Σ_SS⁻¹ and M, decrease as the prior is scaled up

    @property
    def quantity(self) -> Quantity:
        """The width of the interval."""
        return Quantity("posterior interval", unit="units of the trace", worse="smaller")

    def evaluate(
        self, belief: Gaussian, question: Displacements, channel: AdditiveGaussian
    ) -> Reading:
        """Return the narrowest width of the question's groups, or the mean over every point."""
        groups = question.groups
        if all(is_scalar(group) for group in groups):
            widths, error = _scalar_intervals(belief, groups, channel)
        else:
            found = [_interval(belief, group, channel) for group in groups]
            widths, error = np.array([width for width, _ in found]), max(e for _, e in found)
        if len(groups) > 1 and _is_every_point(belief, groups):
            return _reading(float(widths.mean()), error, "mean over every point")
        return _reading(float(widths.min()), error, "posterior precision")


def _is_every_point(belief: Gaussian, groups: tuple[Group, ...]) -> bool:
    """Whether the groups are the times of the trace, each on its own."""
    return sorted(groups) == [(belief.entries_at(time),) for time in range(belief.times)]


def _reading(width: float, error: float, how: str) -> Reading:
    """Return a width whose precision is known to within `error`, or a lower bound of it."""
    if error <= EXACT:
        return Reading(value=width, relative_error=error, how=how)
    return Reading(value=width * (1 - 1e-12), bound="lower", how=how)


def _scalar_intervals(
    belief: Gaussian, groups: tuple[Group, ...], channel: AdditiveGaussian
) -> tuple[NDArray[np.float64], float]:
    """Return 2σ of one-entry groups, and the relative error of their precisions."""
    entries = np.array([group[0][0] for group in groups])
    gains, error = _gains(belief, entries, channel)
    variances = belief.covariance.diagonal()[entries]
    # V = Σ / (1 + Σ M): zero where the entry is certain or revealed. Products may overflow to an
    # infinite precision, which is a width of zero.
    with np.errstate(over="ignore"):
        precisions = 1.0 + np.where(variances > 0, variances * gains, 0.0)
        widths = 2.0 * np.sqrt(variances / precisions)
    return widths, error


def _gains(
    belief: Gaussian, entries: NDArray[np.intp], channel: AdditiveGaussian
) -> tuple[NDArray[np.float64], float]:
    """Return the gain in precision of each entry, and the largest relative error."""
    if entries.size > 1:
        informations, error = scalar_informations(belief, channel)
        return informations[entries], error
    information = fisher_information(belief, channel, entries.tolist())
    return information.matrix[0], information.relative_error


def _interval(belief: Gaussian, group: Group, channel: AdditiveGaussian) -> tuple[float, float]:
    """Return 2 √λ_min(V_SS) for one group, and the relative error of its precision.

    Where that error is not negligible, the width returned is a lower end.
    """
    entries = [entry for ball in group for entry in ball]
    information = fisher_information(belief, channel, entries)
    if information.infinite or information.support.shape[1] < len(entries):
        return 0.0, 0.0  # some direction is certain
    precision, error = prior_precision(belief, entries)
    if error >= 0.5:
        raise Undecidable(
            "float64 cannot tell the prior of these entries from a singular one: choose entries "
            "further apart, or install sfumato[certify], which may decide it."
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
