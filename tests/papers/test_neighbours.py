"""Values of the systems next door: Pufferfish on chains, temporal leakage, information flow."""

import itertools
import math

import mpmath
import numpy as np
import pytest

import sfumato as sf
from sfumato.beliefs import Markov
from sfumato.channels import Symbols
from sfumato.views import view_of
from sfumato_pufferfish.figures import scales
from sfumato_pufferfish.quilts import quilt_scale
from sfumato_temporal.leakage import accumulate, supremum

# Song, Wang and Chaudhuri (2017), T = 100, epsilon = 1 --------------------------------------------


def two_states(q, p, steps=100):
    return sf.priors.markov_chain("stationary", [[1 - q, q], [1 - p, p]], steps=steps)


SCALES = [
    (0.1, 0.9, 31.73779, 49.22020, 8.640441),
    (0.2, 0.7, 10.12001, 20.06926, 3.023907),
    (0.5, 0.5, 1.0, 8.97305, 1.0),
]


@pytest.mark.parametrize(("q", "p", "quilt", "approximate", "exact"), SCALES)
def test_noise_of_a_count_of_ones(q, p, quilt, approximate, exact):
    chain, secret = two_states(q, p), sf.secrets.every_point()

    def scale(mechanism):
        return mechanism.protect(chain, secret).channel.scale

    laplace = scale(sf.mechanisms.laplace_count(states=[1], epsilon=1.0))
    assert scale(sf.mechanisms.markov_quilt(states=[1], epsilon=1.0)) == pytest.approx(
        quilt, abs=1e-5
    )
    bounded = sf.mechanisms.markov_quilt(states=[1], epsilon=1.0, form="approximate")
    assert scale(bounded) == pytest.approx(approximate, abs=1e-5)
    assert laplace == pytest.approx(exact, abs=1e-6)
    assert scale(sf.mechanisms.wasserstein_laplace(states=[1], epsilon=1.0)) >= laplace - 1e-9


def test_a_million_steps_take_no_more_noise_than_a_hundred():
    chain = two_states(0.2, 0.7, steps=10**6).belief()
    assert quilt_scale(chain, 1.0) == pytest.approx(10.12001, abs=1e-5)


def test_noise_of_a_histogram_is_twice_that_of_a_count_by_quilts():
    chain, secret = two_states(0.2, 0.7), sf.secrets.every_point()
    release = sf.mechanisms.markov_quilt(states="histogram", epsilon=1.0).protect(chain, secret)
    assert release.channel.scale == pytest.approx(2 * 10.12001, abs=2e-5)


@pytest.mark.parametrize(("q", "p", "ratio"), [(0.1, 0.9, 3.6732), (0.2, 0.7, 3.3467)])
def test_quilts_take_several_times_the_noise_that_suffices(q, p, ratio):
    found = scales(((q, p),))
    assert found["Markov quilt"] / found["exact"] == pytest.approx(ratio, abs=1e-4)
    assert "song2017_noise" in sf.registry.names("figure")


# Cao, Yoshikawa, Xiao and Xiong (2017), epsilon = 0.1 ---------------------------------------------

TRAPPED, SYMMETRIC = np.array([[0.8, 0.2], [0.0, 1.0]]), np.array([[0.8, 0.2], [0.2, 0.8]])


@pytest.mark.parametrize(
    ("matrix", "first", "limit"),
    [
        (TRAPPED, [0.1, 0.1808, 0.2471, 0.3024, 0.3488], 0.645907),
        (SYMMETRIC, [0.1, 0.16, 0.1958], 0.248772),
    ],
)
def test_leakage_over_time(matrix, first, limit):
    found = accumulate([np.array(matrix)] * 399, [0.1] * 400)
    assert found[: len(first)] == pytest.approx(first, abs=1e-4)
    assert supremum(matrix, 0.1) == pytest.approx(limit, abs=1e-6)
    assert found[-1] == pytest.approx(limit, abs=1e-6)


def test_leakage_without_end():
    assert supremum(np.eye(2), 0.1) == math.inf
    assert supremum(TRAPPED, -math.log(0.8) + 1e-9) == math.inf


# Alvim et al., The Science of Quantitative Information Flow ---------------------------------------

CHANNEL = [[0.8, 0.2], [0.3, 0.7]]


def reading(prior, measure):
    """Read a measure of one state that is shown through the channel."""
    from sfumato.channels import Symbols
    from sfumato.questions import StateAt

    chain = Markov(prior, np.empty((0, 2, 2)))
    return measure.evaluate(chain, StateAt.of(chain, [0]), Symbols((0, 1), "ab", [CHANNEL]))


