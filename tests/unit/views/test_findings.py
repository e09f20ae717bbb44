"""What a sceptical reader found: losses that were too small, each held to its truth from now on."""

import itertools
import math

import attrs
import mpmath
import numpy as np
import pytest
from scipy import integrate

import sfumato as sf
from sfumato.beliefs import Markov
from sfumato.channels import Suppression, Symbols
from sfumato.inference.gaussian.worst_pair import worst_squares
from sfumato.questions import StateAt
from sfumato.views import view_of
from sfumato.views.gaussian import ball_chances, near_part


def disc(wide, narrow, radius):
    """Return Pr[‖N(0, diag(wide, narrow))‖ ≤ r] in 30 digits, its ends finely cut."""
    with mpmath.workdps(30):
        wide, narrow, radius = map(mpmath.mpf, (wide, narrow, radius))
        end = min(radius / mpmath.sqrt(wide), mpmath.mpf(12))

        def density(z):
            left = max(mpmath.mpf(0), radius**2 - wide * z**2)
            return mpmath.npdf(z) * mpmath.erf(mpmath.sqrt(left / (2 * narrow)))

        cuts = [end * k / 8 for k in range(8)]
        cuts += [end * (1 - mpmath.mpf(10) ** -k) for k in range(1, 9)] + [end]
        return 2 * mpmath.quad(density, sorted(set(cuts)))


@pytest.mark.parametrize("seed", range(12))
def test_a_disc_of_any_size_and_shape(seed):
    rng = np.random.default_rng(seed)
    wide = 10 ** rng.uniform(-6, 3)
    narrow, radius = wide * 10 ** rng.uniform(-6, 0), np.sqrt(wide) * 10 ** rng.uniform(-2, 5)
    low, high = ball_chances(np.diag([wide, narrow]), radius)
    truth = disc(wide, narrow, radius)
    assert low * (1 - 1e-13) <= truth <= high * (1 + 1e-13)


def test_more_precise_data_is_not_safer():
    prior, secret = sf.priors.rbf(length_scale=2.0, times=3, dimensions=2), sf.secrets.basic(1)
    found = []
    for noise in (1e-2, 1e-4, 1e-5, 1e-6):
        shaped = sf.mechanisms.gaussian_given(covariance=np.diag([noise, noise / 2] * 3))
        found.append(
            sf.measures.bayes_success().loss(prior, secret, shaped.protect(prior, secret)).value
        )
    assert found == sorted(found)
    assert found[-1] == pytest.approx(1.0, abs=1e-8)


@pytest.mark.parametrize(
    "measure",
    [sf.measures.advantage(), sf.measures.renyi(), sf.measures.power(), sf.measures.hockey_stick()],
    ids=lambda measure: measure.name,
)
def test_of_an_event_no_end_of_the_scale_is_the_worst(measure):
    members = [sf.priors.rbf(length_scale=2.0, times=5, variance=v) for v in (0.01, 10.0)]
    secret = sf.secrets.near(place=0.0, radius=0.5, index=2)
    release = sf.mechanisms.gaussian_uniform(mse=0.5).protect(members[1], sf.secrets.basic(2))
    choice = sf.priors.rbf(length_scale=2.0, times=5, variance=sf.AnyOf(0.01, 10.0))
    worst = max(measure.loss(member, secret, release).value for member in members)
    assert measure.loss(choice, secret, release).value == pytest.approx(worst)


@pytest.mark.parametrize(
    ("noise", "place", "radius", "order", "truth"),
    [
        (0.01, 0.0, 1.0, 1.001, 20.601382901534),
        (0.01, 0.0, 1.0, 1.1, 32.480836991836),
        (1e-8, 5.0, 8e-4, 1.1, 38.174702518727),
        (1e-8, 5.0, 1e-3, 1.01, 39.813731415579),
    ],
)
def test_near_a_place_where_it_is_all_but_sure(noise, place, radius, order, truth):
    """The truths are integrals over the posterior mean in 40 digits."""
    prior = sf.priors.rbf(length_scale=1.0, times=1)
    release = sf.mechanisms.gaussian_uniform(mse=noise).protect(prior, sf.secrets.basic(0))
    secret = sf.secrets.near(place=place, radius=radius, index=0)
    loss = sf.measures.renyi(order=order).loss(prior, secret, release)
    assert loss.floor - 1e-9 <= truth <= loss.ceiling + 1e-9


