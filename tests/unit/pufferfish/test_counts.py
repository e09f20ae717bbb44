"""Counts over a chain beside enumeration, quadrature and the whole linear program."""

import itertools
import math
import re
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import brentq, linprog
from scipy.special import logsumexp
from scipy.stats import binom

import sfumato as sf
from sfumato.beliefs import Markov
from sfumato.questions import StateAt
from sfumato_pufferfish.counts import (
    CountLaws,
    NoisyCount,
    count_query,
    histogram,
    moments,
    whole_noise,
)
from sfumato_pufferfish.mechanisms import count_laws, exact_scale, transport_distance
from sfumato_pufferfish.noise_program import best_noise
from sfumato_pufferfish.quilts import quilt_scale


def drawn_chain(seed, states=2, steps=5, *, sparse=False):
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.ones(states), size=(steps - 1, states))
    if sparse:
        rows[:, 0] = np.eye(states)[-1]
    return Markov(rng.dirichlet(np.ones(states)), rows, steps=steps)


def by_trace(belief, weights):
    """Yield every trace with its probability and its counts."""
    for trace in itertools.product(range(belief.state_count), repeat=belief.steps):
        chance = math.exp(belief.log_probability([belief.states[s] for s in trace]))
        yield (
            trace,
            chance,
            tuple(sum(weights[s][j] for s in trace) for j in range(len(weights[0]))),
        )


QUESTIONS = {
    "basic": sf.secrets.basic(2),
    "compound": sf.secrets.compound([0, 3]),
    "window": sf.secrets.contexts([1], times=[1, 3], window=True),
}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("weights", [[[0], [2], [1]], np.eye(3, dtype=int).tolist()])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_law_of_the_count(question, weights, sparse):
    belief = drawn_chain(3, states=3, steps=4, sparse=sparse)
    laws = CountLaws(belief, np.array(weights))
    for asked in QUESTIONS[question].question(belief).asked():
        found = laws.joint(asked)
        truth = np.zeros_like(found)
        for trace, chance, counts in by_trace(belief, weights):
            place = 0
            for time in asked.times:
                place = place * 3 + trace[time]
            truth[(int(np.argmax(asked.members[:, place])), *counts[::-1])] += chance
        assert found == pytest.approx(truth, abs=1e-15)


# Laplace noise, by quadrature between whole numbers -----------------------------------------------


def densities(belief, time, weights, scale):
    """Return the density of the output under each state at a time, from every trace."""
    masses = np.zeros((belief.state_count, belief.steps * max(w[0] for w in weights) + 1))
    for trace, chance, (count,) in by_trace(belief, weights):
        masses[trace[time], count] += chance
    prior = masses.sum(axis=1)
    places = np.arange(masses.shape[1])

    def density(z):
        return masses @ np.exp(-np.abs(z - places) / scale) / (2 * scale) / prior

    return prior, density, masses.shape[1] - 1


def integral(function, most, scale):
    ends = [-40 * scale, *range(most + 1), most + 40 * scale]
    return sum(quad(function, a, b, limit=200)[0] for a, b in itertools.pairwise(ends))


def divergence(order, most, scale, p, q):
    inside = integral(lambda z: p(z) ** order * q(z) ** (1 - order), most, scale)
    return math.log(inside) / (order - 1)


