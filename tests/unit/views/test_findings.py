"""What a sceptical reader found: losses that were too small, each held to its truth from now on."""

import mpmath
import numpy as np
import pytest

import sfumato as sf
from sfumato.views.gaussian import ball_chances


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
