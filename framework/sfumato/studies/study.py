"""A study: one or more comparisons under a title, as a value that can be run anywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from sfumato.comparison import MAX_CELLS
from sfumato.labelled import Labelled
from sfumato.studies.study_error import StudyError

if TYPE_CHECKING:
    from sfumato.plugin_registry import Registry
    from sfumato.studies.study_result import StudyResult


def _labelled(given: Iterable[Any]) -> tuple[Labelled, ...]:
    return tuple(Labelled.of(noun) for noun in given)


@attrs.frozen(kw_only=True)
class Part:
    """One comparison: every prior, secret, mechanism and measure of its lists."""

    title: str = ""
    notes: str = ""
    priors: tuple[Labelled, ...] = attrs.field(converter=_labelled)
    secrets: tuple[Labelled, ...] = attrs.field(converter=_labelled)
    mechanisms: tuple[Labelled, ...] = attrs.field(converter=_labelled)
    measures: tuple[Labelled, ...] = attrs.field(converter=_labelled)

    @property
    def size(self) -> int:
        """How many cells the part has."""
        scenarios = len(self.priors) * len(self.secrets) * len(self.mechanisms)
        return scenarios * len(self.measures)


def _as_tuple(parts: Iterable[Part]) -> tuple[Part, ...]:
    return tuple(parts)


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

    title: str
    notes: str = ""
    seed: int = 0
    parts: tuple[Part, ...] = attrs.field(converter=_as_tuple)
    max_cells: int = MAX_CELLS

    def __attrs_post_init__(self) -> None:
        if self.size > self.max_cells:
            raise StudyError(
                f"a study must have at most {self.max_cells:,} cells; got {self.size:,}: make it "
                "smaller or raise max_cells."
            )

    @property
    def size(self) -> int:
        """How many cells the study has."""
        return sum(part.size for part in self.parts)

    @classmethod
    def from_table(cls, table: Mapping[str, Any], registry: Registry | None = None) -> Study:
        """Return the study that a table describes, as a TOML file would; nouns may be objects."""
        from sfumato.plugin_registry import default_registry
        from sfumato.studies.study_table import study_from_table

        return study_from_table(table, registry or default_registry(), "the study")

    @classmethod
    def read(cls, path: Path | str, registry: Registry | None = None) -> Study:
        """Read a study file."""
        from sfumato.plugin_registry import default_registry
        from sfumato.studies.toml_study import read_study

        return read_study(Path(path), registry or default_registry())

    def run(
        self,
        *,
        jobs: int = 1,
        dask: str | None = None,
        cache: Path | str | None = None,
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
        progress
            Called with the numbers of finished and of all cells.
        """
        from sfumato.studies.engine import run_study

        return run_study(self, jobs=jobs, dask=dask, cache=cache, progress=progress)
