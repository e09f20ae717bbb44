"""The attacker who guesses the likeliest place at each step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sfumato.beliefs import Markov
from sfumato.channels import Emission
from sfumato.inference.forward_backward import forward_backward
from sfumato.parameters import declare
from sfumato_fano.guesser import Guesser, IntArray


@declare
class MarginalMode(Guesser):
    """At each step the state of largest posterior probability, by smoothing.

    No guess has a larger expected number of matches, so it beats `map` when many mistakes are
    allowed; the guessed trajectory itself may be impossible.

    >>> import sfumato as sf
    >>> from sfumato.channels import Symbols
    >>> belief = Markov([0.4, 0.6], [[0.5, 0.5], [1.0, 0.0]], steps=2)
    >>> blind = Symbols((0, 1), ("nothing",), [[[1.0], [1.0]]] * 2)
    >>> sf.adversaries.marginal_mode().infer(belief, blind, ["nothing"] * 2)
    (1, 0)
    """

    name = "marginal_mode"

    def guesses(
        self, belief: Markov, channel: Emission, observed: Sequence[Any], mistakes: int | None
    ) -> IntArray:
        """Return the likeliest state of every step, for each output."""
        del mistakes
        smoothed = forward_backward(belief, channel.evidence_batch(observed))
        return np.asarray(smoothed.marginals.argmax(axis=-1), dtype=np.intp)
