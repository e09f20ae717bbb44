"""Scenarios side by side: every prior, secret, mechanism and measure, in one table."""

from __future__ import annotations

import time
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

import attrs

from sfumato.errors import REFUSALS
from sfumato.protocols.loss import Loss
from sfumato.protocols.loss_measure import LossMeasure
from sfumato.protocols.mechanism import Mechanism
from sfumato.protocols.prior_class import PriorClass
from sfumato.protocols.release import Release
from sfumato.protocols.secret import Secret

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import RenderableType

Outcome = Literal["measured", "refused", "failed"]


@attrs.frozen(kw_only=True)
class Cell:
    """One scenario under one measure: a loss, a refusal with its reason, or a failure."""

    prior: Any
    secret: Any
    mechanism: Any
    measure: Any
    outcome: Outcome
    loss: Loss | None = None
    utility: float | None = None
    reason: str = ""
    seconds: float = 0.0

    def row(self) -> dict[str, Any]:
        """Return the cell as one row of a tidy table."""
        loss = self.loss
        low, high = (loss.floor, loss.ceiling) if loss else (None, None)
        return {
            "prior": str(self.prior),
            "secret": str(self.secret),
            "mechanism": str(self.mechanism),
            "measure": str(self.measure),
            "quantity": str(loss.quantity) if loss else None,
            "value": loss.value if loss else None,
            "bound": loss.bound if loss else None,
            "floor": low,
            "ceiling": high,
            "worse": loss.quantity.worse if loss else None,
            "worst": str(loss.worst) if loss else None,
            "how": loss.how if loss else None,
            "utility": self.utility,
            "outcome": self.outcome,
            "reason": self.reason,
            "seconds": self.seconds,
        }


@attrs.frozen
class Comparison:
    """The cells of a comparison, in the order of the question."""

    cells: tuple[Cell, ...]

    def to_pandas(self) -> pd.DataFrame:
        """Return one row for each cell: what was measured, refused and failed."""
        import pandas as pd

        return pd.DataFrame([cell.row() for cell in self.cells])

    @property
    def measured(self) -> tuple[Cell, ...]:
        """The cells that have a loss."""
        return tuple(cell for cell in self.cells if cell.outcome == "measured")

    @property
    def failed(self) -> tuple[Cell, ...]:
        """The cells that went wrong."""
        return tuple(cell for cell in self.cells if cell.outcome == "failed")

    @property
    def refusals(self) -> dict[str, int]:
        """The reasons for refusals, with how many cells each accounts for."""
        reasons = Counter(cell.reason for cell in self.cells if cell.outcome == "refused")
        return dict(reasons.most_common())

    def __rich__(self) -> RenderableType:
        from sfumato.report.tables import comparison_table

        return comparison_table(self)

    def __str__(self) -> str:
        from rich.console import Console

        console = Console(width=160, no_color=True)
        with console.capture() as capture:
            console.print(self)
        return capture.get()


def compare(
    priors: Iterable[PriorClass],
    secrets: Iterable[Secret],
    mechanisms: Iterable[Mechanism],
    measures: Iterable[LossMeasure],
) -> Comparison:
    """Measure every combination; what does not fit is refused with its reason, never dropped.

    >>> import sfumato as sf
    >>> table = sf.compare(
    ...     priors=[sf.priors.rbf(length_scale=6.0, times=50)],
    ...     secrets=[sf.secrets.basic(24)],
    ...     mechanisms=[sf.mechanisms.gaussian_uniform(mse=0.02)],
    ...     measures=[sf.measures.renyi(order=2.0)],
    ... ).to_pandas()
    >>> round(float(table.value[0]), 3)
    260.603
    """
    nouns: list[list[Any]] = []
    for words, given in (
        ("priors", priors),
        ("secrets", secrets),
        ("mechanisms", mechanisms),
        ("measures", measures),
    ):
        if not isinstance(given, Iterable):
            raise TypeError(f"compare.{words} must be a list; got {given!r}.")
        nouns.append(list(given))
    every_measure = nouns[3]
    cells = [
        cell
        for prior in nouns[0]
        for secret in nouns[1]
        for mechanism in nouns[2]
        for cell in measure_scenario(prior, secret, mechanism, every_measure)
    ]
    return Comparison(tuple(cells))


def measure_scenario(
    prior: Any, secret: Any, mechanism: Any, measures: Sequence[Any]
) -> Iterator[Cell]:
    """Design one release and measure it by every measure."""
    nouns = {"prior": prior, "secret": secret, "mechanism": mechanism}
    release, outcome, reason = _attempt(lambda: mechanism.protect(prior, secret))
    for measure in measures:
        if release is None:
            yield Cell(**nouns, measure=measure, outcome=outcome, reason=reason)
        else:
            yield _measured(release, measure, nouns)


def _measured(release: Release, measure: Any, nouns: dict[str, Any]) -> Cell:
    began = time.perf_counter()
    loss, outcome, reason = _attempt(lambda: measure.loss(release.prior, release.secret, release))
    return Cell(
        **nouns,
        measure=measure,
        outcome=outcome,
        loss=loss,
        utility=release.utility(),
        reason=reason,
        seconds=time.perf_counter() - began,
    )


def _attempt(work: Any) -> tuple[Any, Outcome, str]:
    """Return what `work` gives, or why it refused or failed; only three errors are refusals."""
    try:
        return work(), "measured", ""
    except REFUSALS as error:
        return None, "refused", str(error)
    except Exception as error:  # noqa: BLE001 - a failed cell must not end the comparison
        where = traceback.extract_tb(error.__traceback__)[-1]
        return None, "failed", f"{type(error).__name__}: {error} ({where.name})"
