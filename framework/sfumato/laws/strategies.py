"""Hypothesis strategies made from declarations: objects, scenarios, classes of priors."""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import attrs
from hypothesis import reject
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from sfumato.beliefs import Gaussian, Markov
from sfumato.domains.alternatives import Collection, Either, Label, Plugin
from sfumato.domains.domain import Domain, Real
from sfumato.errors import REFUSALS, ParameterError, PluginError
from sfumato.laws.law import SCENARIO, SINGULAR, every, fitting
from sfumato.parameters import Declared, ExactlyOne, Parameter, Together
from sfumato.plugin_registry import Registry, default_registry
from sfumato.prior_classes.sets import AnyOf, Interval
from sfumato.protocols import Prior, PriorClass

# Small enough for brute force to check every exact value.
SIZE_RANGES = {"n": (1, 6), "d": (1, 2), "T": (1, 4), "M": (1, 4)}
OTHER_SIZES = (1, 4)

NOT_TAKEN = (ParameterError, *REFUSALS)
"""How a class says that it does not take the drawn values together."""


@attrs.frozen
class Surroundings:
    """What a drawn object must agree with: sizes, the labels of the states, fitting plugins."""

    sizes: Mapping[str, int] = attrs.field(factory=dict)
    labels: Sequence[Hashable] | None = None
    plugins: Mapping[str, Sequence[type[Declared]]] = attrs.field(factory=dict)
    shared: Mapping[str, tuple[Domain, Any]] = attrs.field(factory=dict)

    def beside(self, prior: Prior) -> Surroundings:
        """Return what a prior makes of them for secrets and mechanisms."""
        try:
            with random_left_alone():
                belief = prior.belief()
        except Exception:  # noqa: BLE001 - a law that asks for the belief reports it with a script
            belief = None
        sizes = dict(prior.sizes)
        if isinstance(belief, Gaussian):  # several coordinates a time: more entries than times
            sizes["entries"] = belief.entries
        labels = None
        if isinstance(belief, Markov):  # secrets about a time take any of the steps
            labels, sizes["n"] = belief.states, belief.steps
            sizes["M"] = belief.state_count  # which the parameters need not count
        return attrs.evolve(self, sizes=sizes, labels=labels)


@contextmanager
def random_left_alone() -> Iterator[None]:
    """Put the state of the random module back afterwards.

    Constructors may import libraries that touch it, which Hypothesis takes for a draw that cannot
    be repeated.
    """
    state = random.getstate()
    try:
        yield
    finally:
        random.setstate(state)


# Parameters ---------------------------------------------------------------------------------------


def draw_parameters(draw: DrawFn, cls: type[Declared], around: Surroundings) -> dict[str, Any]:
    """Draw the sizes that are not settled, then a value for every parameter."""
    sizes = _draw_sizes(draw, cls, around.sizes)
    missing, needed = _settle_rules(draw, cls)
    values: dict[str, Any] = dict.fromkeys(missing)
    for declared in cls.parameters():
        if declared.name not in missing:
            must = declared.name in needed
            values[declared.name] = _draw_value(draw, declared, sizes, around, must=must)
    return values


def _draw_sizes(draw: DrawFn, cls: type[Declared], given: Mapping[str, int]) -> dict[str, int]:
    names = frozenset[str]().union(*(item.domain.size_names() for item in cls.parameters()))
    sizes = dict(given)
    for name in sorted(names - set(given)):
        low, high = SIZE_RANGES.get(name, OTHER_SIZES)
        # The smallest comes first, to shrink to, but seldom: one state or one time is no secret.
        larger = range(low + 1, high + 1)
        sizes[name] = draw(st.sampled_from((low, *larger, *larger[:2], *larger[:2])))
    return sizes


def _settle_rules(draw: DrawFn, cls: type[Declared]) -> tuple[set[str], set[str]]:
    """Return which parameters are left out and which must be given, as the rules have it."""
    missing: set[str] = set()
    needed: set[str] = set()
    for rule in cls.rules:
        if isinstance(rule, ExactlyOne):
            left_out = rule.choose(lambda names: draw(st.sampled_from(names)))
            missing |= left_out
            needed |= set(rule.names) - left_out
    for rule in cls.rules:
        if isinstance(rule, Together):
            pair = {rule.name, rule.partner}
            left_out_too = not pair & needed and (pair & missing or draw(st.booleans()))
            (missing if left_out_too else needed).update(pair)
    return missing, needed


