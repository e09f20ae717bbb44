"""What a release tells at most about the secret under any prior whose parameters lie in a box.

Let $y = e − w$ for any w. With $r(θ) = Σ(θ) y − Γ w$ and $K(θ) = Σ(θ) + Γ$ the posterior covariance
of the secret entries is exactly

    $V(θ) = yᵀΣ(θ) y + wᵀΓ w − r(θ)ᵀK(θ)⁻¹r(θ),$

and $M(θ) = V(θ)⁻¹ − Σ_SS(θ)⁻¹$. All but the last term is linear in the entries of $Σ(θ)$, and with
$w = K(θ_0)⁻¹Σ_S(θ_0)$ the last one vanishes at the centre $θ_0$ of a cell, so it is of second order
in the cell's width. It is measured in the norm of $K(θ_0)$, not of Γ: $K(θ) ⪰ (1 − ρ) K(θ_0)$ for a
ρ that is found for every cell. A floor of noise that is tiny therefore costs little: it makes ρ
grow like the logarithm of its inverse.

Entries of $Σ(θ)$ are Taylor polynomials with proved remainders (`sfumato.inference.taylor`).
Rounding is counted as an error of the entries, and all inverses are checked by multiplying back.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any

import attrs
import numpy as np

from sfumato.errors import OutsideHypotheses, Undecidable
from sfumato.inference import exact
from sfumato.inference.gaussian.fisher_information import secret_entries
from sfumato.inference.taylor import Taylor, TaylorNumbers
from sfumato.matrices.matrix import ROUNDOFF, Array, Matrix
from sfumato.prior_classes.families import Box
from sfumato.questions.displacements import Group

DEGREE = 2  # of the Taylor polynomials
# Sums of nonnegative bounds are themselves rounded: each is raised by more than that.
OUTWARDS = 1 + 1e-12
# Numbers of the secret entries' own weights: on this grid 1 − w is exact.
GRID = 2.0**45
LARGEST_WEIGHT = 64.0
# Relative change of the secret entries' prior that is taken for rounding.
SHARED = 1e-12
# Array entries that are held at once.
HELD = 400_000
# Bits up to which Var(X − Y) must be zero for copies, in units of the variance of X: parameters in
# float64 bring other entries no closer than the half of it.
COPY_BITS = 3072


@attrs.frozen(eq=False)
class GroupBounds:
    """What holds of one group of k secret entries all over each of many cells.

    In Loewner order; what is not finite, or no covariance, says nothing.
    """

    information: Array  # (cells, k, k): M(θ) ⪯ it
    left: Array  # V_SS(θ) ⪰ it
    least_prior: Array  # Σ_SS(θ) ⪰ it
    largest_prior: Array  # Σ_SS(θ) ⪯ it
    told: Array  # (cells,): ½ log det(I + Σ_SS M) ≤ it

    @functools.cached_property
    def prior_is_shared(self) -> bool:
        """Whether Σ_SS is the same all over each cell, but for rounding."""
        apart = np.abs(self.largest_prior - self.least_prior).max(axis=(1, 2))
        return bool(np.all(apart <= SHARED * np.abs(self.largest_prior).max(axis=(1, 2))))

    def spread(self, copies: Array) -> GroupBounds:
        """Return the bounds for entries $X_S = T Y$ from those for the free values Y.

        As in `Information.spread`: a Δ that tells copies apart is averaged, which no ball forbids.
        """
        inverse = copies / np.sum(copies, axis=0)
        return GroupBounds(
            inverse @ self.information @ inverse.T,
            copies @ self.left @ copies.T,
            copies @ self.least_prior @ copies.T,
            copies @ self.largest_prior @ copies.T,
            self.told,
        )


@attrs.frozen(eq=False)
class CellBounds:
    """For every group of secret entries, what holds all over the cells, and about at their centres.

    `axes` is the parameter that matters most for each cell, to be halved first.
    """

    ceilings: tuple[GroupBounds, ...]
    centres: tuple[GroupBounds, ...]
    axes: Any


def copies_throughout(box: Box, group: Group) -> Array | None:
    """Return T with X_S = T Y for the first of each set of copies among a group's entries.

    They are copies under every member of the box; None: no two of them are known to be.
    """
    entries = [entry for ball in group for entry in ball]
    belief = box.member([(low + high) / 2 for low, high in box.ends]).belief()
    if len(entries) == 1 or belief.definite or not exact.balls_apply(belief):
        return None
    try:
        copies = secret_entries(belief, entries).spread
    except (OutsideHypotheses, Undecidable):  # nor is the member read
        return None
    if copies.shape[1] == len(entries) or not np.all(np.any(copies, axis=1)):
        return None
    first = _free_entries(group, copies)
    pairs = zip(entries, (first[i] for i in np.argmax(copies, axis=1).tolist()), strict=True)
    with exact.precision(exact.LAST_BITS):
        numbers = exact.Balls()
        ends = [numbers.number(low).union(numbers.number(high)) for low, high in box.ends]
        found = box.abstract(ends).formula(numbers)
        for one, other in pairs:
            own = found[one, one]
            apart = own + found[other, other] - 2 * found[one, other]
            if not abs(apart) <= own * numbers.number(2.0**-1024) ** (COPY_BITS // 1024):
                return None
    return copies


def bound_informations(
    box: Box,
    groups: Sequence[Group],
    noise: Matrix,
    lows: Array,
    highs: Array,
    *,
    beyond: Array | None = None,
    copies: Sequence[Array | None] | None = None,
) -> CellBounds | None:
    """Return bounds of M over cells (count, parameters) of a box; None if its prior has no formula.

    `copies` says for each group what `copies_throughout` finds.

    `beyond` has a row for each of several sets of entries that are released elsewhere, with noise
    $Γ_N$: what is at least $√(1ᵀΓ_N⁻¹1)$ times the covariance of any of them with each entry here,
    all over the box. There w is zero and $r = Σ_N y$, so that $rᵀK⁻¹r$ is more by at most its
    square.
    """
    copies = [None] * len(groups) if copies is None else copies
    entries = [_free_entries(*pair) for pair in zip(groups, copies, strict=True)]
    parts = []
    with np.errstate(all="ignore"):  # what is not finite proves nothing, and is cut again
        for chunk in _chunks(noise, len(lows)):
            expanded = _expand(box, lows[chunk], highs[chunk])
            if expanded is None:
                return None
            parts.append(_bound_chunk(expanded, entries, noise, beyond))

        def joined(chunks: Iterable[Sequence[GroupBounds]]) -> tuple[GroupBounds, ...]:
            found = map(_joined, zip(*chunks, strict=True))
            pairs = zip(found, copies, strict=True)
            return tuple(one if same is None else one.spread(same) for one, same in pairs)

        return CellBounds(
            joined(part.ceilings for part in parts),
            joined(part.centres for part in parts),
            np.concatenate([part.axes for part in parts]),
        )


def _free_entries(group: Group, copies: Array | None) -> list[int]:
    """Return the entries of a group but for copies of others."""
    entries = [entry for ball in group for entry in ball]
    return entries if copies is None else [entries[i] for i in np.argmax(copies, axis=0).tolist()]


def _chunks(noise: Matrix, count: int) -> list[slice]:
    step = max(1, HELD // noise.size**2)
    return [slice(start, start + step) for start in range(0, count, step)]


def _joined(chunks: Sequence[GroupBounds]) -> GroupBounds:
    tables = (attrs.astuple(chunk, recurse=False) for chunk in chunks)
    return GroupBounds(*map(np.concatenate, zip(*tables, strict=True)))


def bound_growth(box: Box, noise: Matrix, lows: Array, highs: Array) -> tuple[Array, Any] | None:
    """Return bounds of $log det K(θ) − log det K(θ_0)$ over cells, $θ_0$ their centres, and axes.

    The logarithm of a determinant is concave, so it is at most $tr K(θ_0)⁻¹(K(θ) − K(θ_0))$. With
    $X K(θ_0) Xᵀ = I + E$, $‖E‖ ≤ φ$, that is $tr X D Xᵀ$ but for $φ/(1 − φ)$ times its nuclear
    norm. None if the prior has no formula.
    """
    found, axes = [], []
    with np.errstate(all="ignore"):
        for chunk in _chunks(noise, len(lows)):
            sigma = _expand(box, lows[chunk], highs[chunk])
            if sigma is None:
                return None
            metric = _metric(sigma, noise)
            rows = np.max(np.sum(sigma.error, axis=2), axis=1)
            slack = metric.off * np.sqrt(noise.size) * np.sum(metric.lengths, axis=0)
            slack += rows * np.sum(metric.root**2, axis=(1, 2))
            reached = _sum_of_largest(sigma, metric.traces[..., None, None])[:, 0, 0]
            growth = reached + slack / (1 - metric.off) + noise.size * metric.blur
            found.append(np.where(metric.off < 1, growth * OUTWARDS, np.inf))
            axes.append(np.argmax(np.nan_to_num(_by_axis(sigma, np.abs(metric.traces))), axis=1))
    return np.concatenate(found), np.concatenate(axes)


@attrs.frozen(eq=False)
class _Expansion:
    """Σ(t) = Σ_a t^a S_a + E(t), |E_ij(t)| ≤ error_ij for t in [−1, 1]^m, for every cell."""

    terms: Array  # S, (a, cells, n, n); the first is that of the centre
    error: Array  # (cells, n, n)
    exponents: tuple[tuple[int, ...], ...]

    @property
    def parameters(self) -> int:
        return len(self.exponents[0])


def _expand(box: Box, lows: Array, highs: Array) -> _Expansion | None:
    """Return Taylor polynomials about the centres, with Lagrange's remainder over the cells."""
    centres = (lows + highs) / 2
    widths = np.maximum(highs - centres, centres - lows) * (1 + 4 * ROUNDOFF)
    axes = range(lows.shape[1])

    def expansion(degree: int, *, over_cell: bool) -> Taylor | None:
        numbers = TaylorNumbers(len(axes), degree)
        given = [
            numbers.parameter(i, centres[:, i], widths[:, i], over_cell=over_cell) for i in axes
        ]
        found: Taylor | None = box.abstract(given).formula(numbers)
        return found

    inner, outer = expansion(DEGREE, over_cell=False), expansion(DEGREE + 1, over_cell=True)
    if inner is None or outer is None:
        return None
    exponents = inner.numbers.exponents[: len(inner.middle)]
    shape = (*inner.middle.shape[:3], len(lows))
    terms = np.broadcast_to(inner.middle, shape)
    rest = slice(len(inner.numbers.exponents), None)  # the coefficients of the next degree
    error = np.sum(np.abs(outer.middle[rest]) + outer.radius[rest], axis=0)
    error = np.broadcast_to((error + np.sum(inner.radius, axis=0)) * OUTWARDS, shape[1:])
    return _Expansion(
        np.ascontiguousarray(np.moveaxis(terms, 3, 1)), np.moveaxis(error, 2, 0), exponents
    )


