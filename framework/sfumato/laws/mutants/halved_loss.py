"""A measure that reads one number and reports another."""

from __future__ import annotations

from typing import Any

import attrs

from sfumato.laws.mutant import Mutant
from sfumato.laws.mutants.plain_gaussian import PlainRenyi
from sfumato.parameters import declare
from sfumato.protocols import Loss, PriorClass


@declare
class HalvedLoss(PlainRenyi):
    """Reads the whole divergence and reports half of it as the loss."""

    name = "mutant_halved_loss"

    def loss(self, prior: PriorClass, secret: Any, release: Any) -> Loss:
        """Return half of what was read."""
        found = super().loss(prior, secret, release)
        return attrs.evolve(found, value=found.value / 2)


MUTANT = Mutant("contract.reading", HalvedLoss, "the loss of one prior is what is read for it")
