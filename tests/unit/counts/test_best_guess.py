"""The best chance to guess a trace, against all guesses on all outputs."""

import itertools
import math

import numpy as np
import pytest

from sfumato.beliefs import Markov
from sfumato.channels import Suppression, Symbols
from sfumato.errors import OutsideHypotheses
from sfumato.inference.markov.enumeration import enumerate_outputs
from sfumato.questions import Guess
from sfumato_fano.best_guess import best_success
from sfumato_markov_chain.stationary import stationary_law


def random_laws(rng, *shape):
    weights = rng.integers(1, 5, shape) * (rng.random(shape) < 0.7)
    weights[..., 0] += weights.sum(axis=-1) == 0
    return weights / weights.sum(axis=-1, keepdims=True)


def by_brute_force(belief, channel, mistakes):
    """Σ_o max over all M^T guesses of Σ_x Pr[x, o] 1[at most `mistakes` differ]."""
    paths = np.array(list(itertools.product(range(belief.state_count), repeat=belief.steps)))
    priors = [
        belief.initial[path[0]]
        * math.prod(belief.transitions[t, path[t], path[t + 1]] for t in range(belief.steps - 1))
        for path in paths
    ]
    close = (paths[:, None] != paths[None]).sum(axis=-1) <= mistakes
    total = 0.0
    for output in itertools.product(*channel.outputs()):
        rows = np.exp(channel.evidence(output))
        joint = priors * rows[np.arange(belief.steps), paths].prod(axis=1)
        total += (close @ joint).max()
    return total


@pytest.mark.parametrize("seed", range(24))
def test_all_guesses_on_all_outputs(seed):
    rng = np.random.default_rng(seed)
    steps, count = [(1, 3), (2, 4), (3, 3), (4, 3), (5, 2)][seed % 5]
    belief = Markov(random_laws(rng, count), random_laws(rng, steps - 1, count, count))
    states = tuple(range(count))
    if seed % 2:
        channel = Symbols(states, "xy", random_laws(rng, steps, count, 2))
    else:
        table = rng.integers(0, 5, (steps, count)) / 4
        after = rng.integers(0, 5, (steps, count, steps, count)) / 4
        channel = Suppression(states, table, after)
    for mistakes in range(steps + 1):
        expected = by_brute_force(belief, channel, mistakes)
        assert best_success(belief, channel, mistakes) == pytest.approx(expected, rel=1e-12)


def sensor_scenario(count, steps=10, tau=0.1):
    """One sensor per step, at 37 t mod M, on a line where near moves are likely."""
    places = np.arange(count)
    weights = np.exp(-np.abs(np.subtract.outer(places, places)) / (tau * count))
    matrix = weights / weights.sum(axis=1, keepdims=True)
    belief = Markov(stationary_law(matrix), matrix, steps=steps)
    laws = np.zeros((steps, count, 2))
    laws[:, :, 0] = 1.0
    for t in range(steps):
        laws[t, 37 * t % count] = [0.0, 1.0]
    return belief, Symbols(range(count), (0, 1), laws)


@pytest.mark.parametrize(
    ("count", "success", "matches"),
    [(100, 1.1425e-11, 0.223804), (20, 3.1576e-05, 1.451028), (10, 5.8717e-03, 3.613173)],
)
def test_reference_values_of_sensor_counts(count, success, matches):
    belief, channel = sensor_scenario(count)
    assert best_success(belief, channel, 0) == pytest.approx(success, rel=5e-5)
    outputs = enumerate_outputs(belief, channel)
    expected = outputs.probabilities @ outputs.marginals().max(axis=2).sum(axis=1)
    assert expected == pytest.approx(matches, abs=5e-7)


def test_independent_positions_have_a_poisson_binomial_law():
    # Nothing seen, two states with chance 3/4 and 1/4: the best guess is right at each of six
    # positions with chance 3/4, so success is a binomial tail.
    belief = Markov([0.75, 0.25], [[0.75, 0.25], [0.75, 0.25]], steps=6)
    blind = Symbols((0, 1), ("nothing",), np.ones((6, 2, 1)))
    for mistakes in range(7):
        expected = sum(math.comb(6, k) * 0.25**k * 0.75 ** (6 - k) for k in range(mistakes + 1))
        assert best_success(belief, blind, mistakes) == pytest.approx(expected, rel=1e-12)


def test_a_limit_on_beginnings_is_refused():
    belief = Markov(np.full(8, 1 / 8), np.full((8, 8), 1 / 8), steps=8)
    blind = Symbols(range(8), ("nothing",), np.ones((8, 8, 1)))
    with pytest.raises(OutsideHypotheses, match="at most limit = 1000 beginnings"):
        best_success(belief, blind, 6, limit=1000)


@pytest.mark.parametrize("mistakes", [-1, 1.0, None, True, "1", float("nan")])
def test_bad_mistakes(mistakes):
    with pytest.raises(ValueError, match="mistakes"):
        Guess(mistakes)
