"""Solving a convex program, and saying so where it fails."""

from __future__ import annotations

import warnings
from typing import Any

from sfumato.errors import SolverFailed


def solve(problem: Any, solver: str, name: str, *, verified: bool = False, **options: Any) -> None:
    """Solve a cvxpy problem to optimality, or raise `SolverFailed` with solver and status.

    Where the caller has the result `verified` by other means, one that the solver itself calls
    inaccurate is let through to that.

    >>> import cvxpy as cp
    >>> x = cp.Variable()
    >>> solve(cp.Problem(cp.Minimize(x), [x >= 1]), "CLARABEL", "a toy")
    >>> solve(cp.Problem(cp.Minimize(x)), "CLARABEL", "a toy")
    Traceback (most recent call last):
    sfumato.errors.SolverFailed: CLARABEL must solve a toy; its status is 'unbounded'.
    """
    import cvxpy as cp

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the status is read below, whatever is printed
        try:
            problem.solve(solver=solver, **options)
        except (cp.error.SolverError, ValueError, ArithmeticError) as error:
            raise SolverFailed(f"{solver} must solve {name}; it broke down.") from error
    accepted = (cp.OPTIMAL, cp.OPTIMAL_INACCURATE) if verified else (cp.OPTIMAL,)
    if problem.status not in accepted:
        raise SolverFailed(f"{solver} must solve {name}; its status is {problem.status!r}.")
