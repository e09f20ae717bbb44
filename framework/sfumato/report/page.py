"""One self-contained page of a study: the question, tables, figures and how to run it again.

The page is the template ``page.html``; here is what it calls.
"""

from __future__ import annotations

import inspect
import io
import platform
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from sfumato.comparison.cells import Cell, versions
from sfumato.comparison.risk_maps import told_of_choice, told_of_map, told_of_maps
from sfumato.comparison.study import StudyResult
from sfumato.comparison.study_files import to_toml
from sfumato.plugin_registry import default_registry
from sfumato.prior_classes.families import Family
from sfumato.prior_classes.sets import AnyOf
from sfumato.protocols import Prior, Quantity
from sfumato.questions.secret_unions import SecretUnion
from sfumato.report import columns, figures, risk_figures
from sfumato.report.style import WIDTH, MechanismColours, save_figure
from sfumato.report.words import NounGroup, noun_groups, value_text
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
        columns, figures, risk_figures, describe_nouns, hint, inline, to_toml, told_of_choice,
        told_of_map, told_of_maps, uncounted_costs, value_text, versions,
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
        summary = _summary(group.first)
        found.append((group, "" if summary in told else summary))
        told.add(summary)
    return found


def _summary(noun: Any) -> str:
    """Return the first paragraph of the plugin's documentation."""
    if isinstance(noun, AnyOf):
        return "Any of several priors."
    if isinstance(noun, SecretUnion):
        return "Several secrets, none of which may be learnt."
    cls = noun.prior if isinstance(noun, Family) else type(noun)
    return (inspect.getdoc(cls) or "").split("\n\n")[0].replace("\n", " ").replace("`", "")


def uncounted_costs(cells: Sequence[Cell], table: columns.LossTable) -> list[Quantity]:
    """Return the quantities of utility that no measure counts already."""
    found = dict.fromkeys(cell.utility_quantity for cell in cells)
    return [quantity for quantity in found if quantity and quantity not in table.by_quantity]


def hint(cell: Cell) -> str:
    """Return how a value was found, for the pointer to show."""
    loss = cell.reading
    words = [loss.how, f"{cell.seconds:.2g} s"]
    if loss.worst is not None and not isinstance(cell.prior, Prior):
        words.insert(0, f"worst: {value_text(loss.worst)}")
    return "; ".join(filter(None, words))


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
