"""What an adversary believes about a trace, as plain mathematical objects."""

from __future__ import annotations

from sfumato.beliefs.gaussian import Gaussian
from sfumato.beliefs.markov import Markov

__all__ = ["Gaussian", "Markov"]
