"""What a mechanism promises, it keeps; and losses move the declared way with what is asked."""
# ruff: noqa: D401 - a law is a statement, not a command

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.channels import AdditiveGaussian, NoisyVectors, Suppression, Symbols
from sfumato.laws.brute_force import between, expected_releases, measures_of, true_value
from sfumato.laws.capabilities import (
    both,
    counts_loss,
    design,
    falls_with_information,
    releases,
    require_channel_no_worse,
    require_no_worse,
    takes,
    text_of,
    value_of,
    value_or_skip,
    with_values,
)
from sfumato.laws.law import NotHere, law, require
from sfumato.laws.transformations import more_suppressed, noisier
from sfumato.parameters import OPEN_UNIT, POSITIVE, SEED
from sfumato.protocols import Quantity, Reading, Release, Situation
from sfumato.quantities import (
    EXPECTED_RELEASES,
    MEAN_SQUARED_ERROR,
    NOISE_VARIANCE,
    POSTERIOR_GAP,
    renyi_divergence,
)

KEPT = 1e-6
"""Relative room for a promise: far more than rounding, far less than anyone would miss."""


def _worst(release: Release, quantity: Quantity) -> Reading:
    """Return what brute force knows of the worst value over the members that the class lists."""
    members = release.prior.members()
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
    truth = _worst(release, release.utility_quantity)
    room = KEPT * max(abs(truth.ceiling), 1e-9)
    require(
        truth.floor - room <= release.utility() <= truth.ceiling + room,
        f"the {release.utility_quantity} must be {text_of(truth)}, as the channel has it; "
        f"the release says {release.utility():.12g}",
    )


@law(
    "budget.class",
    over=("mechanism",),
    applies=takes("mechanism", "mse", "epsilon", "delta"),
    cost=2,
)
def promise_is_for_every_member(prior_class: Any, secret: Any, mechanism: Any) -> None:
    """What a mechanism promises it keeps for every member of the class it was designed for."""
    if not prior_class.finite or len(list(prior_class.members())) < 2:
        raise NotHere("the class does not list several members")
    release = design(mechanism, prior_class, secret)
    require(release.prior == prior_class, "the release must be for the whole class it is asked for")
    utility_is_what_it_says.statement(release)
    for name in ("epsilon", "delta"):
        if value_of(mechanism, name) is not None:
            _require_kept(release, name)


@law("budget.mse", over=("mechanism",), applies=takes("mechanism", "mse"))
def noise_budget_is_kept(prior: Any, secret: Any, mechanism: Any) -> None:
    """A mechanism with ``mse=`` adds no more noise than that, and what it reports."""
    value_or_skip(mechanism, "mse")
    release = design(mechanism, prior, secret)
    if not isinstance(release.channel, AdditiveGaussian):
        raise NotHere("the release adds no Gaussian noise")
    _require_kept(release, "mse")


@law("budget.epsilon", over=("mechanism",), applies=takes("mechanism", "epsilon"))
def allowed_loss_is_kept(prior: Any, secret: Any, mechanism: Any) -> None:
    """A mechanism with ``epsilon=`` and ``order=`` has at most that Rényi divergence."""
    value_or_skip(mechanism, "epsilon")
    _require_kept(design(mechanism, prior, secret), "epsilon")


@law("budget.delta", over=("mechanism",), applies=takes("mechanism", "delta"))
def allowed_gap_is_kept(prior: Any, secret: Any, mechanism: Any) -> None:
    """A mechanism with ``delta=`` raises no secret event's probability by more than that."""
    value_or_skip(mechanism, "delta")
    _require_kept(design(mechanism, prior, secret), "delta")


def _require_kept(release: Release, name: str) -> None:
    """Require that no more than the mechanism's budget of that name is spent."""
    allowed = getattr(release.mechanism, name)
    if name == "mse":
        quantity, room = MEAN_SQUARED_ERROR, KEPT * allowed
    elif name == "delta":
        quantity, room = POSTERIOR_GAP, 1e-9
    else:
        quantity, room = renyi_divergence(value_or_skip(release.mechanism, "order")), KEPT * allowed
    spent = _worst(release, quantity).floor
    require(
        spent <= allowed + room,
        f"at most {name} = {allowed:.9g} may be spent; the channel has {spent:.9g}",
    )


