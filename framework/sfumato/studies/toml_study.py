"""Reading studies from TOML: validated, unknown keys rejected, never any code."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from sfumato.errors import ParameterError
from sfumato.plugin_registry import Registry, did_you_mean
from sfumato.studies.study import Part, Study

LISTS = {
    "priors": "prior",
    "secrets": "secret",
    "mechanisms": "mechanism",
    "measures": "measure",
}


class StudyError(ValueError):
    """A study file does not say what a study must say; the text names the place."""


def default_study(registry: Registry) -> Study:
    """Return the bundled example: one small question in each of three worlds."""
    text = files("sfumato.studies").joinpath("default.toml").read_text(encoding="utf-8")
    return parse_study(text, registry, "default.toml")


def read_study(path: Path, registry: Registry) -> Study:
    """Read a study file."""
    return parse_study(path.read_text(encoding="utf-8"), registry, path.name)


def parse_study(text: str, registry: Registry, source: str) -> Study:
    """Return the study that a TOML text describes."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise StudyError(f"{source} is not TOML: {error}.") from None
    _only_keys(table, {"title", "notes", "parts", *LISTS}, source)
    title = _text(table, "title", source)
    notes = _text(table, "notes", source)
    if "parts" in table:
        doubled = [key for key in LISTS if key in table]
        if doubled:
            raise StudyError(f"{source} must have '{doubled[0]}' inside its parts; got both.")
        if not isinstance(table["parts"], list) or not table["parts"]:
            raise StudyError(f"{source}: parts must be a list of tables, [[parts]].")
        parts = [
            _part(part, registry, f"{source}: parts[{place}]")
            for place, part in enumerate(table["parts"])
        ]
    else:
        lists = {key: value for key, value in table.items() if key in LISTS}
        parts = [_part(lists, registry, source)]
    return Study(title=title or source, notes=notes, parts=tuple(parts))


def _part(table: Any, registry: Registry, where: str) -> Part:
    if not isinstance(table, Mapping):
        raise StudyError(f"{where} must be a table; got {table!r}.")
    _only_keys(table, {"title", *LISTS}, where)
    lists = {}
    for key, kind in LISTS.items():
        items = table.get(key)
        if not isinstance(items, list) or not items:
            raise StudyError(f"{where} must have a list '{key}'; got {items!r}.")
        lists[key] = tuple(
            _built(registry, kind, item, f"{where}: {key}[{place}]")
            for place, item in enumerate(items)
        )
    return Part(title=_text(table, "title", where), **lists)


def _built(registry: Registry, kind: str, item: Any, where: str) -> Any:
    """Build one noun, naming the place in the file if it cannot be built."""
    specification = {"name": item} if isinstance(item, str) else item
    if not isinstance(specification, Mapping):
        raise StudyError(f"{where} must be a name or a table with a name; got {item!r}.")
    try:
        return registry.build(kind, specification)
    except (ParameterError, TypeError, LookupError) as error:
        raise StudyError(f"{where}: {error}") from None


def _only_keys(table: Mapping[str, Any], known: set[str], where: str) -> None:
    for key in table:
        if key not in known:
            raise StudyError(f"{where} has no key '{key}'; {did_you_mean(key, known)}")


def _text(table: Mapping[str, Any], key: str, where: str) -> str:
    value = table.get(key, "")
    if not isinstance(value, str):
        raise StudyError(f"{where}: {key} must be text; got {value!r}.")
    return value
