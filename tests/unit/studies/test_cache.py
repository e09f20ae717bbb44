"""The cache: whole entries or none, whatever happens."""

from __future__ import annotations

import errno
import math
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.comparison.cache import Cache, default_cache_folder
from sfumato.comparison.cells import Cell
from sfumato.values import from_json, to_json, write_whole

KEY = "ab" * 32
NUMBERS = st.floats(allow_nan=False)


@st.composite
def cells(draw):
    low, high = sorted((draw(NUMBERS), draw(NUMBERS)))
    bound = draw(st.sampled_from(["exact", "upper", "lower", "estimate"]))
    loss = sf.Loss(
        value=draw(NUMBERS),
        bound=bound,
        interval=(low, high) if bound == "estimate" else None,
        how=draw(st.text()),
        witness=draw(st.none() | st.text()),
        relative_error=draw(st.floats(0, 1)),
        quantity=sf.Quantity("q", {"order": draw(NUMBERS), "kind": "x"}, unit="nats"),
        scenario=None,
        worst={"name": "rbf", "length_scale": draw(NUMBERS), "times": [0.1, 2.0]},
        unverified=draw(st.booleans()),
    )
    return Cell(
        outcome="measured",
        loss=loss,
        utility=draw(NUMBERS),
        utility_quantity=sf.MEAN_SQUARED_ERROR,
        seed=draw(st.none() | st.integers(0, 2**32)),
        seconds=draw(st.floats(0, 1e6)),
    )


@given(cells())
def test_a_cell_comes_back_identical(cell):
    back = Cell.from_plain(from_json(to_json(cell.plain())))
    assert back == cell
    for name in ("witness", "worst", "unverified"):  # which do not make losses different
        assert getattr(back.loss, name) == getattr(cell.loss, name)
    assert math.copysign(1, back.loss.value) == math.copysign(1, cell.loss.value)


def measured(value=0.25):
    loss = sf.Loss(value=value, bound="exact", quantity=sf.Quantity("q"), scenario=None)
    return Cell(outcome="measured", loss=loss)


def entry(cache):
    (file,) = cache.folder.rglob("*.json")
    return file


def test_an_entry_cut_at_any_byte_is_computed_again(tmp_path):
    cache = Cache(tmp_path)
    cache.put(KEY, measured())
    file = entry(cache)
    whole = file.read_bytes()
    for length in range(len(whole)):
        file.write_bytes(whole[:length])
        assert cache.get(KEY) is None
    assert len(cache.problems) == len(whole)
    assert "was damaged" in cache.problems[0]
    file.write_bytes(whole)
    assert cache.get(KEY) == measured()


def test_failures_are_not_kept(tmp_path):
    cache = Cache(tmp_path)
    cache.put(KEY, Cell(outcome="failed", reason="the worker died"))
    assert cache.get(KEY) is None
    assert not cache.problems


def test_two_writers_and_a_reader_never_see_half_an_entry(tmp_path):
    stop = threading.Event()
    seen = []

    def write(value):
        cache = Cache(tmp_path)
        while not stop.is_set():
            cache.put(KEY, measured(value))

    writers = [threading.Thread(target=write, args=(value,)) for value in (1.0, 2.0)]
    for writer in writers:
        writer.start()
    reader = Cache(tmp_path)
    while len(seen) < 300:
        found = reader.get(KEY)
        if found is not None:
            seen.append(found.loss.value)
    stop.set()
    for writer in writers:
        writer.join()
    assert set(seen) <= {1.0, 2.0}
    assert not reader.problems


def test_a_full_disk_is_reported_once_and_nothing_is_lost(tmp_path, monkeypatch, small_table):
    study = sf.Study.from_table(small_table())
    written = []

    def write(path, text, *, durable):
        if len(written) >= 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(path)
        write_whole(path, text, durable=durable)

    monkeypatch.setattr("sfumato.comparison.cache.write_whole", write)
    result = study.run(cache=tmp_path / "cache")
    monkeypatch.undo()
    assert len(result.problems) == 1
    assert "No space left on device" in result.problems[0]
    assert "--cache" in result.problems[0]
    assert result.to_pandas().value.tolist() == study.run().to_pandas().value.tolist()
    files = [file.name for file in (tmp_path / "cache").rglob("*") if file.is_file()]
    assert len(files) == 3
    assert not study.run(cache=tmp_path / "cache").problems


def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside_it(tmp_path, monkeypatch):
    file = tmp_path / "file"
    write_whole(file, "old")

    def full(_handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("sfumato.values.os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_whole(file, "new")
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_a_folder_that_cannot_be_made_is_reported(tmp_path, small_table):
    (tmp_path / "file").write_text("")
    result = sf.Study.from_table(small_table()).run(cache=tmp_path / "file" / "cache")
    assert len(result.problems) <= 1 + 8
    assert any("cannot be written" in problem for problem in result.problems)
    assert len(result.comparisons[0].measured) == 8


def test_the_folder_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("SFUMATO_CACHE", str(tmp_path / "own"))
    assert default_cache_folder() == tmp_path / "own"
    monkeypatch.delenv("SFUMATO_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_cache_folder() == tmp_path / "sfumato"


def test_content_that_is_not_plain_is_refused():
    with pytest.raises(TypeError, match="plain values; got object"):
        to_json({"a": object()})