@pytest.mark.parametrize("scale", [0.4, 1.5, 6.0])
@pytest.mark.parametrize("seed", range(3))
def test_every_measure_of_a_noisy_count_lies_between_its_ends(seed, scale):
    belief, weights = drawn_chain(seed), [[0], [1]]
    prior, density, most = densities(belief, 2, weights, scale)
    p, q = (lambda z, s=s: density(z)[s] for s in (0, 1))

    def worst(distance):
        return max(distance(p, q), distance(q, p))

    truths = {
        sf.measures.advantage(): integral(lambda z: abs(p(z) - q(z)) / 2, most, scale),
        sf.measures.bayes_success(): integral(lambda z: (prior * density(z)).max(), most, scale),
        sf.measures.hockey_stick(epsilon=0.2): worst(
            lambda a, b: integral(lambda z: max(a(z) - math.exp(0.2) * b(z), 0.0), most, scale)
        ),
        sf.measures.renyi(order=2.0): worst(lambda a, b: divergence(2.0, most, scale, a, b)),
        sf.measures.renyi(order=7.0): worst(lambda a, b: divergence(7.0, most, scale, a, b)),
        sf.measures.remaining_entropy(): -integral(
            lambda z: (prior * density(z)) @ np.log(prior * density(z) / (prior @ density(z))),
            most,
            scale,
        ),
        sf.measures.renyi(order=math.inf): max(
            abs(math.log(p(z) / q(z))) for z in np.linspace(-1, most + 1, 40 * (most + 2) + 1)
        ),
    }
    channel = NoisyCount(belief.states, belief.steps, weights, scale)
    question = StateAt.of(belief, [2])
    for measure, truth in truths.items():
        found = measure.evaluate(belief, question, channel)
        low, high = found.interval or (found.floor, found.ceiling)
        assert high - low < 2e-5 * (1.0 + high), measure
        assert low - 1e-7 <= truth <= high + 1e-7, measure
        assert found.bound == ("exact" if math.isinf(getattr(measure, "order", 0)) else found.bound)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), place=st.floats(-3.0, 12.0), scale=st.floats(0.3, 5.0))
def test_no_output_is_worse_than_the_worst_whole_number(seed, place, scale):
    belief, weights = drawn_chain(seed), [[0], [2]]
    _, density, _ = densities(belief, 1, weights, scale)
    channel = NoisyCount(belief.states, belief.steps, weights, scale)
    loss = sf.measures.pufferfish().evaluate(belief, StateAt.of(belief, [1]), channel)
    p, q = density(place)
    assert abs(math.log(p / q)) <= loss.value + 1e-12


@pytest.mark.parametrize("seed", range(12))
def test_the_loss_is_never_below_the_ratio_in_forty_digits(seed):
    rng = np.random.default_rng(seed)
    belief, weights = (
        drawn_chain(seed, states=3, steps=3),
        rng.integers(0, 3, size=(3, 1 + seed % 2)),
    )
    scale = float(10 ** rng.uniform(-1.7, 1.5))
    channel = NoisyCount(belief.states, 3, weights, scale)
    found = sf.measures.pufferfish().evaluate(belief, StateAt.of(belief, [1]), channel)
    with mp.workdps(40):
        laws = [{}, {}, {}]
        for trace, chance, counts in by_trace(belief, weights.tolist()):
            laws[trace[1]][counts] = laws[trace[1]].get(counts, 0) + mp.mpf(chance)
        logs = [
            [
                mp.log(
                    mp.fsum(
                        p
                        * mp.exp(
                            -sum(abs(a - b) for a, b in zip(z, f, strict=True)) / mp.mpf(scale)
                        )
                        for f, p in law.items()
                    )
                    / mp.fsum(law.values())
                )
                for law in laws
            ]
            for z in itertools.product(range(7), repeat=weights.shape[1])
        ]
        truth = max(max(row) - min(row) for row in logs)
    assert truth * (1 - mp.mpf(10) ** -13) <= found.ceiling <= truth + 1e-8 * (1 + truth)


def test_a_histogram_of_many_states_takes_little_room():
    """Outputs are cells: one around each whole number and one between two, for each count."""
    chain = sf.priors.markov_chain([0.25] * 4, [[0.25] * 4] * 4, steps=13)
    secret = sf.secrets.basic(6)
    release = sf.mechanisms.laplace_count(states="histogram", scale=1.0).protect(chain, secret)
    at = release.situation(chain, secret)
    view = at.channel.view(at.belief, at.question)
    assert view.lower[0].joint.shape[1] <= 29**4


def test_a_histogram_is_measured_too():
    chain = sf.priors.markov_chain("stationary", [[0.8, 0.2], [0.3, 0.7]], steps=6)
    secret = sf.secrets.basic(3)
    release = sf.mechanisms.laplace_count(states="histogram", epsilon=1.0).protect(chain, secret)
    loss = sf.measures.pufferfish().loss(chain, secret, release)
    at = release.situation(chain, secret)
    truth = sf.measures.pufferfish().brute_force(at.belief, at.question, at.channel)
    assert loss.value == pytest.approx(1.0, abs=1e-8)
    assert truth.value == pytest.approx(1.0, abs=1e-8)
    assert release.apply([0, 1, 1, 0, 0, 1], np.random.default_rng(0)).shape == (2,)


