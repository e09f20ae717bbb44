"""One self-contained page of a study: the question, tables, figures and how to run it again.

The page is the template ``page.html``; here is what it calls.
"""

from __future__ import annotations

import math
import platform
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import altair as alt
import attrs
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from sfumato.comparison.cells import Cell, Comparison, versions
from sfumato.comparison.names import (
    COMPOUNDS,
    full_name,
    group_by,
    keyed_tables,
    value_text,
)
from sfumato.comparison.risk_maps import MOST_MAPS, RiskMap, cells_by_pair
from sfumato.comparison.study import StudyResult
from sfumato.comparison.study_files import to_toml
from sfumato.plugin_registry import default_registry
from sfumato.protocols import Prior, Quantity
from sfumato.report import tables
from sfumato.report.cards import mark_sentence, noun_summary
from sfumato.report.charts import ChartedPart, loss_chart, map_charts
from sfumato.report.figures import panels_of
from sfumato.report.style import MechanismColours
from sfumato.values import to_json

ROLES = {
    "prior": "The adversary believes",
    "secret": "What must stay hidden",
    "mechanism": "What is released",
    "measure": "How loss is counted",
}
MOST_NOUNS = 8
FEW = 4
"""Values of a sweep that are all written."""
LONG_WITNESS = 120
LONG_NAME = 26
"""Characters of a name; a longer one may go on in a second line."""


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
        ChartedPart, tables, tables.rows_with_repeats, describe_nouns, hint, loss_chart,
        map_caption, map_charts, maps_caption, panels_of, to_toml, uncounted_costs, value_text,
        versions,
    ):  # fmt: skip
        environment.globals[used.__name__.rpartition(".")[2]] = used
    environment.globals["long_name"] = LONG_NAME
    environment.filters["value_text"] = value_text
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


@attrs.frozen
class NounGroup:
    """Nouns of one name and label that are swept: ``rbf length_scale=1, 2, …, 9 (9 values)``."""

    label: str
    words: str
    first: Any
    size: int = 1


def noun_groups(cells: Sequence[Cell], kind: str) -> list[NounGroup]:
    """Return the nouns of one kind; those that are all values of a sweep, as one."""
    tables = keyed_tables(cells, kind)
    found = []
    # Nouns made of others have no name of their own and stay by themselves.
    groups = group_by(tables, lambda key: (key[0], tables[key].get("name", key[1])))
    for members in groups.values():
        words = _sweep_words([tables[key] for key in members])
        if words:
            found.append(NounGroup(members[0][0], words, members[0][1], len(members)))
        else:
            found += [NounGroup(label, full_name(noun), noun) for label, noun in members]
    return found


def _sweep_words(tables: Sequence[Mapping[str, Any]]) -> str:
    """Return the words for all tables at once, or none unless they are every combination."""
    values = {
        key: list({to_json(table[key]): table[key] for table in tables}.values())
        for key in tables[0]
        if key != "name"
    }
    sizes = [len(some) for some in values.values()]
    if len(tables) == 1 or math.prod(sizes) != len(tables) or set(values) & set(COMPOUNDS):
        return ""
    inside = []
    for key, some in values.items():
        texts = list(map(value_text, some))
        if len(texts) > FEW:
            texts[2:-1] = ["…"]
        # "1 or 3" is a class of both, so a sweep is counted instead.
        count = f" ({len(some)} values)" if len(some) > 1 else ""
        inside.append(f"{key.removesuffix('.name')}={', '.join(texts)}{count}")
    return f"{tables[0]['name']} {', '.join(inside)}"


def describe_nouns(cells: Sequence[Cell], kind: str) -> list[tuple[NounGroup, str]]:
    """Return the nouns of one kind; with what they are, unless that was said before."""
    told: set[str] = set()
    found = []
    for group in noun_groups(cells, kind):
        summary = noun_summary(group.first)
        found.append((group, "" if summary in told else summary))
        told.add(summary)
    return found


def uncounted_costs(cells: Sequence[Cell], table: tables.LossTable) -> list[Quantity]:
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
    """Say what the cells of a part's maps are, whose they are, and of which pairs."""
    maps, pairs = part.maps or (), len(cells_by_pair(part))
    words = ["Each cell is the loss if that single time were the secret; darker is worse."]
    if not all(isinstance(cell.prior, Prior) for cell in part.measured):
        words.append(
            "Of a class of priors, each row shows the member with the worst overall loss; at a "
            "single time, another member may be worse."
        )
    if any(risk.marked for risk in maps):
        words.append("▾ marks what the mechanisms were asked to protect.")
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
    return " ".join(words)


@cache
def vega() -> Markup:
    """Return the library that draws the charts, whole, so that a page needs no network."""
    import vl_convert

    version = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
    bundle = vl_convert.javascript_bundle(vl_version=version)  # type: ignore[call-arg]  # optional
    return Markup(bundle.replace("</script", r"<\/script"))  # noqa: S704 - a library, not data
