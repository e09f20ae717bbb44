"""What is said of risk maps: once of all of them, and of each what is special."""

from __future__ import annotations

from collections.abc import Sequence

from sfumato.report.risk_map import RiskMap


def told_of_maps(maps: Sequence[RiskMap]) -> str:
    """Say what the cells of the maps and of the matrices are."""
    words = ["In a band, each cell is the loss if that single time were the secret."]
    if any(row.alone for risk in maps for row in risk.rows):
        words.append(
            "In a square, it is the loss of the secret at the time of its row if nothing but the "
            "release at the time of its column were seen; the strip beside it is the loss from all "
            "releases together. A pale row with a dark strip is a secret that no single point "
            "gives away, but all of them do."
        )
    words.append("Darker is worse.")
    if any(risk.marked for risk in maps):
        words.append("▾ and ▸ mark what the mechanisms were asked to protect.")
    return " ".join(words)


def told_of_map(risk: RiskMap) -> str:
    """Say what is missing from one map, and whether it shows bounds."""
    words = []
    if not all(row.exact for row in risk.rows):
        words.append("Some values are bounds.")
    if risk.left_out:
        words.append(f"Not drawn: {'; '.join(risk.left_out)}.")
    missing = {row.mechanism: row.why_not_alone for row in risk.rows if not row.alone}
    if missing:
        told = "; ".join(f"{name} ({why.rstrip('.')})" for name, why in missing.items())
        words.append(f"Without a square: {told}.")
    return " ".join(words)