# The norm -----------------------------------------------------------------------------------------


@attrs.frozen(eq=False)
class _Metric:
    """K(θ)⁻¹ ⪯ stretch · XᵀX and K(θ)⁻¹ ⪯ I/floor for every θ of a cell."""

    root: Array  # X, (cells, n, n)
    stretch: Array  # (cells,)
    floor: float  # below the spectrum of the noise, hence of every K
    moves: Array  # (a, cells): ‖X S_a Xᵀ‖, how much a term changes K
    noise: Array  # Γ, (n, n), as stored
    noise_error: float  # bound of ‖Γ_sampled − Γ‖
    off: Array  # (cells,): bound of ‖X K₀ Xᵀ − I‖
    traces: Array  # (a, cells): tr X S_a Xᵀ
    lengths: Array  # (a, cells): ‖X S_a Xᵀ‖ in the Frobenius norm
    blur: Array  # (cells,): rounding of one entry of all these products


def _metric(sigma: _Expansion, noise: Matrix) -> _Metric:
    """Return the norm of K₀ = S₀ + Γ, with X K₀ Xᵀ ≈ I, and how much it must be stretched.

    If X (K₀ + D(t)) Xᵀ ⪰ (1 − φ − ρ) I and ‖K(θ) − K₀ − D(t)‖ ≤ e, D = Σ t^a S_a, then by
    K(θ) ⪰ g I also (1 + e/g) K(θ) ⪰ K₀ + D ⪰ (1 − φ − ρ)(XᵀX)⁻¹.
    """
    stored, size = noise.dense(), noise.size
    centre = sigma.terms[0] + stored
    root = _inverse_factor(centre)
    products = root @ sigma.terms[1:] @ _t(root)
    square = np.sum(root**2, axis=(1, 2))
    blur = (2 * size + 8) * ROUNDOFF * square
    off = root @ centre @ _t(root) - np.eye(size)
    phi = _norm(off) + blur * _frobenius(centre)
    moves = _norm(products) + blur * _frobenius(sigma.terms[1:])
    error = np.max(np.sum(sigma.error, axis=2), axis=1) + noise.error_bound()
    error += 2 * ROUNDOFF * np.max(np.sum(np.abs(centre), axis=2), axis=1)
    floor = 0.99 * noise.smallest_eigenvalue()
    left = 1 - (phi + np.sum(moves, axis=0)) * OUTWARDS
    stretch = np.where(left > 0, (1 + error / floor) / left * OUTWARDS, np.inf)
    return _Metric(
        *(root, stretch, floor, moves, stored, noise.error_bound(), phi * OUTWARDS),
        *(np.trace(products, axis1=-2, axis2=-1), _frobenius(products)),
        blur * np.sum(_frobenius(sigma.terms[1:]), axis=0),
    )


