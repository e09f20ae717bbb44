"""The one door to exact arithmetic: rational numbers and real balls where float64 cannot decide.

Ordinary code is float64 with an error bound. Where that does not suffice it asks here. Beliefs and
matrices give formulas in whatever numbers they are handed (`Gaussian.formula`, `Matrix.formula`):
rational ones hold stored numbers as they are, balls hold what a kernel's parameters define, to any
precision. A ball counts if its value is finite and its radius small, never as no error occurred.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar

import attrs
import numpy as np

from sfumato.beliefs import Gaussian
from sfumato.beliefs.gaussian import ExactBlock
from sfumato.errors import Undecidable
from sfumato.matrices.matrix import ROUNDOFF, Array, Indices, Matrix

if TYPE_CHECKING:
    from sfumato.inference.gaussian.fisher_information import SecretEntries

# The precision is doubled from the first to, at most, the last number of bits. Correlations of
# float64 parameters come as close to one as 1 − 10⁻⁶¹⁶, which the last can tell.
FIRST_BITS, LAST_BITS = 256, 4096
TARGET = 1e-10  # relative radius at which a ball is accepted
MOST_IN_BALLS = 400  # largest trace for balls, whose cost grows like n³ and with the precision
MOST_RATIONAL = 32  # largest matrix for rational numbers, whose digits grow with every step

T = TypeVar("T")


class _Numbers:
    def number(self, value: Any) -> Any:
        raise NotImplementedError

    def matrix(self, rows: Any) -> Any:
        raise NotImplementedError

    def entrywise(self, one: Any, other: Any) -> Any:
        """Return the entrywise product of two matrices."""
        pairs = zip(one.tolist(), other.tolist(), strict=True)
        return self.matrix([[x * y for x, y in zip(a, b, strict=True)] for a, b in pairs])

    def block(self, matrix: Any, rows: Indices, columns: Indices) -> Any:
        """Return the entries at `rows` and `columns`."""
        return self.matrix([[matrix[int(i), int(j)] for j in columns] for i in rows])

    def of_times(
        self, covariance: Callable[[Any, Any], Any], times: Sequence[float], *, by_lag: bool
    ) -> Any:
        """Return the covariances of all pairs of times; `by_lag`, from those with the first."""
        t = [self.number(time) for time in times]
        if not by_lag:
            return self.matrix([[covariance(one, other) for other in t] for one in t])
        column, every = [covariance(one, t[0]) for one in t], range(len(t))
        return self.matrix([[column[abs(i - j)] for j in every] for i in every])


class Rationals(_Numbers):
    """Rational numbers, which hold sums and products of float64 numbers exactly."""

    def number(self, value: Any) -> Any:
        """Return a number exactly."""
        from flint import fmpq

        return fmpq(*value.as_integer_ratio()) if isinstance(value, float) else value

    def matrix(self, rows: Any) -> Any:
        """Return a matrix from a float64 array, or from rows of numbers."""
        from flint import fmpq_mat

        table = [[self.number(value) for value in row] for row in _rows(rows)]
        return fmpq_mat(table) if table and table[0] else fmpq_mat(len(table), 0)


class Balls(_Numbers):
    """Real balls at flint's precision, which holds for the whole process: see `precision`."""

    def number(self, value: float) -> Any:
        """Return a number exactly."""
        from flint import arb

        return arb(value)

    def matrix(self, rows: Any) -> Any:
        """Return a matrix from a float64 array, or from rows of numbers."""
        from flint import arb_mat

        table = _rows(rows)
        return arb_mat(table) if table and table[0] else arb_mat(len(table), 0)


def _rows(rows: Any) -> list[Any]:
    return list(rows.tolist() if isinstance(rows, np.ndarray) else rows)


@contextlib.contextmanager
def precision(bits: int) -> Iterator[None]:
    """Set flint's global precision, and restore it afterwards."""
    from flint import ctx

    before = ctx.prec
    ctx.prec = bits
    try:
        yield
    finally:
        ctx.prec = before


def certify(attempt: Callable[[Balls], T | None]) -> T | None:
    """Return what the attempt finds at the first precision that suffices; None if none does.

    An attempt returns None for radii that are too large, or fails to divide by a ball around zero.
    """
    bits = FIRST_BITS
    while bits <= LAST_BITS:
        with precision(bits), contextlib.suppress(ZeroDivisionError):
            found = attempt(Balls())
            if found is not None:
                return found
        bits *= 2
    return None


def balls_apply(belief: Gaussian) -> bool:
    """Whether the true covariance is known to any precision, of a trace short enough to use it."""
    return belief.is_known_exactly and belief.entries <= MOST_IN_BALLS


def in_balls(belief: Gaussian, bits: int) -> Any:
    """Return the true covariance in balls of that precision, as a flint `arb_mat`."""
    with precision(bits):
        return belief.formula(Balls())


