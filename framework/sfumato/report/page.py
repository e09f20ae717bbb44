"""The question of a comparison in words, as HTML."""

from __future__ import annotations

import inspect
import io
import itertools
import platform
import re
from collections.abc import Iterator, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.comparison.cells import versions
from sfumato.comparison.risk_maps import (
    RiskMap,
    told_of_choice,
    told_of_map,
    told_of_maps,
)
from sfumato.comparison.study_files import to_toml
from sfumato.plugin_registry import default_registry
from sfumato.prior_classes.families import Family
from sfumato.prior_classes.sets import AnyOf
from sfumato.protocols import Prior, Quantity
from sfumato.questions.secret_unions import SecretUnion
from sfumato.report.columns import (
    LEGEND,
    Column,
    LossTable,
    advice,
    failed_cells,
    failures,
    loss_table,
    misfits,
    number,
)
from sfumato.report.figures import (
    MOST_SCENARIOS,
    panels_figure,
    panels_of,
    sandwich_figure,
    sandwiches,
)
from sfumato.report.risk_figures import leak_figure, risk_figure
from sfumato.report.style import WIDTH, MechanismColours, save_figure
from sfumato.report.words import NounGroup, noun_groups, shown
from sfumato.values import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sfumato.comparison.cells import Cell, Comparison
    from sfumato.comparison.study import Study, StudyResult


ROLES = {
    "prior": "The adversary believes",
    "secret": "What must stay hidden",
    "mechanism": "What is released",
    "measure": "How loss is counted",
}
MOST_NOUNS = 8


def question(comparison: Comparison) -> str:
    """Return a list of the four roles, each with its nouns and what they are."""
    roles = []
    for kind, words in ROLES.items():
        groups = noun_groups(comparison.cells, kind)
        told: set[str] = set()
        items = "".join(_item(group, told) for group in groups[:MOST_NOUNS])
        more = sum(group.size for group in groups[MOST_NOUNS:])
        if more > 0:
            items += f"<li class='more'>and {more} more</li>"
        roles.append(f"<div><dt>{words}</dt><dd><ul>{items}</ul></dd></div>")
    return f"<dl class='question'>{''.join(roles)}</dl>"


def _item(group: NounGroup, told: set[str]) -> str:
    """Return a noun; what it is, unless that was told before."""
    summary = _summary(group.first)
    words = "" if summary in told else f"<span>{escape(summary)}</span>"
    told.add(summary)
    name = f"<b>{escape(group.label)}</b> " if group.label else ""
    return f"<li>{name}<code>{escape(group.said)}</code>{words}</li>"


def _summary(noun: Any) -> str:
    """Return the first paragraph of the plugin's documentation."""
    if isinstance(noun, AnyOf):
        return "Any of several priors."
    if isinstance(noun, SecretUnion):
        return "Several secrets, none of which may be learnt."
    cls = noun.prior if isinstance(noun, Family) else type(noun)
    return (inspect.getdoc(cls) or "").split("\n\n")[0].replace("\n", " ").replace("`", "")


LONG = 26
"""Characters of a name; a longer one may go on in a second line."""


def losses(comparison: Comparison, colours: MechanismColours) -> str:
    """Return the table of losses with what each release costs."""
    if not comparison.measured:
        return "<p>Nothing was measured.</p>"
    table = loss_table(comparison.measured)
    costs = _costs(comparison, table)
    body = ""
    before: tuple[str, ...] = ()
    for names, cells in table.rows:
        starts = " class='starts'" if names[:1] != before[:1] else ""
        some = next(iter(cells.values()))
        heads = _names(names, before, table, colours[some])
        body += f"<tr{starts}>{heads}{_values(cells, table, costs)}</tr>"
        before = names
    shared = "".join(f"<li>{escape(line)}</li>" for line in table.shared)
    return (
        f"<ul class='shared'>{shared}</ul><div class='scroll'><table><thead>{_head(table, costs)}"
        f"</thead><tbody>{body}</tbody></table></div><p class='legend'>{LEGEND}</p>"
    )


