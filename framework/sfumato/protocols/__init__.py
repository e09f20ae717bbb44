"""The five nouns, and what passes between them."""

from sfumato.protocols.adversary import Adversary, DeclaredAdversary
from sfumato.protocols.loss import Loss, Reading
from sfumato.protocols.loss_measure import DeclaredMeasure, LossMeasure
from sfumato.protocols.mechanism import DeclaredMechanism, Mechanism
from sfumato.protocols.prior import Prior
from sfumato.protocols.prior_class import PriorClass, Supremum
from sfumato.protocols.quantity import Quantity
from sfumato.protocols.release import Release
from sfumato.protocols.scenario import Scenario
from sfumato.protocols.secret import DeclaredSecret, Secret

__all__ = [
    "Adversary",
    "DeclaredAdversary",
    "DeclaredMeasure",
    "DeclaredMechanism",
    "DeclaredSecret",
    "Loss",
    "LossMeasure",
    "Mechanism",
    "Prior",
    "PriorClass",
    "Quantity",
    "Reading",
    "Release",
    "Scenario",
    "Secret",
    "Supremum",
]
