"""Suprema over intervals of parameters that are proved: no member of the class is worse."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np

from sfumato.beliefs import Markov
from sfumato.channels import AdditiveGaussian
from sfumato.inference.gaussian.interval_classes import (
    GroupBounds,
    bound_growth,
    bound_informations,
    copies_throughout,
)
from sfumato.inference.markov.interval_chains import bound_bends
from sfumato.inference.taylor import TaylorNumbers
from sfumato.matrices.matrix import ROUNDOFF, Array, Matrix
from sfumato.prior_classes.families import Box, boxes_of
from sfumato.protocols import Bound, LossMeasure, Prior, PriorClass, Reading, Release, Secret
from sfumato.quantities import count_text
from sfumato.questions import Displacements, Nearness
from sfumato.questions.displacements import Group

Point = tuple[float, ...]
Ends = tuple[tuple[float, float], ...]
Badness = Callable[[Any, Sequence[GroupBounds]], Array | None]

# Cells with which a proof begins, along each of as many axes; and corners that are looked at.
FIRST_CELLS = {1: 16, 2: 6, 3: 3}
CORNERS = 16
# Relative gap at which a proved loss over a class and one that a member attains are enough.
TOLERANCE = 1e-3
MOST_ENTRIES = 400  # entries of a trace up to which cells are bounded
# Number of cells that are bounded at most on a trace of up to 50 entries; on longer ones fewer.
MOST_CELLS = 20_000
# Number of cells that are bounded at most of chains, where each takes a reading or two, and of
# compound secrets in several coordinates, where each takes a search for the worst pair.
MOST_READINGS = 1_000


# Branch and bound ---------------------------------------------------------------------------------


@attrs.frozen(eq=False)
class CellValues:
    """For every cell a bound of the function all over it, about its value at the centre, an axis.

    The axis is the coordinate that matters most, along which the cell is halved first. `attained`
    is the largest value of the function that was met on the way.
    """

    ceilings: Array
    centres: Array
    axes: Any
    attained: float = -math.inf


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

    >>> import numpy as np
    >>> from sfumato.prior_classes.proofs import CellValues, prove_supremum
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
    pending = [(j, *_first_cells(box)) for j, (box, _) in enumerate(boxes) if box]
    settled, count = -math.inf, 0
    while pending:
        found = [boxes[j][1](lows, highs) for j, lows, highs in pending]
        count += sum(len(lows) for _, lows, _ in pending)
        for (j, lows, highs), values in zip(pending, found, strict=True):
            guesses = np.nan_to_num(values.centres, nan=-math.inf)
            top = int(np.argmax(guesses))
            if guesses[top] > best:
                best = max(best, value_at(j, tuple(((lows[top] + highs[top]) / 2).tolist())))
            best = max(best, values.attained)
        limit = best + tolerance * abs(best)
        waiting, unsettled = [], [settled, best]
        for (j, lows, highs), values in zip(pending, found, strict=True):
            ceilings = np.where(np.isnan(values.ceilings), math.inf, values.ceilings)
            above = ceilings > limit
            settled = max(settled, float(np.max(ceilings[~above], initial=-math.inf)))
            unsettled.append(float(ceilings.max()))
            if np.any(above):
                waiting.append((j, *_halve(lows[above], highs[above], values.axes[above])))
        if count + sum(len(lows) for _, lows, _ in waiting) > most:
            return Proof(max(unsettled), count)
        pending = waiting
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
    >>> from sfumato.prior_classes.proofs import is_provable
    >>> is_provable(sf.priors.rbf(length_scale=sf.Interval(3, 12), times=50))
    True
    """
    known = boxes_of(prior) is not None
    formulas = (member.formula(TaylorNumbers(0, 0)) for member in prior.members())
    return known and all(f is not None and f.nrows() <= MOST_ENTRIES for f in formulas)


Bounds = Callable[[Array, Array], CellValues]
Reader = Callable[[Point], float]


