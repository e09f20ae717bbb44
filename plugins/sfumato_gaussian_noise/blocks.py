"""What one belief lets an adversary learn about one group of secret entries."""

from __future__ import annotations

import attrs
import numpy as np

from sfumato.beliefs import Gaussian
from sfumato.errors import OutsideHypotheses, Undecidable
from sfumato.inference.fisher_form import regress
from sfumato.inference.secret_entries import secret_entries
from sfumato.matrices.matrix import Array
from sfumato.questions.displacements import Group

Balls = tuple[tuple[int, ...], ...]


@attrs.frozen(eq=False)
class Block:
    """Z given the secret is N(A δ, C + Γ): the loss is sup δᵀAᵀ(C + Γ)⁻¹A δ over unit balls.

    Attributes
    ----------
    shifts : array (n, k)
        A = r Ã, the shift of the release's mean by each of the k free secret values.
    spread : array (n, n)
        C, the covariance of the trace once the secret is known.
    balls : tuple of tuples of positions
        Which of the k values share a ball.
    shift_error, spread_error : array (n, k), float
        Bounds of the rounding of A (entrywise) and of C (2-norm).
    """

    shifts: Array
    spread: Array
    balls: Balls
    shift_error: Array
    spread_error: float

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
            "the covariance of the secret entries must be invertible in float64 for a design; "
            "got one that is not: choose secret times further apart."
        )
    n = belief.entries
    return Block(
        shifts=radius * found.weights,
        spread=np.zeros((n, n)) if found.conditional is None else found.conditional,
        balls=_free_balls(group, secret.representatives.tolist(), belief),
        shift_error=radius * found.weights_error,
        spread_error=found.conditional_error,
    )


def _free_balls(group: Group, free: list[int], belief: Gaussian) -> Balls:
    """Return the balls of the free entries; a ball of copies moves with its original."""
    known = belief.covariance.diagonal() == 0
    balls = []
    for ball in group:
        inside = [entry for entry in ball if entry in free]
        if inside and any(entry not in free and not known[entry] for entry in ball):
            raise OutsideHypotheses(
                "a ball of secret entries must be wholly new or wholly copied from other balls; "
                f"got {ball}, which is both."
            )
        if inside:
            balls.append(tuple(free.index(entry) for entry in inside))
    return tuple(balls)


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
