"""A release that tells almost nothing still tells that much: no digit is lost downwards."""

import itertools

import mpmath
import numpy as np
import pytest

import sfumato as sf
from sfumato.beliefs import Markov
from sfumato.channels import Suppression, Symbols
from sfumato.questions import Guess

RARE = [1e-6, 1e-9, 1e-12, 1e-15, 1e-18, 1e-40, 1e-200]


@pytest.fixture(autouse=True)
def many_digits():
    with mpmath.workdps(600):
        yield


def entropy(probabilities):
    return mpmath.fsum(-p * mpmath.log(p) for p in probabilities if p)


@pytest.mark.parametrize("method", ["best", "paper"])
@pytest.mark.parametrize("chance", RARE)
def test_a_sensor_at_a_place_that_is_seldom_visited(chance, method):
    law = [1.0 - chance, chance]
    chain = sf.priors.markov_chain(law, [law, law], 2)
    secret = sf.secrets.trajectory()
    release = sf.mechanisms.sensor_counts([1, 1]).protect(chain, secret)
    loss = sf.measures.mutual_information(method=method).loss(chain, secret, release)
    truth = 2 * entropy([1 - mpmath.mpf(chance), mpmath.mpf(chance)])
    assert loss.bound == ("exact" if method == "best" else "upper")
    assert truth <= loss.value <= truth * (1 + 1e-12)
    if method == "best":
        assert 0 < loss.relative_error < 1e-12
        assert loss.value - truth <= loss.relative_error * loss.value


@pytest.mark.parametrize("chance", RARE[:5])
@pytest.mark.parametrize("seen", [0.25, 1e-12])
def test_rare_sightings_by_chance(chance, seen):
    belief = Markov([1.0 - chance, chance], [[1.0 - chance, chance], [0.5, 0.5]], steps=2)
    hidden = np.array([[1.0, 1.0 - seen]] * 2)
    reading = sf.measures.mutual_information().evaluate(
        belief, Guess(0), Suppression.memoryless((0, 1), hidden)
    )
    rare, seen = mpmath.mpf(chance), 1 - mpmath.mpf(float(1.0 - seen))
    moves = [[1 - rare, rare], [mpmath.mpf("0.5")] * 2]
    joint = {}
    for path in itertools.product(range(2), repeat=2):
        weight = (rare if path[0] else 1 - rare) * moves[path[0]][path[1]]
        for shown in itertools.product(range(2), repeat=2):
            chances = [
                (seen if y else 1 - seen) if x else 1 - y for x, y in zip(path, shown, strict=True)
            ]
            joint[path, shown] = weight * chances[0] * chances[1]
    told = entropy(_marginal(joint, 0)) + entropy(_marginal(joint, 1)) - entropy(joint.values())
    assert reading.value >= told
    assert reading.bound in ("exact", "upper")
    if reading.bound == "exact":
        assert reading.value - told <= reading.relative_error * reading.value


def _marginal(joint, axis):
    sums = {}
    for key, weight in joint.items():
        sums[key[axis]] = sums.get(key[axis], 0) + weight
    return sums.values()


@pytest.mark.parametrize("bias", [1e-2, 1e-5, 1e-9, 1e-12])
def test_symbols_that_hardly_depend_on_the_state(bias):
    laws = [[0.5, 0.5], [0.5 + bias, 0.5 - bias]]
    belief = Markov([0.5, 0.5], np.eye(2), steps=1)
    reading = sf.measures.mutual_information().evaluate(
        belief, Guess(0), Symbols((0, 1), "ab", [laws])
    )
    exact = [[mpmath.mpf(p) for p in law] for law in laws]
    exact[1][1] = 1 - exact[1][0]
    mixed = [(exact[0][y] + exact[1][y]) / 2 for y in range(2)]
    told = entropy(mixed) - (entropy(exact[0]) + entropy(exact[1])) / 2
    assert reading.value >= told
    assert reading.value <= told + mpmath.mpf("1e-12")
    if reading.bound == "exact":
        assert reading.value - told <= reading.relative_error * reading.value
    assert reading.bound == ("exact" if bias > 1e-3 else "upper")


@pytest.mark.parametrize("noise", [1e3, 1e6, 1e8, 1e9, 1e12, 1e100, 1e250])
def test_much_noise_leaves_a_little(noise):
    chain = sf.priors.markov_chain([0.5, 0.5], np.full((2, 2), 0.5), 1)
    secret = sf.secrets.trajectory()
    release = sf.mechanisms.sensor_counts([1], noise=noise).protect(chain, secret)
    loss = sf.measures.mutual_information().loss(chain, secret, release)
    # I(X; Y) ≤ Var[X] / (2 σ²), and equation (4) is above the information for every σ.
    paper = -mpmath.log((1 + mpmath.exp(-1 / (2 * mpmath.mpf(noise) ** 2))) / 2)
    assert loss.bound == "upper"
    assert loss.value >= paper
    assert loss.value <= paper * (1 + mpmath.mpf("1e-12")) + mpmath.mpf("1e-299")


def test_a_release_of_nothing_tells_exactly_nothing():
    belief = Markov([1.0 - 1e-12, 1e-12], [[0.5, 0.5], [0.5, 0.5]], steps=2)
    blind = Symbols((0, 1), ("nothing",), np.ones((2, 2, 1)))
    reading = sf.measures.mutual_information().evaluate(belief, Guess(0), blind)
    assert (reading.value, reading.bound) == (0.0, "exact")
