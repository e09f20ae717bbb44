"""Every law and every mutant that ships."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType

from sfumato.laws import audits, statements
from sfumato.laws import mutants as mutant_package
from sfumato.laws.law import Law
from sfumato.laws.mutant import Mutant
from sfumato.plugin_registry import did_you_mean


def _objects(package: ModuleType) -> Iterator[object]:
    for info in sorted(pkgutil.iter_modules(package.__path__), key=lambda info: info.name):
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        yield from vars(module).values()


@functools.cache
def all_laws() -> tuple[Law, ...]:
    """Return every law, by name.

    >>> "soundness.floor_ceiling" in [law.name for law in all_laws()]
    True
    """
    found = {item.name: item for item in _objects(statements) if isinstance(item, Law)}
    return tuple(found[name] for name in sorted(found))


@functools.cache
def audit_laws() -> tuple[Law, ...]:
    """Return the laws that trust no formula; they take many draws and run when asked for.

    >>> [law.name for law in audit_laws()]
    ['audit.claim']
    """
    found = {item.name: item for item in _objects(audits) if isinstance(item, Law)}
    return tuple(found[name] for name in sorted(found))


@functools.cache
def all_mutants() -> tuple[Mutant, ...]:
    """Return every mutant, by law and name."""
    found = {item.name: item for item in _objects(mutant_package) if isinstance(item, Mutant)}
    return tuple(sorted(found.values(), key=lambda mutant: (mutant.law, mutant.name)))


def law_named(name: str) -> Law:
    """Return one law, or say which was meant."""
    every = (*all_laws(), *audit_laws())
    for known in every:
        if known.name == name:
            return known
    names = [known.name for known in every]
    raise LookupError(f"there is no law named '{name}'; {did_you_mean(name, names)}")
