"""Which definition can be read in which world: exactly, between bounds, or not at all and why."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import partial
from importlib.resources import files
from typing import Any, Literal

import attrs

from sfumato.comparison.cells import answer_each, ask_loss
from sfumato.plugin_registry import Registry

Standing = Literal["exact", "bounded", "impossible"]
MARKS: Mapping[str, str] = {"exact": "●", "bounded": "◐", "impossible": "–"}


@attrs.frozen
class Place:
    """How a definition stands in a world, and why it cannot be read there."""

    measure: str
    world: str
    standing: Standing
    reason: str = ""


def definitions_by_world(registry: Registry) -> tuple[Place, ...]:
    """Try every registered measure on a small scenario of each world.

    >>> from sfumato.plugin_registry import default_registry
    >>> places = definitions_by_world(default_registry())
    >>> [p.standing for p in places if (p.measure, p.world) == ("renyi", "a real value")]
    ['exact']
    """
    text = files("sfumato.comparison").joinpath("worlds.toml").read_text(encoding="utf-8")
    found: list[Place] = []
    for world in tomllib.loads(text)["worlds"]:
        nouns = [registry.build(kind, world[kind]) for kind in ("prior", "secret", "mechanism")]
        found += _places(registry, world["title"], nouns)
    return tuple(found)


def _places(registry: Registry, world: str, nouns: list[Any]) -> list[Place]:
    found, tried = [], []
    for name in registry.names("measure"):
        needed = [p.name for p in registry.get("measure", name).parameters() if p.required]
        if needed:
            reason = f"needs to be given its {' and '.join(needed)}"
            found.append(Place(name, world, "impossible", reason))
        else:
            tried.append(registry.make("measure", name))
    prior, secret, mechanism = nouns
    cells = answer_each(prior, secret, mechanism, [partial(ask_loss, one) for one in tried])
    for measure, cell in zip(tried, cells, strict=True):
        if cell.loss is None:
            reason = cell.reason.removeprefix(f"{measure.name} ")
            found.append(Place(measure.name, world, "impossible", reason))
        else:
            standing: Standing = "exact" if cell.loss.bound == "exact" else "bounded"
            found.append(Place(measure.name, world, standing))
    return found
