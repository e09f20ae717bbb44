"""Koga, Meehan and Chaudhuri (2024): reference values and the claims of examples and figures."""

import math

import numpy as np
import pytest

import sfumato as sf


def scenario(states, mistakes, *, steps=10, tau=0.1, noise=None):
    chain = sf.priors.markov_chain.simulated(states=states, tau=tau, steps=steps)
    secret = sf.secrets.trajectory(mistakes=mistakes)
    sensors = [37 * t % states for t in range(steps)]
    return chain, secret, sf.mechanisms.sensor_counts(sensors, noise=noise).protect(chain, secret)


@pytest.mark.parametrize(
    ("states", "printed"),
    [
        (100, ("38.691971", "0.545229", "0.544307", "0.223804", "1.1425e-11")),
        (20, ("22.422210", "1.932642", "1.904503", "1.451028", "3.1576e-05")),
        (10, ("15.056818", "3.183706", "3.066863", "3.613173", "5.8717e-03")),
    ],
)
def test_reference_entropy_information_and_exact_success(states, printed):
    entropy, paper, exact, matches, success = printed
    from sfumato_fano.information import chain_entropy

    played = scenario(states, 0)
    assert f"{chain_entropy(played[0].belief()):.6f}" == entropy
    information = sf.measures.mutual_information(method="paper").loss(*played)
    assert f"{information.value:.6f}" == paper
    assert f"{sf.measures.mutual_information().loss(*played).value:.6f}" == exact
    loss = sf.measures.reconstruction().loss(*played)
    assert loss.bound == "exact"
    assert f"{loss.value:.4e}" == success
    one_wrong = sf.measures.reconstruction(budget=1.0).loss(*scenario(states, 1)).witness
    assert f"{one_wrong['1 matches'] * 9:.6f}" == matches


@pytest.mark.parametrize(
    ("states", "mistakes", "printed"),
    [
        (100, 0, ("0.1820", "0.0252", "0.0252", "0.0224")),
        (100, 5, ("0.4902", "0.0964", "0.0953", "0.0448")),
        (100, 9, ("1.0000", "0.6211", "0.5360", "0.2238")),
        (20, 2, ("0.5018", "0.4359", "0.4292", "0.1814")),
        (20, 5, ("0.9871", "1.0000", "1.0000", "0.2902")),
        (10, 0, ("0.5144", "0.5806", "0.5805", "0.3613")),
        (10, 2, ("0.7884", "1.0000", "1.0000", "0.4516")),
    ],
)
def test_reference_bounds(states, mistakes, printed):
    loose, tight, divergence, match = printed
    from sfumato_fano.fano import divergence_success, log_choose, position_sets
    from sfumato_fano.information import stepwise_information

    played = scenario(states, mistakes)
    belief, channel = played[0].belief(), played[2].channel
    assert f"{sf.measures.fano_loose().loss(*played).value:.4f}" == loose
    assert f"{sf.measures.fano_tight().loss(*played).value:.4f}" == tight
    log_best = log_choose(10, mistakes) + position_sets(belief, mistakes)[10 - mistakes]
    bound = divergence_success(stepwise_information(belief, channel).value, float(log_best))
    assert f"{bound:.4f}" == divergence
    from sfumato_fano.reconstruction import success_limits

    limits = success_limits(belief, channel, mistakes, budget=1.0)
    assert f"{limits['1 matches']:.4f}" == match
    # Matching more than one position at a time is never worse, and mostly far better.
    assert sf.measures.reconstruction().loss(*played).value <= float(match) + 5e-5


