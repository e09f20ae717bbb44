"""The success at guessing whole traces is never rounded below the truth, and noise never adds."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf


def exact_success(belief, sensors):
    """Return Σ_y max_x Pr[x, y] of raw counts in fractions; laws are divided by their sums."""

    def law(row):
        parts = [Fraction(float(p)) for p in row]
        return [part / sum(parts) for part in parts]

    first = law(belief.initial)
    moves = [[law(row) for row in belief.matrix(time)] for time in range(belief.steps - 1)]
    best = {}
    for path in itertools.product(range(belief.state_count), repeat=belief.steps):
        weight = first[path[0]]
        for time, (here, there) in enumerate(itertools.pairwise(path)):
            weight *= moves[time][here][there]
        seen = tuple(int(x == place) for x, place in zip(path, sensors, strict=True))
        best[seen] = max(best.get(seen, 0), weight)
    return sum(best.values())


def random_chain(seed):
    rng = np.random.default_rng(seed)
    states, steps = int(rng.integers(2, 4)), int(rng.integers(2, 5))
    uniform = np.full(states, 1 / states)
    if seed % 2:
        rows = [uniform] * (states + 1)
    else:
        rows = list(rng.dirichlet(np.ones(states), states + 1))
    chain = sf.priors.markov_chain(rows[0], rows[1:], steps)
    return chain, rng.integers(0, states, steps).tolist()


@pytest.mark.parametrize("seed", range(60))
def test_neither_raw_nor_noisy_success_lies_below_the_fraction(seed):
    chain, sensors = random_chain(seed)
    secret = sf.secrets.trajectory(0)
    truth = exact_success(chain.belief(), sensors)
    raw, noisy = (
        sf.measures.reconstruction().loss(
            chain, secret, sf.mechanisms.sensor_counts(sensors, noise=noise).protect(chain, secret)
        )
        for noise in (None, 0.01)
    )
    assert raw.bound == "exact"
    assert noisy.bound == "upper"
    assert truth <= Fraction(noisy.value) <= Fraction(raw.value)
    assert Fraction(raw.value) - truth <= Fraction(raw.relative_error) * truth
    assert raw.relative_error < 1e-12


def test_a_success_too_small_for_all_digits_is_an_upper_bound():
    """Of 30 places, all alike at every step, one is watched: 2^T outputs with equal best traces."""
    secret, sensors = sf.secrets.trajectory(0), sf.mechanisms.sensor_counts(0)
    for steps, bound in ((250, "exact"), (265, "upper")):
        chain = sf.priors.markov_chain(np.full(30, 1 / 30), np.full((30, 30), 1 / 30), steps)
        loss = sf.measures.reconstruction().loss(chain, secret, sensors.protect(chain, secret))
        truth = Fraction(2, 30) ** steps
        assert loss.bound == bound
        assert truth <= Fraction(loss.value) <= truth * (1 + Fraction(1, 10**9)) + Fraction(1e-323)
