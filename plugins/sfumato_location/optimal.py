"""The geo-indistinguishable mechanism of least expected distance, by linear programming."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Markov
from sfumato.comparison.executors import progress
from sfumato.errors import Undecidable
from sfumato.matrices.matrix import ROUNDOFF
from sfumato.parameters import declare
from sfumato.values import FloatArray
from sfumato_location.mechanisms import AtPlaces, keep_apart
from sfumato_location.places import distances_between

DILATION = 1.05
"""Paths in the graph of the first constraints are at most so much longer than the distance."""

VIOLATION = 1e-9
"""A constraint that is broken by more is added to the program."""

TIGHT: Any = {f"{side}_feasibility_tolerance": 1e-10 for side in ("primal", "dual")}
"""What the solver may break; its own 1e-7 is much where the optimum is a thousandth."""

ROUNDS = 20
"""How often constraints are added, at most; what is left is mended and shows in the gap."""


@declare
class GeoOptimal(AtPlaces):
    """The channel of least expected distance among all with ε per unit of distance.

    $min ∑ π_x C_xz d(x, z)$ subject to $C_xz ≤ e^{ε d(x,y)} C_yz$ for all x, y, z, rows summing to
    one, π the marginal of the first member, averaged over time. Only the constraints of a spanner
    (a graph whose paths are at most 5 % longer than the distances) are given to the solver at
    first, then those that its solution breaks. The solution is mixed with as much of an even
    channel as makes every constraint hold. The certificate has `lower_bound`, below which no such
    channel comes, certified by weak duality from the solver's multipliers, and `gap`, what the
    release lies above it.

    Reference: Bordenabe, Chatzikokolakis and Palamidessi (2014), sections 3 and 4.

    >>> import math
    >>> import sfumato as sf
    >>> places = sf.priors.location_walk.grid(3, 3)
    >>> even = sf.priors.markov_chain([1 / 9] * 9, [[1 / 9] * 9] * 9, steps=1)
    >>> mechanism = sf.mechanisms.geo_optimal(epsilon=math.log(2) / 2, places=places)
    >>> release = mechanism.protect(even, sf.secrets.basic(0))
    >>> round(release.utility(), 6), release.certificate["gap"] < 1e-9
    (1.072984, True)
    """

    name = "geo_optimal"

    def laws(self, belief: Markov) -> tuple[FloatArray, dict[str, float]]:
        """Solve for the average marginal, mend, and say how far from the optimum it may be."""
        marginal, far = belief.marginals().mean(axis=0), distances_between(self.places)
        law, bound = self._solved(marginal, far)
        cost = float((marginal[:, None] * law * far).sum())
        return law, {"lower_bound": bound, "gap": max(cost - bound, 0.0)}

    def _solved(self, marginal: FloatArray, far: FloatArray) -> tuple[FloatArray, float]:
        if len(far) == 1:
            return np.ones((1, 1)), 0.0
        shrink = np.exp(-self.epsilon * far)
        count, pairs = len(far), spanner(far, DILATION)
        every = np.tile(np.arange(count), len(pairs))
        rows = np.column_stack([np.repeat(pairs, count, axis=0), every])
        with progress("solving linear programs") as update:
            for _ in range(ROUNDS):
                update(description=f"solving a linear program with {len(rows)} constraints")
                law, bound = _solve(marginal[:, None] * far, shrink, rows)
                broken = np.argwhere(shrink[:, :, None] * law[:, None, :] - law[None] > VIOLATION)
                if not len(broken):
                    break
                rows = np.unique(np.concatenate([rows, broken]), axis=0)
        return keep_apart(law, far, self.epsilon), max(bound, 0.0)


def spanner(far: FloatArray, dilation: float) -> NDArray[np.intp]:
    """Return pairs of places whose graph has paths at most `dilation` times the distance.

    Greedily, the closest pairs first: a pair is taken unless a path of the others will do.

    >>> import numpy as np
    >>> from sfumato_location.optimal import spanner
    >>> spanner(np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]]), 1.05).tolist()
    [[0, 1], [1, 0], [1, 2], [2, 1]]
    """
    paths = np.where(np.eye(len(far), dtype=bool), 0.0, np.inf)
    found = []
    one, other = np.triu_indices(len(far), 1)
    for k in np.argsort(far[one, other], kind="stable"):
        a, b = one[k], other[k]
        if paths[a, b] > dilation * far[a, b]:
            through = paths[:, [a]] + far[a, b] + paths[[b]]
            paths = np.minimum(paths, np.minimum(through, through.T))
            found += [(a, b), (b, a)]
    return np.array(found, dtype=np.intp)


def _solve(
    costs: FloatArray, shrink: FloatArray, rows: NDArray[np.intp]
) -> tuple[FloatArray, float]:
    """Return the channel under the constraints (x, y, z) of `rows`, and a certified lower bound.

    For any multipliers μ ≤ 0 of the constraints and λ of the rows' sums, and 0 ≤ C ≤ 1,
    Σ λ + Σ min(0, reduced costs) is at most the value.
    """
    from scipy import sparse
    from scipy.optimize import linprog

    count, number = len(costs), len(rows)
    x, y, z = rows.T
    entries = np.column_stack([shrink[x, y], -np.ones(number)]).ravel()
    columns = np.column_stack([x * count + z, y * count + z]).ravel()
    at = (np.repeat(np.arange(number), 2), columns)
    below: Any = sparse.csr_matrix((entries, at), shape=(number, count * count))
    sums: Any = sparse.csr_matrix(np.kron(np.eye(count), np.ones(count)))
    ones, zeros = np.ones(count), np.zeros(number)
    program = (costs.ravel(), below, zeros, sums, ones)
    found: Any = linprog(*program, bounds=(0.0, 1.0), method="highs-ipm", options=TIGHT)
    if found.status != 0:
        raise Undecidable(
            f"the linear program of {count} places must have a solution; the solver says: "
            f"{found.message}"
        )
    duals, totals = np.minimum(found.ineqlin.marginals, 0.0), found.eqlin.marginals
    reduced = costs.ravel() - below.T @ duals - sums.T @ totals
    size = costs.ravel() - abs(below).T @ duals + sums.T @ np.abs(totals)
    rounding = 4.0 * count * ROUNDOFF * size  # a column has at most 2M entries
    bound = float(totals.sum() + np.minimum(reduced - rounding, 0.0).sum())
    law = np.maximum(found.x.reshape(count, count), 0.0)
    return law / law.sum(axis=1, keepdims=True), bound
