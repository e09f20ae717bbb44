"""Hypotheses with unequal Gaussian laws: closed forms, grids, roots and draws as oracles."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

import sfumato as sf
from sfumato.laws import check
from sfumato_behaviours.view import SharedMass

SECRET = sf.secrets.which_behaviour()


def kernels(*pairs, times=1, **more):
    components = [
        sf.priors.rbf(length_scale=scale, variance=variance, times=times)
        for scale, variance in pairs
    ]
    return sf.priors.behaviours(components, **more)


def loss(measure, prior, mse):
    release = sf.mechanisms.behaviour_noise(mse=mse).protect(prior, SECRET)
    return measure.loss(prior, SECRET, release)


@pytest.mark.parametrize("mean", [0.3, 1.0, 5.0])
def test_equal_covariances_are_the_known_case(mean):
    # N(0, 1 + 1) against N(mean, 2): a shift by mean/√2 deviations.
    prior, mu = kernels((1.0, 1.0), (1.0, 1.0), means=[[0.0], [mean]]), mean / math.sqrt(2.0)
    assert loss(sf.measures.renyi(order=3.0), prior, 1.0).value == pytest.approx(1.5 * mu**2)
    assert loss(sf.measures.renyi(order=math.inf), prior, 1.0).value == math.inf
    advantage = loss(sf.measures.advantage(), prior, 1.0)
    assert advantage.bound == "exact"
    assert advantage.value == pytest.approx(2 * norm.cdf(mu / 2) - 1, rel=1e-9)
    stick = norm.cdf(mu / 2 - 1 / mu) - math.e * norm.cdf(-mu / 2 - 1 / mu)
    assert stick <= loss(sf.measures.hockey_stick(epsilon=1.0), prior, 1.0).value <= stick + 1e-11
    power = loss(sf.measures.power(false_alarm=0.05), prior, 1.0)
    truth = norm.cdf(norm.ppf(0.05) + mu)
    assert truth <= power.value <= truth + 1e-6


@pytest.mark.parametrize("epsilon", [-2.0, 0.0, 0.7, 4.0])
@pytest.mark.parametrize(
    ("w", "shift"), [(1.0, 2.0), (0.2, 0.0), (5.0, 0.3), (0.999, 1e-3), (40.0, 9.0)]
)
def test_shared_mass_of_a_line_lies_between_its_ends(w, shift, epsilon):
    # ∫ min(p, a q) = Pr_p[log p/q ≤ ε] + a Pr_q[log p/q > ε]; the edges are roots of a quadratic.
    def log_ratio(x):
        return norm.logpdf(x, shift, math.sqrt(w)) - norm.logpdf(x)

    x = np.linspace(-60 - 10 * w, 60 + 10 * w, 2_000_001)
    signs = np.flatnonzero(np.diff(np.sign(log_ratio(x) - epsilon)))
    edges = [-math.inf]
    for k in signs:
        low, high = x[k], x[k + 1]
        for _ in range(100):
            middle = (low + high) / 2
            same = (log_ratio(middle) > epsilon) == (log_ratio(low) > epsilon)
            low, high = (middle, high) if same else (low, middle)
        edges.append((low + high) / 2)
    masses = [
        (
            norm.cdf(b, shift, math.sqrt(w)) - norm.cdf(a, shift, math.sqrt(w)),
            norm.cdf(b) - norm.cdf(a),
        )
        for a, b in itertools.pairwise([*edges, math.inf])
    ]
    truth = sum(min(p, math.exp(epsilon) * q) for p, q in masses)
    low, high = SharedMass.of(np.array([w]), np.array([shift])).ends(epsilon)
    assert low - 1e-12 <= truth <= high + 1e-12
    assert high - low < (2e-3 if w == 0.999 else 1e-5)  # nearly equal laws take many points


def test_two_entries_agree_with_a_fine_grid():
    prior = kernels(
        (2.0, 1.0), (0.5, 3.0), times=2, means=[[0.0, 0.0], [0.5, -0.2]], weights=[0.3, 0.7]
    )
    laws = [
        multivariate_normal(c.mean, c.covariance.dense() + 0.4 * np.eye(2))
        for c in prior.belief().components
    ]
    x, step = np.linspace(-18, 18, 3001, retstep=True)
    points = np.stack(np.meshgrid(x, x), axis=-1)
    p, q = (law.pdf(points) * step**2 for law in laws)
    for epsilon in (0.0, 0.5):
        truth = max(
            np.maximum(p - math.exp(epsilon) * q, 0).sum(),
            np.maximum(q - math.exp(epsilon) * p, 0).sum(),
        )
        found = loss(sf.measures.hockey_stick(epsilon=epsilon), prior, 0.4)
        assert found.value == pytest.approx(truth, abs=2e-5)
    assert loss(sf.measures.bayes_success(), prior, 0.4).value == pytest.approx(
        np.maximum(0.3 * p, 0.7 * q).sum(), abs=2e-5
    )
    order = 1.1
    truth = max(
        math.log((a**order * b ** (1 - order)).sum()) / (order - 1)
        for a, b in ((p + 1e-300, q + 1e-300), (q + 1e-300, p + 1e-300))
    )
    assert loss(sf.measures.renyi(order=order), prior, 0.4).value == pytest.approx(truth, rel=1e-4)


def test_order_one_is_the_kullback_leibler_divergence():
    prior = kernels((1.0, 1.0), (1.0, 4.0), means=[[0.0], [1.5]])
    measure = sf.measures.renyi(order=1.0)
    release = sf.mechanisms.behaviour_noise(mse=1.0).protect(prior, SECRET)
    belief = prior.belief()
    brute = SECRET.question(belief).brute_force(measure, belief, release.channel)
    truth = max((v / w - 1 - math.log(v / w) + 1.5**2 / w) / 2 for v, w in [(2, 5), (5, 2)])
    assert brute.value == pytest.approx(truth, rel=1e-12)
    assert measure.loss(prior, SECRET, release).value == pytest.approx(truth, rel=1e-9)


def test_a_long_trace_agrees_with_draws():
    prior = kernels((9.0, 1.0), (2.0, 1.0), times=30, weights=[0.4, 0.6])
    noise, rng, n = np.eye(30), np.random.default_rng(3), 40_000
    covariances = [c.covariance.dense() + noise for c in prior.belief().components]
    laws = [multivariate_normal(np.zeros(30), c) for c in covariances]
    wins = 0.0
    for k, weight in enumerate((0.4, 0.6)):
        z = laws[k].rvs(n, random_state=rng)
        scores = np.stack([laws[0].logpdf(z) + math.log(0.4), laws[1].logpdf(z) + math.log(0.6)])
        wins += weight * (scores.argmax(axis=0) == k).mean()
    found = loss(sf.measures.bayes_success(), prior, 1.0)
    assert found.bound == "exact"
    assert abs(found.value - wins) < 5 * math.sqrt(0.25 / n)


@pytest.mark.parametrize(("other", "finite"), [(6.01, True), (6.1, False)])
def test_the_order_at_which_a_divergence_is_infinite_is_decided(other, finite):
    # RBF on 50 points at order 4, next to no noise: 1e-90 is far below what float64 tells apart.
    prior = kernels((6.0, 1.0), (other, 1.0), times=50)
    value = loss(sf.measures.renyi(order=4.0), prior, 1e-90).value
    assert math.isfinite(value) == finite


def test_the_worst_ratio_is_bounded_exactly_where_the_other_law_is_wider():
    # N(0, 1) against N(1, 4): sup log p/q = ½ (1/3 + log 4); the other way it has none.
    prior = kernels((1.0, 0.5), (1.0, 3.5), means=[[0.0], [1.0]], weights=[0.2, 0.8])
    assert loss(sf.measures.renyi(order=math.inf), prior, 0.5).value == math.inf
    assert loss(sf.measures.posterior_gap(), prior, 0.5).value == pytest.approx(0.2)
    release = sf.mechanisms.behaviour_noise(mse=0.5).protect(prior, SECRET)
    at = release.situation(prior, SECRET)
    low, high = at.question.view(at.belief, at.channel).renyi(0, 1, math.inf)
    assert low <= (1 / 3 + math.log(4.0)) / 2 <= high <= low * (1 + 1e-9)


def test_of_three_behaviours_the_guess_lies_between_its_ends():
    prior = kernels((1.0, 0.2), (1.0, 2.0), (1.0, 9.0), means=[[0.0], [2.0], [-1.0]])
    x = np.linspace(-60, 60, 400_001)
    laws = [
        norm.pdf(x, float(c.mean[0]), math.sqrt(c.covariance.dense()[0, 0] + 0.3))
        for c in prior.belief().components
    ]
    truth = np.max(laws, axis=0).sum() * (x[1] - x[0]) / 3
    found = loss(sf.measures.bayes_success(), prior, 0.3)
    assert found.bound == "upper"
    assert found.interval[0] <= truth <= found.value < 1.0


def test_noise_designed_for_one_behaviour_can_be_asked_about_both():
    still, moving = (sf.priors.rbf(length_scale=scale, times=24) for scale in (9.0, 2.0))
    prior = sf.priors.behaviours([still, moving], names=["at home", "commuting"])
    for_a_place = sf.mechanisms.gaussian_optimal(mse=0.5).designed_for(still, sf.secrets.basic(12))
    release = for_a_place.protect(prior, SECRET)
    even = loss(sf.measures.advantage(), prior, 0.5)
    assert sf.measures.advantage().loss(prior, SECRET, release).value > even.value


def test_behaviours_are_told_apart_the_better_the_less_noise():
    prior = kernels((4.0, 1.0), (1.0, 1.0), times=8)
    values = [loss(sf.measures.advantage(), prior, mse).value for mse in (0.1, 1.0, 10.0, 1e4)]
    assert values == sorted(values, reverse=True)
    assert values[-1] < 0.01
    assert loss(sf.measures.advantage(), kernels((4.0, 1.0), (4.0, 1.0)), 1.0).value == 0.0


@pytest.mark.parametrize(
    "change",
    [
        {"weights": [1.0, 0.0]},
        {"weights": [0.5]},
        {"means": [[0.0], [1.0]]},
        {"components": [sf.priors.rbf(length_scale=1.0, times=3)] * 2, "names": ["a", "a"]},
        {"components": [sf.priors.rbf(length_scale=1.0, times=n) for n in (2, 3)]},
        {"components": [sf.priors.markov_chain([1.0], [[1.0]], steps=2)]},
        {"components": [sf.priors.rbf(length_scale=sf.Interval(1, 2), times=2)]},
    ],
    ids=str,
)
def test_what_is_no_mixture_is_refused(change):
    given = {"components": [sf.priors.rbf(length_scale=scale, times=2) for scale in (1.0, 2.0)]}
    with pytest.raises(sf.ParameterError, match="behaviours"):
        sf.priors.behaviours(**{**given, **change})


def test_definitions_without_a_formula_are_refused():
    with pytest.raises(sf.OutsideHypotheses, match="no formula"):
        loss(sf.measures.maximal_leakage(), kernels((1.0, 1.0), (2.0, 2.0), times=2), 1.0)


def test_what_is_known_of_a_smaller_epsilon_bounds_a_larger_one():
    prior = sf.priors.behaviours(
        [sf.priors.rbf(length_scale=scale, times=20) for scale in (3.0, 3.01)]
    )
    secret = sf.secrets.which_behaviour()
    release = sf.mechanisms.behaviour_noise(mse=1e-4).protect(prior, secret)
    # delta(eps) <= e^(D_2 - eps)/4, in closed form: next to nothing for these.
    for epsilon in (8.0, 15.0, 30.0):
        loss = sf.measures.hockey_stick(epsilon=epsilon).loss(prior, secret, release)
        assert loss.bound == "upper"
        assert loss.value < 1e-3


def test_means_of_which_every_square_underflows_are_told_apart():
    components = [sf.priors.rbf(length_scale=2.6, times=3)] * 2
    prior = sf.priors.behaviours(components=components, means=[[2.4e-151] * 3, [0.0] * 3])
    secret, mechanism = sf.secrets.which_behaviour(), sf.mechanisms.behaviour_noise(mse=3.6)
    release = mechanism.protect(prior, secret)
    gap = sf.measures.posterior_gap().loss(prior, secret, release)
    assert 0.5 <= gap.value <= 0.5 + 1e-12
    law = {"prior": prior, "secret": secret, "mechanism": mechanism}
    check("oracle.value", measure=sf.measures.posterior_gap(), seed=0, **law)
