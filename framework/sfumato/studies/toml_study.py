"""Reading studies from TOML files."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path

from sfumato.plugin_registry import Registry
from sfumato.studies.study import Study
from sfumato.studies.study_error import StudyError
from sfumato.studies.study_table import study_from_table


def default_study(registry: Registry) -> Study:
    """Return the bundled example: one small question in each of three worlds."""
    text = files("sfumato.studies").joinpath("default.toml").read_text(encoding="utf-8")
    return parse_study(text, registry, "default.toml")


def bundled_study(name: str, registry: Registry) -> Study:
    """Return a study that a plugin registers by the hook `sfumato_studies`."""
    return read_study(Path(registry.get("study", name)), registry)


def read_study(path: Path, registry: Registry) -> Study:
    """Read a study file."""
    try:
        text = path.read_text(encoding="utf-8-sig")  # some editors begin a file with a mark
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise StudyError(f"{path.name} must be UTF-8 text; line {line} is not.") from None
    except IsADirectoryError:
        raise StudyError(f"{path} must be a study file; it is a folder.") from None
    except FileNotFoundError:
        raise StudyError(f"there is no study file {path}.") from None
    return parse_study(text, registry, path.name)


def parse_study(text: str, registry: Registry, source: str) -> Study:
    """Return the study that a TOML text describes; a syntax error names its line."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise StudyError(f"{source} is not TOML: {_with_line(str(error), text)}.") from None
    return study_from_table(table, registry, source)


def _with_line(message: str, text: str) -> str:
    """Name the last line, and where what is unfinished there begins, for "at end of document"."""
    if "end of document" not in message:
        return message
    lines = text.splitlines()
    begun = next((place for place in _assignments(lines) if _is_toml(lines[:place])), None)
    beginning = "" if begun is None else f"; what begins at line {begun + 1} is not finished"
    place = f"at line {len(lines)}, the end of the document{beginning}"
    return message.replace("at end of document", place)


def _assignments(lines: Sequence[str]) -> Iterator[int]:
    """Yield the places of lines that look like ``key = ...``, the last first."""
    for place in reversed(range(len(lines))):
        if re.match(r"""\s*[\w."'-]+\s*=""", lines[place]):
            yield place


def _is_toml(lines: Sequence[str]) -> bool:
    try:
        tomllib.loads("\n".join(lines))
    except tomllib.TOMLDecodeError:
        return False
    return True
