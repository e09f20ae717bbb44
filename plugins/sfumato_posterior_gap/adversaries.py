"""The Bayesian who knows the chain and the system."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sfumato.beliefs import Markov
from sfumato.channels import Emission, RememberingSuppression
from sfumato.channels.remembering import with_memory
from sfumato.inference.markov.smoothing import forward_backward
from sfumato.parameters import declare
from sfumato.protocols import Adversary
from sfumato.values import FloatArray


def state_posteriors(
    belief: Markov, channel: Emission | RememberingSuppression, outputs: Sequence[Sequence[Any]]
) -> FloatArray:
    """Return the posterior marginals of B outputs of one length, (B, T, M)."""
    chain, emission = with_memory(belief, channel)
    found = forward_backward(chain, emission.evidence_batch(outputs)).marginals
    return np.asarray(found.reshape(*found.shape[:2], -1, belief.state_count).sum(axis=2))


@declare
class HiddenMarkovPosterior(Adversary):
    """$Pr[X_t = x | output]$ for every time and state, by forward-backward recursion.

    Emissions may depend on what was released before: that is fixed by the output. A hidden memory
    is inferred together with the state.

    Reference: Götz, Nath and Gehrke (2012), section 2.2, the strong adversary.

    >>> import sfumato as sf
    >>> from sfumato.beliefs import Markov
    >>> from sfumato.channels import Suppression
    >>> belief = Markov([0.5, 0.5], [[1.0, 0.0], [0.0, 1.0]], steps=1, states=("s", "x"))
    >>> channel = Suppression.memoryless(("s", "x"), [[1.0, 1 / 3]])
    >>> sf.adversaries.hidden_markov_posterior().infer(belief, channel, [sf.SUPPRESSED]).round(2)
    array([[0.75, 0.25]])
    """

    name = "hidden_markov_posterior"
    reads = ((Markov, Emission), (Markov, RememberingSuppression))
    promises = ("posterior",)

    def infer(
        self, belief: Markov, channel: Emission | RememberingSuppression, observed: Sequence[Any]
    ) -> FloatArray:
        """Return the posterior marginals, (T, M)."""
        self.require(belief, channel)
        return np.asarray(state_posteriors(belief, channel, [observed])[0])


@declare
class FrequencyOnly(Adversary):
    """$Pr[X_t = x | output]$ for someone who knows how frequent states are, and the system.

    The posterior of $X_t$ uses the output at t alone: $Pr[X_t = x] Pr[o_t | x] / ∑$.
    What is private against `hidden_markov_posterior` need not be against this adversary, who
    may learn; publishing the chain together with the output makes it so (theorem 6).

    Reference: Götz, Nath and Gehrke (2012), section 6.

    >>> import sfumato as sf
    >>> from sfumato.beliefs import Markov
    >>> from sfumato.channels import Suppression
    >>> belief = Markov([0.5, 0.5], [[1.0, 0.0], [0.0, 1.0]], steps=2, states=("s", "x"))
    >>> channel = Suppression.memoryless(("s", "x"), [[1.0, 0.5], [1.0, 1.0]])
    >>> adversary = sf.adversaries.frequency_only()
    >>> adversary.infer(belief, channel, [sf.SUPPRESSED, sf.SUPPRESSED]).round(3).tolist()
    [[0.667, 0.333], [0.5, 0.5]]
    """

    name = "frequency_only"
    reads = ((Markov, Emission),)

    def infer(self, belief: Markov, channel: Emission, observed: Sequence[Any]) -> FloatArray:
        """Return the posterior marginals, (T, M)."""
        self.require(belief, channel)
        marginals = belief.marginals()
        rows = np.broadcast_to(marginals[1:, None], belief.transitions.shape)
        independent = Markov(marginals[0], rows, states=belief.states) if len(rows) else belief
        return forward_backward(independent, channel.evidence(observed)).marginals
