"""Post-processing never helps the adversary."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.laws.capabilities import counts_loss, falls_with_information
from sfumato.laws.law import law
from sfumato.laws.losses import belief_of, designed, read, require_no_worse
from sfumato.laws.operations.channel_changes import garbled, identity, silent
from sfumato.laws.violation import require
from sfumato.parameters import SEED
from sfumato.quantities import POSTERIOR_GAP

NOTHING = 1e-4
"""What a loss may be where next to nothing is released."""


@law("processing.garbling", over=("measure",), applies=falls_with_information, seed=SEED)
def post_processing_never_loses_more(
    prior: Any, secret: Any, mechanism: Any, measure: Any, seed: int
) -> None:
    """Post-processing a release never makes a loss worse."""
    belief, question, channel, sign = _setting(prior, secret, mechanism, measure)
    before = read(measure, belief, question, channel)
    processed = garbled(channel, np.random.default_rng(seed))
    require_no_worse(read(measure, belief, question, processed), before, sign, "post-processing")


@law("processing.silence", over=("measure",), applies=counts_loss)
def silence_loses_nothing(prior: Any, secret: Any, mechanism: Any, measure: Any) -> None:
    """Releasing nothing is never worse than a release, and loses nothing."""
    belief, question, channel, sign = _setting(prior, secret, mechanism, measure)
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
    belief, question, channel, sign = _setting(prior, secret, mechanism, measure)
    everything = read(measure, belief, question, identity(channel))
    some = read(measure, belief, question, channel)
    require_no_worse(some, everything, sign, "releasing less than everything")


def _setting(prior: Any, secret: Any, mechanism: Any, measure: Any) -> tuple[Any, Any, Any, int]:
    release = designed(mechanism, prior, secret)
    belief = belief_of(prior)
    return belief, secret.question(belief), release.channel, measure.quantity.sign
