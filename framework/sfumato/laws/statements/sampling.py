"""What is drawn has the law that is claimed, and shows no more loss than is claimed."""
# ruff: noqa: D401 - a law is a statement, not a command

from __future__ import annotations

import json
import math
import os
import random
import secrets
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np

from sfumato import randomness
from sfumato.channels import AdditiveGaussian
from sfumato.channels.emission import label_array
from sfumato.errors import REFUSALS, Incompatible, OverBudget
from sfumato.laws.attacks import Attempt, demonstrated_loss
from sfumato.laws.capabilities import counts_loss, design, read
from sfumato.laws.goodness_of_fit import worst_p_value
from sfumato.laws.law import NotHere, Violation, law, require
from sfumato.laws.transformations import Changed
from sfumato.parameters import SEED
from sfumato.protocols import Release, Situation
from sfumato.release.streams import ENVIRONMENT

FALSE_ALARM = 1e-9
"""The chance that an honest sampler is rejected, over all stages of one example."""

STAGES = 3
"""A suspicious sample is followed by a four times larger one, at most so often."""

WAYS, MORE = 4, 9
"""In which a draw can be made, at most, and the steps by which the last of them is longer."""

CALLS_SHARE = 4
"""So many times fewer single calls than draws at once, which are far quicker."""

NUMBERS = (3, 100)
"""Of Gaussian noise, so many numbers for each draw that a profile asks for, of single calls and
at once: 4,000 draws then show noise that is cut off at three deviations, and at four."""

FRESH = 160
"""Calls without a seed: enough for a repeated draw to stand out."""

SUSPICIOUS = 0.25
"""Stopping early without suspicion costs power, never false alarms."""