def _inverse_factor(matrices: Array) -> Array:
    """Return X with X A Xᵀ ≈ I, not finite where A is not definite."""
    sound = np.all(np.isfinite(matrices), axis=(1, 2))
    safe = np.where(sound[:, None, None], matrices, np.eye(matrices.shape[1]))
    try:
        found = np.linalg.inv(np.linalg.cholesky(safe))
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(safe)
        found = _t(vectors / np.sqrt(values)[:, None, :])
    return np.where(sound[:, None, None], found, np.nan)


def _norm(symmetric: Array) -> Array:
    """Bound the 2-norm: by the Frobenius norm and by the largest absolute row sum."""
    rows = np.max(np.sum(np.abs(symmetric), axis=-1), axis=-1)
    return np.asarray(np.minimum(_frobenius(symmetric), rows) * OUTWARDS)


def _frobenius(matrices: Array) -> Array:
    return np.asarray(np.sqrt(np.sum(matrices**2, axis=(-2, -1)))) * OUTWARDS


def _t(matrices: Array) -> Array:
    return np.swapaxes(matrices, -1, -2)


# The bound ----------------------------------------------------------------------------------------


def _bound_chunk(
    sigma: _Expansion, entries: Sequence[Sequence[int]], noise: Matrix, beyond: Array | None
) -> CellBounds:
    """Bound groups of one size together: their vectors are columns of the same products."""
    metric = _metric(sigma, noise)
    edges = np.zeros((1, noise.size)) if beyond is None else beyond
    ceilings: list[Any] = [None] * len(entries)
    centres: list[Any] = [None] * len(entries)
    worth = _by_axis(sigma, metric.moves)
    for k in {len(own) for own in entries}:
        alike = [j for j, own in enumerate(entries) if len(own) == k]
        upper, middle, moved = _bound_groups(
            sigma, metric, np.array([entries[j] for j in alike]), edges
        )
        worth = worth + _by_axis(sigma, moved)
        for place, j in enumerate(alike):
            ceilings[j], centres[j] = (
                GroupBounds(*(table[:, place] for table in attrs.astuple(found, recurse=False)))
                for found in (upper, middle)
            )
    axes = np.argmax(np.nan_to_num(worth), axis=1)
    return CellBounds(tuple(ceilings), tuple(centres), axes)


