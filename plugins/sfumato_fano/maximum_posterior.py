"""The attacker who guesses the likeliest trajectory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sfumato.beliefs import Markov
from sfumato.channels import Emission, NoisyVectors
from sfumato.inference.marked_paths import MarkedPaths
from sfumato.inference.viterbi import viterbi
from sfumato.parameters import declare
from sfumato_fano.guesser import Guesser, IntArray


@declare
class MaximumPosterior(Guesser):
    """The trajectory of largest posterior probability, by the Viterbi recursion.

    For noisy counts the ways between sensors are found once for all outputs. Optimal for guesses
    without mistakes; with mistakes allowed others can do better.

    Reference: Koga, Meehan and Chaudhuri (2024), section 3.2.2, the MAP estimator.

    >>> import sfumato as sf
    >>> from sfumato.channels import Symbols
    >>> belief = Markov([0.6, 0.4], [[0.5, 0.5], [0.5, 0.5]], steps=1)
    >>> channel = Symbols((0, 1), (0, 1), [[[1.0, 0.0], [0.0, 1.0]]])
    >>> sf.adversaries.map().infer(belief, channel, [1])
    (1,)
    """

    name = "map"
    promises = ("most probable trace",)

    def guesses(
        self, belief: Markov, channel: Emission, observed: Sequence[Any], mistakes: int | None
    ) -> IntArray:
        """Return the likeliest trajectory for each output."""
        del mistakes
        if isinstance(channel, NoisyVectors):
            marked = MarkedPaths.of(belief, channel)
            if marked.is_quick:
                return marked.best(observed)
        return viterbi(belief, channel.evidence_batch(observed))[0]