@law("sampling.honest", over=("mechanism",), cost=3, seed=SEED)
def draws_as_claimed(at: Situation, release: Release, seed: int, draws: int) -> None:
    """What `apply` draws has the law that the channel claims, and so have the channel's draws.

    Sequences of tests, one for every way to draw, with false-alarm probability 1e-9 together: the
    level is split evenly over their stages, and every statistic has an exact or conservative null
    law.
    """
    rng = np.random.default_rng(seed)
    trace = at.belief.sample(rng)
    channel = release.channel
    calls = max(draws // CALLS_SHARE, 200)
    if isinstance(channel, AdditiveGaussian):
        calls, draws = (draws * numbers // channel.entries for numbers in NUMBERS)
    else:
        _require_honest(channel, trace, _calls(channel.sample, trace, rng), calls, "the channel")
    _require_honest(channel, trace, _calls(release.apply, trace, rng), calls, "apply")
    who = "the channel, asked for many at once,"
    _require_honest(channel, trace, _at_once(channel, trace, rng), draws, who)
    longer = Changed(prior=next(release.prior.members()), extra=MORE)
    with suppress(NotHere, *REFUSALS):  # such as a search that is for short traces
        channel = design(release.mechanism, longer, release.secret).channel
        trace = longer.belief().sample(rng)
        who = f"the channel of {MORE} more steps, asked for many at once,"
        _require_honest(channel, trace, _at_once(channel, trace, rng), calls, who)


def _calls(
    draw: Callable[..., Any], trace: Any, rng: np.random.Generator
) -> Callable[[int], list[Any]]:
    return lambda count: [draw(trace, rng) for _ in range(count)]


def _at_once(channel: Any, trace: Any, rng: np.random.Generator) -> Callable[[int], Any]:
    draw, path = channel.sample, np.asarray(trace)
    if not isinstance(channel, AdditiveGaussian):
        draw, path = channel.sample_many, channel.encode(trace)
    return lambda count: draw(np.repeat(path[None], count, axis=0), rng)


def _require_honest(
    channel: Any, trace: Any, sample: Callable[[int], Any], count: int, who: str
) -> None:
    for _ in range(STAGES):
        p_value, what = worst_p_value(channel, trace, sample(count))
        require(
            p_value > FALSE_ALARM / (WAYS * STAGES),
            f"{who} must draw what the channel claims; {what} has p-value {p_value:.3g} "
            f"over {count} draws",
        )
        if p_value > SUSPICIOUS:
            return
        count *= 4


@law("sampling.seeds", over=("mechanism",), seed=SEED)
def same_seed_same_draw(at: Situation, release: Release, seed: int) -> None:
    """The same seed gives the same draw; calls without a seed draw independently."""
    trace = at.belief.sample(np.random.default_rng(seed))
    first = _many(release.apply, trace, np.random.default_rng(seed), 6)
    again = _many(release.apply, trace, np.random.default_rng(seed), 6)
    require(
        all(np.array_equal(a, b) for a, b in zip(first, again, strict=True)),
        f"the same seed must give the same draws; got {first} and {again}",
    )
    p_value, what = worst_p_value(release.channel, trace, _many(release.apply, trace, None, FRESH))
    require(
        p_value > FALSE_ALARM,
        f"calls without a seed must draw independently; {what} has p-value {p_value:.3g} "
        f"over {FRESH} calls",
    )


def _many(
    draw: Callable[..., Any], trace: Any, rng: np.random.Generator | None, count: int
) -> list[Any]:
    return [_row(draw(trace, rng)) for _ in range(count)]


def _row(output: Any) -> Any:
    """Return an output as an array of its symbols; a symbol that is a tuple stays one."""
    return label_array(output) if isinstance(output, tuple) else np.asarray(output, dtype=object)


@law("sampling.source", over=("mechanism",), cost=2, seed=SEED)
def secure_source_is_the_only_source(at: Situation, release: Release, seed: int) -> None:
    """Without a generator, every draw comes from the secure source and from nowhere else.

    The secure source is replaced by one that repeats itself: then so must the draws, and another
    one must give others. That holds of a release and of its channel.
    """
    trace = at.belief.sample(np.random.default_rng(seed))
    free = [_many(release.apply, trace, np.random.default_rng(seed + k), FRESH) for k in range(2)]
    moving = sum(not np.array_equal(a, b) for a, b in zip(*free, strict=True))
    if moving < FRESH / 4:
        raise NotHere("the release hardly draws anything")
    for draw in (release.apply, release.channel.sample):
        first, again, other = (
            _from_source(draw, trace, np.random.SeedSequence([seed, k]), _modules_of(release))
            for k in (0, 0, 1)
        )
        same = [np.array_equal(a, b) for a, b in zip(first, again, strict=True)]
        require(all(same), "noise without a generator must come from the secure source alone")
        moved = [not np.array_equal(a, b) for a, b in zip(first, other, strict=True)]
        require(any(moved), "noise without a generator must come from the secure source")


class _Refusing(type):
    """A class of generators of which none can be made."""

    real: Any

    def __call__(cls, *_: Any, **__: Any) -> Any:
        raise Violation("noise without a generator must not come from one made on the way")

    def __instancecheck__(cls, other: object) -> bool:
        return isinstance(other, cls.real)


SOURCES = {
    np.random: ("RandomState", "PCG64", "PCG64DXSM", "Philox", "SFC64", "MT19937"),
    random: ("Random", "SystemRandom"),
}
MAKERS = {np.random: ("default_rng", "seed"), random: ("seed",)}
GENERATORS = [
    (getattr(module, name), _Refusing(name, (), {"real": real}))
    for table in (SOURCES, MAKERS)
    for module, names in table.items()
    for name in names
    for real in (getattr(module, name) if table is SOURCES else (),)
]
"""What predictable numbers come from, each with what takes its place."""


def _modules_of(release: Release) -> list[Any]:
    """Return the modules in which a release, its mechanism or its channel may find a source."""
    classes = [type(release), type(release.mechanism), type(release.channel)]
    homes = {base.__module__.partition(".")[0] for cls in classes for base in cls.__mro__}
    homes = (homes - set(sys.stdlib_module_names)) | {"random"}
    return [
        module
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] in homes or name.startswith("numpy.random")
    ]


def _from_source(
    draw: Callable[..., Any], trace: Any, seed: np.random.SeedSequence, modules: list[Any]
) -> list[Any]:
    """Release some traces with a secure source that is known; no other generator can be made."""
    source = np.random.Generator(np.random.PCG64(seed))
    with ExitStack() as patches:
        for module in modules:
            for name, value in list(vars(module).items()):
                for real, refusing in GENERATORS:
                    if value is real:
                        patches.enter_context(patch.object(module, name, refusing))
        patches.enter_context(patch.object(randomness, "secure_generator", lambda: source))
        tokens = patch.object(secrets, "token_bytes", lambda count=32: source.bytes(count))
        patches.enter_context(tokens)
        return _many(draw, trace, None, FRESH)


@law("sampling.stream", over=("mechanism",), cost=3, seed=SEED)
def stream_answers_as_the_batch_does(
    at: Situation, release: Release, seed: int, draws: int
) -> None:
    """A stream draws what the channel claims, goes on where it was, and answers a step once."""
    rng = np.random.default_rng(seed)
    try:
        release.stream(rng)
    except Incompatible:
        raise NotHere(f"{release.mechanism.name} has no streams") from None
    trace = at.belief.sample(rng)

    def streamed(count: int) -> Any:
        streams = (release.stream(rng) for _ in range(count))
        return [tuple([one.send(state) for state in trace]) for one in streams]

    _require_honest(release.channel, trace, streamed, max(draws // CALLS_SHARE, 200), "a stream")
    with TemporaryDirectory() as folder, patch.dict(os.environ, {ENVIRONMENT: folder}):
        for place, other in enumerate(at.belief.sample(rng)):
            stream = release.stream(rng)
            before = [stream.send(state) for state in trace[:place]]
            saved = json.loads(json.dumps(stream.state))
            streams = (stream, release.stream(state=saved))
            rest = [[one.send(state) for state in trace[place:]] for one in streams]
            require(
                rest[0] == rest[1],
                f"a stream resumed after {before} must answer {rest[0]}; got {rest[1]}",
            )
            second = rest[0][0]
            with suppress(OverBudget):
                second = release.stream(state=saved).send(other)
            require(
                second == rest[0][0],
                f"a step answered with {rest[0][0]} must be answered so or refused; got {second}",
            )


UNDER_AUDIT = 1e-6
"""The chance that a true claim is rejected in one example of an audit."""


@law(
    "audit.claim", over=("mechanism", "measure"), applies=counts_loss, cost=4, audit=True, seed=SEED
)
def claim_survives_sampling(
    at: Situation, release: Release, measure: Any, seed: int, draws: int
) -> None:
    """No sample of releases shows, with confidence, more loss than is claimed."""
    claimed = read(measure, at)
    if not math.isfinite(claimed.ceiling):
        raise NotHere("nothing is claimed: the loss has no finite ceiling")
    rng = np.random.default_rng(seed)
    attempt = Attempt(at.belief, at.question, release, max(draws, 1000), rng, UNDER_AUDIT)
    found = demonstrated_loss(measure.quantity, attempt)
    require(
        found <= claimed.ceiling * (1 + claimed.relative_error) + 1e-9,
        f"the claim is at most {claimed.ceiling:.6g}; sampled releases show at least "
        f"{found:.6g} with confidence 1 - {UNDER_AUDIT:g}",
    )
