"""What a study found."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from sfumato.comparison import Comparison

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from sfumato.studies.study import Study


@attrs.frozen(kw_only=True)
class StudyResult:
    """The comparisons of a study's parts, in order, and what went wrong with the cache."""

    study: Study
    comparisons: tuple[Comparison, ...]
    problems: tuple[str, ...] = ()

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
        from sfumato.report.loss_figure import loss_figure

        return loss_figure(self.comparisons)

    def to_html(self, path: Path | str) -> None:
        """Write one self-contained page."""
        from sfumato.report.html_page import write_page

        write_page(Path(path), self)
