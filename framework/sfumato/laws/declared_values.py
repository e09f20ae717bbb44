"""Drawing the parameters of a declared class: sizes once, then every value from its domain."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from sfumato.domains.alternatives import Collection, Either, Label, Plugin
from sfumato.domains.domain import Domain, Rejected
from sfumato.domains.sizes import Sizes
from sfumato.parameters import Declared, ExactlyOne, Parameter, Together

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

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
        from sfumato.laws.strategies import any_of

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
