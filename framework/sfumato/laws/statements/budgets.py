"""What a mechanism promises, it keeps; what its release reports, is so."""
# ruff: noqa: D401 - a law is a statement, not a command

from __future__ import annotations

from typing import Any

from sfumato.channels import AdditiveGaussian, NoisyVectors, Symbols
from sfumato.laws.brute_force import between, expected_releases, measures_of, true_value
from sfumato.laws.capabilities import designed, given, takes, text_of, value_of
from sfumato.laws.law import NotHere, law, require
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
    release = designed(mechanism, prior_class, secret)
    require(release.prior == prior_class, "the release must be for the whole class it is asked for")
    utility_is_what_it_says.statement(release)
    for name in ("epsilon", "delta"):
        if value_of(mechanism, name) is not None:
            _require_kept(release, name)


@law("budget.mse", over=("mechanism",), applies=takes("mechanism", "mse"))
def noise_budget_is_kept(prior: Any, secret: Any, mechanism: Any) -> None:
    """A mechanism with ``mse=`` adds no more noise than that, and what it reports."""
    given(mechanism, "mse")
    release = designed(mechanism, prior, secret)
    if not isinstance(release.channel, AdditiveGaussian):
        raise NotHere("the release adds no Gaussian noise")
    _require_kept(release, "mse")


@law("budget.epsilon", over=("mechanism",), applies=takes("mechanism", "epsilon"))
def allowed_loss_is_kept(prior: Any, secret: Any, mechanism: Any) -> None:
    """A mechanism with ``epsilon=`` and ``order=`` has at most that Rényi divergence."""
    given(mechanism, "epsilon")
    _require_kept(designed(mechanism, prior, secret), "epsilon")


@law("budget.delta", over=("mechanism",), applies=takes("mechanism", "delta"))
def allowed_gap_is_kept(prior: Any, secret: Any, mechanism: Any) -> None:
    """A mechanism with ``delta=`` raises no secret event's probability by more than that."""
    given(mechanism, "delta")
    _require_kept(designed(mechanism, prior, secret), "delta")


def _require_kept(release: Release, name: str) -> None:
    """Require that no more than the mechanism's budget of that name is spent."""
    allowed = getattr(release.mechanism, name)
    if name == "mse":
        quantity, room = MEAN_SQUARED_ERROR, KEPT * allowed
    elif name == "delta":
        quantity, room = POSTERIOR_GAP, 1e-9
    else:
        quantity, room = renyi_divergence(given(release.mechanism, "order")), KEPT * allowed
    spent = _worst(release, quantity).floor
    require(
        spent <= allowed + room,
        f"at most {name} = {allowed:.9g} may be spent; the channel has {spent:.9g}",
    )
