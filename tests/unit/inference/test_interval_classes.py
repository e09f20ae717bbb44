"""Losses over intervals of parameters: never below the truth, close to it, and quickly so."""

import importlib.util
import itertools
import math
import time
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato.inference.gaussian.interval_classes import bound_informations, copies_throughout
from sfumato.inference.taylor import TaylorNumbers
from sfumato.matrices import Dense, Diagonal
from sfumato.prior_classes.families import boxes_of
from sfumato.prior_classes.proofs import CellValues, prove_supremum

_place = Path(__file__).parents[2] / "benchmarks" / "bench_interval_proofs.py"
_specification = importlib.util.spec_from_file_location("bench_interval_proofs", _place)
problems = importlib.util.module_from_spec(_specification)
_specification.loader.exec_module(problems)

RENYI = sf.measures.renyi(order=2.0)
MIDDLE = sf.secrets.basic(24)


def uniform_loss(prior, secret, mse):
    release = sf.mechanisms.gaussian_uniform(mse=mse).protect(prior, secret)
    return RENYI.loss(prior, secret, release)


@pytest.mark.parametrize("seed", range(40))
def test_no_member_loses_more_than_what_is_proved(seed):
    """Kernels, information and worst pair are written out again there, in 400 bits."""
    loss, truth = problems.compare(seed, points=21)
    assert loss.ceiling >= truth
    assert loss.floor <= loss.value
    if loss.bound == "upper":
        assert loss.value <= loss.floor * 1.001
    else:  # secret times that a period nearly makes copies: no finite bound exists
        assert (loss.bound, loss.worst.name, loss.ceiling) == ("estimate", "periodic", math.inf)


@pytest.mark.parametrize(("mse", "value"), [(1.0, 14.0174), (0.1, 110.994), (0.02, 485.684)])
def test_length_scales_are_proved(mse, value):
    loss = uniform_loss(sf.priors.rbf(length_scale=sf.Interval(3, 12), times=50), MIDDLE, mse)
    assert (loss.bound, loss.worst.length_scale) == ("upper", 12.0)
    assert "proved" in loss.how
    assert loss.floor == pytest.approx(value, rel=1e-5)
    assert loss.floor <= loss.value == loss.ceiling <= 1.001 * loss.floor


def test_a_proof_takes_a_few_times_what_sixteen_members_take():
    def seconds(length_scale):
        prior = sf.priors.rbf(length_scale=length_scale, times=50)
        release = sf.mechanisms.gaussian_uniform(mse=0.02).protect(prior, MIDDLE)
        start = time.process_time()
        RENYI.loss(prior, MIDDLE, release)
        return time.process_time() - start

    few, whole = sf.AnyOf(*np.linspace(3, 12, 16).tolist()), sf.Interval(3, 12)
    pairs = [(seconds(whole), seconds(few)) for _ in range(3)]
    assert min(proof / sixteen for proof, sixteen in pairs) <= 10


@pytest.mark.parametrize(
    ("prior", "value"),
    [
        (sf.priors.matern(length_scale=sf.Interval(1, 20), nu=1.5, times=50), 71.18919),
        (sf.priors.periodic(length_scale=1.0, period=sf.Interval(3.3, 11), times=50), 130.33338),
        (
            sf.priors.rbf(length_scale=sf.Interval(3, 6), variance=sf.Interval(0.5, 2), times=50),
            63.89379,
        ),
    ],
)
def test_other_kernels_and_two_parameters_are_proved(prior, value):
    loss = uniform_loss(prior, MIDDLE, 0.1)
    assert loss.bound == "upper"
    assert loss.floor == pytest.approx(value, rel=1e-5)
    assert loss.value <= 1.001 * loss.floor


def test_a_resonance_that_neither_ends_nor_a_grid_see():
    prior = sf.priors.periodic(length_scale=1.0, period=sf.Interval(3.3, 11), times=50)
    loss = uniform_loss(prior, MIDDLE, 0.1)
    ends = [
        uniform_loss(sf.priors.periodic(length_scale=1.0, period=p, times=50), MIDDLE, 0.1).value
        for p in (3.3, 11.0)
    ]
    assert max(ends) == pytest.approx(73.6195, abs=1e-4)
    assert loss.worst.period == pytest.approx(4.0, abs=1e-3)


