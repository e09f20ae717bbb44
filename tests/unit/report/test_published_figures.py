"""Figures as files: every number in the table, the picture, and the account."""

from __future__ import annotations

import csv
import itertools
import math

import numpy as np
import pytest

from sfumato.figures import (
    Curve,
    Drawing,
    FigureRequest,
    MatrixPanel,
    Panel,
    draw,
    write_drawing,
)


def drawing():
    panel = Panel(
        title="a",
        x="noise",
        y="loss",
        curves=[
            Curve("uniform", [1, 2, 3], [3.0, math.inf, 1.0]),
            Curve("ours, new", [1, 2, 3], [2.0, 1.5, 1.0], "dashed"),
            Curve("people", [1.5], [2.0], "dots"),
            Curve("no noise", [0], [2.5], "level"),
        ],
        band=(1.0, 2.0),
        mark=1.5,
        log="y",
    )
    bars = Panel(
        title="b", x="", y="", curves=[Curve("found", [0, 1], [1, 2], "bars")], names=("p", "q")
    )
    matrix = MatrixPanel(title="c", matrix=np.eye(2))
    return Drawing(
        panels=[panel, bars, matrix],
        account="""
        Exact: all of it.

        Differs: nothing.
        """,
    )


def test_a_drawing_is_a_table_an_account_and_pictures(tmp_path):
    paths = write_drawing(drawing(), tmp_path / "new", "fig", "Nobody (1999), Figure 1")
    assert [path.suffix for path in paths] == [".csv", ".txt", ".svg", ".png"]
    with paths[0].open(encoding="utf-8") as stream:
        rows = list(csv.reader(stream))
    assert rows[0] == ["panel", "curve", "x", "y"]
    assert ["a", "uniform", "2.0", "inf"] in rows
    assert ["c", "row 1", "1", "1.0"] in rows
    assert len(rows) == 1 + 3 + 3 + 1 + 1 + 2 + 4
    text = paths[1].read_text(encoding="utf-8")
    assert text.startswith("Nobody (1999), Figure 1\n\nExact: all of it.")
    assert paths[2].read_text(encoding="utf-8").count("<svg") == 1
    assert paths[3].read_bytes().startswith(b"\x89PNG")


def test_the_same_drawing_is_the_same_picture(tmp_path):
    texts = []
    for name in ("one", "two"):
        paths = write_drawing(drawing(), tmp_path / name, "fig", "title")
        lines = paths[2].read_text(encoding="utf-8").splitlines()
        texts.append([line for line in lines if "dc:date" not in line])
    assert texts[0] == texts[1]


def test_curves_reject_what_is_no_number():
    with pytest.raises(ValueError, match="must have a number y for each x"):
        Curve("a", [1.0], [math.nan])
    with pytest.raises(ValueError, match="must have a number y for each x"):
        Curve("a", [1.0, 2.0], [1.0])


def test_work_is_done_in_order_in_several_processes():
    tasks = [-3, 1, -2]
    assert FigureRequest(jobs=2).each(abs, tasks, "x") == [3, 1, 2]
    assert FigureRequest(jobs=1).each(abs, tasks, "x") == [3, 1, 2]


def test_bars_are_labelled_and_legends_do_not_squeeze_the_panels(tmp_path):
    names = [f"a rather long name of curve {k}" for k in range(9)]
    few = Panel(title="a", x="x", y="y", curves=[Curve(name, [0], [1e4], "bars") for name in names])
    one = Panel(title="a", x="x", y="y", curves=[Curve("b", [0], [0.33333], "bars")], names=("b",))
    heights = []
    for name, panel in (("few", few), ("one", one)):
        drawn = Drawing(panels=[panel], columns=1)
        svg = write_drawing(drawn, tmp_path, name, "title")[2].read_text(encoding="utf-8")
        heights.append(float(svg.partition('height="')[2].partition("pt")[0]))
    assert heights[0] > heights[1] + 8 * 11  # nine rows of a legend, in points


def test_numbers_of_many_bars_do_not_meet():
    kinds = [Curve(name, range(6), [0.158] * 6, "bars") for name in "abcd"]
    panel = Panel(title="a", x="", y="", curves=kinds, names=tuple("pqrstu"))
    picture = draw(Drawing(panels=[panel], columns=1), "title")
    picture.canvas.draw()
    (axes,) = [axes for axes in picture.axes if axes.texts]
    extents = [text.get_window_extent() for text in axes.texts]
    assert len(extents) == 24
    assert not any(one.overlaps(other) for one, other in itertools.combinations(extents, 2))
