"""Figures: what they draw is what was measured."""

from __future__ import annotations

import io
import itertools

import numpy as np
import pytest

import sfumato as sf
from sfumato.comparison.sweeps import SweepAxis, sweep_axes
from sfumato.report.figures import loss_figure, panels_of
from sfumato.report.style import PALETTE, MechanismColours, mix, save_figure

LABELS = ("little", "much")


def axes_of(figure):
    return [axes for part in figure.subfigs for axes in part.axes] or figure.axes


def saved(figure, kind="svg"):
    target = io.BytesIO()
    save_figure(figure, target, format=kind, metadata={"Date": None} if kind == "svg" else None)
    return target.getvalue()


def test_a_sweep_is_drawn_as_lines_through_the_values(swept):
    assert sweep_axes(swept.cells) == [SweepAxis("prior", "length_scale")]
    table = swept.to_pandas()
    axes = axes_of(swept.plot())
    assert len(axes) == 2
    for panel, quantity in zip(axes, table.quantity.unique(), strict=True):
        lines = [line for line in panel.lines if line.get_linestyle() != "None"]
        chosen = table[table.quantity == quantity]
        for line, label in zip(lines, ("little", "much"), strict=True):
            expected = chosen[chosen.mechanism_label == label]
            assert list(line.get_xdata()) == list(expected["prior.length_scale"])
            assert list(line.get_ydata()) == list(expected.value)
        assert {text.get_text() for text in panel.texts} == {"little", "much"}


def lines_of(axes):
    return [line for line in axes.lines if line.get_linestyle() != "None"]


def test_a_mechanism_has_one_hue_and_its_settings_shades(swept):
    colours = MechanismColours.of_all([swept])
    little, much = (next(c for c in swept.cells if c.labels["mechanism"] == n) for n in LABELS)
    assert colours[little] == PALETTE[0].lower()
    assert colours[much] == mix(PALETTE[0], 255, 0.55)
    for panel in axes_of(swept.plot()):
        assert [line.get_color() for line in lines_of(panel)] == [colours[little], colours[much]]


def test_hues_go_by_name_whatever_is_swept_and_labelled():
    uniform, optimal = sf.mechanisms.gaussian_uniform, sf.mechanisms.gaussian_optimal
    settings = (0.1, 0.2, 0.5)
    comparison = sf.compare(
        [sf.priors.rbf(length_scale=2.0, times=5)],
        [sf.secrets.basic(2)],
        [sf.Labelled(uniform(mse=mse), "u") for mse in settings]
        + [optimal(mse=mse) for mse in settings],
        [sf.measures.renyi(), sf.measures.posterior_interval()],
    )
    for panel in axes_of(comparison.plot()):
        drawn = [line.get_color() for line in lines_of(panel)]
        assert drawn == [PALETTE[0].lower(), PALETTE[1].lower()]
    colours = MechanismColours.of_all([comparison])
    assert len({colours[cell] for cell in comparison.cells}) == 6


def part_of_two_sweeps():
    """Two mechanisms swept in different parameters, one in none, one infinite."""
    suppress, counts = sf.mechanisms.suppress_probabilistic, sf.mechanisms.sensor_counts
    return sf.compare(
        [
            sf.priors.markov_chain(
                initial=[0.5, 0.5], transitions=[[0.9, 0.1], [0.2, 0.8]], steps=3, states=["s", "x"]
            )
        ],
        [sf.secrets.contexts({"s"})],
        [
            *(suppress(delta=delta) for delta in (0.1, 0.2, 0.3)),
            sf.Labelled(sf.mechanisms.suppress_sensitive(), "all"),
            counts("s"),
            *(counts("s", noise=noise) for noise in (0.5, 1.0, 2.0, 3.0)),
        ],
        [
            sf.measures.posterior_gap(),
            sf.measures.mutual_information(),
            sf.measures.differential_privacy(),
        ],
    )


def values_drawn(axes):
    return {float(y) for line in axes.lines for y in line.get_ydata()}


def test_what_was_not_swept_is_drawn_as_a_level_and_named():
    comparison = part_of_two_sweeps()
    gap, information, privacy = axes_of(comparison.plot())
    for axes, panel in zip((gap, information, privacy), panels_of(comparison), strict=True):
        finite = {c.loss.value for c in panel.cells if np.isfinite(c.loss.value)}
        assert finite <= values_drawn(axes)
    # Every definition reads both worlds: the longer sweep is the axis, the other one levels.
    assert {axes.get_xlabel() for axes in (gap, information, privacy)} == {"noise of the mechanism"}
    probabilistic = {f"suppress_probabilistic delta={delta}" for delta in (0.1, 0.2, 0.3)}
    for axes in (gap, information, privacy):
        names = {text.get_text() for text in axes.texts} - {"∞"}
        assert names == {"all", "sensor_counts", "sensor_counts noise=none", *probabilistic}
    assert [text.get_text() for text in privacy.texts].count("∞") == 5
    levels = [line for line in lines_of(gap) if len(line.get_xdata()) == 2]
    assert [list(line.get_xdata()) for line in levels] == [[0.5, 3.0]] * 5
    # Two are at 0.5: the second is dashed, so that the first is seen through it.
    assert [line.get_linestyle() for line in levels].count("--") == 1


