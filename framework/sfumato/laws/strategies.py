"""Hypothesis strategies made from declarations: objects, scenarios, classes of priors."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from sfumato.domains.alternatives import Collection, Either, Plugin
from sfumato.domains.domain import Domain
from sfumato.errors import REFUSALS, ParameterError, PluginError
from sfumato.laws.composed import composed
from sfumato.laws.declared_values import Draw, Surroundings, drawn_parameters
from sfumato.laws.fitting import fitting, reads_pair
from sfumato.laws.random_state import random_left_alone
from sfumato.parameters import Declared
from sfumato.plugin_registry import Registry, default_registry

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

ENOUGH_TRIES = 60
"""After so many draws, almost nothing accepted means that the declarations are wrong."""


@attrs.define
class _Tally:
    """How often a class took what its own domains drew."""

    tried: int = 0
    taken: int = 0

    def refuse_if_hopeless(self, cls: type[Declared], reason: object) -> None:
        if self.tried >= ENOUGH_TRIES and self.taken * 20 < self.tried:
            raise PluginError(
                f"{cls.name} must take what its declared domains draw; it took {self.taken} of "
                f"{self.tried} draws (last: {reason}) - narrow the domains or register a strategy"
            )


def instances(
    cls: type[Declared],
    sizes: Mapping[str, int] | None = None,
    *,
    around: Surroundings | None = None,
) -> SearchStrategy[Any]:
    """Draw objects of a declared class: its sizes once, then every parameter from its domain.

    Parameters
    ----------
    cls
        A class made with `declare`.
    sizes
        Sizes that are settled already, such as ``{"n": 4}``; the others are drawn, small.
    around
        What else the object must agree with.

    Values that the class itself rejects are drawn again; a class that rejects almost everything
    its own domains draw is an error.
    """
    surroundings = around or Surroundings(sizes or {})
    override = _registered_strategy(cls)
    if override is not None:
        drawn_by_author: SearchStrategy[Any] = override(dict(surroundings.sizes))
        return drawn_by_author.filter(lambda made: isinstance(made, cls))
    return composed(_drawn_instance)(cls, surroundings, _Tally())


def _drawn_instance(
    draw: Draw, cls: type[Declared], surroundings: Surroundings, tally: _Tally
) -> Any:
    from hypothesis import reject

    values, _ = drawn_parameters(draw, cls, surroundings)
    tally.tried += 1
    try:
        with random_left_alone():
            made = cls(**values)
    except (ParameterError, *REFUSALS) as reason:
        tally.refuse_if_hopeless(cls, reason)
        reject()
    tally.taken += 1
    return made


def _registered_strategy(cls: type[Declared]) -> Any:
    for entry in default_registry().find(cls.name):
        if entry.kind == "strategy":
            return entry.value
    return None


def any_of(
    classes: Iterable[type[Declared]], sizes: Mapping[str, int] | None = None
) -> SearchStrategy[Any]:
    """Draw objects of any of the classes."""
    from hypothesis import strategies as st

    return st.one_of([instances(cls, sizes) for cls in classes])


def plugins_of_kind(kind: str, sizes: Mapping[str, int]) -> SearchStrategy[Any]:
    """Draw any registered plugin of a noun that does not itself take another plugin."""
    classes = _all(default_registry(), kind)
    return any_of([cls for cls in classes if not takes_plugins(cls)], sizes)


def takes_plugins(cls: type[Declared]) -> bool:
    """Whether a parameter can hold another plugin."""
    return any(_holds_plugin(item.domain) for item in cls.parameters())


def _holds_plugin(domain: Domain) -> bool:
    if isinstance(domain, Either):
        return any(_holds_plugin(option) for option in domain.options)
    return isinstance(domain, Plugin) or (
        isinstance(domain, Collection) and _holds_plugin(domain.element)
    )


def scenarios(
    registry: Registry,
    kinds: Sequence[str] = ("prior", "secret", "mechanism"),
    *,
    suits: Callable[[Mapping[str, Any]], bool] = bool,
    **fixed: Any,
) -> SearchStrategy[dict[str, Any]]:
    """Draw nouns that fit together, as a table by noun.

    Parameters
    ----------
    registry
        Where classes come from.
    kinds
        The nouns to draw. ``"prior_class"`` in place of ``"prior"`` draws a class of priors;
        ``"measures"`` draws one object of every measure that fits.
    suits
        Which combinations of classes to draw from; all that fit by default.
    fixed
        Classes that must be used, such as ``prior=RBF``.

    The prior comes first and hands on its sizes and labels.

    >>> import sfumato as sf
    >>> uniform = sf.registry.get("mechanism", "gaussian_uniform")
    >>> strategy = scenarios(sf.registry, mechanism=uniform)
    """
    from hypothesis import strategies as st

    singular = {"prior_class": "prior", "measures": "measure"}
    wanted = tuple(dict.fromkeys(singular.get(kind, kind) for kind in kinds))
    if "measures" in kinds and "measure" not in fixed:
        wanted = tuple(kind for kind in wanted if kind != "measure")
    rows = [row for row in fitting(registry, wanted, fixed) if suits(row)]
    if not rows:
        return st.nothing()
    return composed(_drawn_scenario)(registry, kinds, rows)


def _drawn_scenario(
    draw: Draw, registry: Registry, kinds: Sequence[str], rows: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    from hypothesis import strategies as st

    from sfumato.laws.prior_class_strategies import prior_classes

    classes = draw(st.sampled_from(rows))
    around = Surroundings(plugins=_fitting_plugins(registry, classes))
    found: dict[str, Any] = {}
    if "prior_class" in kinds:
        found["prior_class"] = draw(prior_classes(registry, classes["prior"]))
        around = _beside(around, next(found["prior_class"].members()))
    elif "prior" in kinds:
        found["prior"] = draw(instances(classes["prior"], around=around))
        around = _beside(around, found["prior"])
    for kind in ("secret", "mechanism", "measure", "adversary"):
        if kind in kinds:
            found[kind] = draw(instances(classes[kind], around=around))
    if "measures" in kinds:
        found["measures"] = draw(composed(_drawn_panel)(registry, classes, around))
    return found


def _beside(around: Surroundings, prior: Any) -> Surroundings:
    """Return the surroundings that a prior creates for secrets and mechanisms."""
    try:
        with random_left_alone():
            belief = prior.belief()
    except Exception:  # noqa: BLE001 - a law that asks for the belief will report it with a script
        belief = None
    labels: Sequence[Hashable] | None = getattr(belief, "states", None)
    sizes = dict(prior.sizes)
    if hasattr(belief, "entries"):  # several coordinates a time: more entries than times
        sizes["entries"] = belief.entries
    return attrs.evolve(around, sizes=sizes, labels=labels)


def _fitting_plugins(registry: Registry, classes: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return what plugins that take other plugins may be given in this scenario.

    Priors of the same kind of belief, mechanisms that protect the same secret, adversaries that
    can reason about it; none of them takes a plugin itself.
    """
    fits: dict[str, list[Any]] = {}
    if "prior" in classes:
        kind = classes["prior"].yields
        fits["prior"] = [cls for cls in _all(registry, "prior") if issubclass(cls.yields, kind)]
    if "prior" in classes and "secret" in classes:
        fixed = {kind: classes[kind] for kind in ("prior", "secret")}
        fits["mechanism"] = [row["mechanism"] for row in fitting(registry, ("mechanism",), fixed)]
    if "prior" in classes and "mechanism" in classes:
        fits["adversary"] = [
            cls
            for cls in _all(registry, "adversary")
            if reads_pair(cls, classes["prior"], classes["mechanism"])
        ]
    plain = {kind: [c for c in found if not takes_plugins(c)] for kind, found in fits.items()}
    return {kind: found for kind, found in plain.items() if found}


def _all(registry: Registry, kind: str) -> list[Any]:
    return [registry.get(kind, name) for name in registry.names(kind)]


def _drawn_panel(
    draw: Draw, registry: Registry, classes: Mapping[str, Any], around: Surroundings
) -> list[Any]:
    """Draw one object of every measure that fits; equal parameters get equal values."""
    fixed = {kind: cls for kind, cls in classes.items() if kind != "measure"}
    shared: dict[str, tuple[Domain, Any]] = {}
    found = []
    for row in fitting(registry, ("measure",), fixed):
        cls = row["measure"]
        made = draw(instances(cls, around=attrs.evolve(around, shared=shared)))
        for item in cls.parameters():
            shared.setdefault(item.name, (item.domain, getattr(made, item.name)))
        found.append(made)
    return found
