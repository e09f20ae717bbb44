"""Drawing classes of priors: choices and intervals of a parameter, choices of priors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.domains.alternatives import Either
from sfumato.domains.domain import Domain
from sfumato.domains.scalars import Real
from sfumato.errors import REFUSALS, ParameterError
from sfumato.laws.composed import composed
from sfumato.laws.declared_values import Draw, Surroundings, drawn_parameters
from sfumato.laws.random_state import random_left_alone
from sfumato.laws.strategies import instances
from sfumato.plugin_registry import Registry
from sfumato.prior_classes import AnyOf, Interval
from sfumato.protocols import Prior, PriorClass

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


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
