"""What is only a way of writing changes nothing."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from sfumato.beliefs import Gaussian, Markov
from sfumato.laws.capabilities import (
    belief_of,
    believes,
    counts_loss,
    designed,
    falls_with_information,
    read,
    require_agreement,
    require_no_worse,
)
from sfumato.laws.law import law, require
from sfumato.laws.operations.beliefs_and_channels import (
    channel_of_permuted_states,
    garbled,
    identity,
    question_in_units,
    question_of_permuted_states,
    question_of_permuted_times,
    silent,
    value_in_units,
)
from sfumato.parameters import POSITIVE, SEED
from sfumato.protocols import Reading
from sfumato.quantities import POSTERIOR_GAP

# ruff: noqa: D401 - a law is a statement, not a command


def _setting(prior: Any, secret: Any, mechanism: Any) -> tuple[Any, Any, Any]:
    channel = designed(mechanism, prior, secret).channel
    belief = belief_of(prior)
    return belief, secret.question(belief), channel


@law("invariance.mean", over=("measure",), applies=believes(Gaussian), seed=SEED)
def mean_does_not_matter(prior: Any, secret: Any, mechanism: Any, measure: Any, seed: int) -> None:
    """Shifting the mean of a Gaussian belief changes no loss."""
    belief, question, channel = _setting(prior, secret, mechanism)
    shift = 10.0 * np.random.default_rng(seed).standard_normal(belief.entries)
    shifted = attrs.evolve(belief, mean=shift)
    require_agreement(
        read(measure, belief, question, channel),
        read(measure, shifted, question, channel),
        "shifting the mean",
    )


@law("invariance.states", over=("measure",), applies=believes(Markov), seed=SEED)
def order_of_states_does_not_matter(
    prior: Any, secret: Any, mechanism: Any, measure: Any, seed: int
) -> None:
    """Listing the states in another order changes no loss."""
    belief, question, channel = _setting(prior, secret, mechanism)
    order = np.random.default_rng(seed).permutation(belief.state_count).tolist()
    require_agreement(
        read(measure, belief, question, channel),
        read(
            measure,
            belief.permuted(order),
            question_of_permuted_states(question, order),
            channel_of_permuted_states(channel, order),
        ),
        "listing the states in another order",
    )


@law("invariance.times", over=("measure",), applies=believes(Gaussian), seed=SEED)
def order_of_times_does_not_matter(
    prior: Any, secret: Any, mechanism: Any, measure: Any, seed: int
) -> None:
    """Listing the time points in another order, with their indices, changes no loss."""
    belief, question, channel = _setting(prior, secret, mechanism)
    order = np.random.default_rng(seed).permutation(belief.times).tolist()
    require_agreement(
        read(measure, belief, question, channel),
        read(
            measure,
            belief.permuted(order),
            question_of_permuted_times(question, order, belief),
            channel.permuted(order),
        ),
        "listing the times in another order",
    )


@law("invariance.units", over=("measure",), applies=believes(Gaussian), factor=POSITIVE)
def units_do_not_matter(
    prior: Any, secret: Any, mechanism: Any, measure: Any, factor: float
) -> None:
    """Measuring trace, noise and radius in other units changes no loss that has no unit."""
    belief, question, channel = _setting(prior, secret, mechanism)
    before = read(measure, belief, question, channel)
    after = read(
        measure, belief.scaled(factor), question_in_units(question, factor), channel.scaled(factor)
    )
    by = value_in_units(measure.quantity.unit, factor)
    require_agreement(_times(before, by), after, "other units")


def _times(reading: Reading, factor: float) -> Reading:
    interval = None
    if reading.interval is not None:
        interval = (reading.interval[0] * factor, reading.interval[1] * factor)
    return attrs.evolve(reading, value=reading.value * factor, interval=interval)


NOTHING = 1e-4
"""What a loss may be where next to nothing is released."""


@law("processing.garbling", over=("measure",), applies=falls_with_information, seed=SEED)
def post_processing_never_loses_more(
    prior: Any, secret: Any, mechanism: Any, measure: Any, seed: int
) -> None:
    """Post-processing a release never makes a loss worse."""
    belief, question, channel, sign = _processed_setting(prior, secret, mechanism, measure)
    before = read(measure, belief, question, channel)
    processed = garbled(channel, np.random.default_rng(seed))
    require_no_worse(read(measure, belief, question, processed), before, sign, "post-processing")


@law("processing.silence", over=("measure",), applies=counts_loss)
def silence_loses_nothing(prior: Any, secret: Any, mechanism: Any, measure: Any) -> None:
    """Releasing nothing is never worse than a release, and loses nothing."""
    belief, question, channel, sign = _processed_setting(prior, secret, mechanism, measure)
    nothing = read(measure, belief, question, silent(channel, belief))
    some = read(measure, belief, question, channel)
    require_no_worse(nothing, some, sign, "releasing nothing")
    if measure.quantity.unit == "nats" or measure.quantity == POSTERIOR_GAP:
        require(
            nothing.floor <= NOTHING,
            f"releasing nothing must lose nothing; got {nothing.value:.9g}",
        )


@law("processing.everything", over=("measure",), applies=counts_loss)
def everything_loses_most(prior: Any, secret: Any, mechanism: Any, measure: Any) -> None:
    """Releasing everything is never better than a release."""
    belief, question, channel, sign = _processed_setting(prior, secret, mechanism, measure)
    everything = read(measure, belief, question, identity(channel))
    some = read(measure, belief, question, channel)
    require_no_worse(some, everything, sign, "releasing less than everything")


def _processed_setting(
    prior: Any, secret: Any, mechanism: Any, measure: Any
) -> tuple[Any, Any, Any, int]:
    release = designed(mechanism, prior, secret)
    belief = belief_of(prior)
    return belief, secret.question(belief), release.channel, measure.quantity.sign
