"""Paths through marked states are as probable as the best of all paths."""

import itertools

import numpy as np
import pytest

import sfumato as sf
from sfumato.beliefs import Markov
from sfumato.channels import NoisyVectors
from sfumato.errors import ParameterError, Undecidable
from sfumato.inference.markov.smoothing import viterbi
from sfumato_fano.attacks import MarkedPaths


def random_scenario(seed, states, steps, sensors):
    """Return a chain with impossible moves, and sensors of which some watch nobody."""
    rng = np.random.default_rng(seed)
    matrices = rng.dirichlet(np.full(states, 0.4), (steps - 1, states))
    matrices[matrices < 0.05] = 0.0
    matrices /= matrices.sum(axis=-1, keepdims=True)
    initial = rng.dirichlet(np.ones(states))
    initial[rng.integers(states)] = 0.0
    belief = Markov(initial / initial.sum(), matrices, states=range(states))
    means = np.zeros((steps, states, sensors))
    for time in range(steps):
        watched = rng.choice(states, size=rng.integers(0, sensors + 1), replace=False)
        means[time, watched, np.arange(len(watched))] = 1.0
    channel = NoisyVectors(range(states), means, scale=float(rng.choice([0.2, 1.0, 5.0])))
    return belief, channel, channel.sample_many(belief.sample_encoded(rng, 40), rng)


def log_joint(belief, channel, path, output):
    """Return log Pr[path, output] up to a constant, from the definition."""
    with np.errstate(divide="ignore"):
        total = np.log(belief.initial[path[0]])
        for time, (here, there) in enumerate(itertools.pairwise(path)):
            total += np.log(belief.matrix(time)[here, there])
    gaps = np.asarray(output).reshape(len(path), -1) - channel.means[np.arange(len(path)), path]
    return total - np.square(gaps / channel.scale).sum() / 2


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(("states", "steps", "sensors"), [(3, 4, 1), (2, 5, 2), (4, 3, 3)])
def test_no_trajectory_is_likelier(seed, states, steps, sensors):
    belief, channel, outputs = random_scenario(seed, states, steps, sensors)
    found = MarkedPaths.of(belief, channel).best(outputs)
    everyone = list(itertools.product(range(states), repeat=steps))
    for path, output in zip(found[:10], outputs, strict=False):
        best = max(log_joint(belief, channel, np.array(other), output) for other in everyone)
        assert log_joint(belief, channel, path, output) == pytest.approx(best, abs=1e-10)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("states", "steps", "sensors"), [(30, 12, 1), (12, 8, 3), (5, 1, 2)])
def test_as_likely_as_by_the_ordinary_recursion(seed, states, steps, sensors):
    belief, channel, outputs = random_scenario(seed, states, steps, sensors)
    found = MarkedPaths.of(belief, channel).best(outputs)
    ordinary = viterbi(belief, channel.evidence_batch(outputs))[0]
    for one, other, output in zip(found, ordinary, outputs, strict=True):
        expected = log_joint(belief, channel, other, output)
        assert log_joint(belief, channel, one, output) == pytest.approx(expected, abs=1e-9)


def test_the_attacker_guesses_alike_one_by_one_and_all_at_once():
    chain = sf.priors.markov_chain.simulated(states=20, tau=0.1, steps=6)
    secret = sf.secrets.trajectory()
    release = sf.mechanisms.sensor_counts([0, 7, 14, 1, 8, 15], noise=1.0).protect(chain, secret)
    belief, channel = chain.belief(), release.channel
    assert MarkedPaths.of(belief, channel).is_quick
    rng = np.random.default_rng(0)
    outputs = channel.sample_many(belief.sample_encoded(rng, 50), rng)
    together = sf.adversaries.map().infer_many(belief, channel, outputs)
    for guess, output in zip(together, outputs, strict=True):
        assert sf.adversaries.map().infer(belief, channel, output) == tuple(guess)


def test_what_cannot_be_read_is_refused():
    belief, channel, _ = random_scenario(0, 5, 4, 1)
    marked = MarkedPaths.of(belief, channel)
    with pytest.raises(Undecidable):
        marked.best([[1e300] * 4])
    with pytest.raises(ParameterError):
        marked.best([["a"] * 4])
