"""Mechanisms that are given a target loss instead of a budget."""

from __future__ import annotations

import math

import pytest

import sfumato as sf
from sfumato.beliefs import Gaussian
from sfumato.errors import OutsideHypotheses, ParameterError
from sfumato.questions import Displacements
from sfumato_gaussian_noise.baselines import smallest_budget

MIDDLE = sf.secrets.basic(10, radius=0.5)
PRIOR = sf.priors.rbf(length_scale=2.0, times=20)
CLASS = sf.priors.rbf(length_scale=sf.AnyOf(1.0, 2.0, 4.0), times=20)


def measured(mechanism, prior, secret=MIDDLE, order=3.0):
    release = mechanism.protect(prior, secret)
    return release, sf.measures.renyi(order=order).loss(prior, secret, release).value


@pytest.mark.parametrize("name", ["gaussian_uniform", "gaussian_optimal", "gaussian_sdp_a"])
def test_the_target_is_met_and_not_by_much(name):
    mechanism = getattr(sf.mechanisms, name)(epsilon=1.5, order=3.0)
    release, loss = measured(mechanism, PRIOR)
    assert 1.5 * (1 - 1e-5) <= loss <= 1.5
    smaller = getattr(sf.mechanisms, name)(mse=release.utility() * 0.999)
    assert measured(smaller, PRIOR)[1] > 1.5


def test_the_target_holds_for_every_member():
    release, loss = measured(sf.mechanisms.gaussian_optimal(epsilon=0.7, order=3.0), CLASS)
    assert 0.7 * (1 - 1e-5) <= loss <= 0.7
    for member in CLASS.members():
        assert sf.measures.renyi(order=3.0).loss(member, MIDDLE, release).value <= 0.7
    # No mechanism can do with less noise than is certified, and this one needs hardly more.
    smallest = release.claims["smallest_mse_of_any"]
    assert smallest <= release.utility() <= smallest * (1 + 1e-4)


def test_a_design_for_another_prior_is_calibrated_to_the_scenarios():
    design = sf.mechanisms.gaussian_optimal(mse=1.0).designed_for(prior=PRIOR)
    rougher = sf.priors.rbf(length_scale=1.5, times=20)
    found = sf.calibrate(design, rougher, MIDDLE, sf.measures.renyi(order=3.0), 0.7)
    assert 0.7 * (1 - 1e-2) <= measured(found.mechanism, rougher)[1] <= 0.7


def test_a_target_that_no_budget_reaches_is_refused():
    # Whatever is added to one entry, its neighbours give it away.
    mechanism = sf.mechanisms.gaussian_concentrated(epsilon=1e-3, order=2.0)
    with pytest.raises(OutsideHypotheses, match="allow a larger epsilon"):
        mechanism.protect(sf.priors.rbf(length_scale=2.0, times=4), sf.secrets.basic(1))


@pytest.mark.parametrize("target", [1e-6, 0.3, 1e6])
@pytest.mark.parametrize("start", [1e-3, 1.0, 1e4])
def test_the_root_is_found_from_the_safe_side(target, start):
    def try_budget(budget):
        return 1 / budget + 0.5 / math.sqrt(budget), budget

    found = smallest_budget(try_budget, target, start)
    loss = try_budget(found)[0]
    assert target * (1 - 1e-6) <= loss <= target


@pytest.mark.parametrize(
    ("before", "after"), [(1.001, 0.5), (1.5, 0.999), (1.0 + 1e-6, 0.9), (3.0, 0.1)]
)
def test_a_loss_that_jumps_is_settled_in_few_trials(before, after):
    tried = []

    def try_budget(budget):
        tried.append(budget)
        return (before if budget < 3.3 else after) * 0.5, budget

    found = smallest_budget(try_budget, 0.5, 1.0)
    assert 3.3 <= found <= 3.3 * (1 + 2e-6)
    assert len(tried) < 80


def test_infinite_losses_are_no_obstacle():
    found = smallest_budget(lambda b: (math.inf if b < 3 else 1 / b, b), 0.5, 1.0)
    assert 3 <= found <= 3 * (1 + 1e-6)


@pytest.mark.parametrize(
    "options", [{}, {"mse": 0.1, "epsilon": 1.0, "order": 2.0}, {"epsilon": 1.0}, {"mse": -1.0},
                {"mse": math.nan}, {"epsilon": 1.0, "order": 1.0}, {"mse": 0.1, "order": 2.0}]
)  # fmt: skip
def test_exactly_one_of_budget_and_target(options):
    with pytest.raises(ParameterError):
        sf.mechanisms.gaussian_optimal(**options)


@pytest.mark.parametrize("name", ["gaussian_sdp_a", "gaussian_multiple_secrets"])
def test_the_papers_mechanisms_meet_a_target_over_a_class_as_their_advice_says(name):
    """They design for one prior; the budget is searched for the whole class."""
    one, secret = sf.priors.rbf(length_scale=2.0, times=6), sf.secrets.compound([2])
    both = sf.priors.rbf(length_scale=sf.AnyOf(1.0, 2.0), times=6)
    mechanism = getattr(sf.mechanisms, name)
    with pytest.raises(sf.OutsideHypotheses, match="designed_for"):
        mechanism(epsilon=1.0, order=2.0).protect(both, secret)
    design, measure = mechanism(mse=1.0).designed_for(prior=one), sf.measures.renyi(order=2.0)
    found = sf.calibrate(design, both, secret, measure, 1.0)
    assert found.loss.ceiling <= 1.0 < found.weaker.floor


@pytest.mark.parametrize(
    ("prior", "members"),
    [
        (sf.priors.rbf(length_scale=6.0, times=20), 1),
        (sf.priors.rbf(length_scale=sf.AnyOf(3.0, 6.0, 9.0), times=20), 3),
    ],
    ids=["one prior", "three priors"],
)
def test_each_members_belief_and_question_are_built_once(monkeypatch, prior, members):
    """However many budgets are tried on the way to the target."""
    built = {Gaussian: 0, Displacements: 0}

    def counted(cls):
        original = cls.__init__

        def init(self, *args, **options):
            built[cls] += 1
            original(self, *args, **options)

        monkeypatch.setattr(cls, "__init__", init)

    counted(Gaussian)
    counted(Displacements)
    fresh = sf.registry.build("prior", prior.specification())
    release = sf.mechanisms.gaussian_optimal(epsilon=1.0, order=2.0).protect(fresh, MIDDLE)
    assert release.claims["worst_loss"] <= 1.0
    assert built == {Gaussian: members, Displacements: members}
