"""A comparison and its cells: the one box in which a number goes from its measure to the table."""

from __future__ import annotations

import itertools
import math
import platform
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import attrs
import cattrs
import numpy as np
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override

from sfumato import __version__
from sfumato.errors import REFUSALS, ParameterError
from sfumato.protocols import (
    NOUNS,
    Loss,
    LossMeasure,
    Mechanism,
    PriorClass,
    Quantity,
    Release,
    Scenario,
    Secret,
)
from sfumato.quantities import count_text
from sfumato.release.designs import Finished
from sfumato.values import from_json, printable, to_json

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure
    from rich.console import RenderableType
    from xarray import Dataset

    from sfumato.comparison.risk_maps import RiskMap

KINDS = tuple(kind for kind in NOUNS if kind != "adversary")
"""What a cell is a cell of; an adversary is a parameter of its measure."""
FACTORS = KINDS[:-1]
"""The nouns of a scenario."""
LOSS_NUMBERS = ("value", "bound", "unverified", "floor", "ceiling")
MAX_CELLS = 100_000
"""More combinations than this are refused before anything is computed."""

Outcome = Literal["measured", "refused", "failed"]
Ask = Callable[[Release], Mapping[str, Any]]
"""What is asked of a release: it gives fields of the cell."""


@attrs.frozen
class Labelled:
    """A prior, secret, mechanism or measure with the label that tables and plots show.

    >>> import sfumato as sf
    >>> sf.Labelled(sf.mechanisms.gaussian_uniform(mse=0.02), "a little noise").label
    'a little noise'
    """

    noun: Any
    label: str = attrs.field(default="", converter=printable)

    @classmethod
    def of(cls, given: Any) -> Labelled:
        """Return `given` itself if it has a label, else with none."""
        if isinstance(given, cls):
            return given
        return cls(Finished.of(given) if isinstance(given, Release) else given)


@attrs.frozen(kw_only=True)
class Cell:
    """One scenario under one measure: a loss, the reason why there is none, or a failure.

    It is what workers send and what the cache keeps, then without its nouns.

    `outcome` is "refused" where the measure or the mechanism does not apply. The `loss` of a
    measured cell, else None, is a `Loss` in plain values: its witness is text, its worst member a
    specification, and the mechanism, which determines it, stands for the channel. `risks` are
    plain rows of a risk map, for the cells that ask for those instead. `seconds` are spent on the
    measure, without designing the release.
    """

    outcome: Outcome
    reason: str = ""
    loss: Any = None
    risks: tuple[Any, ...] = ()
    utility: float | None = None
    utility_quantity: Quantity | None = None
    seconds: float = 0.0
    seed: int | None = None
    versions: str = ""
    prior: Any = None
    secret: Any = None
    mechanism: Any = None
    measure: Any = None
    labels: Mapping[str, str] = attrs.field(factory=dict)

    def __repr__(self) -> str:
        return f"<Cell {self.outcome}: {self.reason or self.loss or len(self.risks)}>"

    def _repr_html_(self) -> str:
        from sfumato.report.cards import result_card

        nouns = {kind: getattr(self, kind) for kind in KINDS}
        return result_card("Cell", self.outcome, loss=str(self.loss or self.reason), **nouns)

    def with_nouns(self, nouns: Sequence[Labelled]) -> Cell:
        """Return the cell of a prior, a secret, a mechanism and a measure, in this order."""
        given = {kind: labelled.noun for kind, labelled in zip(KINDS, nouns, strict=True)}
        labels = _labels(*(labelled.label for labelled in nouns))
        scenario = Scenario(*(given[kind] for kind in FACTORS))
        loss = self.loss and attrs.evolve(self.loss, scenario=scenario)
        return attrs.evolve(self, **given, labels=labels, loss=loss)

    def plain(self) -> dict[str, Any]:
        """Return the cell without its nouns, in plain values that `from_plain` reads."""
        return dict(_converter.unstructure(self))

    @classmethod
    def from_plain(cls, table: Mapping[str, Any]) -> Cell:
        """Read what `plain` wrote, also after a journey through JSON.

        >>> from sfumato.comparison.cells import Cell
        >>> cell = Cell(outcome="refused", reason="renyi needs Gaussian beliefs.")
        >>> Cell.from_plain(cell.plain()) == cell
        True
        """
        return _converter.structure(table, cls)

    def row(self) -> dict[str, Any]:
        """Return the cell as one row of a tidy table."""
        loss, quantity = self.loss, self.loss and self.loss.quantity
        low, high = (loss and loss.interval) or (math.nan, math.nan)
        return {
            **{kind: str(getattr(self, kind)) for kind in KINDS},
            **{f"{kind}_label": self.labels.get(kind, "") for kind in KINDS},
            "quantity": quantity and str(quantity),
            **{name: getattr(loss, name, None) for name in LOSS_NUMBERS},
            "interval_low": low,
            "interval_high": high,
            "worse": quantity and quantity.worse,
            "worst": _call_text(loss.worst) if loss and loss.worst else None,
            **{name: getattr(loss, name, None) for name in ("witness", "how")},
            "utility": self.utility,
            "utility_quantity": self.utility_quantity and str(self.utility_quantity),
            **{name: getattr(self, name) for name in ("outcome", "reason", "seconds", "seed")},
            "versions": self.versions,
        }