def test_a_sure_secret_has_nothing_to_lose():
    chain = sf.priors.markov_chain([1, 0, 0], [[0.2, 0.5, 0.3]] * 3, steps=3)
    secret = sf.secrets.basic(0)
    release = sf.mechanisms.suppress_given(probabilities=[[0.3, 0.7, 0.1]] * 3).protect(
        chain, secret
    )
    for order in (1 + 1e-14, 1 + 1e-9, 2.0):
        assert sf.measures.renyi(order=order).loss(chain, secret, release).value == 0.0


@pytest.mark.parametrize("laws", [(0.3, 0.9), (0.5, 0.5000001), (1e-12, 2e-12), (0.5, 1 - 1e-15)])
def test_an_order_just_above_one_keeps_its_digits(laws):
    chain = Markov([0.5, 0.5], np.empty((0, 2, 2)))
    channel = Symbols(chain.states, "ab", [[[a, 1 - a] for a in laws]])
    question = sf.secrets.contexts([0]).question(chain)
    with mpmath.workdps(60):
        a, c = (mpmath.mpf(x) / (mpmath.mpf(x) + mpmath.mpf(1 - x)) for x in laws)
        b, d = 1 - a, 1 - c
        for above in (1e-15, 1e-12, 1e-8, 1e-4, 0.1, 0.49):
            order = mpmath.mpf(1.0 + above)
            powers = a**order * c ** (1 - order) + b**order * d ** (1 - order)
            truth = mpmath.log(powers) / (order - 1)
            found = sf.measures.renyi(order=1.0 + above).evaluate(chain, question, channel)
            assert found.value >= truth
            assert found.value - truth <= 1e-12 * (1 + truth)


def test_a_chance_at_the_edge_of_delta_is_not_called_smaller():
    """With mass 0.1 beyond a gap and δ a hair below, the gap is the larger one."""
    chain = sf.priors.markov_chain([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], steps=1)
    secret = sf.secrets.basic(0)
    release = sf.mechanisms.suppress_given(probabilities=[[0.9, 1.0]]).protect(chain, secret)
    loss = sf.measures.odds_gap(delta=0.1 * (1 - 5e-13)).loss(chain, secret, release)
    assert loss.ceiling == np.inf


def test_noise_for_one_secret_is_calibrated_for_another():
    prior = sf.priors.rbf(length_scale=2.0, times=5)
    uniform = sf.mechanisms.gaussian_uniform(mse=1.0).designed_for(secret=sf.secrets.basic(2))
    secret = sf.secrets.near(place=0.0, radius=0.5, index=2)
    found = sf.calibrate(uniform, prior, secret, sf.measures.advantage(), 0.2)
    assert found.loss.ceiling <= 0.2 < found.weaker.floor
    release = sf.mechanisms.gaussian_uniform(mse=1.0).protect(prior, sf.secrets.basic(2))
    with pytest.raises(sf.ParameterError, match="calibrate takes a mechanism"):
        sf.calibrate(release, prior, secret, sf.measures.advantage(), 0.2)


def test_a_map_asks_what_the_secret_asks():
    chain = sf.priors.markov_chain([0.5, 0.3, 0.2], [[0.6, 0.3, 0.1]] * 3, steps=4)
    release = sf.mechanisms.randomised_response(epsilon=1.0).protect(chain, sf.secrets.basic(2))
    own = sf.measures.renyi().loss(chain, sf.secrets.basic(2), release).value
    from sfumato.questions.events import by_time

    belief = chain.belief()
    [row] = by_time(sf.secrets.basic(2).question(belief), belief).values()
    at = sf.measures.renyi().evaluate(belief, row[2], release.channel)
    assert at.value == pytest.approx(own)


@pytest.mark.parametrize("seed", range(5))
def test_the_hockey_stick_of_close_laws_keeps_its_digits(seed):
    rng = np.random.default_rng(seed)
    for _ in range(60):
        epsilon = float(rng.choice([0.0, 10 ** rng.uniform(-8, 1)]))
        distance = 10 ** rng.uniform(-9, 1.5)
        value = sf.measures.hockey_stick(epsilon=epsilon).of_shift(distance)
        with mpmath.workdps(50):
            e, m = mpmath.mpf(epsilon), mpmath.mpf(distance)
            truth = mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)
        if truth > 1e-290:
            assert truth * (1 - 2e-15) <= value <= truth * (1 + 1e-9)


