"""Hypothesis strategies made from declarations: objects, scenarios, classes of priors."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import attrs

from sfumato.domains.alternatives import Collection, Either, Label, Plugin
from sfumato.domains.domain import Domain, Rejected, Sizes
from sfumato.domains.scalars import Real
from sfumato.errors import REFUSALS, ParameterError, PluginError
from sfumato.laws.cases import every, fitting, reads_pair
from sfumato.parameters import Declared, ExactlyOne, Parameter, Together
from sfumato.plugin_registry import Registry, default_registry
from sfumato.prior_classes.sets import AnyOf, Interval
from sfumato.protocols import Prior, PriorClass

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


@functools.cache
def composed(drawing: Callable[..., Any]) -> Callable[..., SearchStrategy[Any]]:
    """Return the maker of strategies for a function that takes `draw` first.

    Hypothesis reads the source of every function it makes a strategy of, which takes longer than
    most draws: so each is a module's own function, and is read once.
    """
    from hypothesis import strategies as st

    return st.composite(drawing)


@contextmanager
def random_left_alone() -> Iterator[None]:
    """Put the state of the random module back afterwards.

    Constructors may import libraries that touch it, which Hypothesis takes for a draw that cannot
    be repeated.

    >>> before = random.getstate()
    >>> with random_left_alone():
    ...     _ = random.random()
    >>> random.getstate() == before
    True
    """
    state = random.getstate()
    try:
        yield
    finally:
        random.setstate(state)


Draw = Callable[["SearchStrategy[Any]"], Any]

# Small enough for brute force to be the oracle of every exact value.
SIZE_RANGES = {"n": (1, 6), "d": (1, 2), "T": (1, 4), "M": (1, 4)}
OTHER_SIZES = (1, 4)


@attrs.frozen
class Surroundings:
    """What a drawn object must agree with: sizes, the labels of the states, fitting plugins."""

    sizes: Mapping[str, int] = attrs.field(factory=dict)
    labels: Sequence[Hashable] | None = None
    plugins: Mapping[str, Sequence[type[Declared]]] = attrs.field(factory=dict)
    shared: Mapping[str, tuple[Domain, Any]] = attrs.field(factory=dict)


def drawn_parameters(
    draw: Draw, cls: type[Declared], around: Surroundings
) -> tuple[dict[str, Any], dict[str, int]]:
    """Draw a value for every parameter; return them and the sizes they were drawn with."""
    sizes = drawn_sizes(draw, cls, around.sizes)
    missing, needed = _settled_rules(draw, cls)
    values: dict[str, Any] = {}
    for declared in cls.parameters():
        if declared.name in missing:
            values[declared.name] = None
            continue
        must = declared.name in needed
        values[declared.name] = _drawn_value(draw, declared, sizes, around, must=must)
    return values, sizes


def drawn_sizes(draw: Draw, cls: type[Declared], given: Mapping[str, int]) -> dict[str, int]:
    """Return the given sizes and, drawn, the others that the class's domains name."""
    from hypothesis import strategies as st

    names = frozenset[str]().union(*(item.domain.size_names() for item in cls.parameters()))
    sizes = dict(given)
    for name in sorted(names - set(given)):
        low, high = SIZE_RANGES.get(name, OTHER_SIZES)
        # The smallest comes first, to shrink to, but seldom: one state or one time is no secret.
        larger = range(low + 1, high + 1)
        sizes[name] = draw(st.sampled_from((low, *larger, *larger[:2], *larger[:2])))
    return sizes


def _settled_rules(draw: Draw, cls: type[Declared]) -> tuple[set[str], set[str]]:
    """Return which parameters are left out and which must be given, as the rules have it."""
    from hypothesis import strategies as st

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
            if pair & needed:
                needed |= pair
            elif pair & missing or draw(st.booleans()):
                missing |= pair
            else:
                needed |= pair
    return missing, needed


def _drawn_value(
    draw: Draw, declared: Parameter, sizes: Mapping[str, int], around: Surroundings, *, must: bool
) -> Any:
    from hypothesis import strategies as st

    shared = around.shared.get(declared.name)
    if shared is not None and shared[0] == declared.domain:
        return shared[1]
    if not declared.required and not must and draw(st.booleans()):
        return declared.default
    strategy = _strategy(declared.domain, sizes, around)
    if must:
        strategy = strategy.filter(lambda value: value is not None)
    return relabelled(declared.domain, draw(strategy), around.labels)


