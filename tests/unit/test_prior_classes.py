"""Intervals, choices, families: what a supremum may claim."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sfumato as sf


def test_one_prior_is_the_class_of_one():
    prior = sf.priors.rbf(length_scale=3.0, times=5)
    assert list(prior.members()) == [prior]
    found = prior.supremum(lambda member: member.length_scale)
    assert (found.value, found.member, found.how) == (3.0, prior, "single")


def test_a_choice_is_finite_and_an_interval_is_searched():
    choice = sf.priors.rbf(length_scale=sf.AnyOf(3, 6, 9), times=5)
    assert [member.length_scale for member in choice.members()] == [3, 6, 9]
    assert choice.supremum(lambda m: -abs(m.length_scale - 6)).member.length_scale == 6
    assert choice.supremum(lambda m: m.length_scale).how == "finite"
    interval = sf.priors.rbf(length_scale=sf.Interval(3, 12), times=5)
    found = interval.supremum(lambda m: -abs(m.length_scale - math.pi))
    assert found.how == "searched"
    assert found.member.length_scale == pytest.approx(math.pi, abs=1e-6)


def test_two_parameters_may_vary_at_once():
    family = sf.priors.rbf(length_scale=sf.AnyOf(1, 2), variance=sf.Interval(1, 4), times=5)
    assert not family.finite
    found = family.supremum(lambda m: m.length_scale - (m.variance - 2.5) ** 2)
    assert found.member.length_scale == 2
    assert found.member.variance == pytest.approx(2.5, abs=1e-4)
    box = sf.priors.rbf(length_scale=sf.Interval(1, 3), variance=sf.Interval(1, 4), times=5)
    found = box.supremum(lambda m: -((m.length_scale - 1.7) ** 2) - (m.variance - 3.1) ** 2)
    assert (found.member.length_scale, found.member.variance) == pytest.approx((1.7, 3.1), abs=1e-4)


def test_an_infinite_value_needs_no_further_search():
    interval = sf.priors.rbf(length_scale=sf.Interval(3, 12), times=5)
    found = interval.supremum(lambda m: math.inf if m.length_scale == 12 else 0.0)
    assert (found.value, found.how) == (math.inf, "proved")


def test_whole_priors_make_a_class_too():
    rough, smooth = (sf.priors.rbf(length_scale=l, times=9) for l in (1.0, 6.0))
    both = sf.AnyOf(rough, sf.priors.rbf(length_scale=sf.Interval(2, 3), times=9), smooth)
    assert not both.finite
    assert both.supremum(lambda m: m.length_scale).how == "searched"
    assert both.supremum(lambda m: m.length_scale).member == smooth


@pytest.mark.parametrize(
    "make",
    [
        lambda: sf.Interval(3, 3),
        lambda: sf.Interval(4, 3),
        lambda: sf.Interval(float("nan"), 3),
        lambda: sf.Interval(0, float("inf")),
        lambda: sf.Interval("a", 3),
        sf.AnyOf,
        lambda: sf.AnyOf([1, 2]),
        lambda: sf.AnyOf(3, sf.priors.rbf(length_scale=1.0, times=5)),
        lambda: sf.priors.rbf(length_scale=sf.AnyOf(3, -1), times=5),
        lambda: sf.priors.rbf(length_scale=sf.Interval(-1, 3), times=5),
        lambda: sf.priors.rbf(length_scale=1.0, times=sf.AnyOf(5, 6)),
        lambda: sf.AnyOf(*(sf.priors.rbf(length_scale=1.0, times=n) for n in (5, 6))),
        lambda: sf.secrets.basic(sf.AnyOf(1, 2)),
    ],
)
def test_impossible_classes_are_rejected_when_made(make):
    with pytest.raises(sf.ParameterError, match=r"\.$"):
        make()


def test_a_choice_of_values_is_not_a_class_of_priors():
    with pytest.raises(TypeError, match="give it to a parameter"):
        list(sf.AnyOf(1, 2).members())


def test_classes_round_trip():
    for prior in (
        sf.priors.rbf(length_scale=sf.Interval(3, 12), times=5),
        sf.priors.rbf(length_scale=sf.AnyOf(3, 6), times=5),
        sf.AnyOf(*(sf.priors.rbf(length_scale=l, times=5) for l in (1.0, 2.0))),
    ):
        again = sf.registry.build("prior", prior.specification())
        assert again == prior
        assert hash(again) == hash(prior)
        assert eval(repr(prior), {"sf": sf}) == prior  # noqa: S307 - our own repr


def test_the_periodic_resonance_is_proved_and_never_called_exact():
    """Looking at the end points gives 73.6 and at a 17-point grid 73.9; the truth is 130.33."""
    prior = sf.priors.periodic(length_scale=1.0, period=sf.Interval(3.3, 11), times=50)
    secret = sf.secrets.basic(24)
    release = sf.mechanisms.gaussian_uniform(mse=0.1).protect(prior, secret)
    loss = sf.measures.renyi(order=2.0).loss(prior, secret, release)
    assert loss.bound == "upper"
    assert loss.floor == pytest.approx(130.33, abs=5e-3)
    assert loss.worst.period == pytest.approx(4.0, abs=1e-3)
    assert loss.floor <= loss.value == loss.ceiling <= loss.floor * 1.001
    ends = [
        sf.measures.renyi(order=2.0).loss(
            sf.priors.periodic(length_scale=1.0, period=period, times=50), secret, release
        )
        for period in np.linspace(3.3, 11, 17)
    ]
    assert max(loss.value for loss in ends) == pytest.approx(73.9314, abs=1e-4)
    assert max(ends[0].value, ends[-1].value) == pytest.approx(73.6195, abs=1e-4)


def test_a_fit_that_its_author_made_static_is_found():
    class Fitted(sf.Prior):
        name = "fitted"

        def belief(self):
            raise NotImplementedError

        @staticmethod
        def fit(traces):
            return traces

    assert Fitted.overrides("fit")
    assert not Fitted.overrides("fit_each")
    assert sf.priors.markov_chain.plugin.overrides("fit_each")
