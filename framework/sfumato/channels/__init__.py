"""Laws of a release given the trace."""

from __future__ import annotations

from sfumato.channels.additive_gaussian import AdditiveGaussian
from sfumato.channels.emission import Channel, Emission, Symbols
from sfumato.channels.noisy_vectors import NoisyVectors
from sfumato.channels.remembering import MemoryEmission, RememberingSuppression
from sfumato.channels.suppression import RelabelledSuppression, Suppression, suppression_of

__all__ = [
    "AdditiveGaussian",
    "Channel",
    "Emission",
    "MemoryEmission",
    "NoisyVectors",
    "RelabelledSuppression",
    "RememberingSuppression",
    "Suppression",
    "Symbols",
    "suppression_of",
]
