"""Brute forces against values worked out by hand, and against other ways to them."""

from __future__ import annotations

import itertools
import math

import flint
import mpmath
import numpy as np
import pytest

import sfumato as sf
from sfumato.beliefs import Gaussian, Markov
from sfumato.channels import AdditiveGaussian, NoisyVectors, Suppression, Symbols
from sfumato.errors import OutsideHypotheses
from sfumato.laws.brute_force import (
    Table,
    between,
    checks_of,
    expected_releases,
    in_cells,
    measures_of,
    posterior_marginals,
    without_noise,
)
from sfumato.laws.exact_gaussian import is_definite, posterior
from sfumato.matrices import Dense, Diagonal
from sfumato.quantities import RECONSTRUCTION
from sfumato.questions import Displacements, Events, Guess
from sfumato_counts.brute_force import differential_privacy
from sfumato_fano.brute_force import mutual_information, reconstruction
from sfumato_posterior_gap.brute_force import posterior_gap
from sfumato_renyi.brute_force import (
    log_odds_quantile,
    posterior_interval,
)
from sfumato_renyi.brute_force import renyi as renyi_divergence


def test_renyi_of_one_entry_is_the_shifted_gaussian():
    belief = Gaussian(Dense([[4.0]]))
    question = Displacements((((0,),),), 3.0)
    loss = renyi_divergence(belief, question, AdditiveGaussian(Diagonal([0.5])), 5.0)
    assert loss.value == pytest.approx(5.0 / 2 * 9.0 / 0.5)


def test_renyi_of_two_entries_by_hand():
    # Given X_0, X_1 ~ N(x/2, 3/4): information 1/g + (1/4) / (3/4 + g) at noise g I.
    belief = Gaussian(Dense([[1.0, 0.5], [0.5, 1.0]]))
    question = Displacements((((0,),),), 1.0)
    channel = AdditiveGaussian(Diagonal([0.25, 0.25]))
    expected = 0.5 * 2.0 * (4.0 + 0.25 / 1.0)
    assert renyi_divergence(belief, question, channel, 2.0).value == pytest.approx(expected)


def test_renyi_of_a_compound_secret_takes_the_worst_signs():
    belief = Gaussian(Dense([[1.0, -0.5], [-0.5, 1.0]]))
    question = Displacements((((0,), (1,)),), 1.0)
    noise = np.array([[0.5, 0.2], [0.2, 0.5]])
    information = np.linalg.inv(noise)  # every entry is secret: only the noise counts
    expected = max(np.array(s) @ information @ np.array(s) for s in ([1, 1], [1, -1]))
    loss = renyi_divergence(belief, question, AdditiveGaussian(Dense(noise)), 2.0)
    assert loss.value == pytest.approx(expected)


def test_no_noise_is_not_for_the_oracle():
    belief = Gaussian(Dense([[1.0]]))
    channel = AdditiveGaussian(Diagonal([0.0]))
    with pytest.raises(OutsideHypotheses):
        renyi_divergence(belief, Displacements((((0,),),), 1.0), channel, 2.0)


def test_posterior_interval_by_hand():
    belief = Gaussian(Dense([[1.0]]))
    channel = AdditiveGaussian(Diagonal([1.0]))
    width = posterior_interval(belief, Displacements((((0,),),), 1.0), channel)
    assert width.value == pytest.approx(2 * math.sqrt(0.5))


EXAMPLE = Markov([0.5, 0.5], [[1.0, 0.0], [0.0, 1.0]], steps=1, states=("s", "x"))
SENSITIVE = Events(np.array([[[True, False]]]), (("s", 0),))


@pytest.mark.parametrize(("p_x", "gap"), [(1 / 3, 1 / 4), (0.0, 1 / 2), (1.0, 0.0)])
def test_posterior_gap_of_the_first_example_of_maskit(p_x, gap):
    channel = Suppression.memoryless(("s", "x"), [[1.0, p_x]])
    assert posterior_gap(EXAMPLE, SENSITIVE, channel).value == pytest.approx(gap)


def test_expected_releases_of_that_example():
    channel = Suppression.memoryless(("s", "x"), [[1.0, 1 / 3]])
    assert expected_releases(EXAMPLE, channel) == pytest.approx(1 / 3)


