"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def refuse_unwritable(*paths: Path, overwrite: bool) -> None:
    """Refuse, before the work is done, what could not be written: a folder, a file in none.

    A file that is there is refused too, unless it may be overwritten.
    """
    for path in paths:
        if path.is_dir():
            raise IsADirectoryError(f"{path} must be a file; got a folder: name a file in it.")
        if not path.parent.is_dir():
            raise FileNotFoundError(f"the folder {path.parent} must exist; make it first.")
        if path.exists() and not overwrite:
            raise FileExistsError(f"{path} must not exist; give --force to overwrite it.")


def write_whole(path: Path, text: str, *, confidential: bool = False, durable: bool = True) -> None:
    """Write a text beside its place, then move it there: no reader ever sees half of it.

    A confidential file can be read by its owner only. Without `durable` the disk may take its
    time: after a power cut the file can be damaged, which is for those who check what they read
    and write very many files.

    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "note.txt"
    >>> write_whole(place, "whole")
    >>> place.read_text()
    'whole'
    """
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    mode = 0o600 if confidential else 0o666  # the latter less what the user's umask takes away
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
            stream.write(text)
            stream.flush()
            if durable:
                os.fsync(stream.fileno())
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
