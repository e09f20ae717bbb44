"""A measure that names the wrong end of the scale."""

from __future__ import annotations

from sfumato.laws.mutant import Mutant
from sfumato.laws.mutants.plain_gaussian import PlainRenyi
from sfumato.parameters import declare


@declare
class WorstAtTheWrongEnd(PlainRenyi):
    """Says that a wide prior is the worst; the narrower one tells more about its neighbours."""

    name = "mutant_worst_at_the_wrong_end"
    worst_scale = "high"


MUTANT = Mutant("class.scale", WorstAtTheWrongEnd, "the end that is named must be the worst")
