"""The tidy table's columns: one for each parameter that varies, in its own type."""

from __future__ import annotations

import io

import pandas as pd
import pytest

import sfumato as sf


@pytest.fixture(scope="module")
def table():
    study = sf.Study.from_table(
        {
            "title": "types",
            "priors": [
                {
                    "name": "markov_chain",
                    "initial": {"sweep": ["stationary", [0.5, 0.5]]},
                    "transitions": {"sweep": [[[0.9, 0.1], [0.2, 0.8]], [[0.5, 0.5], [0.5, 0.5]]]},
                    "steps": {"sweep": [2, 3]},
                },
                {"name": "rbf", "length_scale": {"sweep": [1, 2.5]}, "times": 4},
                {"name": "rbf", "length_scale": {"interval": [1.0, 2.0]}, "times": 4},
            ],
            "secrets": ["trajectory", {"name": "trajectory", "mistakes": 1}],
            "mechanisms": [{"name": "sensor_counts", "sensors": [0]}],
            "measures": [
                {"name": "attack_success", "adversary": "map", "trials": {"sweep": [20, 40]}},
                "reconstruction",
            ],
        }
    )
    return study.run().to_pandas()


def test_whole_numbers_stay_whole_beside_cells_that_have_none(table):
    for column in ("prior.steps", "measure.trials", "seed"):
        assert table[column].dtype == "Int64"
        assert table[column].isna().any()
        assert table[column].notna().any()
    assert set(table["prior.steps"].dropna()) == {2, 3}
    assert table["secret.mistakes"].tolist()[:2] == [0, 0]
    assert set(table["secret.mistakes"]) == {0, 1}


def test_classes_and_lists_are_text_and_tables_are_not_repeated(table):
    assert set(table["prior.length_scale"].dropna()) == {"1.0", "2.5", '{"interval":[1.0,2.0]}'}
    assert set(table["prior.initial"].dropna()) == {"stationary", "[0.5,0.5]"}
    assert "prior.transitions" not in table
    assert "prior.times" not in table


def test_files_keep_the_types(table, tmp_path):
    text = table.to_csv(index=False)
    read = pd.read_csv(io.StringIO(text), dtype={"seed": "Int64", "prior.steps": "Int64"})
    assert read["seed"].equals(table["seed"])
    assert ".0" not in "".join(pd.read_csv(io.StringIO(text), dtype=str)["prior.steps"].dropna())
    table.to_parquet(tmp_path / "table.parquet", index=False)
    again = pd.read_parquet(tmp_path / "table.parquet")
    for column in ("seed", "prior.steps", "measure.trials"):
        assert again[column].equals(table[column])


def test_seeds_beyond_64_bits_and_truths():
    comparison = sf.compare(
        [sf.priors.rbf(length_scale=1.0, times=4)],
        [sf.secrets.basic(1)],
        [sf.mechanisms.gaussian_uniform(mse=0.5)],
        [sf.measures.odds_gap(), sf.measures.odds_gap(conversion=True)],
    )
    assert comparison.to_pandas()["measure.conversion"].dtype == "boolean"
    from sfumato.comparison.names import typed_column

    assert typed_column([2**70, None]).tolist() == [str(2**70), None]
