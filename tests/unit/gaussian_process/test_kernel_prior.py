"""scikit-learn kernels: values, precision, definiteness, plain forms."""

from __future__ import annotations

import math
import tomllib

import numpy as np
import pytest
import tomli_w
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.gaussian_process import kernels

import sfumato as sf
from sfumato.inference.exact import in_balls
from sfumato.matrices import Toeplitz
from sfumato_gaussian_process.kernel import KernelDomain

STAMPS = np.array([0.3, 1.0, 2.75, 9.0])

SHOWN = [
    kernels.RBF(2.0),
    kernels.Matern(2.0, nu=0.5),
    kernels.Matern(2.0, nu=1.5),
    kernels.Matern(2.0, nu=2.5),
    kernels.Matern(2.0, nu=math.inf),
    kernels.RationalQuadratic(1.5, alpha=0.7),
    kernels.ExpSineSquared(0.8, periodicity=3.0),
    kernels.DotProduct(0.5),
    kernels.ConstantKernel(2.0) * kernels.RBF(3.0) + kernels.WhiteKernel(0.1),
    kernels.RBF(2.0) ** 3,
    kernels.WhiteKernel(0.5) * kernels.RBF(1.0) + kernels.ExpSineSquared(1.0, 2.0),
]


@pytest.mark.parametrize("kernel", SHOWN, ids=str)
def test_balls_agree_with_scikit_learn(kernel):
    belief = sf.priors.kernel(kernel, times=STAMPS).belief()
    expected, balls = kernel(STAMPS[:, None]), in_balls(belief, 256)
    deviations = np.sqrt(np.diag(expected))
    found = np.array([[float(balls[i, j]) for j in range(4)] for i in range(4)])
    assert np.max(np.abs(found - expected) / np.outer(deviations, deviations)) <= belief.rounding
    np.testing.assert_allclose(belief.covariance.dense(), expected, rtol=1e-13)
    assert belief.rounding < 1e-13


@pytest.mark.parametrize("kernel", SHOWN, ids=str)
def test_plain_forms_round_trip(kernel):
    prior = sf.priors.kernel(kernel, times=STAMPS)
    table = tomllib.loads(tomli_w.dumps(prior.specification()))
    assert sf.registry.build("prior", table) == prior
    assert eval(repr(prior)) == prior  # noqa: S307 - our own repr
    assert hash(sf.registry.build("prior", table)) == hash(prior)


@pytest.mark.parametrize("kernel", SHOWN, ids=str)
def test_a_stationary_kernel_on_a_grid_is_toeplitz(kernel):
    belief = sf.priors.kernel(kernel, times=5).belief()
    assert isinstance(belief.covariance, Toeplitz) == kernel.is_stationary()
    np.testing.assert_allclose(
        belief.covariance.dense(), kernel(np.arange(5.0)[:, None]), rtol=1e-13
    )


@settings(max_examples=40)
@given(KernelDomain().strategy({}), st.lists(st.floats(0.1, 5), min_size=1, max_size=5))
def test_drawn_kernels_are_within_their_stated_rounding(kernel, steps):
    stamps = np.cumsum([1e4, *steps])
    belief = sf.priors.kernel(kernel, times=stamps).belief()
    stored, balls = belief.covariance.dense(), in_balls(belief, 256)
    deviations = np.sqrt(np.diag(stored))
    for i in range(len(stamps)):
        for j in range(len(stamps)):
            error = abs(float(balls[i, j] - stored[i, j]))
            assert error <= belief.rounding * deviations[i] * deviations[j] * (1 + 1e-9)


def test_a_choice_of_kernels_is_a_class():
    options = [kernels.RBF(2.0), {"name": "Matern", "length_scale": 2.0, "nu": math.inf}]
    family = sf.priors.kernel(sf.AnyOf(*options), times=4)
    assert len(list(family.members())) == 2
    assert sf.registry.build("prior", family.specification()) == family
    assert eval(repr(family)) == family  # noqa: S307 - our own repr


SETS = [
    {
        "name": "Sum",
        "k1": {"name": "RBF", "length_scale": sf.Interval(1, 4)},
        "k2": kernels.WhiteKernel(0.1),
    },
    kernels.RBF(sf.Interval(1, 4)) + kernels.WhiteKernel(0.1),
    kernels.ConstantKernel(sf.AnyOf(1, 2)) * kernels.RationalQuadratic(1.0, sf.Interval(0.5, 2)),
    kernels.Matern(sf.AnyOf(1, 2), nu=sf.AnyOf(0.5, math.inf)),
    {"name": "Exponentiation", "kernel": kernels.RBF(2.0), "exponent": sf.AnyOf(1, 3)},
    {
        "name": "Product",
        "k1": sf.AnyOf(kernels.RBF(2.0), {"name": "Matern", "length_scale": 1.0, "nu": math.inf}),
        "k2": kernels.ExpSineSquared(sf.Interval(1, 2), 3.0),
    },
    sf.AnyOf(kernels.RBF(sf.Interval(1, 2)), kernels.Matern(1.0, nu=0.5)),
    {
        "name": "Sum",
        "k1": sf.AnyOf(kernels.RBF(sf.Interval(1, 2)), kernels.RBF(5.0)),
        "k2": kernels.WhiteKernel(sf.AnyOf(0.1, 0.2)),
    },
]