def in_fractions(matrix: Matrix, *, sampled: bool = False) -> list[list[Fraction]]:
    """Return a matrix, or the covariance of what it samples, in Python's rational numbers."""
    rows = matrix.formula(Rationals(), sampled=sampled).tolist()
    return [[Fraction(int(value.p), int(value.q)) for value in row] for row in rows]


# --- definiteness and determinants ---------------------------------------------------------------


def is_definite(matrix: Array) -> bool:
    """Whether a symmetric array of float64 numbers is positive definite as it stands."""
    return _definiteness(Rationals().matrix(matrix)) > 0


def _definiteness(matrix: Any) -> int:
    """Return 1 for a positive definite rational matrix, 0 for a semidefinite, −1 for any other.

    As the roots of its characteristic polynomial are real, none is negative if and only if the
    coefficients alternate in sign (Descartes).
    """
    coefficients = matrix.charpoly().coeffs()
    if any(c * (-1) ** (matrix.nrows() - k) < 0 for k, c in enumerate(coefficients)):
        return -1
    return int(coefficients[0] != 0)


def _require_semidefinite(matrix: Any) -> None:
    if _definiteness(matrix) < 0:
        raise Undecidable(
            "the stored covariance must be positive semidefinite in exact arithmetic; got one that "
            "rounding has made indefinite: give the belief its exact form."
        )


def are_independent(belief: Gaussian, entries: list[int]) -> bool | None:
    """Whether no entry is a linear function of the others; None where that cannot be decided."""
    if belief.exact is None and belief.rounding == 0 and len(entries) <= MOST_RATIONAL:
        return _definiteness(belief.covariance.formula(Rationals(), entries)) > 0
    if not balls_apply(belief):
        return None

    def attempt(numbers: Balls) -> bool | None:
        return is_positive_definite(numbers.block(belief.formula(numbers), entries, entries))

    return certify(attempt)