# Calibration --------------------------------------------------------------------------------------


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), epsilon=st.floats(0.2, 3.0))
def test_the_exact_scale_is_enough_and_no_more(seed, epsilon):
    belief = drawn_chain(seed, steps=6)
    question, weights = StateAt.of(belief, range(6)), count_query(belief, [1])
    scale = exact_scale(belief, question, weights, epsilon)

    def ratio(b):
        worst = 0.0
        for time in range(6):
            _, density, most = densities(belief, time, weights.tolist(), b)
            logs = np.log([density(z) for z in range(most + 1)])
            worst = max(worst, float(np.abs(logs[:, 0] - logs[:, 1]).max()))
        return worst

    assert ratio(scale) <= epsilon + 1e-9
    if scale > 0.02:
        assert ratio(scale * (1 - 1e-6)) > epsilon


@pytest.mark.parametrize("steps", [40, 1_200])
def test_the_exact_scale_of_a_count_that_stays_small(steps):
    """One visit at most: outputs far beyond one are as unlikely as those of one, and vanish."""
    moves = [[0.9, 0.1, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]
    chain = sf.priors.markov_chain([0.5, 0.2, 0.3], moves, steps=steps)
    secret = sf.secrets.basic(1)
    mechanism = sf.mechanisms.laplace_count(states=[1], epsilon=1.0)
    release = mechanism.protect(chain, secret)
    # At time 1 the state 1 has one visit, the state 2 one or none, the state 0 one with chance c.
    visits = [1 - 0.9 ** (steps - 2), 1.0, 0.2 / 0.5]

    def ratio(scale):
        near = math.exp(-1.0 / scale)
        seen = [((1 - c) + c * near, (1 - c) * near + c) for c in visits]
        return max(
            abs(math.log(p / q)) for one in zip(*seen, strict=True) for p in one for q in one
        )

    assert release.channel.scale == pytest.approx(
        brentq(lambda b: ratio(b) - 1.0, 0.1, 9), rel=1e-8
    )
    loss = sf.measures.pufferfish().loss(chain, secret, release)
    assert 1.0 - 1e-8 <= loss.value <= 1.0


def test_a_scale_that_float64_cannot_tell_is_refused_and_one_that_suffices_is_named():
    """Of 1,000 independent states each one is hidden by the noise 1/ε, as outputs of 1e-400 say."""
    secret = sf.secrets.basic(500)
    chain = sf.priors.markov_chain([0.9, 0.1], [[0.9, 0.1], [0.9, 0.1]], steps=1_000)
    with pytest.raises(sf.Undecidable, match="suffices; give it") as refused:
        sf.mechanisms.laplace_count(states=[1], epsilon=2.0).protect(chain, secret)
    named = float(re.search(r"scale ([\d.]+) suffices", str(refused.value))[1])
    assert 0.5 < named < 3.0
    away = np.abs(np.arange(1_001)[:, None] - np.arange(1_000)) / named
    others = binom.logpmf(np.arange(1_000), 999, 0.1)
    seen = logsumexp(others - away, axis=1)  # at 0 ... 1000, of a state that does not count
    assert np.abs(np.diff(seen)).max() <= 2.0
    # In a class a member that needs more noise decides.
    other = sf.priors.markov_chain("stationary", [[0.9, 0.1], [0.1, 0.9]], steps=1_000)
    mechanism = sf.mechanisms.laplace_count(states=[1], epsilon=2.0)
    alone = mechanism.protect(other, secret).channel.scale
    assert mechanism.protect(sf.AnyOf(chain, other), secret).channel.scale == alone > named


def test_a_state_too_rare_for_float64_is_not_taken_for_an_impossible_one():
    chain = sf.priors.markov_chain([1.0, 0.0], [[1e-200, 1.0], [0.0, 1.0]], steps=6)
    mechanism = sf.mechanisms.laplace_count(states=[0], epsilon=1.0)
    with pytest.raises(sf.Undecidable, match="a state is less likely"):
        mechanism.protect(chain, sf.secrets.basic(3))
    given = sf.mechanisms.laplace_count(states=[0], scale=1.0).protect(chain, sf.secrets.basic(3))
    with pytest.raises(sf.Undecidable, match="a state is less likely"):
        sf.measures.pufferfish().loss(chain, sf.secrets.basic(3), given)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), epsilon=st.floats(0.2, 3.0), steps=st.integers(1, 8))
