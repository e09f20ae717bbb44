"""A counterexample as a program that can be pasted and run."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.laws.law import Law
from sfumato.plugin_registry import Registry

BY_HAND = "by hand"
"""The origin of an entry that no installed package and no plugin file registers."""


def script_of(law: Law, arguments: Mapping[str, Any], registry: Registry) -> str:
    """Return a program that tries the law on the arguments and fails as it failed here."""
    lines = [*_preparation(registry), "from sfumato.laws import check", ""]
    lines += [f"# {law.sentence}", "check(", f"    {law.name!r},"]
    lines += [f"    {name}={_code(value)}," for name, value in arguments.items()]
    lines.append(")")
    return "\n".join(lines) + "\n"


def _preparation(registry: Registry) -> list[str]:
    """Return the lines that make the registry of the program this one."""
    load = f"sf.Registry.load({list(registry.paths)!r})"
    added = [entry for entry in registry.entries if entry.origin == BY_HAND]
    if not added:
        if not registry.paths:
            return ["import sfumato as sf"]
        lines = ["import sfumato as sf", "from sfumato.plugin_registry import use_registry", ""]
        return [*lines, f"use_registry({load})"]
    lines = ["import sys", "", "import attrs", "import sfumato as sf"]
    lines += ["from sfumato.plugin_registry import Entry, use_registry", ""]
    for folder in dict.fromkeys(_folder(entry.value) for entry in added):
        lines.append(f"sys.path.insert(0, {folder!r})")
    made = []
    for entry in added:
        name = entry.value.__qualname__
        if "<locals>" in name:
            made.append(f"    # {entry.name} is defined inside a function: add it here")
            continue
        lines.append(f"from {entry.value.__module__} import {name.partition('.')[0]}")
        made.append(f"    Entry({entry.kind!r}, {entry.name!r}, {name}, {BY_HAND!r}),")
    lines += ["", f"loaded = {load}", "added = (", *made, ")"]
    return [*lines, "use_registry(attrs.evolve(loaded, entries=(*loaded.entries, *added)))"]


def _folder(cls: type) -> str:
    """Return the folder from which the module of a class is imported."""
    file = Path(inspect.getfile(cls)).resolve()
    depth = cls.__module__.count(".") + (file.name == "__init__.py")
    return str(file.parents[depth])


def _code(value: Any) -> str:
    """Write a drawn value as Python."""
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_code, value)) + "]"
    if hasattr(value, "tolist"):
        return repr(value.tolist())
    return repr(value)