def _by_axis(sigma: _Expansion, moves: Array) -> Array:
    """Return (cells, m): how much each parameter moves, from (a, cells) of the terms but S₀."""
    powers = np.array(sigma.exponents[1:], dtype=np.float64).reshape(-1, sigma.parameters)
    return np.asarray(moves.T @ powers)


@attrs.frozen(eq=False)
class _Readings:
    """V(t) + r(t)ᵀK(t)⁻¹r(t) and r(t) of g groups of k entries: terms, and bounds of the rest."""

    variances: Array  # (a, cells, g, k, k)
    variances_off: Array  # (cells, g, k, k), entry by entry
    residuals: Array  # (a, cells, g, n, k)
    residuals_off: Array  # (cells, g, n, k), entry by entry
    lengths: Array  # ‖w‖, (cells, g, k): by so much times its norm an error of Γ moves r
    elsewhere: Array  # (cells, g, k): bound of r beyond the trace, in the norm of the noise there


def _read(sigma: _Expansion, metric: _Metric, entries: Any, beyond: Array) -> _Readings:
    """Return the terms for w = K₀⁻¹Σ_S, as computed: what follows holds for any w.

    Rounded products are exact ones of entries that are a little off.
    """
    (count, k), size = entries.shape, metric.noise.shape[0]
    columns, terms = entries.reshape(-1), sigma.terms
    every = np.arange(columns.size)

    def split(vectors: Array) -> Array:  # (…, n, g·k) -> (…, g, n, k)
        return np.swapaxes(vectors.reshape(*vectors.shape[:-1], count, k), -2, -3)

    weights = _t(metric.root) @ (metric.root @ terms[0][:, :, columns])
    own = weights[:, columns, every]
    own = np.where(np.abs(own) < LARGEST_WEIGHT, np.round(own * GRID) / GRID, np.nan)
    weights[:, columns, every] = own
    left = -weights
    left[:, columns, every] = 1 - own
    products, jitter = terms @ left, metric.noise @ weights
    residuals = np.array(products)
    residuals[0] -= jitter
    blurred = sigma.error + (2 * size + 16) * ROUNDOFF * np.sum(np.abs(terms), axis=0)
    shaken = (2 * size + 16) * ROUNDOFF * np.abs(metric.noise)
    left_off, weights_off = blurred @ np.abs(left), shaken @ np.abs(weights)
    left, weights = split(left), split(weights)
    variances = _t(left) @ split(products)
    variances[0] += _t(weights) @ split(jitter)
    lengths = np.sqrt(np.sum(weights**2, axis=-2)) * OUTWARDS
    elsewhere = np.sum(beyond @ np.abs(left), axis=-2) * OUTWARDS
    off = np.abs(_t(left)) @ split(left_off) + np.abs(_t(weights)) @ split(weights_off)
    off += metric.noise_error * lengths[..., :, None] * lengths[..., None, :]
    variances = (variances + _t(variances)) / 2
    return _Readings(
        variances, off, split(residuals), split(left_off + weights_off), lengths, elsewhere
    )


