"""What is only a way of writing changes nothing, and post-processing tells nothing new."""
# ruff: noqa: D401 - a law is a statement, not a command

from __future__ import annotations

from contextlib import suppress
from typing import Any

import attrs
import numpy as np

from sfumato.beliefs import Gaussian, Markov
from sfumato.channels import AdditiveGaussian
from sfumato.laws.capabilities import (
    believes,
    counts_loss,
    design,
    falls_with_information,
    promise_or_skip,
    read,
    require_agreement,
    require_channel_no_worse,
    require_no_worse,
)
from sfumato.laws.law import NotHere, law, require
from sfumato.laws.transformations import (
    Changed,
    channel_of_permuted_states,
    garble,
    identity,
    padded,
    question_in_units,
    question_of_permuted_states,
    question_shifted,
    repeated,
    silent,
    value_in_units,
)
from sfumato.parameters import POSITIVE, SEED
from sfumato.protocols import Reading, Release, Situation
from sfumato.quantities import POSTERIOR_GAP
from sfumato.questions import Displacements, StateAt


@law("invariance.mean", over=("measure",), applies=believes(Gaussian), seed=SEED)
def mean_does_not_matter(at: Situation, measure: Any, seed: int) -> None:
    """Shifting the mean of a Gaussian belief, and any place with it, changes no loss."""
    shift = 10.0 * np.random.default_rng(seed).standard_normal(at.belief.entries)
    mean = shift if at.belief.mean is None else at.belief.mean + shift
    belief = attrs.evolve(at.belief, mean=mean)
    shifted = attrs.evolve(at, belief=belief, question=question_shifted(at.question, shift))
    _require_same(measure, at, shifted, "shifting the mean")


def _require_same(measure: Any, at: Situation, other: Situation, change: str) -> None:
    require_agreement(read(measure, at), read(measure, other), change)


@law("invariance.design", over=("mechanism",), applies=believes(Gaussian), cost=2, seed=SEED)
def mean_does_not_matter_to_a_design(
    prior: Any, secret: Any, mechanism: Any, release: Release, seed: int
) -> None:
    """Shifting the mean of a Gaussian belief changes nothing that is designed for it."""
    shift = 10.0 * np.random.default_rng(seed).standard_normal(prior.belief().entries)
    other = design(mechanism, Changed(prior=prior, mean=shift), secret)
    if not isinstance(release.channel, AdditiveGaussian):
        raise NotHere("the release adds no Gaussian noise")
    one, two = release.channel.covariance(), other.channel.covariance()
    require(
        np.allclose(one, two, rtol=1e-6, atol=1e-9 * float(np.abs(one).max())),
        f"with another mean the noise must be {one.tolist()}; got {two.tolist()}",
    )
    worth = release.utility(), other.utility()
    require(np.isclose(*worth, rtol=1e-6), f"another mean must not change the utility; got {worth}")


@law("invariance.padding", over=("measure",), applies=falls_with_information, seed=SEED)
def what_does_not_matter_changes_nothing(at: Situation, measure: Any, seed: int) -> None:
    """Entries that are independent, states nobody is in and untold steps change no loss."""
    if any(
        issubclass(type(at.belief), belief) and question is object
        for belief, question, _ in measure.reads
    ):
        raise NotHere(f"{measure.name} is about the whole trace")
    groups = getattr(at.question, "groups", ())
    if isinstance(at.question, Displacements) and len(groups) == at.belief.times > 1:
        raise NotHere("every point is a secret of its own: another one would be, too")
    larger, *_ = padded(at, np.random.default_rng(seed))
    _require_same(measure, at, larger, "what does not matter")


@law("invariance.repetition", over=("measure",), applies=counts_loss)
def repeating_a_secret_changes_nothing(at: Situation, measure: Any) -> None:
    """Asking for the same several times, and in another order, changes no loss."""
    asked = attrs.evolve(at, question=repeated(at.question))
    _require_same(measure, at, asked, "asking for the same again")


@law("invariance.states", over=("measure",), applies=believes(Markov), seed=SEED)
def order_of_states_does_not_matter(at: Situation, measure: Any, seed: int) -> None:
    """Listing the states in another order, also in a measure's own tables, changes no loss."""
    order = _another_order(at.belief.state_count, seed)
    permuted = Situation(
        at.belief.permuted(order),
        question_of_permuted_states(at.question, order),
        channel_of_permuted_states(at.channel, order),
    )
    other = _listing_states(measure, order)
    if other != measure and not isinstance(at.question, StateAt):
        raise NotHere("a table of the measure is about values of the secret, which are no states")
    require_agreement(read(measure, at), read(other, permuted), "listing states in another order")


