"""The oracles against values worked out by hand, and against one another."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sfumato.beliefs import Gaussian, Markov
from sfumato.channels import AdditiveGaussian, Suppression, Symbols
from sfumato.laws.law import NotHere
from sfumato.laws.oracles import gaussian as rational_gaussian
from sfumato.laws.oracles import markov as markov_tables
from sfumato.laws.oracles.bracket import Bracket
from sfumato.matrices import Dense, Diagonal
from sfumato.questions import Displacements, Events, Guess


def known(value):
    """The bracket of a number that is known, up to rounding."""
    return Bracket(pytest.approx(value), pytest.approx(value))


def test_renyi_of_one_entry_is_the_shifted_gaussian():
    belief = Gaussian(Dense([[4.0]]))
    question = Displacements((((0,),),), 3.0)
    loss = rational_gaussian.renyi(belief, question, AdditiveGaussian(Diagonal([0.5])), 5.0)
    assert loss == known(5.0 / 2 * 9.0 / 0.5)


def test_renyi_of_two_entries_by_hand():
    # Given X_0, X_1 ~ N(x/2, 3/4): information 1/g + (1/4) / (3/4 + g) at noise g I.
    belief = Gaussian(Dense([[1.0, 0.5], [0.5, 1.0]]))
    question = Displacements((((0,),),), 1.0)
    channel = AdditiveGaussian(Diagonal([0.25, 0.25]))
    expected = 0.5 * 2.0 * (4.0 + 0.25 / 1.0)
    assert rational_gaussian.renyi(belief, question, channel, 2.0) == known(expected)


def test_renyi_of_a_compound_secret_takes_the_worst_signs():
    belief = Gaussian(Dense([[1.0, -0.5], [-0.5, 1.0]]))
    question = Displacements((((0,), (1,)),), 1.0)
    noise = np.array([[0.5, 0.2], [0.2, 0.5]])
    information = np.linalg.inv(noise)  # every entry is secret: only the noise counts
    expected = max(np.array(s) @ information @ np.array(s) for s in ([1, 1], [1, -1]))
    loss = rational_gaussian.renyi(belief, question, AdditiveGaussian(Dense(noise)), 2.0)
    assert loss == known(expected)


def test_no_noise_is_not_for_the_oracle():
    belief = Gaussian(Dense([[1.0]]))
    channel = AdditiveGaussian(Diagonal([0.0]))
    with pytest.raises(NotHere):
        rational_gaussian.renyi(belief, Displacements((((0,),),), 1.0), channel, 2.0)


def test_posterior_interval_by_hand():
    belief = Gaussian(Dense([[1.0]]))
    channel = AdditiveGaussian(Diagonal([1.0]))
    width = rational_gaussian.posterior_interval(belief, Displacements((((0,),),), 1.0), channel)
    assert width == known(2 * math.sqrt(0.5))


EXAMPLE = Markov([0.5, 0.5], [[1.0, 0.0], [0.0, 1.0]], steps=1, states=("s", "x"))
SENSITIVE = Events(np.array([[[True, False]]]), (("s", 0),))


@pytest.mark.parametrize(("p_x", "gap"), [(1 / 3, 1 / 4), (0.0, 1 / 2), (1.0, 0.0)])
def test_posterior_gap_of_the_first_example_of_maskit(p_x, gap):
    channel = Suppression.memoryless(("s", "x"), [[1.0, p_x]])
    assert markov_tables.posterior_gap(EXAMPLE, SENSITIVE, channel) == pytest.approx(gap)


def test_expected_releases_of_that_example():
    channel = Suppression.memoryless(("s", "x"), [[1.0, 1 / 3]])
    assert markov_tables.expected_releases(EXAMPLE, channel) == pytest.approx(1 / 3)


def test_reconstruction_by_hand():
    coin = Markov([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], steps=2)
    blind = Symbols((0, 1), ("nothing",), np.ones((2, 2, 1)))
    assert markov_tables.reconstruction(coin, Guess(0), blind) == pytest.approx(0.25)
    assert markov_tables.reconstruction(coin, Guess(1), blind) == pytest.approx(0.75)


def test_mutual_information_of_a_noisy_bit():
    bit = Markov([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], steps=1)
    flip = Symbols((0, 1), (0, 1), [[[0.9, 0.1], [0.1, 0.9]]])
    entropy = -0.9 * math.log(0.9) - 0.1 * math.log(0.1)
    assert markov_tables.mutual_information(bit, None, flip) == pytest.approx(math.log(2) - entropy)


def test_posterior_marginals_and_the_best_trace():
    chain = Markov([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], steps=2)
    flip = Symbols((0, 1), (0, 1), np.array([[[0.8, 0.2], [0.2, 0.8]]] * 2))
    found = markov_tables.posterior_marginals(chain, flip, (0, 0))
    weight = {"00": 0.45 * 0.64, "01": 0.05 * 0.16, "10": 0.05 * 0.16, "11": 0.45 * 0.04}
    total = sum(weight.values())
    assert found[0, 0] == pytest.approx((weight["00"] + weight["01"]) / total)
    assert markov_tables.largest_posterior(chain, flip, (0, 0)) == pytest.approx(weight["00"])
