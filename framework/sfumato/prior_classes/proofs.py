"""Suprema over intervals of parameters that are proved: no member of the class is worse."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np

from sfumato.channels import AdditiveGaussian
from sfumato.inference.gaussian.interval_classes import bound_informations
from sfumato.inference.taylor import TaylorNumbers
from sfumato.matrices.matrix import Array
from sfumato.prior_classes.boxes import Box, boxes_of
from sfumato.protocols import Bound, LossMeasure, Prior, PriorClass, Reading, Release, Secret
from sfumato.questions.displacements import Displacements

Point = tuple[float, ...]
Ends = tuple[tuple[float, float], ...]
Badness = Callable[[Displacements, Sequence[Array], Sequence[Array] | None], Array | None]

# Cells with which a proof begins, along each of as many axes; and corners that are looked at.
FIRST_CELLS = {1: 16, 2: 6, 3: 3}
CORNERS = 16

TOLERANCE = 1e-3
"""Relative gap at which a proved loss over a class and one that a member attains are enough."""

MOST_ENTRIES = 400
"""Entries of a trace up to which cells are bounded."""

MOST_CELLS = 20_000
"""Number of cells that are bounded at most on a trace of up to 50 entries; on longer ones fewer."""


# Branch and bound ---------------------------------------------------------------------------------


@attrs.frozen(eq=False)
class CellValues:
    """For every cell a bound of the function all over it, about its value at the centre, an axis.

    The axis is the coordinate that matters most, along which the cell is halved first.
    """

    ceilings: Array
    centres: Array
    axes: Any


@attrs.frozen
class Proof:
    """A value that a function does not exceed, and the number of cells that it took."""

    ceiling: float
    cells: int


def prove_supremum(
    boxes: Sequence[tuple[Ends, Callable[[Array, Array], CellValues]]],
    value_at: Callable[[int, Point], float],
    tolerance: float,
    most: int,
) -> Proof:
    """Return a proved upper bound of a function over boxes: branch and bound.

    `value_at` takes the number of a box and a point. Cells whose bound exceeds the largest value
    found by more than `tolerance` of it are halved, until there are none or `most` cells have been
    bounded; the largest bound of a cell is one of the function, infinite if nothing is proved.

    >>> def square(lows, highs):
    ...     return CellValues(highs[:, 0] ** 2, lows[:, 0] * highs[:, 0], np.zeros(len(lows), int))
    >>> prove_supremum([(((1.0, 3.0),), square)], lambda _, x: x[0] ** 2, 1e-3, 100)
    Proof(ceiling=9.0, cells=16)
    """
    best = max(
        value_at(j, corner)
        for j, (box, _) in enumerate(boxes)
        for corner in itertools.islice(itertools.product(*box), CORNERS)
    )
    # A box of no axes is its corner.
    boxes = [pair for pair in boxes if pair[0]]
    pending = [_first_cells(box) for box, _ in boxes]
    settled, count = -math.inf, 0
    while any(len(lows) for lows, _ in pending):
        found = [
            bound(*cells) if len(cells[0]) else None
            for (_, bound), cells in zip(boxes, pending, strict=True)
        ]
        count += sum(len(lows) for lows, _ in pending)
        for j, (cells, values) in enumerate(zip(pending, found, strict=True)):
            guesses = (
                np.zeros(0) if values is None else np.nan_to_num(values.centres, nan=-math.inf)
            )
            if np.max(guesses, initial=-math.inf) > best:
                top = int(np.argmax(guesses))
                middle = (cells[0][top] + cells[1][top]) / 2
                best = max(best, value_at(j, tuple(middle.tolist())))
        limit = best + tolerance * abs(best)
        waiting = []
        for cells, values in zip(pending, found, strict=True):
            ceilings = np.zeros(0) if values is None else values.ceilings
            ceilings = np.where(np.isnan(ceilings), math.inf, ceilings)
            above = ceilings > limit
            settled = max(settled, float(np.max(ceilings[~above], initial=-math.inf)))
            axes = None if values is None else values.axes[above]
            waiting.append((cells[0][above], cells[1][above], axes, ceilings[above]))
        left = sum(len(ceilings) for *_, ceilings in waiting)
        if count + 2 * left > most:
            unsettled = (float(np.max(c, initial=-math.inf)) for *_, c in waiting)
            return Proof(max(settled, best, *unsettled), count)
        pending = [_halve(lows, highs, axes) for lows, highs, axes, _ in waiting]
    return Proof(max(settled, best), count)


def _first_cells(box: Ends) -> tuple[Array, Array]:
    """Return cells of equal ratios, or of equal widths where a box reaches zero."""
    parts = FIRST_CELLS.get(len(box), 2)
    edges = [
        np.geomspace(low, high, parts + 1) if low > 0 else np.linspace(low, high, parts + 1)
        for low, high in box
    ]
    for axis, (low, high) in zip(edges, box, strict=True):
        axis[0], axis[-1] = low, high
    lows = itertools.product(*(axis[:-1] for axis in edges))
    highs = itertools.product(*(axis[1:] for axis in edges))
    return np.array(list(lows)), np.array(list(highs))


def _halve(lows: Array, highs: Array, axes: Any) -> tuple[Array, Array]:
    if not len(lows):
        return lows, highs
    rows = np.arange(len(lows))
    middles = (lows[rows, axes] + highs[rows, axes]) / 2
    upper_lows, lower_highs = np.array(lows), np.array(highs)
    upper_lows[rows, axes] = lower_highs[rows, axes] = middles
    return np.concatenate([lows, upper_lows]), np.concatenate([lower_highs, highs])


# Losses over a class ------------------------------------------------------------------------------


class _NoProofError(Exception):
    """A prior has no formula, or a measure needs more than the information."""


def is_provable(prior: PriorClass) -> bool:
    """Whether proofs can be tried for a class: its priors have a formula and are not too long.

    >>> import sfumato as sf
    >>> is_provable(sf.priors.rbf(length_scale=sf.Interval(3, 12), times=50))
    True
    """
    known = boxes_of(prior) is not None
    formulas = (member.formula(TaylorNumbers(0, 0)) for member in prior.members())
    return known and all(f is not None and f.nrows() <= MOST_ENTRIES for f in formulas)


def prove_over_class(
    prior: PriorClass,
    question: Displacements,
    channel: AdditiveGaussian,
    badness: Badness,
    read: Callable[[Prior], float],
) -> Proof | None:
    """Return what a function that grows with the information does not exceed over a class.

    `badness` takes the informations about every group of the question, and the priors that they
    share, for many cells at once, `read` a member.
    None where nothing can be proved: of noise without a floor, a long trace, a
    prior without a `formula`, or where the cells run out.
    """
    boxes, noise = boxes_of(prior), channel.noise
    if boxes is None or noise.size > MOST_ENTRIES or not noise.smallest_eigenvalue() > 0:
        return None

    def bound_of(box: Box) -> Callable[[Array, Array], CellValues]:
        def bound(lows: Array, highs: Array) -> CellValues:
            found = bound_informations(box, question.groups, noise, lows, highs)
            if found is None:
                raise _NoProofError
            ceilings, centres = (
                badness(question, matrices, found.priors)
                for matrices in (found.ceilings, found.centres)
            )
            if ceilings is None or centres is None:
                raise _NoProofError
            return CellValues(ceilings, centres, found.axes)

        return bound

    most = int(MOST_CELLS * min(1.0, (50 / noise.size) ** 3))
    try:
        proof = prove_supremum(
            [(box.ends, bound_of(box)) for box in boxes],
            lambda j, point: read(boxes[j].member(point)),
            TOLERANCE,
            most,
        )
    except _NoProofError:
        return None
    return proof if math.isfinite(proof.ceiling) else None


def prove_loss(
    measure: LossMeasure,
    prior: PriorClass,
    secret: Secret,
    release: Release,
    read: Callable[[Prior], Reading],
) -> tuple[Reading, Prior] | None:
    """Return the loss over a class with intervals, proved, and a member close to it; None: not so.

    The value holds for every member, and the other end of the interval is attained by the member.
    The measure must get worse with the information in Loewner order (`of_informations`).
    """
    channel, question = release.channel, release.situation(next(prior.members()), secret).question
    if not (isinstance(channel, AdditiveGaussian) and isinstance(question, Displacements)):
        return None
    sign, seen = measure.quantity.sign, list[tuple[Prior, Reading]]()

    def value(member: Prior) -> float:
        seen.append((member, read(member)))
        return sign * seen[-1][1].value

    def badness(
        question: Displacements, informations: Sequence[Array], priors: Sequence[Array] | None
    ) -> Array | None:
        losses = measure.of_informations(question, informations, priors)
        return None if losses is None else sign * np.asarray(losses)

    proof = prove_over_class(prior, question, channel, badness, value)
    if proof is None:
        return None
    # The values that were seen are rounded, too, and a class of one prior has no cells.
    known = [sign * found.value * (1 + sign * found.relative_error) for _, found in seen]
    limit = sign * max(proof.ceiling, *known)
    member, worst = max(seen, key=lambda pair: sign * pair[1].value)
    attained = worst.floor if sign > 0 else worst.ceiling
    bound: Bound = "upper" if sign > 0 else "lower"
    found = Reading(
        value=limit,
        bound=bound,
        interval=sorted((limit, attained * (1 - sign * worst.relative_error))),
        witness=worst.witness,
        how=f"{worst.how}; proved in {proof.cells} cells".lstrip("; "),
    )
    return found, member
