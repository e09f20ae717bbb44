"""Every exact value agrees with brute force, every bound is on its side of it."""

import math

import numpy as np
import pytest

import sfumato as sf

SEEDS = range(12)


@pytest.mark.parametrize("seed", SEEDS)
def test_without_mistakes_reconstruction_is_exact(game, seed):
    played = game(seed)
    loss = sf.measures.reconstruction().loss(*played.scenario(0))
    assert loss.bound == "exact"
    assert loss.value == pytest.approx(played.success(0), rel=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_all_outputs_and_guesses_are_exact_for_any_mistakes(game, seed):
    played = game(seed)
    for mistakes in range(played.steps + 1):
        measure = sf.measures.reconstruction(method="enumeration")
        loss = measure.loss(*played.scenario(mistakes))
        assert loss.bound == "exact"
        assert loss.value == pytest.approx(played.success(mistakes), rel=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_upper_bound_lies_below_the_truth(game, seed):
    played = game(seed)
    for mistakes in range(1, played.steps + 1):
        truth = played.success(mistakes)
        for budget in (1.0, 1e9):
            loss = sf.measures.reconstruction(budget=budget).loss(*played.scenario(mistakes))
            assert loss.bound == "upper"
            # The oracle itself rounds; matches and enumeration are rounded up.
            exact = truth * (1 - 1e-14)
            assert loss.value >= exact
            assert all(bound >= exact for bound in loss.witness.values())
        loose = sf.measures.fano_loose().loss(*played.scenario(mistakes))
        assert loose.bound == "upper"
        assert loose.value >= truth * (1 - 1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_tight_bound_holds_for_stationary_chains(stationary, seed):
    played = stationary(seed)
    for mistakes in range(played.steps + 1):
        scenario = played.scenario(mistakes)
        tight = sf.measures.fano_tight().loss(*scenario)
        assert tight.bound == "upper"
        assert tight.value >= played.success(mistakes) * (1 - 1e-12)
        # The divergence with one term of equation (5) is never looser than the paper's bound.
        assert sf.measures.reconstruction().loss(*scenario).value <= tight.value * (1 + 1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_information_and_entropy(game, seed):
    played = game(seed)
    scenario = played.scenario(0)
    exact = sf.measures.mutual_information().loss(*scenario)
    assert exact.bound == "exact"
    assert exact.value == pytest.approx(played.information(), rel=1e-10, abs=1e-13)
    paper = sf.measures.mutual_information(method="paper").loss(*scenario)
    assert paper.bound == "upper"
    assert paper.value >= exact.value * (1 - 1e-12)
    from sfumato_fano.information import chain_entropy

    assert chain_entropy(played.prior().belief()) == pytest.approx(played.entropy(), rel=1e-12)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", ["map", "marginal_mode", "prior_mode", "constant"])
def test_attacks_stay_below_the_optimum_and_meet_their_own_success(game, seed, name):
    played = game(seed, steps=3)
    adversary = getattr(sf.adversaries, name)()
    for mistakes in range(3):
        prior, secret, release = played.scenario(mistakes)
        belief, channel = prior.belief(), release.channel
        own = 0.0
        for y, weights in played.joint().items():
            guess = adversary.infer_many(belief, channel, [symbols(y)], mistakes)[0]
            own += played.hit(weights, tuple(guess), mistakes)
        assert own <= played.success(mistakes) * (1 + 1e-12)
        if name == "map" and mistakes == 0:
            assert own == pytest.approx(played.success(0), rel=1e-12)
        measure = sf.measures.attack_success(adversary=adversary, trials=400, seed=seed)
        loss = measure.loss(prior, secret, release)
        assert loss.bound == "estimate"
        assert loss.interval[0] <= min(own, 1.0) <= loss.interval[1]
        assert loss.ceiling == math.inf


def symbols(y):
    """Write raw counts as the channel does: numbers for one sensor, tuples for several."""
    most = max(map(len, y))
    padded = [tuple(int(c) for c in here) + (0,) * (most - len(here)) for here in y]
    return [here[0] for here in padded] if most == 1 else padded


@pytest.mark.parametrize("mistakes", range(3))
def test_the_best_constant_is_the_best_of_all(game, mistakes):
    played = game(5, states=4, steps=3)
    prior, _, release = played.scenario(mistakes)
    guess = sf.adversaries.constant().infer_many(
        prior.belief(), release.channel, [symbols(next(iter(played.joint())))], mistakes
    )[0]
    chances = [played.hit(played.paths, (place,) * 3, mistakes) for place in range(4)]
    assert chances[guess[0]] == pytest.approx(max(chances), rel=1e-12)
    assert len(set(guess)) == 1


@pytest.mark.parametrize("seed", SEEDS)
def test_losses_of_one_scenario_never_contradict_each_other(stationary, seed):
    played = stationary(seed)
    for mistakes in range(played.steps):
        scenario = played.scenario(mistakes)
        measures = [
            sf.measures.reconstruction(),
            sf.measures.reconstruction(method="enumeration"),
            sf.measures.fano_loose(),
            sf.measures.fano_tight(),
            *(
                sf.measures.attack_success(adversary=adversary, trials=300)
                for adversary in (sf.adversaries.map(), sf.adversaries.marginal_mode())
            ),
        ]
        losses = [measure.loss(*scenario) for measure in measures]
        assert sf.contradictions(losses) == ()


@pytest.mark.parametrize("seed", SEEDS)
def test_more_mistakes_never_lower_the_loss(game, seed):
    played = game(seed)
    for measure in (sf.measures.reconstruction(), sf.measures.reconstruction(budget=1.0)):
        for noise in (None, 0.5):
            values = [
                measure.loss(*played.scenario(s, noise)).value for s in range(played.steps + 1)
            ]
            assert np.all(np.diff(values) >= -1e-12)


@pytest.mark.parametrize("noise", [None, 0.5])
@pytest.mark.parametrize(("states", "steps"), [(4, 7), (5, 6), (2, 8), (3, 6)])
def test_more_mistakes_never_lower_the_loss_where_some_searches_would_be_long(
    game, states, steps, noise
):
    for seed in range(3):
        played = game(seed, states=states, steps=steps, sensors=1)
        values = [
            sf.measures.reconstruction().loss(*played.scenario(s, noise)).value
            for s in range(steps + 1)
        ]
        assert np.all(np.diff(values) >= -1e-12)
