"""A mechanism keeps the promise that its parameters make."""
# ruff: noqa: D401 - a law is a statement, not a command

from __future__ import annotations

from typing import Any

from sfumato.channels import AdditiveGaussian, NoisyVectors, Symbols
from sfumato.laws.capabilities import takes
from sfumato.laws.law import law
from sfumato.laws.losses import above, designed
from sfumato.laws.oracles.bracket import Bracket
from sfumato.laws.oracles.lookup import true_value
from sfumato.laws.violation import NotHere, require
from sfumato.protocols import Quantity, Release
from sfumato.quantities import MEAN_SQUARED_ERROR, NOISE_VARIANCE, POSTERIOR_GAP

KEPT = 1e-6
"""Relative room for a promise: far more than rounding, far less than anyone would miss."""


def _worst(release: Release, quantity: Quantity) -> Bracket:
    """Return what is known of the worst true value over the members that the class lists."""
    found = []
    for member in release.prior.members():
        belief = member.belief()
        question = release.secret.question(belief)
        found.append(true_value(quantity, belief, question, release.channel))
    pick = max if quantity.sign > 0 else min
    return Bracket(pick(one.low for one in found), pick(one.high for one in found))


@law("budget.utility", over=("mechanism",))
def utility_is_what_it_says(prior: Any, secret: Any, mechanism: Any) -> None:
    """The utility that a release reports is the utility of its channel."""
    _require_utility(designed(mechanism, prior, secret))


def _require_utility(release: Release) -> None:
    quantity = release.utility_quantity
    if quantity == NOISE_VARIANCE:
        truth = Bracket.of(_noise_variance(release.channel))
    else:
        truth = _worst(release, quantity)
    room = KEPT * max(abs(truth.high), 1e-9)
    require(
        truth.low - room <= release.utility() <= truth.high + room,
        f"the {quantity} must be {truth}, as the channel has it; "
        f"the release says {release.utility():.12g}",
    )


def _noise_variance(channel: Any) -> float:
    if isinstance(channel, NoisyVectors):
        return channel.scale**2
    if isinstance(channel, Symbols):
        return 0.0
    raise NotHere(f"the noise of {type(channel).__name__} channels is not known")


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
    _require_utility(release)
    if getattr(mechanism, "epsilon", None) is not None:
        _require_epsilon(release, mechanism)
    if getattr(mechanism, "delta", None) is not None:
        _require_delta(release, mechanism)


@law("budget.mse", over=("mechanism",), applies=takes("mechanism", "mse"))
def noise_budget_is_kept(prior: Any, secret: Any, mechanism: Any) -> None:
    """A mechanism with ``mse=`` adds no more noise than that, and what it reports."""
    if mechanism.mse is None:
        raise NotHere("no noise budget is given")
    release = designed(mechanism, prior, secret)
    if not isinstance(release.channel, AdditiveGaussian):
        raise NotHere("the release adds no Gaussian noise")
    spent = _worst(release, MEAN_SQUARED_ERROR).low
    require(
        not above(spent, mechanism.mse, KEPT),
        f"at most mse = {mechanism.mse:.9g} may be spent; the channel has {spent:.9g}",
    )


@law("budget.epsilon", over=("mechanism",), applies=takes("mechanism", "epsilon"))
def allowed_loss_is_kept(prior: Any, secret: Any, mechanism: Any) -> None:
    """A mechanism with ``epsilon=`` and ``order=`` has at most that Rényi divergence."""
    if mechanism.epsilon is None:
        raise NotHere("no allowed loss is given")
    _require_epsilon(designed(mechanism, prior, secret), mechanism)


def _require_epsilon(release: Release, mechanism: Any) -> None:
    quantity = Quantity("Rényi divergence", {"order": float(mechanism.order)}, unit="nats")
    lost = _worst(release, quantity).low
    require(
        not above(lost, mechanism.epsilon, KEPT),
        f"at most epsilon = {mechanism.epsilon:.9g} may be lost; the loss is {lost:.9g}",
    )


@law("budget.delta", over=("mechanism",), applies=takes("mechanism", "delta"))
def allowed_gap_is_kept(prior: Any, secret: Any, mechanism: Any) -> None:
    """A mechanism with ``delta=`` raises no secret event's probability by more than that."""
    if mechanism.delta is None:
        raise NotHere("no allowed gap is given")
    _require_delta(designed(mechanism, prior, secret), mechanism)


def _require_delta(release: Release, mechanism: Any) -> None:
    gap = _worst(release, POSTERIOR_GAP).low
    require(
        gap <= mechanism.delta + 1e-9,
        f"at most delta = {mechanism.delta:.9g} may be learnt; an output gives {gap:.9g}",
    )