def _strategy(
    domain: Domain, sizes: Mapping[str, int], around: Surroundings
) -> SearchStrategy[Any]:
    """Return the domain's strategy, with plugins taken from those that fit the surroundings."""
    from hypothesis import strategies as st

    if isinstance(domain, Plugin) and domain.kind in around.plugins:
        return any_of(around.plugins[domain.kind], sizes)
    if isinstance(domain, Either):
        return st.one_of([_strategy(option, sizes, around) for option in domain.options])
    if isinstance(domain, Collection) and isinstance(domain.element, Plugin):
        element = _strategy(domain.element, sizes, around)
        return st.lists(element, min_size=domain.least, max_size=max(domain.least, 2)).map(tuple)
    return domain.strategy(sizes)


def relabelled(domain: Domain, value: Any, labels: Sequence[Hashable] | None) -> Any:
    """Replace drawn positions of states by the states' own labels.

    >>> from sfumato.parameters import LABEL_SET
    >>> relabelled(LABEL_SET("M"), (0, 1), ("home", "work"))
    ('home', 'work')
    """
    if labels is None or value is None:
        return value
    if isinstance(domain, Label):
        return labels[value] if domain.size and value in range(len(labels)) else value
    if isinstance(domain, Collection):
        return tuple(relabelled(domain.element, item, labels) for item in value)
    if isinstance(domain, Either):
        for option in domain.options:
            if _takes(option, value):
                return relabelled(option, value, labels)
    return value


def _takes(domain: Domain, value: Any) -> bool:
    try:
        domain.convert(value, Sizes())
    except Rejected:
        return False
    return True


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
    classes = every(default_registry(), kind)
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
        fits["prior"] = [cls for cls in every(registry, "prior") if issubclass(cls.yields, kind)]
    if "prior" in classes and "secret" in classes:
        fixed = {kind: classes[kind] for kind in ("prior", "secret")}
        fits["mechanism"] = [row["mechanism"] for row in fitting(registry, ("mechanism",), fixed)]
    if "prior" in classes and "mechanism" in classes:
        fits["adversary"] = [
            cls
            for cls in every(registry, "adversary")
            if reads_pair(cls, classes["prior"], classes["mechanism"])
        ]
    plain = {kind: [c for c in found if not takes_plugins(c)] for kind, found in fits.items()}
    return {kind: found for kind, found in plain.items() if found}


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


def prior_classes(registry: Registry, cls: type[Prior]) -> SearchStrategy[PriorClass]:
    """Draw a class: of one prior, of two, or of a parameter's interval or choices."""
    from hypothesis import strategies as st

    kinds = [composed(_drawn_choice)(cls)]
    kinds += [
        composed(_drawn_family)(registry, cls, item.name, domain)
        for item in cls.parameters()
        if (domain := _scalar(item.domain)) is not None
    ]
    return st.one_of(kinds)


def _scalar(domain: Domain) -> Real | None:
    """Return the real interval inside a domain, if it has one."""
    if isinstance(domain, Real):
        return domain
    options = domain.options if isinstance(domain, Either) else ()
    return next((option for option in options if isinstance(option, Real)), None)


def _drawn_choice(draw: Draw, cls: type[Prior]) -> PriorClass:
    from hypothesis import reject
    from hypothesis import strategies as st

    first = draw(instances(cls))
    others = [
        draw(instances(cls, around=Surroundings(first.sizes)))
        for _ in range(draw(st.integers(0, 1)))
    ]
    try:
        return AnyOf(first, *others)
    except (ParameterError, *REFUSALS):  # such as other labels
        reject()


def _drawn_family(
    draw: Draw, registry: Registry, cls: type[Prior], name: str, domain: Real
) -> PriorClass:
    from hypothesis import reject
    from hypothesis import strategies as st

    values, _ = drawn_parameters(draw, cls, Surroundings())
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
    except (ParameterError, *REFUSALS):
        reject()
    return made