def test_two_times_in_the_plane_are_proved():
    """Of coordinates that are alike, the worst displacements are parallel."""
    prior = sf.priors.rbf(length_scale=sf.Interval(1, 3), times=6, dimensions=2)
    loss = uniform_loss(prior, sf.secrets.compound([1, 3]), 0.1)
    t, found = np.arange(6), []
    for length in np.linspace(1, 3, 61):
        sigma = np.exp(-((t[:, None] - t) ** 2) / (2 * length**2))
        left = sigma - sigma @ np.linalg.solve(sigma + 0.1 * np.eye(6), sigma)
        own = np.ix_([1, 3], [1, 3])
        gain = np.linalg.inv(left[own]) - np.linalg.inv(sigma[own])
        found.append(gain[0, 0] + gain[1, 1] + 2 * abs(gain[0, 1]))
    assert "proved" in loss.how
    assert max(found) * (1 - 1e-12) <= loss.value <= 1.001 * loss.floor


def test_a_prior_beside_an_interval_hides_no_resonance():
    """The worst member lies inside the second option, whatever the first is."""
    alone, several = (
        sf.priors.periodic(length_scale=1.0, period=period, times=20)
        for period in (11.0, sf.Interval(3.3, 6.1))
    )
    prior = sf.AnyOf(alone, several)
    loss = uniform_loss(prior, sf.secrets.basic(9), 0.1)
    t = np.arange(20)
    sigma = np.exp(-2 * np.sin(np.pi * (t[:, None] - t) / 4.0) ** 2)
    left = sigma - sigma @ np.linalg.solve(sigma + 0.1 * np.eye(20), sigma)
    assert loss.worst.period == pytest.approx(4.0, abs=1e-2)
    assert 1 / left[9, 9] - 1 <= loss.value <= 1.001 * loss.floor


@pytest.mark.parametrize("floor", [1e-6, 1e-4])
def test_a_class_optimal_design_is_proved_whatever_its_floor(floor):
    """In the norm of the noise, 20,000 cells did not prove the smaller floor."""
    prior = sf.priors.rbf(length_scale=sf.Interval(3, 12), times=50)
    release = sf.mechanisms.gaussian_optimal(mse=0.02, floor=floor).protect(prior, MIDDLE)
    assert release.claims["class_seen"] == "proved"
    assert release.claims["floor"] == floor
    assert 14.0174 <= release.claims["attained_loss"] <= 14.0174 * (1 + floor + 1e-5)
    assert 14.0174 <= release.claims["worst_loss"] <= 14.0174 * 1.01
    loss = RENYI.loss(prior, MIDDLE, release)
    assert loss.bound == "upper"
    assert loss.value == pytest.approx(release.claims["worst_loss"], rel=1e-9)


def test_a_floor_is_raised_as_far_as_cells_suffice(monkeypatch):
    """An interval of periods takes more cells than there are, unless the floor is a hundredth."""
    monkeypatch.setattr("sfumato.prior_classes.proofs.MOST_CELLS", 200)
    prior = sf.priors.periodic(length_scale=1.0, period=sf.Interval(4, 5), times=12)
    release = sf.mechanisms.gaussian_optimal(mse=0.1).protect(prior, sf.secrets.basic(5))
    claims, noise = release.claims, release.channel.noise.dense()
    assert (claims["class_seen"], claims["floor"]) == ("proved", pytest.approx(1e-2))
    assert np.trace(noise) == pytest.approx(1.2)
    assert np.linalg.eigvalsh(noise)[0] == pytest.approx(1e-3, rel=1e-6)

    def covariance(point):
        return problems._matrix(range(12), lambda lag: problems._per(lag, point[0], 1))

    grid = np.linspace(4, 5, 101)
    truth = max(problems.true_loss(covariance, [([5], 1.0)], noise, [period]) for period in grid)
    assert claims["lower_bound"] <= truth <= claims["worst_loss"]
    assert claims["attained_loss"] <= truth * 1.001
    assert claims["worst_loss"] <= claims["lower_bound"] / (1 - 0.01) * 1.002


def test_a_target_holds_for_the_whole_interval():
    prior, secret = sf.priors.rbf(length_scale=sf.Interval(3, 6), times=20), sf.secrets.basic(9)
    for mechanism in (sf.mechanisms.gaussian_uniform, sf.mechanisms.gaussian_optimal):
        release = mechanism(epsilon=5.0, order=2.0).protect(prior, secret)
        loss = RENYI.loss(prior, secret, release)
        assert loss.bound == "upper"
        assert 4.9 <= loss.ceiling <= 5.0 * (1 + 1e-9)


