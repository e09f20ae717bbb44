"""On tiny instances, what is computed is what brute force finds."""
# ruff: noqa: D401 - a law is a statement, not a command

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np

from sfumato.beliefs import Gaussian, Markov
from sfumato.channels import AdditiveGaussian, Emission, Suppression, Symbols
from sfumato.comparison.soundness import contradictions
from sfumato.errors import (
    REFUSALS,
    ImpossibleObservation,
    OutsideHypotheses,
    ParameterError,
    SolverFailed,
)
from sfumato.laws.brute_force import (
    Table,
    best_log_probability,
    calls_of,
    checks_of,
    posterior_marginals,
    true_value,
)
from sfumato.laws.capabilities import (
    believes,
    can_read,
    certainly_worse,
    counts_loss,
    falls_with_information,
    promises,
    read,
    require_no_worse,
    text_of,
)
from sfumato.laws.exact_gaussian import posterior
from sfumato.laws.law import (
    SCENARIO,
    NotHere,
    OutOfReach,
    Unverified,
    Violation,
    every,
    law,
    require,
)
from sfumato.laws.transformations import (
    correlated,
    elsewhere,
    from_forgetful_on,
    from_loud_to_quiet,
    garble,
    independent,
    padded,
    with_many_states,
)
from sfumato.parameters import SEED
from sfumato.plugin_registry import default_registry
from sfumato.protocols import Reading, Release, Situation
from sfumato.questions import Displacements
from sfumato.views import OwnQuestion

PRECISION = 1e-8
"""Relative room for float64 on tiny instances, beyond what a reading declares."""

OUTPUTS = 3
"""So many outputs of one release are shown to an adversary."""

TINY = 1e-60
"""A probability of which products vanish: a refusal is no flattery there."""

SELDOM = 4
"""Of so many examples one is also tried with many states, of which brute force takes long."""

CHECKED = 1e-6
"""The relative error that a brute force may declare."""

LOST = 1e-6
"""What float64 may lose in solving before a comparison says nothing."""


DOES_NOT_FIT = (NotHere, ParameterError, *REFUSALS)
"""What lets a law pass over another world than the one for which the parameters were drawn."""


@law("oracle.value", over=("secret", "measure"), cost=0.5, seed=SEED)
def values_are_true(at: Situation, measure: Any, seed: int) -> None:
    """A value reported as exact equals brute force, and a bound lies on its side of it."""
    _require_truth(measure, at)
    for other in _other_worlds(at, np.random.default_rng(seed)):
        with contextlib.suppress(*DOES_NOT_FIT):
            _require_truth(measure, other)


def _other_worlds(at: Situation, rng: np.random.Generator) -> Iterator[Situation]:
    """Yield it with a channel between all and nothing, a large world, and one of every feature."""
    with contextlib.suppress(NotHere):
        yield attrs.evolve(at, channel=garble(at.channel, rng))
    if rng.integers(SELDOM) == 0:
        with contextlib.suppress(NotHere):
            yield with_many_states(at, rng)
    with contextlib.suppress(NotHere):
        yield elsewhere(at, rng)


def _require_truth(measure: Any, at: Situation) -> None:
    reading = read(measure, at)
    known = False
    for check in checks_of(measure):
        truth = true_value(check, at)
        if truth is None:
            continue
        known = True
        found = (
            f"the measure says {text_of(reading)}; the brute force of {check.name} finds "
            f"{text_of(truth)}"
        )
        require(
            not any(certainly_worse(reading, truth, sign, PRECISION) for sign in (1, -1)), found
        )
        # An error that is declared is spent on the safe side: what is claimed must hold as it is.
        claimed = attrs.evolve(reading, relative_error=0.0)
        require(
            not certainly_worse(truth, claimed, measure.quantity.sign, PRECISION),
            f"{found}: a declared error of {reading.relative_error:.3g} is no leave to say less",
        )
    if not known:
        raise NotHere(f"no brute force finds the quantity '{measure.quantity.name}' here")