def _call_text(specification: Mapping[str, Any]) -> str:
    """Write a specification as a call: ``rbf(length_scale=6.0)``."""
    inside = ", ".join(f"{key}={value!r}" for key, value in specification.items() if key != "name")
    return f"{specification.get('name', '')}({inside})"


def _make_converter() -> cattrs.Converter:
    """Return what turns cells into plain values and back; whoever asks knows the nouns."""
    converter = cattrs.Converter()
    converter.register_structure_hook(float | str, lambda value, _: value)
    own: dict[str, Any] = {name: override(omit=True) for name in (*KINDS, "labels")}
    own["versions"] = override(struct_hook=lambda text, _: sys.intern(text))
    own["loss"] = override(struct_hook=lambda table, _: table and converter.structure(table, Loss))
    scenario = override(unstruct_hook=lambda _: None, struct_hook=lambda *_: None)
    # The loss first: the functions for a cell are made of those for what it holds.
    worst = override(struct_hook=lambda table, _: table and _shared(to_json(table)))
    for cls, fields in ((Loss, {"scenario": scenario, "worst": worst}), (Cell, own)):
        unstructure = make_dict_unstructure_fn(cls, converter, **fields)
        converter.register_unstructure_hook(cls, unstructure)
        converter.register_structure_hook(cls, make_dict_structure_fn(cls, converter, **fields))
    return converter


_converter = _make_converter()


# Measuring ---------------------------------------------------------------------------------------


def answer_each(prior: Any, secret: Any, mechanism: Any, asks: Iterable[Ask]) -> Iterator[Cell]:
    """Design one release and yield what each question finds, as soon as it does."""
    release, outcome, reason = attempt(Release, lambda: mechanism.protect(prior, secret))
    if release is not None and (release.prior, release.secret) != (prior, secret):
        release = attrs.evolve(release, prior=prior, secret=secret)  # designed for others
    for ask in asks:
        if release is None:
            yield Cell(outcome=outcome, reason=reason, versions=versions())
            continue
        began = time.perf_counter()
        found, outcome, reason = attempt(dict, partial(ask, release))
        yield Cell(
            outcome=outcome,
            reason=reason,
            utility=release.utility(),
            utility_quantity=release.utility_quantity,
            seconds=time.perf_counter() - began,
            versions=versions(),
            **(found or {}),
        )


def ask_loss(measure: Any, release: Release) -> dict[str, Loss]:
    """Return what a measure finds, in plain values."""
    loss = measure.loss(release.prior, release.secret, release)
    if not isinstance(loss, Loss):
        raise TypeError(f"a Loss was expected; got {loss!r}")
    # The specification in the order of kept ones, so that no table tells where a cell came from.
    worst = None if loss.worst is None else _shared(to_json(loss.worst.specification()))
    witness = None if loss.witness is None else str(_without_numpy(loss.witness))
    scenario = Scenario(release.prior, release.secret, release.mechanism)
    return {"loss": attrs.evolve(loss, witness=witness, worst=worst, scenario=scenario)}


# Most cells of a large study have the worst member and the labels of others: one copy serves all.
_shared = lru_cache(maxsize=1024)(from_json)


@lru_cache(maxsize=1024)
def _labels(*labels: str) -> Mapping[str, str]:
    return dict(zip(KINDS, labels, strict=True))


def _without_numpy(witness: Any) -> Any:
    """Return a witness with plain numbers, for people to read."""
    if isinstance(witness, Mapping):
        return {key: _without_numpy(value) for key, value in witness.items()}
    if isinstance(witness, tuple):
        return tuple(_without_numpy(item) for item in witness)
    return witness.tolist() if hasattr(witness, "tolist") else witness