def _residual_square(metric: _Metric, found: _Readings, root: Array) -> Array:
    """Bound ‖X rᵀK⁻¹r Xᵀ‖: r term by term in the norm of K, its errors in that of the floor.

    With what is elsewhere K has more rows, and no more is known of its inverse than K ⪰ Γ: then all
    of r is taken in the norm of the floor.
    """
    (size, k), up = found.residuals.shape[-2:], np.abs(root)
    if np.any(found.elsewhere):
        eye = np.broadcast_to(np.eye(size) / np.sqrt(metric.floor), metric.root.shape)
        metric = attrs.evolve(metric, root=eye, stretch=np.ones_like(metric.stretch))
    scaled = metric.root[:, None] @ found.residuals @ _t(root)
    slack = (2 * size + 2 * k + 16) * ROUNDOFF * _frobenius(metric.root)[:, None]
    slack = slack * _frobenius(root) * _frobenius(found.residuals)
    reached = np.sum(_frobenius(scaled) + slack, axis=0)
    off = _frobenius(found.residuals_off @ _t(up))
    off += metric.noise_error * _frobenius(found.lengths[..., None, :] @ _t(up))
    root_of = np.sqrt(metric.stretch)[:, None] * reached + off / np.sqrt(metric.floor)
    root_of += _frobenius(found.elsewhere[..., None, :] @ _t(up))
    return np.asarray(root_of**2 * OUTWARDS)


