"""Views of real values beside integrals: being near a place, guesses of several values."""

import itertools
import math

import numpy as np
import pytest
from scipy import integrate, optimize, stats

import sfumato as sf
from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.matrices import Dense, Diagonal
from sfumato.questions import Displacements, Nearness
from sfumato.views import view_of

PLACE = sf.secrets.near(0.0, radius=0.25, index=24)
AWAY = sf.secrets.near(1.0, radius=0.25, index=24)
AT, CLOSE = sf.secrets.basic(24), sf.secrets.basic(24, radius=0.25)
ROWS = [
    (sf.measures.advantage(), AT, 0.91804255, 0.99988839, 0.83216154),
    (sf.measures.power(false_alarm=0.01), AT, 0.87544863, 0.99999997, 0.6671356),
    (sf.measures.hockey_stick(epsilon=1.0), AT, 0.8687482, 0.99981736, 0.73449081),
    (sf.measures.hockey_stick(epsilon=3.0), AT, 0.7166457, 0.99953247, 0.47778094),
    (sf.measures.posterior_gap(), PLACE, 0.43708906, 0.75117657, 0.33933961),
    (sf.measures.posterior_gap(), AWAY, 0.51352413, 0.82761165, 0.41577468),
    (sf.measures.renyi(order=math.inf), PLACE, 1.9541229, 4.3176725, 1.5498191),
    (sf.measures.breach_rate(delta=0.3), PLACE, 0.18207643, 0.19966094, 0.12311639),
    (sf.measures.renyi(order=2.0), PLACE, 1.4242705, 3.2792911, 1.0859763),
    (sf.measures.mutual_information(about="secret"), AT, 1.2864054, 2.0531155, 1.0763796),
    (sf.measures.bayes_success(within=0.25), AT, 0.63450171, 0.94858922, 0.53675226),
    (sf.measures.bayes_success(), CLOSE, 0.63450171, 0.94858922, 0.53675226),
    (sf.measures.fano(), CLOSE, 0.93392135, 1.0, 0.8767901),
]
WORLDS = [(1.0, 0.1, 12.102602), (6.0, 0.1, 59.717446), (6.0, 1.0, 7.6085787)]


@pytest.mark.parametrize(("column", "world"), list(enumerate(WORLDS)))
def test_reference_values(column, world):
    length_scale, mse, told = world
    prior = sf.priors.rbf(length_scale=length_scale, times=50)
    release = sf.mechanisms.gaussian_uniform(mse=mse).protect(prior, AT)
    at = release.situation(prior, AT)
    (part,) = view_of(at.belief, at.question, at.channel).parts
    assert part.information.matrix[0, 0] == pytest.approx(told, rel=1e-7)
    for measure, secret, *values in ROWS:
        found = measure.loss(prior, secret, release)
        assert found.value == pytest.approx(values[column], abs=1e-6), (measure, secret)
        assert found.ceiling >= found.value


# Being near a place -------------------------------------------------------------------------------


def normal(low, high):
    """Return Pr[low < N(0, 1) < high] with thirty digits."""
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(40):
        root = mpmath.sqrt(2)
        if low > 0:
            return (mpmath.erfc(low / root) - mpmath.erfc(high / root)) / 2
        return (mpmath.erf(high / root) - mpmath.erf(low / root)) / 2


def highest(place, radius, noise):
    """Return the event's prior, its largest posterior and what that leaves, of N(0, 1)."""
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(40):
        deviation = mpmath.sqrt(1 / (1 + 1 / mpmath.mpf(noise)))
        place, radius = mpmath.mpf(place), mpmath.mpf(radius)
        prior = normal(abs(place) - radius, abs(place) + radius)
        missed = mpmath.erfc(radius / deviation / mpmath.sqrt(2))
        return prior, 1 - missed, missed