def exact_attack(played, adversary, mistakes):
    """Return an attacker's success, summed over every output and every count of mistakes."""
    from sfumato.inference.markov.enumeration import enumerate_outputs
    from sfumato.inference.markov.smoothing import pair_marginals

    belief, channel = played[0].belief(), played[2].channel
    outputs = enumerate_outputs(belief, channel)
    symbols = [outputs.observed(n) for n in range(len(outputs))]
    guesses = adversary.infer_many(belief, channel, symbols, mistakes)
    marginals = outputs.marginals()
    pairs = pair_marginals(belief, outputs.log_evidence())
    moves = np.divide(pairs, marginals[:, :-1, :, None], out=np.zeros_like(pairs), where=pairs > 0)
    total = 0.0
    for n, guess in enumerate(guesses):
        law = {0: marginals[n, 0].copy()}
        for t in range(belief.steps):
            if t:
                law = {wrong: row @ moves[n, t - 1] for wrong, row in law.items()}
            judged = {}
            for wrong, row in law.items():
                right = np.zeros_like(row)
                right[guess[t]] = row[guess[t]]
                judged[wrong] = judged.get(wrong, 0) + right
                judged[wrong + 1] = judged.get(wrong + 1, 0) + row - right
            law = judged
        good = sum(row.sum() for wrong, row in law.items() if wrong <= mistakes)
        total += outputs.probabilities[n] * good
    return total


def test_posterior_marginals_beat_the_likeliest_trajectory_when_one_match_is_enough():
    played = scenario(10, 9)
    assert f"{exact_attack(played, sf.adversaries.marginal_mode(), 9):.4f}" == "0.9516"
    assert f"{exact_attack(played, sf.adversaries.map(), 9):.4f}" == "0.7929"


def test_theorem_1_needs_a_stationary_chain():
    """Everyone moves to place 0, which the bound would not see."""
    everywhere = np.full(100, 0.01)
    to_zero = np.zeros((100, 100))
    to_zero[:, 0] = 1.0
    chain = sf.priors.markov_chain(everywhere, to_zero, steps=2)
    secret = sf.secrets.trajectory(mistakes=1)
    release = sf.mechanisms.sensor_counts([5, 5]).protect(chain, secret)
    with pytest.raises(sf.OutsideHypotheses, match="stationary"):
        sf.measures.fano_tight().loss(chain, secret, release)
    assert sf.measures.reconstruction().loss(chain, secret, release).value == 1.0
    attack = sf.measures.attack_success(adversary=sf.adversaries.prior_mode(), trials=50)
    assert attack.loss(chain, secret, release).value == 1.0


def test_example_1_those_near_the_sensor_lose_more_and_differential_privacy_cannot_tell():
    """A count in one city says nothing about people who live in another."""
    here, there = [0.4, 0.4, 0.1, 0.1], [0.01, 0.01, 0.49, 0.49]
    secret = sf.secrets.trajectory(mistakes=0)
    sensor = sf.mechanisms.sensor_counts([0], noise=None)
    near, far = (sf.priors.markov_chain(law, np.eye(4), 1) for law in (here, there))
    told = [
        sf.measures.mutual_information().loss(p, secret, sensor.protect(p, secret)).value
        for p in (near, far)
    ]
    assert told[0] > 10 * told[1]
    gains = []
    for prior, law in ((near, here), (far, there)):
        loss = sf.measures.reconstruction().loss(prior, secret, sensor.protect(prior, secret))
        gains.append(loss.value - max(law))
    assert gains[0] > 10 * gains[1]
    noisy = sf.mechanisms.sensor_counts([0], noise=2.0)
    measure = sf.measures.differential_privacy(delta=0.01)
    same = {measure.loss(p, secret, noisy.protect(p, secret)).value for p in (near, far)}
    assert len(same) == 1


def test_example_2_those_who_stay_lose_more_than_those_who_move():
    """Both are seen at the first step; the second count is taken elsewhere."""
    first = [0.96, 0.01, 0.01, 0.01, 0.01, 0.0]
    stays, moves = np.eye(6), np.eye(6)
    stays[0] = [0.98, 0.005, 0.005, 0.005, 0.005, 0.0]
    moves[0] = [0.2, 0.2, 0.2, 0.2, 0.2, 0.0]
    secret = sf.secrets.trajectory(mistakes=0)
    values = []
    for matrix in (stays, moves):
        chain = sf.priors.markov_chain(first, matrix, 2)
        release = sf.mechanisms.sensor_counts([0, 5]).protect(chain, secret)
        values.append(sf.measures.reconstruction().loss(chain, secret, release).value)
    assert values[0] > 0.9
    assert values[1] < 0.25


