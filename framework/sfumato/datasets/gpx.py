"""GPX: tracks recorded by phones and watches."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from xml.parsers import expat

from sfumato.datasets.records import RealTrace
from sfumato.datasets.rows import BadRow, BadRows, finite, on_globe, seconds

CHUNK = 1 << 16

Fix = tuple[float, float, float]


def read_gpx(path: str | Path, *, bad_rows: BadRows | None = None) -> Iterator[RealTrace]:
    """Yield one trace for each track segment: (latitude, longitude) at seconds since 1970.

    A point without a place or a time, or before its predecessor, is a bad row.
    """
    reader = _Reader(Path(path), BadRows() if bad_rows is None else bad_rows)
    with Path(path).open("rb") as stream:
        while chunk := stream.read(CHUNK):
            reader.feed(chunk, final=False)
            yield from reader.finished()
    reader.feed(b"", final=True)
    yield from reader.finished()


class _Reader:
    """The state of reading one file: the open segment, the open point, the text inside it."""

    def __init__(self, path: Path, policy: BadRows) -> None:
        self.path = path
        self.policy = policy
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.parser.EntityDeclHandler = self._refuse_entities
        self.segments: list[list[Fix]] = []
        self.segment: list[Fix] = []
        self.place: dict[str, str] = {}
        self.line = 0
        self.words: list[str] = []
        self.time = ""
        self.count = 0

    def feed(self, chunk: bytes, *, final: bool) -> None:
        """Parse what was read."""
        try:
            self.parser.Parse(chunk, final)
        except expat.ExpatError as error:
            raise BadRow(f"{self.path.name}, line {error.lineno}: not GPX ({error}).") from None

    def finished(self) -> Iterator[RealTrace]:
        """Yield the segments that have ended, and forget them."""
        for segment in self.segments:
            self.count += 1
            times = [fix[0] for fix in segment]
            yield RealTrace(
                self.path.stem, times, [fix[1:] for fix in segment], name=f"segment {self.count}"
            )
        self.segments = []

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self.words = []
        if _local(tag) == "trkpt":
            self.place, self.line, self.time = attributes, self.parser.CurrentLineNumber, ""
        elif _local(tag) == "trkseg":
            self.segment = []

    def _text(self, words: str) -> None:
        self.words.append(words)

    def _end(self, tag: str) -> None:
        if _local(tag) == "time":
            self.time = "".join(self.words)
        elif _local(tag) == "trkpt":
            self._point()
        elif _local(tag) == "trkseg" and self.segment:
            self.segments.append(self.segment)

    def _point(self) -> None:
        try:
            self.segment.append(self._fix())
        except KeyError as error:
            self.policy.report(self.path, self.line, f"a point must have {error}")
        except ValueError as error:
            self.policy.report(self.path, self.line, str(error))

    def _fix(self) -> Fix:
        time = seconds(self.time)
        if self.segment and time < self.segment[-1][0]:
            raise ValueError("the clock must not run back")
        return time, *on_globe(finite(self.place["lat"]), finite(self.place["lon"]))

    def _refuse_entities(self, *_: object) -> None:
        # A track needs no entities, and a few lines of them can fill the memory.
        raise BadRow(
            f"{self.path.name}, line {self.parser.CurrentLineNumber}: entities are refused."
        )


def _local(tag: str) -> str:
    return tag.rpartition(":")[2]
