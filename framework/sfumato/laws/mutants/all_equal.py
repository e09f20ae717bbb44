"""A measure that is equal to any other of its kind."""

from __future__ import annotations

from sfumato.laws.mutant import Mutant
from sfumato.laws.mutants.plain_gaussian import PlainRenyi
from sfumato.parameters import declare


@declare
class AllEqual(PlainRenyi):
    """Forgets its order when compared: a cache would mix up their losses."""

    name = "mutant_all_equal"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return hash(self.name)


MUTANT = Mutant("interface.equality", AllEqual, "measures of different orders are not equal")
