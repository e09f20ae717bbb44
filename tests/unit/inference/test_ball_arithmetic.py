"""What float64 cannot decide, decided."""

from __future__ import annotations

import flint
import mpmath
import numpy as np
import pytest

from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.errors import Undecidable
from sfumato.inference import exact as ball_arithmetic
from sfumato.inference.gaussian.fisher_information import fisher_information
from sfumato.inference.gaussian.scalar_informations import scalar_informations
from sfumato.matrices import Dense, Diagonal, LowRank


def squared_exponential(length, times):
    def exact(numbers):
        points = [numbers.number(float(t)) for t in times]
        return numbers.matrix(
            [[(-((s - t) ** 2) / (2 * length**2)).exp() for t in points] for s in points]
        )

    gap = np.subtract.outer(np.asarray(times, float), np.asarray(times, float))
    return Gaussian(Dense(np.exp(-0.5 * (gap / length) ** 2)), definite=True, exact=exact)


def true_prior(length, times):
    return mpmath.matrix(
        [
            [mpmath.exp(-((mpmath.mpf(s) - t) ** 2) / (2 * mpmath.mpf(length) ** 2)) for t in times]
            for s in times
        ]
    )


def true_information(prior, noise, s):
    solved = mpmath.lu_solve(prior + noise, prior[:, s])
    variance = prior[s, s] - mpmath.fsum(prior[s, i] * solved[i] for i in range(prior.rows))
    return 1 / variance - 1 / prior[s, s]


def bump(prior, s):
    q = mpmath.lu_solve(prior + mpmath.eye(prior.rows), prior[:, s])
    q = q / mpmath.norm(q)
    return np.array([float(value) for value in q])


@pytest.fixture(autouse=True)
def _three_hundred_digits():
    with mpmath.workdps(300):
        yield


@pytest.mark.parametrize(("length", "size"), [(6, 2.2e10), (10, 1.3e31)])
def test_rank_one_noise_rounded_to_float64(length, size):
    times = list(range(50))
    prior = true_prior(length, times)
    q = bump(prior, 24)
    information = fisher_information(
        squared_exponential(length, times), AdditiveGaussian(LowRank(q)), [24]
    )
    column = mpmath.matrix(q.tolist())
    truth = true_information(prior, column * column.T, 24)
    assert float(truth) == pytest.approx(size, rel=0.05)
    assert information.how == "ball arithmetic"
    assert information.relative_error <= 1e-9
    # An upper end, and not by much.
    assert truth <= information.matrix[0, 0] <= truth * (1 + mpmath.mpf("1e-9"))


@pytest.mark.parametrize(("length", "size"), [(3, 3.8e-16), (5, 1.2e-34)])
def test_variance_given_all_the_others(length, size):
    # Noise only on the secret, of the variance sought: V = v σ²/(v + σ²), so M = 1/v + 1/σ² − 1/Σ.
    noise = np.zeros(50)
    noise[24] = 1.0
    belief = squared_exponential(length, range(50))
    information = fisher_information(belief, AdditiveGaussian(Diagonal(noise)), [24])
    assert information.how == "ball arithmetic"
    assert 1 / information.matrix[0, 0] == pytest.approx(size, rel=0.03)
    prior = true_prior(length, range(50))
    truth = true_information(prior, mpmath.diag(noise.tolist()), 24)
    assert truth <= information.matrix[0, 0] <= truth * (1 + mpmath.mpf("1e-9"))


def test_neighbouring_secrets():
    belief = squared_exponential(6, range(20))
    channel = AdditiveGaussian(Diagonal.constant(0.1, 20))
    entries = list(range(5, 13))
    information = fisher_information(belief, channel, entries)
    assert information.how == "ball arithmetic"
    prior = true_prior(6, range(20))
    total = prior + mpmath.mpf(0.1) * mpmath.eye(20)
    gained = prior * (total**-1) * prior
    variance = mpmath.matrix([[prior[i, j] - gained[i, j] for j in entries] for i in entries])
    inner = mpmath.matrix([[prior[i, j] for j in entries] for i in entries])
    truth = variance**-1 - inner**-1
    for a in range(8):
        for b in range(8):
            scale = mpmath.sqrt(truth[a, a] * truth[b, b])
            assert abs(information.matrix[a, b] - truth[a, b]) <= 1e-9 * scale


def test_near_copies_are_told_apart_where_the_exact_form_is_known():
    times = [0.0, 1e-9, 1.0]
    belief = squared_exponential(1, times)
    modest = Gaussian(belief.covariance, exact=belief.exact)  # not declared definite
    assert belief.covariance.dense()[0, 1] == 1.0
    for believed in (belief, modest):
        information = fisher_information(
            believed, AdditiveGaussian(Diagonal.constant(0.1, 3)), [0, 1]
        )
        assert information.support.shape == (2, 2)
        assert information.how == "ball arithmetic"
        # Revealing the derivative: the difference of the two values moves everything else.
        assert information.matrix[0, 0] > 1e15


def test_stored_numbers_may_be_the_belief():
    n = 40  # too large for rational numbers
    gap = np.subtract.outer(np.arange(n), np.arange(n))
    belief = Gaussian(Dense(0.5 ** np.abs(gap)), rounding=0.0)
    noise = np.zeros(n)
    noise[3] = 1e-30
    information = fisher_information(belief, AdditiveGaussian(Diagonal(noise)), [3])
    assert information.matrix[0, 0] == pytest.approx(1e30, rel=1e-9)


def test_a_singular_problem_is_given_up(monkeypatch):
    monkeypatch.setattr(ball_arithmetic, "LAST_BITS", 256)

    def exact(numbers):
        return numbers.matrix(np.ones((3, 3)))

    belief = Gaussian(Dense(np.ones((3, 3)) + 1e-14 * np.eye(3)), exact=exact)
    with pytest.raises(Undecidable, match="nor can ball arithmetic"):
        fisher_information(belief, AdditiveGaussian(LowRank([1.0, 1.0, 0.5])), [0])


def test_the_global_precision_is_restored():
    before = flint.ctx.prec
    noise = np.zeros(50)
    noise[24] = 1.0
    fisher_information(squared_exponential(3, range(50)), AdditiveGaussian(Diagonal(noise)), [24])
    assert flint.ctx.prec == before
    with pytest.raises(RuntimeError), ball_arithmetic.precision(1000):
        raise RuntimeError
    assert flint.ctx.prec == before


def test_every_entry_in_balls_where_needed():
    belief = squared_exponential(6, range(16))
    noise = AdditiveGaussian(LowRank(bump(true_prior(6, range(16)), 8)))
    values, error = scalar_informations(belief, noise)
    assert error <= 1e-9
    column = mpmath.matrix(noise.noise.factor[:, 0].tolist())
    for s in (0, 8, 15):
        truth = true_information(true_prior(6, range(16)), column * column.T, s)
        assert truth <= values[s] <= truth * (1 + mpmath.mpf("1e-9"))
