"""A study's result as one self-contained page: no network, no scripts."""

from __future__ import annotations

import io
import platform
import re
from collections.abc import Iterator
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.atomic_files import write_whole
from sfumato.measuring import versions
from sfumato.plugin_registry import default_registry
from sfumato.report.figure_style import WIDTH, save_figure
from sfumato.report.html_question import question
from sfumato.report.html_tables import left_out, losses
from sfumato.report.leak_figure import leak_figure
from sfumato.report.loss_figure import panels_figure, panels_of
from sfumato.report.mechanism_colours import MechanismColours
from sfumato.report.risk_figure import risk_figure
from sfumato.report.risk_map import RiskMap, risk_maps, told_of_choice
from sfumato.report.risk_words import told_of_map, told_of_maps
from sfumato.report.sandwich_figure import MOST_SCENARIOS, sandwich_figure, sandwiches
from sfumato.studies.study_writing import to_toml

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from sfumato.comparison import Comparison
    from sfumato.studies.study import Study
    from sfumato.studies.study_result import StudyResult

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
    yield from _risks(risk_maps(comparison), told_of_choice(comparison))


def _risks(maps: list[RiskMap], choice: str) -> Iterator[str]:
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
    seconds = sum(cell.finding.seconds for cell in cells)
    computed = dict.fromkeys(cell.finding.versions for cell in cells if cell.finding.versions)
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
