"""A specification that leaves something out."""

from __future__ import annotations

from typing import Any

from sfumato.laws.mutant import Mutant
from sfumato.laws.mutants.plain_gaussian import PlainRenyi
from sfumato.parameters import declare


@declare
class ForgetfulSpecification(PlainRenyi):
    """Never writes its order."""

    name = "mutant_forgetful_specification"

    def specification(self) -> dict[str, Any]:
        """Return the name alone."""
        return {"name": self.name}


MUTANT = Mutant(
    "interface.round_trip", ForgetfulSpecification, "a specification rebuilds its plugin"
)
