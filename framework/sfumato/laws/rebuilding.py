"""Rebuilding a plugin in another process, as parallel studies do."""

from __future__ import annotations

import atexit
import functools
import importlib
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from sfumato.laws.violation import NotHere
from sfumato.plugin_registry import Entry, Registry, use_registry


def rebuilt_elsewhere(plugin: Any, paths: Sequence[str]) -> tuple[str, Any]:
    """Return the repr and the specification of the plugin as another process rebuilds it."""
    cls = type(plugin)
    task = {
        "kind": cls.kind,
        "specification": plugin.specification(),
        "paths": list(paths),
        "module": cls.__module__,
        "class": cls.__qualname__,
    }
    answer = _worker().ask(task)
    if "unknown" in answer:
        raise NotHere(answer["unknown"])
    return answer.get("repr", answer.get("error", "")), answer.get("specification")


@attrs.define
class _Worker:
    """A fresh interpreter that answers one line of JSON with another."""

    process: subprocess.Popen[str]

    @classmethod
    def start(cls) -> _Worker:
        program = "from sfumato.laws.rebuilding import serve; serve()"
        process = subprocess.Popen(  # noqa: S603 - this very interpreter
            [sys.executable, "-W", "ignore", "-c", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        worker = cls(process)
        atexit.register(worker.stop)
        return worker

    def ask(self, task: Mapping[str, Any]) -> dict[str, Any]:
        stdin, stdout = self.process.stdin, self.process.stdout
        if stdin is None or stdout is None:
            raise RuntimeError("the worker process has no pipes")
        stdin.write(json.dumps(task) + "\n")
        stdin.flush()
        answer: dict[str, Any] = json.loads(stdout.readline())
        return answer

    def stop(self) -> None:
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()
        self.process.wait(timeout=10)


@functools.cache
def _worker() -> _Worker:
    return _Worker.start()


def serve() -> None:
    """Answer tasks until the input ends: the other process's side."""
    for line in sys.stdin:
        sys.stdout.write(json.dumps(_answer(json.loads(line))) + "\n")
        sys.stdout.flush()


def _answer(task: Mapping[str, Any]) -> dict[str, Any]:
    """Rebuild one plugin; what goes wrong is an answer too."""
    try:
        registry = _registry(tuple(task["paths"]))
        if task["specification"]["name"] not in registry.names(task["kind"]):
            try:
                cls = getattr(importlib.import_module(task["module"]), task["class"])
            except (ImportError, AttributeError):
                return {"unknown": f"another process cannot import {task['module']}"}
            entry = Entry(task["kind"], cls.name, cls, task["module"])
            registry = attrs.evolve(registry, entries=(*registry.entries, entry))
        use_registry(registry)
        made = registry.build(task["kind"], task["specification"])
        return {"repr": repr(made), "specification": made.specification()}
    except Exception as error:  # noqa: BLE001 - reported to the one who asked
        return {"error": f"{type(error).__name__}: {error}"}


@functools.cache
def _registry(paths: tuple[str, ...]) -> Registry:
    return Registry.load(paths)
