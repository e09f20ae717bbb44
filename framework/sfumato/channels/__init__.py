"""Laws of a release given the trace."""

from __future__ import annotations

from sfumato.channels.additive_gaussian import AdditiveGaussian
from sfumato.channels.emission import Channel, Emission, Symbols, WholeTrace
from sfumato.channels.joint_emission import JointEmission
from sfumato.channels.noisy_vectors import NoisyVectors
from sfumato.channels.remembering import MemoryEmission, RememberingSuppression
from sfumato.channels.suppression import Suppression

__all__ = [
    "AdditiveGaussian",
    "Channel",
    "Emission",
    "JointEmission",
    "MemoryEmission",
    "NoisyVectors",
    "RememberingSuppression",
    "Suppression",
    "Symbols",
    "WholeTrace",
]
