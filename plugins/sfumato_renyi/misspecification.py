"""What a release designed for one class of priors gives away under another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.compatibility import require_measure
from sfumato.errors import Incompatible, OutsideHypotheses, ParameterError, Undecidable
from sfumato.inference import exact
from sfumato.inference.gaussian.worst_pair import positions, worst_pair, worst_squares
from sfumato.matrices.matrix import ROUNDOFF, Array, as_indices
from sfumato.parameters import ORDER, POSITIVE, declare, parameter
from sfumato.prior_classes.suprema import over_class
from sfumato.protocols import (
    Loss,
    LossMeasure,
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
from sfumato_renyi.renyi import Renyi


@attrs.frozen(eq=False)
class ConditionalDivergence:
    """D(x) = constant + (λ/2) xᵀ G x, for secret values x from where both means agree.

    Upper ends, right to a relative error of about 1e-10; the constant is ∞ where every D(x) is.
    """

    constant: float
    quadratic: Array

    @property
    def infinite(self) -> bool:
        """Whether no x has a finite divergence."""
        return math.isinf(self.constant)


def conditional_divergence(
    first: Gaussian, second: Gaussian, entries: Sequence[int], order: float
) -> ConditionalDivergence:
    """Return the Rényi divergence D_λ(P‖Q) of X_U given X_S = x, as a function of x.

    P and Q have conditional means A_P x and A_Q x (up to constants) and covariances C_P and C_Q.
    With C = λ C_Q + (1 − λ) C_P,

        D_λ = (λ/2) xᵀ(A_P − A_Q)ᵀ C⁻¹ (A_P − A_Q) x
              − (log det C − (1 − λ) log det C_P − λ log det C_Q) / (2 (λ − 1)),

    and +∞ unless C is positive definite, which balls decide: float64 cannot.
    """
    if not (math.isfinite(order) and order > 1):
        raise ParameterError(f"order must be finite and above 1; got {order}.")
    if first.shape != second.shape:
        raise Incompatible(
            f"two beliefs must speak of one trace; got shapes {first.shape} and {second.shape}."
        )
    chosen = as_indices(entries, first.entries).tolist()
    if len(chosen) == first.entries or first.covariance == second.covariance:
        return ConditionalDivergence(0.0, np.zeros((len(chosen), len(chosen))))
    if not (exact.balls_apply(first) and exact.balls_apply(second)):
        raise Undecidable(
            "whether two Gaussian beliefs have a finite divergence takes ball arithmetic: use "
            f"priors with an exact form on at most {exact.MOST_IN_BALLS} entries."
        )
    found = exact.certify(lambda numbers: _in_balls(numbers, first, second, chosen, order))
    if found is None:
        raise Undecidable(
            f"ball arithmetic of {exact.LAST_BITS} bits cannot tell whether the divergence of the "
            "two beliefs is finite: one of them may be singular."
        )
    return found


def _in_balls(
    numbers: exact.Balls, first: Gaussian, second: Gaussian, chosen: list[int], order: float
) -> ConditionalDivergence | None:
    """Return upper ends in float64; None where the radii are too large or nothing is decided."""
    (weights, own), (other_weights, other) = (
        _conditioned(numbers, belief, chosen) for belief in (first, second)
    )
    weight = numbers.number(order)  # exactly, from the float64 order
    mixed = other * weight + own * (1 - weight)
    logs = [exact.log_determinant(matrix) for matrix in (mixed, own, other)]
    if logs[1] is None or logs[2] is None:
        return None
    flat = np.zeros((len(chosen), len(chosen)))
    if logs[0] is None:
        undecided = exact.is_positive_definite(mixed) is None
        return None if undecided else ConditionalDivergence(math.inf, flat)
    balance = logs[1] * (1 - weight) + logs[2] * weight - logs[0]
    constant = _upper_end(balance / (2 * (weight - 1)))
    quadratic: Array | None = flat
    if chosen:
        apart = weights - other_weights
        quadratic = _upper_form(apart.transpose() * exact.solve(mixed, apart))
    if constant is None or quadratic is None:
        return None
    return ConditionalDivergence(constant, quadratic)


def _upper_end(ball: Any) -> float | None:
    """Return an upper end of a divergence, which is not negative; None if the ball is wide."""
    middle, radius = float(ball.mid()), float(ball.rad())
    if not (math.isfinite(middle) and radius <= exact.TARGET * max(abs(middle), 1e-6)):
        return None
    return max(0.0, middle + radius + 4 * ROUNDOFF * abs(middle))


def _upper_form(balls: Any) -> Array | None:
    """Return an upper end of a quadratic form, in Loewner order; None if a ball is wide."""
    found = exact.midpoints(balls)
    if found is None:
        return None
    middle, radii = found
    size, largest = len(middle), float(np.max(np.abs(middle)))
    slack = size * (float(np.max(radii)) + 4 * ROUNDOFF * largest)
    if not slack <= max(exact.TARGET * largest, 1e-300):
        return None
    return np.asarray((middle + middle.T) / 2 + slack * np.eye(size))


def _conditioned(numbers: exact.Balls, belief: Gaussian, chosen: list[int]) -> tuple[Any, Any]:
    """Return A and C of X_U given X_S; A is None where nothing is given."""
    covariance = belief.formula(numbers)
    if not chosen:
        return None, covariance
    others = sorted(set(range(belief.entries)) - set(chosen))
    weights, left = exact.condition(numbers, covariance, chosen)
    given = range(len(chosen))
    return numbers.block(weights, others, given), numbers.block(left, others, others)


REGION = attrs.evolve(POSITIVE, infinite=True)
"""Positive, infinity included."""


@declare
class Misspecification(LossMeasure):
    """The published bound on the loss under a prior that the release was not designed for.

    Claim: if the release was designed for the class Θ but the trace follows Q, then the Rényi
    divergence of order λ between releases of two secrets within the region is at most

        $ε'(λ) = (λ − ½)/(λ − 1) Δ(2λ) + Δ(4λ − 3) + (2λ − 3/2)/(2λ − 2) ε(4λ − 2)$.

    Formula: ε(·) is the loss under a member P of Θ, and Δ(·) the larger of the divergences P‖Q and
    Q‖P of the other entries given the secret ones, at the worst secret value no further than
    `region` (at each time) from where the conditional means agree. Every member of Θ gives a valid
    bound; the smallest is reported.

    Assumptions: Gaussian priors and additive Gaussian noise; `region` is at least half the radius
    of the secret, so that it holds a pair of every displacement, on which alone the loss depends;
    Θ is the class that the release was designed for, Q any member of the prior given to `loss`.

    Guarantee: an upper bound, often infinite: conditional means drift apart without limit as the
    secret value grows, and two Gaussians of different covariances have a finite divergence only if
    $λ C_Q + (1 − λ) C_P$ is positive definite. The exact loss under Q, which `renyi` gives, stands
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
    promises = ("unit free", "nothing from silence", "grows with the secret")
    reads = ((Gaussian, Displacements, AdditiveGaussian),)
    waivers = {  # noqa: RUF012 - a class attribute, never changed
        "oracle.refusal": "the theorem is about pairs within its region, and refused beyond"
    }
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

    def loss(
        self, prior: PriorClass, secret: Secret, release: Release, *, tolerance: float = 1e-3
    ) -> Loss:
        """Return the worst bound over the members of `prior`, for the release's own class."""
        del tolerance  # intervals are searched
        require_measure(self, prior, secret, release)
        if not issubclass(release.prior.yields, Gaussian):
            raise Incompatible(
                f"misspecification needs releases designed for Gaussian beliefs; "
                f"'{release.prior.name}' yields {release.prior.yields.__name__}."
            )
        believed = [member.belief() for member in release.prior.members()]

        def reading(member: Prior) -> Reading:
            at = release.situation(member, secret)
            return self._bound(believed, at.belief, at.question, at.channel)

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
        # The loss under Q depends on the displacement Δ alone, so ±Δ/2, both within r/2, stand for
        # all pairs; the theorem says nothing of pairs that do not lie in its region.
        needed = max(question.radii) / 2
        if self.region < needed:
            raise OutsideHypotheses(
                f"misspecification.region must be at least half the radius of the secret, "
                f"{needed:.6g}, to hold the pairs that the loss is about; got {self.region:.6g}."
            )
        loss = Renyi(self.order).evaluate(true, question, channel)
        pairs = zip(question.groups, question.radii, strict=True)
        alone = [Displacements((group,), radii=radius) for group, radius in pairs]
        value, undecided = math.inf, None
        for member in believed:
            try:
                bound = max(self._bound_of(member, true, each, channel) for each in alone)
            except Undecidable as refusal:
                undecided = refusal
            else:
                value = min(value, bound)
        if undecided is not None and math.isinf(value):
            raise undecided
        return Reading(
            value=value, bound="upper", witness={"exact loss": loss.value}, how="Theorem 3.3"
        )

    def _bound_of(
        self, believed: Gaussian, true: Gaussian, alone: Displacements, channel: AdditiveGaussian
    ) -> float:
        """Return the theorem's bound for a question of one group."""
        order, group = self.order, alone.groups[0]
        near = self._distance(believed, true, group, 2 * order)
        if math.isinf(near):
            return math.inf
        square = float(worst_squares(believed, alone, channel).ceilings[0])
        terms = [
            (order - 0.5) / (order - 1) * near,
            self._distance(believed, true, group, 4 * order - 3),
            (2 * order - 1.5) / (2 * order - 2) * (2 * order - 1) * square,
        ]
        return sum(terms) * (1 + 1e-14)

    def _distance(self, one: Gaussian, other: Gaussian, group: Group, order: float) -> float:
        """Return Δ of that order: the larger direction, at the worst value in the region."""
        entries, worst = [entry for ball in group for entry in ball], 0.0
        for first, second in ((one, other), (other, one)):
            found = conditional_divergence(first, second, entries, order)
            drift = found.quadratic.any()  # else the conditional means agree everywhere
            if found.infinite or (drift and math.isinf(self.region)):
                return math.inf
            pair = worst_pair(found.quadratic, positions(group), self.region) if drift else None
            worst = max(worst, found.constant + (order / 2 * pair.value if pair else 0.0))
        return worst
