"""The three inequalities, solved for the success probability."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.beliefs import Markov
from sfumato_fano.fano import (
    divergence_success,
    fano_success,
    han_verdu_success,
    log_choose,
    log_over_mistakes,
    position_sets,
    programme,
)

INFORMATION = st.floats(0.0, 8.0)
LOGS = st.floats(-60.0, -1e-6)


def entropy(p):
    return -p * mpmath.log(p) - (1 - p) * mpmath.log1p(-p)


def check(answer, excess, start, scale):
    """The answer is not below the largest root, and its inequality fails by rounding at most."""
    with mpmath.workdps(30):
        low, high = mpmath.mpf(start), mpmath.mpf(1)
        if answer < 1.0:
            assert excess(mpmath.mpf(answer)) >= -1e-12 * scale
            for _ in range(45):
                middle = mpmath.sqrt(low * high)
                low, high = (middle, high) if excess(middle) >= 0 else (low, middle)
            assert answer >= low * (1 - mpmath.mpf("1e-12"))
        else:
            assert excess(high - mpmath.mpf(10) ** -20) >= -1e-12 * scale


@settings(max_examples=20)
@given(INFORMATION, LOGS)
def test_the_answers_solve_their_equations(information, log_best):
    scale = 1 + information + abs(log_best)
    with mpmath.workdps(30):
        best = mpmath.exp(log_best)

        def han_verdu(p):
            return entropy(p) + p * log_best + information

        def divergence(p):
            return han_verdu(p) + (1 - p) * mpmath.log1p(-best)

        check(han_verdu_success(information, log_best), han_verdu, best / (1 + best), scale)
        check(divergence_success(information, log_best), divergence, best, scale)


@given(INFORMATION, LOGS)
def test_the_divergence_is_never_looser_than_han_and_verdu(information, log_best):
    tight = divergence_success(information, log_best)
    assert tight <= han_verdu_success(information, log_best) * (1 + 1e-9)
    assert tight >= math.exp(log_best) * (1 - 1e-12)


@settings(max_examples=10)
@given(st.integers(2, 9), st.integers(1, 9), st.data())
def test_fano_between_counting_and_certainty(states, steps, data):
    mistakes = data.draw(st.integers(0, steps - 1))
    traces = states**steps
    ball = sum(math.comb(steps, l) * (states - 1) ** l for l in range(mistakes + 1))
    sizes = [l * math.log(states - 1) for l in range(mistakes + 1)]
    assert math.exp(log_over_mistakes(steps, sizes)) == pytest.approx(ball, rel=1e-9)
    most = steps * math.log(states)
    told = data.draw(st.floats(0.0, most))
    for information in (0.0, told, most):

        def fano(p, information=information):
            inside, outside = mpmath.log(ball), mpmath.log(traces - ball)
            return entropy(p) + p * inside + (1 - p) * outside - most + information

        answer = fano_success(most, information, states, steps, mistakes)
        check(answer, fano, mpmath.mpf(ball) / traces, 1 + most)
    assert fano_success(most, most, states, steps, mistakes) == pytest.approx(1.0)


def test_numbers_far_beyond_float64():
    most = 200 * math.log(1000)  # 1000^200 traces
    for mistakes in (0, 50, 199):
        p = fano_success(0.9 * most, 1.5, 1000, 200, mistakes)
        assert 0.0 < p <= 1.0
    assert 0.0 < han_verdu_success(1.5, -1200.0) < 0.002
    assert 0.0 < divergence_success(1.5, -1200.0) < 0.002
    assert divergence_success(0.0, -1200.0) > 0.0
    assert log_choose(1000, 500) == pytest.approx(float(mpmath.log(mpmath.binomial(1000, 500))))


def test_nothing_released_leaves_nothing_but_the_prior():
    assert divergence_success(0.0, math.log(0.3)) == pytest.approx(0.3, rel=1e-6)
    assert divergence_success(0.0, math.log(0.3)) >= 0.3


def test_the_position_programme_against_brute_force(game, stationary):
    import itertools

    for seed in range(10):
        played = stationary(seed) if seed % 2 else game(seed, steps=4)
        belief = played.prior().belief()
        truth = [1.0]
        for size in range(1, played.steps + 1):
            best = 0.0
            for places in itertools.combinations(range(played.steps), size):
                merged = {}
                for path, p in played.paths.items():
                    key = tuple(path[place] for place in places)
                    merged[key] = merged.get(key, 0.0) + p
                best = max(best, *merged.values())
            truth.append(best)
        full = programme(belief, played.steps - 1)
        for size in range(played.steps + 1):
            assert math.exp(full[size]) == pytest.approx(truth[size], rel=1e-12)
        for gaps in range(played.steps + 1):
            found = np.exp(position_sets(belief, gaps))
            for size in range(played.steps + 1):
                assert found[size] >= truth[size] * (1 - 1e-12)
                if size >= played.steps - gaps:
                    assert found[size] == pytest.approx(truth[size], rel=1e-11)


def test_a_tiny_transition_changes_nothing_that_is_largest(monkeypatch):
    """Though products of it vanish; and the programme is refused where it would take too long."""
    matrix = np.random.default_rng(0).dirichlet(np.ones(4), 4)
    plain, tiny, none = matrix, matrix.copy(), matrix.copy()
    tiny[0, :2] = 1e-130, tiny[0, :2].sum() - 1e-130
    none[0, :2] = 0.0, none[0, :2].sum()
    found = [programme(Markov(np.full(4, 0.25), one, steps=6), 5) for one in (plain, tiny, none)]
    np.testing.assert_allclose(found[1], found[2], rtol=1e-12)
    assert not np.allclose(found[0], found[2], rtol=1e-12)
    monkeypatch.setattr("sfumato_fano.fano.MOST_PRODUCTS", 100.0)
    with pytest.raises(sf.OutsideHypotheses, match="fewer than 6 steps"):
        position_sets(Markov(np.full(4, 0.25), plain, steps=6), 5)