@pytest.mark.parametrize("secret", [MIDDLE, sf.secrets.every_point()], ids=["one", "every"])
def test_a_design_for_an_interval_of_variances_is_that_of_the_smallest(secret):
    def prior(variance):
        return sf.priors.matern(length_scale=6.0, nu=0.5, variance=variance, times=50)

    mechanism = sf.mechanisms.gaussian_optimal(mse=0.1)
    release = mechanism.protect(prior(sf.Interval(0.5, 2.0)), secret)
    least = mechanism.protect(prior(0.5), secret)
    assert release.claims["class_seen"] == "proved"
    assert release.claims["worst_loss"] == least.claims["worst_loss"]
    noise = release.channel.noise.dense()
    for variance in (0.5, 1.0, 2.0):
        sigma = variance * np.exp(-np.abs(np.subtract.outer(range(50), range(50))) / 6.0)
        left = np.diag(sigma - sigma @ np.linalg.solve(sigma + noise, sigma))
        losses = 1 / left - 1 / variance
        worst = losses[24] if secret is MIDDLE else losses.max()
        assert worst <= release.claims["worst_loss"] * (1 + 1e-9)


VIEWS = [
    sf.measures.advantage(),
    sf.measures.hockey_stick(epsilon=1.0),
    sf.measures.power(false_alarm=0.05),
    sf.measures.odds_gap(),
    sf.measures.bayes_success(),
    sf.measures.bayes_leakage(),
    sf.measures.posterior_gap(),
    sf.measures.expected_error(),
    sf.measures.posterior_interval(),
]


@pytest.mark.parametrize("measure", VIEWS, ids=lambda measure: measure.name)
def test_every_definition_is_proved_from_the_same_cells(measure):
    prior, secret = sf.priors.matern(length_scale=sf.Interval(1, 4), times=12), sf.secrets.basic(5)
    release = sf.mechanisms.gaussian_uniform(mse=0.5).protect(prior, secret)
    loss = measure.loss(prior, secret, release)
    members = [sf.priors.matern(length_scale=l, times=12) for l in np.linspace(1, 4, 31)]
    grid = [measure.loss(member, secret, release).value for member in members]
    if measure.quantity.worse == "larger":
        assert loss.bound == "upper"
        assert max(grid) <= loss.value <= max(grid) * 1.0015
    else:
        assert loss.bound == "lower"
        assert min(grid) * 0.9985 <= loss.value <= min(grid)
    assert "proved" in loss.how


def test_the_narrowest_interval_of_several_secrets_is_proved():
    prior = sf.priors.matern(length_scale=sf.Interval(1, 4), nu=0.5, times=12)
    secret = sf.secrets.basic(5) | sf.secrets.compound([7, 9])
    release = sf.mechanisms.gaussian_uniform(mse=0.5).protect(prior, secret)
    loss = sf.measures.posterior_interval().loss(prior, secret, release)
    widths = []
    for length in np.linspace(1, 4, 61):
        sigma = np.exp(-np.abs(np.subtract.outer(range(12), range(12))) / length)
        left = sigma - sigma @ np.linalg.solve(sigma + 0.5 * np.eye(12), sigma)
        blocks = (left[np.ix_(own, own)] for own in ([5], [7, 9]))
        widths += [2 * np.sqrt(np.linalg.eigvalsh(block)[0]) for block in blocks]
    assert loss.bound == "lower"
    assert "proved" in loss.how
    assert min(widths) * 0.9985 <= loss.value <= min(widths) * (1 + 1e-12)


VARYING = [
    sf.measures.mutual_information(about="secret"),
    sf.measures.mutual_information(),
    sf.measures.bayes_success(within=0.5),
    sf.measures.bayes_leakage(),
    sf.measures.posterior_gap(),
    sf.measures.expected_error(),
    sf.measures.fano(),
    sf.measures.posterior_interval(),
]


