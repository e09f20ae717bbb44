"""The figures and tables of the papers, one file for each kind of computation."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from sfumato.figures import Drawing, Figure, FigureRequest
from sfumato.hookspecs import hookimpl

if TYPE_CHECKING:
    from sfumato.datasets.formats import Format

CHECK_INS = "Gowalla or Foursquare check-ins (needed)"
SIMULATED = (5, 7)
"""The figures of people who are made up, which need no data."""
STREAMS = (
    "days of contexts, a table of (user, time, state) or an activity home "
    "(without them, people are made up)"
)


def _figure(reference: str, where: str, needs: str = "", **options: Any) -> Figure:
    """Return a figure computed by ``module:function``, imported when it is asked for."""

    def compute(request: FigureRequest) -> Drawing:
        module, _, function = where.partition(":")
        found: Callable[..., Drawing] = getattr(
            importlib.import_module(f"sfumato_papers.{module}"), function
        )
        return found(request, **options)

    return Figure(reference, compute, needs)


MEEHAN = "Meehan and Chaudhuri (2021)"
WORKSHOP = "Meehan and Chaudhuri (2019 workshop)"
KOGA = "Koga, Meehan and Chaudhuri (2024)"
MASKIT = "Götz, Nath and Gehrke (2012)"

FIGURES: Mapping[str, Figure] = MappingProxyType(
    {
        "meehan2021_figure_2": _figure(f"{MEEHAN}, Figure 2", "meehan:figure_2"),
        **{
            f"meehan2021_figure_2{letter}": _figure(
                f"{MEEHAN}, Figure 2{letter}", "meehan:figure_2", letters=letter
            )
            for letter in "abcdefgh"
        },
        "meehan2021_appendix_7_1_2": _figure(f"{MEEHAN}, Appendix 7.1.2", "meehan:appendix_7_1_2"),
        "workshop2019_figure_2": _figure(f"{WORKSHOP}, Figure 2", "meehan:workshop_figure_2"),
        **{
            f"koga2024_figure_{number}": _figure(
                f"{KOGA}, Figure {number}",
                f"koga:figure_{number}",
                "" if number in SIMULATED else CHECK_INS,
            )
            for number in range(3, 9)
        },
        "maskit2012_examples": _figure(f"{MASKIT}, Examples 1 to 6", "maskit:examples"),
        **{
            f"maskit2012_{name}": _figure(
                f"{MASKIT}, {name.replace('_', ' ').capitalize()}", f"maskit:{name}", STREAMS
            )
            for name in ("figure_4", "figure_5", "figure_6", "figure_7", "figure_8", "table_1")
        },
    }
)


@hookimpl
def sfumato_figures() -> Mapping[str, Figure]:
    """Register the figures."""
    return FIGURES


@hookimpl
def sfumato_formats() -> Mapping[str, Format]:
    """Register the data sets that the papers use."""
    from sfumato_papers import check_ins, homes, traces

    return {**check_ins.FORMATS, **homes.FORMATS, **traces.FORMATS}
