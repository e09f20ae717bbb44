"""Sweeps: counted before they are made, and made exactly."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.comparison.study_files import count, expand
from sfumato.errors import StudyError

SWEEPS = st.one_of(
    st.lists(st.integers(), min_size=1, max_size=3).map(lambda values: {"sweep": values}),
    st.integers(2, 4).map(lambda steps: {"linspace": [0, 1, steps]}),
    st.integers(2, 4).map(lambda steps: {"logspace": [0.1, 10.0, steps]}),
)
TABLES = st.recursive(
    st.one_of(st.integers(), st.text(max_size=3), SWEEPS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2),
        st.dictionaries(st.sampled_from(["name", "a", "b"]), inner, max_size=2),
    ),
    max_leaves=5,
)


@given(TABLES)
def test_the_count_is_what_expanding_gives(table):
    made = list(expand(table, "x"))
    assert len(made) == count(table, "x")
    assert all(count(one, "x") == 1 for one in made)


def test_several_sweeps_make_every_combination_the_first_slowest():
    made = list(expand({"a": {"sweep": [1, 2]}, "b": [{"c": {"sweep": ["x", "y"]}}]}, "x"))
    assert made == [{"a": a, "b": [{"c": c}]} for a in (1, 2) for c in ("x", "y")]


def test_spaces_agree_with_numpy_and_keep_their_ends():
    assert list(expand({"linspace": [0.1, 0.7, 5]}, "x")) == pytest.approx(np.linspace(0.1, 0.7, 5))
    logarithmic = list(expand({"logspace": [0.01, 3.0, 6]}, "x"))
    assert logarithmic == pytest.approx(np.geomspace(0.01, 3.0, 6))
    assert (logarithmic[0], logarithmic[-1]) == (0.01, 3.0)


def test_whole_ends_give_whole_numbers():
    values = list(expand({"linspace": [0, 24, 5]}, "x"))
    assert values == [0, 6, 12, 18, 24]
    assert all(isinstance(value, int) for value in values)


@pytest.mark.parametrize(
    ("sweep", "match"),
    [
        ({"sweep": 3}, r"must be a list of values; got 3"),
        ({"linspace": [-1e308, 1e308, 3]}, r"must span a finite range"),
        ({"logspace": [1e-308, 1e308, 3]}, r"must span a finite ratio"),
        ({"sweep": []}, r"must be a list"),
        ({"linspace": [0, 1]}, r"must be \[from, to, how many\]"),
        ({"linspace": [0, 1, 1]}, r"with 2 or more"),
        ({"linspace": [0, 1, 2.5]}, r"how many"),
        ({"linspace": [1, 0, 5]}, r"must go up between finite ends"),
        ({"linspace": [0, float("inf"), 5]}, r"finite ends"),
        ({"logspace": [-2, 1, 5]}, r"positive ends \(the values, not exponents\)"),
    ],
)
def test_a_bad_sweep_names_its_place(sweep, match, small_table):
    with pytest.raises(StudyError, match=r"mechanisms\[0\]\.mse\..*" + match):
        sf.Study.from_table(small_table(mechanisms=[{"name": "gaussian_uniform", "mse": sweep}]))


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"intervall": [1, 3]}, "has no form 'intervall'; did you mean 'interval'?"),
        ({"any_off": [1, 3]}, "has no form 'any_off'; did you mean 'any_of'?"),
        ({"swep": [1, 3]}, "has no form 'swep'; did you mean 'sweep'?"),
        (
            {"sweep": [1], "linspace": [0, 1, 3]},
            "must be one of sweep, linspace, logspace, interval, any_of; got sweep and linspace.",
        ),
    ],
)
def test_a_misspelt_form_is_no_value(form, message, small_table):
    with pytest.raises(StudyError) as caught:
        sf.Study.from_table(small_table(mechanisms=[{"name": "gaussian_uniform", "mse": form}]))
    assert str(caught.value) == f"the study: mechanisms[0].mse {message}"


def test_a_thousand_million_cells_are_refused_before_anything_is_made(small_table):
    began = time.monotonic()
    huge = [{"name": "gaussian_uniform", "mse": {"linspace": [0.1, 1.0, 125_000_000]}}]
    with pytest.raises(StudyError, match=r"at most 100,000 cells; got 500,000,000"):
        sf.Study.from_table(small_table(mechanisms=huge))
    with pytest.raises(StudyError, match=r"at most 10 cells; got 12"):
        sf.Study.from_table(small_table(max_cells=10, measures=["renyi"] * 3))
    assert sf.Study.from_table(small_table(max_cells=8)).size == 8
    assert time.monotonic() - began < 60  # it would take days
