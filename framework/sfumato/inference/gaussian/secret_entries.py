"""Which secret entries are free, which others determine, and which are known already."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Gaussian
from sfumato.errors import ParameterError, Undecidable
from sfumato.inference.exact import (
    MOST_RATIONAL_ENTRIES,
    independent_entries,
    regress_exactly,
)
from sfumato.matrices.matrix import ROUNDOFF, Array, as_indices

BITS = 4096
"""Precision at which entries that float64 cannot tell apart are compared.

Correlations of float64 parameters come as close to one as 1 − 10⁻⁶¹⁶ (a length scale of 10³⁰⁸), and
entries held to be copies when they are not would hide the worst displacement."""


@attrs.frozen(eq=False)
class Dependence:
    """X_i = Σ_j coefficients[i, j] X_free[j] for every i of some entries, up to constants.

    `rounded` says whether a coefficient is not a float64 number, and so off by half a unit.
    """

    free: list[int]
    coefficients: Array
    rounded: bool


def linear_dependence(
    belief: Gaussian, entries: list[int], known: Callable[[], Any]
) -> Dependence | None:
    """Return how some entries determine the others; None where none is known to be determined.

    A determined entry has Var(X_i − Σ c_j X_j) = 0 with c from elimination in rational numbers.
    That is believed of stored numbers which are the belief itself, and of others if the true
    covariance is `known` in balls (None: it is not), and they do not refute it.

    >>> from sfumato.matrices import LowRank
    >>> belief = Gaussian(LowRank([1.0, 2.0]), rounding=0.0)
    >>> linear_dependence(belief, [0, 1], lambda: None).coefficients
    array([[0.5],
           [1. ]])
    """
    if not 1 < len(entries) <= MOST_RATIONAL_ENTRIES or not _looks_singular(belief, entries):
        return None
    block, every = belief.covariance.rational(entries), list(range(len(entries)))
    try:
        # Those of large variance first, so that the coefficients of the others are moderate.
        free = independent_entries(block, sorted(every, key=lambda i: -block[i][i]))
    except Undecidable:  # rounding has made the stored numbers indefinite: they tell nothing
        return None
    if len(free) == len(entries):
        return None
    rows, _ = regress_exactly(block, free)
    balls = known()
    if balls is None and belief.rounding > 0:
        return None
    for position in set(every) - set(free):
        if balls is not None and _refuted(balls, entries, position, free, rows[position]):
            return None
    coefficients = np.array([[float(x) for x in row] for row in rows])
    rounded = any(Fraction(float(x)) != x for row in rows for x in row)
    return Dependence([entries[position] for position in free], coefficients, rounded)


def _looks_singular(belief: Gaussian, entries: list[int]) -> bool:
    """Whether float64 cannot tell the correlations of the entries from a singular matrix."""
    deviations = np.sqrt(belief.covariance.diagonal()[entries])
    block = belief.covariance.block(entries, entries) / deviations[:, None] / deviations
    size = len(entries)
    return not float(np.linalg.eigvalsh(block)[0]) > 4 * size * (belief.rounding + 16 * ROUNDOFF)


def _refuted(balls: Any, entries: list[int], position: int, free: list[int], row: Any) -> bool:
    """Whether balls prove that X_position − Σ c_j X_free[j] has a variance above zero."""
    from flint import arb, fmpq

    from sfumato.inference.exact import precision

    with precision(BITS):
        terms = [(entries[position], arb(1))]
        terms += [
            (entries[j], -arb(fmpq(c.numerator, c.denominator)))
            for j, c in zip(free, row, strict=True)
            if c
        ]
        variance = sum((a * b * balls[i, j] for i, a in terms for j, b in terms), arb(0))
        return bool(variance > 0)


@attrs.frozen(eq=False)
class SecretEntries:
    """The secret entries of a belief, sorted out.

    Attributes
    ----------
    entries : array (k,)
        The secret entries.
    representatives : array (r,)
        Those of them that are neither constants nor determined by the other representatives.
    copies : array (n, r)
        1.0 where an entry of the trace equals the representative with probability one; where it is
        another linear function of the representatives, its coefficients.
    others : array
        Entries of the trace that are neither constants nor among those of `copies`.
    rounded : bool
        Whether `copies` holds coefficients that are off by half a unit in the last place.
    """

    entries: NDArray[np.intp]
    representatives: NDArray[np.intp]
    copies: Array
    others: NDArray[np.intp]
    rounded: bool = False

    @property
    def spread(self) -> Array:
        """The (k, r) matrix T with X_S = T X_representatives, up to constants."""
        return self.copies[self.entries]


def secret_entries(belief: Gaussian, entries: Sequence[int]) -> SecretEntries:
    """Sort out the secret entries of a belief.

    >>> from sfumato.matrices import LowRank
    >>> secret_entries(Gaussian(LowRank([1.0, 1.0, 2.0]), rounding=0.0), [0, 1]).representatives
    array([0])
    """
    chosen = as_indices(entries, belief.entries)
    if chosen.size == 0 or np.unique(chosen).size < chosen.size:
        raise ParameterError(
            f"entries must be one or more distinct indices; got {list(entries)!r}."
        )
    variances = belief.covariance.diagonal()
    if belief.definite:
        if not np.all(variances > 0):
            raise Undecidable(
                "a definite covariance must have positive variances; got 0.0, so the variance "
                "underflowed: use larger units."
            )
        copies = np.zeros((belief.entries, chosen.size))
        copies[chosen, np.arange(chosen.size)] = 1.0
        others = np.setdiff1d(np.arange(belief.entries), chosen)
        return SecretEntries(chosen, chosen, copies, others)
    return _without_copies(belief, chosen, variances)


def _without_copies(belief: Gaussian, chosen: NDArray[np.intp], variances: Array) -> SecretEntries:
    live = chosen[variances[chosen] > 0]
    columns = belief.covariance.columns(live)
    representatives: list[int] = []
    copies: list[Array] = []
    proved = _Differences(belief)
    for position, entry in enumerate(live.tolist()):
        if any(copy[entry] for copy in copies):
            proved.require_vouched_copies()
            continue
        close = np.isclose(columns[:, position], variances[entry], rtol=1e-12, atol=0.0)
        close &= np.isclose(variances, variances[entry], rtol=1e-12, atol=0.0)
        copy = np.zeros(belief.entries)
        copy[[j for j in np.flatnonzero(close).tolist() if proved.is_copy(entry, j)]] = 1.0
        representatives.append(entry)
        copies.append(copy)
    stacked = np.stack(copies, axis=1) if copies else np.zeros((belief.entries, 0))
    others = np.flatnonzero((variances > 0) & ~np.any(stacked, axis=1))
    found = linear_dependence(belief, representatives, lambda: proved.balls)
    if found is None:
        return SecretEntries(chosen, np.array(representatives, dtype=np.intp), stacked, others)
    free = np.array(found.free, dtype=np.intp)
    return SecretEntries(chosen, free, stacked @ found.coefficients, others, found.rounded)


class _Differences:
    """Which entries are equal with probability one, as far as stored numbers and balls tell."""

    def __init__(self, belief: Gaussian) -> None:
        self.belief = belief

    def is_copy(self, one: int, other: int) -> bool:
        """Whether Var(X_one − X_other) = Σ_oo + Σ_pp − 2 Σ_op is exactly zero."""
        if one == other:
            return True
        block = self.belief.covariance.rational([one, other])
        if block[0][0] + block[1][1] != 2 * block[0][1]:
            return False
        return not self._proved_distinct(one, other)

    def require_vouched_copies(self) -> None:
        """Refuse two secret entries that may differ by less than the belief's rounding.

        Taking them for one would leave out the displacements that tell them apart, and with them
        the worst loss. (A copy that is not secret can only be counted as telling too much.)
        """
        if self.belief.rounding > 0 and self.belief.exact is None:
            raise Undecidable(
                "two secret entries are equal in float64 but may differ: give the belief its exact "
                "form, or say that its covariance is exact by rounding=0."
            )

    @functools.cached_property
    def balls(self) -> Any:
        """The true covariance in balls; None where it is not known."""
        from sfumato.inference.exact import flint_installed, precision

        if self.belief.exact is None or not flint_installed():
            return None
        with precision(BITS):
            return self.belief.exact(BITS)

    def _proved_distinct(self, one: int, other: int) -> bool:
        """Whether balls show that two entries differ which float64 cannot tell apart."""
        from sfumato.inference.exact import precision

        balls = self.balls
        if balls is None:
            return False
        with precision(BITS):
            difference = balls[one, one] + balls[other, other] - 2 * balls[one, other]
            return bool(difference > 0)
