"""What `apply` draws has the law that the channel claims."""
# ruff: noqa: D401 - a law is a statement, not a command

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.laws.law import law
from sfumato.laws.losses import designed
from sfumato.laws.operations.goodness_of_fit import worst_p_value
from sfumato.laws.operations.outputs import outputs_equal
from sfumato.laws.violation import require
from sfumato.parameters import SEED

FALSE_ALARM = 1e-9
"""The chance that an honest sampler is rejected, over all stages of one example."""

STAGES = 3
"""A suspicious sample is followed by a four times larger one, at most so often."""

FRESH = 64
"""Calls without a seed: enough for a repeated draw to stand out."""

SUSPICIOUS = 1e-2
"""Stopping early without suspicion costs power, never false alarms."""


@law("sampling.honest", over=("mechanism",), cost=3, seed=SEED)
def draws_as_claimed(prior: Any, secret: Any, mechanism: Any, seed: int, draws: int) -> None:
    """What `apply` draws has the law that the channel claims.

    A sequence of tests with false-alarm probability 1e-9: the level is split evenly over the
    stages, and every statistic has an exact or conservative null law.
    """
    release = designed(mechanism, prior, secret)
    rng = np.random.default_rng(seed)
    trace = next(prior.members()).belief().sample(rng)
    count = draws
    for _ in range(STAGES):
        outputs = [release.apply(trace, rng) for _ in range(count)]
        p_value, what = worst_p_value(release.channel, trace, outputs)
        require(
            p_value > FALSE_ALARM / STAGES,
            f"apply must draw what the channel claims; {what} has p-value {p_value:.3g} "
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
