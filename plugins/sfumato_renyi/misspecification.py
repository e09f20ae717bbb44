"""What a release designed for one class of priors gives away under another."""

from __future__ import annotations

import math

import attrs

from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.compatibility import require_measure, require_one_trace
from sfumato.errors import Incompatible, OutsideHypotheses, Undecidable
from sfumato.inference.conditional_divergence import conditional_divergence
from sfumato.inference.worst_pair import worst_pair
from sfumato.parameters import ORDER, POSITIVE, declare, parameter
from sfumato.protocols import (
    DeclaredMeasure,
    Loss,
    Prior,
    PriorClass,
    Quantity,
    Reading,
    Release,
    Scenario,
    Secret,
)
from sfumato.quantities import renyi_divergence
from sfumato.questions import Displacements
from sfumato.questions.displacements import Group
from sfumato.worst_case import over_class
from sfumato_renyi.worst_square import group_square, worst_square

REGION = attrs.evolve(POSITIVE, infinite=True)
"""Positive, infinity included."""


@declare
class Misspecification(DeclaredMeasure):
    """The published bound on the loss under a prior that the release was not designed for.

    Claim: if the release was designed for the class Θ but the trace follows Q, then the Rényi
    divergence of order λ between releases of two secrets within the region is at most

        ε'(λ) = (λ − ½)/(λ − 1) Δ(2λ) + Δ(4λ − 3) + (2λ − 3/2)/(2λ − 2) ε(4λ − 2).

    Formula: ε(·) is the loss under a member P of Θ, and Δ(·) the larger of the divergences P‖Q and
    Q‖P of the other entries given the secret ones, at the worst secret value no further than
    `region` (at each time) from where the conditional means agree. Every member of Θ gives a valid
    bound; the smallest is reported.

    Assumptions: Gaussian priors and additive Gaussian noise; `region` is at least half the radius
    of the secret, so that it holds a pair of every displacement, on which alone the loss depends;
    Θ is the class that the release was designed for, Q any member of the prior given to `loss`.

    Guarantee: an upper bound, often infinite: conditional means drift apart without limit as the
    secret value grows, and two Gaussians of different covariances have a finite divergence only
    if λ C_Q + (1 − λ) C_P is positive definite. The exact loss under Q, which `renyi` gives, stands
    in the witness beside it.

    Reference: Meehan and Chaudhuri (2021), Theorem 3.3.

    >>> import sfumato as sf
    >>> believed, true = (sf.priors.rbf(length_scale=l, times=5) for l in (1.0, 1.01))
    >>> secret = sf.secrets.basic(2)
    >>> release = sf.mechanisms.gaussian_uniform(mse=1.0).protect(believed, secret)
    >>> loss = sf.measures.misspecification(order=2.0, region=3.0).loss(true, secret, release)
    >>> loss.value > loss.witness["exact loss"] > 0
    True
    >>> sf.measures.misspecification(order=2.0).loss(true, secret, release).value
    inf
    """

    name = "misspecification"
    reads = ((Gaussian, Displacements, AdditiveGaussian),)
    default_for = "one prior"  # every member is compared with every other in ball arithmetic

    order: float = parameter(ORDER, default=2.0, doc="the Rényi order λ")
    region: float = parameter(
        REGION, default=math.inf, doc="largest distance of a secret value from the common mean"
    )

    @property
    def quantity(self) -> Quantity:
        """The Rényi divergence of that order."""
        return renyi_divergence(self.order)

    def evaluate(
        self, belief: Gaussian, question: Displacements, channel: AdditiveGaussian
    ) -> Reading:
        """Return the bound for a release that was designed for the belief itself."""
        return self._bound([belief], belief, question, channel)

    def loss(self, prior: PriorClass, secret: Secret, release: Release) -> Loss:
        """Return the worst bound over the members of `prior`, for the release's own class."""
        require_measure(self, prior, secret, release)
        if not issubclass(release.prior.yields, Gaussian):
            raise Incompatible(
                f"misspecification reads releases designed for Gaussian beliefs; "
                f"'{release.prior.name}' yields {release.prior.yields.__name__}."
            )
        believed = [member.belief() for member in release.prior.members()]

        def reading(member: Prior) -> Reading:
            true = member.belief()
            require_one_trace(true, release.channel)
            return self._bound(believed, true, secret.question(true), release.channel)

        found, worst = over_class(prior, reading, self.quantity)
        return Loss(
            **attrs.asdict(found, recurse=False),
            quantity=self.quantity,
            scenario=Scenario(prior, secret, release.channel),
            worst=worst,
        )

    def _bound(
        self,
        believed: list[Gaussian],
        true: Gaussian,
        question: Displacements,
        channel: AdditiveGaussian,
    ) -> Reading:
        """Return the smallest bound that a member of the design's class gives.

        A member at the very edge of a finite divergence, which nothing can decide, gives none; that
        matters only if no other member gives one.
        """
        self._holds_the_pairs(question)
        exact = worst_square(true, question, channel).value * self.order / 2
        value, undecided = math.inf, None
        for member in believed:
            try:
                bound = max(
                    self._group_bound(member, true, group, radius, channel)
                    for group, radius in zip(question.groups, question.radii, strict=True)
                )
            except Undecidable as refusal:
                undecided = refusal
            else:
                value = min(value, bound)
        if undecided is not None and math.isinf(value):
            raise undecided
        return Reading(value=value, bound="upper", witness={"exact loss": exact}, how="Theorem 3.3")

    def _holds_the_pairs(self, question: Displacements) -> None:
        """Refuse a region that is too small for two secret values at the radius' distance.

        The loss under Q depends on the displacement Δ alone, so ±Δ/2, both within r/2, stand for
        all pairs; the theorem says nothing of pairs that do not lie in its region.
        """
        needed = max(question.radii) / 2
        if self.region < needed:
            raise OutsideHypotheses(
                f"misspecification.region must be at least half the radius of the secret, "
                f"{needed:.6g}, to hold the pairs that the loss is about; got {self.region:.6g}."
            )

    def _group_bound(
        self,
        believed: Gaussian,
        true: Gaussian,
        group: Group,
        radius: float,
        channel: AdditiveGaussian,
    ) -> float:
        order = self.order
        near = self._distance(believed, true, group, 2 * order)
        if math.isinf(near):
            return math.inf
        square = group_square(believed, group, radius, channel)
        terms = [
            (order - 0.5) / (order - 1) * near,
            self._distance(believed, true, group, 4 * order - 3),
            (2 * order - 1.5)
            / (2 * order - 2)
            * ((2 * order - 1) * square.value * (1 + square.relative_error)),
        ]
        return sum(terms) * (1 + 1e-14)

    def _distance(self, one: Gaussian, other: Gaussian, group: Group, order: float) -> float:
        """Return Δ of that order: the larger direction, at the worst value in the region."""
        forth = self._directed(one, other, group, order)
        return forth if math.isinf(forth) else max(forth, self._directed(other, one, group, order))

    def _directed(self, first: Gaussian, second: Gaussian, group: Group, order: float) -> float:
        entries = [entry for ball in group for entry in ball]
        found = conditional_divergence(first, second, entries, order)
        if found.infinite:
            return math.inf
        if not found.quadratic.any():  # the conditional means agree everywhere
            return found.constant
        if math.isinf(self.region):
            return math.inf
        positions = iter(range(len(entries)))
        balls = tuple(tuple(next(positions) for _ in ball) for ball in group)
        return found.constant + order / 2 * worst_pair(found.quadratic, balls, self.region).value
