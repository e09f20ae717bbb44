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
        found += _places(registry, world["title"], nouns, world.get("given", {}))
    return tuple(found)


def _places(registry: Registry, world: str, nouns: list[Any], given: Any) -> list[Place]:
    """Try every measure, of attackers by each of them.

    `given` are other parameters without which a measure cannot be asked.
    """
    found: list[Place] = []
    tried: dict[str, Any] = {}
    for name in registry.names("measure"):
        own = given.get(name, {})
        parameters = registry.get("measure", name).parameters()
        needed = [p.name for p in parameters if p.required and p.name not in own]
        if needed == ["adversary"]:
            for one in registry.names("adversary"):
                table = {"name": name, "adversary": one}
                tried[f"{name} {one}"] = registry.build("measure", table)
        elif needed:
            reason = f"needs to be given its {' and '.join(needed)}"
            found.append(Place(name, world, "impossible", reason))
        else:
            tried[name] = registry.build("measure", {"name": name, **own})
    prior, secret, mechanism = nouns
    asked = [partial(ask_loss, one) for one in tried.values()]
    cells = answer_each(prior, secret, mechanism, asked)
    for (title, measure), cell in zip(tried.items(), cells, strict=True):
        if cell.loss is None:
            reason = cell.reason.removeprefix(f"{measure.name} ")
            found.append(Place(title, world, "impossible", reason))
        else:
            standing: Standing = "exact" if cell.loss.bound == "exact" else "bounded"
            found.append(Place(title, world, standing))
    return found
