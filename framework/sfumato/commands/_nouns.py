"""A prior, secret, mechanism or measure on the command line."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from sfumato.errors import DataError
from sfumato.plugin_registry import Registry

FORMS = "a name and parameters (basic index=24 radius=0.5), an inline table, or a .toml file"


def noun(kind: str, text: str, registry: Registry) -> Any:
    """Build one noun from what was written: see `specification`."""
    return registry.build(kind, specification(kind, text))


def specification(kind: str, text: str) -> dict[str, Any]:
    """Return the plain table of a noun.

    Three forms: a name with ``key=value`` pairs, whose values are TOML; an inline TOML table;
    the name of a TOML file with a table of that kind, as ``sfumato fit`` writes it.

    >>> specification("secret", "basic index=24 radius=0.5")
    {'name': 'basic', 'index': 24, 'radius': 0.5}
    >>> specification("secret", '{ name = "contexts", states = ["bar"] }')
    {'name': 'contexts', 'states': ['bar']}
    """
    words = text.strip()
    if words.endswith(".toml"):
        return _from_file(kind, Path(words))
    if words.startswith("{"):
        return dict(_table(kind, f"noun = {words}", text)["noun"])
    name, *pairs = re.split(r"\s+(?=\w+\s*=)", words)
    return {"name": name, **_table(kind, "\n".join(pairs), text)}


def fitted_step(text: str) -> float | None:
    """Return the seconds between samples that a prior was fitted to, where its file says so."""
    words = text.strip()
    if not words.endswith(".toml"):
        return None
    step = _read(Path(words)).get("fitted", {}).get("seconds_per_sample")
    return None if step is None else float(step)


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{path.name} is not TOML: {error}.") from None


def _from_file(kind: str, path: Path) -> dict[str, Any]:
    table = _read(path)
    if kind not in table:
        raise DataError(f"{path.name} must have a table [{kind}]; got {', '.join(table)}.")
    return dict(table[kind])


def _table(kind: str, toml: str, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(toml)
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"the {kind} must be {FORMS}; got {text!r} ({error}).") from None
