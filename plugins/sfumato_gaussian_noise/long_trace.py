"""The best noise for one secret of a trace too long for a dense matrix."""

from __future__ import annotations

import math

import attrs
import numpy as np

from sfumato.beliefs import Gaussian
from sfumato.errors import SolverFailed
from sfumato.matrices import Kronecker, Matrix, Toeplitz
from sfumato.matrices.matrix import ROUNDOFF, Array
from sfumato_gaussian_noise import design
from sfumato_gaussian_noise.design import Certified, ClassLosses, DualBound, Solution, Task

ITERATIONS = 5_000
RESIDUAL = 1e-11  # relative residual at which the conjugate gradients stop
# Times round the secret to which the first attempt confines the noise; then eightfold.
WINDOW = 4_096
# Share of the tolerance at which a window is wide enough: a wider one could gain no more.
CLOSE = 0.01


@attrs.frozen(eq=False)
class _GridBlock:
    """One ball of k independent, alike values on a regular grid: A, and products with C."""

    belief: Gaussian
    cross: Array  # Σ_{:,S}, (n, k)
    variance: float
    radius: float

    @property
    def shifts(self) -> Array:
        return self.radius / self.variance * self.cross

    def spread(self, columns: Array) -> Array:
        """Return C Y = Σ Y − Σ_{:,S} Σ_SS⁻¹ Σ_{S,:} Y for one column or several."""
        known = self.cross @ (self.cross.T @ columns) / self.variance
        return np.asarray(self.belief.covariance.apply(columns) - known)

    def window(self, start: int, width: int) -> _GridBlock:
        """Return the block of the times start, ..., start + width − 1 alone."""
        covariance = self.belief.covariance
        dimensions = self.belief.dimensions
        part: Matrix = Toeplitz(_over_time(covariance).block(np.arange(width), [0])[:, 0])
        if isinstance(covariance, Kronecker):
            part = Kronecker(part, covariance.across)
        inside = slice(start * dimensions, (start + width) * dimensions)
        belief = Gaussian(part, dimensions=dimensions, rounding=self.belief.rounding)
        return attrs.evolve(self, belief=belief, cross=self.cross[inside])

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

    def shift_error(self) -> float:
        """Bound the error of each column of A."""
        entries = self.belief.rounding + 4 * ROUNDOFF
        return 4 * entries * self.radius * math.sqrt(len(self.cross))


