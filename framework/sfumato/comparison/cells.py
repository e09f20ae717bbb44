"""A noun under a name of one's own."""

from __future__ import annotations

import itertools
import math
import platform
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import attrs
import numpy as np

from sfumato import __version__
from sfumato.errors import REFUSALS, ParameterError
from sfumato.protocols import (
    Loss,
    LossMeasure,
    Mechanism,
    PriorClass,
    Quantity,
    Reading,
    Release,
    Scenario,
    Secret,
)
from sfumato.values import from_json, to_json

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from rich.console import RenderableType


@attrs.frozen
class Labelled:
    """A prior, secret, mechanism or measure with the label that tables and plots show.

    >>> import sfumato as sf
    >>> sf.Labelled(sf.mechanisms.gaussian_uniform(mse=0.02), "a little noise").label
    'a little noise'
    """

    noun: Any
    label: str = ""

    @classmethod
    def of(cls, given: Any) -> Labelled:
        """Return `given` itself if it has a label, else with none."""
        return given if isinstance(given, cls) else cls(given)


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


@cache
def versions() -> str:
    """Return the versions of the software that numbers depend on, in one line."""
    import scipy

    return (
        f"sfumato {__version__}, python {platform.python_version()}, numpy {np.__version__}, "
        f"scipy {scipy.__version__}"
    )


def measure_scenario(
    prior: Any, secret: Any, mechanism: Any, measures: Sequence[Any]
) -> Iterator[Finding]:
    """Design one release and yield what each measure finds, as soon as it does."""
    release, outcome, reason = attempt(Release, lambda: mechanism.protect(prior, secret))
    for measure in measures:
        if release is None:
            yield Finding(outcome=outcome, reason=reason, versions=versions())
        else:
            yield _finding(release, measure)


def _finding(release: Release, measure: Any) -> Finding:
    began = time.perf_counter()
    loss, outcome, reason = attempt(
        Loss, lambda: measure.loss(release.prior, release.secret, release)
    )
    others: dict[str, Any] = {
        "utility": release.utility(),
        "utility_quantity": release.utility_quantity,
        "seconds": time.perf_counter() - began,
        "versions": versions(),
    }
    if loss is None:
        return Finding(outcome=outcome, reason=reason, **others)
    return Finding.measured(loss, **others)


def attempt(wanted: type, work: Callable[[], Any]) -> tuple[Any, Outcome, str]:
    """Return what `work` gives, or why it refused or failed; only three errors are refusals."""
    try:
        result = work()
    except REFUSALS as error:
        return None, "refused", str(error)
    except ParameterError as error:
        return None, "failed", str(error)
    except Exception as error:  # noqa: BLE001 - a failed cell must not end the comparison
        where = traceback.extract_tb(error.__traceback__)[-1]
        return None, "failed", f"{type(error).__name__}: {error} ({where.name})"
    if not isinstance(result, wanted):
        return None, "failed", f"a {wanted.__name__} was expected; got {result!r}"
    return result, "measured", ""


KINDS = ("prior", "secret", "mechanism", "measure")


@attrs.frozen(kw_only=True)
class Cell:
    """One scenario under one measure: a loss, a refusal with its reason, or a failure."""

    prior: Any
    secret: Any
    mechanism: Any
    measure: Any
    finding: Finding
    labels: Mapping[str, str] = attrs.field(factory=dict)

    @classmethod
    def of(cls, nouns: Iterable[Labelled], finding: Finding) -> Cell:
        """Return the cell of a prior, a secret, a mechanism and a measure, in this order."""
        named = dict(zip(KINDS, nouns, strict=True))
        return cls(
            **{kind: labelled.noun for kind, labelled in named.items()},
            labels={kind: labelled.label for kind, labelled in named.items()},
            finding=finding,
        )

    @property
    def outcome(self) -> Outcome:
        """Whether it was measured, refused or failed."""
        return self.finding.outcome

    @property
    def reason(self) -> str:
        """Why it was refused or failed."""
        return self.finding.reason

    @property
    def quantity(self) -> Quantity:
        """What was measured; only measured cells have one."""
        if self.finding.quantity is None:
            raise ValueError(
                f"the cell must be measured to have a quantity; it was {self.outcome}."
            )
        return self.finding.quantity

    @property
    def reading(self) -> Reading:
        """The value with its direction; only measured cells have one."""
        if self.finding.reading is None:
            raise ValueError(f"the cell must be measured to have a value; it was {self.outcome}.")
        return self.finding.reading

    @property
    def loss(self) -> Loss | None:
        """The loss; the mechanism, which determines it, stands for the channel."""
        found = self.finding
        if found.reading is None or found.quantity is None:
            return None
        fields = {field.name: getattr(found.reading, field.name) for field in attrs.fields(Reading)}
        return Loss(
            **fields,
            quantity=found.quantity,
            scenario=Scenario(self.prior, self.secret, self.mechanism),
            worst=found.worst,
            unverified=found.reading.bound == "exact" and not self.measure.has_brute_force(),
        )

    @property
    def utility(self) -> float | None:
        """How useful the release is."""
        return self.finding.utility

    @property
    def utility_quantity(self) -> Quantity | None:
        """What `utility` counts."""
        return self.finding.utility_quantity

    @property
    def seconds(self) -> float:
        """Time spent on the measure."""
        return self.finding.seconds

    @property
    def versions(self) -> str:
        """Of the software that computed it."""
        return self.finding.versions

    def row(self) -> dict[str, Any]:
        """Return the cell as one row of a tidy table."""
        found, reading = self.finding, self.finding.reading
        interval = reading.interval if reading and reading.interval else (math.nan, math.nan)
        return {
            **{kind: str(getattr(self, kind)) for kind in KINDS},
            **{f"{kind}_label": self.labels.get(kind, "") for kind in KINDS},
            "quantity": str(found.quantity) if found.quantity else None,
            "value": reading.value if reading else None,
            "bound": reading.bound if reading else None,
            "floor": reading.floor if reading else None,
            "ceiling": reading.ceiling if reading else None,
            "interval_low": interval[0],
            "interval_high": interval[1],
            "worse": found.quantity.worse if found.quantity else None,
            "worst": _text(found.worst),
            "witness": reading.witness if reading else None,
            "how": reading.how if reading else None,
            "unverified": self.loss.unverified if self.loss else None,
            "utility": found.utility,
            "utility_quantity": str(found.utility_quantity) if found.utility_quantity else None,
            "outcome": found.outcome,
            "reason": found.reason,
            "seconds": found.seconds,
            "seed": found.seed,
            "versions": found.versions,
        }