def test_classes_beside_a_sweep_are_levels_of_their_own():
    scales = (1.0, 2.0, 3.0, sf.Interval(1.0, 2.0), sf.Interval(2.0, 3.0))
    comparison = sf.compare(
        [sf.priors.rbf(length_scale=scale, times=5) for scale in scales],
        [sf.secrets.basic(2)],
        [sf.mechanisms.gaussian_uniform(mse=0.5)],
        [sf.measures.mutual_information()],
    )
    (axes,) = axes_of(comparison.plot())
    assert {cell.loss.value for cell in comparison.measured} <= values_drawn(axes)
    assert len({text.get_text() for text in axes.texts}) == len(lines_of(axes)) == 3


def test_the_only_line_is_named_like_its_mechanism():
    comparison = sf.compare(
        [sf.priors.rbf(length_scale=float(l), times=5) for l in (1, 2, 3)],
        [sf.secrets.basic(2)],
        [sf.mechanisms.gaussian_uniform(mse=0.5)],
        [sf.measures.renyi()],
    )
    (axes,) = axes_of(comparison.plot())
    assert [text.get_text() for text in axes.texts] == ["gaussian_uniform"]


def test_measures_without_the_swept_parameter_have_dots():
    comparison = sf.compare(
        [sf.priors.rbf(length_scale=2.0, times=5)],
        [sf.secrets.basic(2)],
        [sf.mechanisms.gaussian_uniform(mse=mse) for mse in (0.1, 0.2)],
        [
            *(sf.measures.renyi(order=order) for order in (1.5, 2.0, 3.0)),
            *(sf.measures.odds_gap(delta=delta) for delta in (0.1, 0.2)),
            sf.measures.mutual_information(),
        ],
    )
    panels = panels_of(comparison)
    assert [panel.axis is None for panel in panels] == [False, True, True, True]
    assert panels[0].title == "Rényi divergence [nats], larger is worse"
    assert [str(panel.quantity) for panel in panels[1:3]] == [
        f"log-odds gap (delta={delta}) [log-odds]" for delta in (0.1, 0.2)
    ]
    for axes, panel in zip(axes_of(comparison.plot())[1:], panels[1:], strict=True):
        drawn = [line.get_xdata()[0] for line in axes.lines]
        assert drawn == [cell.loss.value for cell in panel.cells]


@pytest.mark.parametrize("lengths", [(3.0, 4.0, 5.0), (3.0, 5.0)], ids=["lines", "rows"])
def test_a_linear_axis_makes_much_of_nothing(lengths):
    found = sf.compare(
        [sf.priors.rbf(length_scale=length, times=12) for length in lengths],
        [sf.secrets.basic(5)],
        [sf.mechanisms.gaussian_uniform(mse=0.1)],
        [sf.measures.advantage(), sf.measures.posterior_interval()],
    )
    swept = len(lengths) > 2
    for axes, most in zip(axes_of(loss_figure([found])), (1.0, 0.0), strict=True):
        low, high = axes.get_ylim() if swept else axes.get_xlim()
        assert low <= 0.0
        assert high >= most


def numbers_meet_bars(figure):
    """Whether a number is written over the interval bar of its row."""
    figure.canvas.draw()
    for axes in axes_of(figure):
        bars = [line for line in axes.lines if len(line.get_xdata()) == 2]
        for text, bar in itertools.product(axes.texts, bars):
            if text.get_window_extent().overlaps(bar.get_window_extent()):
                return True
    return False


def test_numbers_stand_beside_their_intervals(sandwiched):
    assert not numbers_meet_bars(sandwiched.plot())


def test_every_measure_of_a_scenario_has_a_named_row(sandwiched):
    axes = axes_of(sandwiched.plot())[0]
    rows = [label.get_text() for label in axes.get_yticklabels()]
    assert len(rows) == len(set(rows)) == 6
    assert sum("attacked" in row for row in rows) == 2


def test_names_of_many_lines_do_not_meet():
    comparison = sf.compare(
        [sf.priors.rbf(length_scale=float(l), times=9) for l in range(1, 11)],
        [sf.secrets.basic(index) for index in range(9)],
        [sf.mechanisms.gaussian_uniform(mse=mse) for mse in (0.1, 0.2)],
        [sf.measures.renyi()],
    )
    figure = comparison.plot()
    (panel,) = axes_of(figure)
    assert len(panel.texts) == 18
    figure.canvas.draw()
    boxes = sorted((text.get_window_extent() for text in panel.texts), key=lambda box: box.y0)
    assert all(above.y0 >= below.y1 - 1 for below, above in itertools.pairwise(boxes))


