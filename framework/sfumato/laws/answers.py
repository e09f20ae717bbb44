"""Answers that can be compared: of two calls, of many draws, of another process."""

from __future__ import annotations

import atexit
import functools
import importlib
import sys
from typing import Any

import attrs
import numpy as np

from sfumato.channels import AdditiveGaussian, Emission
from sfumato.comparison.executors import Workers
from sfumato.laws.law import NotHere
from sfumato.plugin_registry import Entry, Registry, use_registry


def contents_of(value: Any) -> Any:
    """Return plain contents: equal for equal answers, whatever their class compares."""
    if isinstance(value, np.ndarray):
        return (value.shape, value.dtype.str, contents_of(value.ravel().tolist()))
    if isinstance(value, (list, tuple)):
        return [contents_of(item) for item in value]
    if isinstance(value, dict):
        return {key: contents_of(item) for key, item in value.items()}
    if attrs.has(type(value)):
        fields = (getattr(value, field.name) for field in attrs.fields(type(value)))
        # Functions that a belief carries are made anew each time.
        return (type(value).__name__, [contents_of(item) for item in fields if not callable(item)])
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
    """Whether two outputs are the same: arrays by content, sequences by element."""
    a, b = np.asarray(one, dtype=object), np.asarray(other, dtype=object)
    return a.shape == b.shape and bool(np.all(a == b))


def rebuilt_elsewhere(plugin: Any, paths: tuple[str, ...]) -> tuple[str, Any]:
    """Return the repr and the specification of the plugin as another process rebuilds it."""
    home = (type(plugin).__module__, type(plugin).__qualname__)
    task = (type(plugin).kind, plugin.specification(), home, paths, tuple(sys.path))
    text, plain = _other_process().submit(_rebuild, task).result()
    if text is None:
        raise NotHere(f"another process cannot import {home[0]}")
    return text, plain


@functools.cache
def _other_process() -> Workers:
    """Return a worker that loads everything anew, and stays until this process ends."""
    workers = Workers()
    atexit.register(workers.stop)
    return workers


def _rebuild(
    task: tuple[str, Any, tuple[str, str], tuple[str, ...], tuple[str, ...]],
) -> tuple[str | None, Any]:
    """Rebuild one plugin; what goes wrong is an answer too, and None that it is not there."""
    kind, plain, home, paths, folders = task
    sys.path += [folder for folder in folders if folder not in sys.path]
    try:
        registry = _registry(paths)
        if plain["name"] not in registry.names(kind):
            try:
                cls = getattr(importlib.import_module(home[0]), home[1])
            except (ImportError, AttributeError):
                return None, None
            entry = Entry(kind, cls.name, cls, home[0])
            registry = attrs.evolve(registry, entries=(*registry.entries, entry))
        use_registry(registry)
        made = registry.build(kind, plain)
        return repr(made), made.specification()
    except Exception as error:  # noqa: BLE001 - reported to the one who asked
        return repr(error), None


_registry = functools.cache(Registry.load)
