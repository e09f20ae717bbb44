"""Markov losses from the table of every trace and every output."""

from __future__ import annotations

import itertools
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Markov
from sfumato.channels import Emission
from sfumato.errors import OutsideHypotheses
from sfumato.laws.violation import NotHere
from sfumato.probabilities import FloatArray
from sfumato.questions import Events, Guess
from sfumato.suppressed import SUPPRESSED

MOST = 20_000
"""Outputs or traces in a table, at most."""


@attrs.frozen(eq=False)
class Table:
    """Pr[trace, output] for every trace (rows) and every output (columns)."""

    traces: list[tuple[int, ...]]
    outputs: list[tuple[Any, ...]]
    joint: FloatArray

    @classmethod
    def of(cls, belief: Markov, channel: Emission) -> Table:
        """Multiply out the chain and the channel, one time after another."""
        try:
            alphabets = channel.outputs()
        except OutsideHypotheses as reason:
            raise NotHere(str(reason)) from None
        if np.prod([len(alphabet) for alphabet in alphabets]) > MOST:
            raise NotHere("too many outputs for the oracle's table")
        places, prior = _listed(belief)
        outputs = list(itertools.product(*alphabets))
        likelihoods = np.exp(channel.evidence_batch(outputs))
        joint = np.repeat(prior[:, None], len(outputs), axis=1)
        for time in range(belief.steps):
            joint *= likelihoods[:, time, places[:, time]].T
        return cls(list(map(tuple, places.tolist())), outputs, joint)


def _listed(belief: Markov) -> tuple[NDArray[np.intp], FloatArray]:
    """Return every trace of positions, (N, T), and its probability."""
    if belief.state_count**belief.steps > MOST:
        raise NotHere("too many traces for the oracle's table")
    every = itertools.product(range(belief.state_count), repeat=belief.steps)
    places = np.array(list(every), dtype=np.intp)
    chances = np.asarray(belief.initial)[places[:, 0]]
    for time in range(belief.steps - 1):
        chances = chances * np.asarray(belief.matrix(time))[places[:, time], places[:, time + 1]]
    return places, chances


def posterior_gap(belief: Markov, question: Events, channel: Emission) -> float:
    """Return max over outputs o and events A of Pr[A | o] − Pr[A]."""
    table = Table.of(belief, channel)
    seen = table.joint.sum(axis=0)
    worst = -np.inf
    for mask in question.masks:
        inside = np.array([mask[range(belief.steps), trace].any() for trace in table.traces])
        prior = float(table.joint[inside].sum())
        possible = seen > 0
        posterior = table.joint[inside].sum(axis=0)[possible] / seen[possible]
        worst = max(worst, float(posterior.max()) - prior)
    return worst


def reconstruction(belief: Markov, question: Guess, channel: Emission) -> float:
    """Return Σ_o max over guesses g of Pr[d(X, g) ≤ mistakes, o]."""
    table = Table.of(belief, channel)
    places = np.array(table.traces)
    if len(places) ** 2 > 2_000_000:
        raise NotHere("too many guesses for the oracle's table")
    wrong = (places[:, None, :] != places[None, :, :]).sum(axis=2)
    success = (wrong <= question.mistakes).astype(float) @ table.joint
    return float(success.max(axis=0).sum())


def mutual_information(belief: Markov, _question: object, channel: Emission) -> float:
    """Return I(X; O) in nats."""
    table = Table.of(belief, channel)
    traces, outputs = np.nonzero(table.joint)
    joint = table.joint[traces, outputs]
    # Three logarithms: the product of two tiny marginals could vanish.
    gain = (
        np.log(joint)
        - np.log(table.joint.sum(axis=1)[traces])
        - np.log(table.joint.sum(axis=0)[outputs])
    )
    return float((joint * gain).sum())


def expected_releases(belief: Markov, channel: Emission) -> float:
    """Return the expected number of symbols that are not withheld."""
    table = Table.of(belief, channel)
    released = [sum(symbol is not SUPPRESSED for symbol in output) for output in table.outputs]
    return float(table.joint.sum(axis=0) @ np.array(released, dtype=float))


def posterior_marginals(belief: Markov, channel: Emission, output: tuple[Any, ...]) -> FloatArray:
    """Return Pr[X_t = m | output] as (T, M)."""
    places, chances = _weighed(belief, channel, output)
    marginals = np.zeros((belief.steps, belief.state_count))
    for time in range(belief.steps):
        np.add.at(marginals[time], places[:, time], chances)
    law: FloatArray = marginals / chances.sum()
    return law


def _weighed(
    belief: Markov, channel: Emission, output: tuple[Any, ...]
) -> tuple[NDArray[np.intp], FloatArray]:
    """Return every trace and Pr[trace, output]."""
    places, chances = _listed(belief)
    likelihood = np.exp(channel.evidence(output))
    for time in range(belief.steps):
        chances = chances * likelihood[time, places[:, time]]
    return places, chances


def largest_posterior(belief: Markov, channel: Emission, output: tuple[Any, ...]) -> float:
    """Return max over traces of Pr[trace, output]."""
    return float(_weighed(belief, channel, output)[1].max())
