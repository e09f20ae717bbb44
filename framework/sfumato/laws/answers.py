"""Answers that can be compared: of two calls, of many draws, of another process."""

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
import numpy as np

from sfumato.channels import AdditiveGaussian, Emission
from sfumato.laws.law import NotHere
from sfumato.plugin_registry import Entry, Registry, use_registry


def contents_of(value: Any) -> Any:
    """Return plain contents: equal for equal answers, whatever their class compares.

    >>> contents_of(np.array([1.0, 2.0])) == contents_of(np.array([1.0, 2.0]))
    True
    """
    if isinstance(value, np.ndarray):
        return (value.shape, value.dtype.str, contents_of(value.ravel().tolist()))
    if isinstance(value, (list, tuple)):
        return [contents_of(item) for item in value]
    if isinstance(value, dict):
        return {key: contents_of(item) for key, item in value.items()}
    if attrs.has(type(value)):
        names = [field.name for field in attrs.fields(type(value))]
        values = (getattr(value, name) for name in names)
        # Functions that a belief carries are made anew each time.
        return (type(value).__name__, [contents_of(item) for item in values if not callable(item)])
    by_identity = type(value).__eq__ is object.__eq__  # type: ignore[comparison-overlap]  # it can be
    if by_identity and hasattr(value, "__dict__") and not callable(value):
        return (type(value).__name__, contents_of(vars(value)))
    return value


def sampled_at_once(channel: Any, trace: Any, rng: np.random.Generator, count: int) -> Any:
    """Return many outputs of one trace, as a channel draws them in one call."""
    if isinstance(channel, AdditiveGaussian):
        return channel.sample(np.repeat(np.asarray(trace, dtype=float)[None], count, axis=0), rng)
    if isinstance(channel, Emission):
        path = [channel.states.index(state) for state in trace]
        return channel.sample_many(np.repeat(np.array([path]), count, axis=0), rng)
    raise NotHere(f"no way to draw many at once is known for {type(channel).__name__} channels")


def outputs_equal(one: Any, other: Any) -> bool:
    """Whether two outputs are the same: arrays by content, sequences by element.

    >>> outputs_equal(np.array([1.0]), np.array([1.0])), outputs_equal(("a",), ("b",))
    (True, False)
    """
    a, b = np.asarray(one, dtype=object), np.asarray(other, dtype=object)
    return a.shape == b.shape and bool(np.all(a == b))


def rebuilt_elsewhere(plugin: Any, paths: Sequence[str]) -> tuple[str, Any]:
    """Return the repr and the specification of the plugin as another process rebuilds it."""
    cls = type(plugin)
    task = {
        "kind": cls.kind,
        "specification": plugin.specification(),
        "paths": list(paths),
        "folders": [folder for folder in sys.path if folder],
        "module": cls.__module__,
        "class": cls.__qualname__,
    }
    pipes: Any = _other_process()
    pipes.stdin.write(json.dumps(task) + "\n")
    pipes.stdin.flush()
    answer = json.loads(pipes.stdout.readline())
    if "unknown" in answer:
        raise NotHere(answer["unknown"])
    return answer.get("repr", answer.get("error", "")), answer.get("specification")


@functools.cache
def _other_process() -> subprocess.Popen[str]:
    """Start a fresh interpreter that answers one line of JSON with another until this one ends."""
    process = subprocess.Popen(  # noqa: S603 - this very interpreter
        [sys.executable, "-W", "ignore", "-c", f"from {__name__} import serve; serve()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(process.communicate)  # closes its input, on which it ends
    return process


def serve() -> None:
    """Answer tasks until the input ends: the other process's side."""
    for line in sys.stdin:
        sys.stdout.write(json.dumps(_answer(json.loads(line))) + "\n")
        sys.stdout.flush()


def _answer(task: Mapping[str, Any]) -> dict[str, Any]:
    """Rebuild one plugin; what goes wrong is an answer too."""
    sys.path += [folder for folder in task["folders"] if folder not in sys.path]
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
