"""Markov chains: what they accept, what they say, what they draw."""

import copy
import itertools
import pickle
from fractions import Fraction

import numpy as np
import pytest

from sfumato.beliefs import Markov
from sfumato.errors import ParameterError
from sfumato.values import SUPPRESSED

TWO = [[0.9, 0.1], [0.2, 0.8]]


def random_chain(seed, steps=4, count=3):
    rng = np.random.default_rng(seed)
    matrices = rng.dirichlet(np.full(count, 0.5), (steps - 1, count))
    return Markov(rng.dirichlet(np.ones(count)), matrices, states="abcdefgh"[:count])


@pytest.mark.parametrize("seed", range(5))
def test_marginals_and_log_probability_match_enumeration(seed):
    belief = random_chain(seed)
    totals = np.zeros((belief.steps, belief.state_count))
    mass = 0.0
    for path in itertools.product(range(belief.state_count), repeat=belief.steps):
        probability = belief.initial[path[0]]
        for t in range(belief.steps - 1):
            probability *= belief.transitions[t, path[t], path[t + 1]]
        log_probability = belief.log_probability(belief.decode(path))
        assert np.exp(log_probability) == pytest.approx(probability, rel=1e-12)
        totals[np.arange(belief.steps), path] += probability
        mass += np.exp(log_probability)
    np.testing.assert_allclose(belief.marginals(), totals, rtol=1e-12)
    assert mass == pytest.approx(1.0, rel=1e-12)


def test_marginals_are_exact_in_rational_arithmetic():
    law = [Fraction(1, 2), Fraction(1, 2)]
    matrix = [[Fraction(7, 8), Fraction(1, 8)], [Fraction(1, 4), Fraction(3, 4)]]
    belief = Markov([0.5, 0.5], np.array(matrix, dtype=float), steps=6)
    for row in belief.marginals():
        assert row.tolist() == pytest.approx([float(p) for p in law], rel=1e-15)
        law = [sum(law[i] * matrix[i][j] for i in range(2)) for j in range(2)]


def test_impossible_traces_have_log_probability_minus_infinity():
    belief = Markov([1.0, 0.0], [[0.0, 1.0], [0.0, 1.0]], steps=2)
    assert belief.log_probability([0, 0]) == -np.inf
    assert belief.log_probability([0, 1]) == 0.0


def test_one_matrix_and_its_repetition_are_equal():
    once = Markov([0.5, 0.5], TWO, steps=4)
    assert once.transitions.shape == (3, 2, 2)
    assert not once.transitions.flags.writeable
    for other in (
        Markov([0.5, 0.5], [TWO, TWO, TWO]),
        Markov([0.5, 0.5], np.array([TWO] * 3)),
        Markov(once.initial, once.transitions),
    ):
        assert other == once
        assert hash(other) == hash(once)
        assert other.is_homogeneous
    assert Markov([0.5, 0.5], TWO, steps=5) != once
    assert Markov([0.5, 0.5], [TWO, TWO, TWO[::-1]]) != once
    assert Markov([0.5, 0.5], TWO, steps=1) == Markov([0.5, 0.5], np.empty((0, 2, 2)))


def test_a_repeated_matrix_is_stored_once_however_long_the_chain():
    count, steps = 100, 10_000
    matrix = np.random.default_rng(0).dirichlet(np.ones(count), count)
    belief = Markov(np.full(count, 1 / count), matrix, steps=steps)
    again = Markov(belief.initial, belief.transitions, states=belief.states)
    assert belief._matrices.shape == again._matrices.shape == (count, count)
    assert belief == again
    assert len(pickle.dumps(belief)) < 200_000
    assert belief.log_transitions.strides[0] == 0


def test_copies_and_pickles_are_equal():
    belief = random_chain(0)
    for other in (copy.copy(belief), copy.deepcopy(belief), pickle.loads(pickle.dumps(belief))):  # noqa: S301  # our own bytes
        assert other == belief
        assert other.index("b") == 1


def test_permuted_states():
    belief = random_chain(3)
    order = [2, 0, 1]
    other = belief.permuted(order)
    assert other.states == ("c", "a", "b")
    np.testing.assert_allclose(other.marginals(), belief.marginals()[:, order], rtol=1e-14)
    for trace in itertools.product("abc", repeat=4):
        assert other.log_probability(trace) == belief.log_probability(trace)
    assert other.permuted([1, 2, 0]) == belief
    with pytest.raises(ParameterError, match="permutation"):
        belief.permuted([0, 0, 1])


def test_labels():
    belief = Markov([0.5, 0.5], TWO, steps=3, states=("home", ("a", 1)))
    assert belief.encode(["home", ("a", 1), "home"]).tolist() == [0, 1, 0]
    assert belief.decode([0, 1]) == ("home", ("a", 1))
    with pytest.raises(ParameterError, match="did you mean 'home'"):
        belief.index("hone")
    with pytest.raises(ParameterError, match=r"there are .*home"):
        belief.index("zebra")
    with pytest.raises(ParameterError, match="states has no"):
        belief.encode([["unhashable"]])
    assert Markov([0.5, 0.5], TWO, steps=3).states == (0, 1)


