"""Suppression with probabilities that the user gives."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Markov
from sfumato.channels import Suppression
from sfumato.parameters import TABLE, declare, parameter
from sfumato.protocols import DeclaredMechanism, PriorClass, Release, Secret
from sfumato_suppression.suppressing_release import suppressing_release


@declare
class Given(DeclaredMechanism):
    """Suppress state j at time t with probability p[t, j], whatever was released before.

    Reference: Götz, Nath and Gehrke (2012), section 4, the probabilistic check's output.

    >>> Given(probabilities=[[1.0, 0.0]]).probabilities
    array([[1., 0.]])
    """

    name = "suppress_given"
    asks = ((Markov, object),)
    yields = Suppression

    probabilities: NDArray[np.float64] = parameter(
        TABLE("T", "M"), doc="suppression probability of each state at each time"
    )

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Use the table for chains of its shape."""
        belief = next(prior.members()).belief()
        shape = (belief.steps, belief.state_count)
        if self.probabilities.shape != shape:
            raise self.reject(
                "probabilities", f"of shape {shape}, as the chain has it", self.probabilities
            )
        channel = Suppression.memoryless(belief.states, self.probabilities)
        return suppressing_release(self, prior, secret, channel)
