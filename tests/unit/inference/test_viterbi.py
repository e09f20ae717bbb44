"""The most probable trace against enumeration and against hmmlearn."""

import itertools

import numpy as np
import pytest
from hmmlearn.hmm import CategoricalHMM

from sfumato.beliefs import Markov
from sfumato.errors import ImpossibleObservation
from sfumato.inference.markov import smoothing as module
from sfumato.inference.markov.smoothing import viterbi


def log_joint(belief, evidence, path):
    with np.errstate(divide="ignore"):
        total = np.log(belief.initial[path[0]]) + evidence[0, path[0]]
        for t in range(1, len(path)):
            total += np.log(belief.transitions[t - 1, path[t - 1], path[t]]) + evidence[t, path[t]]
    return total


def random_case(seed, steps, count):
    rng = np.random.default_rng(seed)
    matrices = rng.dirichlet(np.full(count, 0.4), (steps - 1, count))
    matrices[matrices < 0.05] = 0.0
    matrices /= matrices.sum(axis=-1, keepdims=True)
    belief = Markov(rng.dirichlet(np.ones(count)), matrices)
    return belief, np.log(rng.random((steps, count)))


@pytest.mark.parametrize("seed", range(20))
def test_no_trace_is_more_probable(seed):
    steps, count = [(1, 4), (3, 3), (5, 3), (4, 4)][seed % 4]
    belief, evidence = random_case(seed, steps, count)
    path, log_probability = viterbi(belief, evidence)
    every = [
        log_joint(belief, evidence, candidate)
        for candidate in itertools.product(range(count), repeat=steps)
    ]
    assert log_probability == pytest.approx(max(every), rel=1e-13)
    assert log_joint(belief, evidence, path) == pytest.approx(max(every), rel=1e-13)


@pytest.mark.parametrize("seed", range(5))
def test_hmmlearn_agrees(seed):
    rng = np.random.default_rng(seed)
    count, symbols, steps = 6, 4, 200
    model = CategoricalHMM(n_components=count, n_features=symbols)
    model.startprob_ = rng.dirichlet(np.ones(count))
    model.transmat_ = rng.dirichlet(np.ones(count), count)
    model.emissionprob_ = rng.dirichlet(np.ones(symbols), count)
    observed = rng.integers(0, symbols, (steps, 1))
    expected, _ = model.decode(observed)
    belief = Markov(model.startprob_, model.transmat_, steps=steps)
    evidence = np.log(model.emissionprob_[:, observed[:, 0]].T)
    path, log_probability = viterbi(belief, evidence)
    assert log_probability == pytest.approx(expected, rel=1e-12)
    # Paths themselves may differ where the same factors come in another order.
    assert log_joint(belief, evidence, path) == pytest.approx(expected, rel=1e-12)


def test_ties_go_to_the_smallest_state():
    belief = Markov(np.full(3, 1 / 3), np.full((3, 3), 1 / 3), steps=4)
    path, _ = viterbi(belief, np.zeros((4, 3)))
    assert path.tolist() == [0, 0, 0, 0]


def test_batches_are_stacks(monkeypatch):
    belief, _ = random_case(0, 5, 3)
    evidence = np.log(np.random.default_rng(1).random((2, 7, 5, 3)))
    paths, logs = viterbi(belief, evidence)
    assert (paths.shape, logs.shape) == ((2, 7, 5), (2, 7))
    monkeypatch.setattr(module, "_ENTRIES", 20)  # two outputs at a time
    in_parts, logs_in_parts = viterbi(belief, evidence)
    np.testing.assert_array_equal(paths, in_parts)
    np.testing.assert_array_equal(logs, logs_in_parts)
    for place in np.ndindex(2, 7):
        path, log_probability = viterbi(belief, evidence[place])
        assert path.tolist() == paths[place].tolist()
        assert log_probability == logs[place]


def test_the_first_impossible_step_is_named():
    belief = Markov([1.0, 0.0], np.eye(2), steps=3)
    evidence = np.zeros((3, 2))
    evidence[1, 0] = -np.inf
    with pytest.raises(ImpossibleObservation, match="step 1 "):
        viterbi(belief, evidence)