def prove_over_class(
    prior: PriorClass,
    question: Displacements | Nearness,
    noise: Matrix,
    badness: Badness,
    read: Callable[[Prior], float],
    *,
    tolerance: float = TOLERANCE,
    most: int = MOST_CELLS,
    beyond: Any = None,
) -> Proof | None:
    """Return what a function that grows with the information does not exceed over a class.

    `badness` takes what holds of every group of the question in many cells, `read` a member;
    `beyond` is what `bound_informations` takes. None where nothing can be proved: of noise without
    a floor, a long trace, a prior without a `formula`, or where the cells (`most`) run out.
    """
    groups: tuple[Group, ...]
    if isinstance(question, Displacements):
        groups = question.groups
    else:
        groups = tuple(((event.entry,),) for event in question.parts)

    def bounds_of(box: Box, _: Reader) -> Bounds:
        copies = [copies_throughout(box, group) for group in groups]

        def bound(lows: Array, highs: Array) -> CellValues:
            given = {"beyond": beyond, "copies": copies}
            found = bound_informations(box, groups, noise, lows, highs, **given)
            if found is None:
                raise _NoProofError
            ceilings = badness(question, found.ceilings)
            near = isinstance(question, Nearness)  # of which a look at the centres takes too long
            centres = ceilings if near else badness(question, found.centres)
            if ceilings is None or centres is None:
                raise _NoProofError
            return CellValues(ceilings, centres, found.axes)

        return bound

    most = min(most, _most_cells(noise))
    if any(len(group) > 1 and max(map(len, group)) > 1 for group in groups):
        most = min(most, MOST_READINGS)
    return _prove(prior, bounds_of, read, most, tolerance)


def _most_cells(noise: Matrix) -> int:
    """Return how many cells may be bounded: none of a long trace, or of noise without a floor."""
    if noise.size > MOST_ENTRIES or not noise.smallest_eigenvalue() > 0:
        return 0
    return int(MOST_CELLS * min(1.0, (50 / noise.size) ** 3))


def _prove(
    prior: PriorClass,
    bounds_of: Callable[[Box, Reader], Bounds],
    read: Callable[[Prior], float],
    most: int,
    tolerance: float,
) -> Proof | None:
    """Return the proof from the bounds of each box, which may read members; None: there is none."""
    boxes = boxes_of(prior) if most else None
    if boxes is None:
        return None
    readers = [functools.cache(lambda point, box=box: read(box.member(point))) for box in boxes]
    pairs = zip(boxes, readers, strict=True)
    try:
        proof = prove_supremum(
            [(box.ends, bounds_of(box, reader)) for box, reader in pairs],
            lambda j, point: readers[j](tuple(point)),
            tolerance,
            most,
        )
    except _NoProofError:
        return None
    return proof if math.isfinite(proof.ceiling) else None


class _Readings:
    """The readings of members that were seen, and the loss that a proof makes of them."""

    def __init__(self, measure: LossMeasure, read: Callable[[Prior], Reading]) -> None:
        self._sign, self._read = measure.quantity.sign, read
        self._seen: list[tuple[Prior, Reading]] = []

    def __call__(self, member: Prior) -> float:
        """Return how bad a member's loss can be, with the error of its reading."""
        found = self._read(member)
        self._seen.append((member, found))
        return self._sign * (found.ceiling if self._sign > 0 else found.floor)

    def exactly(self, member: Prior) -> float:
        """Return the same; nothing is proved where the reading is only a bound."""
        found = self(member)
        if self._seen[-1][1].bound != "exact":
            raise _NoProofError
        return found

    def loss(self, proof: Proof | None) -> tuple[Reading, Prior] | None:
        """Return what is proved, the other end attained by the worst member seen, and this."""
        if proof is None:
            return None
        limit = self._sign * proof.ceiling
        member, worst = max(self._seen, key=lambda pair: self._sign * pair[1].value)
        attained = worst.floor if self._sign > 0 else worst.ceiling
        bound: Bound = "upper" if self._sign > 0 else "lower"
        found = Reading(
            value=limit,
            bound=bound,
            interval=sorted((limit, attained)),
            witness=worst.witness,
            how=f"{worst.how}; proved in {count_text(proof.cells, 'cell')}".lstrip("; "),
        )
        return found, member