@law("oracle.independent", over=("measure",), cost=2)
def brute_force_is_independent(at: Situation, measure: Any) -> None:
    """A brute force shares no code with what it checks, and is no function of it."""
    if not measure.has_brute_force():
        raise NotHere(f"{measure.name} brings no brute force")
    author = at.question if isinstance(at.question, OwnQuestion) else measure
    before = true_value(measure, at)
    read(measure, at)
    asked = calls_of(lambda: measure.evaluate(at.belief, at.question, at.channel), author)
    checked = calls_of(lambda: true_value(measure, at), author)
    shared = sorted(asked[call] for call in asked.keys() & checked.keys())
    require(
        not shared,
        f"a brute force must not use what it checks; both call {', '.join(shared)}",
    )
    after = true_value(measure, at)
    require(
        before == after,
        f"a brute force must find the same before the measure is asked; got {before} and {after}",
    )
    require(
        after is None or after.relative_error <= CHECKED,
        f"a brute force must know its number to {CHECKED:g}; it declares an error of "
        f"{after.relative_error if after else 0:.3g}",
    )


@law("oracle.brute_force", over=("measure",), applies=falls_with_information, seed=SEED)
def brute_force_keeps_the_laws(at: Situation, measure: Any, seed: int) -> None:
    """What a brute force finds falls with what is released, as every loss does."""
    processed = attrs.evolve(at, channel=garble(at.channel, np.random.default_rng(seed)))
    found = [true_value(measure, one) for one in (at, processed)]
    if not measure.has_brute_force() or found[0] is None or found[1] is None:
        raise NotHere(f"{measure.name} has no brute force here")
    sign = measure.quantity.sign
    require_no_worse(found[1], found[0], sign, "post-processing, by brute force,")


@law("oracle.refusal", over=("measure",), applies=counts_loss)
def refusals_do_not_flatter(at: Situation, measure: Any) -> None:
    """A measure that answers where little is lost answers where more is, if others can.

    More is lost with less noise, with noise of the same size that is shared, with memory of the
    trace, and of pairs further apart.
    """
    channel = at.channel
    least = at.belief.smallest_probability if isinstance(at.belief, Markov) else 1.0
    if isinstance(channel, Suppression | Symbols):
        chances = channel.start if isinstance(channel, Suppression) else channel.probabilities
        least = min(least, float(chances.min(initial=1.0, where=chances > 0)))
    if least < TINY:
        raise NotHere("float64 cannot hold products of such probabilities")
    quieter = from_loud_to_quiet(channel, at.belief)
    lines = [[attrs.evolve(at, channel=c) for c in quieter]]
    lines.append([attrs.evolve(at, belief=b) for b in from_forgetful_on(at.belief, channel)])
    if isinstance(channel, AdditiveGaussian):  # the more telling half has correlated noise
        shaped = [*map(independent, quieter[:4:2]), *map(correlated, quieter[4::2])]
        lines.append([attrs.evolve(at, channel=c) for c in shaped])
    if isinstance(at.question, Displacements):
        lines.append([attrs.evolve(at, question=_at_radius(at.question, s)) for s in RADII])
    counted = [_require_no_flattery(measure, line) for line in lines]
    if max(counted) < 2:
        raise NotHere("nothing else can measure enough of these situations")


RADII = (0.01, 0.1, 0.5, 1.0, 3.0)


def _at_radius(question: Displacements, share: float) -> Displacements:
    return attrs.evolve(question, radii=tuple(share * radius for radius in question.radii))


def _require_no_flattery(measure: Any, line: list[Situation]) -> int:
    """Require of situations, each losing more than the last, that not the worst are refused.

    Return how many of them others can measure, if the measure answers one.
    """
    answered: list[float] = []
    refused: list[float] = []
    for there, lost in zip(line, _lost_along(measure, line), strict=True):
        if lost is None:
            continue
        answers = False
        with contextlib.suppress(SolverFailed, *REFUSALS):
            answers = math.isfinite(read(measure, there).ceiling)
        (answered if answers else refused).append(lost)
    pairs = [(few, many) for few in answered for many in refused]
    worse = sum(many > few + 1e-9 for few, many in pairs)
    require(
        not pairs or worse <= FLATTERY * len(pairs),
        f"a measure must not refuse where the loss is large; it answers up to "
        f"{max(answered, default=0.0):.6g} and refuses from {min(refused, default=0.0):.6g} on",
    )
    return len(answered) + len(refused) if answered else 0


