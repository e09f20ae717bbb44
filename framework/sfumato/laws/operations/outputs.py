"""Comparing outputs of any kind."""

from __future__ import annotations

from typing import Any

import numpy as np


def outputs_equal(one: Any, other: Any) -> bool:
    """Whether two outputs are the same: arrays by content, sequences by element.

    >>> outputs_equal(np.array([1.0]), np.array([1.0])), outputs_equal(("a",), ("b",))
    (True, False)
    """
    a, b = np.asarray(one, dtype=object), np.asarray(other, dtype=object)
    return a.shape == b.shape and bool(np.all(a == b))
