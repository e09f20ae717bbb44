"""Sampled releases against a claimed loss, without trusting any formula of it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sfumato.laws.capabilities import belief_of, counts_loss, designed, read
from sfumato.laws.law import NotHere, law, require
from sfumato.laws.operations.demonstrated_loss import Attempt, demonstrated
from sfumato.parameters import SEED

FALSE_ALARM = 1e-6
"""The chance that a true claim is rejected in one example."""


@law("audit.claim", over=("mechanism", "measure"), applies=counts_loss, cost=4, seed=SEED)
def claim_survives_sampling(
    *, prior: Any, secret: Any, mechanism: Any, measure: Any, seed: int, draws: int
) -> None:
    """No sample of releases shows, with confidence, more loss than is claimed."""
    release = designed(mechanism, prior, secret)
    belief = belief_of(prior)
    question = secret.question(belief)
    claimed = read(measure, belief, question, release.channel)
    if not math.isfinite(claimed.ceiling):
        raise NotHere("nothing is claimed: the loss has no finite ceiling")
    rng = np.random.default_rng(seed)
    attempt = Attempt(belief, question, release, max(draws, 1000), rng, FALSE_ALARM)
    shown = demonstrated(measure.quantity, attempt)
    require(
        shown <= claimed.ceiling * (1 + claimed.relative_error) + 1e-9,
        f"the claim is at most {claimed.ceiling:.6g}; sampled releases show at least "
        f"{shown:.6g} with confidence 1 - {FALSE_ALARM:g}",
    )