@pytest.mark.parametrize(
    ("prior", "measure", "value"),
    [
        ([0.75, 0.25], sf.measures.bayes_success(), 31 / 40),
        ([0.75, 0.25], sf.measures.bayes_capacity(), 1.5),
        ([0.75, 0.25], sf.measures.bayes_capacity(form="additive"), 0.25),
        ([0.75, 0.25], sf.measures.g_vulnerability(gain=[[1, 0], [0, 1]]), 31 / 40),
        ([0.25, 0.75], sf.measures.remaining_entropy(), 0.669020060 * math.log(2)),
        ([0.5, 0.5], sf.measures.shannon_capacity(), 0.191238138 * math.log(2)),
        ([0.25, 0.75], sf.measures.renyi(order=math.inf), math.log(3.5)),
        ([0.25, 0.75], sf.measures.pointwise_leakage(), 0.632523),
        ([0.25, 0.75], sf.measures.maximal_leakage(), math.log(1.5)),
    ],
    ids=lambda one: getattr(one, "name", ""),
)
def test_a_channel_of_two_by_two(prior, measure, value):
    found = reading(prior, measure)
    assert found.bound == "exact"
    assert found.value == pytest.approx(
        value, abs=5e-7 if measure.name.startswith("point") else 1e-9
    )


def test_leakage_of_each_outcome():
    from sfumato.channels import Symbols
    from sfumato.questions import StateAt

    chain = Markov([0.25, 0.75], np.empty((0, 2, 2)))
    view = view_of(chain, StateAt.of(chain, [0]), Symbols((0, 1), "ab", [CHANNEL]))
    table = view.upper[0]
    assert table.seen == pytest.approx([0.425, 0.575])
    leaked = np.log((table.posteriors / table.prior[:, None]).max(axis=0))
    assert leaked == pytest.approx([0.632523, 0.196710], abs=1e-6)


def test_tests_between_shifted_normal_laws():
    assert sf.measures.advantage().of_shift(2.0) == pytest.approx(0.682689, abs=5e-7)
    assert 1 - sf.measures.power(false_alarm=0.01).of_shift(1.0) == pytest.approx(
        0.907638, abs=5e-7
    )


@pytest.mark.parametrize("seed", range(40))
def test_no_measure_of_the_worst_ratio_is_below_it_in_forty_digits(seed):
    """Symbols down to 1e-250, under two states that are between 1e-12 and ten times apart."""
    rng = np.random.default_rng(seed)
    steps, moves = int(rng.integers(1, 4)), [[0.25, 0.75], [0.5, 0.5]]
    laws = np.empty((steps, 2, 3))
    for one in laws:
        rare = np.array([10 ** rng.uniform(-250 / steps, -0.5), rng.uniform(0.05, 0.3)])
        one[:, :2] = np.minimum(rare * (1 + 10 ** rng.uniform(-12, 1) * rng.random((2, 2))), 0.4)
        one[:, 2] = 1.0 - one[:, 0] - one[:, 1]
    belief, channel = Markov([0.5, 0.5], moves, steps=steps), Symbols((0, 1), range(3), laws)
    question = sf.secrets.basic(0).question(belief)
    places = [[0.0, 0.0], [1.0, 0.0]]
    with mpmath.workdps(40):
        table = [mpmath.matrix(one.tolist()) for one in channel.probabilities]
        gaps = [max(abs(mpmath.log(one[0, y] / one[1, y])) for y in range(3)) for one in table]
        whole = []
        for output in itertools.product(range(3), repeat=steps):
            told = mpmath.matrix([1, 1])
            for time in reversed(range(steps)):
                told = mpmath.matrix([table[time][m, output[time]] * told[m] for m in (0, 1)])
                told = mpmath.matrix(moves) * told if time else told
            whole.append(abs(mpmath.log(told[0] / told[1])))
        truths = {
            sf.measures.differential_privacy(): mpmath.fsum(gaps),
            sf.measures.geo_indistinguishability(places=places): max(gaps),
            sf.measures.temporal_leakage(): max(whole),
            sf.measures.pufferfish(): max(whole),
            sf.measures.renyi(order=math.inf): max(whole),
            sf.measures.location_leakage(places=places): max(whole),
        }
        for measure, truth in truths.items():
            found = measure.evaluate(belief, question, channel)
            assert truth <= found.ceiling, measure
            if found.bound == "exact":
                assert found.ceiling <= truth * (1 + mpmath.mpf(10) ** -12) + 1e-12