@pytest.mark.parametrize("measure", VARYING, ids=lambda measure: measure.name)
@pytest.mark.parametrize("secret", [sf.secrets.basic(3), sf.secrets.compound([2, 5])])
def test_where_the_prior_of_the_secret_varies_both_are_bounded(measure, secret):
    prior = sf.priors.rbf(length_scale=sf.Interval(1, 3), variance=sf.Interval(1, 2), times=8)
    release = sf.mechanisms.gaussian_uniform(mse=0.5).protect(prior, secret)
    loss = measure.loss(prior, secret, release)
    grid = [
        measure.loss(sf.priors.rbf(length_scale=l, variance=v, times=8), secret, release).value
        for l in np.linspace(1, 3, 9)
        for v in np.linspace(1, 2, 5)
    ]
    assert "proved" in loss.how
    if measure.quantity.worse == "larger":
        assert loss.bound == "upper"
        assert max(grid) * (1 - 1e-12) <= loss.value <= max(grid) * 1.0015
    else:
        assert loss.bound == "lower"
        assert min(grid) * 0.9985 <= loss.value <= min(grid) * (1 + 1e-12)


def test_being_near_a_place_is_proved_where_its_prior_stays():
    secret = sf.secrets.near(place=0.5, index=3, radius=0.5)
    prior = sf.priors.matern(length_scale=sf.Interval(1, 1.5), times=4)
    release = sf.mechanisms.gaussian_uniform(mse=0.5).protect(prior, sf.secrets.basic(3))
    for measure in (sf.measures.posterior_gap(), sf.measures.renyi(order=2.0)):
        loss = measure.loss(prior, secret, release)
        members = [sf.priors.matern(length_scale=l, times=4) for l in (1, 1.25, 1.5)]
        grid = [measure.loss(member, secret, release).value for member in members]
        assert loss.bound == "upper"
        assert max(grid) * (1 - 1e-9) <= loss.value <= max(grid) * 1.0015
        wide = sf.priors.rbf(length_scale=2.0, variance=sf.Interval(1, 2), times=4)
        nothing = measure.proved(wide, secret, release, lambda member: loss, tolerance=1)  # noqa: B023
        assert nothing is None


def test_a_fitted_class_is_guaranteed():
    from sfumato.release.certificates import certify

    rng = np.random.default_rng(1)
    truth = sf.priors.rbf(length_scale=4.0, times=40).belief()
    traces = np.array([truth.sample(rng) + rng.normal(0, 0.05, 40) for _ in range(5)])
    prior = sf.priors.rbf.plugin.fit(traces).prior_class(times=20)
    assert not prior.finite
    release = sf.mechanisms.gaussian_optimal(mse=0.05).protect(prior, sf.secrets.basic(9))
    assert release.claims["class_seen"] == "proved"
    measures = [RENYI, sf.measures.bayes_success(), sf.measures.mutual_information(about="secret")]
    found = certify(release, measures, None)
    names = [entry["measure"]["name"] for entry in found["guarantees"]]
    assert names == ["renyi", "bayes_success", "mutual_information"]


# The bound of one cell ----------------------------------------------------------------------------


def cell_of(prior, low, high, groups, noise):
    [box] = boxes_of(prior)
    return bound_informations(box, groups, noise, np.array([low]), np.array([high]))


def test_a_cell_bounds_the_whole_matrix_in_loewner_order():
    rng = np.random.default_rng(7)
    factor = rng.standard_normal((9, 9))
    noise = factor @ factor.T / 9 + 0.01 * np.eye(9)
    prior = sf.priors.rbf(
        length_scale=sf.Interval(2, 4), variance=sf.Interval(0.8, 1.2), times=9, dimensions=1
    )
    group = ((2,), (5,), (6,))
    found = cell_of(prior, (2.5, 0.95), (2.54, 1.0), (group,), Dense(noise)).ceilings[0]
    for length, variance in itertools.product(np.linspace(2.5, 2.54, 5), (0.95, 0.97, 1.0)):
        lags = np.subtract.outer(np.arange(9), np.arange(9))
        sigma = variance * np.exp(-0.5 * (lags / length) ** 2)
        chosen = [2, 5, 6]
        kept = sigma - sigma @ np.linalg.solve(sigma + noise, sigma)
        prior_part = sigma[np.ix_(chosen, chosen)]
        gain = np.linalg.inv(kept[np.ix_(chosen, chosen)]) - np.linalg.inv(prior_part)
        left = kept[np.ix_(chosen, chosen)]
        told = np.log(np.linalg.det(np.eye(3) + prior_part @ gain)) / 2
        for above, below in (
            (found.information[0], gain),
            (left, found.left[0]),
            (prior_part, found.least_prior[0]),
            (found.largest_prior[0], prior_part),
        ):
            assert np.linalg.eigvalsh(above - below)[0] > -1e-9 * np.trace(below)
            assert np.trace(above) < 1.2 * np.trace(below)
        assert told <= found.told[0] * (1 + 1e-9) < 1.05 * told


