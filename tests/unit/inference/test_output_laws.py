"""The law of a single output, against sums over all traces and outputs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.beliefs import Markov
from sfumato.channels import NoisyVectors, RelabelledSuppression, Suppression, Symbols
from sfumato.comparison.glimpses import output_laws
from sfumato.errors import Incompatible, OutsideHypotheses

STEPS, STATES = 3, 2


def brute_force(belief, channel, masks):
    """Add up Pr[trace] Pr[output | trace] over all of both."""
    alphabets = channel.outputs()
    laws = [np.zeros((1 + len(masks), len(alphabet))) for alphabet in alphabets]
    for path in itertools.product(range(STATES), repeat=STEPS):
        trace = belief.decode(path)
        prior = np.exp(belief.log_probability(trace))
        happened = [1.0, *(float(mask[path[time]]) for time, mask in masks.items())]
        for codes in itertools.product(*(range(len(alphabet)) for alphabet in alphabets)):
            output = [alphabet[code] for alphabet, code in zip(alphabets, codes, strict=True)]
            chance = prior * np.exp(channel.log_likelihood(output, trace))
            for time, code in enumerate(codes):
                laws[time][:, code] += np.multiply(happened, chance)
    return laws


def chain(rng):
    initial = rng.dirichlet(np.ones(STATES))
    transitions = rng.dirichlet(np.ones(STATES), size=(STEPS - 1, STATES))
    return Markov(initial, transitions, states=("home", "clinic"))


def channels(rng, states):
    start = rng.random((STEPS, STATES))
    after = rng.random((STEPS, STATES, STEPS, STATES))
    follows = Suppression(states, start, after)
    return [
        Suppression.memoryless(states, start),
        follows,
        RelabelledSuppression(follows, ("a", "b")),
        Symbols(states, "xyz", rng.dirichlet(np.ones(3), size=(STEPS, STATES))),
    ]


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_every_table_is_the_sum_over_all_traces_and_outputs(seed):
    rng = np.random.default_rng(seed)
    belief = chain(rng)
    masks = {2: np.array([True, False]), 0: np.array([False, True]), 1: rng.random(STATES) < 0.5}
    for channel in channels(rng, belief.states):
        found = output_laws(belief, channel, masks)
        for mine, expected in zip(found, brute_force(belief, channel, masks), strict=True):
            np.testing.assert_allclose(mine, expected, rtol=1e-12, atol=1e-15)


def test_what_has_no_single_law_is_refused(monkeypatch):
    belief = chain(np.random.default_rng(0))
    with pytest.raises(OutsideHypotheses, match="real vectors"):
        output_laws(belief, NoisyVectors(belief.states, np.zeros((3, 2, 1)), 1.0), {})
    follows = channels(np.random.default_rng(0), belief.states)[1]
    with pytest.raises(Incompatible, match="same states"):
        output_laws(belief.permuted([1, 0]), follows, {})
    monkeypatch.setattr("sfumato.comparison.glimpses.MOST_NUMBERS", 5)
    with pytest.raises(OutsideHypotheses, match="3 memories"):
        output_laws(belief, follows, {})