@pytest.mark.parametrize("noise", [1e-6, 1e-2, 1.0, 1e2, 1e4, 1e8])
@pytest.mark.parametrize(("place", "radius"), [(0.0, 0.25), (1.0, 0.25), (-3.0, 1e-9), (9.0, 2.0)])
def test_the_highest_posterior_near_a_place(place, radius, noise):
    """Whatever is told, the place can be the posterior mean: no matter how rarely."""
    mpmath = pytest.importorskip("mpmath")
    belief, channel = Gaussian(Diagonal([1.0])), AdditiveGaussian(Diagonal([noise]))
    prior, top, missed = highest(place, radius, noise)
    question = Nearness(0, place, radius)
    with mpmath.workdps(40):
        lift, gap = mpmath.log(top / prior), top - prior
        odds = mpmath.log(top / missed * (1 - prior) / prior)
    for measure, truth in (
        (sf.measures.posterior_gap(), float(gap)),
        (sf.measures.renyi(order=math.inf), float(odds)),
        (sf.measures.pointwise_leakage(), max(float(lift), float(-mpmath.log1p(-prior)))),
    ):
        found = measure.evaluate(belief, question, channel)
        assert found.ceiling >= truth * (1 - 1e-12)
        assert found.floor * (1 - found.relative_error) <= truth * (1 + 1e-8)
        if math.isfinite(found.value):  # else float64 cannot hold what the place leaves open
            assert found.value == pytest.approx(truth, rel=1e-6, abs=1e-10), (measure, found)


@pytest.mark.parametrize("noise", [1e-4, 5.0])
@pytest.mark.parametrize(("place", "radius"), [(0.0, 0.25), (-3.0, 0.4)])
def test_near_a_place_beside_integrals(place, radius, noise):
    belief, channel = Gaussian(Diagonal([1.0])), AdditiveGaussian(Diagonal([noise]))
    question = Nearness(0, place, radius)
    left, spread = math.sqrt(noise / (1 + noise)), math.sqrt(1 / (1 + noise))
    prior = stats.norm.cdf(place + radius) - stats.norm.cdf(place - radius)

    def chance(m):
        return stats.norm.cdf((place + radius - m) / left) - stats.norm.cdf(
            (place - radius - m) / left
        )

    def average(f):
        """Return E f(p(m)/p, (1 − p(m))/(1 − p)) over the posterior mean."""
        cuts = sorted(
            {place + side * radius + step * left for side in (-1, 1) for step in range(-12, 13)}
            | {spread * step for step in range(-12, 13)}
        )

        def inner(m):
            p = chance(m)
            return stats.norm.pdf(m, scale=spread) * f(p / prior, (1 - p) / (1 - prior))

        parts = itertools.pairwise(cuts)
        return math.fsum(integrate.quad(inner, a, b, epsabs=1e-15)[0] for a, b in parts)

    truths = {
        sf.measures.advantage(): average(lambda a, b: max(a - b, 0.0)),
        sf.measures.hockey_stick(epsilon=0.5): average(lambda a, b: max(a - math.exp(0.5) * b, 0)),
        sf.measures.renyi(order=1.5): 2
        * math.log(average(lambda a, b: a**1.5 / max(b, 1e-300) ** 0.5))
        if noise > 0.1
        else None,
        sf.measures.bayes_success(): average(lambda a, b: max(a * prior, b * (1 - prior))),
        sf.measures.maximal_leakage(): math.log(average(max)),
        sf.measures.mutual_information(about="secret"): average(
            lambda a, b: (
                prior * a * math.log(max(a, 1e-300)) + (1 - prior) * b * math.log(max(b, 1e-300))
            )
        ),
    }
    for measure, truth in truths.items():
        if truth is None:
            continue
        found = measure.evaluate(belief, question, channel)
        assert found.floor * (1 - found.relative_error) <= truth * (1 + 1e-8) + 1e-12, measure
        assert truth * (1 - 1e-8) <= found.ceiling, measure
        assert found.value == pytest.approx(truth, rel=2e-5, abs=1e-10), (measure, found)


