"""A prior class as boxes of parameters, for proofs that cover every member."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import attrs

from sfumato.prior_classes.combinations import DerivedClass
from sfumato.prior_classes.families import Family
from sfumato.prior_classes.sets import AnyOf
from sfumato.protocols import Prior, PriorClass


@attrs.frozen(eq=False)
class Box:
    """The members with parameters in a box; with none, a single prior."""

    ends: tuple[tuple[float, float], ...]
    member: Callable[[Sequence[float]], Prior]
    # The same, unchecked, for parameters that are numbers of any kind: for its `formula` only.
    abstract: Callable[[Sequence[Any]], Prior]


def boxes_of(prior: PriorClass) -> list[Box] | None:
    """Return boxes that together are the class; None for a class of an unknown kind.

    >>> import sfumato as sf
    >>> [box] = boxes_of(sf.priors.rbf(length_scale=sf.Interval(3, 12), times=5))
    >>> box.ends, box.member([4.0]).length_scale
    (((3.0, 12.0),), 4.0)
    """
    if isinstance(prior, Prior):
        return [Box((), lambda _: prior, lambda _: prior)]
    if isinstance(prior, Family):
        return [_box_of(prior, chosen) for chosen in prior.choices()]
    if isinstance(prior, AnyOf):
        parts = [boxes_of(option) for option in prior.options]
        return None if None in parts else [box for part in parts for box in part or ()]
    if isinstance(prior, DerivedClass):
        parts = [boxes_of(part) for part in prior.parts]
        if None in parts:
            return None
        products = itertools.product(*(part or () for part in parts))
        return [_derived_box(prior, boxes) for boxes in products]
    return None


def _box_of(family: Family, chosen: dict[str, Any]) -> Box:
    intervals = family.intervals()
    ends = tuple((interval.low, interval.high) for interval in intervals.values())

    def member(point: Sequence[float]) -> Prior:
        return family.member({**chosen, **dict(zip(intervals, point, strict=True))})

    first = member([low for low, _ in ends])

    def abstract(values: Sequence[Any]) -> Prior:
        made = copy.copy(first)
        for place, value in zip(intervals, values, strict=True):
            name, _, inside = place.partition(".")
            held = getattr(made, name).with_number(inside, value) if inside else value
            object.__setattr__(made, name, held)
        return made

    return Box(ends, member, abstract)


def _derived_box(derived: DerivedClass, boxes: Sequence[Box]) -> Box:
    sizes = [len(box.ends) for box in boxes]
    starts = [0, *itertools.accumulate(sizes)]

    def parts(values: Sequence[Any]) -> list[Sequence[Any]]:
        return [values[start : start + size] for start, size in zip(starts, sizes, strict=False)]

    def member(point: Sequence[float]) -> Prior:
        chosen = zip(boxes, parts(point), strict=True)
        return derived.derive(tuple(box.member(values) for box, values in chosen))

    def abstract(values: Sequence[Any]) -> Prior:
        chosen = zip(boxes, parts(values), strict=True)
        return derived.derive(tuple(box.abstract(inner) for box, inner in chosen))

    return Box(tuple(end for box in boxes for end in box.ends), member, abstract)
