"""A whole trajectory, kept secret."""

from __future__ import annotations

from sfumato.beliefs import Markov
from sfumato.parameters import WHOLE, declare, parameter
from sfumato.protocols import DeclaredSecret
from sfumato.questions import Guess


@declare
class Trajectory(DeclaredSecret):
    """The whole trace: a guess succeeds if it differs in at most `mistakes` positions.

    Reference: Koga, Meehan and Chaudhuri (2024), the reconstruction attack.

    >>> Trajectory(2)
    sf.secrets.trajectory(mistakes=2)
    """

    name = "trajectory"
    yields = {Markov: Guess}  # noqa: RUF012 - a class attribute, never changed

    mistakes: int = parameter(WHOLE, default=0, doc="positions that may be wrong")

    def question(self, belief: Markov) -> Guess:
        """Return the guessing game."""
        if self.mistakes > belief.steps:
            raise self.reject("mistakes", f"at most the trace length {belief.steps}", self.mistakes)
        return Guess(self.mistakes)
