"""An adversary who looks at the beginning of an output only."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from sfumato.beliefs import Markov
from sfumato.channels import Emission
from sfumato.laws.mutant import Mutant
from sfumato.laws.mutants.filtering import filtered
from sfumato.parameters import declare
from sfumato.protocols import LossMeasure, Quantity, Reading
from sfumato.quantities import POSTERIOR_GAP
from sfumato.questions import Events


@declare
class PrefixOnly(LossMeasure):
    """The posterior gap of someone who forgets that later outputs tell about earlier states."""

    name = "mutant_prefix_only"
    reads = ((Markov, Events, Emission),)

    @property
    def quantity(self) -> Quantity:
        """The posterior gap."""
        return POSTERIOR_GAP

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Return the worst gap of Pr[A_t | o_1, ..., o_t]."""
        worst = -np.inf
        marginals = belief.marginals()
        for output in itertools.product(*channel.outputs()):
            posterior = filtered(belief, channel, output)
            if posterior is None:
                continue
            for mask in question.masks:
                gap = float((posterior * mask).sum() - (marginals * mask).sum())
                worst = max(worst, gap)
        return Reading(value=worst, bound="exact")


MUTANT = Mutant("oracle.value", PrefixOnly, "later outputs tell about earlier states")