def attempt(wanted: type, work: Callable[[], Any]) -> tuple[Any, Outcome, str]:
    """Return what `work` gives, or why it refused or failed; only three errors are refusals."""
    try:
        result = work()
    except REFUSALS as error:
        return None, "refused", str(error)
    except ParameterError as error:
        return None, "failed", str(error)
    except MemoryError:
        return None, "failed", "this needs more memory than there is: ask about a shorter trace"
    except Exception as error:  # noqa: BLE001 - a failed cell must not end the comparison
        where = traceback.extract_tb(error.__traceback__)[-1]
        return None, "failed", f"{type(error).__name__}: {error} ({where.name})"
    if not isinstance(result, wanted):
        return None, "failed", f"a {wanted.__name__} was expected; got {result!r}"
    return result, "measured", ""


@cache
def versions() -> str:
    """Return the versions of the software that numbers depend on, in one line."""
    import scipy

    return (
        f"sfumato {__version__}, python {platform.python_version()}, numpy {np.__version__}, "
        f"scipy {scipy.__version__}"
    )


# Comparisons -------------------------------------------------------------------------------------


@attrs.frozen
class Comparison:
    """The cells of a comparison, in the order of the question.

    `maps` are its risk maps, None where nobody has asked for them.
    """

    cells: tuple[Cell, ...]
    title: str = attrs.field(default="", converter=printable)
    notes: str = attrs.field(default="", converter=printable)
    maps: tuple[RiskMap, ...] | None = attrs.field(default=None, eq=False, repr=False)

    def to_pandas(self) -> pd.DataFrame:
        """Return one row for each cell: what was measured, refused and failed.

        Each parameter that varies has a column of its own, such as ``prior.length_scale``.
        """
        import pandas as pd

        from sfumato.comparison.names import parameter_columns, typed_column

        table = pd.DataFrame([cell.row() for cell in self.cells])
        seeds = {"seed": typed_column([cell.seed for cell in self.cells])}
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
        """The reasons why something does not apply, with how many cells each accounts for."""
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

        as_study_result(self).to_html(path)

    @property
    def findings(self) -> tuple[str, ...]:
        """What was found, in sentences, the most telling first."""
        from sfumato.comparison.findings import findings

        return findings(self)

    def to_xarray(self) -> Dataset:
        """Return the losses on their axes, one variable for each measure, as an xarray dataset."""
        from sfumato.comparison.sweeps import to_dataset

        return to_dataset(self.measured)

    def __repr__(self) -> str:
        counts = Counter(cell.outcome for cell in self.cells)
        told = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
        return f"<Comparison of {count_text(len(self.cells), 'cell')}{f': {told}' if told else ''}>"

    def _repr_html_(self) -> str:
        from sfumato.report.page import comparison_table

        return comparison_table(self)

    def __rich__(self) -> RenderableType:
        from sfumato.report.tables import ComparisonTable

        return ComparisonTable(self)

    def __str__(self) -> str:
        from rich.console import Console

        console = Console(width=160, no_color=True)
        with console.capture() as capture:
            console.print(self)
        return capture.get()


def compare(
    priors: Iterable[PriorClass | Labelled],
    secrets: Iterable[Secret | Labelled],
    mechanisms: Iterable[Mechanism | Release | Labelled],
    measures: Iterable[LossMeasure | Labelled],
) -> Comparison:
    """Measure every combination; what does not fit is refused with its reason, never dropped.

    In place of a mechanism there may be a finished release, or a mechanism that is `designed_for`
    another prior or secret: it is then asked about every prior and secret of the lists.

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
    for kind, given in zip(KINDS, (priors, secrets, mechanisms, measures), strict=True):
        if not isinstance(given, Iterable):
            raise TypeError(f"compare.{NOUNS[kind].plural} must be a list; got {given!r}.")
        lists.append([Labelled.of(noun) for noun in given])
    size = math.prod(len(nouns) for nouns in lists)
    if size > MAX_CELLS:
        raise ParameterError(
            f"compare must have at most {MAX_CELLS:,} cells; got {size:,}: compare fewer, or write "
            "a study, which keeps what is finished."
        )
    asks = [partial(ask_loss, labelled.noun) for labelled in lists[3]]
    cells: list[Cell] = []
    for scenario in itertools.product(*lists[:3]):
        prior, secret, mechanism = (labelled.noun for labelled in scenario)
        found = answer_each(prior, secret, mechanism, asks)
        named = zip(found, lists[3], strict=True)
        cells += (cell.with_nouns((*scenario, measure)) for cell, measure in named)
    return Comparison(tuple(cells))
