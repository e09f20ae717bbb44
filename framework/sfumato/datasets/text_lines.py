"""Lines of a text file with their numbers, plain or compressed."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path

from sfumato.errors import DataError


def numbered_lines(path: str | Path, *, skip: int = 0) -> Iterator[tuple[int, str]]:
    """Yield (line number from 1, line without its end); ``.gz`` files are read through.

    Blank lines are left out, and so are the first `skip` lines (a header). Bytes that are not
    UTF-8 are kept as they are, for `require_text` to find them where their line is used.
    """
    opener = gzip.open if Path(path).suffix == ".gz" else open
    number = 0
    try:
        # utf-8-sig: spreadsheets begin a file with a mark that is no part of the first name.
        with opener(
            path, "rt", encoding="utf-8-sig", errors="surrogateescape", newline=None
        ) as stream:
            for number, line in enumerate(stream, start=1):
                if number > skip and line.strip():
                    yield number, line.rstrip("\r\n")
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(
            f"{Path(path).name} must be a text in UTF-8, plain or in a whole .gz file; after line "
            f"{number} it is not ({error})."
        ) from None


def require_text(line: str) -> None:
    """Refuse a line that was not UTF-8.

    >>> require_text("café")
    """
    if not line.isascii() and any("\udc80" <= letter <= "\udcff" for letter in line):
        raise ValueError("a line must be a text in UTF-8; got other bytes")
