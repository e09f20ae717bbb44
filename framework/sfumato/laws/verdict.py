"""What came of trying a law on a case."""

from __future__ import annotations

from typing import Any, Literal

import attrs

from sfumato.laws.case import Case

Outcome = Literal["holds", "violated", "refused", "waived"]


@attrs.frozen
class Verdict:
    """The outcome of one case.

    Attributes
    ----------
    outcome
        ``"holds"``; ``"violated"``, with a counterexample; ``"refused"`` where no example could
        be tried; ``"waived"`` where a violation is known and has a reason.
    examples
        How many examples the law was tried on.
    message
        What went wrong, or why nothing could be tried.
    counterexample
        The smallest arguments found that break the law.
    script
        The counterexample as a program.
    waived_for
        The names of the plugins whose waivers the violation needed.
    """

    case: Case
    outcome: Outcome
    examples: int = 0
    message: str = ""
    counterexample: dict[str, Any] | None = None
    script: str = ""
    seconds: float = 0.0
    waived_for: tuple[str, ...] = ()

    def row(self) -> dict[str, Any]:
        """Return the verdict as plain values."""
        return {
            "law": self.case.law.name,
            "case": self.case.label,
            "outcome": self.outcome,
            "examples": self.examples,
            "message": self.message,
            "script": self.script,
            "seconds": round(self.seconds, 3),
        }
