"""The best Gaussian noise there is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import OutsideHypotheses
from sfumato.parameters import OPEN_UNIT, OPTIONAL, PLUGIN, POSITIVE, SWITCH, declare, parameter
from sfumato.protocols import PriorClass, Secret
from sfumato_gaussian_noise.calibrated import Calibrated, Design
from sfumato_gaussian_noise.design_routes import cheapest_route
from sfumato_gaussian_noise.design_task import Certified, Task
from sfumato_gaussian_noise.designed_for import designed_for

LARGEST_RADIUS = 1e140
"""Radii beyond it, or below its inverse, have no squares that float64 could compare."""


@declare
class Optimal(Calibrated):
    """The noise with the smallest worst loss over the whole prior class, at its budget.

    Closed forms are used where they apply (one value: one shared draw times a smooth bump; every
    point of a stationary trace: noise shaped like the prior), else a convex program, with members
    and displacements exchanged until loss and lower bound meet. What is returned contains a floor
    of independent noise that is counted in the budget and really drawn, and is measured exactly.

    Claims of the release, in units of half the Rényi order: `worst_loss` of what is sampled;
    `lower_bound` on the worst loss of any additive Gaussian noise of the same budget (with
    `independent_secret_noise`, of that class); their `relative_gap`; and `class_seen`, which says
    "searched" where a larger loss may hide between the members looked at. With `design_prior` they
    are about that class.

    Guarantee: the gap is at most `tolerance`, besides the price 1/(1 − floor) of the floor;
    otherwise `SolverFailed` is raised. Of three or more balls of several coordinates each, both
    figures are those of the dual bound of the loss that the exact measure reports.

    >>> import sfumato as sf
    >>> prior, secret = sf.priors.rbf(length_scale=6.0, times=50), sf.secrets.basic(24)
    >>> release = Optimal(mse=0.02).protect(prior, secret)
    >>> round(release.claims["worst_loss"], 4), release.claims["relative_gap"] < 1e-5
    (7.6086, True)
    """

    name = "gaussian_optimal"

    floor: float = parameter(
        OPEN_UNIT, default=1e-6, doc="share of the budget spent on independent noise everywhere"
    )
    tolerance: float = parameter(
        POSITIVE, default=1e-4, doc="largest relative gap between loss and lower bound"
    )
    independent_secret_noise: bool = parameter(
        SWITCH,
        default=False,
        doc="restrict to noise of equal variance on the secret entries, independent of the rest",
    )
    design_prior: PriorClass | None = parameter(
        OPTIONAL(PLUGIN("prior")),
        default=None,
        doc="design for this prior class, whatever class the release is later measured under",
    )

    def noise(self, prior: PriorClass, secret: Secret, mse: float) -> Design:
        """Design by the cheapest route that can be certified."""
        chosen = designed_for(prior, self.design_prior)
        belief = next(chosen.members()).belief()
        _check_radii(secret.question(belief).radii)
        independent: NDArray[np.intp] | None = None
        if self.independent_secret_noise:
            independent = np.array(secret.question(belief).entries)
        task = Task(
            prior=chosen,
            secret=secret,
            budget=mse * belief.entries,
            floor=self.floor,
            tolerance=self.tolerance,
            independent=independent,
        )
        found = cheapest_route(task)
        # A target must hold under the prior that is asked about, whatever the design was for.
        loss = found.losses.worst if chosen is prior else None
        return Design(found.noise, self._claims(task, found), loss)

    def _claims(self, task: Task, found: Certified) -> dict[str, Any]:
        claims = {
            "worst_loss": found.losses.worst,
            "lower_bound": task.lower(found),
            "relative_gap": task.gap(found),
            "class_seen": found.losses.how,
            "route": found.route,
        }
        if self.epsilon is not None and self.order is not None:
            smallest = found.bound.budget(2 * self.epsilon / self.order)
            claims["smallest_mse_of_any"] = smallest / task.belief.entries
        return claims


def _check_radii(radii: Sequence[float]) -> None:
    if not 1 / LARGEST_RADIUS <= min(radii) <= max(radii) <= LARGEST_RADIUS:
        raise OutsideHypotheses(
            f"gaussian_optimal designs for radii between {1 / LARGEST_RADIUS:.0e} and "
            f"{LARGEST_RADIUS:.0e}; got {min(radii):.3g} to {max(radii):.3g}: use other units."
        )
