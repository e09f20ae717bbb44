"""The data sets of the papers: tiny files made here, and the real ones where they lie near."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from sfumato.datasets import BadRow, BadRows, RealTrace, labels_of
from sfumato.datasets.formats import format_of, formats
from sfumato_papers.check_ins import read_foursquare, read_gowalla
from sfumato_papers.homes import ActivityLog, read_kasteren, read_ordonez
from sfumato_papers.traces import (
    five_minutes,
    geolife_as_published,
    read_geolife,
    read_geolife_table,
    read_sml2010,
    sml2010_as_published,
)


def write(folder, name, text):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


PLT_HEADER = "Geolife trajectory\nWGS 84\nAltitude is in Feet\nReserved 3\n0,2,255\n0\n"


SML_HEADER = "#  1:Date 2:Time 3:Temperature_Comedor_Sensor 4:Other 5:Weather_Temperature\n"


def plt(folder, rows, user="007", name="20200101000000.plt"):
    write(folder, f"Data/{user}/Trajectory/{name}", PLT_HEADER + rows)
    return folder


def test_geolife_reads_folders_by_user_and_name(tmp_path):
    plt(tmp_path, "1.0,2.0,0,9,100.0,2020-01-01,00:00:00\n", user="010")
    plt(tmp_path, "3.0,4.0,0,9,100.0,d,t\n3.5,4.5,0,9,100.5,d,t\n", user="002")
    first, second = read_geolife(tmp_path)
    assert (first.user, second.user) == ("002", "010")
    assert first.times.tolist() == [0.0, 43200.0]
    assert first.values.tolist() == [[3.0, 4.0], [3.5, 4.5]]
    assert first.name == "20200101000000"


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("400.0,2.0,0,9,101.0,d,t", "globe"),
        ("1.0,nan,0,9,101.0,d,t", "finite"),
        ("1.0,2.0,0", "must have 7 cells; got 3"),
        ("1.0,2.0,0,9,99.0,d,t", "clock must not run back"),
    ],
)
def test_geolife_names_file_and_line_of_a_bad_row(tmp_path, row, words):
    good = "1.0,2.0,0,9,100.0,d,t\n"
    plt(tmp_path, f"{good}{row}\n{good}")
    with pytest.raises(BadRow, match=rf"20200101000000.plt, line 8: .*{words}"):
        list(read_geolife(tmp_path))
    bad = BadRows(skip=True)
    (trace,) = read_geolife(tmp_path, bad_rows=bad)
    assert len(trace) == 2
    assert bad.count == 1
    assert "line 8" in bad.first


def test_geolife_without_files_says_so(tmp_path):
    with pytest.raises(FileNotFoundError, match="Trajectory"):
        list(read_geolife(tmp_path))


def test_a_geolife_file_of_bad_rows_only_gives_no_trace(tmp_path):
    plt(tmp_path, "what\n")
    assert list(read_geolife(tmp_path, bad_rows=BadRows(skip=True))) == []


def test_geolife_tables_give_seconds_since_the_first_fix(tmp_path):
    rows = "user,traj,lat,lon,days_1899\n001,a,1,2,40000.25\n001,b,5,6,40001.5\n001,a,3,4,40000.5\n"
    path = write(tmp_path, "t.csv", rows)
    one, two = read_geolife_table(path)
    assert one.times.tolist() == [0.0, 21600.0]
    assert one.values.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert (two.name, two.times.tolist()) == ("b", [0.0])


def test_sml2010_names_are_not_shifted_by_the_header(tmp_path):
    rows = "13/03/2012 11:45 18.5 7 0.25\n13/03/2012 12:00 18.75 7 0.5\n"
    path = write(tmp_path, "N.T15.txt", SML_HEADER + rows)
    room = read_sml2010(path)
    assert room.values.ravel().tolist() == [18.5, 18.75]
    assert np.diff(room.times).tolist() == [900.0]
    weather = read_sml2010(path, column="Weather_Temperature")
    assert weather.values.ravel().tolist() == [0.25, 0.5]
    with pytest.raises(BadRow, match="line 1: the header must have a column 'Nope'"):
        read_sml2010(path, column="Nope")
    short = write(tmp_path, "S.T15.txt", SML_HEADER + "13/03/2012 11:45 18.5\n")
    with pytest.raises(BadRow, match=r"S.T15.txt, line 2: a row must have 5 cells; got 3"):
        read_sml2010(short)


def test_gowalla_reads_compressed_tabs_and_sorts_by_time(tmp_path):
    path = tmp_path / "g.txt.gz"
    rows = "0\t2010-10-12T00:00:02Z\t1.0\t2.0\t23\n0\t2010-10-12T00:00:01Z\t1.0\t2.0\t9\n"
    with gzip.open(path, "wt") as stream:
        stream.write(rows + "7\t2010-10-12 00:00:00+0000\t1.0\t2.0\t23\n")
    zero, seven = read_gowalla(path)
    assert (zero.user, zero.states) == ("0", ("9", "23"))
    assert seven.times.tolist() == [1286841600.0]
    bad = write(tmp_path, "g.txt", rows + "1\tyesterday\t1\t2\t3\n")
    with pytest.raises(BadRow, match=r"g.txt, line 3: a time must be .* 'yesterday'"):
        list(read_gowalla(bad))


def test_foursquare_reads_its_three_forms(tmp_path):
    city = "4\tv1\tc\tBar\t1.0\t2.0\t-240\tThu Jan 01 00:00:05 +0000 1970\n"
    (one,) = read_foursquare(write(tmp_path, "city.txt", city))
    assert (one.user, one.times.tolist(), one.states) == ("4", [5.0], ("v1",))
    world = "4\tv2\tThu Jan 01 00:01:00 +0000 1970\t540\n"
    (one,) = read_foursquare(write(tmp_path, "world.txt", world))
    assert (one.times.tolist(), one.states) == ([60.0], ("v2",))
    np.save(tmp_path / "a.npy", np.array([[1, 5, 3], [1, 6, 2], [2, 5, 0]]))
    first, second = read_foursquare(tmp_path / "a.npy")
    assert (first.states, first.times.tolist()) == (("6", "5"), [120.0, 180.0])
    assert second.user == "2"
    np.save(tmp_path / "b.npy", np.zeros((2, 2)))
    with pytest.raises(ValueError, match="rows of"):
        list(read_foursquare(tmp_path / "b.npy"))
    with pytest.raises(BadRow, match=r"c.txt, line 1: a row must have 8 cells; got 1"):
        list(read_foursquare(write(tmp_path, "c.txt", "x\n")))


def test_ordonez_splits_at_any_blanks(tmp_path):
    titles = "Start time\tEnd time\tActivity\n---\t---\t---\n"
    rows = "1970-01-01 00:00:10\t\t1970-01-01 00:00:20\t\tSleeping\t\t\n"
    rows += "1970-01-01 00:00:30  1970-01-01 00:00:40 Spare_Time/TV\n"
    log = read_ordonez(write(tmp_path, "X_ADLs.txt", titles + rows))
    assert log.begins.tolist() == [10.0, 30.0]
    assert log.ends.tolist() == [20.0, 40.0]
    assert log.activities == ("Sleeping", "Spare_Time/TV")
    wrong = "1970-01-01 00:00:30 1970-01-01 00:00:20 Sleeping\n"
    words = r"an activity must not end before.*, or in Python bad_rows=BadRows\(skip=True\)"
    with pytest.raises(BadRow, match=rf"Y_ADLs.txt, line 3: {words}"):
        read_ordonez(write(tmp_path, "Y_ADLs.txt", titles + wrong))


def test_kasteren_takes_names_from_the_file_beside_it(tmp_path):
    write(tmp_path, "h.activity_names", "1\tleave-house\n6\tbrush-teeth\n")
    log = read_kasteren(write(tmp_path, "h.activities", "100\t12\t6\n200\t30\t1\n"))
    assert log.activities == ("brush-teeth", "leave-house")
    assert log.ends.tolist() == [112.0, 230.0]
    with pytest.raises(BadRow, match=r"h.activities, line 1: .* got number 9"):
        read_kasteren(write(tmp_path, "h.activities", "100\t12\t9\n"))


def test_formats_are_told_from_paths(tmp_path):
    assert format_of(plt(tmp_path / "g", "1,2,0,9,100.0,d,t\n")) == "geolife"
    assert format_of(write(tmp_path, "a.csv", "time,x\n")) == "traces"
    assert format_of(write(tmp_path, "p.csv", "time,lat,lon\n")) == "traces"
    assert format_of(write(tmp_path, "b.csv", "user,time,state\n")) == "states"
    assert format_of(write(tmp_path, "c.csv", "user,traj,lat,lon,days_1899\n")) == "geolife-table"
    assert format_of("OrdonezA_ADLs.txt") == "ordonez"
    assert format_of("NEW-DATA-1.T15.txt") == "sml2010"
    with pytest.raises(ValueError, match="cannot be told; give --format"):
        format_of(write(tmp_path, "d.csv", "a,b\n"))


def test_a_format_reads_streams_and_single_records(tmp_path):
    path = write(tmp_path, "N.T15.txt", SML_HEADER + "13/03/2012 11:45 18.5 7 0.25\n")
    assert len(list(formats()["sml2010"].read(path, BadRows()))) == 1
    table = write(tmp_path, "a.csv", "user,time,x,y\na,0,1,2\nb,0,1,2\n")
    assert len(list(formats()["traces"].read(table, BadRows()))) == 2


@pytest.mark.parametrize(
    ("row", "words"),
    [("abc\t2\tv", "a finite number; got 'abc'"), ("1\t2\t", "a name must not be empty")],
)
def test_gowalla_rows_without_a_place_are_bad(tmp_path, row, words):
    path = write(tmp_path, "g.txt", f"1\t2010-01-01T00:00:00Z\t{row}\n")
    with pytest.raises(BadRow, match=f"line 1: .*{words}"):
        list(read_gowalla(path))


def test_a_row_of_an_array_that_is_not_finite_is_bad(tmp_path):
    path = tmp_path / "f.npy"
    np.save(path, np.array([[1.0, 2.0, 3.0], [1.0, 3.0, np.nan]]))
    with pytest.raises(BadRow, match=r"f.npy, line 2: a value must be a finite number"):
        list(read_foursquare(path))
    bad = BadRows(skip=True)
    (person,) = read_foursquare(path, bad_rows=bad)
    assert (len(person), bad.count) == (1, 1)


def test_too_few_rows_for_the_published_preparation_are_refused():
    trace = RealTrace("house", np.arange(1373.0), np.arange(1373.0))
    with pytest.raises(ValueError, match="must have 2720 rows, as the first file of SML2010"):
        sml2010_as_published(trace)


def test_day_streams_hold_the_activity_in_force():
    hour = 3600.0
    log = ActivityLog(
        "h",
        begins=[-2 * hour, 7 * hour, 7.25 * hour, 12 * hour, 23 * hour],
        ends=[7 * hour, 9 * hour, 7.75 * hour, 12 * hour, 50 * hour],
        activities=["sleep", "breakfast", "phone", "blink", "sleep"],
    )
    one, two = log.day_streams(minutes=30)
    assert one.user == "h 1970-01-01"
    assert one.states[:14] == ("sleep",) * 14
    # The newest of two overlapping activities counts; an activity without length never does.
    assert one.states[14:18] == ("breakfast", "phone", "breakfast", "breakfast")
    assert one.states[18:46] == ("nothing",) * 28
    assert one.states[46:] == ("sleep", "sleep")
    assert set(two.states) == {"sleep"}
    assert len(two) == 48
    assert two.times[0] == 86400.0


def test_days_that_are_not_covered_are_left_out():
    log = ActivityLog("h", [3600.0], [2 * 86400.0], ["x"])
    assert [day.user for day in log.day_streams()] == ["h 1970-01-02"]
    assert ActivityLog("h", [3600.0], [7200.0], ["x"]).day_streams() == []


def test_steps_must_divide_a_day():
    with pytest.raises(ValueError, match="minutes must divide a day; got 7"):
        ActivityLog("h", [0.0], [1.0], ["x"]).day_streams(minutes=7)


def test_an_activity_must_end_after_it_begins():
    with pytest.raises(ValueError, match="must not end before"):
        ActivityLog("h", [1.0], [0.0], ["x"])
    with pytest.raises(ValueError, match="must not end before"):
        ActivityLog("h", [1.0], [np.nan], ["x"])


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
