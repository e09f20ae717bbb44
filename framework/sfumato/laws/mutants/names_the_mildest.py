"""A measure that names the wrong member of a class."""

from __future__ import annotations

from typing import Any

import attrs

from sfumato.laws.mutant import Mutant
from sfumato.laws.mutants.plain_gaussian import PlainRenyi
from sfumato.parameters import declare
from sfumato.protocols import Loss, PriorClass


@declare
class NamesTheMildest(PlainRenyi):
    """Reports the worst loss, and the member for which it is smallest."""

    name = "mutant_names_the_mildest"

    def loss(self, prior: PriorClass, secret: Any, release: Any) -> Loss:
        """Name another member than the one that attains the loss."""
        found = super().loss(prior, secret, release)
        members = list(prior.members())
        losses = [super(NamesTheMildest, self).loss(one, secret, release) for one in members]
        mildest = min(range(len(members)), key=lambda place: losses[place].value)
        return attrs.evolve(found, worst=members[mildest])


MUTANT = Mutant("class.member", NamesTheMildest, "the member that is named must attain the loss")
