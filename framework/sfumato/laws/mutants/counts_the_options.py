"""A class of one that costs more than its member."""

from __future__ import annotations

from typing import Any

import attrs

from sfumato.laws.mutant import Mutant
from sfumato.laws.mutants.plain_gaussian import PlainRenyi
from sfumato.parameters import declare
from sfumato.prior_classes.sets import AnyOf
from sfumato.protocols import Loss, PriorClass


@declare
class CountsTheOptions(PlainRenyi):
    """Adds one nat for every option of a class, even for the only one."""

    name = "mutant_counts_the_options"

    def loss(self, prior: PriorClass, secret: Any, release: Any) -> Loss:
        """Return the worst loss and the number of options."""
        found = super().loss(prior, secret, release)
        options = len(prior.options) if isinstance(prior, AnyOf) else 0
        return attrs.evolve(found, value=found.value + options)


MUTANT = Mutant("class.singleton", CountsTheOptions, "a class of one prior is that prior")