def _costs(comparison: Comparison, table: LossTable) -> list[Quantity]:
    """Return the quantities of utility that no measure counts already."""
    counted = {column.quantity for column in table.columns}
    found = dict.fromkeys(cell.utility_quantity for cell in comparison.measured)
    return [quantity for quantity in found if quantity is not None and quantity not in counted]


def _head(table: LossTable, costs: Sequence[Quantity]) -> str:
    """Return two lines: quantities with the way that is worse, and the measures below them."""
    top = "".join(f"<th rowspan='2' class='name'>{escape(factor)}</th>" for factor in table.factors)
    bottom = ""
    for quantity, group in itertools.groupby(table.columns, key=lambda column: column.quantity):
        columns = list(group)
        top += f"<th colspan='{len(columns)}' class='quantity'>{_quantity(quantity)}</th>"
        bottom += "".join(f"<th>{escape(column.measure)}</th>" for column in columns)
    for quantity in costs:
        top += f"<th class='quantity'>{_quantity(quantity)}</th>"
        bottom += "<th>utility</th>"
    return f"<tr>{top}</tr><tr>{bottom}</tr>"


def _quantity(quantity: Quantity) -> str:
    return f"{escape(str(quantity))}<small>{quantity.worse} is worse</small>"


def _names(names: tuple[str, ...], before: tuple[str, ...], table: LossTable, colour: str) -> str:
    """Return the names of a scenario; one that repeats from the row above is left out."""
    out = ""
    for place, name in enumerate(names):
        repeated = names[: place + 1] == before[: place + 1]
        dotted = table.factors[place] == "mechanism"
        kinds = ["name", *["dotted"] * dotted, *["long"] * (len(name) > LONG)]
        dot = _swatch(colour) if dotted else ""
        out += f"<th class='{' '.join(kinds)}'>{'' if repeated else dot + escape(name)}</th>"
    return out


def _values(cells: dict[Column, Cell], table: LossTable, costs: Sequence[Quantity]) -> str:
    """Return the losses of a scenario, then what its release costs."""
    found = next(iter(cells.values()))
    out = "".join(_value(cells.get(column)) for column in table.columns)
    for quantity in costs:
        own = found.utility_quantity == quantity and found.utility is not None
        out += f"<td>{shown(found.utility) if own else '·'}</td>"
    return out


def _swatch(colour: str) -> str:
    return f"<i style='background:{colour}'></i>"


def _value(cell: Cell | None) -> str:
    """Return a value; how it was found appears under the pointer."""
    if cell is None:
        return "<td class='none'>·</td>"
    reading = cell.reading
    told = [reading.how, f"{cell.seconds:.2g} s"]
    if reading.worst and not isinstance(cell.prior, Prior):
        told.insert(0, f"worst: {shown(reading.worst)}")
    hint = escape("; ".join(word for word in told if word), quote=True)
    return f"<td class='{reading.bound}' title='{hint}'>{escape(number(reading))}</td>"


def left_out(comparison: Comparison) -> str:
    """Return the refusals and failures, by reason with counts."""
    out = ""
    if comparison.refusals:
        items = "".join(
            f"<li><b>{count} ×</b> {escape(reason)}</li>"
            for reason, count in comparison.refusals.items()
        )
        total = sum(comparison.refusals.values())
        out += f"<h3>{misfits(total)}</h3><ul class='reasons'>{items}</ul>"
    if comparison.failed:
        found = failures(comparison)
        items = "".join(
            f"<li><b>{failure.count} ×</b> {escape(failure.reason)}"
            f"<small>first: {escape(failure.first)}</small></li>"
            for failure in found
        )
        count = len(comparison.failed)
        out += f"<h3 class='failed'>{failed_cells(count)}</h3><ul class='reasons'>{items}</ul>"
        out += f"<p class='caption'>{escape(advice(found))}</p>" if advice(found) else ""
    return out


PIXELS = 900
"""The width of a full figure on the page."""


def write_page(path: Path, result: StudyResult) -> None:
    """Write the page; a half-written one never takes the place of an older one."""
    write_whole(path, page(result))