def test_titles_of_panels_stay_in_the_figure():
    places = sf.priors.location_walk.grid(3, 3)
    walk, secret = sf.priors.location_walk(places, reach=1.0, steps=2), sf.secrets.basic(1)
    noise = sf.mechanisms.planar_laplace(epsilon=1.0, places=places)
    named = [sf.Labelled(noise, f"noise of the plane, {k}") for k in ("loud", "quiet")]
    measure = sf.measures.geo_indistinguishability(places=places)
    figure = sf.compare([walk], [secret], named, [measure]).plot()
    figure.canvas.draw()
    (panel,) = axes_of(figure)
    assert panel._left_title.get_window_extent().x1 <= figure.bbox.x1 + 1
    assert "9 places within 2 × 2" in panel.get_title(loc="left")


def test_very_long_names_leave_room_for_the_figure():
    long = "a mechanism with a name that goes on and on, far beyond what fits beside a panel, "
    for measures in ([sf.measures.renyi()], [sf.measures.renyi(order=o) for o in (2.0, 3.0, 4.0)]):
        comparison = sf.compare(
            [
                sf.Labelled(sf.priors.rbf(length_scale=1.0, times=5), f"{long} and its prior"),
                sf.Labelled(sf.priors.rbf(length_scale=2.0, times=5), f"{long} and another"),
            ],
            [sf.secrets.basic(2), sf.secrets.basic(1) | sf.secrets.compound([2, 3])],
            [
                sf.Labelled(sf.mechanisms.gaussian_uniform(mse=mse), f"{long} {mse}")
                for mse in (0.1, 0.2)
            ],
            measures,
        )
        figure = comparison.plot()
        (panel,) = axes_of(figure)
        saved(figure)  # a layout that does not fit is a warning, which fails here
        assert panel.get_position().width > 0.3
        words = [text.get_text() for text in (*panel.get_yticklabels(), *panel.texts)]
        assert len({word for word in words if " · " in word}) == 8


def test_an_infinite_value_interrupts_its_line():
    covariances = [np.diag([0.5, value, 0.5]).tolist() for value in (0.5, 0.0)]
    comparison = sf.compare(
        [sf.priors.rbf(length_scale=l, times=3) for l in (1.0, 2.0, 3.0)],
        [sf.secrets.basic(1)],
        [sf.mechanisms.gaussian_given(covariance=covariance) for covariance in covariances],
        [sf.measures.renyi()],
    )
    (panel,) = axes_of(comparison.plot())
    assert [text.get_text() for text in panel.texts].count("∞") == 3


def test_without_a_sweep_each_scenario_has_a_row(worlds):
    figure = worlds.plot()
    panels = panels_of(worlds)
    for axes, panel in zip(axes_of(figure), panels, strict=True):
        drawn = sorted(line.get_xdata()[0] for line in axes.lines)
        assert drawn == sorted(cell.loss.value for cell in panel.cells)


def test_infinite_losses_are_drawn_at_the_edge_and_named(sandwiched):
    texts = [text.get_text() for axes in axes_of(sandwiched.plot()) for text in axes.texts]
    assert "= ∞" in texts


def test_a_swept_measure_has_one_panel():
    comparison = sf.compare(
        [sf.priors.rbf(length_scale=2.0, times=5)],
        [sf.secrets.basic(2)],
        [sf.mechanisms.gaussian_uniform(mse=0.5)],
        [sf.measures.renyi(order=order) for order in (2.0, 4.0, 8.0, 16.0)],
    )
    (panel,) = panels_of(comparison)
    assert len(panel.cells) == 4


@pytest.mark.parametrize(
    ("kind", "start"), [("svg", b"<?xml"), ("pdf", b"%PDF"), ("png", b"\x89PNG")]
)
def test_figures_are_saved_in_three_formats_and_reproducibly(swept, kind, start):
    first = saved(swept.plot(), kind)
    assert first.startswith(start)
    if kind != "pdf":  # which holds the date
        assert saved(swept.plot(), kind) == first


def test_nothing_measured_is_said_so():
    assert saved(loss_figure([sf.compare([], [], [], [])]))


def test_the_caller_s_matplotlib_is_left_alone(swept):
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    saved(swept.plot())
    assert {key: value for key, value in mpl.rcParams.items()} == before  # noqa: C416 - a plain dict


def test_logarithmic_sweeps_have_a_logarithmic_axis():
    comparison = sf.compare(
        [sf.priors.rbf(length_scale=2.0, times=5)],
        [sf.secrets.basic(2)],
        [sf.mechanisms.gaussian_uniform(mse=float(m)) for m in np.geomspace(0.01, 10, 7)],
        [sf.measures.renyi()],
    )
    (axes,) = axes_of(comparison.plot())
    assert axes.get_xscale() == axes.get_yscale() == "log"
    (line,) = [line for line in axes.lines if line.get_linestyle() != "None"]
    assert len(line.get_xdata()) == 7


def test_a_very_long_comparison_is_drawn_in_part_and_says_so():
    comparison = sf.compare(
        [sf.priors.rbf(length_scale=1.0 + k, variance=1.0 + k, times=5) for k in range(50)],
        [sf.secrets.basic(2)],
        [sf.mechanisms.gaussian_uniform(mse=0.5)],
        [sf.measures.mean_squared_error()],
    )
    (axes,) = axes_of(comparison.plot())
    assert len(axes.get_yticks()) == 40
    assert "the first 40 of 50 losses" in axes.get_title(loc="left")
