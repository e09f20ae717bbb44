"""Quantities that mechanisms and measures of different plugins share."""

from __future__ import annotations

from sfumato.protocols import Quantity

MEAN_SQUARED_ERROR = Quantity("mean squared error", unit="squared units of the trace")
EXPECTED_RELEASES = Quantity("expected number of released states", unit="states", worse="smaller")
NOISE_VARIANCE = Quantity("noise variance", unit="squared counts")
RELEASED_FRACTION = Quantity("released fraction", worse="smaller")
RECONSTRUCTION = Quantity("reconstruction success", unit="probability")
POSTERIOR_GAP = Quantity("posterior gap", unit="probability")
MUTUAL_INFORMATION = Quantity("mutual information", unit="nats")


def renyi_divergence(order: float) -> Quantity:
    """Return the quantity that measures and targets of conditional inferential privacy share.

    >>> str(renyi_divergence(2.0))
    'Rényi divergence (order=2) [nats]'
    """
    return Quantity("Rényi divergence", {"order": float(order)}, unit="nats")
