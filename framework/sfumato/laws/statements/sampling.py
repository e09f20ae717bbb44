"""What `apply` draws has the law that the channel claims."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sfumato.channels import AdditiveGaussian, NoisyVectors, Symbols
from sfumato.laws.capabilities import above, designed, takes
from sfumato.laws.law import NotHere, law, require
from sfumato.laws.operations.contents import outputs_equal, sampled_at_once
from sfumato.laws.operations.samples import worst_p_value
from sfumato.laws.oracles.bracket import Bracket
from sfumato.laws.oracles.lookup import true_value
from sfumato.parameters import SEED
from sfumato.protocols import Quantity, Release
from sfumato.quantities import MEAN_SQUARED_ERROR, NOISE_VARIANCE, POSTERIOR_GAP

# ruff: noqa: D401 - a law is a statement, not a command


FALSE_ALARM = 1e-9
"""The chance that an honest sampler is rejected, over all stages of one example."""

STAGES = 3
"""A suspicious sample is followed by a four times larger one, at most so often."""

CALLS_SHARE = 4
"""So many times fewer single calls than draws at once, which are far quicker."""

FRESH = 160
"""Calls without a seed: enough for a repeated draw to stand out."""

SUSPICIOUS = 1e-2
"""Stopping early without suspicion costs power, never false alarms."""


@law("sampling.honest", over=("mechanism",), cost=3, seed=SEED)
def draws_as_claimed(prior: Any, secret: Any, mechanism: Any, seed: int, draws: int) -> None:
    """What `apply` draws has the law that the channel claims.

    Two sequences of tests, of single calls and of many draws at once, with false-alarm probability
    1e-9 together: the level is split evenly over their stages, and every statistic has an exact or
    conservative null law.
    """
    release = designed(mechanism, prior, secret)
    rng = np.random.default_rng(seed)
    trace = next(prior.members()).belief().sample(rng)
    channel = release.channel

    def one_by_one(count: int) -> Any:
        return [release.apply(trace, rng) for _ in range(count)]

    def at_once(count: int) -> Any:
        return sampled_at_once(channel, trace, rng, count)

    _require_honest(channel, trace, one_by_one, max(draws // CALLS_SHARE, 200), "apply")
    _require_honest(channel, trace, at_once, draws, "the channel, asked for many at once,")


def _require_honest(
    channel: Any, trace: Any, sample: Callable[[int], Any], count: int, who: str
) -> None:
    for _ in range(STAGES):
        p_value, what = worst_p_value(channel, trace, sample(count))
        require(
            p_value > FALSE_ALARM / (2 * STAGES),
            f"{who} must draw what the channel claims; {what} has p-value {p_value:.3g} "
            f"over {count} draws",
        )
        if p_value > SUSPICIOUS:
            return
        count *= 4


@law("sampling.seeds", over=("mechanism",), seed=SEED)
def same_seed_same_draw(prior: Any, secret: Any, mechanism: Any, seed: int) -> None:
    """The same seed gives the same draw; calls without a seed draw independently."""
    release = designed(mechanism, prior, secret)
    trace = next(prior.members()).belief().sample(np.random.default_rng(seed))
    first = _many(release, trace, np.random.default_rng(seed), 6)
    again = _many(release, trace, np.random.default_rng(seed), 6)
    require(
        all(outputs_equal(a, b) for a, b in zip(first, again, strict=True)),
        f"the same seed must give the same draws; got {first} and {again}",
    )
    p_value, what = worst_p_value(release.channel, trace, _many(release, trace, None, FRESH))
    require(
        p_value > FALSE_ALARM,
        f"calls without a seed must draw independently; {what} has p-value {p_value:.3g} "
        f"over {FRESH} calls",
    )


def _many(release: Any, trace: Any, rng: np.random.Generator | None, count: int) -> list[Any]:
    return [release.apply(trace, rng) for _ in range(count)]


# ruff: noqa: D401 - a law is a statement, not a command


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
