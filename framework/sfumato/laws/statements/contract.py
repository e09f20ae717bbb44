"""Plugins answer as they declare, the same when asked twice, and leave what they are given."""
# ruff: noqa: D401 - a law is a statement, not a command

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from sfumato.channels import Emission
from sfumato.compatibility import question_type, require_one_trace
from sfumato.errors import Incompatible, OutsideHypotheses, ParameterError
from sfumato.laws.answers import contents_of
from sfumato.laws.capabilities import (
    PROMISES,
    designed,
    read,
    rebuild,
    require_agreement,
)
from sfumato.laws.law import NotHere, Violation, law, require
from sfumato.parameters import SEED
from sfumato.protocols import Release, Situation

_T = TypeVar("_T")

CERTIFIED = 1e-2
"""An exact value whose certified error is larger is none."""


def _twice(ask: Callable[[], _T], *given: Any, what: str) -> _T:
    """Return the answer, if a second one is the same and what was given is as it was."""
    before = [contents_of(item) for item in given]
    first, second = ask(), ask()
    require(
        contents_of(first) == contents_of(second),
        f"{what} must be the same when asked for twice; got {first!r} and {second!r}",
    )
    require(
        [contents_of(item) for item in given] == before,
        f"asking for {what} must not change what it is asked about",
    )
    return first


def _require_known_promises(plugin: Any) -> None:
    known = PROMISES[type(plugin).kind]
    unknown = set(plugin.promises) - set(known)
    require(not unknown, f"promises must be among {known}; got {sorted(unknown)}")


@law("contract.question", over=("secret",))
def question_is_as_declared(prior: Any, secret: Any) -> None:
    """A secret's question is of the declared type, and the same when asked for twice."""
    belief = prior.belief()
    try:
        question = _twice(lambda: secret.question(belief), belief, secret, what="the question")
    except ParameterError as reason:
        raise NotHere(str(reason)) from None
    declared = question_type(secret, type(belief))
    require(
        declared is not None and isinstance(question, declared),
        f"the question must be of the declared type; got {type(question).__name__}",
    )


@law("contract.release", over=("mechanism",), cost=4, seed=SEED)
def release_is_as_declared(
    prior: Any, secret: Any, mechanism: Any, release: Release, seed: int
) -> None:
    """A mechanism's release is for what it was asked for, and the same when designed twice."""
    belief = prior.belief()
    again = designed(rebuild(mechanism), rebuild(prior), rebuild(secret))
    require(
        isinstance(release.channel, mechanism.yields),
        f"the channel must be a {mechanism.yields.__name__}; got {type(release.channel).__name__}",
    )
    asked = (mechanism, prior, secret)
    require(
        (release.mechanism, release.prior, release.secret) == asked,
        f"the release must be of {asked}; got {release}",
    )
    try:
        require_one_trace(belief, release.channel)
    except Incompatible as reason:
        raise Violation(str(reason)) from None
    require(
        contents_of((release.channel, release.utility()))
        == contents_of((again.channel, again.utility())),
        f"designing twice must give the same channel; got {release.channel} and {again.channel}",
    )
    untouched = rebuild(prior).belief()
    require(
        contents_of(belief) == contents_of(untouched),
        f"designing must not change the belief; {untouched} became {belief}",
    )
    trace = belief.sample(np.random.default_rng(seed))
    given = np.array(trace) if isinstance(trace, np.ndarray) else list(trace)
    shown = contents_of(given)
    output = release.apply(given, np.random.default_rng(seed))
    require(contents_of(given) == shown, "releasing a trace must not change it")
    if isinstance(release.channel, Emission):
        _require_one_evidence(release.channel, output)


def _require_one_evidence(channel: Emission, output: Any) -> None:
    """Require that what an output tells is the same in a batch and symbol by symbol."""
    rows = channel.evidence(output)
    told = [("in a batch", channel.evidence_batch([output])[0])]
    with contextlib.suppress(OutsideHypotheses):  # where symbols cannot be listed
        memory: Any = ()
        steps = []
        for time, alphabet in enumerate(channel.outputs()):
            steps.append(channel.next_evidence(memory, time)[alphabet.index(output[time])])
            memory = channel.remember(memory, time, output[time])
        told.append(("symbol by symbol", np.array(steps)))
    for how, other in told:
        require(
            np.allclose(np.exp(rows), np.exp(other), rtol=1e-9, atol=1e-12),
            f"the evidence of {output!r} must be the same {how}; got {rows} and {other}",
        )


@law("contract.reading", over=("measure",))
def reading_is_as_declared(at: Situation, release: Release, measure: Any) -> None:
    """A measure finds the same twice, and its loss for one prior is what it finds."""
    _require_known_promises(measure)
    given = (at.belief, at.question, at.channel)
    reading = _twice(lambda: read(measure, at), *given, what="the reading")
    require(
        reading.bound != "exact" or reading.relative_error <= CERTIFIED,
        f"an exact value must be certified to {CERTIFIED}; got {reading.relative_error:.3g}",
    )
    loss = measure.loss(release.prior, release.secret, release)
    require_agreement(reading, loss, "taking the loss of a single prior")
    require(
        loss.quantity == measure.quantity,
        f"the loss must be of {measure.quantity}; got {loss.quantity}",
    )


@law("contract.inference", over=("adversary",), seed=SEED)
def inference_is_as_declared(at: Situation, adversary: Any, seed: int) -> None:
    """An adversary infers the same twice from what it sees, and changes nothing."""
    _require_known_promises(adversary)
    rng = np.random.default_rng(seed)
    seen = at.channel.sample(at.belief.sample(rng), rng)
    given = (at.belief, at.channel, seen)
    _twice(lambda: adversary.infer(*given), *given, what="the inference")
