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
    units = (
        [whole_noise(laws[0][0].shape[1] - 1, scale, one) for one in np.eye(2 * reach + 1)]
        if laws
        else []
    )
    target = epsilon * (1.0 - 1e-8)
    for _ in range(ROUNDS):
        core = _solve(list(found.values()), math.exp(target), scale, reach)
        worst, places = _violated(laws, core, scale, target)
        new = [place for place in places if place not in found]
        if worst <= epsilon * (1.0 - 1e-12):
            return core
        for number, one, other, z in new:
            law = laws[number][0]
            found[number, one, other, z] = tuple(  # type: ignore[assignment]  # two of them
                np.array([law[row] @ unit[:, z] for unit in units]) for row in (one, other)
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
    rows: list[tuple[FloatArray, FloatArray]], factor: float, scale: float, reach: int
) -> FloatArray:
    """Return the noise of least variance under some of the constraints."""
    from scipy.optimize import linprog

    total, mean, square = moments(reach, scale)
    geometric = math.tanh(0.5 / scale) * np.exp(-np.abs(np.arange(-reach, reach + 1.0)) / scale)
    # Unknowns are multiples of the geometric noise, and constraints shares of the second law's
    # chance under it: all numbers are then of one size.
    scaled = [(p * geometric, q * geometric) for p, q in rows]
    limits = [(p - factor * q) / float(q.sum()) for p, q in scaled]
    solved = linprog(
        square * geometric / float(square @ geometric),
        A_ub=np.array(limits) if limits else None,
        b_ub=np.zeros(len(limits)) if limits else None,
        A_eq=np.array([total * geometric, mean * geometric / float(np.abs(mean) @ geometric)]),
        b_eq=[1.0, 0.0],
        bounds=(LEAST_SHARE, None),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if not solved.success:
        raise Undecidable(f"the solver found no noise: {solved.message}")
    core = np.maximum(np.asarray(solved.x), LEAST_SHARE) * geometric
    return np.asarray(core / float(total @ core))
