"""Tables and GPX, on tiny files made here: what is read, and how a bad row is named."""

from __future__ import annotations

import pytest

from sfumato.datasets import BadRow, BadRows, read_gpx, read_state_table, read_trace_table
from sfumato.datasets.formats import format_of


def write(folder, name, text):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


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
        ('<trkpt lat="1"><time>1970-01-01T00:02:00Z</time></trkpt>\n', "must have 'lat' and 'lon'"),
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
    with pytest.raises(BadRow, match="line 2: a track must be without entities"):
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
    (pulse,) = read_trace_table(write(tmp_path, "pulse.csv", "time,heart,user\n0,61,ann\n"))
    assert (pulse.user, pulse.values.tolist(), pulse.columns) == ("ann", [[61.0]], ("heart",))
    assert format_of(tmp_path / "pulse.csv") == "traces"
    with pytest.raises(BadRow, match="the header must have a column of values"):
        list(read_trace_table(write(tmp_path, "none.csv", "time,user\n0,a\n")))


def test_tables_report_what_is_missing(tmp_path):
    with pytest.raises(BadRow, match=r"t.csv, line 1: the header must have a column 'time'"):
        list(read_trace_table(write(tmp_path, "t.csv", "user,x,y\n")))
    with pytest.raises(BadRow, match="line 1: a table must have a header"):
        list(read_trace_table(write(tmp_path, "e.csv", "")))
    with pytest.raises(BadRow, match=r"u.csv, line 3: a value must be a finite number; got 'x'"):
        list(read_trace_table(write(tmp_path, "u.csv", "user,time,x,y\na,0,1,2\na,1,x,2\n")))
    with pytest.raises(BadRow, match=r"v.csv, line 2: a name must not be empty"):
        list(read_state_table(write(tmp_path, "v.csv", "user,time,state\na,0,\n")))


def test_state_tables_read_csv_tsv_and_quotes(tmp_path):
    (ann,) = read_state_table(write(tmp_path, "s.csv", 'user,time,state\nann,0,"a, b"\n'))
    assert ann.states == ("a, b",)
    (ann,) = read_state_table(write(tmp_path, "s.tsv", "time\tuser\tstate\n0\tann\thome\n"))
    assert ann.states == ("home",)


def test_parquet_gives_what_csv_gives(tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    table = pa.table({"user": ["a", "a"], "time": [1, 0], "x": [0.1, 2.0], "y": [3.0, 4.0]})
    parquet.write_table(table, tmp_path / "t.parquet")
    csv = write(tmp_path, "t.csv", "user,time,x,y\na,1,0.1,3\na,0,2,4\n")
    assert list(read_trace_table(tmp_path / "t.parquet")) == list(read_trace_table(csv))
    states = pa.table({"user": ["a"], "time": [0.0], "state": [None]})
    parquet.write_table(states, tmp_path / "s.parquet")
    with pytest.raises(BadRow, match=r"s.parquet, line 1"):
        list(read_state_table(tmp_path / "s.parquet"))


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
        (",1,b", "a name must not be empty"),
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
