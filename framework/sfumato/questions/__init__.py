"""What a secret becomes once a belief is known."""

from sfumato.questions.displacements import Displacements, Nearness
from sfumato.questions.events import Asked, Events, Guess, JointStates, StateAt

__all__ = ["Asked", "Displacements", "Events", "Guess", "JointStates", "Nearness", "StateAt"]
