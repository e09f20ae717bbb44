"""Listing outputs and traces against brute force over all of them."""

import itertools
import math

import attrs
import numpy as np
import pytest

from sfumato.beliefs import Markov
from sfumato.channels import Emission, NoisyVectors, Suppression, Symbols
from sfumato.errors import OutsideHypotheses, Undecidable
from sfumato.inference.markov.enumeration import (
    complete_output,
    enumerate_outputs,
)


def random_laws(rng, *shape):
    weights = rng.integers(1, 5, shape) * (rng.random(shape) < 0.6)
    weights[..., 0] += weights.sum(axis=-1) == 0
    return weights / weights.sum(axis=-1, keepdims=True)


def random_belief(rng, steps, count):
    return Markov(random_laws(rng, count), random_laws(rng, steps - 1, count, count))


def path_probability(belief, path):
    return belief.initial[path[0]] * math.prod(
        belief.transitions[t, path[t], path[t + 1]] for t in range(belief.steps - 1)
    )


@attrs.frozen
class Parity(Emission):
    """Shows whether the state repeats the last symbol; remembers everything by default."""

    states: tuple[int, ...]
    length: int

    @property
    def steps(self):
        return self.length

    def outputs(self):
        return ((0, 1),) * self.length

    def evidence(self, observed):
        rows = np.full((len(observed), len(self.states)), -np.inf)
        for t, symbol in enumerate(observed):
            lean = 0.5 + 0.4 * (sum(observed[:t]) % 2)
            for m in range(len(self.states)):
                one = lean if m % 2 else 1 - lean
                rows[t, m] = math.log(one if symbol else 1 - one)
        return rows

    def sample_many(self, traces, rng):
        raise NotImplementedError


def channels(rng, steps, count):
    states = tuple(range(count))
    table = rng.integers(0, 5, (steps, count)) / 4
    after = rng.integers(0, 5, (steps, count, steps, count)) / 4
    return [
        Suppression.memoryless(states, table),
        Suppression(states, table, after),
        Symbols(states, "xyz", random_laws(rng, steps, count, 3)),
        Parity(states, steps),
    ]


@pytest.mark.parametrize("which", range(4))
@pytest.mark.parametrize("seed", range(8))
def test_outputs_probabilities_and_posteriors(seed, which):
    rng = np.random.default_rng(seed)
    steps, count = [(1, 3), (2, 3), (3, 3), (4, 2)][seed % 4]
    belief = random_belief(rng, steps, count)
    channel = channels(rng, steps, count)[which]
    expected, marginals = {}, {}
    for output in itertools.product(*channel.outputs()):
        rows = np.exp(channel.evidence(output))
        joint = np.zeros((steps, count))
        total = 0.0
        for path in itertools.product(range(count), repeat=steps):
            weight = path_probability(belief, path) * math.prod(rows[range(steps), path])
            joint[range(steps), path] += weight
            total += weight
        if total > 0:
            expected[output], marginals[output] = total, joint / total
    outputs = enumerate_outputs(belief, channel)
    listed = [outputs.observed(number) for number in range(len(outputs))]
    assert len(listed) == len(set(listed))
    assert set(listed) == set(expected)
    for output, probability in zip(listed, outputs.probabilities, strict=True):
        assert probability == pytest.approx(expected[output], rel=1e-12)
    np.testing.assert_allclose(
        outputs.marginals(), [marginals[output] for output in listed], rtol=1e-11, atol=1e-15
    )
    np.testing.assert_allclose(outputs.log_evidence(), channel.evidence_batch(listed))
    assert sum(outputs.probabilities) == pytest.approx(1.0, rel=1e-12)
    # Any possible beginning can be completed.
    for output in listed[::7]:
        for k in range(steps + 1):
            assert complete_output(belief, channel, output[:k]) in expected


def test_only_what_is_possible_counts_towards_the_limit():
    # 2^200 outputs on paper, two of them possible.
    belief = Markov([0.5, 0.5], np.eye(2), steps=200)
    hidden = Suppression.memoryless((0, 1), np.zeros((200, 2)))
    outputs = enumerate_outputs(belief, hidden, limit=2)
    assert outputs.probabilities.tolist() == pytest.approx([0.5, 0.5], rel=1e-12)


def test_too_many_are_refused_quickly():
    belief = Markov(np.full(10, 0.1), np.full((10, 10), 0.1), steps=1000)
    channel = Suppression.memoryless(range(10), np.full((1000, 10), 0.5))
    with pytest.raises(OutsideHypotheses, match=r"at most limit = 500 outputs; .* at least 1331"):
        enumerate_outputs(belief, channel, limit=500)


def test_real_outputs_are_refused():
    belief = Markov([0.5, 0.5], np.eye(2), steps=2)
    with pytest.raises(OutsideHypotheses, match="finite"):
        enumerate_outputs(belief, NoisyVectors((0, 1), np.zeros((2, 2, 1)), 1.0))


def test_probabilities_that_could_vanish_are_refused():
    belief = Markov([0.5, 0.5], np.eye(2), steps=2)
    channel = Symbols((0, 1), "xy", [[[1e-200, 1.0], [1.0, 0.0]]] * 2)
    with pytest.raises(Undecidable, match="1e-100"):
        enumerate_outputs(belief, channel)
    moving = Markov([0.5, 0.5], [[1.0, 1e-200], [0.0, 1.0]], steps=2)
    with pytest.raises(Undecidable, match="1e-100"):
        enumerate_outputs(moving, Suppression.memoryless((0, 1), np.zeros((2, 2))))
