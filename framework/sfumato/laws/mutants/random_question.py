"""A secret that asks about another entry each time."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from sfumato.beliefs import Gaussian
from sfumato.laws.mutant import Mutant
from sfumato.parameters import POSITIVE, declare, parameter
from sfumato.protocols import Secret
from sfumato.questions import Displacements


@declare
class RandomQuestion(Secret):
    """Some entry of the trace, whichever comes to mind."""

    name = "mutant_random_question"
    yields: ClassVar = {Gaussian: Displacements}

    radius: float = parameter(POSITIVE, default=1.0, doc="radius of the pairs to be confused")

    def question(self, belief: Any) -> Displacements:
        """Return the displacements of an entry picked anew."""
        entry = int(np.random.default_rng().integers(belief.entries))
        return Displacements(groups=(((entry,),),), radii=self.radius)


MUTANT = Mutant("contract.question", RandomQuestion, "a secret asks the same question every time")
