"""The Bayesian who knows the chain and the system."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Markov
from sfumato.channels import Emission
from sfumato.inference.forward_backward import forward_backward
from sfumato.parameters import declare
from sfumato.protocols import DeclaredAdversary


@declare
class HiddenMarkovPosterior(DeclaredAdversary):
    """Pr[X_t = x | output] for every time and state, by forward-backward recursion.

    Emissions may depend on what was released before: that is fixed by the output.

    Reference: Götz, Nath and Gehrke (2012), section 2.2, the strong adversary.

    >>> import sfumato as sf
    >>> from sfumato.channels import Suppression
    >>> belief = Markov([0.5, 0.5], [[1.0, 0.0], [0.0, 1.0]], steps=1, states=("s", "x"))
    >>> channel = Suppression.memoryless(("s", "x"), [[1.0, 1 / 3]])
    >>> sf.adversaries.hidden_markov_posterior().infer(belief, channel, [sf.SUPPRESSED]).round(2)
    array([[0.75, 0.25]])
    """

    name = "hidden_markov_posterior"
    reads = ((Markov, Emission),)
    promises = ("posterior",)

    def infer(
        self, belief: Markov, channel: Emission, observed: Sequence[Any]
    ) -> NDArray[np.float64]:
        """Return the posterior marginals, (T, M)."""
        self.require(belief, channel)
        return forward_backward(belief, channel.evidence(observed)).marginals
