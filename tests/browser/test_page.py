"""The page in a real browser: Debian's chromium, driven by playwright, with no network to use."""

from __future__ import annotations

import re
import shutil

import pytest

import sfumato as sf
from sfumato.comparison.study_files import default_study
from sfumato.plugin_registry import default_registry
from sfumato.report.page import page

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium to look at pages with: apt-get install chromium"
)

SWEPT = {
    "title": "How much does smoothness give away?",
    "priors": [{"name": "rbf", "length_scale": {"linspace": [1, 4, 4]}, "times": 12}],
    "secrets": [{"name": "basic", "index": 5}],
    "mechanisms": [
        {"name": "gaussian_uniform", "mse": 0.1, "label": "uniform"},
        {"name": "gaussian_optimal", "mse": 0.1, "label": "optimal"},
    ],
    "measures": ["renyi", "posterior_interval"],
}
WORLDS = {
    "title": "Rough and smooth",
    "priors": [
        {"name": "rbf", "length_scale": 1.0, "times": 20, "label": "rough"},
        {"name": "rbf", "length_scale": 6.0, "times": 20, "label": "smooth"},
        {"name": "rbf", "length_scale": {"any_of": [1, 3, 6]}, "times": 20, "label": "any"},
    ],
    "secrets": [{"name": "basic", "index": 9}],
    "mechanisms": [
        {"name": "gaussian_uniform", "mse": 0.1, "label": "uniform"},
        {"name": "gaussian_uniform", "mse": 1.0, "label": "uniform, 10 ×"},
        {"name": "gaussian_optimal", "mse": 0.1, "label": "optimal"},
    ],
    "measures": ["renyi", "posterior_interval", "mean_squared_error"],
}
WIDE = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The pages of the bundled study and of a sweep."""
    folder = tmp_path_factory.mktemp("pages")
    studies = {
        "worlds": sf.Study.from_table(WORLDS),
        "swept": sf.Study.from_table(SWEPT),
    }
    for name, study in studies.items():
        (folder / f"{name}.html").write_text(page(study.run(maps=True)), encoding="utf-8")
    (folder / "bundled.html").write_text(
        page(default_study(default_registry()).run()), encoding="utf-8"
    )
    return folder


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture
def visit(browser, files):
    """Open a page; in the end nothing may have been complained of, and nothing fetched."""
    said, asked, contexts = [], [], []

    def opened(name, **settings):
        context = browser.new_context(**{"viewport": WIDE, **settings})
        contexts.append(context)
        tab = context.new_page()
        tab.on("console", lambda message: said.append(message.text))
        tab.on("pageerror", lambda error: said.append(str(error)))
        tab.on("request", lambda request: asked.append(request.url))
        tab.goto((files / f"{name}.html").as_uri())
        figures = tab.locator("figure.drawn").count()
        tab.wait_for_function(
            f"document.querySelectorAll('figure.drawn svg.marks').length == {figures}"
        )
        return tab

    yield opened
    for context in contexts:
        context.close()
    assert said == []
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []


def column(tab, place):
    """Return what the visible rows of the first table hold in one column."""
    rows = tab.locator("table").first.locator("tbody tr:visible")
    return [rows.nth(row).locator("th, td").nth(place).inner_text() for row in range(rows.count())]


def number(text):
    return float(re.sub(r"[^0-9.e+-]", "", text.split("[")[0]))


def test_headings_sort_by_number_and_say_so(visit):
    tab = visit("worlds")
    button = tab.get_by_role("button", name="Rényi divergence")
    button.click()
    up = list(map(number, column(tab, 2)))
    assert up == sorted(up)
    assert len(up) == 9
    head = tab.locator("th", has=button)
    assert head.get_attribute("aria-sort") == "ascending"
    button.click()
    assert list(map(number, column(tab, 2))) == up[::-1]
    assert head.get_attribute("aria-sort") == "descending"
    assert all(column(tab, 0)), "a sorted row tells its whole name"


def test_words_filter_rows(visit):
    tab = visit("worlds")
    tab.get_by_label("Filter").first.fill("smooth optimal")
    assert column(tab, 0) == ["smooth"]
    assert column(tab, 1) == ["optimal"]
    tab.get_by_label("Filter").first.fill("")
    assert len(column(tab, 0)) == 9


def colours(tab):
    return tab.evaluate(
        "[...document.querySelectorAll('figure.drawn')].find(f =>"
        " f.textContent.includes('each single time')).querySelectorAll('.role-mark.mark-rect path')"
        ".values().map(p => p.getAttribute('fill')).toArray()"
    )


def test_the_slider_moves_maps_and_curves(visit):
    tab = visit("swept")
    slider = tab.get_by_role("slider", name="length scale of the prior")
    before = colours(tab)
    bar = (
        "document.querySelector('figure.drawn .role-mark.mark-rule line').getAttribute('transform')"
    )
    place = tab.evaluate(bar)
    slider.fill("3")
    tab.wait_for_function(f"{bar} != '{place}'")
    assert tab.locator("output").first.inner_text() == "4"
    assert slider.get_attribute("aria-valuetext") == "4"
    assert colours(tab) != before
    assert len(colours(tab)) == len(before) == 24


def opacities(tab):
    """Return how strongly the marks of each mechanism are drawn, over all figures of losses."""
    return tab.evaluate(
        "[...document.querySelectorAll('.mark-symbol path')].map(p =>"
        " [p.__data__?.datum?.mechanism, Number(p.getAttribute('opacity') ?? 1)])"
        ".filter(([m]) => m)"
    )


def test_one_mechanism_stands_out_everywhere(visit):
    tab = visit("swept")
    assert {strength for _, strength in opacities(tab)} == {1}
    tab.get_by_label("Highlight").select_option("optimal")
    tab.wait_for_function(
        "document.querySelectorAll('.mark-symbol path[opacity=\"0.12\"]').length >= 8"
    )
    for mechanism, strength in opacities(tab):
        assert strength == (1 if mechanism == "optimal" else 0.12)
    pale = tab.locator("tr.pale")
    assert {pale.nth(k).get_attribute("data-mechanism") for k in range(pale.count())} == {"uniform"}
    tab.locator("tbody th.dotted", has_text="uniform").first.click()
    assert tab.get_by_label("Highlight").input_value() == "uniform"


def test_the_pointer_is_told_how_and_where(visit):
    tab = visit("worlds")
    tab.locator("figure.drawn").first.locator(".mark-symbol path").first.hover()
    tip = tab.locator("#vg-tooltip-element")
    tip.wait_for(state="visible")
    words = tip.inner_text()
    for expected in (" nats", "which is", "exact", "how", "witness"):
        assert expected in words
    hint = tab.locator("td.exact").first.get_attribute("title")
    assert "Exact" in hint
    assert "witness" in hint


def test_tables_are_copied(visit):
    tab = visit("worlds")
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab.get_by_role("button", name="LaTeX").first.click()
    tab.get_by_text("Copied as LaTeX.").wait_for()
    assert tab.evaluate("navigator.clipboard.readText()").startswith(r"\begin{tabular}{llrrr}")
    tab.get_by_role("button", name="CSV").first.click()
    tab.get_by_text("Copied as CSV.").wait_for()
    assert tab.evaluate("navigator.clipboard.readText()").count("\n") == 10


def luminance(colour):
    return sum(map(float, re.findall(r"[\d.]+", colour)[:3])) / 765


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_figures_follow_the_colours_of_the_page(visit, scheme):
    tab = visit("swept", color_scheme=scheme)
    style = "getComputedStyle(document.querySelector('{}')).{}"
    text = tab.evaluate(style.format("figure.drawn .role-axis-label text", "fill"))
    paper = tab.evaluate(style.format("section", "backgroundColor"))
    assert abs(luminance(text) - luminance(paper)) > 0.6
    assert (luminance(paper) < 0.5) == (scheme == "dark")


def test_a_desk_shows_every_table_whole(visit):
    tab = visit("bundled")
    cut = "[...document.querySelectorAll('.scroll')].filter(d => d.scrollWidth > d.clientWidth)"
    assert tab.locator(".scroll table").count() >= 3
    assert tab.evaluate(f"{cut}.length") == 0


@pytest.mark.parametrize("name", ["worlds", "swept"])
def test_a_phone_shows_every_number_whole(visit, name):
    tab = visit(name, viewport=PHONE)
    assert tab.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    cells = tab.locator("tbody td:visible")
    assert cells.count() > 9
    for place in range(cells.count()):
        box = cells.nth(place).bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= PHONE["width"]
    cut = "[...document.querySelectorAll('tbody td')].filter(td => td.scrollWidth > td.clientWidth)"
    assert tab.evaluate(f"{cut}.length") == 0
    labels = tab.evaluate("getComputedStyle(document.querySelector('td'), '::before').content")
    assert "Rényi divergence" in labels
    wide = "[...document.querySelectorAll('svg.marks')].filter(s => s.getBoundingClientRect()"
    assert tab.evaluate(f"{wide}.right > {PHONE['width']}).length") == 0


def test_it_prints_with_the_study_and_without_what_cannot_be_pressed(visit):
    tab = visit("swept")
    tab.emulate_media(media="print")
    assert tab.locator("pre.study").is_visible()
    box = tab.locator("pre.study").evaluate("p => p.scrollHeight - p.clientHeight")
    assert box <= 2, "the whole text of the study is on paper"
    for hidden in (".controls", ".tools"):
        assert not tab.locator(hidden).first.is_visible()
    heading = tab.locator("th button").first  # of a box of its own, a second sheet shows nothing
    assert heading.evaluate("b => getComputedStyle(b).display") == "contents"
    printed = tab.pdf(format="A4")
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) <= 4


def test_figures_have_accessible_names(visit):
    tab = visit("worlds")
    captions = tab.locator("figure.drawn figcaption")
    assert captions.count() >= 6
    assert all(captions.nth(k).inner_text() for k in range(captions.count()))
    unnamed = tab.evaluate(
        "[...document.querySelectorAll('figure.drawn')]"
        ".filter(f => !f.querySelector('[role=graphics-document][aria-label]')).length"
    )
    assert unnamed == 0
