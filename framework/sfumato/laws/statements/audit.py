"""Sampled releases against a claimed loss, without trusting any formula of it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sfumato.laws.attacks import Attempt, demonstrated_loss
from sfumato.laws.capabilities import counts_loss, read
from sfumato.laws.law import NotHere, law, require
from sfumato.parameters import SEED
from sfumato.protocols import Release, Situation

FALSE_ALARM = 1e-6
"""The chance that a true claim is rejected in one example."""


@law(
    "audit.claim",
    over=("mechanism", "measure"),
    applies=counts_loss,
    cost=4,
    audit=True,
    seed=SEED,
)
def claim_survives_sampling(
    at: Situation, release: Release, measure: Any, seed: int, draws: int
) -> None:
    """No sample of releases shows, with confidence, more loss than is claimed."""
    claimed = read(measure, at)
    if not math.isfinite(claimed.ceiling):
        raise NotHere("nothing is claimed: the loss has no finite ceiling")
    rng = np.random.default_rng(seed)
    attempt = Attempt(at.belief, at.question, release, max(draws, 1000), rng, FALSE_ALARM)
    found = demonstrated_loss(measure.quantity, attempt)
    require(
        found <= claimed.ceiling * (1 + claimed.relative_error) + 1e-9,
        f"the claim is at most {claimed.ceiling:.6g}; sampled releases show at least "
        f"{found:.6g} with confidence 1 - {FALSE_ALARM:g}",
    )
