"""What the release tells about the trace, in nats."""

from __future__ import annotations

from typing import Any

from sfumato.beliefs import Gaussian, Markov
from sfumato.channels import AdditiveGaussian, Emission
from sfumato.comparison.populations import OfPopulation
from sfumato.parameters import CHOICE, declare, parameter
from sfumato.protocols import LossMeasure, Quantity, Reading
from sfumato.quantities import MUTUAL_INFORMATION
from sfumato_fano.information import (
    best_information,
    gaussian_mutual_information,
    paper_information,
)


@declare
class MutualInformation(OfPopulation, LossMeasure):
    """I(X; Y), the expected gain of log-probability of the true trace from the release.

    For raw counts and for suppression, exactly in polynomial time: Pr[y] is a product over the
    segments between sightings, so H(Y) is a sum over segments. For other finite channels, exactly
    by listing the outputs while they are few. For noisy counts, the smaller of the value without
    noise and equation (4) of the paper. With ``method="paper"`` the paper's bounds:
    Σ_t H(Y_t | Y_{t−1}) for raw counts, equation (4) for noisy ones.

    For a Gaussian trace with additive noise, ½ log(det K / det Γ) with K = Σ + Γ; the method makes
    no difference there.

    Assumptions: the adversary knows the belief and the channel.
    Guarantee: exact or an upper bound, as `bound` says; rounding errs upwards, an exact value by
    at most its `relative_error`.
    Reference: Koga, Meehan and Chaudhuri (2024), section 3.3.1.

    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain.simulated(states=20, tau=0.1, steps=10)
    >>> secret = sf.secrets.trajectory(mistakes=2)
    >>> sensors = sf.mechanisms.sensor_counts([37 * t % 20 for t in range(10)])
    >>> release = sensors.protect(chain, secret)
    >>> loss = sf.measures.mutual_information().loss(chain, secret, release)
    >>> round(loss.value, 6), loss.bound
    (1.904503, 'exact')
    >>> paper = sf.measures.mutual_information(method="paper").loss(chain, secret, release)
    >>> round(paper.value, 6), paper.bound
    (1.932642, 'upper')
    """

    name = "mutual_information"
    reads = ((Markov, object, Emission), (Gaussian, object, AdditiveGaussian))
    default_for = "finite classes"  # shaped noise takes ball arithmetic for every belief

    method: str = parameter(
        CHOICE("best", "paper"), default="best", doc="the best known, or the paper's bounds"
    )

    @property
    def quantity(self) -> Quantity:
        """The mutual information."""
        return MUTUAL_INFORMATION

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Return the mutual information or an upper bound on it."""
        del question
        if isinstance(belief, Gaussian):
            return gaussian_mutual_information(belief, channel)
        find = paper_information if self.method == "paper" else best_information
        known = find(belief, channel)
        bound = "exact" if known.exact else "upper"
        return Reading(
            value=known.value,
            bound=bound,  # type: ignore[arg-type]  # one of the two
            relative_error=known.relative_error,
            how=known.how,
        )

    def brute_force(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Return it from the table of every trace and output, or from exact determinants."""
        from sfumato_fano import brute_force

        del question
        return brute_force.mutual_information(belief, channel)
