"""The attacker who guesses the likeliest trajectory."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from sfumato.beliefs import Markov
from sfumato.channels import Emission
from sfumato.inference.viterbi import viterbi
from sfumato.parameters import declare
from sfumato.protocols import DeclaredAdversary


@declare
class MaximumPosterior(DeclaredAdversary):
    """The trajectory of largest posterior probability, by the Viterbi recursion.

    Optimal for guesses without mistakes; with mistakes allowed others can do better.

    Reference: Koga, Meehan and Chaudhuri (2024), section 5, the MAP attack.

    >>> import sfumato as sf
    >>> from sfumato.channels import Symbols
    >>> belief = Markov([0.6, 0.4], [[0.5, 0.5], [0.5, 0.5]], steps=1)
    >>> channel = Symbols((0, 1), (0, 1), [[[1.0, 0.0], [0.0, 1.0]]])
    >>> sf.adversaries.map().infer(belief, channel, [1])
    (1,)
    """

    name = "map"
    reads = ((Markov, Emission),)

    def infer(
        self, belief: Markov, channel: Emission, observed: Sequence[Any]
    ) -> tuple[Hashable, ...]:
        """Return the guessed labels."""
        path, _ = viterbi(belief, channel.evidence(observed))
        return belief.decode(path)