def long_trace(task: Task) -> Certified | None:
    """Return the design for one ball on a regular grid, at any length; None if it is not that.

    The formula of `one_ball` needs (C + (B/k) I)⁻¹A: conjugate gradients with products by fast
    Fourier transforms, first on a window round the secret. Let Y be what they return for the budget
    (1 − κ)B, and zero outside the window. Both certificates hold for any Y whatever: the lower
    bound as in `dual_bound`, and, the floor η I being part of Γ,

        M = YᵀA + AᵀY − Yᵀ(C + Γ)Y + Rᵀ(C + Γ)⁻¹R ⪯ YᵀA + AᵀY − Yᵀ(C + Γ)Y + RᵀR/η,
        R = A − (C + Γ)Y,

    for the very Γ that is sampled, with no further solve.
    """
    block = _grid_block(task)
    if block is None:
        return None
    secret = task.question.entries[0] // task.belief.dimensions
    narrow = attrs.evolve(task, tolerance=CLOSE * task.tolerance)
    width, times = WINDOW, task.belief.times
    while width < times:
        start = min(max(secret - width // 2, 0), times - width)
        found = _design_in_window(task, block, start, width)
        if narrow.met(found):
            return found
        width *= 8
    return _design_in_window(task, block, 0, times)


def _design_in_window(task: Task, block: _GridBlock, start: int, width: int) -> Certified:
    """Return the design with Y solved for on some times and zero on all others, certified on all.

    A correlation that fades leaves nothing to read far from the secret, and then the window costs
    a few products of full length where the whole solution takes dozens.
    """
    size, count = block.cross.shape
    ridge = (1 - task.floor) * task.budget / count
    part = block.window(start, width)
    # Y is kept in units of 1/ridge: its squares would vanish for a huge budget.
    readings = np.zeros((size, count))
    inside = slice(start * task.belief.dimensions, (start + width) * task.belief.dimensions)
    for i, column in enumerate(part.shifts.T):
        readings[inside, i] = _solve(part, ridge, column)
    lengths = np.linalg.norm(readings, axis=0)
    factor = math.sqrt(task.budget / count) * readings / lengths
    noise = task.sampled_noise(Solution(factor))
    floor = task.floor * task.budget / size
    bound, worst = _certificates(block, readings, noise, ridge=ridge, floor=floor)
    losses = ClassLosses(worst, "single")
    return Certified(noise, losses, bound, "closed form, conjugate gradients on the grid")


def _grid_block(task: Task) -> _GridBlock | None:
    """Return the block of one prior on a regular grid and one secret time; else None."""
    covariance, groups = task.belief.covariance, task.question.groups
    if task.independent is not None or not task.members.is_single:
        return None
    if len(groups) > 1 or len(groups[0]) > 1 or not isinstance(_over_time(covariance), Toeplitz):
        return None
    ((chosen,),) = groups
    inner = covariance.block(chosen, chosen)
    if not (inner[0, 0] > 0 and design.is_isotropic(inner)):
        return None
    cross = covariance.columns(chosen)
    return _GridBlock(task.belief, cross, float(inner[0, 0]), task.question.radii[0])


def _over_time(covariance: Matrix) -> Matrix:
    return covariance.time if isinstance(covariance, Kronecker) else covariance


def _solve(block: _GridBlock, ridge: float, shift: Array) -> Array:
    """Return (C/ridge + I)⁻¹a by conjugate gradients."""
    from scipy.sparse.linalg import LinearOperator, cg

    def product(column: Array) -> Array:
        return np.asarray(block.spread(column) / ridge + column)

    size = shift.size
    operator = LinearOperator((size, size), matvec=product, dtype=np.float64)
    solution, unsettled = cg(operator, shift, rtol=RESIDUAL, atol=0.0, maxiter=ITERATIONS)
    if unsettled:
        left = np.linalg.norm(shift - product(solution)) / np.linalg.norm(shift)
        raise SolverFailed(
            f"conjugate gradients must converge within {ITERATIONS} steps; their relative residual "
            f"is {left:.2g}: allow a larger budget."
        )
    return np.asarray(solution)


def _certificates(
    block: _GridBlock, readings: Array, noise: Matrix, *, ridge: float, floor: float
) -> tuple[DualBound, float]:
    """Return the bound of `dual_bound` for weights 1/k, and the upper bound of λ_max(M)."""
    n, count = readings.shape
    shifts, fluctuating = block.shifts, block.spread(readings) / ridge
    total = fluctuating + noise.apply(readings) / ridge
    lengths, moved, spread, whole = (
        np.linalg.norm(columns, axis=0) for columns in (readings, shifts, fluctuating, total)
    )
    inputs = block.spread_error(readings) / ridge
    sums = (math.sqrt(n) + 8) * ROUNDOFF  # pairwise sums err far less

    terms = 2 * np.sum(readings * shifts, axis=0) - np.sum(readings * fluctuating, axis=0)
    off = sums * lengths * (2 * moved + spread) + lengths * (2 * block.shift_error() + inputs)
    price = float(np.linalg.eigvalsh(readings.T @ readings)[-1]) / count
    bound = DualBound(float(np.mean(terms - off)), price * (1 + 4 * n * ROUNDOFF), ridge)

    value = readings.T @ shifts
    value = value + value.T - readings.T @ total
    off = inputs + noise.error_bound() * lengths / ridge + block.shift_error() + sums * whole
    missed = np.linalg.norm(shifts - total, axis=0) + off
    slack = float(np.sum(2 * lengths * off) + np.sum(missed**2) * (ridge / (0.99 * floor)))
    worst = (float(np.linalg.eigvalsh((value + value.T) / 2)[-1]) + slack) / ridge
    return bound, worst
