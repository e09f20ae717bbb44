"""A counterexample as a program that can be pasted and run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.laws.law import Law
from sfumato.plugin_registry import Registry


def script_of(law: Law, arguments: Mapping[str, Any], registry: Registry) -> str:
    """Return a program that tries the law on the arguments and fails as it failed here."""
    lines = ["import sfumato as sf"]
    if registry.paths:
        lines += [
            "from sfumato.plugin_registry import use_registry",
            "",
            f"use_registry(sf.Registry.load({list(registry.paths)!r}))",
        ]
    lines += ["from sfumato.laws import check", "", f"# {law.sentence}", "check("]
    lines.append(f"    {law.name!r},")
    lines += [f"    {name}={_code(value)}," for name, value in arguments.items()]
    lines.append(")")
    return "\n".join(lines) + "\n"


def _code(value: Any) -> str:
    """Write a drawn value as Python."""
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_code, value)) + "]"
    if hasattr(value, "tolist"):
        return repr(value.tolist())
    return repr(value)
