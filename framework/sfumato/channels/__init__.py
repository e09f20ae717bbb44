"""Laws of a release given the trace."""

from __future__ import annotations

from sfumato.channels.additive_gaussian import AdditiveGaussian
from sfumato.channels.channel import Channel
from sfumato.channels.emission import Emission
from sfumato.channels.noisy_vectors import NoisyVectors
from sfumato.channels.relabelled_suppression import RelabelledSuppression, suppression_of
from sfumato.channels.suppression import Suppression
from sfumato.channels.symbols import Symbols

__all__ = [
    "AdditiveGaussian",
    "Channel",
    "Emission",
    "NoisyVectors",
    "RelabelledSuppression",
    "Suppression",
    "Symbols",
    "suppression_of",
]
