"""Unions of secrets."""

from __future__ import annotations

import pytest

import sfumato as sf


def loss(secret, prior):
    release = sf.mechanisms.gaussian_uniform(mse=0.1).protect(prior, secret)
    return sf.measures.renyi(order=2.0).loss(prior, secret, release)


def test_the_loss_of_a_union_is_the_worst_of_its_parts():
    prior = sf.priors.rbf(length_scale=3.0, times=50)
    parts = [sf.secrets.basic(3, radius=2.0), sf.secrets.compound([20, 24]), sf.secrets.basic(30)]
    union = parts[0] | parts[1] | parts[2]
    assert loss(union, prior).value == max(loss(part, prior).value for part in parts)
    assert loss(union, prior).bound == "exact"


def test_every_point_is_the_union_of_all_basic_secrets():
    prior = sf.priors.rbf(length_scale=2.0, times=9)
    each = [loss(sf.secrets.basic(index), prior).value for index in range(9)]
    assert loss(sf.secrets.every_point(), prior).value == pytest.approx(max(each), rel=1e-9)


def test_events_unite_too():
    chain = sf.priors.markov_chain(
        initial=[0.5, 0.5], transitions=[[0.9, 0.1], [0.2, 0.8]], steps=3, states=["s", "x"]
    )
    both = sf.secrets.contexts({"s"}) | sf.secrets.contexts({"x"}, times=[1])
    assert len(both.question(chain.belief()).names) == 4


def test_places_unite_too():
    prior = sf.priors.rbf(length_scale=2.0, times=5)
    parts = [sf.secrets.near(place, radius=0.5, index=index) for place, index in ((0, 2), (1, 4))]
    release = sf.mechanisms.gaussian_uniform(mse=0.1).protect(prior, sf.secrets.basic(2))
    for measure in (
        sf.measures.advantage(),
        sf.measures.posterior_gap(),
        sf.measures.breach_rate(),
        sf.measures.bayes_success(),
    ):
        each = [measure.loss(prior, part, release).value for part in parts]
        assert measure.loss(prior, parts[0] | parts[1], release).value == max(each)


def test_unions_round_trip():
    union = sf.secrets.basic(3) | sf.secrets.compound([1, 2])
    assert sf.registry.build("secret", union.specification()) == union
    assert eval(repr(union), {"sf": sf}) == union  # noqa: S307 - our own repr
    assert hash(union) == hash(sf.secrets.basic(3) | sf.secrets.compound([1, 2]))


@pytest.mark.parametrize(
    "make",
    [
        lambda: sf.secrets.basic(3) | sf.secrets.contexts({"s"}),
        lambda: sf.secrets.trajectory(1) | sf.secrets.trajectory(2),
        lambda: sf.secrets.basic(3) | 3,
    ],
)
def test_secrets_that_do_not_ask_alike_have_no_union(make):
    with pytest.raises(sf.ParameterError, match="a union must be of secrets"):
        make()


def test_a_union_of_places_over_an_interval_is_the_worst_of_them():
    prior = sf.priors.rbf(length_scale=sf.Interval(1.0, 1.2), times=3)
    parts = [sf.secrets.near(place, radius=0.5, index=1) for place in (2.5, 0.0)]
    uniform = sf.mechanisms.gaussian_uniform(mse=0.5).designed_for(secret=sf.secrets.basic(1))
    release = uniform.protect(prior, parts[0])
    each = [sf.measures.posterior_gap().loss(prior, part, release).floor for part in parts]
    union = parts[0] | parts[1]
    assert sf.measures.posterior_gap().loss(prior, union, release).ceiling >= max(each)
    assert each[0] != each[1]