def test_transport_and_quilts_need_no_less_than_the_exact_noise(seed, epsilon, steps):
    belief = drawn_chain(seed, steps=max(steps, 2))
    question, weights = StateAt.of(belief, range(belief.steps)), count_query(belief, [1])
    exact = exact_scale(belief, question, weights, epsilon)
    laws, error, _ = count_laws(belief, question, weights)
    assert exact <= transport_distance(laws, error) / epsilon * (1 + 1e-8)
    assert exact <= quilt_scale(belief, epsilon) * (1 + 1e-8)
    # Of one step all of them are 1/ε, and rounded up.
    chain = sf.priors.markov_chain([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], steps=1)
    for name in ("wasserstein_laplace", "markov_quilt", "laplace_count"):
        mechanism = sf.registry.get("mechanism", name)(states=[1], epsilon=epsilon)
        scale = mechanism.protect(chain, sf.secrets.basic(0)).channel.scale
        assert 1 <= Fraction(scale) * Fraction(epsilon) <= 1 + Fraction(1, 10**9)


@pytest.mark.parametrize("seed", range(8))
def test_transport_is_the_largest_difference_of_quantiles(seed):
    belief = drawn_chain(seed, steps=5, sparse=seed % 2 == 1)
    question = StateAt.of(belief, [2])
    laws, error, _ = count_laws(belief, question, np.array([[0], [3]]))
    levels = np.linspace(0.0, 1.0, 20_001)[1:-1]
    truth = 0
    for law, pairs in laws:
        quantiles = [np.searchsorted(np.cumsum(row), levels) for row in law]
        truth = max([truth, *(int(np.abs(quantiles[a] - quantiles[b]).max()) for a, b in pairs)])
    assert transport_distance(laws, error) == truth


@pytest.mark.parametrize("seed", range(6))
def test_quilts_by_trying_all_of_them(seed):
    rng = np.random.default_rng(seed)
    stationary = seed % 2 == 0
    P = rng.dirichlet(np.ones(3), size=3)
    start = np.linalg.matrix_power(P, 200)[0] if stationary else rng.dirichlet(np.ones(3))
    belief, epsilon = Markov(start / start.sum(), P, steps=9), float(rng.uniform(0.3, 3.0))
    marginals = belief.marginals()
    scores = []
    for i in range(9):
        best = 9 / epsilon
        for left, right in itertools.product([None, *range(i)], [None, *range(i + 1, 9)]):
            laws = np.ones((3, 1))
            if left is not None:
                power = np.linalg.matrix_power(P, i - left)
                laws = (marginals[left][:, None] * power / marginals[i]).T
            if right is not None:
                after = np.linalg.matrix_power(P, right - i)
                laws = (laws[:, :, None] * after[:, None]).reshape(3, -1)
            e = max(np.log(laws[s] / laws[t]).max() for s in range(3) for t in range(3))
            inside = (9 if right is None else right) - (-1 if left is None else left) - 1
            if e < epsilon:
                best = min(best, inside / (epsilon - e))
        scores.append(best)
    assert quilt_scale(belief, epsilon) == pytest.approx(max(scores), rel=1e-6)
    for node in (0, 4, 8):
        assert quilt_scale(belief, epsilon, [node]) == pytest.approx(scores[node], rel=1e-6)


@pytest.mark.parametrize("steps", [6, 40])
@pytest.mark.parametrize("start", [[0.5, 0.5, 0.0], [0.4, 0.6, 0.0]])
def test_quilts_do_not_ask_what_an_impossible_state_would_say(start, steps):
    """State 2 is never held: the chain is that of the other two."""
    moves = [[0.7, 0.3, 0.0], [0.3, 0.7, 0.0], [0.0, 0.001, 0.999]]
    belief = Markov(start, moves, steps=steps)
    alone = Markov(start[:2], [[0.7, 0.3], [0.3, 0.7]], steps=steps)
    assert quilt_scale(belief, 1.0) == pytest.approx(quilt_scale(alone, 1.0), rel=1e-9)


