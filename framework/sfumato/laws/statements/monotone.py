"""More noise, more suppression, a smaller secret: the loss moves the declared way."""
# ruff: noqa: D401 - a law is a statement, not a command

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.channels import AdditiveGaussian, Suppression
from sfumato.laws.capabilities import (
    both,
    changed,
    counts_loss,
    designed,
    falls_with_information,
    given,
    releases,
    require_channel_no_worse,
    require_no_worse,
    takes,
    value_of,
)
from sfumato.laws.law import NotHere, law, require
from sfumato.laws.transformations import more_suppressed, noisier
from sfumato.parameters import OPEN_UNIT, POSITIVE, SEED
from sfumato.protocols import Release, Situation
from sfumato.quantities import EXPECTED_RELEASES


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
    after = measure.loss(prior, changed(secret, radius=secret.radius * share), release)
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
    after = measure.loss(prior, changed(secret, mistakes=secret.mistakes - 1), release)
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
    milder = changed(measure, order=1.0 + (given(measure, "order") - 1.0) * share)
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
        tight = changed(mechanism, mse=mse * factor)
    else:  # a larger allowed loss needs less noise
        tight = changed(mechanism, epsilon=given(mechanism, "epsilon") / factor)
    loose, small = (designed(one, prior, secret) for one in (mechanism, tight))
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
    allowed = given(mechanism, "delta")
    tight = designed(mechanism, prior, secret)
    if tight.utility_quantity != EXPECTED_RELEASES:
        raise NotHere("the release does not count what it releases")
    between = allowed + (1.0 - allowed) * share
    for delta, missed in ((between, SEARCH), (1.0, 0.0)):
        loose = designed(changed(mechanism, delta=delta), prior, secret)
        require(
            loose.utility() >= tight.utility() * (1.0 - missed) - 1e-9,
            f"a larger allowed gap must not release less: {tight.utility():.9g} for "
            f"delta = {allowed:.9g}, {loose.utility():.9g} for delta = {delta:.9g}",
        )
