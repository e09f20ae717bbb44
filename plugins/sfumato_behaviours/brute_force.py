"""The same numbers from their definitions: many digits, roots of one quadratic, a fine grid."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from sfumato.channels import AdditiveGaussian
from sfumato.errors import OutsideHypotheses
from sfumato.laws.brute_force import between
from sfumato.protocols import Quantity, Reading
from sfumato.values import FloatArray

DIGITS = 60
STEPS = 600
"""Points of a coordinate."""

SAME = 1e-40
"""How close to one an eigenvalue in 60 digits is that is one."""

NEAR = 2e-3
"""How far a sum over so many points of a plane may be from the integral."""

Law = tuple[FloatArray, FloatArray]
"""A mean and a covariance."""


def of_quantity(quantity: Quantity, belief: Any, channel: AdditiveGaussian) -> Reading | None:
    """Return what is known of a quantity between the laws of the release."""
    laws = laws_of(belief, channel)
    given = dict(quantity.parameters)
    pairs = list(itertools.permutations(laws, 2))
    if quantity.name == "Rényi divergence":
        return _at_most([renyi(p, q, float(given["order"])) for p, q in pairs])
    if quantity.name in ("advantage", "hockey-stick divergence"):
        epsilon = float(given.get("epsilon", 0.0))
        found = [_shared(p, q, math.exp(epsilon)) for p, q in pairs]
        return _at_most([1.0 - mass for mass in found], 0.0 if len(laws[0][0]) == 1 else NEAR)
    if quantity.name == "Bayes success" and len(laws) == 2:
        one, other = (float(weight) for weight in belief.weights)
        value = 1.0 - one * _shared(laws[0], laws[1], other / one)
        return _at_most([value], 0.0 if len(laws[0][0]) == 1 else NEAR)
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


def laws_of(belief: Any, channel: AdditiveGaussian) -> list[Law]:
    """Return the mean and covariance of the release under every behaviour."""
    noise = channel.covariance()
    return [
        (
            np.zeros(component.entries) if component.mean is None else component.mean,
            component.covariance.dense() + noise,
        )
        for component in belief.components
    ]


def renyi(p: Law, q: Law, order: float) -> float:
    """Return D_λ in 60 digits, from the eigenvalues of B⁻¹A and sums over coordinates."""
    import mpmath as mp

    with mp.workdps(DIGITS):
        a, b = (mp.matrix(law[1].tolist()) for law in (p, q))
        root = mp.cholesky(b) ** -1
        values, axes = mp.eigsy(root * a * root.T)
        shifts = axes.T * root * mp.matrix((p[0] - q[0]).tolist())
        total = mp.mpf(0)
        for w, shift in zip(values, shifts, strict=True):
            if math.isinf(order):
                if abs(w - 1) < SAME and abs(shift) < SAME:
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
    """Return ∫ min(p, a q) of a line exactly, of a plane on a grid."""
    size = len(p[0])
    if size == 1:
        return _shared_on_a_line(p, q, ratio)
    if size > 2:
        raise OutsideHypotheses("brute force looks at traces of one or two entries.")
    spread = [math.sqrt(max(law[1][k, k] for law in (p, q))) for k in range(2)]
    ends = [sorted((p[0][k], q[0][k])) for k in range(2)]
    axes = [
        np.linspace(low - 9.0 * deviation, high + 9.0 * deviation, STEPS, retstep=True)
        for (low, high), deviation in zip(ends, spread, strict=True)
    ]
    points = np.stack(np.meshgrid(axes[0][0], axes[1][0], indexing="ij"), axis=-1)
    cell = float(axes[0][1] * axes[1][1])
    return float(np.minimum(_density(p, points), ratio * _density(q, points)).sum() * cell)


def _density(law: Law, points: FloatArray) -> FloatArray:
    mean, covariance = law
    away = points - mean
    scaled = away @ np.linalg.inv(covariance)
    norm = 2.0 * math.pi * math.sqrt(float(np.linalg.det(covariance)))
    return np.asarray(np.exp(-(scaled * away).sum(axis=-1) / 2.0) / norm)


def _shared_on_a_line(p: Law, q: Law, ratio: float) -> float:
    """Return ∫ min(p, a q): the sign of log p/(aq), a quadratic, changes at its roots."""
    (m, v), (k, w) = ((float(law[0][0]), float(law[1][0, 0])) for law in (p, q))
    roots = np.roots(
        [
            1.0 / (2.0 * w) - 1.0 / (2.0 * v),
            m / v - k / w,
            k * k / (2.0 * w) - m * m / (2.0 * v) + math.log(w / v) / 2.0 - math.log(ratio),
        ]
    )
    cuts = sorted(float(root.real) for root in roots if abs(root.imag) < 1e-12)
    edges = [-math.inf, *cuts, math.inf]

    def mass(mean: float, variance: float) -> Callable[[float], float]:
        return lambda x: 0.5 * math.erfc((mean - x) / math.sqrt(2.0 * variance))

    one, other = mass(m, v), mass(k, w)
    return sum(
        min(one(high) - one(low), ratio * (other(high) - other(low)))
        for low, high in itertools.pairwise(edges)
    )
