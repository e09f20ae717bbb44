"""A prior believes something possible, as it says; a class loses what its worst member loses."""
# ruff: noqa: D401 - a law is a statement, not a command

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from sfumato.beliefs import Gaussian, Markov
from sfumato.domains.arrays import Times, stamps
from sfumato.errors import REFUSALS
from sfumato.inference.exact import in_balls, precision
from sfumato.inference.taylor import TaylorNumbers
from sfumato.laws.capabilities import (
    believes,
    both,
    design,
    has_scale,
    rebuild,
    require_no_worse,
    with_values,
)
from sfumato.laws.exact_gaussian import is_definite_belief
from sfumato.laws.goodness_of_fit import binomial_fit, gaussian_fit, smallest
from sfumato.laws.law import NotHere, law, require
from sfumato.laws.transformations import member_at
from sfumato.parameters import POSITIVE, SEED, UNIT
from sfumato.protocols import Loss, Release

INDEFINITE = 1e-10
"""How far below zero rounding alone may push an eigenvalue, relative to the largest."""

FALSE_ALARM = 1e-9


@law("belief.possible", over=("prior",), cost=0.25)
def belief_is_possible(prior: Any) -> None:
    """The belief is of the declared type, and a covariance has no negative eigenvalue."""
    _require_possible(prior)
    with suppress(NotHere):
        _require_possible(_larger(prior))


LARGE = 70
"""To which a prior is enlarged."""


def _larger(prior: Any) -> Any:
    """Return the prior of a long trace, if one parameter alone says how long it is."""
    for item in type(prior).parameters():
        value, others = getattr(prior, item.name), type(prior).parameters()
        sizes = item.domain.size_names()
        alone = not any(sizes & one.domain.size_names() for one in others if one != item)
        if len(sizes) == 1 and alone and type(value) is int and item.domain.takes(LARGE):
            return with_values(prior, **{item.name: LARGE})
    raise NotHere("no parameter alone says how long a trace is")


def _require_possible(prior: Any) -> None:
    belief = prior.belief()
    require(
        isinstance(belief, type(prior).yields),
        f"the belief must be a {type(prior).yields.__name__}; got {type(belief).__name__}",
    )
    if isinstance(belief, Gaussian):
        covariance = belief.covariance.dense()
        require(np.isfinite(covariance).all(), "a covariance must be finite")
        values = np.linalg.eigvalsh(covariance)
        require(
            values[0] >= -INDEFINITE * len(values) * max(values[-1], 0.0),
            f"a covariance must have no negative eigenvalue; got {values[0]:.6g} "
            f"beside {values[-1]:.6g}",
        )
    again = rebuild(prior).belief()
    require(belief == again, "a prior that is built twice must have the same belief")
    _require_sizes(prior.sizes, belief)


def _require_sizes(sizes: Mapping[str, int], belief: Any) -> None:
    """Require that the trace is as long as the parameters say."""
    there: dict[str, int] = {}
    if isinstance(belief, Gaussian):
        there = {"n": belief.times}
    elif isinstance(belief, Markov):
        there = {"T": belief.steps}
    said = {size: sizes.get(size, found) for size, found in there.items()}
    require(said == there, f"the parameters have the sizes {said}; the belief has {there}")


ALIKE = 1e-6
"""Relative room between two ways of computing a covariance."""


@law("belief.doors", over=("prior",), cost=0.5)
def every_door_shows_one_belief(prior: Any) -> None:
    """As a formula, far apart and on fewer times, a prior says what its belief does.

    A prior that takes time stamps is a process: without one of them the others are as before.
    """
    told = _require_one_belief(prior)
    with suppress(NotHere):
        told += _require_one_belief(_larger(prior))
    if not told:
        raise NotHere("the belief is the only way in which the prior tells its covariance")


def _require_one_belief(prior: Any) -> int:
    """Require that what is told of the belief agrees with it, and return in how many ways it is."""
    belief = prior.belief()
    ways = [("as a formula", *pair) for pair in _in_taylor_numbers(prior, belief)]
    if isinstance(belief, Gaussian):
        ways += [("on fewer times", *pair) for pair in _with_fewer_times(prior, belief)]
    for how, found, expected in ways:
        room = ALIKE * float(np.abs(expected).max(initial=0.0))
        require(
            np.shape(found) == np.shape(expected) and np.allclose(found, expected, ALIKE, room),
            f"{how} the prior must say {np.asarray(expected).tolist()}, as its belief does; got "
            f"{np.asarray(found).tolist()}",
        )
    return len(ways) + _require_dies_out(prior, belief)


