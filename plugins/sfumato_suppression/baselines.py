"""The naive baseline: suppress what is sensitive, and nothing else."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Markov
from sfumato.channels import Suppression
from sfumato.parameters import TABLE, declare, parameter
from sfumato.protocols import Mechanism, PriorClass, Release, Secret
from sfumato.questions import Events
from sfumato_suppression.release import suppressing_release


@declare
class Sensitive(Mechanism):
    """Suppress exactly the sensitive states. This is not private: a gap says what it hides.

    Reference: Götz, Nath and Gehrke (2012), section 1, MaskSensitive.

    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain(initial=[0.5, 0.5], transitions=[[0, 1], [0, 1]], steps=1)
    >>> secret = sf.secrets.contexts({0})
    >>> release = sf.mechanisms.suppress_sensitive().protect(chain, secret)
    >>> round(sf.measures.posterior_gap().loss(chain, secret, release).value, 12)
    0.5
    """

    name = "suppress_sensitive"
    asks = ((Markov, Events),)
    yields = Suppression

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Suppress the states that belong to an event, at its times."""
        belief = next(prior.members()).belief()
        masks = secret.question(belief).masks
        channel = Suppression.memoryless(belief.states, masks.any(axis=0).astype(float))
        return suppressing_release(self, prior, secret, channel)


@declare
class Given(Mechanism):
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
