"""The attacker who says that the target never moves."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from sfumato.beliefs import Markov
from sfumato.channels import Emission
from sfumato.inference.staying import staying_successes
from sfumato.parameters import OPTIONAL, Label, declare, parameter
from sfumato_fano.guesser import Guesser, IntArray


@declare
class Constant(Guesser):
    """One and the same place at every step: a given one, or the best of all M.

    The best place has the largest chance to be right up to the allowed mistakes, computed from
    the prior. Where the mistakes are not known (in `infer`), it is the place with the largest
    expected number of matches.

    Reference: Koga, Meehan and Chaudhuri (2024), section 3.2.2, the lucky constant estimator.

    >>> import sfumato as sf
    >>> from sfumato.channels import Symbols
    >>> belief = Markov([0.6, 0.4], [[0.5, 0.5], [0.5, 0.5]], steps=2)
    >>> blind = Symbols((0, 1), ("nothing",), [[[1.0], [1.0]]] * 2)
    >>> sf.adversaries.constant().infer(belief, blind, ["nothing"] * 2)
    (0, 0)
    """

    name = "constant"

    place: Hashable = parameter(
        OPTIONAL(Label("M")), default=None, doc="the place; the best one by default"
    )

    def guesses(
        self, belief: Markov, channel: Emission, observed: Sequence[Any], mistakes: int | None
    ) -> IntArray:
        """Return the same place everywhere."""
        del channel
        if self.place is not None:
            if self.place not in belief.states:
                raise self.reject("place", f"among {list(belief.states)}", self.place)
            best = belief.index(self.place)
        elif mistakes is None:
            best = int(belief.marginals().sum(axis=0).argmax())
        else:
            best = int(staying_successes(belief, mistakes).argmax())
        return np.full((len(observed), belief.steps), best, dtype=np.intp)
