"""What one belief lets an adversary learn about one group of secret entries."""

from __future__ import annotations

import math

import attrs
import numpy as np

from sfumato.beliefs import Gaussian
from sfumato.errors import Undecidable
from sfumato.inference.fisher_form import regress
from sfumato.inference.group_losses import positions
from sfumato.inference.secret_entries import secret_entries
from sfumato.matrices.matrix import ROUNDOFF, Array
from sfumato.questions.displacements import Group
from sfumato_gaussian_noise.free_values import free_values

Balls = tuple[tuple[int, ...], ...]


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
