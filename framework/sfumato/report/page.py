"""One self-contained page of a study: the question, tables, figures and how to run it again.

The page is the template ``page.html``; here is what it calls.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import attrs
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from sfumato.comparison.cells import Cell, Comparison, versions
from sfumato.comparison.names import NounNames, value_text
from sfumato.comparison.risk_maps import MOST_MAPS, TOO_MANY, RiskMap, cells_by_pair
from sfumato.comparison.study import StudyResult
from sfumato.comparison.study_files import to_toml
from sfumato.plugin_registry import default_registry
from sfumato.protocols import Prior, Quantity
from sfumato.report import columns
from sfumato.report.cards import mark_sentence, noun_summary
from sfumato.report.charts import ChartedPart, Figure, mechanism_key, mechanism_keys
from sfumato.report.figures import panels_of
from sfumato.report.loss_charts import loss_chart
from sfumato.report.map_charts import map_charts
from sfumato.report.style import MechanismColours
from sfumato.report.words import NounGroup, noun_groups
from sfumato.values import write_whole

ROLES = {
    "prior": "The adversary believes",
    "secret": "What must stay hidden",
    "mechanism": "What is released",
    "measure": "How loss is counted",
}
MOST_NOUNS = 8
LONG_WITNESS = 120
LONG_NAME = 26
"""Characters of a name; a longer one may go on in a second line."""


def write_page(path: Path, result: StudyResult) -> None:
    """Write the page; a half-written one never takes the place of an older one."""
    write_whole(path, page(result))


def templates() -> Environment:
    """Return the templates of pages and tables, and what they call."""
    environment = Environment(
        loader=PackageLoader("sfumato", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for used in (
        columns, columns.rows_with_repeats, describe_nouns, hint, map_caption, maps_caption, marks,
        part_charts, to_toml, uncounted_costs, value_text, versions,
    ):  # fmt: skip
        environment.globals[used.__name__.rpartition(".")[2]] = used
    environment.globals["long_name"] = LONG_NAME
    return environment


def page(result: StudyResult) -> str:
    """Return the whole page."""
    cells = [cell for comparison in result.comparisons for cell in comparison.cells]
    return (
        templates()
        .get_template("page.html")
        .render(
            study=result.study,
            parts=result.comparisons,
            cells=cells,
            colours=MechanismColours.of_all(result.comparisons),
            roles=ROLES,
            machine=f"{platform.system()} {platform.machine()}",
            plugins=[Path(path).name for path in default_registry().paths],
            most_nouns=MOST_NOUNS,
            vega=vega() if cells else "",
        )
    )


def comparison_table(comparison: Comparison) -> str:
    """Return the findings and the table of a comparison, as notebooks show it."""
    colours = MechanismColours.of_all([comparison])
    return templates().get_template("notebook.html").render(part=comparison, colours=colours)


def result_tables(result: StudyResult) -> str:
    """Return the tables of a study's parts, as notebooks show them."""
    heads = (Markup("<h4>{}</h4>").format(part.title) for part in result.comparisons)
    tables = map(comparison_table, result.comparisons)
    return "".join(f"{head}{table}" for head, table in zip(heads, tables, strict=True))


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
    words = [mark_sentence(loss).rstrip("."), loss.how, f"{cell.seconds:.2g} s"]
    if loss.witness:
        words.insert(2, f"witness: {str(loss.witness)[:LONG_WITNESS]}")
    if loss.worst is not None and not isinstance(cell.prior, Prior):
        words.insert(1, f"worst: {value_text(loss.worst)}")
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
        words.append("▾ marks what the mechanisms were asked to protect.")
    if len(maps) > 2:
        words.append("Squares are those of the first and the last pair of prior and secret.")
    if pairs > MOST_MAPS:
        words.append(f"Maps of {MOST_MAPS} of {pairs} pairs of prior and secret, evenly spread.")
    return " ".join(words)


def map_caption(risk: RiskMap) -> str:
    """Say what is missing from one map, and whether it shows bounds."""
    words = []
    if not all(row.exact for row in risk.rows):
        words.append("Some values are bounds.")
    if risk.left_out:
        words.append(f"Not drawn: {'; '.join(risk.left_out)}.")
    missing = {row.mechanism: row.why_not_alone for row in risk.rows if not row.alone}
    if missing and (len(missing) < len(risk.rows) or set(missing.values()) != {TOO_MANY}):
        reasons = "; ".join(f"{name} ({why.rstrip('.')})" for name, why in missing.items())
        words.append(f"Without a square: {reasons}.")
    return " ".join(words)


@attrs.frozen
class PartCharts:
    """The figures of one part, and what its controls offer."""

    losses: tuple[Figure, ...]
    maps: tuple[tuple[str, tuple[RiskMap, ...], tuple[Figure, ...]], ...]
    mechanisms: Mapping[str, str]
    sweep: str
    stops: tuple[str, ...]


def part_charts(part: Comparison, colours: MechanismColours) -> PartCharts:
    """Draw a part: a figure for each quantity, a map for each prior and secret."""
    charted = ChartedPart.of(part, colours)
    return PartCharts(
        losses=tuple(loss_chart(charted, panel) for panel in panels_of(part)),
        maps=tuple(map_charts(charted)),
        mechanisms=charted.colours,
        sweep=charted.axis.words if charted.axis else "",
        stops=tuple(map(value_text, charted.stops)),
    )


@cache
def vega() -> Markup:
    """Return the library that draws the charts, whole, so that a page needs no network."""
    import altair as alt
    import vl_convert

    version = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
    bundle = vl_convert.javascript_bundle(vl_version=version)  # type: ignore[call-arg]  # optional
    return Markup(bundle.replace("</script", r"<\/script"))  # noqa: S704 - a library, not data


@attrs.frozen
class Marks:
    """What marks the mechanism of a row: the name that links it to the charts, and its colour."""

    keys: NounNames
    colours: MechanismColours

    def key(self, cell: Cell) -> str:
        """Return the mechanism's name, without what is swept."""
        return mechanism_key(self.keys, cell)

    def colour(self, cell: Cell) -> str:
        """Return the mechanism's colour."""
        return self.colours[cell]


def marks(part: Comparison, colours: MechanismColours) -> Marks:
    """Return the marks of a part's rows."""
    return Marks(mechanism_keys(part.measured), colours)
