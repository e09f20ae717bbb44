"""The adversary's gain in precision about secret entries, with a certified error."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.errors import Incompatible, OutsideHypotheses, ParameterError, Undecidable
from sfumato.inference import exact
from sfumato.inference.gaussian.grid_information import grid_information
from sfumato.matrices import Dense, Diagonal
from sfumato.matrices.matrix import (
    MAX_DENSE,
    ROUNDOFF,
    Array,
    Matrix,
    as_indices,
    norms,
    refuse_dense,
)

EXACT = 1e-5  # largest certified relative error of an information that still counts as exact
UPPER = 0.5  # largest certified relative error at which float64 still gives an upper bound
TINY = 1e-303  # below this, float64 runs out of digits, and relative errors say nothing


@attrs.frozen(eq=False)
class Information:
    """The Fisher information M of a release about the secret entries.

    Two values of the secret that differ by Δ have Rényi divergence (λ/2) ΔᵀMΔ of order λ.
    The relative error ρ is certified: −ρ D ⪯ M_true − M ⪯ ρ D for D = diag(M). The supremum of
    ΔᵀMΔ over a ball or a product of balls is then right to within the same ρ: such a set is closed
    under changes of sign, and ΔᵀDΔ is the average of ΔᵀMΔ over the signs of Δ.
    """

    matrix: Array  # M, (k, k); zero off the support, infinite on the diagonal where `infinite`
    # Orthonormal basis (k, r) of the differences that the belief allows, range(Σ_SS): a vector for
    # each free value, over the entries that are copies of it.
    support: Array
    infinite: bool  # whether some allowed difference is revealed exactly
    relative_error: float
    how: str

    @property
    def bound(self) -> Literal["exact", "upper"]:
        """Whether M is exact to 1e-5, or an upper bound in Loewner order."""
        return "exact" if self.relative_error <= EXACT else "upper"

    @classmethod
    def unbounded(cls, size: int, how: str) -> Information:
        """Return the information of a release that reveals some difference exactly."""
        matrix = np.diag(np.full(size, np.inf))
        return cls(matrix, np.eye(size), infinite=True, relative_error=0.0, how=how)

    @classmethod
    def bounding(cls, matrix: Array) -> Information:
        """Return a matrix that bounds an information in Loewner order; infinite if not finite.

        It is raised a little, so that what is computed from it bounds in spite of rounding.
        """
        if not np.all(np.isfinite(matrix)):
            return cls.unbounded(len(matrix), "no bound")
        support = np.eye(len(matrix))
        raised = matrix * (1 + 1e-13)
        return cls(raised, support, infinite=False, relative_error=0.0, how="a bound")

    @classmethod
    def spread(cls, matrix: Array, copies: Array, error: float, how: str) -> Information:
        """Return the information about k entries X_S = T Y from that about the r free values Y.

        A difference Δ = T δ of the entries is δ = T⁺Δ of the values, so M = T⁺ᵀ M_Y T⁺. As every
        row of T has at most one entry, 1, a change of sign of a value is one of its copies, and the
        error carries over as it is.
        """
        counts = np.sum(copies, axis=0)
        inverse = copies / counts
        found = inverse @ matrix @ inverse.T
        return cls(found, copies / np.sqrt(counts), infinite=False, relative_error=error, how=how)


def fisher_information(
    belief: Gaussian, channel: AdditiveGaussian, entries: Sequence[int]
) -> Information:
    """Return the Fisher information M of Z = X + G about the entries X_S.

    Z given X_S = x is Gaussian with mean Ã x + const, Ã = Σ_{:,S} Σ_SS⁻¹, and covariance C + Γ,
    C = Σ − Ã Σ_{S,:}, which does not depend on x. So
        M = Ãᵀ (C + Γ)⁻¹ Ã = V_SS⁻¹ − Σ_SS⁻¹,

    V being the posterior covariance of X given Z: posterior precision is prior precision plus M.
    This holds for every Γ, also one that correlates the noise of S with the rest.
    Float64 is used where its error is certified to be at most 1e-5; then exact arithmetic, or an
    upper bound; else `Undecidable` is raised.

    >>> from sfumato.beliefs import Gaussian
    >>> from sfumato.channels import AdditiveGaussian
    >>> from sfumato.inference.gaussian.fisher_information import fisher_information
    >>> from sfumato.matrices import Diagonal
    >>> belief = Gaussian(Diagonal([1.0, 1.0]))
    >>> fisher_information(belief, AdditiveGaussian(Diagonal([0.5, 0.5])), [0]).matrix
    array([[2.]])
    """
    check_fit(belief, channel)
    noise = channel.noise
    if belief.entries > MAX_DENSE and not belief.definite:
        # Copies of the secret are looked for only where one without noise would give it away.
        if not noise.smallest_eigenvalue() > 0:
            raise too_long(belief)
        belief = attrs.evolve(belief, definite=True)
    secret = secret_entries(belief, entries)
    if secret.representatives.size == 0:
        return Information.spread(np.zeros((0, 0)), secret.spread, 0.0, "constants")
    if reason := _structurally_infinite(belief, noise, secret):
        return Information.unbounded(secret.entries.size, reason)
    kept = _without_noiseless_copies(belief, noise, secret)
    if len(kept) < belief.entries:
        chosen = [kept.index(entry) for entry in secret.entries.tolist()]
        smaller = attrs.evolve(
            belief,
            covariance=Dense(belief.covariance.block(kept, kept)),
            mean=None,  # which no information depends on
            exact=belief.exact_block(kept),
            dimensions=1,
        )
        rest = AdditiveGaussian(Diagonal(noise.diagonal()[kept]))
        return fisher_information(smaller, rest, chosen)
    return _certified(belief, noise, secret)


def _certified(belief: Gaussian, noise: Matrix, secret: SecretEntries) -> Information:
    """Return the information from float64, from exact arithmetic, or as an upper bound."""
    copies = secret.spread
    if belief.entries <= MAX_DENSE:
        matrix, error = fisher_form(belief, noise, secret)
    else:
        entries = secret.entries.tolist()
        one_time = len({entry // belief.dimensions for entry in entries}) == 1
        read = grid_information(belief, noise, entries, EXACT) if one_time else None
        if read is None:
            raise too_long(belief)
        matrix, error = read
    if error <= EXACT:
        return Information.spread(matrix, copies, error, "float64, error certified")
    if found := exact.information(belief, noise, secret):
        if found[0] is None:
            return Information.unbounded(len(copies), found[2])
        return Information.spread(found[0], copies, found[1], found[2])
    if error < UPPER:
        raised = matrix + error * np.diag(np.diag(matrix))
        how = "float64, raised by the certified error"
        return Information.spread(raised, copies, 2 * error / (1 - error), how)
    raise Undecidable(_why(belief, secret))


def _without_noiseless_copies(belief: Gaussian, noise: Matrix, secret: SecretEntries) -> list[int]:
    """Return the entries but for those released without noise that equal another such entry.

    What is seen of them is the same number twice, and twice makes C + Γ singular.
    """
    silent = secret.others[noise.diagonal()[secret.others] == 0]
    every = list(range(belief.entries))
    independent = isinstance(noise, Diagonal) and belief.is_known_exactly
    if belief.definite or silent.size < 2 or not independent:
        return every
    differences, first = exact.Differences(belief), list[int]()
    for entry in silent.tolist():
        if any(differences.is_copy(other, entry) for other in first):
            every.remove(entry)
        else:
            first.append(entry)
    return every


def too_long(belief: Gaussian) -> OutsideHypotheses:
    """Return the refusal of a question that only shorter traces are read for."""
    return OutsideHypotheses(
        f"above {MAX_DENSE} entries a loss is read for one secret time of a prior on a regular "
        f"grid, of independent coordinates; got {belief.entries} entries and another question, or "
        "entries without noise: use a shorter trace."
    )


def check_fit(belief: Gaussian, channel: AdditiveGaussian) -> None:
    """Refuse a belief and a channel about traces of different shapes."""
    if belief.shape != channel.shape:
        raise Incompatible(
            f"belief and channel must speak of one trace; got shapes {belief.shape} and "
            f"{channel.shape}."
        )


def _structurally_infinite(belief: Gaussian, noise: Matrix, secret: SecretEntries) -> str:
    """Say why the loss is infinite, where that needs no tolerance; else the empty string."""
    if np.any(secret.copies[noise.diagonal() == 0]):
        return "a secret entry is released without noise"
    if belief.definite and noise.rank_bound(secret.entries) < secret.entries.size:
        return "the noise of the secret entries has too small a rank"
    return ""


def _why(belief: Gaussian, secret: SecretEntries) -> str:
    if belief.entries <= MAX_DENSE and regress(belief, secret) is None:
        reason = "float64 cannot tell the covariance of the secret entries from a singular one"
        remedy = "leave out secret entries that others nearly determine"
    else:
        reason = "float64 cannot tell this loss from an infinite one"
        remedy = "add independent noise to every entry"
    if exact.balls_apply(belief):
        return f"{reason}, nor can ball arithmetic of {exact.LAST_BITS} bits: {remedy}."
    if not belief.is_known_exactly:
        return f"{reason}, and the belief has no exact form: {remedy}."
    return f"{reason} on a trace too long for exact arithmetic: {remedy}."


# --- the secret entries --------------------------------------------------------------------------


@attrs.frozen(eq=False)
class SecretEntries:
    """The secret entries of a belief, sorted out."""

    entries: NDArray[np.intp]
    representatives: NDArray[np.intp]  # the r of them that are neither constants nor copies
    copies: Array  # (n, r): 1.0 where an entry of the trace surely equals the representative
    others: NDArray[np.intp]  # entries that are neither constants nor copies of representatives

    @property
    def spread(self) -> Array:
        """The (k, r) matrix T with X_S = T X_representatives, up to constants."""
        return self.copies[self.entries]


def secret_entries(belief: Gaussian, entries: Sequence[int]) -> SecretEntries:
    """Sort out the secret entries of a belief."""
    chosen = as_indices(entries, belief.entries)
    if chosen.size == 0 or np.unique(chosen).size < chosen.size:
        raise ParameterError(
            f"entries must be one or more distinct indices; got {list(entries)!r}."
        )
    variances = belief.covariance.diagonal()
    if not belief.definite:
        representatives, copies = _without_copies(belief, chosen[variances[chosen] > 0])
    elif np.all(variances > 0):
        representatives, copies = chosen, np.zeros((belief.entries, chosen.size))
        copies[chosen, np.arange(chosen.size)] = 1.0
    else:
        raise Undecidable(
            "a definite covariance must have positive variances; got 0.0, so the variance "
            "underflowed: use larger units."
        )
    others = np.flatnonzero((variances > 0) & ~np.any(copies, axis=1))
    return SecretEntries(chosen, representatives, copies, others)


def _without_copies(belief: Gaussian, live: NDArray[np.intp]) -> tuple[NDArray[np.intp], Array]:
    """Return the first of each set of copies among the entries, and all its copies."""
    variances, columns = belief.covariance.diagonal(), belief.covariance.columns(live)
    representatives: list[int] = []
    copies = np.zeros((belief.entries, live.size))
    differences = exact.Differences(belief)
    for position, entry in enumerate(live.tolist()):
        if np.any(copies[entry]):
            if belief.is_known_exactly:
                continue
            # Taking for one what may differ by less than the belief's rounding would leave out the
            # displacements that tell them apart, and with them the worst loss. (A copy that is not
            # secret can only be counted as telling too much.)
            raise Undecidable(
                "two secret entries are equal in float64 but may differ: give the belief its exact "
                "form, or say that its covariance is exact by rounding=0."
            )
        close = np.isclose(columns[:, position], variances[entry], rtol=1e-12, atol=0.0)
        close &= np.isclose(variances, variances[entry], rtol=1e-12, atol=0.0)
        equal = [j for j in np.flatnonzero(close).tolist() if differences.is_copy(entry, j)]
        copies[equal, len(representatives)] = 1.0
        representatives.append(entry)
    _require_independent(belief, representatives)
    return np.array(representatives, dtype=np.intp), copies[:, : len(representatives)]


def _require_independent(belief: Gaussian, entries: list[int]) -> None:
    """Refuse secret entries that others may determine, other than as copies.

    Only some displacements of such entries are possible, and no theorem here looks for the worst
    of those.
    """
    size = len(entries)
    if size <= 1:
        return
    deviations = np.sqrt(belief.covariance.diagonal()[entries])
    block = belief.covariance.block(entries, entries) / deviations[:, None] / deviations
    if float(np.linalg.eigvalsh(block)[0]) > 4 * size * (belief.rounding + 16 * ROUNDOFF):
        return
    if not exact.are_independent(belief, entries):
        raise Undecidable(
            "the covariance of the secret entries, copies apart, cannot be told from a singular "
            "one: leave out secret entries that the others determine."
        )


# --- float64, with an error bound that is proved, not hoped for ----------------------------------


@attrs.frozen(eq=False)
class Regression:
    """Z given X_S = x has mean Ã x and covariance C + Γ; with bounds of their rounding."""

    weights: Array  # Ã, (n, k)
    conditional: Array | None  # C, (n, n); None for zero
    weights_error: Array  # entrywise bound of Ã_true − Ã
    reach: Array  # e, (n,), with |yᵀ(C_true − C)y| ≤ (eᵀ|y|)² for every y

    @property
    def conditional_error(self) -> float:
        """A bound of ‖C_true − C‖."""
        return float(np.sum(self.reach**2))


def fisher_form(belief: Gaussian, noise: Matrix, secret: SecretEntries) -> tuple[Array, float]:
    """Return M = Ãᵀ(C + Γ)⁻¹Ã about the representatives, and its relative error (inf: unknown).

    Let Y approximate A⁻¹Ã for the stored A = C + Γ, with residual R = Ã − A Y. If the true matrices
    are A + E and Ã + D, then exactly

        M_true = [ÃᵀY + YᵀR] + DᵀY + YᵀD − YᵀEY + R'ᵀ(A + E)⁻¹R',   R' = R + D − E Y,

    so the error is at most 2|D|ᵀ|Y| + ‖E‖‖Y‖² + ‖R'‖²/g with g a lower bound of the smallest
    eigenvalue of A + E: the residual counts only squared.
    """
    unknown = np.full((secret.representatives.size,) * 2, np.nan), math.inf
    scales = np.concatenate([belief.covariance.diagonal(), noise.diagonal()])
    if np.any((scales != 0) & (scales < TINY)):
        return unknown
    regression = regress(belief, secret)
    if regression is None:
        return unknown
    total = noise.dense()
    error = noise.error_bound() + regression.conditional_error
    if regression.conditional is not None:
        total = total + regression.conditional
    trace = float(np.trace(total))
    error += 4 * ROUNDOFF * trace
    # Units in which the noise is of order one: a power of two, so nothing is rounded.
    unit = 2.0 ** round(math.log2(trace / total.shape[0])) if trace > 0 else 1.0
    floor = 0.99 * noise.smallest_eigenvalue()
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        matrix, relative = _solve(regression, total / unit, error / unit, floor / unit)
        matrix = matrix / unit
    # What overflows or underflows on the way back to the user's units is not certified.
    sound = np.all(np.isfinite(matrix)) and np.all(np.diag(matrix) >= TINY)
    return (matrix, relative) if sound else unknown


def regress(belief: Gaussian, secret: SecretEntries) -> Regression | None:
    """Return Ã and C; None where float64 cannot tell Σ_SS from a singular matrix.

    Entries obey |E_ij| ≤ ε σ_i σ_j, with ε the belief's rounding and that of the elimination. Let
    τ_i = σ_i + Σ_s |Ã_is| σ_s, and μ be the smallest eigenvalue of the correlations of S. Then
    D (Σ_SS + E_SS) = E_US − Ã E_SS gives |D_is| ≤ ε τ_i √k / (σ_s μ), and T E Tᵀ with T = [−Ã, I],
    before and after the perturbation, bounds C_true − C on both sides, in Loewner order:
    |yᵀ(C_true − C)y| ≤ ε (τᵀ|y|)².
    """
    weights = secret.copies.copy()
    slack = np.zeros_like(weights)
    if secret.others.size == 0:
        return Regression(weights, None, slack, np.zeros(belief.entries))
    refuse_dense(belief.entries)
    chosen, others, k = secret.representatives, secret.others, secret.representatives.size
    deviations = np.sqrt(belief.covariance.diagonal())
    own, rest = deviations[chosen], deviations[others]
    inner = belief.covariance.block(chosen, chosen) / own[:, None] / own[None, :]
    cross = belief.covariance.block(chosen, others) / own[:, None]
    rounding = belief.rounding + (5 * k + 8) * ROUNDOFF
    spread = float(np.linalg.eigvalsh(inner)[0]) - k * rounding
    if not spread > 2 * k * rounding:
        return None
    scaled = np.linalg.solve(inner, cross).T  # Ã in units of the secret's deviations
    weights[others] = scaled / own
    reach = rest + np.sum(np.abs(scaled), axis=1)
    slack[others] = rounding * math.sqrt(k) / spread * reach[:, None] / own
    reach = reach + slack[others] @ own
    conditional = np.zeros((belief.entries, belief.entries))
    left = belief.covariance.block(others, others) - scaled @ cross
    conditional[np.ix_(others, others)] = (left + left.T) / 2
    blurred = np.zeros(belief.entries)
    blurred[others] = math.sqrt(1.01 * rounding) * reach
    return Regression(weights, conditional, slack, blurred)


def regress_in_balls(belief: Gaussian, secret: SecretEntries) -> Regression | None:
    """Return Ã and C from the belief's parameters, rounded to float64; None where balls cannot."""
    chosen = secret.representatives.tolist()

    def attempt(numbers: exact.Balls) -> Regression | None:
        balls = exact.condition(numbers, belief.formula(numbers), chosen)
        shifts, spread = exact.midpoints(balls[0]), exact.midpoints(balls[1])
        if shifts is None or spread is None:
            return None
        (weights, off), (left, blurred) = shifts, spread
        wide = np.max(blurred) > ROUNDOFF**4 * np.max(np.abs(left))
        if wide or np.max(off) > ROUNDOFF * np.max(np.abs(weights)):
            return None
        # Rounding to float64: |δC_ij| ≤ u |C_ij| ≤ u √(C_ii C_jj).
        own = np.maximum(np.diagonal(left), 0.0)
        reach = np.sqrt(2 * ROUNDOFF * own) + math.sqrt(float(np.max(blurred)))
        return Regression(weights, left, off + 2 * ROUNDOFF * np.abs(weights), reach)

    return exact.certify(attempt) if exact.balls_apply(belief) else None