# Guesses of several values ------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_a_guess_in_the_plane_beside_an_integral(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal((2, 2, 2))
    prior, noise = a @ a.T, b @ b.T + 0.05 * np.eye(2)
    belief = Gaussian(Dense(prior), dimensions=2)
    question = Displacements((((0, 1),),), 0.7)
    left = np.linalg.inv(np.linalg.inv(prior) + np.linalg.inv(noise))
    law = stats.multivariate_normal(np.zeros(2), left)

    def along(angle):
        ray = np.array([math.cos(angle), math.sin(angle)])
        return integrate.quad(lambda r: law.pdf(r * ray) * r, 0.0, 0.7, epsabs=1e-13)[0]

    truth = integrate.quad(along, 0.0, math.pi, epsabs=1e-12, limit=200)[0] * 2
    channel = AdditiveGaussian(Dense(noise), dimensions=2)
    found = sf.measures.bayes_success().evaluate(belief, question, channel)
    assert found.value == pytest.approx(truth, rel=1e-7)
    assert found.bound == "exact"


@pytest.mark.parametrize("seed", range(6))
def test_compound_guesses_lie_between_their_ends(seed):
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((3, 3))
    prior, noise = a @ a.T + 0.1 * np.eye(3), np.diag(rng.uniform(0.05, 1.0, 3))
    belief, channel = Gaussian(Dense(prior)), AdditiveGaussian(Dense(noise))
    question = Displacements((((0,), (2,)),), 0.5)
    left = (prior - prior @ np.linalg.solve(prior + noise, prior))[np.ix_([0, 2], [0, 2])]

    def within(covariance):
        """Return Pr[|x| ≤ ½, |y| ≤ ½], y given x being normal too."""
        slope = covariance[0, 1] / covariance[0, 0]
        rest = math.sqrt(covariance[1, 1] - slope * covariance[0, 1])

        def inner(x):
            ends = ((side * 0.5 - slope * x) / rest for side in (1, -1))
            high, low = map(stats.norm.cdf, ends)
            return stats.norm.pdf(x, scale=math.sqrt(covariance[0, 0])) * (high - low)

        return integrate.quad(inner, -0.5, 0.5, epsabs=1e-13)[0]

    truth = within(left)
    before = within(prior[np.ix_([0, 2], [0, 2])])
    for measure, value in (
        (sf.measures.bayes_success(), truth),
        (sf.measures.bayes_leakage(), truth / before),
        (sf.measures.posterior_gap(), truth),
    ):
        found = measure.evaluate(belief, question, channel)
        assert found.interval is not None
        assert found.interval[0] <= value <= found.interval[1], measure


@pytest.mark.parametrize("noise", [0.01, 0.5, 5.0])
@pytest.mark.parametrize("delta", [0.05, 0.3, 0.6])
@pytest.mark.parametrize("radius", [0.2, 1.5])
def test_the_worst_place_of_a_breach(noise, delta, radius):
    """No place of many, each with its own root, is breached more often; one nearly as often."""
    left = 1.0 / (1.0 + 1.0 / noise)
    spread, deviation = math.sqrt(1.0 - left), math.sqrt(left)

    def chance(place):
        prior = stats.norm.cdf(place + radius) - stats.norm.cdf(place - radius)

        def rise(away):
            ends = (radius - away) / deviation, (-radius - away) / deviation
            return stats.norm.cdf(ends[0]) - stats.norm.cdf(ends[1]) - prior - delta

        if rise(0.0) <= 0.0:
            return 0.0
        half = optimize.brentq(rise, 0.0, radius + 40 * deviation)
        return stats.norm.cdf((place + half) / spread) - stats.norm.cdf((place - half) / spread)

    prior = sf.priors.rbf(length_scale=1.0, times=1)
    secret = sf.secrets.basic(0, radius=radius)
    release = sf.mechanisms.gaussian_uniform(mse=noise).protect(prior, secret)
    loss = sf.measures.breach_rate(delta=delta).loss(prior, secret, release)
    worst = max(map(chance, np.linspace(0.0, 5.0, 400)))
    assert worst * (1 - 1e-9) <= loss.ceiling
    assert loss.value == pytest.approx(worst, rel=2e-2, abs=1e-9)


