"""A posterior that does not sum to one."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.beliefs import Markov
from sfumato.channels import Emission
from sfumato.laws.mutant import Mutant
from sfumato.parameters import declare
from sfumato.protocols import Adversary


@declare
class UnnormalisedPosterior(Adversary):
    """Prior times likelihood, never divided by its sum."""

    name = "mutant_unnormalised_posterior"
    reads = ((Markov, Emission),)

    def infer(self, belief: Any, channel: Any, observed: Any) -> Any:
        """Return what is only proportional to a posterior."""
        return belief.marginals() * np.exp(channel.evidence(observed))


MUTANT = Mutant("oracle.guess", UnnormalisedPosterior, "a posterior sums to one")
