"""The law of what is released, given the trace."""

from __future__ import annotations

import abc
from typing import Any

import numpy as np


class Channel(abc.ABC):
    """The law of the released Z given the trace X: of what is really sampled."""

    __slots__ = ()

    @abc.abstractmethod
    def log_likelihood(self, observed: Any, trace: Any) -> float:
        """Return log Pr[observed | trace], or the log density; −inf where impossible."""

    @abc.abstractmethod
    def sample(self, trace: Any, rng: np.random.Generator | None = None) -> Any:
        """Draw a release of `trace`; no generator means the secure source."""
