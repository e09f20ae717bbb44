"""What a mechanism promises, it keeps; and losses move the declared way with what is asked."""
# ruff: noqa: D401 - a law is a statement, not a command

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from sfumato.beliefs import Gaussian, Markov
from sfumato.channels import NoisyVectors, Symbols
from sfumato.errors import REFUSALS, ParameterError
from sfumato.laws.brute_force import between, expected_releases, measures_of, true_value
from sfumato.laws.capabilities import (
    UTILITIES,
    both,
    counts_loss,
    design,
    keeps,
    promise_or_skip,
    promised,
    read,
    require_no_worse,
    takes,
    text_of,
    value_of,
    value_or_skip,
    with_values,
)
from sfumato.laws.law import NotHere, Unverified, law, require
from sfumato.laws.transformations import Changed, member_at
from sfumato.parameters import OPEN_UNIT, UNIT
from sfumato.protocols import Quantity, Reading, Release, Situation
from sfumato.quantities import EXPECTED_RELEASES, NOISE_VARIANCE, POSTERIOR_GAP
from sfumato.questions import JointStates, Nearness

KEPT = 1e-6
"""Relative room for a promise: far more than rounding, far less than anyone would miss."""


def _worst(release: Release, quantity: Quantity, members: Iterable[Any]) -> Reading:
    """Return what brute force knows of the worst value over the members."""
    found = [_truth(quantity, release.situation(m, release.secret)) for m in members]
    pick = max if quantity.sign > 0 else min
    return between(pick(one.floor for one in found), pick(one.ceiling for one in found))


def _truth(quantity: Quantity, at: Situation) -> Reading:
    """Return what brute force knows of a quantity, which no measure of the release is asked for."""
    if quantity == NOISE_VARIANCE:
        return Reading(value=_noise_variance(at.channel), bound="exact")
    if quantity == EXPECTED_RELEASES:
        return Reading(value=expected_releases(at.belief, at.channel), bound="exact")
    for check in measures_of(quantity):
        found = true_value(check, at)
        if found is not None:
            return found
    for known in UTILITIES:
        if known != quantity and known.name in quantity.name.casefold():
            raise Unverified(
                f"nothing can check the {quantity}, which must follow from the {known}: report that"
            )
    raise NotHere(f"no brute force finds the quantity '{quantity.name}' here")


def _noise_variance(channel: Any) -> float:
    if isinstance(channel, NoisyVectors):
        return channel.scale**2
    if isinstance(channel, Symbols):
        return 0.0
    raise NotHere(f"the noise of {type(channel).__name__} channels is not known")


@law("budget.utility", over=("mechanism",))
def utility_is_what_it_says(release: Release) -> None:
    """The utility that a release reports is the utility of its channel."""
    truth = _worst(release, release.utility_quantity, release.prior.members())
    room = KEPT * max(abs(truth.ceiling), 1e-9)
    require(
        truth.floor - room <= release.utility() <= truth.ceiling + room,
        f"the {release.utility_quantity} must be {text_of(truth)}, as the channel has it; "
        f"the release says {release.utility():.12g}",
    )


@law("budget.class", over=("mechanism",), applies=keeps(), cost=2, place=UNIT)
def promise_is_for_every_member(
    prior_class: Any, secret: Any, mechanism: Any, place: float
) -> None:
    """What a mechanism promises it keeps for every member of the class it was designed for."""
    if prior_class.finite and len(list(prior_class.members())) < 2:
        raise NotHere("the class has one member")
    release = design(mechanism, prior_class, secret)
    require(release.prior == prior_class, "the release must be for the whole class it is asked for")
    listed = list(prior_class.members())
    places = () if prior_class.finite else (place, (place + 1 / 3) % 1, (place + 2 / 3) % 1)
    inside = [member_at(prior_class, other) for other in places]
    if prior_class.finite:
        utility_is_what_it_says.statement(release)
    for parameter, measure in promised(mechanism):
        spent = _worst(release, measure.quantity, [*listed, *inside])
        _require_kept(release, parameter, measure, spent)


@law("budget.promise", over=("mechanism",), applies=keeps())
def promise_is_kept(prior: Any, secret: Any, mechanism: Any) -> None:
    """By the measure that a mechanism names for a parameter, no more is lost than its value.

    Nor where the pairs of a secret have two radii.
    """
    every = list(promised(mechanism))
    if not every:
        raise NotHere("no parameter that promises something is given")
    _require_all_kept(design(mechanism, prior, secret), every)
    if value_of(secret, "radius") is not None:
        wider = secret | with_values(secret, radius=4.0 * secret.radius)
        with suppress(NotHere, *REFUSALS):
            _require_all_kept(design(mechanism, prior, wider), every)


def _require_all_kept(release: Release, every: Iterable[tuple[str, Any]]) -> None:
    for parameter, measure in every:
        spent = _worst(release, measure.quantity, [release.prior])
        _require_kept(release, parameter, measure, spent)


