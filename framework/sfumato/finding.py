"""What one cell of a comparison came to, as plain values that can be kept and sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import attrs

from sfumato.plain_json import from_json, to_json
from sfumato.protocols.loss import Loss, Reading
from sfumato.protocols.quantity import Quantity

Outcome = Literal["measured", "refused", "failed"]


@attrs.frozen(kw_only=True)
class Finding:
    """A reading, a refusal with its reason, or a failure.

    Attributes
    ----------
    reading
        The value with its direction; its witness is text.
    worst
        The specification of the member of the prior class that attains it.
    utility, utility_quantity
        How useful the release is.
    seconds
        Time spent on the measure, without designing the release.
    versions
        Of the software that computed it.
    """

    outcome: Outcome
    reading: Reading | None = None
    quantity: Quantity | None = None
    worst: Mapping[str, Any] | None = None
    utility: float | None = None
    utility_quantity: Quantity | None = None
    reason: str = ""
    seconds: float = 0.0
    seed: int | None = None
    versions: str = ""

    @classmethod
    def measured(cls, loss: Loss, **others: Any) -> Finding:
        """Keep the plain part of a loss."""
        fields = {field.name: getattr(loss, field.name) for field in attrs.fields(Reading)}
        witness = None if loss.witness is None else str(_without_numpy(loss.witness))
        specification = getattr(loss.worst, "specification", None)
        return cls(
            outcome="measured",
            reading=Reading(**{**fields, "witness": witness}),
            quantity=loss.quantity,
            # In the order of kept findings, so that no table tells where a cell came from.
            worst=from_json(to_json(specification())) if specification else None,
            **others,
        )

    def plain(self) -> dict[str, Any]:
        """Return a table of plain values that `from_plain` reads."""
        return attrs.asdict(self)

    @classmethod
    def from_plain(cls, table: Mapping[str, Any]) -> Finding:
        """Read what `plain` wrote, also after a journey through JSON.

        >>> finding = Finding(outcome="refused", reason="renyi reads Gaussian beliefs.")
        >>> Finding.from_plain(finding.plain()) == finding
        True
        """
        fields = dict(table)
        if fields["reading"] is not None:
            interval = fields["reading"]["interval"]
            ends = None if interval is None else tuple(interval)
            fields["reading"] = Reading(**{**fields["reading"], "interval": ends})
        for key in ("quantity", "utility_quantity"):
            if fields[key] is not None:
                fields[key] = Quantity(**fields[key])
        return cls(**fields)


def _without_numpy(witness: Any) -> Any:
    """Return a witness with plain numbers, for people to read."""
    if isinstance(witness, Mapping):
        return {key: _without_numpy(value) for key, value in witness.items()}
    if isinstance(witness, tuple):
        return tuple(_without_numpy(item) for item in witness)
    return witness.tolist() if hasattr(witness, "tolist") else witness
