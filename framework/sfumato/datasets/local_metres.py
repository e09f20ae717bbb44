"""Degrees to metres and back, around a latitude that everybody may know."""

from __future__ import annotations

import math

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.errors import DataError

EARTH_RADIUS = 6.371e6


@attrs.frozen
class LocalMetres:
    """The flat map (x, y) = R (cos φ₀ · longitude, latitude), in metres, at a public latitude φ₀.

    The map is linear and does not depend on the trace, so that noise in metres is noise of known
    covariance in degrees.

    >>> flat = LocalMetres(0.0)
    >>> flat.metres(np.array([[0.0, 1.0]])).round(1)
    array([[111194.9,      0. ]])
    """

    latitude: float = attrs.field(converter=float)

    def __attrs_post_init__(self) -> None:
        if not -89 <= self.latitude <= 89:  # written so that NaN fails
            raise DataError(f"the latitude must lie within ±89 degrees; got {self.latitude}.")

    @property
    def _stretch(self) -> NDArray[np.float64]:
        """Metres for each degree of longitude and of latitude."""
        degree = math.radians(1.0) * EARTH_RADIUS
        return np.array([degree * math.cos(math.radians(self.latitude)), degree])

    def metres(self, degrees: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (x, y) of rows (latitude, longitude)."""
        return degrees[:, ::-1] * self._stretch

    def degrees(self, metres: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (latitude, longitude) of rows (x, y)."""
        return (metres / self._stretch)[:, ::-1]
