"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def refuse_existing(*paths: Path, overwrite: bool) -> None:
    """Raise `FileExistsError` for a file that is there, unless it may be overwritten."""
    for path in paths:
        if path.exists() and not overwrite:
            raise FileExistsError(f"{path} must not exist; give --force to overwrite it.")


def write_whole(path: Path, text: str) -> None:
    """Write a text beside its place, then move it there: no reader ever sees half of it.

    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "note.txt"
    >>> write_whole(place, "whole")
    >>> place.read_text()
    'whole'
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
