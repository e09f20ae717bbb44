"""Oracles of odds, neighbours, breaches, cells and posteriors, against other ways to them."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest

import sfumato as sf
from sfumato.beliefs import Gaussian, Markov
from sfumato.channels import AdditiveGaussian, NoisyVectors, Suppression, Symbols
from sfumato.laws.law import NotHere
from sfumato.laws.oracles import gaussian as odds
from sfumato.laws.oracles import gaussian as rational_gaussian
from sfumato.laws.oracles import markov as breaches
from sfumato.laws.oracles import markov as markov_tables
from sfumato.laws.oracles import markov as neighbours
from sfumato.laws.oracles.bracket import Bracket
from sfumato.laws.oracles.gaussian import is_definite
from sfumato.laws.oracles.markov import in_cells, without_noise
from sfumato.matrices import Dense, Diagonal
from sfumato.questions import Displacements, Events, Guess

PAIR = Gaussian(Dense([[1.0, 0.5], [0.5, 2.0]]), mean=[1.0, -1.0])
NOISE = AdditiveGaussian(Dense([[0.5, 0.1], [0.1, 0.25]]))


@pytest.mark.parametrize(("mean", "delta"), [(0.02, 0.01), (3.0, 0.3), (0.5, 1e-12), (40.0, 0.9)])
def test_the_log_odds_gap_leaves_the_chance_it_says(mean, delta):
    gap = odds.log_odds_gap(mean, delta)
    with mpmath.workdps(30):

        def density(x):
            return mpmath.npdf(x, mean, mpmath.sqrt(2 * mean))

        inside = mpmath.quad(density, mpmath.linspace(-gap, gap, 9))
        assert float(1 - inside) == pytest.approx(delta, rel=1e-8)


def test_no_gap_and_no_end_of_it():
    assert odds.log_odds_gap(0.0, 0.1) == 0.0
    assert odds.log_odds_gap(math.inf, 0.1) == math.inf


def test_the_posterior_of_a_gaussian_trace_by_conditioning():
    seen = [1.5, 0.25]
    mean, covariance = rational_gaussian.posterior(PAIR, NOISE, seen)
    sigma, total = PAIR.covariance.dense(), PAIR.covariance.dense() + NOISE.covariance()
    gains = sigma @ np.linalg.inv(total)
    assert mean == pytest.approx(PAIR.mean + gains @ (np.array(seen) - PAIR.mean))
    assert covariance == pytest.approx(sigma - gains @ sigma)


def test_the_information_of_a_gaussian_release_by_determinants():
    found = rational_gaussian.mutual_information(PAIR, NOISE)
    total = PAIR.covariance.dense() + NOISE.covariance()
    ratio = np.linalg.det(total) / np.linalg.det(NOISE.covariance())
    assert found.low == found.high == pytest.approx(0.5 * math.log(ratio))


def test_several_balls_are_bracketed_by_an_attained_value():
    # Two planar positions with independent noise: each ball takes its own largest direction.
    belief = Gaussian(Diagonal([1.0, 1.0, 1.0, 1.0]), dimensions=2)
    channel = AdditiveGaussian(Diagonal([0.5, 0.25, 1.0, 0.2]), dimensions=2)
    question = Displacements((((0, 1), (2, 3)),), 1.0)
    found = rational_gaussian.renyi(belief, question, channel, 2.0)
    assert found.low == pytest.approx(4.0 + 5.0)
    assert found.high >= found.low


def test_independent_coordinates_are_no_obstacle_to_balls():
    belief = sf.priors.rbf(length_scale=1.0, times=2, dimensions=2).belief()
    channel = AdditiveGaussian(Diagonal([0.5, 0.5, 0.5, 0.5]), dimensions=2)
    found = rational_gaussian.renyi(belief, Displacements((((0, 1), (2, 3)),), 1.0), channel, 2.0)
    # Everything is secret, so only the noise counts: 2 for each ball.
    assert found.low == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("groups", "expected"),
    [((((0,),), ((1,),)), "mean"), ((((1,),),), "one"), ((((0,), (1,)),), "both")],
)
def test_the_interval_is_the_narrowest_and_the_mean_over_every_point(groups, expected):
    sigma, total = PAIR.covariance.dense(), PAIR.covariance.dense() + NOISE.covariance()
    left = sigma - sigma @ np.linalg.inv(total) @ sigma
    widths = 2 * np.sqrt(left.diagonal())
    truth = {
        "mean": widths.mean(),
        "one": widths[1],
        "both": 2 * math.sqrt(np.linalg.eigvalsh(left)[0]),
    }
    found = rational_gaussian.posterior_interval(PAIR, Displacements(groups, 1.0), NOISE)
    assert found.low == pytest.approx(truth[expected])


CHAIN = Markov([0.3, 0.7], [[0.8, 0.2], [0.4, 0.6]], steps=2, states=("s", "x"))


@pytest.mark.parametrize(("delta", "scale"), [(1e-5, 2.0), (0.01, 0.7), (0.05, 5.0)])
def test_neighbours_of_noisy_counts_by_quadrature(delta, scale):
    channel = NoisyVectors(("s", "x"), [[[0.0], [1.0]], [[0.0], [1.0]]], scale=scale)
    epsilon = neighbours.differential_privacy(CHAIN, channel, delta)
    shift = math.sqrt(2) / scale
    with mpmath.workdps(30):

        def excess(z):
            return max(mpmath.npdf(z, shift) - mpmath.exp(epsilon) * mpmath.npdf(z), 0)

        cut = epsilon / shift + shift / 2
        lost = mpmath.quad(excess, [cut, cut + 1, cut + 4, cut + 12, cut + 40])
    assert float(lost) == pytest.approx(delta, rel=1e-6)


def test_neighbours_of_plain_symbols():
    blind = Symbols(("s", "x"), (0, 1), [[[0.5, 0.5], [0.5, 0.5]]] * 2)
    open_ = Symbols(("s", "x"), (0, 1), [[[1.0, 0.0], [0.0, 1.0]]] * 2)
    flip = Symbols(("s", "x"), (0, 1), [[[0.75, 0.25], [0.25, 0.75]]] * 2)
    assert neighbours.differential_privacy(CHAIN, blind, 0.1) == 0.0
    assert neighbours.differential_privacy(CHAIN, open_, 0.1) == math.inf
    # Two coins of odds three: all of log 9, but for what δ forgives of Pr = 9/16 against 1/16.
    assert neighbours.differential_privacy(CHAIN, flip, 1e-9) == pytest.approx(math.log(9))
    assert neighbours.differential_privacy(CHAIN, flip, 1 / 16) == pytest.approx(math.log(8))


def test_cells_are_below_and_the_vectors_themselves_above():
    noisy = NoisyVectors(("s", "x"), [[[0.0], [1.0]]] * 2, scale=0.6)
    below, above = (
        markov_tables.reconstruction(CHAIN, Guess(0), channel)
        for channel in (in_cells(noisy), without_noise(noisy))
    )
    rng = np.random.default_rng(0)
    traces = CHAIN.sample_encoded(rng, 40_000)
    outputs = noisy.sample_many(traces, rng)
    evidence = noisy.evidence_batch(outputs)
    every = list(itertools.product(range(2), repeat=2))
    scores = np.stack(
        [
            math.log(CHAIN.initial[a] * CHAIN.matrix(0)[a, b])
            + evidence[:, 0, a]
            + evidence[:, 1, b]
            for a, b in every
        ]
    )
    attacked = float((np.array(every)[scores.argmax(axis=0)] == traces).all(axis=1).mean())
    assert below <= attacked + 0.012
    assert attacked <= above
    assert below == pytest.approx(attacked, abs=0.02)


def test_cells_of_many_coordinates_are_refused():
    noisy = NoisyVectors(("s", "x"), np.zeros((8, 2, 3)) + np.arange(2)[None, :, None], scale=1.0)
    with pytest.raises(NotHere):
        in_cells(noisy)


def test_breaches_by_hand():
    # Masked exactly when sensitive: every sensitive state is certain, nothing else rises.
    masked = Suppression.memoryless(("s", "x"), [[1.0, 0.0]] * 2)
    events = Events(np.eye(2, dtype=bool)[:, :, None] & np.array([True, False]), ("a", "b"))
    given = {"belief": CHAIN, "question": events, "channel": masked, "delta": 0.2}
    traces = [("s", "x"), ("x", "x")]
    assert breaches.breach_rate(**given, traces=traces, per="sensitive_state") == 1.0
    assert breaches.breach_rate(**given, traces=traces, per="length") == 0.25
    half = Suppression.memoryless(("s", "x"), [[0.5, 0.5]] * 2)
    rate = breaches.breach_rate(
        **{**given, "channel": half}, traces=[("s", "x")], per="sensitive_state"
    )
    # Seen with chance one half; hidden, the x that follows, seen or not, raises nothing.
    assert rate == pytest.approx(0.5)
    with pytest.raises(NotHere):
        breaches.breach_rate(**given, traces=[("x", "x")], per="sensitive_state")


def test_definite_or_not_in_fractions():
    assert is_definite([[2, 1], [1, 2]]) is True
    assert is_definite([[1, 2], [2, 1]]) is False


def test_a_bracket_says_what_it_knows():
    assert str(Bracket(0.5, 0.5)) == "0.5"
    assert str(Bracket(0.5, 1.0)) == "between 0.5 and 1"
