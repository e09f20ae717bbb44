"""What one belief lets an adversary learn about one group of secret entries."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.errors import OutsideHypotheses, Undecidable
from sfumato.inference.gaussian.fisher_information import regress, secret_entries
from sfumato.inference.gaussian.worst_pair import (
    WorstSquares,
    is_scalar,
    positions,
    worst_squares,
)
from sfumato.matrices import Matrix
from sfumato.matrices.matrix import ROUNDOFF, Array
from sfumato.prior_classes.families import Family
from sfumato.protocols import Prior, PriorClass, Secret, Supremum
from sfumato.questions.displacements import Group

Balls = tuple[tuple[int, ...], ...]

MOST_CORNERS = 64
"""Corners of a cut box up to which all of them enter a program."""


@attrs.frozen(eq=False)
class FreeValues:
    """Free values δ of a displacement Δ of secret entries, δ of unit balls where Δ is.

    Attributes
    ----------
    values : array (k, m)
        δ = values · Δ.
    representatives : array (r, k)
        The displacement of the r representatives of the entries, from δ.
    balls : tuple of tuples of positions
        Which of the values share a ball.
    plain : bool
        Whether the values are the representatives themselves.
    corners : array (c, k), optional
        The extreme δ, where they are no product of balls but few; of δ and −δ one.
    """

    values: Array
    representatives: Array
    balls: Balls
    plain: bool
    corners: Array | None = None


def free_values(spread: Array, balls: Balls) -> FreeValues:
    """Return the free values of entries X_S = T Y, whose balls are given by position.

    The values Y_b that the entries of a ball b hold first are turned by T_b = Q R, Q orthonormal:
    |Δ_b| = |R y_b|, so δ_b = R y_b = Qᵀ Δ_b. A ball that only repeats another's length adds
    nothing. One that mixes values of several balls leaves no product: of intervals the corners are
    listed, and other balls are refused.

    >>> both = free_values(np.array([[1.0], [1.0]]), ((0, 1),))
    >>> abs(both.values).round(4), abs(both.representatives).round(4)
    (array([[0.7071, 0.7071]]), array([[0.7071]]))
    """
    size, rank = spread.shape
    values, inverse = np.zeros((rank, size)), np.zeros((rank, rank))
    found: list[tuple[int, ...]] = []
    lengths: dict[tuple[int, ...], Array] = {}
    for ball in balls:
        rows = spread[list(ball)]
        columns = tuple(np.flatnonzero(np.any(rows != 0, axis=0)).tolist())
        if not columns:
            continue  # constants
        inner = rows[:, columns]
        square = inner.T @ inner
        known = lengths.get(columns)
        if known is not None and np.allclose(square, known, rtol=1e-15, atol=0.0):
            continue
        mixed = any(set(columns) & set(other) for other in lengths)
        if mixed or len(columns) > len(ball):
            return _cut_box(spread, balls)
        lengths[columns] = square
        turned, upper = np.linalg.qr(inner)
        if np.array_equal(square, np.eye(len(columns))):
            turned, upper = inner, np.eye(len(columns))
        values[np.ix_(columns, ball)] = turned.T
        inverse[np.ix_(columns, columns)] = np.linalg.inv(upper)
        found.append(columns)
    plain = bool(np.array_equal(inverse, np.eye(rank)))
    return FreeValues(values, inverse, tuple(found), plain)


def _cut_box(spread: Array, balls: Balls) -> FreeValues:
    raise OutsideHypotheses(
        "times whose coordinates are copies of one another must be wholly equal for a design; got "
        f"{len(spread)} entries of {len(balls)} times that share some: use gaussian_uniform or "
        "gaussian_given, which need no design."
    )


@attrs.frozen(eq=False)
class Block:
    """Z given the secret is N(A δ, C + Γ): the loss is sup δᵀAᵀ(C + Γ)⁻¹A δ over unit balls.

    Attributes
    ----------
    shifts : array (n, k)
        A, the shift of the release's mean by each of the k free secret values, in units of the
        radius.
    spread : array (n, n)
        C, the covariance of the trace once the secret is known.
    balls : tuple of tuples of positions
        Which of the k values share a ball.
    shift_error, spread_error : array (n, k), array (n,)
        Bounds of the rounding: E of A, entry by entry, and e of C, |yᵀ(C_true − C)y| ≤ (eᵀ|y|)².
    values : array (k, m), optional
        The free values δ = W Δ of a displacement Δ of the m secret entries, in units of the radius.
    corners : array (c, k), optional
        The extreme δ, where they are not those of the balls.
    """

    shifts: Array
    spread: Array
    balls: Balls
    shift_error: Array
    spread_error: Array
    values: Array = attrs.field(factory=lambda: np.zeros((0, 0)))
    corners: Array | None = None

    @property
    def is_box(self) -> bool:
        """Whether every ball is an interval, so that the worst δ is a vector of signs."""
        return all(len(ball) == 1 for ball in self.balls)

    def along(self, direction: Array) -> Block:
        """Return the block of the one displacement `direction`."""
        return attrs.evolve(
            self,
            shifts=(self.shifts @ direction)[:, None],
            shift_error=(self.shift_error @ np.abs(direction))[:, None],
            balls=((0,),),
            corners=None,
        )


def block_of(belief: Gaussian, group: Group, radius: float) -> Block | None:
    """Return the block of a group; None where the belief leaves nothing to learn about it.

    >>> from sfumato.matrices import Diagonal
    >>> block_of(Gaussian(Diagonal([1.0, 4.0])), ((0,),), 2.0).shifts
    array([[2.],
           [0.]])
    """
    entries = tuple(entry for ball in group for entry in ball)
    secret = secret_entries(belief, entries)
    if secret.representatives.size == 0:
        return None
    found = regress(belief, secret)
    if found is None:
        raise Undecidable(
            "float64 must tell the covariance of the secret entries from a singular one for a "
            "design; it cannot: leave out what others nearly determine (times close together, "
            "coordinates that are almost multiples), or use gaussian_uniform."
        )
    n = belief.entries
    spread, spread_error = found.conditional, found.reach
    if spread is None or np.trace(spread) <= found.conditional_error:  # nothing but rounding
        left_out = 0.0 if spread is None else float(np.max(np.abs(spread)))
        spread_error = spread_error + math.sqrt(left_out)
        spread = np.zeros((n, n))
    free = free_values(secret.spread, positions(group))
    shifts = radius * found.weights @ free.representatives
    # Rounding of the two factors, and of what entries follow from others.
    rounding = 0.0 if free.plain else 64 * (n + len(entries)) * ROUNDOFF
    sizes = radius * np.abs(free.representatives)
    return Block(
        shifts=shifts,
        spread=spread,
        balls=free.balls,
        shift_error=found.weights_error @ sizes + rounding * (np.abs(found.weights) @ sizes),
        spread_error=spread_error,
        values=free.values,
        corners=free.corners,
    )


def corners(count: int) -> list[Array]:
    """Return sign vectors, v and −v counted once: all of up to five signs, else a basis.

    >>> corners(2)
    [array([1., 1.]), array([ 1., -1.])]
    """
    if count > 5:
        flipped = np.ones((count, count)) - 2 * np.eye(count)
        flipped[0] = 1.0
        return list(flipped)
    codes = np.arange(2 ** (count - 1))[:, None] >> np.arange(count - 1) & 1
    return [np.concatenate([[1.0], row]) for row in 1.0 - 2.0 * codes]


LARGEST_GLANCE = 128
"""Entries of a trace up to which a few hundred dense covariances are looked at together."""


@attrs.frozen(eq=False)
class Violation:
    """A member of the class, a group of the secret, their loss, and a displacement close to it."""

    member: Prior
    group: int
    loss: float
    displacement: Array


@attrs.frozen(eq=False)
class ClassLosses:
    """The worst loss over the class in units of half the Rényi order, never too small.

    Attributes
    ----------
    worst : float
        The largest loss.
    how : str
        Whether the class was looked at whole ("single", "finite", "proved") or "searched".
    """

    worst: float
    how: str
    readings: tuple[tuple[Prior, WorstSquares], ...]

    def above(self, threshold: float) -> list[Violation]:
        """Return every member and group with a larger loss, the worst first."""
        found = [
            Violation(member, group, float(losses.ceilings[group]), losses.displacements[group])
            for member, losses in self.readings
            for group in np.flatnonzero(losses.ceilings > threshold).tolist()
        ]
        return sorted(found, key=lambda violation: -violation.loss)


def class_losses(prior: PriorClass, secret: Secret, noise: Matrix) -> ClassLosses:
    """Return the losses of all members of a finite class; else of those that a search keeps.

    >>> import sfumato as sf
    >>> from sfumato.matrices import Diagonal
    >>> prior = sf.priors.rbf(length_scale=sf.AnyOf(1.0, 6.0), times=50)
    >>> found = class_losses(prior, sf.secrets.basic(24), Diagonal.constant(0.02, 50))
    >>> round(found.worst, 3), found.how
    (260.603, 'finite')
    """
    seen: dict[int, tuple[Prior, WorstSquares]] = {}

    def loss(member: Prior) -> float:
        belief = member.belief()
        channel = AdditiveGaussian(noise, dimensions=belief.dimensions)
        losses = worst_squares(belief, secret.question(belief), channel)
        seen[id(member)] = (member, losses)
        return _never_nan(float(losses.ceilings.max()))

    supremum = _supremum(prior, secret, noise, loss)
    kept = _kept(seen, supremum.member, finite=prior.finite)
    return ClassLosses(supremum.value, supremum.how, tuple(kept))


def _supremum(
    prior: PriorClass, secret: Secret, noise: Matrix, loss: Callable[[Prior], float]
) -> Supremum:
    """Return the worst member: of an interval, ranked by rough losses of many members at once."""
    if not isinstance(prior, Family) or prior.finite or noise.size > LARGEST_GLANCE:
        return prior.supremum(loss)
    question = secret.question(next(prior.members()).belief())
    if not all(is_scalar(group) for group in question.groups):
        return prior.supremum(loss)
    entries = np.array([group[0][0] for group in question.groups])
    radii, added = np.array(question.radii), noise.dense()
    return prior.ranked(loss, lambda stack: rough_losses(stack, added, entries, radii))


def rough_losses(
    priors: Array, noise: Array, entries: NDArray[np.intp], radii: Array
) -> list[float] | None:
    """Return about the worst r²(1/V_ss − 1/Σ_ss) under each of k priors (k, n, n), uncertified.

    V_ss = yᵀΣ y + wᵀΓ w for w = (Σ + Γ)⁻¹Σ_s and y = e_s − w, where an error of w counts squared.

    >>> found = rough_losses(np.ones((1, 1, 1)), np.array([[0.5]]), np.array([0]), np.ones(1))
    >>> [round(loss, 9) for loss in found]
    [2.0]
    """
    columns = priors[:, :, entries]
    try:
        weights = np.linalg.solve(priors + noise, columns)
    except np.linalg.LinAlgError:
        return None
    left = -weights
    left[:, entries, np.arange(entries.size)] += 1.0
    variances = np.sum(left * (priors @ left), axis=1) + np.sum(weights * (noise @ weights), axis=1)
    own = priors[:, entries, entries]
    with np.errstate(divide="ignore", invalid="ignore"):
        losses = np.max(radii**2 * (1 / variances - 1 / own), axis=1)
    return [_never_nan(loss) for loss in losses.tolist()]


def _kept(
    seen: dict[int, tuple[Prior, WorstSquares]], worst: Prior, *, finite: bool
) -> Iterator[tuple[Prior, WorstSquares]]:
    """Yield all that was seen of a finite class, and only the worst of a continuum."""
    yield seen[id(worst)]
    if finite:
        yield from (item for key, item in seen.items() if key != id(worst))


def _never_nan(value: float) -> float:
    return math.inf if math.isnan(value) else value