FLATTERY = 0.85
"""Of an answer and a refusal, how often the refusal may be where more is lost."""


def _lost_along(measure: Any, line: list[Situation]) -> list[float | None]:
    """Return what brute force finds; where it refuses some, the places in the line instead.

    None where nobody can measure, or the loss has no limit.
    """
    found: list[float | None] = []
    silent = set()
    for place, there in enumerate(line):
        truths: list[Reading | None] = []
        try:
            truths = [true_value(check, there) for check in checks_of(measure)]
        except OutsideHypotheses:
            silent |= {place} if _others_answer(measure, there) else set()
        known = [
            truth.value for truth in truths if truth is not None and _pins_down(truth, measure)
        ]
        finite = bool(known) and math.isfinite(known[0])
        found.append(measure.quantity.sign * known[0] if finite else None)
    if not silent:
        return found
    return [
        float(place) if lost is not None or place in silent else None
        for place, lost in enumerate(found)
    ]


def _others_answer(measure: Any, there: Situation) -> bool:
    """Whether a measure of another quantity answers: one is enough, the first that reads it."""
    for cls in every(default_registry(), "measure"):
        if cls is type(measure) or any(item.required for item in cls.parameters()):
            continue
        other = cls()
        if can_read(other, there) and counts_loss({"measure": cls}):
            with contextlib.suppress(SolverFailed, *REFUSALS):
                return math.isfinite(read(other, there).ceiling)
    return False


@law("oracle.exists", over=("secret", "measure"), cost=2)
def exact_values_can_be_checked(at: Situation, measure: Any) -> None:
    """A value reported as exact, or as a bound on it, is one that a brute force can check."""
    claim, checks = read(measure, at), list(checks_of(measure))
    claims = math.isfinite(claim.ceiling if measure.quantity.sign > 0 else claim.floor)
    if not claims or (claim.bound != "exact" and checks):  # which `oracle.value` asks about it
        raise NotHere(f"{measure.name} calls nothing exact here")
    too_large = ""
    for check in checks:
        try:
            truth = true_value(check, at)
        except OutsideHypotheses as reason:
            too_large = str(reason)
            continue
        if truth is not None and _pins_down(truth, measure):
            return
        if truth is not None:
            too_large = f"brute force only knows that it is {text_of(truth)}"
    if too_large:
        raise OutOfReach(too_large)
    raise Unverified(
        f"{measure.name} says '{claim.bound}' of the quantity '{measure.quantity.name}', and "
        f"nothing can check it: write its brute_force, or declare 'oracle.exists' an expected "
        f"failure with a reason"
    )


NARROW = 0.01
"""Ends of a probability, or of a share, that are so close say something, however small it is."""


def _pins_down(truth: Reading, measure: Any) -> bool:
    """Whether brute force knows the number, or two ends of which one is not twice the other."""
    size = max(abs(truth.floor), abs(truth.ceiling))
    room = NARROW if measure.quantity.unit in ("probability", "") else LOST
    return truth.bound == "exact" or truth.ceiling - truth.floor <= 0.5 * size + room < math.inf


@law(
    "oracle.adversary",
    over=("adversary",),
    cost=0.5,
    applies=promises("adversary", "posterior", "most probable trace"),
    seed=SEED,
)
def adversary_infers_what_it_promises(at: Situation, adversary: Any, seed: int) -> None:
    """An adversary that promises the posterior, or the most probable trace, finds it."""
    rng = np.random.default_rng(seed)
    for world in (at, *_other_worlds(at, rng)):
        with contextlib.suppress(*(() if world is at else DOES_NOT_FIT)):
            for _ in range(OUTPUTS):
                _require_promise(adversary, world, world, rng)
    with contextlib.suppress(*DOES_NOT_FIT):  # among times and states that do not matter
        large, *places = padded(world, rng, loud=True)
        _require_promise(adversary, large, world, rng, *places)