@law("invariance.listing", over=("mechanism",), applies=believes(Markov), cost=2, seed=SEED)
def order_of_states_does_not_matter_to_a_design(
    prior: Any, secret: Any, mechanism: Any, release: Release, seed: int
) -> None:
    """Listing the states in another order, also in tables, designs what is worth as much."""
    if "utility" in release.claims:
        raise NotHere("the utility is an estimate")
    if getattr(mechanism, "symbols", ...) is None:  # by default named after the states, in order
        mechanism = attrs.evolve(mechanism, symbols=release.channel.alphabet)
    order = _another_order(prior.belief().state_count, seed)
    listed = _listing_states(mechanism, order), _listing_states(secret, order)
    other = design(listed[0], Changed(prior=prior, order=tuple(order)), listed[1])
    one, two = release.utility(), other.utility()
    require(
        np.isclose(one, two, rtol=1e-6, atol=1e-9),
        f"with its states in the order {order} the utility must be {one}; got {two}",
    )


def _another_order(count: int, seed: int) -> list[int]:
    """Return a permutation that leaves everything in its place only where there is one thing."""
    order = np.random.default_rng(seed).permutation(count)
    turned = np.roll(order, 1 if (order == np.arange(count)).all() else 0)
    return [int(place) for place in turned]


def _listing_states(plugin: Any, order: list[int]) -> Any:
    """Return the plugin with its tables over states, by their declared sizes, in that order."""
    changes = {}
    for item in type(plugin).parameters():
        table = getattr(plugin, item.name)
        options = getattr(item.domain, "options", (item.domain,))
        every = [one.dims for one in options if hasattr(one, "dims")]
        dims = next((one for one in every if len(one) == np.ndim(table)), ())
        if hasattr(type(table), "parameters"):  # a plugin inside
            changes[item.name] = _listing_states(table, order)
        if isinstance(table, np.ndarray) and "M" in dims:
            for axis in (axis for axis, dim in enumerate(dims) if dim == "M"):
                table = np.take(table, order, axis)
            changes[item.name] = table
    return attrs.evolve(plugin, **changes)


@law("invariance.units", over=("measure",), applies=believes(Gaussian), factor=POSITIVE)
def units_do_not_matter(at: Situation, measure: Any, factor: float) -> None:
    """Measuring trace, noise and radius in other units changes no loss that has no unit."""
    scaled = Situation(
        at.belief.scaled(factor), question_in_units(at.question, factor), at.channel.scaled(factor)
    )
    by = value_in_units(measure.quantity.unit, factor)
    if by == 1.0:
        promise_or_skip(measure, "unit free")
    require_agreement(_times(read(measure, at), by), read(measure, scaled), "other units")


def _times(reading: Reading, factor: float) -> Reading:
    interval = None
    if reading.interval is not None:
        interval = (reading.interval[0] * factor, reading.interval[1] * factor)
    return attrs.evolve(reading, value=reading.value * factor, interval=interval)


NOTHING = 1e-4
"""What a loss may be where next to nothing is released."""


@law("processing.garbling", over=("measure",), applies=falls_with_information, seed=SEED)
def post_processing_never_loses_more(at: Situation, measure: Any, seed: int) -> None:
    """Post-processing a release never makes a loss worse."""
    processed = garble(at.channel, np.random.default_rng(seed))
    require_channel_no_worse(measure, at, processed, "post-processing")


@law("processing.silence", over=("measure",), applies=counts_loss)
def silence_loses_nothing(at: Situation, measure: Any) -> None:
    """Releasing nothing is never worse than a release, and loses nothing."""
    quiet = silent(at.channel, at.belief)
    nothing = require_channel_no_worse(measure, at, quiet, "releasing nothing")
    without_limit = nothing.floor == np.inf or measure.quantity == POSTERIOR_GAP
    if isinstance(quiet, AdditiveGaussian) and without_limit:
        raise NotHere(
            "the rarest output tells all of a real value by any noise but an infinite one"
        )
    with suppress(NotHere):  # what is true of every loss is checked above
        promise_or_skip(measure, "nothing from silence")
        require(
            nothing.floor <= NOTHING,
            f"releasing nothing must lose nothing; got {nothing.value:.9g}",
        )


@law("processing.everything", over=("measure",), applies=falls_with_information)
def everything_loses_most(at: Situation, measure: Any) -> None:
    """Releasing everything is never better than a release."""
    everything = read(measure, attrs.evolve(at, channel=identity(at.channel)))
    sign = measure.quantity.sign
    require_no_worse(read(measure, at), everything, sign, "releasing less than everything")
