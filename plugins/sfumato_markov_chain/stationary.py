"""The stationary law of a transition matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.errors import OutsideHypotheses, ParameterError
from sfumato.values import FloatArray, checked_laws

_SMALLEST = 1e-290
"""Below this, products of probabilities may vanish."""


def stationary_law(transitions: ArrayLike) -> FloatArray:
    """Return the only law π with π P = π.

    States are eliminated one by one (Grassmann, Taksar and Heyman, 1985): the chain watched on
    the states that remain has P'_ij = P_ij + P_in P_nj / Σ_{k<n} P_nk. Nothing is subtracted, so
    every entry of π has a small *relative* error however badly conditioned I − P is.
    States outside the one closed class get exactly zero; two such classes are refused, as π is
    then not unique.

    >>> from sfumato_markov_chain.stationary import stationary_law
    >>> stationary_law([[0.9, 0.1], [0.3, 0.7]]).round(12).tolist()
    [0.75, 0.25]
    """
    P = checked_laws(transitions, "transitions")
    if P.ndim != 2 or P.shape[0] != P.shape[1] or P.size == 0:
        raise ParameterError(f"transitions must be one square matrix; got shape {P.shape}.")
    members = _closed_class(P)
    law = np.zeros(len(P))
    law[members] = _irreducible_law(P[np.ix_(members, members)])
    return law


def _closed_class(P: FloatArray) -> NDArray[np.intp]:
    """Return the states of the only closed class, by the strongly connected components."""
    edges = P > 0.0
    if edges.all():
        return np.arange(len(P))
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    count, component = connected_components(csr_array(edges * 1.0), connection="strong")
    rows, columns = np.nonzero(edges)
    left = component[rows][component[rows] != component[columns]]
    closed = np.setdiff1d(np.arange(count), left)
    if len(closed) > 1:
        one, other = (int(np.flatnonzero(component == label)[0]) for label in closed[:2])
        raise OutsideHypotheses(
            f"the stationary law is not unique: states {one} and {other} lie in "
            "classes that are never left; give the initial law instead."
        )
    return np.flatnonzero(component == closed[0])


def _irreducible_law(P: FloatArray) -> FloatArray:
    """Eliminate states from the last to the second, then substitute back."""
    reduced = P.copy()
    for state in range(len(P) - 1, 0, -1):
        leaving = reduced[state, :state].sum()
        if leaving < _SMALLEST:
            raise OutsideHypotheses(
                "the stationary law cannot be told in float64: some states are left with a "
                f"probability below {_SMALLEST:g}; give the initial law instead."
            )
        reduced[:state, state] /= leaving
        reduced[:state, :state] += np.outer(reduced[:state, state], reduced[state, :state])
    law = np.ones(len(P))
    for state in range(1, len(P)):
        law[state] = law[:state] @ reduced[:state, state]
        if law[state] > 1e100:  # visits per visit to the first state: keep them in range
            law[: state + 1] /= law[state]
    return np.asarray(law / law.sum())


def spectral_gap(transitions: ArrayLike) -> FloatArray:
    """Return 1 − |λ_2| for a matrix, or for each matrix of a stack, λ_2 second in modulus.

    Someone who moves fast has a large gap, someone who stays a small one; a chain that can be
    split, or that is periodic, has gap 0.
    """
    matrices = np.asarray(transitions)
    if matrices.shape[-1] == 1:
        return np.ones(matrices.shape[:-2])
    sizes = np.sort(np.abs(np.linalg.eigvals(matrices)), axis=-1)
    return np.asarray(np.clip(1.0 - sizes[..., -2], 0.0, 1.0))