def test_reconstruction_by_hand():
    coin = Markov([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], steps=2)
    blind = Symbols((0, 1), ("nothing",), np.ones((2, 2, 1)))
    assert reconstruction(coin, Guess(0), blind).value == pytest.approx(0.25)
    assert reconstruction(coin, Guess(1), blind).value == pytest.approx(0.75)


def test_mutual_information_of_a_noisy_bit():
    bit = Markov([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], steps=1)
    flip = Symbols((0, 1), (0, 1), [[[0.9, 0.1], [0.1, 0.9]]])
    entropy = -0.9 * math.log(0.9) - 0.1 * math.log(0.1)
    assert mutual_information(bit, flip).value == pytest.approx(math.log(2) - entropy)


def test_posterior_marginals_and_the_best_trace():
    chain = Markov([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], steps=2)
    flip = Symbols((0, 1), (0, 1), np.array([[[0.8, 0.2], [0.2, 0.8]]] * 2))
    found = posterior_marginals(chain, flip, (0, 0))
    weight = {"00": 0.45 * 0.64, "01": 0.05 * 0.16, "10": 0.05 * 0.16, "11": 0.45 * 0.04}
    total = sum(weight.values())
    assert found[0, 0] == pytest.approx((weight["00"] + weight["01"]) / total)
    assert Table.of(chain, flip, [(0, 0)]).joint.max() == pytest.approx(weight["00"])


PAIR = Gaussian(Dense([[1.0, 0.5], [0.5, 2.0]]), mean=[1.0, -1.0])
NOISE = AdditiveGaussian(Dense([[0.5, 0.1], [0.1, 0.25]]))


@pytest.mark.parametrize(("mean", "delta"), [(0.02, 0.01), (3.0, 0.3), (0.5, 1e-12), (40.0, 0.9)])
def test_the_log_odds_gap_leaves_the_chance_it_says(mean, delta):
    gap = log_odds_quantile(mean, delta)
    with mpmath.workdps(30):

        def density(x):
            return mpmath.npdf(x, mean, mpmath.sqrt(2 * mean))

        inside = mpmath.quad(density, mpmath.linspace(-gap, gap, 9))
        assert float(1 - inside) == pytest.approx(delta, rel=1e-8)


def test_no_gap_and_no_end_of_it():
    assert log_odds_quantile(0.0, 0.1) == 0.0
    assert log_odds_quantile(math.inf, 0.1) == math.inf


def test_the_posterior_of_a_gaussian_trace_by_conditioning():
    seen = [1.5, 0.25]
    mean, covariance = posterior(PAIR, NOISE, seen)
    sigma, total = PAIR.covariance.dense(), PAIR.covariance.dense() + NOISE.covariance()
    gains = sigma @ np.linalg.inv(total)
    assert mean == pytest.approx(PAIR.mean + gains @ (np.array(seen) - PAIR.mean))
    assert covariance == pytest.approx(sigma - gains @ sigma)


def test_the_information_of_a_gaussian_release_by_determinants():
    found = mutual_information(PAIR, NOISE)
    total = PAIR.covariance.dense() + NOISE.covariance()
    ratio = np.linalg.det(total) / np.linalg.det(NOISE.covariance())
    assert found.floor == found.ceiling == pytest.approx(0.5 * math.log(ratio))


def test_several_balls_are_bracketed_by_an_attained_value():
    # Two planar positions with independent noise: each ball takes its own largest direction.
    belief = Gaussian(Diagonal([1.0, 1.0, 1.0, 1.0]), dimensions=2)
    channel = AdditiveGaussian(Diagonal([0.5, 0.25, 1.0, 0.2]), dimensions=2)
    question = Displacements((((0, 1), (2, 3)),), 1.0)
    found = renyi_divergence(belief, question, channel, 2.0)
    assert found.floor == pytest.approx(4.0 + 5.0)
    assert found.ceiling >= found.floor


def test_independent_coordinates_are_no_obstacle_to_balls():
    belief = sf.priors.rbf(length_scale=1.0, times=2, dimensions=2).belief()
    channel = AdditiveGaussian(Diagonal([0.5, 0.5, 0.5, 0.5]), dimensions=2)
    found = renyi_divergence(belief, Displacements((((0, 1), (2, 3)),), 1.0), channel, 2.0)
    # Everything is secret, so only the noise counts: 2 for each ball.
    assert found.floor == pytest.approx(4.0)


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
    found = posterior_interval(PAIR, Displacements(groups, 1.0), NOISE)
    assert found.floor == pytest.approx(truth[expected])


