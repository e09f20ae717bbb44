"""Finished cells on disk, by content and by the code behind them: what makes a run resumable."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import attrs
import cattrs

from sfumato.comparison.cells import Cell
from sfumato.parameters import Declared
from sfumato.values import from_json, to_json, write_whole

FRAMEWORK = "sfumato"
LIBRARIES = ("numpy", "scipy", "cvxpy", "python-flint")
"""Libraries whose numerics reach the results."""
ENVIRONMENT = "SFUMATO_CACHE"


def classes_of(value: Any) -> Iterator[type]:
    """Yield the plugin classes that a noun is made of, with those nested in what it holds.

    The framework's own classes, such as unions and families, are looked into but not named.
    """
    if isinstance(value, type):
        if issubclass(value, Declared):
            yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from classes_of(item)
    elif isinstance(value, Mapping):
        yield from classes_of(list(value.values()))
    elif hasattr(value, "specification"):
        cls = type(value)
        if cls.__module__.partition(".")[0] != FRAMEWORK:
            yield cls
        fields = attrs.fields(cls) if attrs.has(cls) else ()
        yield from classes_of([getattr(value, field.name) for field in fields])


def fingerprint(noun: Any) -> str | None:
    """Return a hash of the sources behind the noun, or None where a source cannot be found.

    >>> import sfumato as sf
    >>> from sfumato.comparison.cache import fingerprint
    >>> noise = sf.mechanisms.gaussian_uniform(mse=0.02)
    >>> fingerprint(noise) == fingerprint(sf.mechanisms.gaussian_uniform(mse=0.2))
    True
    """
    parts = {_module_fingerprint(cls.__module__) for cls in classes_of(noun)}
    if None in parts:
        return None
    return _hash(*sorted(map(str, parts)))


@cache
def framework_fingerprint() -> str:
    """Return a hash of the framework's sources and the versions of numerical libraries."""
    versions = (f"{library} {version(library)}" for library in LIBRARIES)
    return _hash(str(_module_fingerprint(FRAMEWORK)), sys.version, *versions)


def _module_fingerprint(name: str) -> str | None:
    """Return a hash of the whole package that the module belongs to, or of its single file."""
    top = name.partition(".")[0]
    module = sys.modules.get(top)
    if top == "__main__" or module is None or getattr(module, "__file__", None) is None:
        return None
    return _source_hash(module)


@cache  # by module object: a plugin file that is loaded anew is read anew
def _source_hash(module: ModuleType) -> str:
    path = Path(str(module.__file__))
    files = sorted(path.parent.rglob("*.py")) if path.name == "__init__.py" else [path]
    return _hash(*(f"{item.name}\n{item.read_text(encoding='utf-8')}" for item in files))


def _hash(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def default_cache_folder() -> Path:
    """Return the folder of the environment variable, or the user's folder for caches."""
    if os.environ.get(ENVIRONMENT):
        return Path(os.environ[ENVIRONMENT])
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "sfumato"


@attrs.define
class Cache:
    """A folder of files, one for each finished cell, named by what the cell asks.

    A file is written beside its place and then renamed, so that a reader, or a second run, sees a
    whole entry or none. Each entry begins with a checksum; one that does not match is reported in
    `problems` and computed again. When the folder cannot be written, that is reported once and
    the run goes on without it.
    A library such as diskcache would cost the second of these: it has no checksums, and one file
    for all small entries, which a single cut takes with it.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from sfumato.comparison.cache import Cache
    >>> from sfumato.comparison.cells import Cell
    >>> cache = Cache(Path(tempfile.mkdtemp()))
    >>> cache.put("00ff", Cell(outcome="refused", reason="no"))
    >>> cache.get("00ff").reason, cache.get("00fe")
    ('no', None)
    """

    folder: Path = attrs.field(converter=Path)
    problems: list[str] = attrs.field(factory=list, init=False)
    _writable: bool = attrs.field(default=True, init=False)

    def get(self, key: str) -> Cell | None:
        """Return the cell kept under the key, or None."""
        path = self._path(key)
        try:
            return _read(key, path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except NotADirectoryError:
            self._stop(f"{self.folder} is not a folder")
        except (OSError, ValueError, cattrs.BaseValidationError) as error:
            self._note_damage(path, error)
        return None

    def put(self, key: str, cell: Cell) -> None:
        """Keep a cell; failures are not kept, so that a later run tries again."""
        if cell.outcome == "failed" or not self._writable:
            return
        path, text = self._path(key), to_json(cell.plain())
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, f"{_hash(key, text)}\n{text}", durable=False)
        except IsADirectoryError as error:
            self._note_damage(path, error)
        except OSError as error:
            self._stop(error.strerror or str(error))

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.json"

    def _stop(self, reason: str) -> None:
        """Go on without the cache, and say so once."""
        if self._writable:
            self.problems.append(
                f"the cache {self.folder} cannot be written ({reason}): cells finished from here "
                "on are in this run's results only; free some space or name another folder with "
                "--cache."
            )
        self._writable = False

    def _note_damage(self, path: Path, error: Exception) -> None:
        self.problems.append(
            f"the cache entry {path.name} was damaged ({type(error).__name__}) and is computed "
            "again."
        )


def _read(key: str, entry: str) -> Cell:
    checksum, _, text = entry.partition("\n")
    if checksum != _hash(key, text):
        raise ValueError("its checksum does not match")
    return Cell.from_plain(from_json(text))