def _solve(regression: Regression, total: Array, error: float, floor: float) -> tuple[Array, float]:
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    weights, size = regression.weights, total.shape[0]
    unknown = np.full((weights.shape[1],) * 2, np.nan), math.inf
    try:
        factor = cho_factor(total, lower=True)
    except (LinAlgError, ValueError):  # not definite, or not finite
        return unknown
    solution = cho_solve(factor, weights)
    residual = weights - total @ solution
    matrix = weights.T @ solution + solution.T @ residual
    matrix = (matrix + matrix.T) / 2
    scale = np.sqrt(np.diag(matrix))
    if not (np.all(np.isfinite(matrix)) and np.all(scale > 0)):
        return unknown
    # Rounding of the residual itself: |A| |y| ≤ a (aᵀ|y|) for a = √diag(A).
    root = np.sqrt(np.diag(total))
    missed = (
        (size + 2)
        * ROUNDOFF
        * (norms(weights) + float(np.linalg.norm(root)) * (root @ np.abs(solution)))
    )
    lengths = norms(solution)
    off = (norms(residual) + missed + norms(regression.weights_error) + error * lengths) / scale
    first = 2 * _gram(regression.weights_error, solution, scale)
    first += 2 * (size + 4) * ROUNDOFF * _gram(weights, solution, scale)
    first += error * float(np.sum((lengths / scale) ** 2))
    # LAPACK's symmetric solvers are backward stable: a small multiple of n u ‖A‖.
    slack = 8.0 * float(size) * ROUNDOFF * float(np.trace(total)) + error
    for known in (True, False):  # the noise's own bound first: eigenvalues cost more
        bound = floor if known else float(np.linalg.eigvalsh(total)[0]) - slack
        relative = first + float(np.sum(off**2)) / bound if bound > 0 else math.inf
        if relative <= EXACT / 2:
            break
    # M/(1 + ρ) ≤ M_true must hold as well as M_true ≤ M/(1 − ρ).
    return matrix, relative / (1 - relative) if relative < 0.5 else math.inf


def _gram(left: Array, right: Array, scale: Array) -> float:
    """Bound the 2-norm of LᵀR, its entries in units of √(M_ii M_jj)."""
    products = np.abs(left).T @ np.abs(right) / scale[:, None] / scale[None, :]
    return float(np.linalg.norm(products))
