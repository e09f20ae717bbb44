"""The page: one file, no network, and it looks like something in a real browser."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest

import sfumato as sf
from sfumato.comparison.study_files import as_study_result, default_study
from sfumato.plugin_registry import default_registry
from sfumato.report.page import noun_groups, page

VOID = {"meta", "br", "link", "img", "hr", "input"}


class Outline(HTMLParser):
    """Check that tags close in order, and collect them with their attributes."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes.extend(attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes.extend(attrs)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def outline(text):
    """Return the tags and the words, without what is inside scripts and templates."""
    found = Outline()
    found.feed(re.sub(r"(<(script|template)\b[^>]*>).*?(</\2>)", r"\1\3", text, flags=re.DOTALL))
    assert not found.open
    return found


@pytest.fixture(scope="module")
def bundled():
    return default_study(default_registry()).run(maps=True)


@pytest.fixture(scope="module")
def bundled_page(bundled):
    return page(bundled)


def test_the_page_is_whole_and_needs_nothing_else(bundled_page, sandwiched, worlds):
    others = (page(as_study_result(comparison)) for comparison in (sandwiched, worlds))
    for text in (bundled_page, *others):
        found = outline(text)
        assert not {"img", "link", "iframe"} & set(found.tags)
        for name, value in found.attributes:
            if name in ("href", "xlink:href", "src"):
                assert value.startswith(("#", "data:"))
            if not name.startswith("xmlns") and not (value or "").startswith("data:"):
                assert "//" not in (value or "")
        style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)[1]
        assert "@import" not in style
        assert "url(" not in style


def test_the_page_tells_the_question_the_answers_and_how_to_run_it_again(bundled_page):
    text = " ".join(outline(bundled_page).text)
    for words in (
        "Three worlds, side by side", "The adversary believes", "What must stay hidden",
        "What is released", "How loss is counted", "= 59.7174", "larger is worse",
        "Every time as the secret", "sfumato compare", "numpy", "seed 0",
    ):  # fmt: skip
        assert words in text


def test_the_study_on_the_page_asks_the_same_again(bundled, bundled_page):
    import tomllib
    from html import unescape

    source = re.search(r'<pre class="study">(.*?)</pre>', bundled_page, re.DOTALL)[1]
    again = sf.Study.from_table(tomllib.loads(unescape(source)))
    assert again == bundled.study


def specs(text):
    """Return the charts of a page, as Vega-Lite reads them."""
    return [json.loads(spec) for spec in re.findall(r'/json">(.*?)</script>', text, re.DOTALL)]


def rows(spec):
    """Return all rows of all data sets of a chart."""
    return [row for data in spec["datasets"].values() for row in data]


def test_a_sandwich_has_its_picture(sandwiched):
    text = page(as_study_result(sandwiched))
    assert "the truth lies in the shaded span" in text
    chart = next(spec for spec in specs(text) if "shaded span" in spec["description"])
    shaded = [row for row in rows(chart) if "number" not in row]
    assert {(row["low"], row["high"]) for row in shaded} == {(0.5, 0.5)}
    assert sum(row.get("number") == "≤ 0.7" for row in rows(chart)) == 2
    assert text.count("* unverified:") == 1
    assert text.count("= 0.5*</td>") == 2
    assert "= ∞</td>" in text


def test_a_page_opens_with_its_findings(bundled, bundled_page):
    first = bundled_page.index("What was found")
    assert first < bundled_page.index("The adversary believes")
    for comparison in bundled.comparisons:
        assert comparison.findings[0].replace("'", "&#39;") in bundled_page


def test_every_chart_has_a_name_and_both_links(bundled_page):
    charts = specs(bundled_page)
    assert len(charts) >= 10
    for spec in charts:
        assert spec["description"]
        assert {"shown", "at"} <= {parameter["name"] for parameter in spec["params"]}


def test_a_sweep_moves_its_maps(swept):
    """Each stop of the sweep has the band that the prior of that stop has."""
    result = as_study_result(swept).with_maps()
    text = page(result)
    (band,) = (spec for spec in specs(text) if "each single time" in spec["description"])
    (maps,) = result.maps
    for stop, risk in enumerate(maps):
        for row in risk.rows:
            drawn = {
                datum["time"]: datum["value"]
                for datum in rows(band)
                if (datum["at"], datum["name"]) == (stop, row.mechanism)
            }
            assert drawn == dict(row.losses)
    assert 'max="9"' in text


