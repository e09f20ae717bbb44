"""Terminal tables: they fit, break no word, and never mix quantities or directions silently."""

from __future__ import annotations

import re

import pytest
from rich.console import Console

import sfumato as sf
from sfumato.comparison.names import full_name, noun_names, value_text
from sfumato.comparison.study_files import default_study
from sfumato.plugin_registry import default_registry
from sfumato.report.tables import loss_table, loss_text


def printed(comparison, width):
    console = Console(width=width, no_color=True)
    with console.capture() as capture:
        console.print(comparison)
    return capture.get()


def words_of(comparison):
    table = loss_table(comparison.measured)
    texts = [name for names, _ in table.rows for name in names]
    texts += [str(quantity) for quantity in table.by_quantity]
    texts += [f"{quantity.worse} is worse" for quantity in table.by_quantity]
    several = [columns for columns in table.by_quantity.values() if len(columns) > 1]
    texts += [column.measure for columns in several for column in columns]
    texts += [loss_text(cell.loss) for _, row in table.rows for cell in row.values()]
    return {word.strip("[]") for text in texts for word in text.split()}


def test_large_costs_are_written_in_digits():
    noises = [sf.mechanisms.gaussian_uniform(mse=mse) for mse in (0.5, 1360.0)]
    priors, secrets = [sf.priors.rbf(length_scale=2.0, times=4)], [sf.secrets.basic(1)]
    said = sf.compare(priors, secrets, noises, [sf.measures.renyi()]).findings[0]
    assert "the mean squared error being 1,360 instead of 0.5" in said


@pytest.mark.parametrize("width", [60, 80, 110, 160])
def test_tables_fit_and_break_no_word(width, worlds, sandwiched, swept):
    bundled = default_study(default_registry()).run().comparisons
    for comparison in (worlds, sandwiched, swept, *bundled):
        text = printed(comparison, width)
        assert max(map(len, text.splitlines())) <= width
        lines = text.splitlines()
        broken = [word for word in words_of(comparison) if not any(word in line for line in lines)]
        assert not broken


def test_headings_have_three_lines_and_use_the_width():
    for comparison in default_study(default_registry()).run().comparisons:
        for width in (80, 120, 200):
            lines = printed(comparison, width).splitlines()
            rule = next(place for place, line in enumerate(lines) if line.startswith("──"))
            begin = max(place for place, line in enumerate(lines[:rule]) if not line.strip())
            assert rule - begin - 1 <= 3
    wide, narrow = (printed(comparison, width).splitlines() for width in (200, 60))
    assert len(wide) < len(narrow)


def test_the_finding_comes_first(worlds, swept):
    for comparison in (worlds, swept):
        text = " ".join(printed(comparison, 100).split())
        assert text.startswith(comparison.findings[0])


def test_every_value_is_printed_with_its_direction(sandwiched):
    text = printed(sandwiched, 120)
    for mark in ("≤ 0.7", "= 0.5*", "≈ 0.45 [0.4, 0.5]", "= ∞"):
        assert text.count(mark) == 2
    assert "≥ lower bound" in text


def test_exact_values_that_nothing_checks_are_marked_and_explained_once(sandwiched):
    text = printed(sandwiched, 120)
    assert text.count("*") == 3
    assert text.count("* unverified:") == 1
    frame = sandwiched.to_pandas()
    assert set(frame.measure[frame.unverified]) == {"sf.measures.exactly(value=0.5)"}
    verified = sf.Comparison(tuple(c for c in sandwiched.cells if not c.loss.unverified))
    assert "unverified" not in printed(verified, 120)


def test_measures_of_a_quantity_stand_side_by_side_and_one_column_has_one_quantity(worlds):
    table = loss_table(worlds.measured)
    quantities = [column.quantity for column in table.columns]
    assert quantities == sorted(quantities, key=quantities.index)
    for _, row in table.rows:
        for column, cell in row.items():
            assert cell.loss.quantity == column.quantity
    assert all(f"{q.worse} is worse" in printed(worlds, 240) for q in quantities)


def test_measures_of_one_quantity_are_told_apart_in_words():
    (_, contexts, _) = default_study(default_registry()).run().comparisons
    table = loss_table(contexts.measured)
    assert [table.title(column) for column in table.columns] == [
        "advantage [probability]",
        "Rényi divergence (order=2) [nats]",
        "posterior gap [probability]",
        "Bayes success [probability]",
        "mutual information (about=secret) [nats]",
        "released fraction",
        "releasable fraction",
    ]
    assert table.direction(table.columns[-1]) == "released fraction, smaller is worse"
    told = "quantity released fraction: released fraction, releasable fraction"
    assert told in printed(contexts, 80).splitlines()


