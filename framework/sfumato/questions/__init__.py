"""What a secret becomes once a belief is known."""

from sfumato.questions.displacements import Displacements
from sfumato.questions.events import Events, Guess

__all__ = ["Displacements", "Events", "Guess"]