# Numbers that float64 can hardly hold -------------------------------------------------------------


def test_an_outcome_too_rare_for_float64_is_not_left_out():
    """1e-200 twice: the check in logarithms knows what the tables must refuse to guess."""
    rare = 1e-200
    step = [[1 - rare, rare, 0.0], [0.0, 1 - rare, rare], [0.0, 0.0, 1.0]]
    chain = sf.priors.markov_chain([1, 0, 0], step, steps=3)
    secret = sf.secrets.contexts([1], times=[1])
    release = sf.mechanisms.suppress_given(probabilities=[[0, 0, 0], [1, 1, 1], [0, 0, 0]]).protect(
        chain, secret
    )
    assert sf.measures.posterior_gap().loss(chain, secret, release).value == pytest.approx(1.0)
    for measure in (sf.measures.renyi(), sf.measures.maximal_leakage(), sf.measures.advantage()):
        with pytest.raises(sf.Undecidable, match="too small for float64"):
            measure.loss(chain, secret, release)


@pytest.mark.parametrize(
    "secret",
    [sf.secrets.compound([1, 2]), sf.secrets.basic(2), sf.secrets.contexts([2], times=[2])],
    ids=lambda secret: secret.name,
)
@pytest.mark.parametrize(
    "mechanism",
    [
        sf.mechanisms.suppress_given(probabilities=np.full((3, 3), 0.5)),
        sf.mechanisms.randomised_response(epsilon=1.0),
    ],
    ids=lambda mechanism: mechanism.name,
)
def test_a_value_too_rare_for_float64_is_not_called_impossible(mechanism, secret):
    """1e-178 twice is zero in float64: the value would seem impossible, and nothing of it told."""
    step = [[1.0, 1e-178, 0.0], [0.0, 1.0, 1e-178], [0.0, 0.0, 1.0]]
    chain = sf.priors.markov_chain([1, 0, 0], step, steps=3)
    release = mechanism.protect(chain, sf.secrets.basic(1))
    with pytest.raises(sf.Undecidable, match="too small for float64"):
        sf.measures.advantage().loss(chain, secret, release)


@pytest.mark.parametrize("left", [1e-3, 1e-9, 1e-13, 1e-15])
def test_a_breach_of_what_is_all_but_sure(left):
    """With δ = 0 an event is breached when its state is shown: half of the time that it holds."""
    chain = sf.priors.markov_chain([1 - left, left], [[1, 0], [0, 1]], steps=1)
    secret = sf.secrets.contexts([0])
    release = sf.mechanisms.suppress_given(probabilities=[[0.5, 1.0]]).protect(chain, secret)
    loss = sf.measures.breach_rate(delta=0.0).loss(chain, secret, release)
    assert loss.floor - 1e-12 <= 0.5 * (1 - left) <= loss.ceiling


def test_a_breach_rate_is_not_read_from_a_bound_on_what_is_told(monkeypatch):
    from sfumato.views import measures

    def bounded(*given):
        part = near_part(*given)
        return attrs.evolve(part, information=attrs.evolve(part.information, relative_error=1e-3))

    prior, secret = sf.priors.rbf(length_scale=2.0, times=3), sf.secrets.near(0.0, 0.5, 1)
    release = sf.mechanisms.gaussian_uniform(mse=0.1).protect(prior, sf.secrets.basic(1))
    monkeypatch.setattr(measures, "near_part", bounded)
    with pytest.raises(sf.OutsideHypotheses, match="a bound on what is told says nothing"):
        sf.measures.breach_rate().loss(prior, secret, release)


