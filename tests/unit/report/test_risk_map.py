"""Risk maps: each point is the loss that the public interface gives for that time alone."""

from __future__ import annotations

import pytest

import sfumato as sf
from sfumato.comparison.study_files import as_study_result
from sfumato.report.page import maps_caption


def with_maps(comparison):
    return as_study_result(comparison).with_maps().comparisons[0]


def risk_maps(comparison):
    return with_maps(comparison).maps


def test_each_time_of_a_gaussian_trace_has_the_loss_of_its_own_secret():
    prior, secret = sf.priors.rbf(length_scale=2.0, times=7), sf.secrets.basic(3, radius=2.0)
    mechanism = sf.mechanisms.gaussian_given(
        covariance=[[0.1 + i if i == j else 0.0 for i in range(7)] for j in range(7)]
    )
    measure = sf.measures.renyi(order=3.0)
    (risk,) = risk_maps(sf.compare([prior], [secret], [mechanism], [measure]))
    release = mechanism.protect(prior, secret)
    expected = [
        measure.loss(prior, sf.secrets.basic(time, radius=2.0), release).value for time in range(7)
    ]
    assert [risk.rows[0].losses[time] for time in range(7)] == pytest.approx(expected, rel=1e-12)
    assert risk.marked == {3}
    assert risk.rows[0].exact


def test_each_time_of_a_chain_has_the_gap_of_its_own_event():
    prior = sf.priors.markov_chain(
        initial=[0.5, 0.3, 0.2],
        transitions=[[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8]],
        steps=4,
        states=["home", "bar", "clinic"],
    )
    secret = sf.secrets.contexts({"bar", "clinic"})
    mechanism = sf.mechanisms.suppress_given(probabilities=[[0.2, 0.9, 0.8]] * 4)
    measure = sf.measures.posterior_gap()
    (risk,) = risk_maps(sf.compare([prior], [secret], [mechanism], [measure]))
    release = mechanism.protect(prior, secret)
    assert [row.asked for row in risk.rows] == ["bar", "clinic"]
    for row in risk.rows:
        for time in range(4):
            alone = sf.secrets.contexts({row.asked}, times=[time])
            assert row.losses[time] == pytest.approx(
                measure.loss(prior, alone, release).value, rel=1e-12
            )


def test_a_class_is_mapped_by_its_worst_member():
    family = sf.priors.rbf(length_scale=sf.AnyOf(1.0, 4.0), times=5)
    worst = sf.priors.rbf(length_scale=4.0, times=5)
    others = (
        [sf.secrets.basic(2)],
        [sf.mechanisms.gaussian_uniform(mse=0.1)],
        [sf.measures.renyi()],
    )
    of_family, of_member = (with_maps(sf.compare([p], *others)) for p in (family, worst))
    assert of_family.maps[0].rows[0].losses == of_member.maps[0].rows[0].losses
    words = "each row shows the member with the worst overall loss"
    assert words in maps_caption(of_family)
    assert words not in maps_caption(of_member)
    assert "that single time were the secret" in maps_caption(of_member)


def test_a_whole_trajectory_has_no_map():
    prior = sf.priors.markov_chain(initial=[0.5, 0.5], transitions=[[0.5, 0.5]] * 2, steps=2)
    comparison = sf.compare(
        [prior],
        [sf.secrets.trajectory(0)],
        [sf.mechanisms.sensor_counts([0, 1])],
        [sf.measures.reconstruction()],
    )
    assert not risk_maps(comparison)


def test_mechanisms_there_are_too_many_values_of_are_named(monkeypatch):
    monkeypatch.setattr("sfumato.comparison.risk_maps.MOST_VALUES", 4)
    comparison = sf.compare(
        [sf.priors.rbf(length_scale=1.0, times=5)],
        [sf.secrets.basic(2)],
        [sf.mechanisms.gaussian_uniform(mse=0.1), sf.mechanisms.gaussian_uniform(mse=0.2)],
        [sf.measures.renyi()],
    )
    (risk,) = risk_maps(comparison)
    assert risk.left_out == ("mse=0.1 (too many)", "mse=0.2 (too many)")


def test_maps_that_are_left_out_are_counted():
    def caption(count):
        return maps_caption(
            sf.compare(
                [sf.priors.rbf(length_scale=1.0 + k, times=4) for k in range(count)],
                [sf.secrets.basic(1)],
                [sf.mechanisms.gaussian_uniform(mse=0.5)],
                [sf.measures.renyi()],
            )
        )

    assert "pairs of prior" not in caption(2)
    assert "Maps of 12 of 15 pairs of prior and secret, evenly spread." in caption(15)


def test_what_else_is_exposed_is_said_in_a_measure_that_does_not_saturate():
    prior = sf.priors.rbf(length_scale=6.0, times=50)
    mechanisms = [sf.mechanisms.gaussian_uniform(mse=0.1), sf.mechanisms.gaussian_optimal(mse=0.1)]
    measures = [sf.measures.advantage(), sf.measures.renyi()]
    found = with_maps(sf.compare([prior], [sf.secrets.basic(24)], mechanisms, measures))
    assert "nats of Rényi divergence or more" in found.findings[0]
    (risk,) = found.maps
    assert risk.quantity.name == "Rényi divergence"