def _text(worst: Mapping[str, Any] | None) -> str | None:
    """Write a member's specification as one would in a study: ``rbf(length_scale=6.0)``."""
    if worst is None:
        return None
    inside = ", ".join(f"{key}={value!r}" for key, value in worst.items() if key != "name")
    return f"{worst.get('name', '')}({inside})"


@attrs.frozen
class Comparison:
    """The cells of a comparison, in the order of the question."""

    cells: tuple[Cell, ...]
    title: str = ""
    notes: str = ""

    def to_pandas(self) -> pd.DataFrame:
        """Return one row for each cell: what was measured, refused and failed.

        Each parameter that varies has a column of its own, such as ``prior.length_scale``.
        """
        import pandas as pd

        from sfumato.report.columns import parameter_columns, typed_column

        table = pd.DataFrame([cell.row() for cell in self.cells])
        seeds = {"seed": typed_column([cell.finding.seed for cell in self.cells])}
        return table.assign(**seeds, **parameter_columns(self.cells))

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

    def plot(self) -> Figure:
        """Return a figure of the losses: against what was swept, else scenario by scenario.

        Save it with ``.savefig("losses.svg")``, or as PDF or PNG.
        """
        from sfumato.report.figures import loss_figure

        return loss_figure((self,))

    def to_html(self, path: Path | str) -> None:
        """Write one self-contained page: the question, tables, figures and how to rerun it."""
        from sfumato.comparison.study_files import as_study_result
        from sfumato.report.page import write_page

        write_page(Path(path), as_study_result(self))

    def __rich__(self) -> RenderableType:
        from sfumato.report.tables import ComparisonTable

        return ComparisonTable(self)

    def __str__(self) -> str:
        from rich.console import Console

        console = Console(width=160, no_color=True)
        with console.capture() as capture:
            console.print(self)
        return capture.get()


MAX_CELLS = 100_000
"""More combinations than this are refused before anything is computed."""


def compare(
    priors: Iterable[PriorClass | Labelled],
    secrets: Iterable[Secret | Labelled],
    mechanisms: Iterable[Mechanism | Labelled],
    measures: Iterable[LossMeasure | Labelled],
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
    lists: list[list[Labelled]] = []
    for words, given in (
        ("priors", priors),
        ("secrets", secrets),
        ("mechanisms", mechanisms),
        ("measures", measures),
    ):
        if not isinstance(given, Iterable):
            raise TypeError(f"compare.{words} must be a list; got {given!r}.")
        lists.append([Labelled.of(noun) for noun in given])
    size = math.prod(len(nouns) for nouns in lists)
    if size > MAX_CELLS:
        raise ParameterError(
            f"compare must have at most {MAX_CELLS:,} cells; got {size:,}: compare fewer, or write "
            "a study, which keeps what is finished."
        )
    every_measure = [labelled.noun for labelled in lists[3]]
    cells = []
    for scenario in itertools.product(*lists[:3]):
        prior, secret, mechanism = (labelled.noun for labelled in scenario)
        found = measure_scenario(prior, secret, mechanism, every_measure)
        for measure, finding in zip(lists[3], found, strict=True):
            cells.append(Cell.of((*scenario, measure), finding))
    return Comparison(tuple(cells))