def test_quilts_do_not_take_a_rare_state_for_an_impossible_one():
    """State 0 has the chance 1e-400 at time 2, and says who was where before."""
    for start, moves in (
        ([1.0, 0.0], [[1e-200, 1.0], [0.0, 1.0]]),
        ([1e-200, 0.5, 0.5], [[1e-160, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),  # still
    ):
        with pytest.raises(sf.Undecidable, match="too small for float64"):
            quilt_scale(Markov(start, moves, steps=30), 1.0)


def test_the_approximate_form_is_never_below_the_exact_one():
    rng = np.random.default_rng(5)
    for _ in range(10):
        P = rng.dirichlet(np.full(3, 2.0), size=3)
        start = np.linalg.matrix_power(P, 300)[0]
        belief = Markov(start / start.sum(), P, steps=60)
        assert quilt_scale(belief, 1.0, form="approximate") >= quilt_scale(belief, 1.0) - 1e-9


def test_a_class_takes_the_noise_of_its_worst_member():
    chains = [
        sf.priors.markov_chain("stationary", [[1 - q, q], [1 - p, p]], steps=20)
        for q, p in ((0.1, 0.9), (0.5, 0.5), (0.2, 0.7))
    ]
    secret = sf.secrets.every_point()
    for name in ("laplace_count", "markov_quilt", "wasserstein_laplace"):
        mechanism = getattr(sf.mechanisms, name)(states=[1], epsilon=1.0)
        alone = [mechanism.protect(chain, secret).channel.scale for chain in chains]
        assert mechanism.protect(sf.AnyOf(*chains), secret).channel.scale == max(alone)
    best = sf.mechanisms.optimal_count_noise(states=[1], epsilon=1.0)
    release = best.protect(sf.AnyOf(*chains), secret)
    for chain in chains:
        assert sf.measures.pufferfish().loss(chain, secret, release).value <= 1.0


# Whole-number noise -------------------------------------------------------------------------------


@pytest.mark.parametrize(("seed", "reach"), [(0, 4), (1, 6), (2, 3)])
def test_the_best_noise_beside_the_whole_program(seed, reach):
    """All constraints at once, with the same tails, by an interior-point solver."""
    belief, epsilon = drawn_chain(seed, steps=6), 1.0
    question, weights = StateAt.of(belief, range(6)), count_query(belief, [1])
    scale = exact_scale(belief, question, weights, epsilon * (1 - 1e-6))
    laws, *_ = count_laws(belief, question, weights)
    core = best_noise(laws, epsilon, scale, reach)
    units = np.array([whole_noise(6, scale, one) for one in np.eye(2 * reach + 1)])
    limits = [
        np.einsum("k,jkz->zj", law[a] - math.exp(epsilon) * law[b], units)
        for law, pairs in laws
        for a, b in pairs
    ]
    far = np.arange(400.0)
    size = np.abs(np.arange(-reach, reach + 1.0))
    tails = np.exp(-far / scale)
    total, square = np.ones(len(size)), size**2
    total[[0, -1]], square[[0, -1]] = tails.sum(), (tails * (reach + far) ** 2).sum()
    mean = np.arange(-reach, reach + 1.0)
    mean[[0, -1]] = np.array([-1, 1]) * (tails * (reach + far)).sum()
    solved = linprog(
        square,
        A_ub=np.concatenate(limits),
        b_ub=np.zeros(sum(map(len, limits))),
        A_eq=[total, mean],
        b_eq=[1.0, 0.0],
        method="highs-ipm",
    )
    found = NoisyCount(belief.states, 6, weights, scale, core).variance
    assert found == pytest.approx(float(square @ core), rel=1e-9)
    assert found == pytest.approx(solved.fun, rel=2e-3, abs=1e-4)
    assert found < 2 * scale**2


@pytest.mark.parametrize("core", [None, [0.1, 0.2, 0.3, 0.2, 0.1]])
def test_noise_is_drawn_as_its_variance_says(core):
    if core is not None:
        core = np.array(core)
        core /= core.sum() + 2 * core[0] / math.expm1(1 / 2.0)
    channel = NoisyCount((0, 1), 3, [[0], [1]], 2.0, core)
    draws = channel.sample_many(np.zeros((200_000, 3), dtype=int), np.random.default_rng(1))
    assert draws.mean() == pytest.approx(0.0, abs=0.05)
    assert draws.var() == pytest.approx(channel.variance, rel=0.05)


def test_words_for_what_does_not_fit():
    chain = sf.priors.markov_chain("stationary", [[0.8, 0.2], [0.3, 0.7]], steps=300)
    with pytest.raises(sf.ParameterError, match="among"):
        sf.mechanisms.laplace_count(states=["x"], scale=1.0).protect(chain, sf.secrets.basic(0))
    wide = Markov(np.full(5, 0.2), np.full((5, 5), 0.2), steps=300)
    with pytest.raises(sf.OutsideHypotheses, match="too many values"):
        CountLaws(wide, histogram(wide))
    window = sf.secrets.contexts([1], times=[0, 1], window=True)
    with pytest.raises(sf.OutsideHypotheses, match="single times"):
        sf.mechanisms.markov_quilt(states=[1], epsilon=1.0).protect(chain, window)


@pytest.mark.parametrize("epsilon", [0.5, 1.0])
def test_transport_keeps_epsilon_for_pairs_that_have_an_order(epsilon):
    chain = sf.priors.markov_chain("stationary", [[0.9, 0.1], [0.1, 0.9]], steps=6)
    secret = sf.secrets.contexts([1])
    scales = []
    for name in ("wasserstein_laplace", "laplace_count"):
        mechanism = sf.registry.get("mechanism", name)(states=[1], epsilon=epsilon)
        release = mechanism.protect(chain, secret)
        assert sf.measures.pufferfish().loss(chain, secret, release).value <= epsilon * (1 + 1e-8)
        scales.append(release.channel.scale)
    assert scales[0] >= scales[1] * (1 - 1e-9)


@pytest.mark.parametrize("form", ["exact", "approximate"])
def test_the_middle_of_a_long_stationary_chain_stands_for_every_time(form):
    moves = [[0.8, 0.2], [0.3, 0.7]]
    quilt = sf.mechanisms.markov_quilt(states=[1], epsilon=1.0, form=form)
    scales = []
    for steps, secret in ((10**6, sf.secrets.basic(500_000)), (1_000, sf.secrets.every_point())):
        prior = sf.priors.markov_chain("stationary", moves, steps=steps)
        scales.append(quilt.protect(prior, secret).channel.scale)
    prior = sf.priors.markov_chain("stationary", moves, steps=10**6)
    scales.append(quilt_scale(prior.belief(), 1.0, range(10**6), form))
    assert scales == pytest.approx([scales[0]] * 3, rel=1e-12)
    every = quilt.protect(prior, sf.secrets.every_point())
    assert every.channel.scale == pytest.approx(scales[0], rel=1e-12)


@pytest.mark.parametrize("epsilon", [1e-6, 1e-9, 1e-12])
def test_quilts_of_a_tiny_epsilon_lack_nothing_by_rounding(epsilon):
    import mpmath as mp

    belief = sf.priors.markov_chain("stationary", [[0.8, 0.2], [0.3, 0.7]], steps=200).belief()
    with mp.workdps(60):
        laws, step = [mp.eye(2)], mp.matrix(belief.matrix(0).tolist())
        for _ in range(100):
            laws.append(laws[-1] * step)
        # The influence of both sides, in the worst case of each: two states, so one pair.
        ahead = [max(abs(mp.log(law[0, y] / law[1, y])) for y in (0, 1)) for law in laws[1:]]
        scale = min(
            (a + b + 1) / (epsilon - ahead[a] - ahead[b])  # a reversible chain
            for a, b in itertools.product(range(99), repeat=2)
            if ahead[a] + ahead[b] < epsilon
        )
        assert quilt_scale(belief, epsilon) >= min(scale, 200 / mp.mpf(epsilon))


@pytest.mark.parametrize(("steps", "reach"), [(12, 12), (30, 5)])
@pytest.mark.parametrize("epsilon", [1.0, 5.0, 8.0, 10.0, 15.0, 30.0])
def test_no_noise_is_better_by_weak_duality(steps, reach, epsilon):
    """For any y ≥ 0, μ and λ the least variance v is at least λ + Σ_k min(0, r_k) n(k).

    r_k = k² − λ − μk + Σ_i y_i c_ik, and n(k) ≤ v/k² of any noise; evaluated in 60 digits.
    """
    chain, secret = two_states(steps), sf.secrets.every_point()
    mechanism = sf.mechanisms.optimal_count_noise(states=[1], epsilon=epsilon, reach=reach)
    release = mechanism.protect(chain, secret)
    core, scale = release.channel.core, release.channel.scale
    assert sf.measures.pufferfish().loss(chain, secret, release).value <= epsilon
    total, mean, square = moments(reach, scale)
    found = square @ core
    assert abs(mean @ core) <= 1e-8 * math.sqrt(found)
    belief = chain.belief()
    laws, *_ = count_laws(belief, secret.question(belief), np.array([[0], [1]]))
    units = np.array([whole_noise(steps, scale, one) for one in np.eye(len(core))])
    given = [np.einsum("rk,jkz->rzj", law, units) for law, _ in laws]
    pairs = [(a, b) for law in given for a, b in ((law[0], law[1]), (law[1], law[0]))]
    above, below = (np.concatenate(one) for one in zip(*pairs, strict=True))
    most = np.minimum(1.0, found / np.maximum(square, 1e-300))
    limits = (above * math.exp(-epsilon) - below) * most
    sizes = np.abs(limits).max(axis=1)
    dual = linprog(
        np.append(np.zeros(len(limits)), [0.0, -1.0]),
        A_ub=np.c_[-limits.T / sizes, mean * most / math.sqrt(found), total * most],
        b_ub=square * most / found,
        bounds=[(0, None)] * len(limits) + [(None, None)] * 2,
    )
    *costs, slope, level = map(mp.mpf, dual.x)
    with mp.workdps(60):
        factor = mp.exp(-mp.mpf(epsilon))
        bound = level
        for k in range(len(core)):
            spent = zip(costs, sizes, above[:, k], below[:, k], strict=True)
            rest = mp.mpf(square[k]) / found - level * total[k] - slope * mean[k] / mp.sqrt(found)
            rest += mp.fsum(y / size * (p * factor - q) for y, size, p, q in spent)
            bound += min(rest, 0) * most[k]
    assert bound >= 1 - 1e-5


@pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 2.0])
@pytest.mark.parametrize("steps", [1, 12])
def test_the_best_noise_is_found_for_small_epsilons_and_keeps_them(steps, epsilon):
    chain, secret = two_states(steps), sf.secrets.every_point()
    mechanism = sf.mechanisms.optimal_count_noise(states=[1], epsilon=epsilon)
    release = mechanism.protect(chain, secret)
    assert sf.measures.pufferfish().loss(chain, secret, release).value <= epsilon
    channel = release.channel
    if epsilon < 1e-4:  # nearly the Laplace law's variance
        assert channel.variance == pytest.approx(2 * channel.scale**2, rel=1e-5)
        return
    reach = len(channel.core) // 2
    far = np.arange(1.0, 60.0 * channel.scale)
    tails = (np.square(reach + far) * np.exp(-far / channel.scale)).sum()
    inside = channel.core @ np.square(np.arange(-reach, reach + 1.0))
    total = inside + (channel.core[0] + channel.core[-1]) * tails
    assert channel.variance == pytest.approx(total, rel=1e-6)


def two_states(steps):
    return sf.priors.markov_chain("stationary", [[0.8, 0.2], [0.3, 0.7]], steps=steps)


def test_counts_with_too_many_outputs_are_refused_before_they_are_listed():
    chain = sf.priors.markov_chain([1 / 7] * 7, [[1 / 7] * 7] * 7, steps=4)
    mechanism = sf.mechanisms.laplace_count(states="histogram", scale=1.0)
    release = mechanism.protect(chain, sf.secrets.basic(1))
    with pytest.raises(sf.OutsideHypotheses, match="more outputs than can be listed"):
        sf.measures.advantage().loss(chain, sf.secrets.basic(1), release)
