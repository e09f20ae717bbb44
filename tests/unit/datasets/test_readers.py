"""Every format, on tiny files made here: what is read, and how a bad row is named."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from sfumato.datasets import (
    BadRow,
    BadRows,
    read_foursquare,
    read_geolife,
    read_geolife_table,
    read_gowalla,
    read_gpx,
    read_kasteren,
    read_ordonez,
    read_sml2010,
    read_state_table,
    read_trace_table,
)
from sfumato.datasets.formats import FORMATS, format_of

PLT_HEADER = "Geolife trajectory\nWGS 84\nAltitude is in Feet\nReserved 3\n0,2,255\n0\n"
SML_HEADER = "#  1:Date 2:Time 3:Temperature_Comedor_Sensor 4:Other 5:Weather_Temperature\n"


def write(folder, name, text):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


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
        ("1.0,2.0,0", "all its cells; got too few"),
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
    with pytest.raises(BadRow, match=r"S.T15.txt, line 2: a row must have 5 fields; got 3"):
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
    with pytest.raises(BadRow, match=r"c.txt, line 1: a row must have 4 or 8 fields; got 1"):
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


GPX = """<?xml version="1.0"?>
<gpx xmlns="http://www.topografix.com/GPX/1/1"><trk><name>run</name><trkseg>
<trkpt lat="1.0" lon="2.0"><time>1970-01-01T00:00:01Z</time></trkpt>
<trkpt lat="1.5" lon="2.5"><ele>3</ele><time>1970-01-01T00:00:02Z</time></trkpt>
</trkseg><trkseg>
<trkpt lat="5.0" lon="6.0"><time>1970-01-01T00:01:00Z</time></trkpt>
%s</trkseg></trk></gpx>
"""


def test_gpx_yields_a_trace_for_each_segment(tmp_path):
    one, two = read_gpx(write(tmp_path, "run.gpx", GPX % ""))
    assert one.times.tolist() == [1.0, 2.0]
    assert one.values.tolist() == [[1.0, 2.0], [1.5, 2.5]]
    assert (two.user, two.name, two.values.tolist()) == ("run", "segment 2", [[5.0, 6.0]])


@pytest.mark.parametrize(
    ("point", "words"),
    [
        ('<trkpt lat="1"><time>1970-01-01T00:02:00Z</time></trkpt>\n', "must have 'lon'"),
        ('<trkpt lat="1" lon="2"></trkpt>\n', "a time must be"),
        ('<trkpt lat="1" lon="2"><time>1970-01-01T00:00:03Z</time></trkpt>\n', "run back"),
        ('<trkpt lat="nan" lon="2"><time>1970-01-01T00:02:00Z</time></trkpt>\n', "finite"),
    ],
)
def test_gpx_names_the_line_of_a_bad_point(tmp_path, point, words):
    path = write(tmp_path, "run.gpx", GPX % point)
    with pytest.raises(BadRow, match=rf"run.gpx, line 7: .*{words}"):
        list(read_gpx(path))
    bad = BadRows(skip=True)
    assert [len(trace) for trace in read_gpx(path, bad_rows=bad)] == [2, 1]
    assert bad.count == 1


def test_gpx_refuses_broken_files_and_entities(tmp_path):
    with pytest.raises(BadRow, match="line 2: not GPX"):
        list(read_gpx(write(tmp_path, "a.gpx", "<gpx>\n</trk>")))
    bomb = '<!DOCTYPE g [\n<!ENTITY a "aaaa">]><gpx>&a;</gpx>'
    with pytest.raises(BadRow, match="line 2: entities are refused"):
        list(read_gpx(write(tmp_path, "b.gpx", bomb)))


def test_trace_tables_group_by_user_and_trace(tmp_path):
    rows = "user,time,x,y\nann,2,1,2\nbob,1970-01-01T00:00:09,5,6\nann,1,3,4\n"
    ann, bob = read_trace_table(write(tmp_path, "t.csv", rows))
    assert ann.times.tolist() == [1.0, 2.0]
    assert ann.values.tolist() == [[3.0, 4.0], [1.0, 2.0]]
    assert bob.times.tolist() == [9.0]
    (alone,) = read_trace_table(write(tmp_path, "room.csv", "time,t\n0,1.5\n"), values=("t",))
    assert (alone.user, alone.values.tolist()) == ("room", [[1.5]])
    (line,) = read_trace_table(write(tmp_path, "line.csv", "time,x\n0,1.5\n"))
    assert line.values.tolist() == [[1.5]]
    (place,) = read_trace_table(write(tmp_path, "place.csv", "time,lon,lat\n0,1,2\n"))
    assert place.values.tolist() == [[2.0, 1.0]]
    with pytest.raises(BadRow, match="the header must have a column 'lat'"):
        list(read_trace_table(write(tmp_path, "none.csv", "time,t\n0,1\n")))


def test_tables_report_what_is_missing(tmp_path):
    with pytest.raises(BadRow, match=r"t.csv, line 1: the header must have a column 'time'"):
        list(read_trace_table(write(tmp_path, "t.csv", "user,x,y\n")))
    with pytest.raises(BadRow, match="line 1: a table must have a header"):
        list(read_trace_table(write(tmp_path, "e.csv", "")))
    with pytest.raises(BadRow, match=r"u.csv, line 3: .*float.*'?x'?"):
        list(read_trace_table(write(tmp_path, "u.csv", "user,time,x,y\na,0,1,2\na,1,x,2\n")))
    with pytest.raises(BadRow, match=r"v.csv, line 2: a state must have a name"):
        list(read_state_table(write(tmp_path, "v.csv", "user,time,state\na,0,\n")))


def test_state_tables_read_csv_tsv_and_quotes(tmp_path):
    (ann,) = read_state_table(write(tmp_path, "s.csv", 'user,time,state\nann,0,"a, b"\n'))
    assert ann.states == ("a, b",)
    (ann,) = read_state_table(write(tmp_path, "s.tsv", "time\tuser\tstate\n0\tann\thome\n"))
    assert ann.states == ("home",)


def test_parquet_gives_what_csv_gives(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    import pyarrow as pa

    table = pa.table({"user": ["a", "a"], "time": [1, 0], "x": [0.1, 2.0], "y": [3.0, 4.0]})
    parquet.write_table(table, tmp_path / "t.parquet")
    csv = write(tmp_path, "t.csv", "user,time,x,y\na,1,0.1,3\na,0,2,4\n")
    assert list(read_trace_table(tmp_path / "t.parquet")) == list(read_trace_table(csv))
    states = pa.table({"user": ["a"], "time": [0.0], "state": [None]})
    parquet.write_table(states, tmp_path / "s.parquet")
    with pytest.raises(BadRow, match=r"s.parquet, line 1"):
        list(read_state_table(tmp_path / "s.parquet"))


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
    assert len(list(FORMATS["sml2010"].read(path, BadRows()))) == 1
    table = write(tmp_path, "a.csv", "user,time,x,y\na,0,1,2\nb,0,1,2\n")
    assert len(list(FORMATS["traces"].read(table, BadRows()))) == 2


def test_a_byte_order_mark_is_no_part_of_the_first_column(tmp_path):
    text = "\ufeffuser,time,state\nann,0,a\nbob,0,b\nann,1,b\n"
    path = write(tmp_path, "t.csv", text)
    assert format_of(path) == "states"
    assert [day.user for day in read_state_table(path)] == ["ann", "bob"]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ('ann,1,"b', "a quote must be closed"),
        ("ann,1,b,9", "must have 3 cells; got 4"),
        ("ann,1", "must have 3 cells; got 2"),
        (",1,b", "a user must have a name"),
        ("ann,1_0,b", "a time must be"),
    ],
)
@pytest.mark.parametrize("after", ["ann,2,a\nann,3,b\n", ""])
def test_a_bad_row_of_a_table_is_named_and_takes_no_other_with_it(tmp_path, row, words, after):
    path = write(tmp_path, "t.csv", f"user,time,state\nann,0,a\n{row}\n{after}")
    with pytest.raises(BadRow, match=f"t.csv, line 3: .*{words}"):
        list(read_state_table(path))
    bad = BadRows(skip=True)
    (day,) = read_state_table(path, bad_rows=bad)
    assert (len(day), bad.count) == (1 + after.count("\n"), 1)
    assert "line 3" in bad.first


def test_a_line_that_is_no_utf_8_is_a_bad_row(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"user,time,x\na,0,1\na,1,\xff\na,2,5\n")
    with pytest.raises(BadRow, match=r"t.csv, line 3: a line must be a text in UTF-8"):
        list(read_trace_table(path))
    bad = BadRows(skip=True)
    (trace,) = read_trace_table(path, bad_rows=bad)
    assert (trace.values.ravel().tolist(), bad.count) == ([1.0, 5.0], 1)


def test_places_off_the_globe_are_bad_rows(tmp_path):
    table = write(tmp_path, "t.csv", "time,lat,lon\n0,1,2\n1,400,2\n")
    with pytest.raises(BadRow, match=r"line 3: a fix must lie on the globe"):
        list(read_trace_table(table))
    point = '<trkpt lat="480" lon="2"><time>2020-01-01T00:00:00Z</time></trkpt>'
    track = write(tmp_path, "t.gpx", f"<gpx><trk><trkseg>{point}</trkseg></trk></gpx>")
    with pytest.raises(BadRow, match=r"line 1: a fix must lie on the globe"):
        list(read_gpx(track))


@pytest.mark.parametrize(
    ("row", "words"), [("abc\t2\tv", "float"), ("1\t2\t", "a venue must have a name")]
)
def test_gowalla_rows_without_a_place_are_bad(tmp_path, row, words):
    path = write(tmp_path, "g.txt", f"1\t2010-01-01T00:00:00Z\t{row}\n")
    with pytest.raises(BadRow, match=f"line 1: .*{words}"):
        list(read_gowalla(path))


def test_a_row_of_an_array_that_is_not_finite_is_bad(tmp_path):
    path = tmp_path / "f.npy"
    np.save(path, np.array([[1.0, 2.0, 3.0], [1.0, 3.0, np.nan]]))
    with pytest.raises(BadRow, match=r"f.npy, line 2: a row must have finite numbers"):
        list(read_foursquare(path))
    bad = BadRows(skip=True)
    (person,) = read_foursquare(path, bad_rows=bad)
    assert (len(person), bad.count) == (1, 1)


def test_too_few_rows_for_the_published_preparation_are_refused():
    from sfumato.datasets import RealTrace, sml2010_as_published

    trace = RealTrace("house", np.arange(1373.0), np.arange(1373.0))
    with pytest.raises(ValueError, match="must have 2720 rows, as the first file of SML2010"):
        sml2010_as_published(trace)
