"""What the adversary sees of a secret: the one object that every definition is a function of."""

from sfumato.views.finite import FiniteView, Outcomes
from sfumato.views.gaussian import GaussianPart, GaussianView
from sfumato.views.measures import EventMeasure, GuessMeasure, PairMeasure, ViewMeasure
from sfumato.views.view import OwnQuestion, OwnView, view_of

__all__ = [
    "EventMeasure",
    "FiniteView",
    "GaussianPart",
    "GaussianView",
    "GuessMeasure",
    "Outcomes",
    "OwnQuestion",
    "OwnView",
    "PairMeasure",
    "ViewMeasure",
    "view_of",
]
