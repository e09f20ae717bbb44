"""Temporal leakage beside all sets of states, beside what really leaks, and budgets for it."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.beliefs import Markov
from sfumato.channels import Symbols
from sfumato.questions import StateAt
from sfumato_temporal.allocation import allocate
from sfumato_temporal.leakage import accumulate, leakages, step_leakage, supremum


def drawn_matrix(seed, states):
    rng = np.random.default_rng(seed)
    matrix = rng.dirichlet(np.full(states, 0.5), size=states)
    matrix[rng.random(matrix.shape) < 0.2] = 0.0
    matrix[:, 0] += matrix.sum(axis=1) == 0.0
    return matrix / matrix.sum(axis=1, keepdims=True)


def best_set(q, d, alpha):
    """Return max over sets A of log (q_A (e^α − 1) + 1)/(d_A (e^α − 1) + 1), by trying them all."""
    gain, places = math.expm1(alpha), range(len(q))
    sets = itertools.chain.from_iterable(
        itertools.combinations(places, size) for size in range(len(q) + 1)
    )
    return max(
        math.log((sum(q[i] for i in A) * gain + 1) / (sum(d[i] for i in A) * gain + 1))
        for A in sets
    )


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    states=st.integers(2, 6),
    alpha=st.floats(1e-6, 6.0, exclude_min=True),
)
def test_no_set_of_states_gives_a_larger_quotient(seed, states, alpha):
    matrix = drawn_matrix(seed, states)
    truth = max(best_set(q, d, alpha) for q in matrix for d in matrix)
    value, q, d = step_leakage(matrix, alpha)
    assert value == pytest.approx(truth, rel=1e-12, abs=1e-14)
    gain = math.expm1(alpha)
    assert value == pytest.approx(math.log((q * gain + 1) / (d * gain + 1)), abs=1e-13)


@pytest.mark.parametrize("alpha", [1e-12, 1e-8, 1e-3, 1.0, 30.0])
@pytest.mark.parametrize("apart", [1.0, 1e-6, 1e-11])
def test_leakage_of_nearly_the_same_rows_keeps_its_digits(alpha, apart):
    import mpmath as mp

    rng = np.random.default_rng(1)
    matrix = np.full((3, 3), 1 / 3) * (1 - apart) + apart * rng.dirichlet(np.ones(3), size=3)
    sets = [subset for size in range(4) for subset in itertools.combinations(range(3), size)]
    with mp.workdps(50):
        gain = mp.expm1(alpha)
        truth = max(
            mp.log((mp.fsum(q[i] for i in A) * gain + 1) / (mp.fsum(d[i] for i in A) * gain + 1))
            for q, d in itertools.permutations(matrix.tolist(), 2)
            for A in sets
        )
        assert abs(step_leakage(matrix, alpha)[0] / truth - 1) < 1e-14


@pytest.mark.parametrize("epsilon", [1e-10, 1e-6, 1.0, 60.0])
def test_a_tiny_target_is_kept_too(epsilon):
    prior = sf.priors.markov_chain([0.2, 0.3, 0.5], [[0.6, 0.3, 0.1]] * 2 + [[0, 0, 1]], steps=3)
    secret = sf.secrets.every_point()
    release = sf.mechanisms.temporal_response(epsilon=epsilon).protect(prior, secret)
    found = sf.measures.temporal_leakage().loss(prior, secret, release).value
    assert epsilon * (1 - 1e-3) < found <= epsilon


def test_a_target_beyond_what_float64_holds_is_kept():
    prior = sf.priors.markov_chain("stationary", [[0.8, 0.2], [0.3, 0.7]], steps=5)
    secret = sf.secrets.every_point()
    release = sf.mechanisms.temporal_response(epsilon=2000.0).protect(prior, secret)
    assert sf.measures.temporal_leakage().loss(prior, secret, release).value <= 2000.0


def test_classes_that_are_never_left_share_the_budget_evenly():
    budgets = allocate(Markov([0.5, 0.5], np.eye(2), steps=5), 0.5)
    assert budgets == pytest.approx(np.full(5, 0.1), rel=1e-9)


@pytest.mark.parametrize("moves", [0.2, 1e-6, 1e-12, 8.8e-27])
@pytest.mark.parametrize("epsilon", [0.05, 1e-6, 1e-17, 1e-30])
def test_the_supremum_of_two_states_that_hardly_move(moves, epsilon):
    matrix = np.array([[1.0 - moves, moves], [moves, 1.0 - moves]])
    with mpmath.workdps(80):
        q, d = mpmath.mpf(matrix[0, 0]), mpmath.mpf(matrix[1, 0])
        factor = mpmath.exp(mpmath.mpf(epsilon))
        half = (1 - d - q * factor) / 2  # d x² + 2 half x = (1 - q) factor
        root = (mpmath.sqrt(half * half + d * (1 - q) * factor) - half) / d
        limit = float(mpmath.log(root))
    assert limit * (1 - 1e-12) <= supremum(matrix, epsilon) <= limit * (1 + 1e-9)


def test_a_walk_that_hardly_moves_is_protected():
    places = [[0.0, 0.0], [0.0, 3.0]]
    prior = sf.priors.location_walk(places=places, reach=0.05, steps=3)
    secret = sf.secrets.basic(0)
    release = sf.mechanisms.temporal_response(epsilon=0.05).protect(prior, secret)
    assert 0.049 < sf.measures.temporal_leakage().loss(prior, secret, release).value <= 0.05


def test_a_window_is_refused_as_it_loses_more():
    prior = sf.priors.markov_chain("stationary", [[0.8, 0.2], [0.2, 0.8]], steps=3)
    response = sf.mechanisms.temporal_response(epsilon=0.5)
    window = sf.secrets.contexts([1], window=True, both_ways=True)
    single = response.protect(prior, sf.secrets.contexts([1], both_ways=True))
    assert sf.measures.pufferfish().loss(prior, window, single).value > 0.5
    with pytest.raises(sf.OutsideHypotheses, match="single times"):
        response.protect(prior, window)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), states=st.integers(2, 5), epsilon=st.floats(0.01, 0.5))
def test_the_supremum_is_the_limit(seed, states, epsilon):
    matrix = drawn_matrix(seed, states)
    limit = supremum(matrix, epsilon)
    if math.isinf(limit):
        found = accumulate([matrix] * 59, [epsilon] * 60)
        assert found[-1] - found[-2] > 0.0
        assert supremum(matrix, epsilon * 1.01) == math.inf
    else:
        assert step_leakage(matrix, limit)[0] + epsilon == pytest.approx(limit, rel=1e-9)
        found = accumulate([matrix] * 29, [epsilon] * 30)
        assert found == sorted(found)
        assert found[-1] <= limit * (1 + 1e-9)
        # No smaller level stays where it is.
        for share in (0.999, 0.9, 0.5):
            level = epsilon + share * (limit - epsilon)
            assert step_leakage(matrix, level)[0] + epsilon >= level * (1 - 1e-12)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), states=st.integers(2, 3))
def test_no_randomiser_leaks_more(seed, states):
    """Every part bounds what is really leaked, for randomisers of any shape and chains of any."""
    rng = np.random.default_rng(seed)
    steps = 4
    moves = np.array([drawn_matrix(seed + t, states) for t in range(steps - 1)])
    belief = Markov(rng.dirichlet(np.ones(states)), moves)
    laws = rng.dirichlet(np.full(3, 2.0), size=(steps, states))
    channel = Symbols(belief.states, "abc", laws)
    for part in ("total", "backward", "forward"):
        measure = sf.measures.temporal_leakage(part=part)
        for time in range(steps):
            question = StateAt.of(belief, [time])
            truth = measure.brute_force(belief, question, channel)
            assert truth.value <= measure.evaluate(belief, question, channel).value * (1 + 1e-9)


def test_it_is_attained_by_randomised_response_of_two_states():
    chain = sf.priors.markov_chain("stationary", [[0.8, 0.2], [0.2, 0.8]], steps=7)
    for index in (0, 3, 6):
        secret = sf.secrets.basic(index)
        release = sf.mechanisms.randomised_response(epsilon=0.4).protect(chain, secret)
        bound = sf.measures.temporal_leakage().loss(chain, secret, release)
        exact = sf.measures.renyi(order=math.inf).loss(chain, secret, release)
        assert bound.value == pytest.approx(exact.value, rel=1e-9)
        assert bound.quantity == exact.quantity


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    states=st.integers(2, 4),
    steps=st.integers(1, 7),
    leakage=st.floats(0.05, 4.0),
)
def test_budgets_keep_the_leakage(seed, states, steps, leakage):
    matrix = np.random.default_rng(seed).dirichlet(np.ones(states), size=states)
    start = (
        np.linalg.matrix_power(matrix, 4000)[0]
        if seed % 2
        else np.eye(states)[0] * 0.9 + 0.1 / states
    )
    belief = Markov(start / start.sum(), matrix, steps=steps)
    budgets = allocate(belief, leakage)
    total = leakages(belief, budgets)["total"]
    assert (budgets >= 0).all()
    assert total.max() <= leakage
    assert total.max() == pytest.approx(leakage, rel=1e-6)
    if steps > 2 and belief.is_stationary():
        assert total == pytest.approx(np.full(steps, leakage), rel=1e-6)


def test_one_matrix_of_a_hundred_states_is_solved_over_all_pairs():
    matrix = np.random.default_rng(0).dirichlet(np.ones(100), size=100)
    value, _, _ = step_leakage(matrix, 0.5)
    order = [
        (np.cumsum(q[place]), np.cumsum(d[place]))
        for q in matrix
        for d in matrix
        for place in [np.argsort(-q / d)]
    ]
    gain = math.expm1(0.5)
    truth = max(math.log(((Q * gain + 1) / (D * gain + 1)).max()) for Q, D in order)
    assert value == pytest.approx(truth, rel=1e-12)


def test_what_remembers_is_refused():
    chain = sf.priors.markov_chain("stationary", [[0.8, 0.2], [0.2, 0.8]], steps=3)
    secret = sf.secrets.contexts([1])
    release = sf.mechanisms.suppress_segmented(delta=0.1).protect(chain, secret)
    if release.channel.after is None:
        pytest.skip("the design does not depend on the last release")
    with pytest.raises(sf.OutsideHypotheses, match="remembers"):
        sf.measures.temporal_leakage().loss(chain, secret, release)


def test_brute_force_refuses_windows_as_the_measure_does():
    prior = sf.priors.markov_chain([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], steps=2)
    secret = sf.secrets.contexts([1], window=True, both_ways=True)
    release = sf.mechanisms.randomised_response(epsilon=0.5).protect(prior, sf.secrets.basic(0))
    at, measure = release.situation(prior, secret), sf.measures.temporal_leakage()
    for read in (measure.evaluate, measure.brute_force):
        with pytest.raises(sf.OutsideHypotheses, match="single times"):
            read(at.belief, at.question, at.channel)


def test_a_state_too_rare_for_float64_is_not_taken_for_an_impossible_one():
    """State 0 at time 2 has the chance 1e-400: the release tells it from state 1."""
    belief = Markov([1.0, 0.0], [[1e-200, 1.0], [0.0, 1.0]], steps=4)
    channel = Symbols((0, 1), (0, 1), [[[0.9, 0.1], [0.1, 0.9]]] * 4)
    with pytest.raises(sf.Undecidable, match="too small for float64"):
        sf.measures.temporal_leakage().evaluate(belief, StateAt.of(belief, [2]), channel)
    forward = sf.measures.temporal_leakage(part="forward")
    with pytest.raises(sf.Undecidable, match="too small for float64"):
        forward.evaluate(belief, StateAt.of(belief, [2]), channel)


def test_every_point_of_a_long_chain_is_read_time_by_time():
    """A list of what belongs to every event at every time would have 10^8 entries."""
    steps, secret = 5_000, sf.secrets.every_point()
    chain = sf.priors.markov_chain("stationary", [[0.8, 0.2], [0.3, 0.7]], steps=steps)
    release = sf.mechanisms.randomised_response(epsilon=0.1).protect(chain, secret)
    middle = sf.secrets.basic(steps // 2)
    measure = sf.measures.temporal_leakage()
    whole, alone = (measure.loss(chain, one, release).value for one in (secret, middle))
    assert whole == pytest.approx(alone, rel=1e-6)
    assert sf.measures.differential_privacy().loss(chain, secret, release).value >= 0.1 * steps
    assert sf.secrets.contexts([1]).question(chain.belief()).times.tolist() == list(range(steps))
    with pytest.raises(sf.OutsideHypotheses, match="shorter chain"):
        secret.question(chain.belief()).masks  # noqa: B018 - what is asked for is too large