@pytest.mark.parametrize("name", ["reconstruction", "fano_loose", "fano_tight"])
def test_figure_5_more_places_and_fewer_allowed_mistakes_mean_less_loss(name):
    measure = getattr(sf.measures, name)()
    by_places = [measure.loss(*scenario(m, 5)).value for m in (10, 20, 50, 100)]
    assert by_places == sorted(by_places, reverse=True)
    by_mistakes = [measure.loss(*scenario(100, s)).value for s in range(10)]
    assert by_mistakes == sorted(by_mistakes)


def test_figure_5_the_tight_bound_bites_where_the_loose_one_does_not():
    loose, tight = sf.measures.fano_loose(), sf.measures.fano_tight()
    for mistakes in range(10):
        played = scenario(100, mistakes)
        assert tight.loss(*played).value <= loose.loss(*played).value
    assert loose.loss(*scenario(100, 8)).value > 0.9
    assert tight.loss(*scenario(100, 8)).value < 0.4


def test_figure_5_attacks_lie_below_the_bounds_and_fall_with_more_places():
    attack = sf.measures.attack_success(adversary=sf.adversaries.map(), trials=1000, seed=0)
    values = []
    for states in (10, 20, 50):
        played = scenario(states, 5)
        losses = [
            attack.loss(*played),
            sf.measures.reconstruction().loss(*played),
            sf.measures.fano_tight().loss(*played),
        ]
        assert sf.contradictions(losses) == ()
        values.append(losses[0].value)
    assert values == sorted(values, reverse=True)


def test_figure_5_more_steps_help_whoever_needs_two_matches():
    measure = sf.measures.fano_tight()
    fixed = [measure.loss(*scenario(100, t - 2, steps=t)).value for t in (4, 8, 12, 16)]
    assert fixed == sorted(fixed)
    best = sf.measures.reconstruction()
    values = [best.loss(*scenario(100, t - 2, steps=t)).value for t in (4, 8, 12)]
    assert values == sorted(values)


def test_figure_7_noise_lowers_the_bounds_and_hardly_the_attack():
    noises = (0.5, 1.0, 2.0, 5.0)
    for name in ("reconstruction", "fano_loose", "fano_tight"):
        measure = getattr(sf.measures, name)()
        values = [measure.loss(*scenario(50, 5, noise=noise)).value for noise in noises]
        assert values == sorted(values, reverse=True)
    attack = sf.measures.attack_success(adversary=sf.adversaries.map(), trials=1000, seed=0)
    raw = attack.loss(*scenario(50, 5)).value
    for noise in noises:
        assert abs(attack.loss(*scenario(50, 5, noise=noise)).value - raw) < 0.05
    # The adversary of differential privacy does see a difference.
    measure = sf.measures.differential_privacy(delta=0.01)
    epsilons = [measure.loss(*scenario(50, 5, noise=noise)).value for noise in noises]
    assert epsilons[0] > 5 * epsilons[-1]
    assert measure.loss(*scenario(50, 5)).value == math.inf


def test_equation_4_can_exceed_the_value_without_noise_but_reconstruction_never_does():
    raw, noisy = scenario(20, 5), scenario(20, 5, noise=0.05)
    paper = sf.measures.mutual_information(method="paper")
    assert paper.loss(*noisy).value > paper.loss(*raw).value
    best = sf.measures.reconstruction()
    assert best.loss(*noisy).value <= best.loss(*raw).value


def test_long_traces_over_many_places_overflow_nowhere():
    chain = sf.priors.markov_chain.simulated(states=1000, tau=0.1, steps=200)
    secret = sf.secrets.trajectory(mistakes=7)
    release = sf.mechanisms.sensor_counts("drawn").protect(chain, secret)
    for name in ("fano_loose", "fano_tight"):
        loss = getattr(sf.measures, name)().loss(chain, secret, release)
        assert 0.0 < loss.value < 0.2


@pytest.mark.parametrize("mistakes", [0, 20, 60])
def test_long_traces_have_small_bounds(mistakes):
    chain = sf.priors.markov_chain.simulated(states=50, tau=0.1, steps=120)
    secret = sf.secrets.trajectory(mistakes=mistakes)
    release = sf.mechanisms.sensor_counts("drawn").protect(chain, secret)
    loss = sf.measures.reconstruction().loss(chain, secret, release)
    assert loss.bound == ("exact" if mistakes == 0 else "upper")
    assert 0.0 < loss.value < 0.2