def test_no_gap_exceeds_one():
    prior = sf.priors.rbf(length_scale=2.0, times=3)
    for place in (9.0, 30.0):
        secret = sf.secrets.near(place, radius=1.0, index=1)
        release = sf.mechanisms.gaussian_uniform(mse=1e-6).protect(prior, sf.secrets.basic(1))
        loss = sf.measures.posterior_gap().loss(prior, secret, release)
        assert 0.99 < loss.floor <= loss.value <= 1.0
    chain = sf.priors.markov_chain([1 - 1e-13, 1e-13], [[1, 0], [0, 1]], steps=3)
    secret = sf.secrets.contexts([1])
    for mechanism in (
        sf.mechanisms.suppress_given(probabilities=[[0, 0]] * 3),
        sf.mechanisms.sensor_counts(sensors=[1, 1, 1]),
    ):
        loss = sf.measures.posterior_gap().loss(chain, secret, mechanism.protect(chain, secret))
        assert 1.0 - 1e-12 < loss.value <= 1.0


def test_a_window_of_many_times_is_one_event():
    """Of three states at eight times there are 6,561 joint values, of the event two."""
    step = [[0.6, 0.35, 0.05], [0.35, 0.6, 0.05], [0.45, 0.45, 0.1]]
    chain = sf.priors.markov_chain("stationary", step, steps=8)
    secret = sf.secrets.contexts([2], window=True)
    release = sf.mechanisms.sensor_counts(sensors=[0, 1, 2, 1, 0, 1, 2, 0]).protect(chain, secret)
    at = release.situation(chain, secret)
    for measure in (sf.measures.posterior_gap(), sf.measures.renyi()):
        found = measure.evaluate(at.belief, at.question, at.channel)
        truth = measure.brute_force(at.belief, at.question, at.channel).value
        assert found.value == pytest.approx(truth, rel=1e-9)


def test_the_information_of_one_noisy_count_about_a_state():
    """Beside an integral over the answer: the count of ones, and a Laplace law of scale ½."""
    chain = sf.priors.markov_chain([0.6, 0.4], [[0.7, 0.3], [0.2, 0.8]], steps=3)
    secret = sf.secrets.basic(1)
    release = sf.mechanisms.laplace_count(states=[1], scale=0.5).protect(chain, secret)
    joint, belief = np.zeros((2, 4)), chain.belief()
    for trace in itertools.product(range(2), repeat=3):
        chance = belief.initial[trace[0]]
        for time in range(2):
            chance *= belief.matrix(time)[trace[time], trace[time + 1]]
        joint[trace[1], sum(trace)] += chance

    def told(answer):
        law = joint @ np.exp(-np.abs(answer - np.arange(4)) / 0.5)
        return float(law @ np.log(law / law.sum() / joint.sum(axis=1)))

    cuts = [-20.0, *range(4), 23.0]
    truth = sum(integrate.quad(told, a, b, epsabs=1e-12)[0] for a, b in itertools.pairwise(cuts))
    loss = sf.measures.mutual_information(about="secret").loss(chain, secret, release)
    assert loss.value * (1 - 1e-3) <= truth <= loss.ceiling
    with pytest.raises(sf.OutsideHypotheses, match="about='secret'"):
        sf.measures.mutual_information().loss(chain, secret, release)


@pytest.mark.parametrize("noise", [1e4, 1e8, 1e17, 1e20])
def test_much_noise_still_lets_a_rare_count_tell(noise):
    """Whatever the noise, far enough out one count rules the other out: the gap is ½."""
    chain = sf.priors.markov_chain([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], steps=1)
    secret = sf.secrets.basic(0)
    release = sf.mechanisms.sensor_counts(sensors=[1], noise=noise).protect(chain, secret)
    assert sf.measures.posterior_gap().loss(chain, secret, release).ceiling >= 0.5
    with mpmath.workdps(40):
        apart = mpmath.erf(1 / (mpmath.sqrt(8) * mpmath.mpf(noise)))
    ceiling = sf.measures.advantage().loss(chain, secret, release).ceiling
    assert apart <= ceiling <= apart * (1 + 1e-9) + 1e-9


