"""The noise program of a problem that is the same with time reversed: two of half the size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sfumato.inference.group_losses import is_scalar
from sfumato.matrices.matrix import Array
from sfumato.questions.displacements import Displacements
from sfumato_gaussian_noise.blocks import Block
from sfumato_gaussian_noise.closed_forms import Solution
from sfumato_gaussian_noise.dual_bound import Witness
from sfumato_gaussian_noise.dual_program import (
    LIGHT,
    directions,
    orthonormal,
    solver_options,
    spread_root,
    symmetric,
)
from sfumato_gaussian_noise.solved import solve

ALIKE = 1e-9
"""Largest difference, in units of the largest entry, between a block and its mirror image."""

Partners = list[int]


def mirror_partners(blocks: Sequence[Block]) -> Partners | None:
    """Return, for each block of one displacement, the position of its mirror image; None without.

    The images need only be alike: what comes of them is certified with the blocks themselves.

    >>> one = Block(np.eye(2)[:, :1], np.zeros((2, 2)), ((0,),), np.zeros((2, 1)), np.zeros(2))
    >>> other = Block(np.eye(2)[:, 1:], np.zeros((2, 2)), ((0,),), np.zeros((2, 1)), np.zeros(2))
    >>> mirror_partners([one, other])
    [1, 0]
    """
    if any(block.shifts.shape[1] > 1 for block in blocks):
        return None
    shifts = np.stack([block.shifts[:, 0] for block in blocks])
    found: Partners = []
    for block in blocks:
        image, spread = block.shifts[::-1, 0], block.spread[::-1, ::-1]
        off = np.max(np.abs(shifts - image), axis=1)
        near = np.flatnonzero(off <= ALIKE * np.max(np.abs(image))).tolist()
        size = max(float(np.max(np.abs(spread))), 1e-300)
        partner = next(
            (
                j
                for j in near
                if j not in found and np.max(np.abs(blocks[j].spread - spread)) <= ALIKE * size
            ),
            None,
        )
        if partner is None:
            return None
        found.append(partner)
    involution = all(found[found[position]] == position for position in range(len(found)))
    return found if involution else None


def mirror_groups(question: Displacements, size: int) -> dict[int, int]:
    """Return the mirror image of every group, if all are single entries that come with theirs.

    >>> mirror_groups(Displacements((((0,),), ((2,),), ((1,),)), 1.0), 3)
    {0: 1, 1: 0, 2: 2}
    """
    if not all(is_scalar(group) for group in question.groups):
        return {}
    named = [(group[0][0], r) for group, r in zip(question.groups, question.radii, strict=True)]
    places = {name: place for place, name in enumerate(named)}
    images = [places.get((size - 1 - entry, radius)) for entry, radius in named]
    found = {place: image for place, image in enumerate(images) if image is not None}
    return found if len(found) == len(named) else {}


def mirrored_noise(
    blocks: Sequence[Block], partners: Partners, budget: float, attempt: tuple[str, float]
) -> Solution:
    """Return what `best_noise` does, for blocks that come with their mirror images.

    With J the reversal of time, averaging a solution with its image leaves T_Jj = J T_j and
    μ_Jj = μ_j. Then Σ_j T_j T_jᵀ/μ_j commutes with J, so the matrix inequality falls into one for
    even vectors and one for odd ones, each with one column for a pair of blocks.

    >>> one = Block(np.eye(2)[:, :1], np.zeros((2, 2)), ((0,),), np.zeros((2, 1)), np.zeros(2))
    >>> other = Block(np.eye(2)[:, 1:], np.zeros((2, 2)), ((0,),), np.zeros((2, 1)), np.zeros(2))
    >>> noise = mirrored_noise([one, other], [1, 0], 4.0, ("CLARABEL", 1e-14)).factor
    >>> (noise @ noise.T).round(4) + 0.0
    array([[2., 0.],
           [0., 2.]])
    """
    import cvxpy as cp

    solver, negligible = attempt
    parts = _bases(blocks, negligible)
    orbits = [j for j, partner in enumerate(partners) if j <= partner]
    counts = np.array([1.0 if partners[j] == j else 2.0 for j in orbits])
    whole = np.hstack(parts)
    columns = cp.Variable((whole.shape[1], len(orbits)))
    shares, price = cp.Variable(len(orbits), nonneg=True), cp.Variable()
    objective: Any = -price
    for place, j in enumerate(orbits):
        mine = columns[:, place]
        gain = 2 * (whole.T @ blocks[j].shifts[:, 0]) @ mine
        root = spread_root(whole.T @ blocks[j].spread @ whole / budget)
        if root.size:
            gain -= cp.quad_over_lin(root @ mine, shares[place])
        objective += counts[place] * gain
    inequalities, start = [], 0
    for part in parts:
        rows = columns[start : start + part.shape[1], :] @ np.diag(np.sqrt(counts))
        corner = price * np.eye(part.shape[1])
        inequalities.append(cp.bmat([[corner, rows], [rows.T, cp.diag(shares)]]) >> 0)
        start += part.shape[1]
    odd = [place for place, count in enumerate(counts) if count == 1]
    constraints = [*inequalities, counts @ shares == 1]
    if odd:  # a block that is its own image moves even vectors only
        constraints.append(columns[parts[0].shape[1] :, odd] == 0)
    problem = cp.Problem(cp.Maximize(objective), constraints)
    solve(problem, solver, "the noise program", verified=True, **solver_options(solver))
    factor = np.hstack([_factor(p, q) for p, q in zip(parts, inequalities, strict=True)])
    factor *= np.sqrt(budget) / np.linalg.norm(factor)
    readings = whole @ columns.value
    return Solution(factor, _witnesses(blocks, partners, orbits, readings, shares.value))


def _bases(blocks: Sequence[Block], negligible: float) -> list[Array]:
    """Return bases of the even and of the odd vectors in which some block moves or fluctuates."""
    total = directions(blocks)
    size, largest = len(total), float(np.linalg.eigvalsh(total)[-1])
    flip = np.eye(size)[::-1]
    parts = []
    for sign in (1.0, -1.0):
        values, vectors = np.linalg.eigh((np.eye(size) + sign * flip) / 2)
        half = vectors[:, values > 0.5]
        parts.append(half @ orthonormal(half.T @ total @ half, negligible * largest))
    return parts


def _factor(part: Array, inequality: Any) -> Array:
    """Return L with L Lᵀ the multiplier of the inequality's corner."""
    rank = part.shape[1]
    if rank == 0:
        return part
    values, vectors = np.linalg.eigh(symmetric(inequality.dual_value[:rank, :rank]))
    return np.asarray(part @ (vectors * np.sqrt(np.maximum(values, 0.0))))


def _witnesses(
    blocks: Sequence[Block], partners: Partners, orbits: list[int], readings: Array, shares: Array
) -> tuple[Witness, ...]:
    found = []
    for place, j in enumerate(orbits):
        weight = max(float(shares[place]), 0.0)
        if weight <= LIGHT * float(np.max(shares)):
            continue
        reading = readings[:, place] / weight
        found.append((weight, blocks[j], reading, j))
        if partners[j] != j:
            found.append((weight, blocks[partners[j]], reading[::-1], partners[j]))
    mass = sum(weight for weight, *_ in found)
    return tuple(
        Witness(weight / mass, block, np.array(reading), source)
        for weight, block, reading, source in found
    )