@attrs.frozen(eq=False)
class _Prior:
    """X' Σ_SS(t) X'ᵀ = I + N(t); zeros, where float64 takes Σ_SS for singular."""

    known: Any  # (cells, g)
    root: Array  # X'
    back: Array  # its inverse
    shifts: Array  # the terms of N
    ratio: Array  # ‖Σ_SS⁻¹‖ in units of V⁻¹
    off: Array  # bound of what the terms leave out, in units of Σ_SS⁻¹


def _prior_of(sigma: _Expansion, entries: Any, back: Array) -> _Prior:
    block = (entries[:, :, None], entries[:, None, :])
    terms = sigma.terms[:, :, block[0], block[1]]
    root, inverse = _roots(terms[0])
    shifts = root @ terms @ _t(root)
    shifts[0] -= np.eye(entries.shape[1])
    off = _frobenius(np.abs(root) @ sigma.error[:, block[0], block[1]] @ _t(np.abs(root)))
    ratio = _frobenius(root @ back) ** 2
    known = np.isfinite(off + ratio + np.sum(_frobenius(shifts), axis=0))
    wide = known[..., None, None]  # M ⪯ V⁻¹ holds without it
    return _Prior(
        known,
        np.where(wide, root, 0.0),
        np.where(wide, inverse, np.nan),
        np.where(wide, shifts, 0.0),
        np.where(known, ratio, 0.0),
        np.where(known, off, 0.0),
    )


def _bound_groups(
    sigma: _Expansion, metric: _Metric, entries: Any, beyond: Array
) -> tuple[GroupBounds, GroupBounds, Array]:
    """Return bounds, and values about the centre, (cells, g, …) of g groups, and ‖terms‖ of V.

    With X V(t) Xᵀ ⪰ I + P(t) − τ I, ‖P‖ + τ ≤ p < 1, and X' Σ_SS(t) X'ᵀ = I + N(t):

        V⁻¹ ⪯ Xᵀ(I − P + τ + p²/(1 − p)) X,      −Σ_SS⁻¹ ⪯ −X'ᵀ(I − N) X' ,

    so M is at most a polynomial in t plus what is of second order; its terms are taken at their
    largest, |B_a| in the norm of V⁻¹, or the positive part where t^a ≥ 0. Likewise V and Σ_SS by
    themselves, and ½ (log det Σ_SS − log det V), for which tr N − tr P and what is of second order
    are added to the value at the centre. The products of small matrices are rounded, by less than
    256 k² units times the square of their condition.
    """
    k, eye = entries.shape[1], np.eye(entries.shape[1])
    found = _read(sigma, metric, entries, beyond)
    root, back = _roots(found.variances[0])
    changes = root @ found.variances @ _t(root)
    changes[0] -= eye
    tau = _residual_square(metric, found, root)
    moved, off = _norm(changes), _frobenius(np.abs(root) @ found.variances_off @ _t(np.abs(root)))
    total = (np.sum(moved, axis=0) + off + tau) * OUTWARDS
    second = np.where(total < 1, total**2 / (1 - total), np.inf)
    prior = _prior_of(sigma, entries, back)

    gained = _t(root) @ root - _t(root) @ changes[0] @ root
    gained += _t(prior.root) @ prior.shifts[0] @ prior.root - _t(prior.root) @ prior.root
    slopes = _t(prior.root) @ prior.shifts[1:] @ prior.root - _t(root) @ changes[1:] @ root
    upper = _sum_of_largest(sigma, _t(back) @ slopes @ back)
    unit = 256 * k**2 * ROUNDOFF
    rounded = unit * (_frobenius(root) * _frobenius(back)) ** 2 * (2 + total)
    shifted = np.sum(_frobenius(prior.shifts), axis=0)
    rounding = rounded * (1 + prior.ratio * (2 + shifted))
    rest = (tau + off + second + prior.ratio * prior.off + rounding) * OUTWARDS
    upper = _t(root) @ (upper + rest[..., None, None] * eye) @ root

    def within(inverse: Array, middle: Array, slack: Array) -> Array:
        return inverse @ (eye + middle + slack[..., None, None] * eye) @ _t(inverse)

    left = within(
        back,
        changes[0] - _sum_of_largest(sigma, -changes[1:]),
        -(tau + off + rounded) * OUTWARDS,
    )
    own_rounding = unit * (_frobenius(prior.root) * _frobenius(prior.back)) ** 2 * (2 + shifted)
    slack = (prior.off + own_rounding) * OUTWARDS
    lowest = prior.shifts[0] - _sum_of_largest(sigma, -prior.shifts[1:])
    highest = prior.shifts[0] + _sum_of_largest(sigma, prior.shifts[1:])
    told = np.where(prior.known, _log_square(root) - _log_square(prior.root), np.nan) / 2
    traces = np.trace(prior.shifts - changes, axis1=-2, axis2=-1)[..., None, None]
    gain = (traces[0] + _sum_of_largest(sigma, traces[1:]))[..., 0, 0]
    gain = gain + k * (tau + off + second + rounded + slack) * OUTWARDS
    centre = prior.back @ _t(prior.back)
    return (
        GroupBounds(
            gained + upper,
            np.where(_is_covariance(left), left, 0.0),
            within(prior.back, lowest, -slack),
            within(prior.back, highest, slack),
            told + gain / 2,
        ),
        GroupBounds(gained, back @ _t(back), centre, centre, told),
        np.nan_to_num(np.sum(moved[1:], axis=2), posinf=0.0),
    )