@pytest.mark.parametrize("kernel", SETS, ids=range(len(SETS)))
def test_sets_inside_a_kernel_round_trip(kernel):
    prior = sf.priors.kernel(kernel, times=5)
    table = tomllib.loads(tomli_w.dumps(prior.specification()))
    rebuilt = sf.registry.build("prior", table)
    assert rebuilt == prior
    assert hash(rebuilt) == hash(prior)
    assert list(rebuilt.members()) == list(prior.members())
    assert eval(repr(prior)) == prior  # noqa: S307 - our own repr


def test_every_choice_inside_a_kernel_is_a_member():
    table = {"name": "Sum", "k1": kernels.RBF(sf.AnyOf(2, 3)), "k2": kernels.WhiteKernel(0.5)}
    found = [member.kernel for member in sf.priors.kernel(table, times=3).members()]
    wanted = [kernels.RBF(length) + kernels.WhiteKernel(0.5) for length in (2.0, 3.0)]
    assert found == [sf.priors.kernel(each, times=3).kernel for each in wanted]


def test_an_interval_inside_a_kernel_is_proved():
    """The worst period lies inside: neither an end nor a grid of 17 comes near its loss."""
    kernel = kernels.ExpSineSquared(1.0, sf.Interval(3.3, 11))
    prior, secret = sf.priors.kernel(kernel, times=50), sf.secrets.basic(24)
    own = sf.priors.periodic(length_scale=1.0, period=sf.Interval(3.3, 11), times=50)
    release = sf.mechanisms.gaussian_uniform(mse=0.1).protect(prior, secret)
    found = sf.measures.renyi(order=2.0).loss(prior, secret, release)
    assert (found.bound, found.ceiling) == ("upper", found.value)
    assert found.value == pytest.approx(
        sf.measures.renyi(order=2.0).loss(own, secret, release).value, rel=1e-6
    )
    assert found.floor == pytest.approx(130.33, rel=1e-4)
    assert found.worst.kernel.number("periodicity") == pytest.approx(4.0, rel=1e-4)


def test_a_design_for_sets_inside_a_kernel_holds_for_every_member():
    kernel = kernels.RationalQuadratic(2.0, sf.AnyOf(0.5, 4.0)) + kernels.WhiteKernel(0.1)
    prior, secret = sf.priors.kernel(kernel, times=12), sf.secrets.basic(5)
    release = sf.mechanisms.gaussian_optimal(mse=0.1).protect(prior, secret)
    covariance = release.channel.covariance()
    gains = []
    for alpha in (0.5, 4.0):
        made = kernels.RationalQuadratic(2.0, alpha) + kernels.WhiteKernel(0.1)
        believed = made(np.arange(12.0)[:, None])
        left = believed - believed @ np.linalg.solve(believed + covariance, believed)
        gains.append(1 / left[5, 5] - 1 / believed[5, 5])
    assert release.claims["worst_loss"] == pytest.approx(max(gains), rel=1e-8)


@pytest.mark.parametrize(
    "bad",
    [
        kernels.Matern(1.0, nu=sf.Interval(0.5, 1.5)),
        kernels.RBF(sf.Interval(-1, 1)),
        {"name": "RBF", "length_scale": sf.AnyOf(1.0, "2")},
        {"name": sf.AnyOf("RBF", "Matern"), "length_scale": 1.0},
    ],
    ids=range(4),
)
def test_sets_with_a_bad_member_are_refused(bad):
    with pytest.raises(sf.ParameterError, match=r"^kernel\.kernel must be .*; got .*\.$"):
        sf.priors.kernel(bad, times=3)


def test_a_kernel_of_sets_is_one_sentence_where_one_kernel_is_wanted():
    varied = kernels.RBF(sf.Interval(1, 2))
    with pytest.raises(sf.ParameterError, match=r"length_scale is one real number; got a RBF\.$"):
        sf.priors.kernel.plugin(varied, times=3)
    with pytest.raises(sf.ParameterError, match=r"kernel\.fit kernel must be .*; got .*Interval"):
        sf.priors.kernel.fit([[0.0, 1.0, 0.5]], varied)


DEFINITE = [
    (kernels.RBF(1.0), True),
    (kernels.ExpSineSquared(1.0, 2.0), False),
    (kernels.DotProduct(1.0), False),
    (kernels.DotProduct(1.0) + kernels.WhiteKernel(0.1), True),
    (kernels.RBF(1.0) * kernels.ExpSineSquared(1.0, 2.0), True),
    (kernels.RBF(1.0) * kernels.DotProduct(0.0), False),  # nothing is known at time zero
    (kernels.DotProduct(1.0) ** 2, False),
    (kernels.RationalQuadratic(1.0, 1.0) ** 2, True),
]