def _draw_value(
    draw: DrawFn, declared: Parameter, sizes: Mapping[str, int], around: Surroundings, *, must: bool
) -> Any:
    shared = around.shared.get(declared.name)
    if shared is not None and (shared[0] == declared.domain or declared.domain.takes(shared[1])):
        return shared[1]
    if not declared.required and not must and draw(st.booleans()):
        return declared.default
    strategy = _strategy(declared.domain, sizes, around)
    if must:
        strategy = strategy.filter(lambda value: value is not None)
    return with_labels(declared.domain, draw(strategy), around.labels)


def _strategy(
    domain: Domain, sizes: Mapping[str, int], around: Surroundings
) -> SearchStrategy[Any]:
    """Return the domain's strategy, with plugins taken from those that fit the surroundings."""
    if isinstance(domain, Plugin) and domain.kind in around.plugins:
        return any_of(filter(domain.allows, around.plugins[domain.kind]), sizes)
    if isinstance(domain, Either):
        return st.one_of([_strategy(option, sizes, around) for option in domain.options])
    if isinstance(domain, Collection) and isinstance(domain.element, Plugin):
        element = _strategy(domain.element, sizes, around)
        return st.lists(element, min_size=domain.least, max_size=max(domain.least, 2)).map(tuple)
    return domain.strategy(sizes)


def with_labels(domain: Domain, value: Any, labels: Sequence[Hashable] | None) -> Any:
    """Replace drawn positions of states by the states' own labels."""
    if labels is None or value is None:
        return value
    if isinstance(domain, Label):
        return labels[value] if domain.size and value in range(len(labels)) else value
    if isinstance(domain, Plugin):
        own = {
            p.name: with_labels(p.domain, getattr(value, p.name), labels)
            for p in value.parameters()
        }
        return attrs.evolve(value, **own)
    if isinstance(domain, Collection):
        return tuple(with_labels(domain.element, item, labels) for item in value)
    if isinstance(domain, Either):
        for option in domain.options:
            if option.takes(value):
                return with_labels(option, value, labels)
    return value


# Objects ------------------------------------------------------------------------------------------

ENOUGH_TRIES = 60
"""After so many draws, almost nothing accepted means that the declarations are wrong."""


def instances(
    cls: type[Declared],
    sizes: Mapping[str, int] | None = None,
    *,
    around: Surroundings | None = None,
) -> SearchStrategy[Any]:
    """Draw objects of a declared class: its sizes once, then every parameter from its domain.

    Values that the class itself rejects are drawn again; a class that rejects almost everything
    its own domains draw is an error.

    Parameters
    ----------
    cls
        A class made with `declare`.
    sizes
        Sizes that are settled already, such as ``{"n": 4}``; the others are drawn, small.
    around
        What else the object must agree with.
    """
    surroundings = around or Surroundings(sizes or {})
    for entry in default_registry().find(cls.name):
        if entry.kind == "strategy":
            by_author: SearchStrategy[Any] = entry.value(dict(surroundings.sizes))
            return by_author.filter(lambda made: isinstance(made, cls))
    return _instances(cls, surroundings, [])


@st.composite
def _instances(
    draw: DrawFn, cls: type[Declared], surroundings: Surroundings, taken: list[bool]
) -> Any:
    values = draw_parameters(draw, cls, surroundings)
    try:
        with random_left_alone():
            made = cls(**values)
    except NOT_TAKEN as reason:
        taken.append(False)
        if len(taken) >= ENOUGH_TRIES and sum(taken) * 20 < len(taken):
            raise PluginError(
                f"{cls.name} must take what its declared domains draw; it took {sum(taken)} of "
                f"{len(taken)} draws (last: {reason}) - narrow the domains or register a strategy"
            ) from None
        reject()
    taken.append(True)
    return made


def any_of(
    classes: Iterable[type[Declared]], sizes: Mapping[str, int] | None = None
) -> SearchStrategy[Any]:
    """Draw objects of any of the classes."""
    return st.one_of([instances(cls, sizes) for cls in classes])


def plugins_of_kind(
    kind: str, sizes: Mapping[str, int], allows: Callable[[Any], bool] = lambda _: True
) -> SearchStrategy[Any]:
    """Draw any registered plugin of a noun that is allowed and takes no other plugin itself."""
    plain = filter(_takes_no_plugin, every(default_registry(), kind))
    return any_of(filter(allows, plain), sizes)


def _takes_no_plugin(cls: type[Declared]) -> bool:
    return not any(_holds_plugin(item.domain) for item in cls.parameters())


def _holds_plugin(domain: Domain) -> bool:
    if isinstance(domain, Either):
        return any(_holds_plugin(option) for option in domain.options)
    return isinstance(domain, Plugin) or (
        isinstance(domain, Collection) and _holds_plugin(domain.element)
    )


