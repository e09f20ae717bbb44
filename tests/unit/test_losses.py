"""Losses: directions, ordering, contradictions, and the worst of a class."""

from __future__ import annotations

import math

import pytest

import sfumato as sf
from sfumato.prior_classes.suprema import over_class

GAP = sf.Quantity("gap")
SURPRISE = sf.Quantity("interval", worse="smaller")
HERE, THERE = sf.Scenario("prior", "secret", "channel"), sf.Scenario("other", "secret", "channel")


def loss(value, bound="exact", *, quantity=GAP, scenario=HERE, **more):
    return sf.Loss(value=value, bound=bound, quantity=quantity, scenario=scenario, **more)


@pytest.mark.parametrize(
    ("made", "floor", "ceiling"),
    [
        (loss(0.3), 0.3, 0.3),
        (loss(0.3, "upper"), -math.inf, 0.3),
        (loss(0.3, "lower"), 0.3, math.inf),
        (loss(0.3, "estimate", interval=(0.2, 0.4)), 0.2, 0.4),
        (loss(0.3, "estimate", interval=(0.2, 0.4), estimate_of="lower"), 0.2, math.inf),
        (loss(0.3, "estimate", interval=(0.2, 0.4), estimate_of="upper"), -math.inf, 0.4),
        (loss(math.inf), math.inf, math.inf),
    ],
)
def test_floor_and_ceiling(made, floor, ceiling):
    assert (made.floor, made.ceiling) == (floor, ceiling)


@pytest.mark.parametrize(
    "make",
    [
        lambda: loss(math.nan),
        lambda: loss("a"),
        lambda: loss(0.3, "about"),
        lambda: loss(0.3, "estimate"),
        lambda: loss(0.3, "estimate", interval=(0.4, 0.2)),
        lambda: loss(0.3, "estimate", interval=(math.nan, 0.2)),
        lambda: sf.Quantity("gap", worse="bigger"),
    ],
)
def test_losses_that_say_nothing_are_refused(make):
    with pytest.raises(ValueError, match=r"."):
        make()


def test_losses_of_one_quantity_are_ordered_and_others_are_not():
    assert loss(0.1) < loss(0.2) <= loss(0.2)
    assert loss(0.2) > loss(0.1)
    assert loss(0.2) >= loss(0.1)
    for other in (loss(0.2, quantity=SURPRISE), loss(0.2, quantity=sf.Quantity("gap", {"k": 1.0}))):
        with pytest.raises(TypeError, match="no order"):
            _ = loss(0.1) < other
    with pytest.raises(TypeError):
        _ = loss(0.1) < 0.2


@pytest.mark.parametrize(
    ("losses", "count"),
    [
        ([loss(0.3), loss(0.3 * (1 + 1e-12))], 0),
        ([loss(0.3), loss(0.2, "upper")], 1),
        ([loss(0.3), loss(0.2, "upper", scenario=THERE)], 0),
        ([loss(0.3), loss(0.2, "upper", quantity=SURPRISE)], 0),
        ([loss(0.3, "lower"), loss(0.2, "upper")], 1),
        ([loss(0.1, "lower"), loss(0.2), loss(0.9, "upper")], 0),
        ([loss(0.5, "estimate", interval=(0.4, 0.6)), loss(0.3, "upper")], 1),
        ([loss(0.1, "estimate", interval=(0.0, 0.2), estimate_of="lower"), loss(0.9)], 0),
        ([loss(math.inf), loss(1e300, "upper")], 1),
        ([loss(math.inf), loss(math.inf, "upper")], 0),
    ],
)
def test_contradictions(losses, count):
    assert len(sf.contradictions(losses)) == count


def family():
    return sf.priors.rbf(length_scale=sf.AnyOf(1, 2, 3), times=2)


@pytest.mark.parametrize(
    ("quantity", "bounds", "expected"),
    [
        (GAP, {1: "exact", 2: "exact", 3: "exact"}, (3, "exact")),
        (SURPRISE, {1: "exact", 2: "exact", 3: "exact"}, (1, "exact")),
        (GAP, {1: "upper", 2: "exact", 3: "exact"}, (3, "exact")),
        (GAP, {1: "exact", 2: "exact", 3: "upper"}, (3, "upper")),
        (GAP, {1: "lower", 2: "exact", 3: "exact"}, (3, "lower")),
        (SURPRISE, {1: "exact", 2: "upper", 3: "exact"}, (1, "upper")),
        (SURPRISE, {1: "exact", 2: "lower", 3: "lower"}, (1, "exact")),
    ],
)
def test_the_worst_of_bounds_is_a_bound_on_the_worst(quantity, bounds, expected):
    def reading(member):
        return sf.Reading(value=member.length_scale, bound=bounds[member.length_scale])

    found, worst = over_class(family(), reading, quantity)
    assert (found.value, found.bound) == expected
    assert worst.length_scale == expected[0]


def test_a_searched_class_is_open_on_the_side_that_is_worse():
    interval = sf.priors.rbf(length_scale=sf.Interval(1, 3), times=2)

    def reading(member):
        return sf.Reading(value=member.length_scale, bound="exact")

    larger, _ = over_class(interval, reading, GAP)
    smaller, _ = over_class(interval, reading, SURPRISE)
    assert (larger.bound, larger.interval) == ("estimate", (3.0, math.inf))
    assert (smaller.bound, smaller.interval) == ("estimate", (-math.inf, 1.0))
