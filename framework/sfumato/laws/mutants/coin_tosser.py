"""An adversary who tosses coins."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.beliefs import Markov
from sfumato.channels import Emission
from sfumato.laws.mutant import Mutant
from sfumato.parameters import declare
from sfumato.protocols import Adversary


@declare
class CoinTosser(Adversary):
    """A law of the states that is another each time."""

    name = "mutant_coin_tosser"
    reads = ((Markov, Emission),)

    def infer(self, belief: Any, channel: Any, observed: Any) -> Any:
        """Return laws drawn at random."""
        del channel, observed
        return np.random.default_rng().dirichlet(np.ones(belief.state_count), belief.steps)


MUTANT = Mutant("contract.inference", CoinTosser, "what is inferred depends on what is seen alone")
