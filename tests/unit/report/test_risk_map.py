"""Risk maps: each point is the loss that the public interface gives for that time alone."""

from __future__ import annotations

import pytest

import sfumato as sf
from sfumato.report.risk_figure import risk_figure
from sfumato.report.risk_map import risk_maps


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
    assert risk_figure(risk).axes


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
    (of_family,), (of_member,) = (risk_maps(sf.compare([p], *others)) for p in (family, worst))
    assert of_family.rows[0].losses == of_member.rows[0].losses


def test_a_whole_trajectory_has_no_map():
    prior = sf.priors.markov_chain(initial=[0.5, 0.5], transitions=[[0.5, 0.5]] * 2, steps=2)
    comparison = sf.compare(
        [prior],
        [sf.secrets.trajectory(0)],
        [sf.mechanisms.sensor_counts([0, 1])],
        [sf.measures.reconstruction()],
    )
    assert not any(risk.rows for risk in risk_maps(comparison))


def test_mechanisms_there_is_no_time_for_are_named(monkeypatch):
    monkeypatch.setattr("sfumato.report.risk_map.PATIENCE", -1.0)
    comparison = sf.compare(
        [sf.priors.rbf(length_scale=1.0, times=5)],
        [sf.secrets.basic(2)],
        [sf.mechanisms.gaussian_uniform(mse=0.1), sf.mechanisms.gaussian_uniform(mse=0.2)],
        [sf.measures.renyi()],
    )
    (risk,) = risk_maps(comparison)
    assert risk.left_out == ("mse=0.1 (too many)", "mse=0.2 (too many)")
