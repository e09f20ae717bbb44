"""One self-contained page of a study: the question, tables, figures and how to run it again.

The page is the template ``page.html``; here is what it calls.
"""

from __future__ import annotations

import io
import platform
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from sfumato.comparison.cells import Cell, Comparison, versions
from sfumato.comparison.names import value_text
from sfumato.comparison.risk_maps import MOST_MAPS, RiskMap, cells_by_pair
from sfumato.comparison.study import StudyResult
from sfumato.comparison.study_files import to_toml
from sfumato.plugin_registry import default_registry
from sfumato.protocols import Prior, Quantity
from sfumato.report import columns, figures, risk_figures
from sfumato.report.cards import noun_summary
from sfumato.report.style import WIDTH, MechanismColours, save_figure
from sfumato.report.words import NounGroup, noun_groups
from sfumato.values import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROLES = {
    "prior": "The adversary believes",
    "secret": "What must stay hidden",
    "mechanism": "What is released",
    "measure": "How loss is counted",
}
MOST_NOUNS = 8
LONG_NAME = 26
"""Characters of a name; a longer one may go on in a second line."""
PIXELS = 900
"""The width of a full figure on the page."""


def write_page(path: Path, result: StudyResult) -> None:
    """Write the page; a half-written one never takes the place of an older one."""
    write_whole(path, page(result))


def page(result: StudyResult) -> str:
    """Return the whole page."""
    environment = Environment(
        loader=PackageLoader("sfumato", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for used in (
        columns, figures, risk_figures, describe_nouns, hint, inline, map_caption, maps_caption,
        to_toml, uncounted_costs, value_text, versions,
    ):  # fmt: skip
        environment.globals[used.__name__.rpartition(".")[2]] = used
    return environment.get_template("page.html").render(
        study=result.study,
        parts=result.comparisons,
        cells=[cell for comparison in result.comparisons for cell in comparison.cells],
        colours=MechanismColours.of_all(result.comparisons),
        roles=ROLES,
        machine=f"{platform.system()} {platform.machine()}",
        plugins=[Path(path).name for path in default_registry().paths],
        most_nouns=MOST_NOUNS,
        long_name=LONG_NAME,
    )


def describe_nouns(cells: Sequence[Cell], kind: str) -> list[tuple[NounGroup, str]]:
    """Return the nouns of one kind; with what they are, unless that was said before."""
    told: set[str] = set()
    found = []
    for group in noun_groups(cells, kind):
        summary = noun_summary(group.first)
        found.append((group, "" if summary in told else summary))
        told.add(summary)
    return found


def uncounted_costs(cells: Sequence[Cell], table: columns.LossTable) -> list[Quantity]:
    """Return the quantities of utility that no measure counts already."""
    found = dict.fromkeys(cell.utility_quantity for cell in cells)
    return [quantity for quantity in found if quantity and quantity not in table.by_quantity]


def hint(cell: Cell) -> str:
    """Return how a value was found, for the pointer to show."""
    loss = cell.loss
    words = [loss.how, f"{cell.seconds:.2g} s"]
    if loss.worst is not None and not isinstance(cell.prior, Prior):
        words.insert(0, f"worst: {value_text(loss.worst)}")
    return "; ".join(filter(None, words))


def maps_caption(part: Comparison) -> str:
    """Say what the cells of a part's maps and matrices are, whose they are, and of which pairs."""
    maps, pairs = part.maps or (), len(cells_by_pair(part))
    words = ["In a band, each cell is the loss if that single time were the secret."]
    if any(row.alone for risk in maps for row in risk.rows):
        words.append(
            "In a square, it is the loss of the secret at the time of its row if nothing but the "
            "release at the time of its column were seen; the strip beside it is the loss from all "
            "releases together. A pale row with a dark strip is a secret that no single point "
            "gives away, but all of them do."
        )
    words.append("Darker is worse.")
    if not all(isinstance(cell.prior, Prior) for cell in part.measured):
        words.append(
            "Of a class of priors, each row shows the member with the worst overall loss; at a "
            "single time, another member may be worse."
        )
    if any(risk.marked for risk in maps):
        words.append("▾ and ▸ mark what the mechanisms were asked to protect.")
    if pairs > MOST_MAPS:
        words.append(
            f"Maps of {MOST_MAPS} of {pairs} pairs of prior and secret: the first and the last."
        )
    return " ".join(words)


def map_caption(risk: RiskMap) -> str:
    """Say what is missing from one map, and whether it shows bounds."""
    words = []
    if not all(row.exact for row in risk.rows):
        words.append("Some values are bounds.")
    if risk.left_out:
        words.append(f"Not drawn: {'; '.join(risk.left_out)}.")
    missing = {row.mechanism: row.why_not_alone for row in risk.rows if not row.alone}
    if missing:
        reasons = "; ".join(f"{name} ({why.rstrip('.')})" for name, why in missing.items())
        words.append(f"Without a square: {reasons}.")
    return " ".join(words)


def inline(figure: Figure) -> Markup:
    """Return a figure as SVG that can stand inside a page."""
    target = io.StringIO()
    save_figure(figure, target, format="svg", metadata={"Date": None, "Creator": None})
    drawing = target.getvalue()
    drawing = drawing[drawing.index("<svg") :]
    drawing = re.sub(r"<metadata>.*?</metadata>", "", drawing, flags=re.DOTALL)
    width = PIXELS * figure.get_figwidth() / WIDTH
    safe = Markup(drawing)  # noqa: S704 - drawn here, and its words are escaped by the drawing
    return Markup('<figure style="max-width:{:.0f}px">{}</figure>').format(width, safe)