def _in_taylor_numbers(prior: Any, belief: Any) -> Iterator[tuple[Any, Any]]:
    """Yield what the prior's formula gives beside what the belief has."""
    found = prior.formula(TaylorNumbers(0, 0))
    if found is None:
        return
    if isinstance(belief, Gaussian):
        yield found.middle[0, :, :, 0], belief.covariance.dense()
    elif isinstance(belief, Markov):
        initial, matrix = found
        if initial is not None:
            yield initial.middle[0, 0, :, 0], belief.initial
        if belief.steps > 1:
            yield matrix.middle[0, :, :, 0], belief.matrix(0)


def _stamped(prior: Any) -> tuple[str, Any] | None:
    """Return the parameter that is the time stamps, if there is one, and its stamps."""
    for item in type(prior).parameters():
        if isinstance(item.domain, Times):
            return item.name, stamps(getattr(prior, item.name))
    return None


def _with_fewer_times(prior: Any, belief: Gaussian) -> Iterator[tuple[Any, Any]]:
    """Yield the covariance without some times, asked for so, beside that part of the whole."""
    name, times = _stamped(prior) or ("", ())
    for kept in map(slice, (0, 0, 0), (-1, None, None), (1, 2, 9)) if len(times) > 2 else ():
        with suppress(NotHere, *REFUSALS):
            fewer = with_values(prior, **{name: times[kept]}).belief()
            entries = np.arange(belief.entries).reshape(len(times), -1)[kept].ravel()
            yield fewer.covariance.dense(), belief.covariance.dense()[np.ix_(entries, entries)]


def _require_dies_out(prior: Any, belief: Any) -> int:
    """Require that no covariance is above what is said of entries that are so far apart."""
    if prior.covariance_beyond(0.0) == math.inf:
        return 0
    stamped = _stamped(prior)
    times = np.arange(belief.times, dtype=float) if stamped is None else stamped[1]
    each = np.repeat(times, belief.dimensions)
    covariance = np.abs(belief.covariance.dense())
    for distance in np.unique(np.abs(times - times[0])):
        apart = np.abs(each[:, None] - each) >= distance
        most, said = float(covariance[apart].max(initial=0.0)), prior.covariance_beyond(distance)
        require(
            most <= said * (1.0 + ALIKE),
            f"entries {distance:.6g} apart, or more, must have covariances of at most {said:.9g}, "
            f"as the prior says; one has {most:.9g}",
        )
    return 1


@law("belief.definite", over=("prior",), applies=believes(Gaussian))
def definite_belief_has_no_certain_direction(prior: Any) -> None:
    """A covariance that is said to be positive definite is so, in exact arithmetic."""
    belief = prior.belief()
    if not belief.definite:
        raise NotHere("the belief does not say that it is definite")
    settled = is_definite_belief(belief)
    if settled is None:
        raise NotHere("no exact numbers settle whether the covariance is definite")
    require(settled, "a covariance that is said to be definite must be; a pivot is not positive")


@law("belief.scale", over=("prior",), applies=has_scale, factor=POSITIVE)
def covariance_follows_its_scale(prior: Any, factor: float) -> None:
    """The covariance is proportional to the parameter that is declared to be its scale."""
    name, scale, other = _at_another_scale(prior, factor)
    expected = prior.belief().covariance.dense() * (getattr(other, name) / scale)
    found = other.belief().covariance.dense()
    require(
        np.allclose(found, expected, rtol=1e-9, atol=1e-12 * float(np.abs(expected).max())),
        f"with {factor:.6g} times the {name} the covariance must be {expected.tolist()}; "
        f"got {found.tolist()}",
    )


def _at_another_scale(prior: Any, factor: float) -> tuple[str, float, Any]:
    """Return the name of the prior's scale, its value, and the prior with `factor` times that."""
    name = type(prior).scale_parameter
    scale = getattr(prior, name)
    return name, scale, with_values(prior, **{name: scale * factor})


@law("belief.balls", over=("prior",), applies=believes(Gaussian))
def stored_belief_is_the_exact_one(prior: Any) -> None:
    """The covariance in float64 is the exact one, up to the rounding that is declared."""
    belief = prior.belief()
    if belief.exact is None:
        raise NotHere("the belief has no exact covariance to compare with")
    stored = belief.covariance.dense()
    deviations = np.sqrt(np.outer(stored.diagonal(), stored.diagonal()))
    with precision(256):
        exact = in_balls(belief, 256)
        for i, row in enumerate(stored.tolist()):
            for j, value in enumerate(row):
                off = abs(float((exact[i, j] - value).mid()))
                require(
                    off <= belief.rounding * deviations[i, j] + 1e-300,
                    f"entry ({i}, {j}) must be {float(exact[i, j].mid()):.17g} up to the declared "
                    f"rounding {belief.rounding:.3g}; got {value:.17g}",
                )


