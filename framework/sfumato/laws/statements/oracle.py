"""On tiny instances, what is computed is what brute force finds."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from sfumato.beliefs import Gaussian, Markov
from sfumato.comparison.soundness import contradictions
from sfumato.errors import REFUSALS, ImpossibleObservation, ParameterError
from sfumato.laws.capabilities import above, belief_of, believes, designed, promises, read, shown
from sfumato.laws.law import NotHere, Violation, law, require
from sfumato.laws.operations.beliefs_and_channels import garbled
from sfumato.laws.oracles import gaussian as rational_gaussian
from sfumato.laws.oracles import markov as markov_tables
from sfumato.laws.oracles.lookup import brute_force
from sfumato.parameters import SEED

# ruff: noqa: D401 - a law is a statement, not a command


PRECISION = 1e-8
"""Relative room for float64 on tiny instances, beyond what a reading declares."""

OUTPUTS = 3
"""So many outputs of one release are shown to an adversary."""

LOST = 1e-6
"""What float64 may lose in solving before a comparison says nothing."""


@law("oracle.value", over=("secret", "measure"), cost=0.5, seed=SEED)
def values_are_true(prior: Any, secret: Any, mechanism: Any, measure: Any, seed: int) -> None:
    """A value reported as exact equals brute force, and a bound lies on its side of it."""
    release = designed(mechanism, prior, secret)
    belief = belief_of(prior)
    question = secret.question(belief)
    _require_truth(measure, belief, question, release.channel)
    with contextlib.suppress(NotHere, *REFUSALS):  # a channel between all and nothing
        processed = garbled(release.channel, np.random.default_rng(seed))
        _require_truth(measure, belief, question, processed)


def _require_truth(measure: Any, belief: Any, question: Any, channel: Any) -> None:
    reading = read(measure, belief, question, channel)
    truth = brute_force(measure, belief, question, channel)
    room = PRECISION + reading.relative_error
    require(
        not above(reading.floor, truth.high, room) and not above(truth.low, reading.ceiling, room),
        f"the measure says {shown(reading)}; brute force finds {truth}",
    )


@law(
    "oracle.adversary",
    over=("adversary",),
    cost=0.5,
    applies=promises("adversary", "posterior", "most probable trace"),
    seed=SEED,
)
def adversary_infers_what_it_promises(
    prior: Any, secret: Any, mechanism: Any, adversary: Any, seed: int
) -> None:
    """An adversary that promises the posterior, or the most probable trace, finds it."""
    release = designed(mechanism, prior, secret)
    belief = belief_of(prior)
    rng = np.random.default_rng(seed)
    channels = [release.channel]
    with contextlib.suppress(NotHere, *REFUSALS):  # a channel between all and nothing
        channels.append(garbled(release.channel, rng))
    for channel in channels:
        for _ in range(OUTPUTS):
            output = channel.sample(belief.sample(rng), rng)
            _require_promise(adversary, belief, channel, output)


def _require_promise(adversary: Any, belief: Any, channel: Any, output: Any) -> None:
    found = _inferred(adversary, belief, channel, output)
    if isinstance(belief, Gaussian):
        _require_gaussian_posterior(found, belief, channel, output)
    elif "posterior" in adversary.promises and isinstance(found, np.ndarray):
        truth = markov_tables.posterior_marginals(belief, channel, output)
        require(
            np.allclose(found, truth, rtol=PRECISION, atol=PRECISION),
            f"the posterior given {output} must be {truth.tolist()}; got {found.tolist()}",
        )
    elif "most probable trace" in adversary.promises:
        best = markov_tables.largest_posterior(belief, channel, output)
        likelihood = channel.log_likelihood(output, found)
        chance = float(np.exp(belief.log_probability(found) + likelihood))
        require(
            chance >= best * (1 - PRECISION),
            f"the most probable trace given {output} has probability {best:.12g}; "
            f"{found} has {chance:.12g}",
        )
    else:
        raise NotHere("no oracle knows this kind of posterior")


def _require_gaussian_posterior(found: Any, belief: Any, channel: Any, output: Any) -> None:
    """Require a mean and a covariance, up to what float64 loses in solving with Σ + Γ."""
    if not all(hasattr(found, name) for name in ("mean", "covariance")):
        raise NotHere("no oracle knows this kind of posterior")
    seen = np.asarray(output, dtype=float).reshape(-1)
    mean, covariance = rational_gaussian.posterior(belief, channel, seen.tolist())
    total = belief.covariance.dense() + channel.covariance()
    deviations = np.sqrt(total.diagonal())
    lost = (
        np.finfo(float).eps
        * len(total)
        * float(np.linalg.cond(total / deviations / deviations[:, None]))
    )
    if lost > LOST:
        raise NotHere("float64 cannot solve with this prior plus noise")
    room = PRECISION + 100.0 * lost
    surprise = float(
        np.linalg.norm((seen - (0.0 if belief.mean is None else belief.mean)) / deviations)
    )
    off = np.abs(np.asarray(found.mean, dtype=float).reshape(-1) - mean) / deviations
    require(
        bool((off <= room * (1.0 + surprise)).all()),
        f"the posterior mean given {seen.tolist()} must be {mean.tolist()}; "
        f"got {np.asarray(found.mean).tolist()}",
    )
    apart = np.abs(np.asarray(found.covariance, dtype=float) - covariance)
    require(
        bool((apart <= room * np.outer(deviations, deviations)).all()),
        f"the posterior covariance must be {covariance.tolist()}; "
        f"got {np.asarray(found.covariance).tolist()}",
    )


@law("oracle.guess", over=("adversary",), applies=believes(Markov))
def nobody_beats_the_best_guess(prior: Any, secret: Any, mechanism: Any, adversary: Any) -> None:
    """What an adversary returns fits the trace, and no guesser beats the best possible guess."""
    release = designed(mechanism, prior, secret)
    belief = belief_of(prior)
    table = markov_tables.Table.of(belief, release.channel)
    success = best = 0.0
    for number, output in enumerate(table.outputs):
        column = table.joint[:, number]
        if column.sum() <= 0:
            continue
        found = _inferred(adversary, belief, release.channel, output)
        if isinstance(found, np.ndarray):
            _require_law(found, belief)
            continue
        try:
            place = table.traces.index(tuple(int(code) for code in belief.encode(found)))
        except (ParameterError, ValueError):
            require(holds=False, otherwise=f"a guess must be a trace of states; got {found!r}")
        success += float(column[place])
        best += float(column.max())
    require(
        success <= best * (1 + PRECISION),
        f"no guess can succeed with probability {success:.12g}; the best has {best:.12g}",
    )


def _inferred(adversary: Any, belief: Any, channel: Any, output: Any) -> Any:
    """Return what the adversary infers from an output that is possible."""
    try:
        return adversary.infer(belief, channel, output)
    except ImpossibleObservation as error:
        raise Violation(f"the output {output} is possible; the adversary says: {error}") from None


def _require_law(found: Any, belief: Any) -> None:
    shape = (belief.steps, belief.state_count)
    require(
        found.shape == shape
        and bool((found >= 0).all())
        and np.allclose(found.sum(axis=1), 1.0, atol=PRECISION),
        f"a posterior must be a law of the state at each time, {shape}; got {found.tolist()}",
    )


@law("soundness.floor_ceiling", over=("prior", "secret", "mechanism"), cost=2)
def floors_below_ceilings(prior: Any, secret: Any, mechanism: Any, measures: Any) -> None:
    """Of one quantity in one scenario, the largest floor is at most the smallest ceiling."""
    release = designed(mechanism, prior, secret)
    losses = []
    for measure in measures:
        try:
            losses.append(measure.loss(prior, secret, release))
        except REFUSALS:
            continue
    if not losses:
        raise NotHere("no measure reads this scenario")
    found = contradictions(losses)
    require(not found, "; ".join(map(str, found)))