CHAIN = Markov([0.3, 0.7], [[0.8, 0.2], [0.4, 0.6]], steps=2, states=("s", "x"))


@pytest.mark.parametrize(("delta", "scale"), [(1e-5, 2.0), (0.01, 0.7), (0.05, 5.0)])
def test_neighbours_of_noisy_counts_by_quadrature(delta, scale):
    channel = NoisyVectors(("s", "x"), [[[0.0], [1.0]], [[0.0], [1.0]]], scale=scale)
    epsilon = differential_privacy(CHAIN, channel, delta).value
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
    assert differential_privacy(CHAIN, blind, 0.1).value == 0.0
    assert differential_privacy(CHAIN, open_, 0.1).value == math.inf
    # Two coins of odds three: all of log 9, but for what δ forgives of Pr = 9/16 against 1/16.
    assert differential_privacy(CHAIN, flip, 1e-9).value == pytest.approx(math.log(9))
    assert differential_privacy(CHAIN, flip, 1 / 16).value == pytest.approx(math.log(8))


def test_cells_are_below_and_the_vectors_themselves_above():
    noisy = NoisyVectors(("s", "x"), [[[0.0], [1.0]]] * 2, scale=0.6)
    below, above = (
        reconstruction(CHAIN, Guess(0), channel).value
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
    with pytest.raises(OutsideHypotheses):
        in_cells(noisy)


def test_breaches_by_hand():
    # Masked exactly when sensitive: every sensitive state is certain, nothing else rises.
    masked = Suppression.memoryless(("s", "x"), [[1.0, 0.0]] * 2)
    events = Events(np.eye(2, dtype=bool)[:, :, None] & np.array([True, False]), ("a", "b"))
    traces = [("s", "x"), ("x", "x")]

    def rate(channel, traces, per):
        measure = sf.measures.breach_rate(traces=traces, delta=0.2, per=per)
        return measure.brute_force(CHAIN, events, channel).value

    assert rate(masked, traces, "sensitive_state") == 1.0
    assert rate(masked, traces, "length") == 0.25
    half = Suppression.memoryless(("s", "x"), [[0.5, 0.5]] * 2)
    # Seen with chance one half; hidden, the x that follows, seen or not, raises nothing.
    assert rate(half, [("s", "x")], "sensitive_state") == pytest.approx(0.5)
    with pytest.raises(OutsideHypotheses):
        rate(masked, [("x", "x")], "sensitive_state")


def test_definite_or_not_in_fractions():
    assert is_definite(flint.fmpq_mat([[2, 1], [1, 2]])) is True
    assert is_definite(flint.fmpq_mat([[1, 2], [2, 1]])) is False


def test_a_number_between_two_others_is_an_estimate():
    assert between(0.5, 0.5).bound == "exact"
    assert (between(0.5, 1.0).floor, between(0.5, 1.0).ceiling) == (0.5, 1.0)


def test_measures_of_one_quantity_are_checked_by_one_another():
    assert [check.name for check in measures_of(RECONSTRUCTION)] == ["reconstruction"]
    assert [check.name for check in checks_of(sf.measures.fano_loose())] == ["reconstruction"]
    assert list(checks_of(sf.measures.renyi(order=3.0))) == [sf.measures.renyi(order=3.0)]
    assert list(checks_of(sf.measures.renyi_paper_bound(order=3.0))) == [
        sf.measures.renyi(order=3.0)
    ]
    rate = sf.measures.breach_rate(traces=[["s"]])
    assert list(checks_of(rate)) == [rate]


EXACT = ("renyi", "odds_gap", "posterior_interval", "mean_squared_error", "posterior_gap")
EXACT += ("breach_rate", "released_fraction", "reconstruction", "mutual_information")
EXACT += ("differential_privacy",)


@pytest.mark.parametrize("name", EXACT)
def test_every_shipped_measure_that_can_be_exact_brings_its_brute_force(name):
    assert sf.registry.get("measure", name).has_brute_force()


def test_a_product_that_vanishes_is_not_an_impossible_output():
    chain = Markov([1e-200, 1.0 - 1e-200], np.eye(2), steps=1)
    channel = Symbols(chain.states, ("a", "b"), [[[1e-200, 1.0], [0.5, 0.5]]])
    with pytest.raises(OutsideHypotheses, match="cannot hold products"):
        Table.of(chain, channel)