@law(
    "monotone.noise",
    over=("measure",),
    applies=both(falls_with_information, releases(AdditiveGaussian)),
    seed=SEED,
    amount=POSITIVE,
)
def more_noise_loses_less(at: Situation, measure: Any, seed: int, amount: float) -> None:
    """With a larger noise covariance, in the order of matrices, the loss is no worse."""
    if not isinstance(at.channel, AdditiveGaussian):
        raise NotHere("the release adds no Gaussian noise")
    louder = noisier(at.channel, np.random.default_rng(seed), amount)
    require_channel_no_worse(measure, at, louder, "adding noise")


@law(
    "monotone.suppression",
    over=("measure",),
    applies=both(falls_with_information, releases(Suppression)),
    seed=SEED,
)
def more_suppression_loses_less(at: Situation, measure: Any, seed: int) -> None:
    """With larger memoryless suppression probabilities, the loss is no worse."""
    if not isinstance(at.channel, Suppression) or at.channel.after is not None:
        raise NotHere("the release is not memoryless suppression")
    less = more_suppressed(at.channel, np.random.default_rng(seed))
    require_channel_no_worse(measure, at, less, "suppressing more")


@law(
    "monotone.radius",
    over=("secret", "measure"),
    applies=both(counts_loss, takes("secret", "radius")),
    share=OPEN_UNIT,
)
def smaller_radius_loses_less(
    prior: Any, secret: Any, release: Release, measure: Any, share: float
) -> None:
    """With a smaller radius, the loss is no worse."""
    before = measure.loss(prior, secret, release)
    after = measure.loss(prior, with_values(secret, radius=secret.radius * share), release)
    require_no_worse(after, before, measure.quantity.sign, "a smaller radius")


@law(
    "monotone.mistakes",
    over=("secret", "measure"),
    applies=both(counts_loss, takes("secret", "mistakes")),
)
def fewer_mistakes_lose_less(prior: Any, secret: Any, release: Release, measure: Any) -> None:
    """With fewer allowed mistakes, the loss is no worse."""
    if secret.mistakes == 0:
        raise NotHere("no fewer mistakes than none")
    before = measure.loss(prior, secret, release)
    after = measure.loss(prior, with_values(secret, mistakes=secret.mistakes - 1), release)
    require_no_worse(after, before, measure.quantity.sign, "fewer mistakes")


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
    milder = with_values(measure, order=1.0 + (value_or_skip(measure, "order") - 1.0) * share)
    before, after = (one.loss(prior, secret, release) for one in (measure, milder))
    require_no_worse(after, before, measure.quantity.sign, "a lower order")


@law(
    "monotone.budget",
    over=("mechanism",),
    applies=takes("mechanism", "mse", "epsilon"),
    cost=2,
    factor=OPEN_UNIT,
)
def larger_budget_costs_less(prior: Any, secret: Any, mechanism: Any, factor: float) -> None:
    """A smaller noise budget is not more noise, and a larger allowed loss not less useful."""
    mse = value_of(mechanism, "mse")
    if mse is not None:
        tight = with_values(mechanism, mse=mse * factor)
    else:  # a larger allowed loss needs less noise
        tight = with_values(mechanism, epsilon=value_or_skip(mechanism, "epsilon") / factor)
    loose, small = (design(one, prior, secret) for one in (mechanism, tight))
    require(
        small.utility() <= loose.utility() * (1 + 1e-5),
        f"the utility must follow the budget: {small.utility():.9g} for {tight}, "
        f"{loose.utility():.9g} for {mechanism}",
    )


SEARCH = 0.25
"""The share of releases that a search may miss: greedy ones are not monotone in what they may do,
and settle in places that are worse by several hundredths."""


@law(
    "monotone.gap",
    over=("mechanism",),
    applies=takes("mechanism", "delta"),
    cost=3,
    share=OPEN_UNIT,
)
def larger_gap_releases_more(prior: Any, secret: Any, mechanism: Any, share: float) -> None:
    """With a larger allowed gap no less is released, up to what a search may miss.

    Whatever is private for delta is so for a larger one, so the best utility cannot fall. A search
    may miss a quarter of it, but not at delta = 1, where nothing is forbidden.
    """
    allowed = value_or_skip(mechanism, "delta")
    tight = design(mechanism, prior, secret)
    if tight.utility_quantity != EXPECTED_RELEASES:
        raise NotHere("the release does not count what it releases")
    between = allowed + (1.0 - allowed) * share
    for delta, missed in ((between, SEARCH), (1.0, 0.0)):
        loose = design(with_values(mechanism, delta=delta), prior, secret)
        require(
            loose.utility() >= tight.utility() * (1.0 - missed) - 1e-9,
            f"a larger allowed gap must not release less: {tight.utility():.9g} for "
            f"delta = {allowed:.9g}, {loose.utility():.9g} for delta = {delta:.9g}",
        )