@pytest.mark.parametrize(
    "arguments",
    [
        {"initial": [0.5, 0.4]},
        {"initial": [0.5, float("nan")]},
        {"initial": [1.5, -0.5]},
        {"initial": [float("inf"), 0.0]},
        {"initial": [[0.5, 0.5]]},
        {"initial": []},
        {"initial": ["a", "b"]},
        {"initial": None},
        {"initial": [0.5 + 0j, 0.5]},
        {"initial": [True, False]},
        {"transitions": [[0.9, 0.1], [0.2, 0.7]]},
        {"transitions": [[0.9, 0.1], [np.nan, 0.8]]},
        {"transitions": [[1.1, -0.1], [0.2, 0.8]]},
        {"transitions": [[0.9, 0.1]]},
        {"transitions": [0.9, 0.1]},
        {"transitions": np.eye(3)},
        {"transitions": [TWO]},
        {"steps": None},
        {"steps": 0},
        {"steps": -1},
        {"steps": 2.0},
        {"steps": True},
        {"states": ("a",)},
        {"states": ("a", "a")},
        {"states": ([], "a")},
        {"states": (float("nan"), "a")},
        {"states": (SUPPRESSED, "a")},
    ],
)
def test_bad_arguments_are_refused(arguments):
    good = {"initial": [0.5, 0.5], "transitions": TWO, "steps": 3, "states": ("a", "b")}
    Markov(**good)
    with pytest.raises(ParameterError) as caught:
        Markov(**{**good, **arguments})
    assert str(caught.value).endswith(".")


def test_sums_off_by_less_than_the_tolerance_are_normalised_once():
    belief = Markov([0.5, 0.5 + 4e-10], TWO, steps=2)
    assert belief.initial.sum() == pytest.approx(1.0, abs=1e-15)
    assert Markov(belief.initial, TWO, steps=2) == belief


def test_arrays_are_copied():
    initial = np.array([0.5, 0.5])
    belief = Markov(initial, TWO, steps=2)
    initial[0] = 0.0
    assert belief.initial.tolist() == [0.5, 0.5]
    with pytest.raises(ValueError, match="read-only"):
        belief.initial[0] = 1.0


def test_sampled_pairs_have_the_chains_frequencies():
    # 100,000 traces: 6.1 standard deviations is a false alarm below 1e-9 per cell.
    belief, size = random_chain(1), 100_000
    paths = belief.sample_encoded(np.random.default_rng(5), size)
    assert paths.shape == (size, belief.steps)
    for t in range(belief.steps - 1):
        pairs = np.zeros((3, 3))
        np.add.at(pairs, (paths[:, t], paths[:, t + 1]), 1.0)
        expected = belief.marginals()[t][:, None] * belief.transitions[t]
        spread = np.sqrt(size * expected * (1 - expected))
        assert (np.abs(pairs - size * expected) <= 6.5 * spread + 1e-9).all()
        # The test is sharp enough to reject probabilities that are off by a third.
        wrong = np.roll(expected, 1, axis=1)
        assert (np.abs(pairs - size * wrong) > 6.5 * spread).any()


def test_impossible_states_are_never_drawn():
    belief = Markov([0.0, 1.0, 0.0], np.eye(3), steps=50)
    assert (belief.sample_encoded(np.random.default_rng(0), 200) == 1).all()


def test_sample_returns_labels():
    belief = random_chain(2)
    one = belief.sample(np.random.default_rng(0))
    many = belief.sample(np.random.default_rng(0), size=3)
    assert isinstance(one, tuple)
    assert len(one) == belief.steps
    assert [len(trace) for trace in many] == [belief.steps] * 3
    assert set(itertools.chain(*many)) <= set("abc")
    assert len(belief.sample()) == belief.steps


def test_is_stationary():
    assert Markov([2 / 3, 1 / 3], TWO, steps=9).is_stationary()
    assert not Markov([0.5, 0.5], TWO, steps=9).is_stationary()
    assert not Markov([2 / 3, 1 / 3], [TWO, np.eye(2)]).is_stationary()
    assert Markov([0.3, 0.7], TWO, steps=1).is_stationary()


def test_suppressed_is_one_object():
    assert repr(SUPPRESSED) == "sf.SUPPRESSED"
    assert copy.copy(SUPPRESSED) is SUPPRESSED
    assert copy.deepcopy([SUPPRESSED])[0] is SUPPRESSED
    assert pickle.loads(pickle.dumps(SUPPRESSED)) is SUPPRESSED  # noqa: S301  # our own bytes
    assert {SUPPRESSED: 1}[SUPPRESSED] == 1
