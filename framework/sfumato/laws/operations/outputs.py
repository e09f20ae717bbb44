"""Comparing outputs of any kind."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.channels import AdditiveGaussian, Emission
from sfumato.laws.violation import NotHere


def sampled_at_once(channel: Any, trace: Any, rng: np.random.Generator, count: int) -> Any:
    """Return many outputs of one trace, as a channel draws them in one call."""
    if isinstance(channel, AdditiveGaussian):
        return channel.sample(np.repeat(np.asarray(trace, dtype=float)[None], count, axis=0), rng)
    if isinstance(channel, Emission):
        path = [channel.states.index(state) for state in trace]
        return channel.sample_many(np.repeat(np.array([path]), count, axis=0), rng)
    raise NotHere(f"no way to draw many at once is known for {type(channel).__name__} channels")


def outputs_equal(one: Any, other: Any) -> bool:
    """Whether two outputs are the same: arrays by content, sequences by element.

    >>> outputs_equal(np.array([1.0]), np.array([1.0])), outputs_equal(("a",), ("b",))
    (True, False)
    """
    a, b = np.asarray(one, dtype=object), np.asarray(other, dtype=object)
    return a.shape == b.shape and bool(np.all(a == b))
