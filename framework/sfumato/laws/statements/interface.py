"""Plugins are values: written, read back, compared, hashed and never changed."""
# ruff: noqa: D401 - a law is a statement, not a command

from __future__ import annotations

import math
import tomllib
from typing import Any

import attrs
import numpy as np

import sfumato as sf
from sfumato.errors import REFUSALS, ParameterError
from sfumato.laws.answers import rebuilt_elsewhere
from sfumato.laws.law import Violation, law, require
from sfumato.plugin_registry import default_registry

BAD_VALUES: tuple[Any, ...] = (
    *(math.nan, math.inf, -1.0, 0, -3, 2.5, 1j, True, None, "nonsense", b"bytes", {}, object()),
    *([], [math.nan], [[1.0, math.nan]], np.zeros((0, 3))),
)
"""What people and programs pass by mistake."""

OTHER_VALUES: tuple[Any, ...] = (0, 1, 3, 0.5, 1.5, True)
"""Simple values, some of which suit most parameters."""


@law("interface.round_trip", over=("plugin",))
def written_and_read_back(plugin: Any) -> None:
    """A plugin is rebuilt equal from its specification, from TOML and from its repr."""
    registry, kind = default_registry(), type(plugin).kind
    plain = plugin.specification()
    _require_equal(registry.build(kind, plain), plugin, "its specification")
    import tomli_w

    read = tomllib.loads(tomli_w.dumps({"plugin": plain}))["plugin"]
    _require_equal(registry.build(kind, read), plugin, "TOML")
    code = repr(plugin)
    _require_equal(eval(code, {"sf": sf}), plugin, f"its repr {code}")  # noqa: S307 - our own repr


@law("interface.equality", over=("plugin",))
def different_plugins_differ(plugin: Any) -> None:
    """Plugins with different parameters are not equal."""
    for item in type(plugin).parameters():
        for value in (item.default, *OTHER_VALUES):
            try:
                other = attrs.evolve(plugin, **{item.name: value})
            except (ParameterError, *REFUSALS):
                continue
            same = other.specification() == plugin.specification()
            require(
                (other == plugin) == same,
                f"{other!r} and {plugin!r} must {'' if same else 'not '}be equal",
            )


def _require_equal(made: Any, plugin: Any, source: str) -> None:
    require(
        made == plugin and hash(made) == hash(plugin),
        f"a plugin rebuilt from {source} must be equal, with an equal hash; "
        f"got {made!r} for {plugin!r}",
    )


@law("interface.frozen", over=("plugin",))
def never_changed(plugin: Any) -> None:
    """A plugin cannot be changed, nor can the arrays it holds."""
    for item in type(plugin).parameters():
        value = getattr(plugin, item.name)
        try:
            setattr(plugin, item.name, value)
        except attrs.exceptions.FrozenInstanceError:
            pass
        else:
            raise Violation(f"{item.name} must not be assignable")
        if isinstance(value, np.ndarray):
            require(not value.flags.writeable, f"the array {item.name} must be read-only")


@law("interface.domains", over=("plugin",), cost=3)
def bad_values_are_rejected(plugin: Any) -> None:
    """A value outside a parameter's domain is a ParameterError; NaN is outside of every domain."""
    cls = type(plugin)
    given = {item.name: getattr(plugin, item.name) for item in cls.parameters()}
    for item in cls.parameters():
        for bad in BAD_VALUES:
            if bad is None and item.default is None:
                continue
            inside = item.domain.takes(bad) or item.domain.takes(bad, plugin.sizes)
            if inside and not _has_nan(bad):
                continue
            try:
                made = cls(**{**given, item.name: bad})
            except ParameterError:
                continue
            except Exception as error:  # noqa: BLE001 - the wrong error is the finding
                sentence = f"{item.name}={bad!r} must be a ParameterError; got {error!r}"
                raise Violation(sentence) from None
            raise Violation(f"{item.name}={bad!r} must be rejected; got {made!r}")


def _has_nan(value: Any) -> bool:
    try:
        return bool(np.isnan(np.asarray(value, dtype=float)).any())
    except (TypeError, ValueError):
        return False


@law("interface.process", over=("plugin",), cost=2)
def rebuilt_in_another_process(plugin: Any) -> None:
    """Another process rebuilds an equal plugin from the specification."""
    text, plain = rebuilt_elsewhere(plugin, default_registry().paths)
    require(
        text == repr(plugin) and plain == plugin.specification(),
        f"another process must rebuild {plugin!r}; it made {text}",
    )