@pytest.mark.parametrize("delta", [0.01, 0.2])
@pytest.mark.parametrize(("place", "radius", "noise"), [(0.0, 0.25, 0.1), (1.0, 1.5, 2.0)])
def test_the_odds_of_being_near_a_place(place, radius, noise, delta):
    """The chance to exceed the gap, an integral over posterior means, turns at it."""
    left = 1.0 / (1.0 + 1.0 / noise)
    spread, deviation = math.sqrt(1.0 - left), math.sqrt(left)
    prior = stats.norm.cdf(place + radius) - stats.norm.cdf(place - radius)
    means = np.linspace(-9 * spread, 9 * spread, 2_000_001)
    ends = [stats.norm.cdf((place + side - means) / deviation) for side in (radius, -radius)]
    inside = np.clip(ends[0] - ends[1], 1e-300, 1 - 1e-16)
    moved = np.abs(np.log(inside / (1 - inside)) - math.log(prior / (1 - prior)))
    mass = stats.norm.pdf(means, scale=spread) * (means[1] - means[0]) * inside / prior
    belief, channel = Gaussian(Diagonal([1.0])), AdditiveGaussian(Diagonal([noise]))
    found = sf.measures.odds_gap(delta=delta).evaluate(belief, Nearness(0, place, radius), channel)
    low, high = found.interval or (found.floor, found.ceiling)
    assert mass[moved > high * (1 + 1e-6)].sum() <= delta + 1e-6
    assert mass[moved > low * (1 - 1e-6)].sum() >= delta - 1e-6
    assert high - low <= 1e-2 * high


# Neighbours that are all but one value ------------------------------------------------------------


def in_many_digits(length_scale, steps, chosen, noise):
    """Return ½ log det(Σ_SS) − ½ log det(V_SS) and tr V_SS of an RBF trace, with 120 digits."""
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(120):
        scale = 2 * mpmath.mpf(length_scale) ** 2
        sigma = mpmath.matrix(steps, steps)
        for i, j in itertools.product(range(steps), repeat=2):
            sigma[i, j] = mpmath.exp(-mpmath.mpf((i - j) ** 2) / scale)
        first, last = chosen[0], chosen[-1] + 1
        cross, own = sigma[:, first:last], sigma[first:last, first:last]
        left = own - cross.T * (
            mpmath.inverse(sigma + mpmath.mpf(noise) * mpmath.eye(steps)) * cross
        )
        told = mpmath.log(mpmath.det(own) / mpmath.det(left)) / 2
        return told, sum(left[k, k] for k in range(len(chosen)))


@pytest.mark.parametrize(
    ("length_scale", "chosen", "noise"),
    [
        (6, range(6, 9), 1e-6),
        (10, range(5, 11), 1e-12),
        (10, range(4, 12), 1e-9),
        (20, range(5), 1e-2),
    ],
)
def test_the_ends_hold_what_rounding_cannot_tell(length_scale, chosen, noise):
    prior = sf.priors.rbf(length_scale=float(length_scale), times=16)
    secret = sf.secrets.compound(list(chosen))
    release = sf.mechanisms.gaussian_uniform(mse=noise).protect(prior, secret)
    truths = in_many_digits(length_scale, 16, list(chosen), noise)
    measures = sf.measures.mutual_information(about="secret"), sf.measures.expected_error()
    for measure, truth in zip(measures, truths, strict=True):
        found = measure.loss(prior, secret, release)
        error = found.value * found.relative_error
        low, high = found.interval or (found.value - error, found.value + error)
        assert low <= truth <= high, measure
        assert (found.value - truth) * measure.quantity.sign >= 0.0