LARGER: dict[type, tuple[dict[str, Any], ...]] = {
    Gaussian: ({"extra": 1}, {"extra": 40}),
    Markov: ({"extra": 1}, {"extra": 9}, {"states": 8}),
}
"""What is added to a world; what is designed for chains is often searched for."""


@law("budget.size", over=("mechanism",), cost=2)
def promise_is_kept_in_large_worlds(prior: Any, secret: Any, mechanism: Any) -> None:
    """What a mechanism promises in a small world it keeps of long traces, and of many states."""
    tried, belief, joint = 0, prior.belief(), False
    with suppress(ParameterError):  # `design` says so, too
        joint = isinstance(secret.question(belief), JointStates)
    for more in LARGER.get(type(belief), ()):
        if joint and "states" in more:
            continue  # they would have hundreds of joint values
        larger = Changed(prior=prior, **more)
        with suppress(NotHere, *REFUSALS):  # such as a search that is for short traces
            release = design(mechanism, larger, secret)
            at = release.situation(larger, secret)
            for parameter, measure in promised(mechanism):
                _require_kept(release, parameter, measure, read(measure, at))
                tried += 1
            utility_is_what_it_says.statement(release)
            tried += 1
    if not tried:
        raise NotHere("nothing is known of what is released in larger worlds")


def _require_kept(release: Release, parameter: str, measure: Any, spent: Reading) -> None:
    """Require that no more than the value of the parameter is spent."""
    allowed, quantity = getattr(release.mechanism, parameter), measure.quantity
    spent_at_least = spent.floor if quantity.sign > 0 else spent.ceiling
    room = 1e-9 if quantity.unit == "probability" else KEPT * abs(allowed)
    require(
        quantity.sign * (spent_at_least - allowed) <= room,
        f"at most {parameter} = {allowed:.9g} may be spent; the channel has {spent_at_least:.9g} "
        f"of {quantity}",
    )


@law(
    "monotone.secret",
    over=("secret", "measure"),
    applies=both(counts_loss, takes("secret", "radius", "mistakes")),
    share=OPEN_UNIT,
)
def smaller_secret_loses_less(
    prior: Any, secret: Any, release: Release, measure: Any, share: float
) -> None:
    """With a smaller radius, or with fewer allowed mistakes, the loss is no worse."""
    promise_or_skip(measure, "grows with the secret")
    if isinstance(secret.question(prior.belief()), Nearness):
        raise NotHere("being nearer a place is another event, not a smaller secret")
    before = measure.loss(prior, secret, release)
    radius, mistakes = value_of(secret, "radius"), value_of(secret, "mistakes")
    smaller = {"radius": radius * share} if radius else {"mistakes": (mistakes or 0) - 1}
    after = measure.loss(prior, with_values(secret, **smaller), release)
    require_no_worse(after, before, measure.quantity.sign, f"a smaller {next(iter(smaller))}")


@law(
    "monotone.order",
    over=("measure",),
    applies=both(counts_loss, takes("measure", "order")),
    share=OPEN_UNIT,
)
def lower_order_loses_less(
    prior: Any, secret: Any, release: Release, measure: Any, share: float
) -> None:
    """With a lower Rényi order, the loss is no worse."""
    promise_or_skip(measure, "grows with its order")
    milder = with_values(measure, order=1.0 + (value_or_skip(measure, "order") - 1.0) * share)
    before, after = (one.loss(prior, secret, release) for one in (measure, milder))
    require_no_worse(after, before, measure.quantity.sign, "a lower order")


SEARCH = 0.25
"""The share of releases that a search may miss: greedy ones are not monotone in what they may do,
and settle in places that are worse by several hundredths."""


@law("monotone.budget", over=("mechanism",), applies=keeps(), cost=2, share=OPEN_UNIT)
def larger_budget_costs_less(prior: Any, secret: Any, mechanism: Any, share: float) -> None:
    """A smaller noise budget is not more noise, and a larger allowed loss not less useful.

    What is searched for a posterior gap may miss a quarter of the releases, but none where
    everything is allowed.
    """
    found = next(promised(mechanism), None)
    if found is None:
        raise NotHere("no parameter promises noise or a loss")
    parameter, measure = found
    value = getattr(mechanism, parameter)
    cheaper = {value / share if counts_loss({"measure": type(measure)}) else value * share: 1e-5}
    if measure.quantity == POSTERIOR_GAP:
        cheaper = {value + (1.0 - value) * share: SEARCH, 1.0: 1e-9}
    asked = design(mechanism, prior, secret)
    sign = asked.utility_quantity.sign
    for budget, missed in cheaper.items():
        other = with_values(mechanism, **{parameter: budget})
        better = design(other, prior, secret)
        require(
            sign * (better.utility() - asked.utility()) <= missed * abs(asked.utility()) + 1e-12,
            f"the utility must follow the budget: {better.utility():.9g} for {other}, "
            f"{asked.utility():.9g} for {mechanism}",
        )