def _require_promise(
    adversary: Any, at: Situation, small: Situation, rng: np.random.Generator, *places: Any
) -> None:
    """Require of one output what is promised; `small` is what matters, and where it is."""
    output = at.channel.sample(at.belief.sample(rng), rng)
    found = _infer(adversary, at.belief, at.channel, output)
    if isinstance(at.belief, Gaussian):
        _require_gaussian_posterior(found, at.belief, at.channel, output)
    elif "posterior" in adversary.promises and isinstance(found, np.ndarray):
        times = places[0] if places else range(at.belief.steps)
        seen = tuple(output[time] for time in times)
        truth = posterior_marginals(small.belief, small.channel, seen)
        there = found[np.ix_(*places)] if places else found
        require(
            np.allclose(there, truth, rtol=PRECISION, atol=PRECISION),
            f"the posterior given {seen} must be {truth.tolist()}; got {there.tolist()}",
        )
    elif "most probable trace" in adversary.promises:
        if not places:
            best = math.log(Table.of(at.belief, at.channel, [output]).joint.max())
        elif isinstance(at.channel, Emission):
            best = best_log_probability(at.belief, at.channel, output)
        else:
            raise NotHere("brute force knows no most probable trace of that channel")
        chance = at.belief.log_probability(found) + at.channel.log_likelihood(output, found)
        require(
            chance >= best - PRECISION * max(1.0, abs(best)),
            f"the most probable trace of {at.belief.steps} steps has log-probability {best:.12g}; "
            f"the one that is found has {chance:.12g}",
        )
    else:
        raise NotHere("brute force knows no such posterior")


def _require_gaussian_posterior(found: Any, belief: Any, channel: Any, output: Any) -> None:
    """Require a mean and a covariance, up to what float64 loses in solving with Σ + Γ."""
    if not all(hasattr(found, name) for name in ("mean", "covariance")):
        raise NotHere("brute force knows no such posterior")
    seen = np.asarray(output, dtype=float).reshape(-1)
    mean, covariance = posterior(belief, channel, seen.tolist())
    total = belief.covariance.dense() + channel.covariance()
    deviations = np.sqrt(total.diagonal())
    condition = float(np.linalg.cond(total / deviations / deviations[:, None]))
    lost = np.finfo(float).eps * len(total) * condition
    if lost > LOST:
        raise NotHere("float64 cannot solve with this prior plus noise")
    room = PRECISION + 100.0 * lost
    centre = 0.0 if belief.mean is None else belief.mean
    surprise = float(np.linalg.norm((seen - centre) / deviations))
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
def nobody_beats_the_best_guess(at: Situation, adversary: Any) -> None:
    """What an adversary returns fits the trace, and no guesser beats the best possible guess."""
    table = Table.of(at.belief, at.channel)
    success = best = 0.0
    for number, output in enumerate(table.outputs):
        column = table.joint[:, number]
        if column.sum() <= 0:
            continue
        found = _infer(adversary, at.belief, at.channel, output)
        if isinstance(found, np.ndarray):
            _require_law(found, at.belief)
            continue
        try:
            place = table.row(at.belief.encode(found))
        except (ParameterError, ValueError):
            raise Violation(f"a guess must be a trace of states; got {found!r}") from None
        success += float(column[place])
        best += float(column.max())
    require(
        success <= best * (1 + PRECISION),
        f"no guess can succeed with probability {success:.12g}; the best has {best:.12g}",
    )


def _infer(adversary: Any, belief: Any, channel: Any, output: Any) -> Any:
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


@law("soundness.floor_ceiling", over=SCENARIO, cost=2)
def floors_below_ceilings(prior: Any, secret: Any, release: Release, measures: Any) -> None:
    """Of one quantity in one scenario, the largest floor is at most the smallest ceiling."""
    losses = []
    for measure in measures:
        with contextlib.suppress(*REFUSALS):
            losses.append(measure.loss(prior, secret, release))
    if not losses:
        raise NotHere("no measure applies to this scenario")
    found = contradictions(losses)
    require(not found, "; ".join(map(str, found)))
