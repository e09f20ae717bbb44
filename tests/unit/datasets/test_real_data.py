"""The real data sets, where they lie beside the checkout."""

from __future__ import annotations

import pytest

from sfumato.datasets import (
    BadRows,
    geolife_as_published,
    labels_of,
    read_foursquare,
    read_geolife,
    read_geolife_table,
    read_gowalla,
    read_kasteren,
    read_ordonez,
    read_sml2010,
    sml2010_as_published,
)
from sfumato.datasets.geolife import five_minutes


def test_geolife_keeps_the_published_numbers_of_traces(real_data):
    traces = list(read_geolife_table(real_data("geolife", "geolife_first330s.csv.gz")))
    assert len(traces) == 18666
    assert sum(five_minutes(trace) is not None for trace in traces) == 10471
    assert len(geolife_as_published(traces)) == 3762


def test_geolife_folders_are_read_file_by_file(real_data):
    traces = list(read_geolife(real_data("geolife", "sample_raw")))
    assert len(traces) == 48
    assert len({trace.user for trace in traces}) == 6
    assert traces[0].values[0].tolist() == [39.984702, 116.318417]
    assert traces[0].times[1] == pytest.approx(6.0, abs=1e-5)


def test_sml2010_has_gaps_only_where_its_source_says(real_data):
    first = read_sml2010(real_data("sml2010", "NEW-DATA-1.T15.txt"))
    second = read_sml2010(real_data("sml2010", "NEW-DATA-2.T15.txt"))
    assert (len(first), len(second)) == (2764, 1373)
    assert set((first.times[1:] - first.times[:-1]).tolist()) == {900.0}
    assert sorted((second.times[1:] - second.times[:-1]).tolist())[-3:] == [900.0, 1800.0, 1800.0]
    windows = sml2010_as_published(first)
    assert [window.values.shape for window in windows] == [(48, 1)] * 10


def test_check_ins_have_the_published_sizes(real_data):
    gowalla = list(read_gowalla(real_data("gowalla_nyc", "gowalla_events.csv.gz")))
    assert (len(gowalla), sum(map(len, gowalla)), len(labels_of(gowalla))) == (7115, 138957, 21509)
    foursquare = list(read_foursquare(real_data("foursquare_nyc", "stan", "NYC.npy")))
    assert (len(foursquare), sum(map(len, foursquare))) == (1083, 147938)


def test_homes_have_the_published_sizes(real_data):
    bad = BadRows(skip=True)
    home = read_ordonez(real_data("adl_homes", "ordonez", "OrdonezA_ADLs.txt"), bad_rows=bad)
    assert len(home.activities) + bad.count == 248
    assert bad.count == 3  # three activities end before they begin
    other = read_ordonez(real_data("adl_homes", "ordonez", "OrdonezB_ADLs.txt"))
    assert len(other.activities) == 493
    sizes = {}
    for house in "ABCDE":
        path = real_data("adl_homes", "kasteren_mit", f"house{house}.activities")
        log = read_kasteren(path)
        sizes[house] = (len(log.activities), len(set(log.activities)))
        assert all(len(day) == 48 for day in log.day_streams())
    assert sizes == {"A": (259, 8), "B": (112, 8), "C": (234, 8), "D": (295, 22), "E": (208, 24)}
