"""A study: one or more comparisons under a title, as a value that can be run anywhere."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from sfumato.comparison.cells import MAX_CELLS, Comparison, Labelled
from sfumato.errors import StudyError
from sfumato.plugin_registry import Registry, default_registry
from sfumato.quantities import count_text
from sfumato.values import printable, write_whole

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from sfumato.comparison.risk_maps import RiskMap


@attrs.frozen(kw_only=True)
class StudyResult:
    """The comparisons of a study's parts, in order, and what went wrong with the cache.

    `where` says where the cells were run and kept, for what is asked of the result later.
    """

    study: Study
    comparisons: tuple[Comparison, ...]
    problems: tuple[str, ...] = ()
    where: Mapping[str, Any] = attrs.field(factory=dict, eq=False, repr=False)

    @property
    def maps(self) -> tuple[tuple[RiskMap, ...], ...]:
        """The risk maps of each comparison; none where they were not asked for."""
        return tuple(comparison.maps or () for comparison in self.comparisons)

    def with_maps(self) -> StudyResult:
        """Return the result with its risk maps: cells that are run and kept like all others."""
        from sfumato.comparison.engine import add_maps

        return add_maps(self)

    def to_pandas(self) -> pd.DataFrame:
        """Return one row for each cell of every part."""
        import pandas as pd

        tables = []
        for number, comparison in enumerate(self.comparisons):
            table = comparison.to_pandas()
            table.insert(0, "part", comparison.title or str(number))
            table.insert(1, "part_number", number)
            tables.append(table)
        return pd.concat(tables, ignore_index=True)

    def plot(self) -> Figure:
        """Return one figure of all losses."""
        from sfumato.report.figures import loss_figure

        return loss_figure(self.comparisons)

    def __repr__(self) -> str:
        cells = count_text(sum(len(comparison.cells) for comparison in self.comparisons), "cell")
        return f"<StudyResult of {cells} in {count_text(len(self.comparisons), 'part')}>"

    def _repr_html_(self) -> str:
        from sfumato.report.page import result_tables

        return result_tables(self)

    def to_html(self, path: Path | str) -> None:
        """Write one self-contained page, with the risk maps."""
        from sfumato.report.page import page

        write_whole(Path(path), page(self.with_maps()))


def _label_each(given: Iterable[Any]) -> tuple[Labelled, ...]:
    return tuple(Labelled.of(noun) for noun in given)


def _list_parts(given: Iterable[Part]) -> tuple[Part, ...]:  # typed, as `tuple` would not be
    return tuple(given)


@attrs.frozen(kw_only=True)
class Part:
    """One comparison: every prior, secret, mechanism and measure of its lists.

    `maps` says whether it has risk maps; None means that whoever runs it does.
    """

    title: str = attrs.field(default="", converter=printable)
    notes: str = attrs.field(default="", converter=printable)
    maps: bool | None = None
    priors: tuple[Labelled, ...] = attrs.field(converter=_label_each)
    secrets: tuple[Labelled, ...] = attrs.field(converter=_label_each)
    mechanisms: tuple[Labelled, ...] = attrs.field(converter=_label_each)
    measures: tuple[Labelled, ...] = attrs.field(converter=_label_each)

    def __repr__(self) -> str:
        return f"<Part {self.title[:80]!r} of {count_text(self.size, 'cell')}>"

    def _repr_html_(self) -> str:
        from sfumato.report.cards import result_card

        return result_card("Part", self.title, cells=self.size, notes=self.notes)

    @property
    def size(self) -> int:
        """How many cells the part has."""
        return math.prod(map(len, (self.priors, self.secrets, self.mechanisms, self.measures)))


@attrs.frozen(kw_only=True)
class Study:
    """A titled question in one or more parts, with a seed from which every cell gets its own.

    >>> import sfumato as sf
    >>> study = sf.Study.from_table({
    ...     "title": "How much does smoothness give away?",
    ...     "priors": [{"name": "rbf", "length_scale": {"sweep": [1.0, 3.0, 6.0]}, "times": 20}],
    ...     "secrets": [sf.secrets.basic(9)],
    ...     "mechanisms": [{"name": "gaussian_uniform", "mse": 0.1, "label": "noise"}],
    ...     "measures": ["renyi"],
    ... })
    >>> [round(cell.loss.value, 2) for cell in study.run().comparisons[0].cells]
    [12.1, 31.92, 58.37]
    """

    title: str = attrs.field(converter=printable)
    notes: str = attrs.field(default="", converter=printable)
    seed: int = 0
    parts: tuple[Part, ...] = attrs.field(converter=_list_parts)
    max_cells: int = MAX_CELLS

    def __attrs_post_init__(self) -> None:
        if self.size > self.max_cells:
            raise StudyError(
                f"a study must have at most {self.max_cells:,} cells; got {self.size:,}: make it "
                "smaller or raise max_cells."
            )

    def __repr__(self) -> str:
        return f"<Study {self.title[:80]!r} of {count_text(self.size, 'cell')}>"

    def _repr_html_(self) -> str:
        from sfumato.report.cards import result_card

        parts = "; ".join(part.title for part in self.parts if part.title) or len(self.parts)
        return result_card("Study", self.title, cells=self.size, parts=parts, notes=self.notes)

    @property
    def size(self) -> int:
        """How many cells the study has."""
        return sum(part.size for part in self.parts)

    @classmethod
    def from_table(cls, table: Mapping[str, Any], registry: Registry | None = None) -> Study:
        """Return the study that a table describes, as a TOML file would; nouns may be objects."""
        from sfumato.comparison.study_files import study_from_table

        return study_from_table(table, registry or default_registry(), "the study")

    @classmethod
    def read(cls, path: Path | str, registry: Registry | None = None) -> Study:
        """Read a study file."""
        from sfumato.comparison.study_files import read_study

        return read_study(Path(path), registry or default_registry())

    def run(
        self,
        *,
        jobs: int = 1,
        dask: str | None = None,
        cache: Path | str | None = None,
        maps: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> StudyResult:
        """Measure every cell.

        Parameters
        ----------
        jobs
            How many worker processes to use; 1 means this process.
        dask
            The address of a Dask scheduler to use instead.
        cache
            A folder for finished cells; what it holds already is not computed again.
        maps
            Whether parts that do not say so themselves have risk maps, as a page shows them.
        progress
            Called with the numbers of finished and of all cells.
        """
        from sfumato.comparison.engine import run_study

        return run_study(self, jobs=jobs, dask=dask, cache=cache, maps=maps, progress=progress)
