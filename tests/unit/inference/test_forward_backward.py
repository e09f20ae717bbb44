"""Smoothing against enumeration in rational arithmetic and against hmmlearn."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hmmlearn.hmm import CategoricalHMM

from sfumato.beliefs import Markov
from sfumato.errors import ImpossibleObservation, ParameterError
from sfumato.inference.markov.smoothing import forward_backward, pair_marginals


def random_rationals(rng, shape, *, laws):
    weights = rng.integers(0, 5, shape)
    if laws:
        weights[..., 0] += weights.sum(axis=-1) == 0
        totals = np.broadcast_to(weights.sum(axis=-1, keepdims=True), shape)
        values = [Fraction(int(w), int(s)) for w, s in zip(weights.flat, totals.flat, strict=True)]
    else:
        values = [Fraction(int(w), 4) for w in weights.flat]
    array = np.empty(shape, dtype=object)
    array.flat = values
    return array


def joint_by_enumeration(initial, transitions, evidence):
    steps, count = evidence.shape
    joint = {}
    for path in itertools.product(range(count), repeat=steps):
        weight = initial[path[0]] * evidence[0, path[0]]
        for t in range(1, steps):
            weight *= transitions[t - 1, path[t - 1], path[t]] * evidence[t, path[t]]
        if weight:
            joint[path] = weight
    return joint


def log(array):
    with np.errstate(divide="ignore"):
        return np.log(np.asarray(array, dtype=float))


@pytest.mark.parametrize("seed", range(40))
def test_exact_values_by_enumeration(seed):
    rng = np.random.default_rng(seed)
    steps, count = [(1, 3), (2, 3), (4, 2), (4, 3), (5, 2)][seed % 5]
    initial = random_rationals(rng, (count,), laws=True)
    transitions = random_rationals(rng, (steps - 1, count, count), laws=True)
    evidence = random_rationals(rng, (steps, count), laws=False)
    joint = joint_by_enumeration(initial, transitions, evidence)
    belief = Markov(initial.astype(float), transitions.astype(float))
    if not joint:
        with pytest.raises(ImpossibleObservation):
            forward_backward(belief, log(evidence))
        return
    total = sum(joint.values())
    marginals = np.zeros((steps, count))
    pairs = np.zeros((steps - 1, count, count))
    for path, weight in joint.items():
        marginals[np.arange(steps), path] += float(weight / total)
        pairs[np.arange(steps - 1), path[:-1], path[1:]] += float(weight / total)
    smoothed = forward_backward(belief, log(evidence))
    np.testing.assert_allclose(smoothed.marginals, marginals, rtol=1e-13)
    assert ((smoothed.marginals == 0.0) == (marginals == 0.0)).all()
    assert np.exp(smoothed.log_probability) == pytest.approx(float(total), rel=1e-13)
    found = pair_marginals(belief, log(evidence))
    np.testing.assert_allclose(found, pairs, rtol=1e-13)
    assert ((found == 0.0) == (pairs == 0.0)).all()


@pytest.mark.parametrize("seed", range(5))
def test_hmmlearn_agrees(seed):
    rng = np.random.default_rng(seed)
    count, symbols, steps = 6, 4, 200
    model = CategoricalHMM(n_components=count, n_features=symbols)
    model.startprob_ = rng.dirichlet(np.ones(count))
    model.transmat_ = rng.dirichlet(np.ones(count), count)
    model.emissionprob_ = rng.dirichlet(np.ones(symbols), count)
    observed = rng.integers(0, symbols, (steps, 1))
    log_probability, marginals = model.score_samples(observed)
    belief = Markov(model.startprob_, model.transmat_, steps=steps)
    smoothed = forward_backward(belief, np.log(model.emissionprob_[:, observed[:, 0]].T))
    np.testing.assert_allclose(smoothed.marginals, marginals, rtol=1e-9, atol=1e-15)
    assert smoothed.log_probability == pytest.approx(log_probability, rel=1e-12)


def test_ten_thousand_steps_do_not_underflow():
    # Evidence that never changes on a chain that forgets at once: log Pr is known exactly.
    steps = 10_000
    belief = Markov([0.5, 0.5], np.full((2, 2), 0.5), steps=steps)
    evidence = np.tile(np.log([1e-30, 3e-30]), (steps, 1))
    smoothed = forward_backward(belief, evidence)
    assert smoothed.log_probability == pytest.approx(steps * np.log(2e-30), rel=1e-13)
    np.testing.assert_allclose(smoothed.marginals, np.tile([0.25, 0.75], (steps, 1)), rtol=1e-12)


def test_batches_are_stacks():
    rng = np.random.default_rng(0)
    belief = Markov(rng.dirichlet(np.ones(4)), rng.dirichlet(np.ones(4), (5, 4)))
    evidence = np.log(rng.random((2, 3, 6, 4)))
    evidence[1, 1] *= 300.0  # some of them need the careful passes
    batch = forward_backward(belief, evidence)
    assert batch.marginals.shape == (2, 3, 6, 4)
    assert batch.log_probability.shape == (2, 3)
    pairs = pair_marginals(belief, evidence)
    for place in np.ndindex(2, 3):
        one = forward_backward(belief, evidence[place])
        np.testing.assert_allclose(batch.marginals[place], one.marginals, rtol=1e-13)
        assert batch.log_probability[place] == pytest.approx(float(one.log_probability), rel=1e-14)
        np.testing.assert_allclose(
            pairs[place], pair_marginals(belief, evidence[place]), rtol=1e-13
        )


def test_pairs_sum_to_marginals():
    rng = np.random.default_rng(1)
    belief = Markov(rng.dirichlet(np.ones(3)), rng.dirichlet(np.full(3, 0.3), (4, 3)))
    evidence = np.log(rng.random((5, 3)))
    marginals = forward_backward(belief, evidence).marginals
    pairs = pair_marginals(belief, evidence)
    np.testing.assert_allclose(pairs.sum(axis=2), marginals[:-1], rtol=1e-12)
    np.testing.assert_allclose(pairs.sum(axis=1), marginals[1:], rtol=1e-12)


def test_a_state_ruled_out_by_e_to_the_minus_thousand_can_come_back():
    # Step 0 favours state 0 by e^1000, step 1 rules it out: the answer is state 1 for certain.
    belief = Markov([0.5, 0.5], np.eye(2), steps=2)
    evidence = np.array([[0.0, -1000.0], [-np.inf, 0.0]])
    smoothed = forward_backward(belief, evidence)
    assert smoothed.marginals.tolist() == [[0.0, 1.0], [0.0, 1.0]]
    assert smoothed.log_probability == pytest.approx(np.log(0.5) - 1000.0, rel=1e-15)
    # Favoured by e^1000 first and disfavoured by e^1001 then: the odds are e to one.
    smoothed = forward_backward(belief, np.array([[0.0, -1000.0], [-1001.0, 0.0]]))
    expected = 1.0 / (1.0 + np.e)
    np.testing.assert_allclose(smoothed.marginals[:, 0], expected, rtol=1e-12)


def test_tiny_transition_probabilities_are_not_lost():
    # Both paths cost 1e-200 at each of two steps; only their ratio, 1 to 3, is left.
    tiny = 1e-200
    matrix = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    first = [[1.0 - 4 * tiny, tiny, 3 * tiny], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    belief = Markov([1.0, 0.0, 0.0], [first, matrix])
    evidence = np.array([[0.0] * 3, [0.0, -500.0, -500.0], [-np.inf, 0.0, 0.0]])
    smoothed = forward_backward(belief, evidence)
    np.testing.assert_allclose(smoothed.marginals[1], [0.0, 0.25, 0.75], rtol=1e-12)
    assert smoothed.log_probability == pytest.approx(np.log(4) - 200 * np.log(10) - 500, rel=1e-14)


def test_a_path_below_the_smallest_float_is_still_possible():
    # The only path left has probability 1e-90 · 1e-250.
    matrix = [[1.0, 1e-250, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]
    belief = Markov([1e-90, 0.0, 1.0], matrix, steps=2)
    evidence = np.array([[0.0, 0.0, 0.0], [-np.inf, 0.0, -np.inf]])
    smoothed = forward_backward(belief, evidence)
    assert smoothed.marginals.tolist() == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    assert smoothed.log_probability == pytest.approx(-340 * np.log(10), rel=1e-14)


@pytest.mark.parametrize("step", [0, 1, 2])
def test_the_first_impossible_step_is_named(step):
    belief = Markov([0.5, 0.5], np.eye(2), steps=3)
    evidence = np.zeros((3, 2))
    evidence[step:] = -np.inf
    with pytest.raises(ImpossibleObservation, match=f"output 0 .* step {step} "):
        forward_backward(belief, evidence)
    # State 1 is ruled out at the start, state 0 at `step`.
    evidence = np.zeros((3, 2))
    evidence[0, 1] = evidence[step, 0] = -np.inf
    with pytest.raises(ImpossibleObservation, match=f"step {step} "):
        forward_backward(belief, evidence)


def test_prefixes_are_smoothed_without_the_future():
    rng = np.random.default_rng(2)
    belief = Markov(rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3), (4, 3)))
    evidence = np.log(rng.random((5, 3)))
    evidence[3:] = 0.0  # says nothing
    whole = forward_backward(belief, evidence)
    prefix = forward_backward(belief, evidence[:3])
    np.testing.assert_allclose(whole.marginals[:3], prefix.marginals, rtol=1e-13)
    assert whole.log_probability == pytest.approx(float(prefix.log_probability), rel=1e-13)


@pytest.mark.parametrize(
    "evidence",
    [
        np.zeros((4, 2)),
        np.zeros((2, 3)),
        np.zeros(2),
        np.zeros((0, 2)),
        [[0.0, np.nan]],
        [[0.0, np.inf]],
    ],
)
def test_bad_evidence(evidence):
    with pytest.raises(ParameterError, match="log_evidence"):
        forward_backward(Markov([0.5, 0.5], np.eye(2), steps=3), evidence)
