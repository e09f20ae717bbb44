"""How uncertain the adversary is left."""

from __future__ import annotations

import numpy as np

from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.inference.fisher_information import fisher_information, scalar_informations
from sfumato.inference.information import EXACT
from sfumato.parameters import declare
from sfumato.protocols import DeclaredMeasure, Quantity, Reading
from sfumato.questions import Displacements
from sfumato.questions.displacements import Group


@declare
class PosteriorInterval(DeclaredMeasure):
    """The 68 % interval, two standard deviations wide, of the adversary's posterior.

    Claim: a Bayesian who knows the process and the noise is left with this much uncertainty.

    Formula: 2 √λ_min(V_SS), V the posterior covariance: 2σ for one entry, the narrowest direction
    for several; the mean over its groups for a question of many.
    It is computed as V_SS = (Σ_SS⁻¹ + M)⁻¹ from the gain in precision M, whose error is certified.

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

    @property
    def quantity(self) -> Quantity:
        """The width of the interval."""
        return Quantity("posterior interval", unit="units of the trace", worse="smaller")

    def evaluate(
        self, belief: Gaussian, question: Displacements, channel: AdditiveGaussian
    ) -> Reading:
        """Return the mean width over the question's groups."""
        groups = question.groups
        if len(groups) > 1 and all(len(group) == len(group[0]) == 1 for group in groups):
            return _scalar_intervals(belief, groups, channel)
        found = [_interval(belief, group, channel) for group in groups]
        error = max(error for _, error in found)
        return _reading(float(np.mean([width for width, _ in found])), error, "groups")


def _reading(width: float, error: float, how: str) -> Reading:
    if error <= EXACT:
        return Reading(value=width, relative_error=error, how=how)
    return Reading(value=width, bound="lower", how=how)


def _scalar_intervals(
    belief: Gaussian, groups: tuple[Group, ...], channel: AdditiveGaussian
) -> Reading:
    """Return the mean of 2σ over one-entry groups, from one factorisation."""
    entries = np.array([group[0][0] for group in groups])
    informations, error = scalar_informations(belief, channel)
    variances = belief.covariance.diagonal()[entries]
    gains = informations[entries]
    # V = Σ / (1 + Σ M): zero where the entry is certain or revealed.
    widths = 2.0 * np.sqrt(variances / (1.0 + variances * gains))
    return _reading(float(widths.mean()), error, "one factorisation for all entries")


def _interval(belief: Gaussian, group: Group, channel: AdditiveGaussian) -> tuple[float, float]:
    """Return 2 √λ_min(V_SS) for one group, and the relative error of the precision."""
    entries = [entry for ball in group for entry in ball]
    information = fisher_information(belief, channel, entries)
    prior = belief.covariance.block(entries, entries)
    if information.infinite or information.support.shape[1] < len(entries):
        return 0.0, 0.0  # some direction is certain
    # V = R (I + R M R)⁻¹ R with R = Σ_SS^{1/2}: no inverse of the prior.
    values, vectors = np.linalg.eigh(prior)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    inner = np.eye(len(entries)) + root @ information.matrix @ root
    posterior = root @ np.linalg.solve(inner, root)
    smallest = float(np.linalg.eigvalsh((posterior + posterior.T) / 2)[0])
    return 2.0 * float(np.sqrt(max(smallest, 0.0))), information.relative_error