def _sum_of_largest(sigma: _Expansion, slopes: Array) -> Array:
    """Return a matrix above Σ t^a · slope_a for all t of the cell."""
    above = np.zeros(slopes.shape[1:])
    for power, slope in zip(sigma.exponents[1:], slopes, strict=True):
        above = above + _largest(slope, nonnegative=all(e % 2 == 0 for e in power))
    return above


def _log_square(root: Array) -> Array:
    """Return log det XᵀX of an X with orthogonal rows."""
    return np.asarray(np.sum(np.log(np.sum(root**2, axis=-1)), axis=-1))


def _is_covariance(matrices: Array) -> Array:
    """Whether each is finite and has no negative eigenvalue; by its last axes, kept."""
    sound = np.all(np.isfinite(matrices), axis=(-2, -1))
    safe = np.where(sound[..., None, None], matrices, 0.0)
    return np.asarray((sound & (np.linalg.eigvalsh(safe)[..., 0] >= 0))[..., None, None])


def _roots(matrices: Array) -> tuple[Array, Array]:
    """Return X with X A Xᵀ ≈ I, and X⁻¹; not finite where A is not definite."""
    if matrices.shape[-1] == 1:
        root = 1 / np.sqrt(matrices)
        return root, 1 / root
    sound = np.all(np.isfinite(matrices), axis=(-2, -1))[..., None, None]
    values, vectors = np.linalg.eigh(np.where(sound, matrices, np.eye(matrices.shape[-1])))
    deviations = np.sqrt(np.where(values > 0, values, np.nan))[..., None, :]
    return np.where(sound, _t(vectors / deviations), np.nan), vectors * deviations


def _largest(slope: Array, *, nonnegative: bool) -> Array:
    """Return a matrix above t · slope for all t in [0, 1], or in [−1, 1]."""
    if slope.shape[-1] == 1:
        return np.maximum(slope, 0.0) if nonnegative else np.abs(slope)
    slope = (slope + _t(slope)) / 2
    sound = np.all(np.isfinite(slope), axis=(-2, -1))[..., None, None]
    values, vectors = np.linalg.eigh(np.where(sound, slope, 0.0))
    values = np.maximum(values, 0.0) if nonnegative else np.abs(values)
    return np.where(sound, vectors * values[..., None, :] @ _t(vectors), np.nan)
