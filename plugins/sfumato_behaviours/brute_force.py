"""The same numbers from their definitions: many digits, and sums over a fine grid."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from sfumato.channels import AdditiveGaussian
from sfumato.errors import OutsideHypotheses
from sfumato.laws.brute_force import between
from sfumato.protocols import Quantity, Reading
from sfumato.values import FloatArray

DIGITS = 60
POINTS = 360_000
"""Points of a grid, on a line or in a plane."""

SAME = 1e-40
"""How close to one an eigenvalue in 60 digits is that is one, and to zero a part of a shift."""

NEAR = {1: 1e-6, 2: 2e-3}
"""How far a sum over so many points may be from the integral, by the entries of a trace."""

Law = tuple[FloatArray, FloatArray]
"""A mean and a covariance."""


def of_quantity(quantity: Quantity, belief: Any, channel: AdditiveGaussian) -> Reading | None:
    """Return what is known of a quantity between the laws of the release."""
    laws = _laws_of(belief, channel)
    near = NEAR.get(len(laws[0][0]), 0.0)
    given = dict(quantity.parameters)
    pairs = list(itertools.permutations(laws, 2))
    if quantity.name == "Rényi divergence":
        return _at_most([renyi(p, q, float(given["order"])) for p, q in pairs])
    if quantity.name in ("advantage", "hockey-stick divergence"):
        epsilon = float(given.get("epsilon", 0.0))
        found = [_shared(p, q, math.exp(epsilon)) for p, q in pairs]
        return _at_most([1.0 - mass for mass in found], near)
    if quantity.name == "Bayes success" and len(laws) == 2:
        one, other = (float(weight) for weight in belief.weights)
        value = 1.0 - one * _shared(laws[0], laws[1], other / one)
        return _at_most([value], near)
    if quantity.name == "posterior gap" and len(laws) == 2:
        tops = (renyi(p, q, math.inf) for p, q in pairs)
        weights = itertools.permutations(map(float, belief.weights), 2)
        return _at_most([
            1.0 / (1.0 + other / own * math.exp(-top)) - own
            for (own, other), top in zip(weights, tops, strict=True)
        ])  # fmt: skip
    return None


def _at_most(values: list[float], room: float = 0.0) -> Reading:
    worst = max(values, default=0.0)
    return between(max(worst - room, 0.0), worst + room)


def _laws_of(belief: Any, channel: AdditiveGaussian) -> list[Law]:
    """Return the mean and covariance of the release under every behaviour."""
    noise, zeros = channel.covariance(), np.zeros(belief.entries)
    return [
        (zeros if one.mean is None else one.mean, one.covariance.dense() + noise)
        for one in belief.components
    ]


def renyi(p: Law, q: Law, order: float) -> float:
    """Return D_λ in 60 digits, from the eigenvalues of B⁻¹A and sums over coordinates."""
    import mpmath as mp

    with mp.workdps(DIGITS):
        a, b = (mp.matrix(law[1].tolist()) for law in (p, q))
        root = mp.cholesky(b) ** -1
        values, axes = mp.eigsy(root * a * root.T)
        shifts = axes.T * root * mp.matrix((p[0] - q[0]).tolist())
        total, least = mp.mpf(0), SAME * max(map(abs, shifts))
        for w, shift in zip(values, shifts, strict=True):
            if math.isinf(order):
                if abs(w - 1) < SAME and abs(shift) <= least:
                    continue  # in this direction the laws are the same
                if w >= 1 - SAME:
                    return math.inf
                total += (shift**2 / (1 - w) - mp.log(w)) / 2
                continue
            spread = order + (1 - order) * w
            if spread <= 0:
                return math.inf
            slope = w - 1 if order == 1 else mp.log(spread) / (1 - order)
            total += (order * shift**2 / spread - mp.log(w) + slope) / 2
        return float(total)


def _shared(p: Law, q: Law, ratio: float) -> float:
    """Return ∫ min(p, a q) on a grid."""
    size = len(p[0])
    if size not in NEAR:
        raise OutsideHypotheses("brute force looks at traces of one or two entries.")
    means = np.stack([p[0], q[0]])
    spread = 9.0 * np.sqrt(np.maximum(p[1], q[1]).diagonal())
    ends = zip(means.min(axis=0) - spread, means.max(axis=0) + spread, strict=True)
    axes = [np.linspace(*end, round(POINTS ** (1 / size))) for end in ends]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    cell = math.prod(float(axis[1] - axis[0]) for axis in axes)
    return float(np.minimum(_density(p, points), ratio * _density(q, points)).sum() * cell)


def _density(law: Law, points: FloatArray) -> FloatArray:
    mean, covariance = law
    away = points - mean
    scaled = away @ np.linalg.inv(covariance)
    norm = math.sqrt(float(np.linalg.det(2.0 * math.pi * covariance)))
    return np.asarray(np.exp(-(scaled * away).sum(axis=-1) / 2.0) / norm)