def prove_loss(
    measure: LossMeasure,
    prior: PriorClass,
    secret: Secret,
    release: Release,
    read: Callable[[Prior], Reading],
    *,
    tolerance: float = TOLERANCE,
) -> tuple[Reading, Prior] | None:
    """Return the loss over a class with intervals, proved, and a member close to it; None: not so.

    The value holds for every member, and the other end of the interval is attained by the member.
    Of Gaussian traces the measure must get worse with the information in Loewner order
    (`of_informations`), of chains it must say how it bends (`between_members`).
    """
    channel, situation = release.channel, release.situation(next(prior.members()), secret)
    question, sign, readings = situation.question, measure.quantity.sign, _Readings(measure, read)
    if isinstance(channel, AdditiveGaussian):
        if type(measure).of_informations is LossMeasure.of_informations:
            return None  # spare the cells
        near = isinstance(question, Nearness) and situation.belief.mean is None
        if not (near or isinstance(question, Displacements)):
            return None

        def badness(question: Any, bounds: Sequence[GroupBounds]) -> Array | None:
            losses = measure.of_informations(question, bounds)
            return None if losses is None else sign * np.asarray(losses)

        given = {"tolerance": tolerance, "beyond": channel.beyond}
        return readings.loss(
            prove_over_class(prior, question, channel.noise, badness, readings, **given)
        )
    if not isinstance(situation.belief, Markov) or measure.between_members(0.0, 0.0, 0.0) is None:
        return None
    steps = situation.belief.steps

    def bounds_of(box: Box, value_at: Reader) -> Bounds:
        def bound(lows: Array, highs: Array) -> CellValues:
            bends = bound_bends(box, steps, lows, highs)
            if bends is None or not np.all(np.isfinite(bends.bends)):
                raise _NoProofError
            # A wide cell proves nothing, and is not looked at before it is cut.
            ceilings, attained = np.full(len(lows), math.inf), -math.inf
            for i in np.flatnonzero(bends.bends + bends.turns < 1).tolist():
                corners = itertools.product(*zip(lows[i].tolist(), highs[i].tolist(), strict=True))
                worst = max(map(value_at, corners))
                attained = max(attained, worst)
                found = measure.between_members(sign * worst, bends.bends[i], bends.turns[i])
                ceilings[i] = math.inf if found is None else sign * found
            return CellValues(ceilings, np.full(len(lows), -math.inf), bends.axes, attained)

        return bound

    return readings.loss(_prove(prior, bounds_of, readings.exactly, MOST_READINGS, tolerance))


def prove_growing_determinant(
    measure: LossMeasure,
    prior: PriorClass,
    noise: Matrix,
    read: Callable[[Prior], Reading],
    share: float,
    *,
    tolerance: float,
) -> tuple[Reading, Prior] | None:
    """Return, as `prove_loss` does, a loss of `share` times $log det(Σ + Γ)$ and a constant."""
    readings = _Readings(measure, read)

    def bounds_of(box: Box, value_at: Reader) -> Bounds:
        def bound(lows: Array, highs: Array) -> CellValues:
            found = bound_growth(box, noise, lows, highs)
            if found is None:
                raise _NoProofError
            middles = ((lows + highs) / 2).tolist()
            centres = np.array([value_at(tuple(middle)) for middle in middles])
            ceilings = (centres + share * found[0]) * (1 + 4 * ROUNDOFF)
            return CellValues(ceilings, centres, found[1], float(centres.max()))

        return bound

    most = min(MOST_READINGS, _most_cells(noise))
    return readings.loss(_prove(prior, bounds_of, readings, most, tolerance))
