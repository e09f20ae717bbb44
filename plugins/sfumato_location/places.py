"""Places with coordinates, and the belief that somebody wanders among them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs
import numpy as np

from sfumato.beliefs import Markov
from sfumato.datasets import LocalMetres, RealTrace
from sfumato.domains.arrays import Array
from sfumato.domains.domain import Rejected
from sfumato.errors import DataError, ParameterError
from sfumato.parameters import COUNT, POSITIVE, declare, parameter
from sfumato.plugin_registry import default_registry
from sfumato.protocols import Prior
from sfumato.values import FloatArray


@attrs.frozen
class Coordinates(Array):
    """Distinct places in the plane, one row (x, y) for each state, in the order of the states."""

    def check(self, array: FloatArray) -> None:
        """Reject what is not in the plane, or twice the same place."""
        if array.shape[1] != 2:
            raise Rejected(f"{self.words} with two columns, x and y")
        if len(np.unique(array, axis=0)) < len(array):
            raise Rejected(f"{self.words}, all distinct")

    def strategy(self, sizes: Mapping[str, int]) -> Any:
        """Draw distinct points of a lattice."""
        from hypothesis import strategies as st

        whole = st.integers(0, 6)
        count = sizes["M"]
        points = st.lists(st.tuples(whole, whole), min_size=count, max_size=count, unique=True)
        return points.map(lambda found: np.array(found, dtype=float) / 2.0)


PLACES = Coordinates("coordinates of the places", ("M", "c"))


def grid(columns: int, rows: int, step: float = 1.0) -> FloatArray:
    """Return the places of a grid, row by row.

    >>> from sfumato_location.places import grid
    >>> grid(2, 2, step=0.5).tolist()
    [[0.0, 0.0], [0.5, 0.0], [0.0, 0.5], [0.5, 0.5]]
    """
    x, y = np.meshgrid(np.arange(columns) * step, np.arange(rows) * step)
    return np.stack([x.ravel(), y.ravel()], axis=1)


def distances_between(places: FloatArray) -> FloatArray:
    """Return the Euclidean distance of every two places, (M, M)."""
    x, y = (places[:, None] - places).transpose(2, 0, 1)
    return np.asarray(np.hypot(x, y))


@attrs.frozen(eq=False)
class Map:
    """What recorded positions become: the places that were visited, and a chain on them."""

    places: FloatArray
    prior: Prior


@declare
class LocationWalk(Prior):
    """Somebody who wanders among places: $Pr[y next | x] ∝ exp(−d(x, y) / reach)$, stationary.

    The weights are symmetric, so the stationary law is that of their row sums.
    The states are numbered as the places are listed; `grid` lists those of a grid, and `fit` makes
    places and a chain of recorded positions.

    >>> import sfumato as sf
    >>> walk = sf.priors.location_walk([[0, 0], [1, 0], [3, 0]], reach=1.0, steps=2)
    >>> walk.belief().matrix(0).round(3)
    array([[0.705, 0.259, 0.035],
           [0.245, 0.665, 0.09 ],
           [0.042, 0.114, 0.844]])
    """

    name = "location_walk"
    yields = Markov

    places: FloatArray = parameter(PLACES, doc="coordinates of the places")
    reach: float = parameter(POSITIVE, doc="distance at which a move is e times rarer than staying")
    steps: int = parameter(COUNT("T"), doc="number of places in a trace")

    grid = staticmethod(grid)

    def belief(self) -> Markov:
        """Return the chain."""
        weights = np.exp(-distances_between(self.places) / self.reach)
        rows = weights.sum(axis=1)
        return Markov(rows / rows.sum(), weights / rows[:, None], steps=self.steps)

    @classmethod
    def fit(
        cls, traces: Iterable[RealTrace], *, spacing: float, every: float, **fitting: Any
    ) -> Map:
        """Put positions (latitude, longitude) on a grid of `spacing` metres, and fit a chain.

        One position counts for each `every` seconds, the last one known. The places are the visited
        cells' centres, in metres from their corner; the chain is `markov_chain.fit`, which the
        other arguments go to.

        >>> import sfumato as sf
        >>> from sfumato.datasets import RealTrace
        >>> days = [RealTrace("ann", [0, 60, 120], [[0, 0], [0, 0.001], [0, 0]])]
        >>> found = sf.priors.location_walk.fit(days, spacing=100.0, every=60.0, smoothing=0.0)
        >>> found.places.tolist(), found.prior.transitions.tolist()
        ([[50.0, 50.0], [150.0, 50.0]], [[0.0, 1.0], [1.0, 0.0]])
        """
        recorded = list(traces)
        if not (spacing > 0 and every > 0):
            raise ParameterError("location_walk.fit must have spacing > 0 and every > 0.")
        if not recorded or any(trace.dimensions != 2 for trace in recorded):
            raise DataError("location_walk.fit must get traces of latitude and longitude.")
        flat = LocalMetres(float(np.mean([trace.values[:, 0].mean() for trace in recorded])))
        days = [_every(trace, flat.metres(trace.values), every) for trace in recorded]
        corner = np.concatenate(days).min(axis=0)
        cells = [np.floor((day - corner) / spacing).astype(int) for day in days]
        visited = sorted({tuple(cell) for day in cells for cell in day.tolist()})
        number = {cell: place for place, cell in enumerate(visited)}
        sequences = [[number[tuple(cell)] for cell in day.tolist()] for day in cells]
        chain: Any = default_registry().get("prior", "markov_chain")
        prior = chain.fit(sequences, states=range(len(visited)), **fitting)
        return Map((np.array(visited) + 0.5) * spacing, prior)


def _every(trace: RealTrace, metres: FloatArray, seconds: float) -> FloatArray:
    ticks = np.arange(trace.times[0], trace.times[-1] + seconds / 2, seconds)
    return np.asarray(metres[np.searchsorted(trace.times, ticks, side="right") - 1])
