"""What is only a way of writing changes nothing."""
# ruff: noqa: D401 - a law is a statement, not a command

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from sfumato.beliefs import Gaussian, Markov
from sfumato.laws.capabilities import believes
from sfumato.laws.law import law
from sfumato.laws.losses import belief_of, designed, read, require_agreement
from sfumato.laws.operations.symmetries import (
    channel_of_permuted_states,
    question_in_units,
    question_of_permuted_states,
    question_of_permuted_times,
    value_in_units,
)
from sfumato.parameters import POSITIVE, SEED
from sfumato.protocols import Reading


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
