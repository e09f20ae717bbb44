"""The information about one time of a long trace on a regular grid, without an n × n matrix."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import attrs
import numpy as np

from sfumato.beliefs import Gaussian
from sfumato.matrices import Kronecker, Matrix, Toeplitz
from sfumato.matrices.matrix import ROUNDOFF, Array, norms

ITERATIONS = 5_000
RESIDUAL = 1e-11  # relative residual at which the conjugate gradients stop
# Times round the secret to which the first solution is confined; then eightfold.
WINDOW = 4_096


@attrs.frozen(eq=False)
class GridRegression:
    """Z given k independent, alike values of one time is N(Ã x, C + Γ): Ã, and products with C."""

    belief: Gaussian
    entries: tuple[int, ...]
    cross: Array  # Σ_{:,S}, (n, k)
    variance: float  # v, with Σ_SS = v I

    @classmethod
    def of(cls, belief: Gaussian, entries: Sequence[int]) -> GridRegression | None:
        """Return the regression on the entries; None if it is not on a grid, or they not alike."""
        inner = belief.covariance.block(entries, entries)
        alike = np.array_equal(inner, inner[0, 0] * np.eye(len(inner))) and inner[0, 0] > 0
        if not (alike and isinstance(_over_time(belief.covariance), Toeplitz)):
            return None
        cross = belief.covariance.columns(entries)
        return cls(belief, tuple(entries), cross, float(inner[0, 0]))

    @property
    def weights(self) -> Array:
        """Ã = Σ_{:,S} / v."""
        return self.cross / self.variance

    def spread(self, columns: Array) -> Array:
        """Return C Y = Σ Y − Σ_{:,S} Σ_SS⁻¹ Σ_{S,:} Y for one column or several."""
        known = self.cross @ (self.cross.T @ columns) / self.variance
        return np.asarray(self.belief.covariance.apply(columns) - known)

    def spread_error(self, columns: Array) -> Array:
        """Bound the error of each column of C Y: rounded entries, and fast Fourier transforms.

        Stored entries obey |Σ_ij − Σ_ij true| ≤ ε v, so ‖δΣ y‖ ≤ ε v √n ‖y‖₁, and the two factors
        of the part that is known add three times as much. A transform of length m errs by a small
        multiple of log₂ m roundings of the norm.
        """
        n = columns.shape[0]
        entries = self.belief.rounding + 4 * ROUNDOFF
        stored = 6 * entries * self.variance * math.sqrt(n) * np.sum(np.abs(columns), axis=0)
        transform = 32 * math.log2(4 * n) * ROUNDOFF * self.belief.covariance.norm_bound()
        return np.asarray(stored + transform * np.linalg.norm(columns, axis=0))

    def weights_error(self) -> float:
        """Bound the error of each column of Ã."""
        return 4 * (self.belief.rounding + 4 * ROUNDOFF) * math.sqrt(len(self.cross))

    def ridge_solutions(self, ridge: float) -> Iterator[Array]:
        """Yield (C/ridge + I)⁻¹Ã for wider and wider windows round the secret, zero outside.

        A correlation that fades leaves nothing to read far from the secret, and then a window costs
        a few products of full length where the whole solution takes dozens.
        """
        d, times = self.belief.dimensions, self.belief.times
        width, secret = WINDOW, self.entries[0] // d
        while True:
            width = min(width, times)
            start = min(max(secret - width // 2, 0), times - width)
            inside = slice(start * d, (start + width) * d)
            part = self._window(inside, width)
            found = np.zeros_like(self.cross)
            for i, column in enumerate(part.weights.T):
                found[inside, i] = part.solve(ridge, column)
            yield found
            if width == times:
                return
            width *= 8

    def _window(self, inside: slice, width: int) -> GridRegression:
        covariance, d = self.belief.covariance, self.belief.dimensions
        part: Matrix = Toeplitz(_over_time(covariance).block(np.arange(width), [0])[:, 0])
        if isinstance(covariance, Kronecker):
            part = Kronecker(part, covariance.across)
        belief = Gaussian(part, dimensions=d, rounding=self.belief.rounding)
        return attrs.evolve(self, belief=belief, cross=self.cross[inside])

    def solve(self, ridge: float, column: Array) -> Array:
        """Return (C/ridge + I)⁻¹a by conjugate gradients, as far as they come."""
        from scipy.sparse.linalg import LinearOperator, cg

        def product(vector: Array) -> Array:
            return np.asarray(self.spread(vector) / ridge + vector)

        operator = LinearOperator((column.size,) * 2, matvec=product, dtype=np.float64)
        return np.asarray(cg(operator, column, rtol=RESIDUAL, atol=0.0, maxiter=ITERATIONS)[0])

    def gains(self, readings: Array, unit: float) -> tuple[Array, Array]:
        """Return unit · (2 yᵀã − yᵀC y) for each column y = reading/unit, and bounds of the error.

        `readings` are in units of 1/unit: their squares would vanish for a huge budget.
        """
        moved = self.spread(readings) / unit
        terms = 2 * np.sum(readings * self.weights, axis=0) - np.sum(readings * moved, axis=0)
        lengths, shifted, spread = (norms(x) for x in (readings, self.weights, moved))
        sums = _sum_error(len(readings)) * lengths * (2 * shifted + spread)
        inputs = lengths * (2 * self.weights_error() + self.spread_error(readings) / unit)
        return terms, sums + inputs

    def information(self, readings: Array, noise: Matrix, unit: float) -> tuple[Array, float]:
        """Return M about the k values, and a bound of its relative error, from any readings Y.

        With η below the spectrum of Γ and R = Ã − (C + Γ)Y,

            M = ÃᵀY + YᵀÃ − Yᵀ(C + Γ)Y + Rᵀ(C + Γ)⁻¹R,   0 ⪯ the last term ⪯ RᵀR/η :

        no further solve, whatever Y is. Y = `readings`/unit.
        """
        weights = self.weights
        total = (self.spread(readings) + noise.apply(readings)) / unit
        lengths = norms(readings)
        value = readings.T @ weights
        value = value + value.T - readings.T @ total
        value = (value + value.T) / 2
        off = (self.spread_error(readings) + noise.error_bound() * lengths) / unit
        off += self.weights_error() + _sum_error(len(readings)) * norms(total)
        missed = norms(weights - total) + off
        floor = 0.99 * noise.smallest_eigenvalue()
        left = float(np.sum(missed**2)) * (unit / floor) if floor > 0 else math.inf
        least = float(np.diagonal(value).min())
        slack = (float(np.sum(2 * lengths * off)) + left) / least if least > 0 else math.inf
        # M/(1 + ρ) ≤ M_true must hold as well as M_true ≤ M/(1 − ρ).
        return value / unit, slack / (1 - slack) if slack < 0.5 else math.inf


def grid_information(
    belief: Gaussian, noise: Matrix, entries: Sequence[int], error: float
) -> tuple[Array, float] | None:
    """Return M about one time's entries and its relative error; None where no grid helps.

    The readings that tell most are (C + Γ)⁻¹Ã. For independent noise σI, and for the best noise of
    total variance kσ, which is σ times a projector on a range that holds them, they are
    (C + σI)⁻¹Ã, with σ the largest eigenvalue of Γ. The window is widened until the relative error
    is at most `error`, or it is the whole trace.
    """
    regression = GridRegression.of(belief, entries)
    if regression is None:
        return None
    pushed = noise.apply(regression.weights)
    again = noise.apply(pushed)
    sigma = float(np.max(norms(again) / np.maximum(norms(pushed), 1e-300)))
    if not sigma > 0:
        return None
    best = None
    for readings in regression.ridge_solutions(sigma):
        found = regression.information(readings, noise, sigma)
        best = found if best is None or found[1] < best[1] else best
        if best[1] <= error:
            break
    return best


def _over_time(covariance: Matrix) -> Matrix:
    return covariance.time if isinstance(covariance, Kronecker) else covariance


def _sum_error(terms: int) -> float:
    """Relative rounding of a sum, in any order."""
    return (terms + 8) * ROUNDOFF
