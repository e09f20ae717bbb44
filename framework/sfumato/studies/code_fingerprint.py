"""Which code a number came from: a hash of the sources of the framework and the plugins used."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import attrs

from sfumato.parameters import Declared

FRAMEWORK = "sfumato"
# Libraries whose numerics reach the results.
LIBRARIES = ("numpy", "scipy", "cvxpy")


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
    >>> noise = sf.mechanisms.gaussian_uniform(mse=0.02)
    >>> fingerprint(noise) == fingerprint(sf.mechanisms.gaussian_uniform(mse=0.2))
    True
    """
    parts = {_module_fingerprint(cls.__module__) for cls in classes_of(noun)}
    if None in parts:
        return None
    return _hash(*sorted(str(part) for part in parts))


@cache
def framework_fingerprint() -> str:
    """Return a hash of the framework's sources and the versions of numerical libraries."""
    return _hash(
        str(_module_fingerprint(FRAMEWORK)),
        sys.version,
        *(f"{library} {version(library)}" for library in LIBRARIES),
    )


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
    found = hashlib.sha256()
    for text in texts:
        found.update(hashlib.sha256(text.encode()).digest())
    return found.hexdigest()