def page(result: StudyResult) -> str:
    """Return the whole page."""
    study = result.study
    colours = MechanismColours.of_all(result.comparisons)
    style = files("sfumato.report").joinpath("page.css").read_text(encoding="utf-8")
    notes = f"<p>{escape(study.notes.strip())}</p>" if study.notes.strip() else ""
    sections = "".join(_section(part, colours, study) for part in result.comparisons)
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{escape(study.title)}</title><style>{style}</style></head><body>"
        f"<header><div><h1>{escape(study.title)}</h1>{notes}</div>"
        f"</header><main>{sections}{_environment(result)}</main></body></html>\n"
    )


def _section(comparison: Comparison, colours: MechanismColours, study: Study) -> str:
    """Return a part, without the words that stand above as the study's own."""
    title = comparison.title if comparison.title != study.title else ""
    words = comparison.notes if comparison.notes != study.notes else ""
    heading = f"<h2>{escape(title)}</h2>" if title else ""
    notes = f"<p>{escape(words)}</p>" if words else ""
    return (
        f"<section>{heading}{notes}{question(comparison)}<h3>Every definition's answer</h3>"
        f"{losses(comparison, colours)}{''.join(_figures(comparison, colours))}"
        f"{left_out(comparison)}</section>"
    )


def _figures(comparison: Comparison, colours: MechanismColours) -> Iterator[str]:
    if not comparison.measured:
        return
    yield "<h3>The losses as a picture</h3>"
    yield _inline(panels_figure([("", panels_of(comparison))], colours))
    for quantity, found in sandwiches(comparison).items():
        yield f"<h3>Attack ≤ exact ≤ bounds: {escape(quantity.name)}</h3>"
        yield _inline(sandwich_figure(quantity, found, colours))
        some = (
            f" {MOST_SCENARIOS} of {len(found)} scenarios." if len(found) > MOST_SCENARIOS else ""
        )
        yield _caption(f"The shaded span is where the truth must lie.{some}")
    yield from _risks(comparison.maps or (), told_of_choice(comparison))


def _risks(maps: Sequence[RiskMap], choice: str) -> Iterator[str]:
    """Yield the maps under what they are maps of."""
    if not maps:
        return
    yield "<h3>Which points leak which secret</h3>"
    yield _caption(told_of_maps(maps))
    yield _caption(choice)
    for risk in maps:
        yield f"<h4>{escape(f'Prior: {risk.prior}. Secret: {risk.secret}.')}</h4>"
        if risk.rows:
            yield _inline(risk_figure(risk))
        if any(row.alone for row in risk.rows):
            yield _inline(leak_figure(risk))
        yield _caption(told_of_map(risk))


def _caption(text: str) -> str:
    return f"<p class='caption'>{escape(text)}</p>" if text else ""


def _inline(figure: Figure) -> str:
    """Return a figure as SVG that can stand inside a page."""
    target = io.StringIO()
    save_figure(figure, target, format="svg", metadata={"Date": None, "Creator": None})
    drawing = target.getvalue()
    drawing = drawing[drawing.index("<svg") :]
    drawing = re.sub(r"<metadata>.*?</metadata>", "", drawing, flags=re.DOTALL)
    width = PIXELS * figure.get_figwidth() / WIDTH
    return f"<figure style='max-width:{width:.0f}px'>{drawing}</figure>"


def _environment(result: StudyResult) -> str:
    """Return what computed the page and how to compute it again."""
    plugins = "".join(f" --plugin {Path(path).name}" for path in default_registry().paths)
    cells = [cell for comparison in result.comparisons for cell in comparison.cells]
    seconds = sum(cell.seconds for cell in cells)
    computed = dict.fromkeys(cell.versions for cell in cells if cell.versions)
    software = "; ".join(computed) or versions()
    facts = (
        f"{len(cells):,} cells, {seconds:.3g} seconds of measuring; seed {result.study.seed}.",
        f"Computed with {software}, on {platform.system()} {platform.machine()}.",
    )
    told = "".join(f"<p>{escape(fact)}</p>" for fact in facts)
    return (
        f"<section><h2>How to run it again</h2>{told}<p>Save the text below as "
        f"<code>study.toml</code>, then</p><pre>sfumato compare{escape(plugins)} study.toml "
        f"--html page.html</pre><details><summary>study.toml</summary><pre>"
        f"{escape(to_toml(result.study))}</pre></details></section>"
    )