def test_a_wide_cell_proves_nothing_rather_than_something_false():
    prior = sf.priors.rbf(length_scale=sf.Interval(1, 50), times=20)
    found = cell_of(prior, (1.0,), (50.0,), (((9,),),), Diagonal([0.01] * 20))
    assert not np.isfinite(found.ceilings[0].information).any()


@pytest.mark.parametrize(
    ("chosen", "free", "coordinates"),
    [([2, 7], [2], 1), ([8, 3, 4], [3, 4], 1), ([0, 5, 10, 1], [0, 1], 1), ([2, 7, 3], [2, 3], 2)],
)
def test_times_that_are_one_number_under_every_member_count_once(chosen, free, coordinates):
    given = {"period": 5.0, "times": 12, "dimensions": coordinates}
    prior = sf.priors.periodic(length_scale=sf.Interval(0.7, 1.5), **given)
    loss = uniform_loss(prior, sf.secrets.compound(chosen), 0.1)
    lags, found = np.abs(np.subtract.outer(np.arange(12), np.arange(12))), []
    for length in np.linspace(0.7, 1.5, 81):
        sigma = np.exp(-2 * np.sin(np.pi * lags / 5) ** 2 / length**2)
        left = sigma - sigma @ np.linalg.solve(sigma + 0.1 * np.eye(12), sigma)
        own = np.ix_(free, free)
        gain = np.linalg.inv(left[own]) - np.linalg.inv(sigma[own])
        # Coordinates are alike: the worst displacements of up to two times are parallel.
        signs = itertools.product((-1, 1), repeat=len(free))
        found.append(max(np.array(v) @ gain @ v for v in signs))
    assert (loss.bound, "proved" in loss.how) == ("upper", True)
    assert max(found) * (1 - 1e-9) <= loss.value <= 1.001 * max(found) * (1 + 1e-9)


def test_times_that_are_one_number_under_some_members_do_not_count_once():
    """Of periods from 3 to 7 it is the one in the middle, 5; beside it no finite bound holds."""
    prior = sf.priors.periodic(length_scale=1.0, period=sf.Interval(3, 7), times=12)
    assert copies_throughout(*boxes_of(prior), ((2,), (7,))) is None
    fixed = sf.priors.periodic(length_scale=sf.Interval(1, 2), period=5.0, times=12)
    assert copies_throughout(*boxes_of(fixed), ((2,), (7,))).tolist() == [[1.0], [1.0]]


def test_bounds_of_copies_are_those_of_the_first():
    """No width is left that a reader could take for uncertainty about their difference."""
    prior = sf.priors.periodic(length_scale=sf.Interval(0.7, 1.5), period=5.0, times=12)
    secret = sf.secrets.compound([2, 7])
    release = sf.mechanisms.gaussian_uniform(mse=0.1).protect(prior, secret)
    width = sf.measures.posterior_interval().loss(prior, secret, release)
    assert (width.bound, width.value) == ("lower", 0.0)
    told = sf.measures.mutual_information()
    one = told.loss(prior, sf.secrets.basic(2), release)
    both = told.loss(prior, secret, release)
    assert both.value == pytest.approx(one.value, rel=1e-9)


def test_noise_without_a_floor_is_searched_as_before():
    prior, secret = sf.priors.matern(length_scale=sf.Interval(1, 2), times=4), sf.secrets.basic(1)
    noise = np.diag([0.0, 1.0, 1.0, 0.0]).tolist()
    release = sf.mechanisms.gaussian_given(covariance=noise).protect(prior, secret)
    loss = RENYI.loss(prior, secret, release)
    assert (loss.bound, loss.ceiling) == ("estimate", math.inf)


def test_a_class_of_priors_and_intervals():
    fixed = sf.priors.rbf(length_scale=2.0, times=12)
    prior = sf.AnyOf(fixed, sf.priors.matern(length_scale=sf.Interval(1, 3), times=12))
    loss = uniform_loss(prior, sf.secrets.basic(5), 0.1)
    alone = uniform_loss(fixed, sf.secrets.basic(5), 0.1)
    assert (loss.bound, loss.worst) == ("upper", fixed)
    assert alone.value <= loss.value <= 1.001 * alone.value


def test_a_certificate_of_an_interval_guarantees():
    from sfumato.release.certificates import certify

    prior = sf.priors.rbf(length_scale=sf.Interval(3, 6), times=9)
    release = sf.mechanisms.gaussian_uniform(mse=0.02).protect(prior, sf.secrets.basic(4))
    found = certify(release, [RENYI], None)
    assert len(found["guarantees"]) == 1
    assert not found["estimates"]