@pytest.mark.parametrize(("kernel", "definite"), DEFINITE, ids=str)
def test_definiteness_follows_schurs_theorem(kernel, definite):
    belief = sf.priors.kernel(kernel, times=[0.0, 1.0, 2.0]).belief()
    assert belief.definite is definite


@pytest.mark.parametrize(
    "bad",
    [
        3,
        "RBF(1.0)",
        None,
        {"name": "__import__"},
        {"length_scale": 1.0},
        {"name": "RBF"},
        {"name": "RBF", "length_scale": 1.0, "code": "x"},
        {"name": "RBF", "length_scale": math.nan},
        {"name": "RBF", "length_scale": -1.0},
        {"name": "RBF", "length_scale": "2.0"},
        {"name": "Matern", "length_scale": 1.0, "nu": 0.7},
        {"name": "Sum", "k1": {"name": "RBF", "length_scale": 1.0}},
        {"name": "Exponentiation", "kernel": {"name": "RBF", "length_scale": 1.0}, "exponent": 0.5},
        kernels.RBF([1.0, 2.0]),
        kernels.PairwiseKernel(),
    ],
    ids=str,
)
def test_anything_else_is_refused_in_one_sentence(bad):
    with pytest.raises(sf.ParameterError, match=r"^kernel\.kernel must be .*; got .*\.$"):
        sf.priors.kernel(bad, times=3)


def test_a_kernel_of_ones_own_is_refused():
    class RBF(kernels.RBF):
        pass

    with pytest.raises(sf.ParameterError, match="scikit-learn kernel or a table"):
        sf.priors.kernel(RBF(1.0), times=3)


def test_the_same_kernel_has_the_same_loss():
    secret = sf.secrets.basic(24)
    ours = sf.priors.rbf(length_scale=6.0, times=50)
    theirs = sf.priors.kernel(kernels.RBF(6.0), times=50)
    release = sf.mechanisms.gaussian_uniform(mse=0.02).protect(ours, secret)
    losses = [sf.measures.renyi().loss(prior, secret, release).value for prior in (ours, theirs)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-9)


def test_fitting_finds_what_the_own_prior_finds():
    rng = np.random.default_rng(0)
    smooth = sf.priors.rbf(length_scale=3.0, times=25).belief().sample(rng, 4)
    traces = smooth + 0.05 * rng.standard_normal(smooth.shape)
    ours = sf.priors.rbf.fit(traces, times=np.arange(25) * 2.0)
    theirs = sf.priors.kernel.fit(traces, kernels.RBF(1.0, (0.1, 200)), times=np.arange(25) * 2.0)
    np.testing.assert_allclose(theirs.values[:, 0], ours.effective["length_scale"], rtol=1e-3)
    pooled = theirs.prior_class(times=30, quantiles=(0.0, 1.0))
    lengths = [member.kernel.number("length_scale") for member in pooled.members()]
    assert min(lengths) == pytest.approx(theirs.values.min())
    assert max(lengths) == pytest.approx(theirs.values.max())
    assert list(theirs.to_pandas().columns) == [
        *("trace", "coordinate", "length_scale", "log_likelihood", "at_bound")
    ]


def test_fitting_a_sum_names_its_parameters():
    rng = np.random.default_rng(1)
    traces = rng.standard_normal((2, 15, 2)).cumsum(axis=1)
    fitted = sf.priors.kernel.fit(traces, kernels.RBF(1.0) + kernels.WhiteKernel(0.1))
    assert fitted.names == ("k1__length_scale", "k2__noise_level")
    assert (len(fitted), fitted.values.shape) == (4, (4, 2))
    assert next(fitted.prior_class().members()).times == 15
    pooled = fitted.prior_class(times=10)
    quartiles = np.quantile(fitted.values, (0.25, 0.75), axis=0)
    assert {place: (each.low, each.high) for place, each in pooled.varying.items()} == {
        "kernel.k1.length_scale": tuple(quartiles[:, 0]),
        "kernel.k2.noise_level": tuple(quartiles[:, 1]),
    }
    assert all(member.belief().shape == (10, 2) for member in pooled.members())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"kernel": 3}, r"kernel\.fit kernel must be"),
        ({"kernel": kernels.RBF(1.0), "noise": math.nan}, "noise must be finite and positive"),
        ({"kernel": kernels.RBF(1.0, "fixed")}, "a free parameter"),
    ],
)
def test_bad_fits(arguments, words):
    with pytest.raises(sf.ParameterError, match=words):
        sf.priors.kernel.fit([[0.0, 1.0, 0.5]], **arguments)