@pytest.mark.parametrize("noise", [0.1, 1e-300])
@pytest.mark.parametrize(("place", "radius"), [(50.0, 1.0), (1e10, 1.0), (1e300, 1.0), (0.0, 1e10)])
def test_a_place_out_of_reach_is_not_called_safe(place, radius, noise):
    """Ruling out what has a chance of e^−1250 takes a divergence of that size, not of 660."""
    prior, secret = sf.priors.rbf(length_scale=1.0, times=3), sf.secrets.near(place, radius, 1)
    release = sf.mechanisms.gaussian_uniform(mse=noise).protect(prior, sf.secrets.basic(1))
    names = ["renyi", "pointwise_leakage", "odds_gap", "advantage"]
    for measure in (getattr(sf.measures, name)() for name in names):
        with pytest.raises(sf.Undecidable, match="float64"):
            measure.loss(prior, secret, release)


def test_a_guess_that_is_never_right_before_may_leak_without_end():
    prior, secret = (
        sf.priors.rbf(length_scale=1.0, times=120),
        sf.secrets.compound(range(120), 1e-4),
    )
    release = sf.mechanisms.gaussian_uniform(mse=0.1).protect(prior, secret)
    loss = sf.measures.bayes_leakage().loss(prior, secret, release)
    assert (loss.ceiling, loss.bound) == (math.inf, "upper")


# One view for all ---------------------------------------------------------------------------------


def test_all_measures_of_a_gaussian_release_share_one_information(monkeypatch):
    from sfumato.views import gaussian

    asked = []

    def counted(*given):
        asked.append(given)
        return worst_squares(*given)

    monkeypatch.setattr(gaussian, "worst_squares", counted)
    prior, secret = sf.priors.rbf(length_scale=2.0, times=9), sf.secrets.basic(4)
    release = sf.mechanisms.gaussian_uniform(mse=0.5).protect(prior, secret)
    at = release.situation(prior, secret)
    for name in [
        "renyi",
        "advantage",
        "power",
        "hockey_stick",
        "odds_gap",
        "posterior_gap",
        "bayes_success",
        "bayes_leakage",
        "maximal_leakage",
        "pointwise_leakage",
        "expected_error",
        "fano",
    ]:
        getattr(sf.measures, name)().evaluate(at.belief, at.question, at.channel)
    about = sf.measures.mutual_information(about="secret")
    about.evaluate(at.belief, at.question, at.channel)
    assert len(asked) == 1


@pytest.mark.parametrize("order", [1.0, 2.0, 3.0, math.inf])
def test_a_zero_with_a_sign_is_a_zero(order):
    moves = [[0.5, 0.0, 0.5], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    chain = sf.priors.markov_chain(initial=[1.0, 0.0, 0.0], transitions=moves, steps=3)
    secret = sf.secrets.basic(1)
    hidden = [[0.0, 0.0, 0.0], [-0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]
    release = sf.mechanisms.suppress_given(probabilities=hidden).protect(chain, secret)
    assert sf.measures.renyi(order=order).loss(chain, secret, release).value == math.inf


def test_information_about_rare_values_does_not_underflow():
    """Of a state that is shown, told is its entropy: −p log p of a rare one is next to nothing."""
    rare = 7.568360153245358e-178
    chain = Markov([1.0, rare], np.empty((0, 2, 2)), states="sx")
    shown = Suppression.memoryless("sx", [[0.0, 0.0]])
    found = view_of(chain, StateAt.of(chain, [0]), shown).upper[0].told_nats
    assert found == pytest.approx(-rare * math.log(rare), rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.4, 1.7, 60.0, 300.0])
@pytest.mark.parametrize("noise", [1e-3, 0.03, 0.4, 3.0, 40.0])
def test_both_ends_of_a_hockey_stick_hold_it(epsilon, noise):
    """One value of variance one, radius one: μ² = 1/noise, and forty digits of Φ."""
    prior, secret = sf.priors.rbf(length_scale=1.0, times=1), sf.secrets.basic(0)
    release = sf.mechanisms.gaussian_uniform(mse=noise).protect(prior, secret)
    loss = sf.measures.hockey_stick(epsilon=epsilon).loss(prior, secret, release)
    with mpmath.workdps(40 + int(epsilon)):
        mu, allowed = 1 / mpmath.sqrt(mpmath.mpf(noise)), mpmath.mpf(epsilon)
        truth = mpmath.ncdf(mu / 2 - allowed / mu)
        truth -= mpmath.exp(allowed) * mpmath.ncdf(-mu / 2 - allowed / mu)
        assert loss.floor <= truth <= loss.ceiling + mpmath.mpf(10) ** -320
