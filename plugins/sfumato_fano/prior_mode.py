"""The attacker who does not look."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sfumato.beliefs import Markov
from sfumato.channels import Emission
from sfumato.inference.viterbi import viterbi
from sfumato.parameters import declare
from sfumato_fano.guesser import Guesser, IntArray


@declare
class PriorMode(Guesser):
    """The trajectory of largest prior probability, whatever was released.

    Its success is what the prior alone gives away.

    Reference: Koga, Meehan and Chaudhuri (2024), section 3.2.2, the maximum a priori estimator.

    >>> import sfumato as sf
    >>> from sfumato.channels import Symbols
    >>> belief = Markov([0.6, 0.4], [[0.5, 0.5], [0.5, 0.5]], steps=1)
    >>> channel = Symbols((0, 1), (0, 1), [[[1.0, 0.0], [0.0, 1.0]]])
    >>> sf.adversaries.prior_mode().infer(belief, channel, [1])
    (0,)
    """

    name = "prior_mode"

    def guesses(
        self, belief: Markov, channel: Emission, observed: Sequence[Any], mistakes: int | None
    ) -> IntArray:
        """Return the same trajectory for each output."""
        del channel, mistakes
        path, _ = viterbi(belief, np.zeros((belief.steps, belief.state_count)))
        return np.tile(path, (len(observed), 1))