# Taylor coefficients ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("formula", "plain"),
    [
        (lambda x, y: (x * y).exp(), lambda x, y: np.exp(x * y)),
        (lambda x, y: (x / y).log(), lambda x, y: np.log(x / y)),
        (lambda x, y: (x + 2 * y).sqrt(), lambda x, y: np.sqrt(x + 2 * y)),
        (lambda x, y: (3 / x).sin_pi() * y, lambda x, y: np.sin(3 * np.pi / x) * y),
        (lambda x, y: (1 - x) ** 3 - abs(y), lambda x, y: (1 - x) ** 3 - y),
    ],
)
def test_polynomials_with_their_remainders_hold_the_function(formula, plain):
    centre, width = np.array([1.3, 0.8]), np.array([0.05, 0.1])

    def expanded(degree, *, over_cell):
        numbers = TaylorNumbers(2, degree)
        return formula(
            *(numbers.parameter(i, centre[[i]], width[[i]], over_cell=over_cell) for i in range(2))
        )

    inner, outer = expanded(2, over_cell=False), expanded(3, over_cell=True)
    rest = slice(len(inner.middle), None)
    remainder = np.sum(np.abs(outer.middle[rest]) + outer.radius[rest]) + np.sum(inner.radius)
    worst = 0.0
    for t in itertools.product(np.linspace(-1, 1, 9), repeat=2):
        powers = [t[0] ** a * t[1] ** b for a, b in inner.numbers.exponents]
        value = float(np.dot(powers, inner.middle[:, 0, 0, 0]))
        worst = max(worst, abs(plain(*(centre + np.array(t) * width)) - value))
    assert worst <= remainder + 1e-15
    assert remainder <= 20 * worst + 1e-12


def test_a_function_outside_its_domain_has_no_bound():
    numbers = TaylorNumbers(1, 2)
    with np.errstate(all="ignore"):
        x = numbers.parameter(0, np.array([0.1]), np.array([0.2]), over_cell=True)
        assert not np.isfinite((1 / x).radius).any()
        assert not np.isfinite(x.log().radius[0]).any()


# Branch and bound ---------------------------------------------------------------------------------


def test_cells_that_run_out_leave_an_honest_bound():
    def loose(lows, highs):  # of sin over [0, 3], with a slope of at most one
        centre = np.sin((lows + highs)[:, 0] / 2)
        return CellValues(centre + (highs - lows)[:, 0], centre, np.zeros(len(lows), int))

    def value(_, point):
        return math.sin(point[0])

    box = [(((0.0, 3.0),), loose)]
    close, coarse = prove_supremum(box, value, 1e-3, 10_000), prove_supremum(box, value, 1e-3, 20)
    assert 1.0 <= close.ceiling <= 1.001
    assert coarse.ceiling > 1.05
    assert coarse.cells <= 20


def test_several_places_are_not_proved_from_the_first_alone():
    prior = sf.priors.rbf(length_scale=sf.Interval(1.0, 3.0), times=8)
    mild, worse = sf.secrets.near(0.0, 0.25, 0), sf.secrets.near(2.0, 0.25, 4)
    release = sf.mechanisms.gaussian_uniform(mse=0.1).protect(prior, sf.secrets.basic(0))
    measure = sf.measures.posterior_gap()
    alone, first, both = (
        measure.loss(prior, secret, release) for secret in (worse, mild, mild | worse)
    )
    assert first.ceiling < alone.floor <= both.ceiling
    assert both.bound == "upper"


def test_a_proof_is_as_close_as_asked_for():
    prior, secret = sf.priors.rbf(length_scale=sf.Interval(3, 12), times=50), sf.secrets.basic(24)
    release = sf.mechanisms.gaussian_uniform(mse=1.0).protect(prior, secret)
    losses = [sf.measures.renyi().loss(prior, secret, release, tolerance=t) for t in (0.1, 1e-5)]
    cells = [int(loss.how.split("proved in ")[1].split()[0]) for loss in losses]
    assert cells[0] < cells[1]
    for loss, tolerance in zip(losses, (0.1, 1e-5), strict=True):
        assert loss.floor <= 14.01741
        assert loss.ceiling >= 14.01739
        assert loss.ceiling - loss.floor <= tolerance * loss.ceiling