def pivots(matrix: Any) -> list[Any]:
    """Return the pivots of a symmetric ball matrix, up to the first that is not surely positive.

    All n of them, each positive, mean that every matrix in the balls is positive definite, and
    their product is the determinant; a surely negative last one means that none is. Those of
    [A B; Bᵀ C] are those of A and of C − BᵀA⁻¹B.
    """
    size = matrix.nrows()
    if size == 1:
        return [matrix[0, 0]]
    numbers, half = Balls(), range(size // 2)
    rest = range(size // 2, size)
    corner = numbers.block(matrix, half, half)
    first = pivots(corner)
    if len(first) < len(half) or not first[-1] > 0:
        return first
    side = numbers.block(matrix, half, rest)
    try:
        reduced = solve(corner, side)
    except ZeroDivisionError:  # too few bits to invert what has been shown to be definite
        return first[:-1]
    return first + pivots(numbers.block(matrix, rest, rest) - side.transpose() * reduced)


def is_positive_definite(matrix: Any) -> bool | None:
    """Return whether a ball matrix is positive definite; None where its precision cannot tell."""
    found = pivots(matrix)
    if len(found) == matrix.nrows() and found[-1] > 0:
        return True
    return False if found and found[-1] <= 0 else None


def log_determinant(matrix: Any) -> Any:
    """Return the logarithm of a determinant in balls; None where definiteness is not certain."""
    found = pivots(matrix)
    if len(found) < matrix.nrows() or not found[-1] > 0:
        return None
    return functools.reduce(lambda total, pivot: total + pivot.log(), found, Balls().number(0))


def solve(matrix: Any, right: Any) -> Any:
    """Return A⁻¹B in balls; the other algorithms may switch to one without a useful radius."""
    return matrix.solve(right, algorithm="precond")


def condition(numbers: _Numbers, covariance: Any, chosen: list[int]) -> tuple[Any, Any]:
    """Return Ã = Σ_{:,S} Σ_SS⁻¹ and C = Σ − Ã Σ_{S,:}, in either arithmetic."""
    cross = numbers.block(covariance, range(covariance.nrows()), chosen)
    inner = numbers.block(cross, chosen, range(len(chosen)))
    right = cross.transpose()
    solved = solve(inner, right) if isinstance(numbers, Balls) else inner.solve(right)
    weights = solved.transpose()
    return weights, covariance - weights * right


def midpoints(balls: Any) -> tuple[Array, Array] | None:
    """Return the midpoints and radii of a ball matrix; None unless all are finite in float64."""
    rows = balls.tolist()
    middle = np.array([[float(ball.mid()) for ball in row] for row in rows])
    radius = np.array([[float(ball.rad()) for ball in row] for row in rows])
    return (middle, radius) if np.all(np.isfinite(middle) & np.isfinite(radius)) else None


# --- entries that are equal ----------------------------------------------------------------------


@attrs.frozen(eq=False, slots=False)
class Differences:
    """Which entries are equal with probability one, as far as stored numbers and balls tell."""

    belief: Gaussian

    def is_copy(self, one: int, other: int) -> bool:
        """Whether Var(X_one − X_other) = Σ_oo + Σ_pp − 2 Σ_op is exactly zero."""
        stored = self.belief.covariance.formula(Rationals(), [one, other])
        if stored[0, 0] + stored[1, 1] != 2 * stored[0, 1]:
            return False
        block = self.belief.exact
        if one == other or block is None:
            return True
        if isinstance(block, ExactBlock) and block.definite:
            return block.entries[one] == block.entries[other]
        with precision(LAST_BITS):
            balls = self._balls
            return not balls[one, one] + balls[other, other] - 2 * balls[one, other] > 0

    @functools.cached_property
    def _balls(self) -> Any:
        return in_balls(self.belief, LAST_BITS)


# --- Fisher information --------------------------------------------------------------------------


# M about the representatives (None: infinite), its relative error, and how it was found.
ExactInformation = tuple[Array | None, float, str]


def information(belief: Gaussian, noise: Matrix, secret: SecretEntries) -> ExactInformation | None:
    """Return M = Ãᵀ(C + Γ)⁺Ã; None where exact arithmetic does not apply or cannot decide.

    Γ is formed from the float64 factors that the noise is sampled with, Ã = Σ_{:,S} Σ_SS⁻¹ and
    C = Σ − Ã Σ_{S,:} from stored numbers that are the belief itself, or from its parameters.
    """
    if belief.definite and secret.entries.size <= MOST_RATIONAL:
        own = noise.formula(Rationals(), secret.entries, sampled=True)
        if own.rank() < own.nrows():  # for a definite prior, if and only if the loss is infinite
            return None, 0.0, "the noise of the secret entries is singular"
    stored = belief.rounding == 0 and belief.exact is None
    if belief.entries <= MOST_RATIONAL and (stored or secret.others.size == 0):
        return _rational_information(belief, noise, secret)
    if balls_apply(belief):
        chosen = secret.representatives.tolist()
        return certify(lambda numbers: _ball_information(numbers, belief, noise, chosen))
    return None


def _rational_information(
    belief: Gaussian, noise: Matrix, secret: SecretEntries
) -> ExactInformation:
    """Return M from stored numbers; infinite if and only if Ã leaves the range of C + Γ.

    The covariance does not enter where every entry is a constant or a copy of a secret one.
    """
    numbers = Rationals()
    total = noise.formula(numbers, sampled=True)
    if secret.others.size == 0:
        weights = numbers.matrix(secret.copies)
    else:
        covariance = belief.covariance.formula(numbers)
        try:
            weights, left = condition(numbers, covariance, secret.representatives.tolist())
        except ZeroDivisionError as error:
            raise Undecidable(
                "a definite belief must have a definite covariance of the secret entries; got a "
                "singular one: give the belief its exact form."
            ) from error
        total += left
    _require_semidefinite(total)
    solved = _solve_within_range(numbers, total, weights)
    if solved is None:
        return None, 0.0, "a difference is released without noise"
    rows = (weights.transpose() * solved).tolist()
    try:
        matrix = np.array([[int(x.p) / int(x.q) for x in row] for row in rows])
    except OverflowError as error:
        raise Undecidable("the loss must fit in float64; got a larger one.") from error
    return matrix, 1e-14, "rational numbers"


def _solve_within_range(numbers: Rationals, matrix: Any, right: Any) -> Any:
    """Return some X with A X = B; None where B leaves the range of A."""
    size, pairs = matrix.nrows(), zip(matrix.tolist(), right.tolist(), strict=True)
    reduced, rank = numbers.matrix([a + b for a, b in pairs]).rref()
    solution = [[0] * right.ncols() for _ in range(size)]
    for row in reduced.tolist()[:rank]:
        pivot = next(j for j, value in enumerate(row) if value != 0)
        if pivot >= size:
            return None
        solution[pivot] = row[size:]
    return numbers.matrix(solution)


def _ball_information(
    numbers: Balls, belief: Gaussian, noise: Matrix, chosen: list[int]
) -> ExactInformation | None:
    """Return an upper end of M in Loewner order.

    If every entry has a radius of at most ε √(M_ii M_jj), M lies within k ε diag(M) of the
    midpoints.
    """
    weights, left = condition(numbers, belief.formula(numbers), chosen)
    total = left + noise.formula(numbers, sampled=True)
    found = midpoints(weights.transpose() * solve(total, weights))
    if found is None:
        return None
    middle, radius = (found[0] + found[0].T) / 2, found[1]
    scale = np.sqrt(np.maximum(np.diag(middle), 0.0))
    if not np.all(scale > 0):
        return None
    # Midpoints are rounded to float64 (twice: conversion and symmetrising).
    relative = radius / scale[:, None] / scale[None, :] + 4 * ROUNDOFF
    error = len(middle) * float(np.max(relative)) * (1 + 1e-9)
    if not error <= TARGET:
        return None
    return middle + error * np.diag(np.diag(middle)), 2 * error, "ball arithmetic"


def scalar_informations(
    belief: Gaussian, noise: Matrix, entries: list[int]
) -> dict[int, tuple[float, float]]:
    """Return upper ends of M_ss = 1/V_ss − 1/Σ_ss and relative errors, from one solve for all.

    V = Σ − Σ K⁻¹ Σ cancels almost wholly, which costs bits and nothing else.
    Entries whose ball stays wide, such as those of an infinite loss, are left out.
    """
    found: dict[int, tuple[float, float]] = {}

    def attempt(numbers: Balls) -> bool | None:
        left = [entry for entry in entries if entry not in found]
        covariance = belief.formula(numbers)
        columns = numbers.block(covariance, range(belief.entries), left)
        solved = solve(covariance + noise.formula(numbers, sampled=True), columns)
        for position, entry in enumerate(left):
            own = covariance[entry, entry]
            one, other = (
                numbers.block(m, range(belief.entries), [position]) for m in (columns, solved)
            )
            gained = (one.transpose() * other)[0, 0]
            rest = own - gained
            if rest > 0 and own > 0 and (ends := _upper_end(gained / (rest * own))):
                found[entry] = ends
        return len(found) == len(entries) or None

    certify(attempt)
    return found


def _upper_end(ball: Any) -> tuple[float, float] | None:
    """Return an upper end of a positive ball and its relative error; None if it is too wide."""
    middle, radius = float(ball.mid()), float(ball.rad())
    if not (0 < middle < math.inf and radius <= TARGET * middle):
        return None
    error = radius / middle + 4 * ROUNDOFF
    return middle * (1 + error), 2 * error


def inverse(belief: Gaussian, entries: list[int]) -> tuple[Array, float] | None:
    """Return Σ_SS⁻¹ and its relative error in the 2-norm; None where balls cannot tell."""

    def attempt(numbers: Balls) -> tuple[Array, float] | None:
        block = numbers.block(belief.formula(numbers), entries, entries)
        found = midpoints(solve(block, numbers.matrix(np.eye(len(entries)))))
        if found is None:
            return None
        middle, radius = (found[0] + found[0].T) / 2, found[1]
        error = float(np.linalg.norm(radius)) / float(np.linalg.norm(middle, 2))
        error += 4 * len(entries) * ROUNDOFF
        return (middle, error) if error <= TARGET else None

    return certify(attempt) if balls_apply(belief) else None


# --- mutual information --------------------------------------------------------------------------


def log_determinant_ratio(belief: Gaussian, noise: Matrix) -> tuple[float, float, str] | None:
    """Return log (det(Σ + Γ) / det Γ), its relative error and how; None where it is not decided.

    Where Γ is singular, the determinants are those on its range, and infinite if Σ leaves it.
    """
    if belief.rounding == 0 and belief.exact is None and belief.entries <= MOST_RATIONAL:
        return _rational_ratio(belief, noise)
    if not balls_apply(belief):
        return None
    return certify(lambda numbers: _ball_ratio(numbers, belief, noise))


def _rational_ratio(belief: Gaussian, noise: Matrix) -> tuple[float, float, str]:
    numbers = Rationals()
    added = noise.formula(numbers, sampled=True)
    total = belief.covariance.formula(numbers) + added
    _require_semidefinite(total)
    reduced, rank = added.rref()
    if total.rank() > rank:
        return math.inf, 0.0, "a direction is released without noise"
    basis = [next(j for j, x in enumerate(row) if x != 0) for row in reduced.tolist()[:rank]]
    if not basis:
        return 0.0, 0.0, "nothing moves"
    ratio = numbers.block(total, basis, basis).det() / numbers.block(added, basis, basis).det()
    if ratio < 2:
        value = math.log1p(int((ratio - 1).p) / int(ratio.q))
    else:  # numerator and denominator may each exceed float64; their logarithms do not
        value = math.log(int(ratio.p)) - math.log(int(ratio.q))
    return value, 1e-12, "rational numbers"


def _ball_ratio(numbers: Balls, belief: Gaussian, noise: Matrix) -> tuple[float, float, str] | None:
    added = noise.formula(numbers, sampled=True)
    logs = [log_determinant(matrix) for matrix in (belief.formula(numbers) + added, added)]
    if any(value is None for value in logs):
        return None
    ball = logs[0] - logs[1]
    middle, radius = float(ball.mid()), float(ball.rad())
    if not (0 < middle < math.inf and radius <= TARGET * middle):
        return None
    return middle, radius / middle + 1e-15, "ball arithmetic"