# Scenarios ----------------------------------------------------------------------------------------


def scenarios(
    registry: Registry,
    kinds: Sequence[str] = SCENARIO,
    *,
    suits: Callable[[Mapping[str, Any]], bool] = bool,
    **fixed: Any,
) -> SearchStrategy[dict[str, Any]]:
    """Draw nouns that fit together, as a table by noun; the prior hands on its sizes and labels.

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

    >>> import sfumato as sf
    >>> from sfumato.laws import scenarios
    >>> uniform = sf.registry.get("mechanism", "gaussian_uniform")
    >>> strategy = scenarios(sf.registry, mechanism=uniform)
    """
    wanted = tuple(dict.fromkeys(SINGULAR.get(kind, kind) for kind in kinds))
    if "measures" in kinds and "measure" not in fixed:
        wanted = tuple(kind for kind in wanted if kind != "measure")
    rows = [row for row in fitting(registry, wanted, fixed) if suits(row)]

    @st.composite
    def scenario(draw: DrawFn) -> dict[str, Any]:  # no arguments: a strategy shows all it has
        return _draw_scenario(draw, registry, kinds, draw(st.sampled_from(rows)))

    return scenario() if rows else st.nothing()


def _draw_scenario(
    draw: DrawFn, registry: Registry, kinds: Sequence[str], classes: Mapping[str, Any]
) -> dict[str, Any]:
    around = Surroundings(plugins=_fitting_plugins(registry, classes))
    found: dict[str, Any] = {}
    if "prior_class" in kinds:
        found["prior_class"] = draw(prior_classes(registry, classes["prior"]))
        around = around.beside(next(found["prior_class"].members()))
    elif "prior" in kinds:
        found["prior"] = draw(instances(classes["prior"], around=around))
        around = around.beside(found["prior"])
    for kind in ("secret", "mechanism", "measure", "adversary"):
        if kind in kinds:
            found[kind] = draw(instances(classes[kind], around=around))
    if "measures" in kinds:
        found["measures"] = draw(_every_measure(registry, classes, around))
    return found


def _fitting_plugins(registry: Registry, classes: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return what plugins that take other plugins may be given in this scenario.

    Priors of the same kind of belief, mechanisms that protect the same secret, adversaries that
    can reason about it; none of them takes a plugin itself.
    """
    fits: dict[str, list[Any]] = {}
    prior, secret, mechanism = map(classes.get, SCENARIO)
    if prior is not None:
        fits["prior"] = [c for c in every(registry, "prior") if issubclass(c.yields, prior.yields)]
        for kind, other in (("mechanism", secret), ("adversary", mechanism)):
            if other is not None:
                rows = fitting(registry, (kind,), {"prior": prior, other.kind: other})
                fits[kind] = [row[kind] for row in rows]
    plain = {kind: list(filter(_takes_no_plugin, found)) for kind, found in fits.items()}
    return {kind: found for kind, found in plain.items() if found}


@st.composite
def _every_measure(
    draw: DrawFn, registry: Registry, classes: Mapping[str, Any], around: Surroundings
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


def prior_classes(registry: Registry, cls: type[Prior]) -> SearchStrategy[PriorClass]:
    """Draw a class: of one prior, of two, or of a parameter's interval or choices."""
    families = []
    for item in cls.parameters():
        options = item.domain.options if isinstance(item.domain, Either) else (item.domain,)
        real = [option for option in options if isinstance(option, Real)]
        families += [_families(registry, cls, item.name, domain) for domain in real[:1]]
    return st.one_of([_choices(cls), *families])


@st.composite
def _choices(draw: DrawFn, cls: type[Prior]) -> PriorClass:
    first = draw(instances(cls))
    another = draw(st.lists(instances(cls, first.sizes), max_size=1))
    try:
        return AnyOf(first, *another)
    except NOT_TAKEN:  # such as other labels
        reject()


@st.composite
def _families(
    draw: DrawFn, registry: Registry, cls: type[Prior], name: str, domain: Real
) -> PriorClass:
    values = draw_parameters(draw, cls, Surroundings())
    ends = draw(st.lists(domain.strategy({}), min_size=2, max_size=3, unique=True))
    varying: Any = AnyOf(*ends)
    if draw(st.booleans()):
        varying = Interval(min(ends), max(ends))
    plain = {
        item.name: item.domain.plain(values[item.name])
        for item in cls.parameters()
        if item.name != name and values[item.name] is not None
    }
    try:
        with random_left_alone():
            made: PriorClass = registry.make("prior", cls.name, **plain, **{name: varying})
    except NOT_TAKEN:
        reject()
    return made
