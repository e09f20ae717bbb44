"""Counterexamples kept as files, so that one found once is tried ever after."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from sfumato.errors import DataError
from sfumato.laws.law import SINGULAR, Case, Law
from sfumato.parameters import Declared
from sfumato.plugin_registry import BY_HAND, Registry
from sfumato.protocols import PriorClass


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
    added = [entry.value for entry in registry.entries if entry.origin == BY_HAND]
    use = "from sfumato.plugin_registry import use_registry"
    if not added:
        return [
            "import sfumato as sf",
            *((use, "", f"use_registry({load})") * bool(registry.paths)),
        ]
    lines = ["import sys", "", "import sfumato as sf", use, ""]
    lines += [f"sys.path.insert(0, {folder!r})" for folder in dict.fromkeys(map(_folder, added))]
    inside = [cls for cls in added if "<locals>" in cls.__qualname__]
    named = [cls for cls in added if cls not in inside]
    lines += [f"from {c.__module__} import {c.__qualname__.partition('.')[0]}" for c in named]
    lines += [f"# {cls.name} is defined inside a function: add it here" for cls in inside]
    classes = ", ".join(cls.__qualname__ for cls in named)
    return [*lines, "", f"use_registry({load}.with_classes({classes}))"]


def _folder(cls: type) -> str:
    """Return the folder from which the module of a class is imported."""
    file = Path(inspect.getfile(cls)).resolve()
    depth = cls.__module__.count(".") + (file.name == "__init__.py")
    return str(file.parents[depth])


def _code(value: Any) -> str:
    """Write a drawn value as Python."""
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_code, value)) + "]"
    if isinstance(value, (np.ndarray, np.generic)):
        return repr(value.tolist())
    return repr(value)


KEPT_BELOW = Path(".sfumato") / "counterexamples"
"""Where counterexamples are kept unless another folder is named."""


@attrs.frozen
class Counterexamples:
    """A folder with one JSON file for each counterexample: plain tables, no code."""

    folder: Path

    def keep(self, law: Law, arguments: Mapping[str, Any]) -> Path:
        """Write a counterexample and return its file."""
        plain = {name: _plain(law, name, value) for name, value in arguments.items()}
        text = json.dumps({"law": law.name, "arguments": plain}, indent=1, sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        self.folder.mkdir(parents=True, exist_ok=True)
        file = self.folder / f"{law.name}-{digest}.json"
        file.write_text(text + "\n", encoding="utf-8")
        return file

    def plain(self, law: Law) -> list[Mapping[str, Any]]:
        """Return the arguments kept for the law as they are written, or say what is damaged."""
        return [_read(file) for file in sorted(self.folder.glob(f"{law.name}-*.json"))]

    def of(self, case: Case, registry: Registry) -> Iterator[dict[str, Any]]:
        """Yield the arguments kept for the law that use the case's classes."""
        for kept in self.plain(case.law):
            try:
                arguments = {
                    name: _built(case.law, name, plain, registry) for name, plain in kept.items()
                }
            except (LookupError, TypeError, ValueError):
                continue  # of a plugin that is gone, or has other parameters now
            if set(case.classes.values()) <= set(classes_in(arguments)):
                yield arguments


def _read(file: Path) -> Mapping[str, Any]:
    try:
        arguments = json.loads(file.read_text(encoding="utf-8"))["arguments"]
    except (OSError, ValueError, LookupError, TypeError) as reason:
        arguments = reason
    if not isinstance(arguments, dict):
        raise DataError(
            f"{file} must be a counterexample as the kit writes it; it cannot be read "
            f"({arguments!r}), so mend or delete it."
        )
    return arguments


def _plain(law: Law, name: str, value: Any) -> Any:
    if name == "measures":
        return [measure.specification() for measure in value]
    if name == "plugin":
        return {"kind": type(value).kind, "specification": value.specification()}
    if name in law.nouns:
        return value.specification()
    return law.extras[name].plain(value) if name in law.extras else value


def _built(law: Law, name: str, plain: Any, registry: Registry) -> Any:
    if name == "measures":
        return [registry.build("measure", specification) for specification in plain]
    if name == "plugin":
        return registry.build(plain["kind"], plain["specification"])
    if name in law.nouns:
        return registry.build(SINGULAR.get(name, name), plain)
    return plain


def classes_in(value: Any) -> Iterator[type[Declared]]:
    """Yield the classes of the plugins in drawn arguments, those inside others too."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from classes_in(item)
    elif isinstance(value, Declared):
        yield type(value)
        yield from classes_in([getattr(value, item.name) for item in value.parameters()])
    elif isinstance(value, PriorClass):
        yield from classes_in(list(value.members()))