def test_what_all_share_is_said_once(swept):
    text = printed(swept, 120)
    text = text[text.index("\nprior ") :]  # what was found says where, too
    assert text.count("times=9") == 1
    assert text.count("index=4") == 1
    assert text.count("length_scale=10") == 1


def test_refusals_and_failures_are_counted(worlds):
    text = printed(worlds, 160)
    refused = sum(cell.outcome == "refused" for cell in worlds.cells)
    assert f"{refused} combinations do not fit" in text
    counts = [int(count) for count in re.findall(r"(\d+) × ", text)]
    assert sum(counts) == refused + len(worlds.failed)


def test_parameters_that_do_not_fit_another_noun_are_counted():
    comparison = sf.compare(
        [sf.priors.rbf(length_scale=2.0, times=times) for times in (20, 40)],
        [sf.secrets.basic(30)],
        [sf.Labelled(sf.mechanisms.gaussian_uniform(mse=m), "noise") for m in (0.1, 0.2)],
        [sf.measures.renyi()],
    )
    lines = [line.strip() for line in printed(comparison, 120).splitlines()]
    assert "2 cells failed:" in lines
    assert "2 × basic.index must be below the trace length 20; got 30." in lines
    told = "first: prior rbf length_scale=2, times=20; secret basic index=30; mechanism noise; "
    assert f"{told}measure renyi" in lines


def test_names_that_would_be_equal_are_told_apart(worlds):
    names = noun_names(worlds.measured, "mechanism").names.values()
    assert len(set(names)) == len(names) == 3
    assert any("#1" in name for name in names)


def many():
    """Two worlds of unlabelled nouns with long names."""
    chains = [
        sf.priors.markov_chain(
            initial=initial,
            transitions=[[0.6, 0.35, 0.05], [0.35, 0.6, 0.05], [0.45, 0.45, 0.1]],
            steps=steps,
            states=["home", "work", "hospital"],
        )
        for initial in ("stationary", [0.5, 0.3, 0.2])
        for steps in (3, 4)
    ]
    return sf.compare(
        [*chains, sf.priors.rbf(length_scale=1.0, times=12)],
        [
            sf.secrets.contexts({"hospital"}),
            sf.secrets.contexts({"work", "hospital"}),
            sf.secrets.basic(3),
        ],
        [
            *(sf.mechanisms.suppress_probabilistic(delta=delta) for delta in (0.2, 0.4)),
            sf.mechanisms.gaussian_uniform(mse=0.1),
        ],
        [sf.measures.posterior_gap(), sf.measures.released_fraction(), sf.measures.renyi()],
    )


@pytest.mark.parametrize("width", [60, 80])
def test_long_names_are_listed_once_and_numbered(width):
    comparison = many()
    text = printed(comparison, width)
    lines = text.splitlines()
    assert max(map(len, lines)) <= width
    table = text[text.index("\nprior ") :].partition("failed:")[0]
    assert table.count("3×3 table") == 1
    assert "mechanism 2: suppress_probabilistic delta=0.4" in lines
    assert len([line for line in lines if line.startswith(("prior ", "mechanism "))]) <= 10
    for cell in comparison.measured:  # no number is cut
        assert loss_text(cell.loss) in text


def test_labels_are_used_and_completed_where_they_repeat():
    comparison = sf.compare(
        [sf.priors.rbf(length_scale=2.0, times=5)],
        [sf.secrets.basic(2)],
        [sf.Labelled(sf.mechanisms.gaussian_uniform(mse=m), "noise") for m in (0.5, 1.0)],
        [sf.measures.renyi()],
    )
    names = noun_names(comparison.cells, "mechanism")
    assert list(names.names.values()) == ["noise, mse=0.5", "noise, mse=1"]


def test_nouns_made_of_others_have_names():
    union = sf.secrets.basic(4) | sf.secrets.basic(6, radius=2.0)
    assert full_name(union) == "basic(index=4) | basic(index=6, radius=2)"
    either = sf.AnyOf(
        sf.priors.rbf(length_scale=1.0, times=3), sf.priors.rbf(length_scale=2.0, times=3)
    )
    assert full_name(either) == "rbf(length_scale=1, times=3) or rbf(length_scale=2, times=3)"
    assert value_text([1.0] * 30).endswith("…]")
    assert value_text([[0.5, 0.5]] * 3) == "3×2 table"
