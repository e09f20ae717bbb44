"""An adversary who filters where smoothing is promised."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Markov
from sfumato.channels import Emission
from sfumato.laws.mutant import Mutant
from sfumato.parameters import declare
from sfumato.protocols import Adversary


def filtered(belief: Markov, channel: Emission, output: Any) -> NDArray[np.float64] | None:
    """Return Pr[X_t | o_1, ..., o_t] for every t, or None for an impossible output."""
    likelihood = np.exp(channel.evidence(output))
    rows = []
    state = belief.initial
    for time in range(belief.steps):
        if time:
            state = state @ belief.matrix(time - 1)
        state = state * likelihood[time]
        if state.sum() <= 0:
            return None
        state = state / state.sum()
        rows.append(state)
    return np.array(rows)


@declare
class Filtering(Adversary):
    """Promises the posterior given the whole output; conditions on its beginning only."""

    name = "mutant_filtering"
    reads = ((Markov, Emission),)
    promises = ("posterior",)

    def infer(self, belief: Any, channel: Any, observed: Any) -> Any:
        """Return the filtered laws."""
        return filtered(belief, channel, observed)


MUTANT = Mutant("oracle.adversary", Filtering, "a posterior conditions on the whole output")