@law("belief.sampling", over=("prior",), cost=1.5, seed=SEED)
def belief_samples_itself(prior: Any, seed: int, draws: int) -> None:
    """Traces drawn from a belief have the law that the belief states."""
    belief = prior.belief()
    rng, calls = np.random.default_rng(seed), draws // 4
    for how, traces in (
        ("together", belief.sample(rng, draws)),
        ("one by one", [belief.sample(rng) for _ in range(calls)]),
    ):
        if isinstance(belief, Gaussian):
            rows = np.array(traces).reshape(len(traces), -1)
            centre = 0.0 if belief.mean is None else belief.mean
            p_value, what = gaussian_fit(rows - centre, belief.covariance.dense(), 0.0)
        elif isinstance(belief, Markov):
            p_value, what = _chain_fit(belief, traces)
        else:
            raise NotHere(f"no test of fit is known for {type(belief).__name__} beliefs")
        require(
            p_value > FALSE_ALARM / 2,
            f"traces must have the law that is believed; {what} has p-value {p_value:.3g} "
            f"over {len(traces)} draws, {how}",
        )


def _chain_fit(belief: Markov, traces: Any) -> tuple[float, str]:
    """Test the frequency of every state and every step, each count binomial given the last."""
    paths = np.array([belief.encode(trace) for trace in traces])
    marginals = belief.marginals()
    found = [
        (binomial_fit(int((paths[:, t] == m).sum()), len(paths), marginals[t, m]), "a state")
        for t in range(belief.steps)
        for m in range(belief.state_count)
    ]
    for time in range(belief.steps - 1):
        for now in range(belief.state_count):
            there = paths[paths[:, time] == now, time + 1]
            found += [
                (binomial_fit(int((there == m).sum()), len(there), chance), "a step")
                for m, chance in enumerate(belief.matrix(time)[now])
                if len(there)
            ]
    return smallest(found)


SAME = 1e-9
"""Relative room between two runs of the same computation."""


def _worst_at_an_end(classes: Mapping[str, Any]) -> bool:
    return classes["measure"].worst_scale is not None


@law("class.member", over=("measure",), cost=2, place=UNIT)
def at_least_each_member(
    prior_class: Any, secret: Any, mechanism: Any, measure: Any, place: float
) -> None:
    """The loss of a class is at least as bad as each member's, also of members not looked at."""
    # Any release will do; one designed for a single member is quickly designed.
    release = design(mechanism, next(prior_class.members()), secret)
    whole = measure.loss(prior_class, secret, release)
    sign = whole.quantity.sign
    attained = measure.loss(whole.worst, secret, release)
    proved = whole.bound != "estimate" and whole.interval is not None  # its other end is attained
    room = (SAME + attained.relative_error) * abs(attained.value)
    require(
        whole.interval[0] - room <= attained.value <= whole.interval[1] + room
        if proved
        else max(_excess(direction, attained, whole) for direction in (1, -1)) <= 0,
        f"the member that a loss names must attain it: {whole} for the class, {attained} for "
        f"{whole.worst}",
    )
    for other in (place, (place + 1 / 3) % 1, (place + 2 / 3) % 1):
        anywhere = measure.loss(member_at(prior_class, other), secret, release)
        require_no_worse(anywhere, whole, sign, "choosing one member of the class")
    listed = list(prior_class.members())
    for member in listed:
        one = measure.loss(member, secret, release)
        require_no_worse(one, whole, sign, "choosing a member that the class lists")
        require(
            member not in (listed[0], listed[-1]) or _excess(sign, one, whole) <= 0,
            f"the loss found for the class must be at least as bad as at its ends: "
            f"{whole} against {one} for {member}",
        )


def _excess(sign: int, one: Loss, other: Loss) -> float:
    """Return by how much more than rounding one value is worse than another; equal ones by none."""
    if one.value == other.value:
        return 0.0
    if math.isinf(one.value) or math.isinf(other.value):
        return sign * (one.value - other.value)
    room = (SAME + one.relative_error + other.relative_error) * abs(other.value)
    return sign * (one.value - other.value) - room


@law("class.scale", over=("measure",), applies=both(_worst_at_an_end, has_scale), factor=POSITIVE)
def worst_end_of_the_scale(
    prior: Any, secret: Any, release: Release, measure: Any, factor: float
) -> None:
    """The loss is worst at that end of the prior's scale which the measure declares."""
    name, _, other = _at_another_scale(prior, factor)
    low, high = sorted((prior, other), key=lambda member: float(getattr(member, name)))
    better, worse = (high, low) if measure.worst_scale == "low" else (low, high)
    require_no_worse(
        measure.loss(better, secret, release),
        measure.loss(worse, secret, release),
        measure.quantity.sign,
        f"moving away from the {measure.worst_scale} end of the scale",
    )
