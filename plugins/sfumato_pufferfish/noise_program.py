"""The best whole-number noise of a count: a linear program, solved by adding what it violates."""

from __future__ import annotations

import math

import numpy as np

from sfumato.errors import Undecidable
from sfumato.values import FloatArray
from sfumato_pufferfish.counts import IntArray, moments, require_positive, whole_noise

ROUNDS = 80
"""How often violated constraints are added, or the target lowered, at most."""

ADDED = 64
"""How many constraints are added at a time."""

LEAST_SHARE = 1e-6
"""No chance is below this share of the geometric noise's: every output stays possible."""

STRIDE = 1e3
"""How many times larger or smaller than the best noise so far a chance may become at a time."""

SETTLED = 1e-6
"""The search ends where the variance falls by no more than this share."""

Place = tuple[int, int, int, int]
"""A constraint: the number of the secret variable, the two rows of the pair, the output."""


def best_noise(
    laws: list[tuple[FloatArray, IntArray]], epsilon: float, scale: float, reach: int
) -> FloatArray:
    """Return the chances of −N ... N of the noise of least variance that gives ε.

    min Σ k² n(k) subject to Σ n = 1, Σ k n(k) = 0 and Σ_k n(z − k)(ℓ_s(k) − e^ε ℓ_s'(k)) ≤ 0 for
    all pairs and outputs z, with n(±(N + j)) = n(±N) e^{−j/b}. The solver's tolerance is made up
    for: the ratios of what it returns are computed, and its ε lowered until the true one is kept.
    """
    found: dict[Place, tuple[FloatArray, FloatArray]] = {}
    units = {
        size: [whole_noise(size - 1, scale, one) for one in np.eye(2 * reach + 1)]
        for size in {law.shape[1] for law, _ in laws}
    }
    weights = _, _, square = moments(reach, scale)
    geometric = math.tanh(0.5 / scale) * np.exp(-np.abs(np.arange(-reach, reach + 1.0)) / scale)
    # No chance of k exceeds the least variance over k²: the search comes from there.
    spread = float(square @ geometric) / np.maximum(square, 1.0)
    best = np.maximum(geometric, geometric.max() * np.minimum(spread, 1.0))
    least, least_yet, target = LEAST_SHARE * geometric, math.inf, epsilon * (1.0 - 1e-8)
    for _ in range(ROUNDS):
        core = _solve(list(found.values()), math.exp(target), best, least, weights)
        worst, places = _violated(laws, core, scale, target)
        new = [place for place in places if place not in found]
        if worst <= epsilon * (1.0 - 1e-12):
            variance, last = float(square @ core), least_yet
            best, least_yet = (core, variance) if variance < last else (best, last)
            if variance >= last * (1.0 - SETTLED):
                return best
            continue
        for number, one, other, z in new:
            law = laws[number][0]
            found[number, one, other, z] = tuple(  # type: ignore[assignment]  # two of them
                np.array([law[row] @ unit[:, z] for unit in units[law.shape[1]]])
                for row in (one, other)
            )
        if not new:
            target -= 2.0 * (worst - epsilon) + 1e-8 * epsilon
    raise Undecidable("the solver found no noise that keeps epsilon within its tolerance.")


def _violated(
    laws: list[tuple[FloatArray, IntArray]], core: FloatArray, scale: float, target: float
) -> tuple[float, list[Place]]:
    """Return the worst log-ratio, and where ratios exceed the target most."""
    worst, places = 0.0, []
    for number, (law, pairs) in enumerate(laws):
        seen = law @ whole_noise(law.shape[1] - 1, scale, core)
        require_positive(seen)
        logs = np.log(seen)
        for one, other in pairs.tolist():
            ratios = logs[one] - logs[other]
            worst = max(worst, float(ratios.max()))
            over = np.flatnonzero(ratios > target)
            places += [(float(ratios[z]), (number, one, other, int(z))) for z in over]
    places.sort(reverse=True)
    return worst, [place for _, place in places[:ADDED]]


def _solve(
    rows: list[tuple[FloatArray, FloatArray]],
    factor: float,
    best: FloatArray,
    least: FloatArray,
    weights: tuple[FloatArray, FloatArray, FloatArray],
) -> FloatArray:
    """Return the noise of least variance under some of the constraints, not far from the best."""
    from scipy.optimize import linprog

    # Unknowns are multiples of the best noise so far, and constraints shares of e^ε times the
    # second law's chance under it: all numbers that count are then of one size.
    total, mean, square = (one * best for one in weights)
    limits = [(p / factor - q) * (best / float(q @ best)) for p, q in rows]
    solved = linprog(
        square / float(square.sum()),
        A_ub=np.array(limits) if limits else None,
        b_ub=np.zeros(len(limits)) if limits else None,
        A_eq=np.array([total, mean / float(np.abs(mean).sum())]),
        b_eq=[1.0, 0.0],
        bounds=[(max(low, 1.0 / STRIDE), STRIDE) for low in (least / best).tolist()],
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if not solved.success:
        raise Undecidable(f"the solver found no noise: {solved.message}")
    core = np.maximum(np.asarray(solved.x) * best, least)
    return np.asarray(core / float(weights[0] @ core))