def test_what_is_copied_holds_the_numbers(sandwiched, swept):
    import csv

    from sfumato.report.tables import csv_text, latex_text, loss_table

    table = loss_table(swept.measured)
    head, *found = csv.reader(csv_text(table).splitlines())
    assert len(found) == 20
    assert [float(row[2]) for row in found] == [
        cell.loss.value for cell in swept.measured if cell.measure.name == "renyi"
    ]
    assert head[:2] == ["prior", "mechanism"]
    latex = latex_text(loss_table(sandwiched.measured))
    assert r"$\infty$" in latex
    assert r"$\leq$ 0.7" in latex
    assert latex.count(r"\\") == len(loss_table(sandwiched.measured).rows) + 1
    assert latex_text(table).count(r"length\_scale$=$") == 10


@pytest.mark.parametrize("sign", ["=", "+", "-", "@"])
def test_no_label_that_is_copied_is_a_formula(sign):
    import csv

    from sfumato.report.tables import csv_text, loss_table

    comparison = sf.compare(
        [sf.Labelled(sf.priors.rbf(length_scale=x, times=4), f"{sign}1+1{x:g}") for x in (1, 2)],
        [sf.secrets.basic(2)],
        [sf.Labelled(sf.mechanisms.gaussian_uniform(mse=1.0), f"{sign}HYPERLINK()")],
        [sf.Labelled(sf.measures.renyi(), f"{sign}2")],
    )
    cells = [*csv.reader(csv_text(loss_table(comparison.measured)).splitlines())]
    assert not [cell for row in cells for cell in row if cell.startswith(sign)]
    assert any("1+1" in cell for row in cells for cell in row)


def test_text_is_escaped():
    comparison = sf.compare(
        [sf.Labelled(sf.priors.rbf(length_scale=1.0, times=5), "<b>bold</b> & 'quoted'")],
        [sf.secrets.basic(2)],
        [sf.Labelled(sf.mechanisms.gaussian_uniform(mse=1.0), "<script>alert(1)</script>")],
        [sf.measures.renyi()],
    )
    text = page(as_study_result(comparison))
    assert "<script>alert" not in text
    assert "</script>alert" not in text
    assert "&lt;b&gt;bold" in text
    outline(text)


def test_a_sweep_is_one_noun_of_the_question_and_a_class_is_not_a_sweep(swept):
    text = page(as_study_result(swept))
    assert "rbf length_scale=1, 2, …, 10 (10 values), times=9" in text
    family = sf.compare(
        [sf.priors.rbf(length_scale=sf.AnyOf(1.0, 2.0), times=5)],
        [sf.secrets.basic(1), sf.secrets.basic(2), sf.secrets.basic(1) | sf.secrets.basic(2)],
        [sf.mechanisms.gaussian_uniform(mse=mse) for mse in (0.1, 0.2)]
        + [sf.Labelled(sf.mechanisms.gaussian_uniform(mse=0.3), "much")],
        [sf.measures.mean_squared_error()],
    )
    words = [group.words for group in noun_groups(family.cells, "secret")]
    assert words == ["basic index=1, 2 (2 values)", "basic(index=1) | basic(index=2)"]
    groups = noun_groups(family.cells, "mechanism")
    assert [(group.label, group.words) for group in groups] == [
        ("", "gaussian_uniform mse=0.1, 0.2 (2 values)"),
        ("much", "gaussian_uniform mse=0.3"),
    ]
    (prior,) = noun_groups(family.cells, "prior")
    assert prior.words == "rbf length_scale=1 or 2, times=5"


def test_only_whole_grids_are_told_as_sweeps():
    pairs = ((1.0, 5), (2.0, 6))
    comparison = sf.compare(
        [sf.priors.rbf(length_scale=scale, times=times) for scale, times in pairs],
        [sf.secrets.basic(1)],
        [sf.mechanisms.gaussian_uniform(mse=0.1)],
        [sf.measures.renyi()],
    )
    words = [group.words for group in noun_groups(comparison.cells, "prior")]
    assert words == ["rbf length_scale=1, times=5", "rbf length_scale=2, times=6"]


def test_the_words_of_the_study_are_said_once():
    study = sf.Study.from_table(
        {
            "title": "Only once",
            "notes": "Neither these.",
            "priors": [{"name": "rbf", "length_scale": 1.0, "times": 3}],
            "secrets": [{"name": "basic", "index": 1}],
            "mechanisms": [{"name": "gaussian_uniform", "mse": 0.1}],
            "measures": ["renyi"],
        }
    )
    body = page(study.run()).split("<main>")[1].split("How to run it again")[0]
    assert "Only once" not in body
    assert "Neither these" not in body


def test_the_page_of_nothing_is_a_page(tmp_path):
    sf.compare([], [], [], []).to_html(tmp_path / "page.html")
    outline((tmp_path / "page.html").read_text())
