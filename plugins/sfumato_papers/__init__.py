"""The figures and tables of the papers, one file for each kind of computation."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from sfumato.figures import Drawing, Figure, FigureRequest
from sfumato.hookspecs import hookimpl

if TYPE_CHECKING:
    from sfumato.datasets.formats import Format

CHECK_INS = "Gowalla or Foursquare check-ins (needed)"
STREAMS = (
    "days of contexts, a table of (user, time, state) or an activity home "
    "(without them, people are made up)"
)


def _figure(reference: str, where: str, needs: str = "") -> Figure:
    """Return a figure computed by ``module:function``, imported when it is asked for."""
    return Figure(reference, _later(where), needs)


def _later(where: str) -> Callable[[FigureRequest], Drawing]:
    def compute(request: FigureRequest) -> Drawing:
        module, _, function = where.partition(":")
        found: Callable[[FigureRequest], Drawing] = getattr(
            importlib.import_module(f"sfumato_papers.{module}"), function
        )
        return found(request)

    return compute


MEEHAN = "Meehan and Chaudhuri (2021)"
WORKSHOP = "Meehan and Chaudhuri (2019 workshop)"
KOGA = "Koga, Meehan and Chaudhuri (2024)"
MASKIT = "Götz, Nath and Gehrke (2012)"

FIGURES: Mapping[str, Figure] = MappingProxyType(
    {
        "meehan2021_figure_2": _figure(f"{MEEHAN}, Figure 2", "meehan_intervals:figure_2"),
        **{
            f"meehan2021_figure_2{letter}": _figure(
                f"{MEEHAN}, Figure 2{letter}", f"meehan_intervals:figure_2{letter}"
            )
            for letter in "abcdefgh"
        },
        "meehan2021_appendix_7_1_2": _figure(
            f"{MEEHAN}, Appendix 7.1.2", "meehan_covariances:appendix_7_1_2"
        ),
        "workshop2019_figure_2": _figure(f"{WORKSHOP}, Figure 2", "workshop_loss:figure_2"),
        "koga2024_figure_3": _figure(f"{KOGA}, Figure 3", "koga_people:figure_3", CHECK_INS),
        "koga2024_figure_4": _figure(f"{KOGA}, Figure 4", "koga_people:figure_4", CHECK_INS),
        "koga2024_figure_5": _figure(f"{KOGA}, Figure 5", "koga_simulated:figure_5"),
        "koga2024_figure_6": _figure(f"{KOGA}, Figure 6", "koga_people:figure_6", CHECK_INS),
        "koga2024_figure_7": _figure(f"{KOGA}, Figure 7", "koga_simulated:figure_7"),
        "koga2024_figure_8": _figure(f"{KOGA}, Figure 8", "koga_people:figure_8", CHECK_INS),
        "maskit2012_examples": _figure(f"{MASKIT}, Examples 1 to 6", "maskit_examples:examples"),
        **{
            f"maskit2012_{name}": _figure(
                f"{MASKIT}, {name.replace('_', ' ').capitalize()}",
                f"maskit_experiments:{name}",
                STREAMS,
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
    from sfumato_papers import check_ins, geolife, homes, sml2010

    return {**check_ins.FORMATS, **geolife.FORMATS, **homes.FORMATS, **sml2010.FORMATS}
