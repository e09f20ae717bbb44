"""Which code a number came from: a hash of the sources of the framework and the plugins used."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

from sfumato.parameters import Declared
from sfumato.prior_classes import AnyOf, Family
from sfumato.secret_unions import SecretUnion

# Libraries whose numerics reach the results.
LIBRARIES = ("numpy", "scipy", "cvxpy")


def classes_of(noun: Any) -> Iterator[type]:
    """Yield the plugin classes that a noun is made of, with those nested in its parameters."""
    if isinstance(noun, Family):
        yield noun.prior
    elif hasattr(noun, "specification") and not isinstance(noun, (AnyOf, SecretUnion)):
        yield type(noun)
    for inner in _inside(noun):
        yield from classes_of(inner)


def _inside(noun: Any) -> Iterable[Any]:
    """Return what a noun holds that may be nouns again."""
    if isinstance(noun, Family):
        return noun.fixed.values()
    if isinstance(noun, AnyOf):
        return noun.options
    if isinstance(noun, SecretUnion):
        return noun.parts
    if isinstance(noun, Declared):
        return [value for _, value in noun.given()]
    return noun if isinstance(noun, (tuple, list)) else ()


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
        str(_module_fingerprint("sfumato")),
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
