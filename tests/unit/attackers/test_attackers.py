"""Attackers: the smoothing one against randomised response, the one that links aggregates."""

import itertools
import math

import numpy as np
import pytest

import sfumato as sf
from sfumato.beliefs import Markov
from sfumato_attackers.aggregates import Aggregates, Crowd, share_recovered

STAY, EPSILON = 0.98, 0.5
KEEP = math.exp(EPSILON) / (1 + math.exp(EPSILON))


def chain(steps):
    moves = [[STAY, 1 - STAY], [1 - STAY, STAY]]
    return sf.priors.markov_chain([0.5, 0.5], moves, steps=steps)


def attacked(steps, **given):
    secret = sf.secrets.trajectory()
    release = sf.mechanisms.randomised_response(epsilon=EPSILON).protect(chain(steps), secret)
    return sf.measures.smoothing_success(**given).loss(chain(steps), secret, release)


def long_run_success(count=4001):
    """Return the smoother's success far from both ends: the law of the log odds, cell by cell.

    The log odds of what lies before a time, and of what lies after it, follow the same recursion
    and are independent given the state; by symmetry state 1 tells all.
    """
    top = math.log(STAY / (1 - STAY))
    grid = np.linspace(-top, top, count)

    def spread(values, masses):
        place = (values + top) / (2 * top) * (count - 1)
        low = np.clip(np.floor(place).astype(int), 0, count - 2)
        share = place - low
        return np.bincount(low, masses * (1 - share), count) + np.bincount(
            low + 1, masses * share, count
        )

    def moved(odds):
        chance = 1 / (1 + np.exp(-odds))
        after = chance * STAY + (1 - chance) * (1 - STAY)
        return np.log(after / (1 - after))

    law = np.zeros(count)
    law[count // 2] = 1.0
    for _ in range(400):
        one = spread(moved(grid + EPSILON), law * KEEP)
        one += spread(moved(grid - EPSILON), law * (1 - KEEP))
        law = STAY * one + (1 - STAY) * one[::-1]
    both, odds = np.convolve(law, law), np.linspace(-2 * top, 2 * top, 2 * count - 1)
    return sum(
        chance * (both[odds + shift > 1e-9].sum() + both[np.abs(odds + shift) <= 1e-9].sum() / 2)
        for shift, chance in ((EPSILON, KEEP), (-EPSILON, 1 - KEEP))
    )


def test_smoothing_attacker_succeeds_where_epsilon_promises_less():
    assert pytest.approx(0.622, abs=5e-4) == KEEP
    limit = long_run_success()
    assert limit == pytest.approx(0.8461, abs=2e-4)
    short, long = attacked(50, traces=4000), attacked(800, traces=1000)
    assert KEEP < short.value < long.value < limit
    assert long.interval[0] <= limit <= long.interval[1] + 0.005  # the ends of a trace count less
    # A single trace of a few hundred steps may well show 0.855; the average never does.
    runs = [attacked(300, traces=1, seed=seed).value for seed in range(40)]
    assert min(runs) < 0.855 < max(runs)


def test_success_is_the_average_of_the_best_guesses_of_every_state():
    secret, prior = sf.secrets.trajectory(), chain(6)
    release = sf.mechanisms.randomised_response(epsilon=EPSILON).protect(prior, secret)
    exact = np.mean(
        [
            sf.measures.bayes_success().loss(prior, sf.secrets.basic(time), release).value
            for time in range(6)
        ]
    )
    at = release.situation(prior, secret)
    measure = sf.measures.smoothing_success(traces=4000)
    assert measure.brute_force(at.belief, at.question, at.channel).value == pytest.approx(exact)
    found = measure.loss(prior, secret, release)
    assert found.interval[0] <= exact <= found.interval[1]
    assert abs(found.value - exact) < 0.01


def test_smoothing_is_what_the_marginal_mode_attacker_does():
    secret, prior, rng = sf.secrets.trajectory(), chain(60), np.random.default_rng(5)
    release = sf.mechanisms.randomised_response(epsilon=EPSILON).protect(prior, secret)
    belief, right = prior.belief(), []
    for trace in belief.sample(rng, 400):
        seen = release.apply(trace, rng)
        guess = sf.adversaries.marginal_mode().infer(belief, release.channel, seen)
        right.append(np.mean([one == other for one, other in zip(guess, trace, strict=True)]))
    found = attacked(60, traces=4000)
    assert abs(np.mean(right) - found.value) < 6 * np.std(right) / 20


# Aggregates


def random_chain(rng, steps=3, states=3):
    return Markov(
        rng.dirichlet(np.ones(states)), rng.dirichlet(np.ones(states), states), steps=steps
    )


def test_of_one_chain_the_likeliest_traces_are_found():
    rng = np.random.default_rng(2)
    for _ in range(10):
        person = random_chain(rng)
        crowd, counts = Crowd([person] * 2), Aggregates(2, 3, person.states)
        seen = counts.sample(person.sample(rng, 2))
        guess = sf.adversaries.trajectory_recovery().infer(crowd, counts, seen)
        assert counts.log_likelihood(seen, guess) == 0.0
        every = list(itertools.product(range(3), repeat=3))
        best = max(
            person.log_probability(one) + person.log_probability(other)
            for one, other in itertools.product(every, repeat=2)
            if counts.log_likelihood(seen, [one, other]) == 0.0
        )
        assert sum(map(person.log_probability, guess)) == pytest.approx(best)


def test_people_with_habits_of_their_own_are_found_in_the_aggregates():
    rng, people = np.random.default_rng(0), []
    for person in range(6):  # at home or at work, whose places nobody shares
        home, work = np.eye(12)[person], np.eye(12)[6 + person]
        moves = np.tile(0.7 * home + 0.2 * work + 0.1 / 12, (12, 1)) * 0.4 + 0.6 * np.eye(12)
        people.append(Markov(0.9 * home + 0.1 / 12, moves, steps=24))
    truth = [person.sample(rng) for person in people]
    counts = Aggregates(6, 24, people[0].states)
    guess = sf.adversaries.trajectory_recovery().infer(Crowd(people), counts, counts.sample(truth))
    alone = [person.marginals().argmax(axis=1) for person in people]
    right, blind = (np.mean(np.array(found) == np.array(truth)) for found in (guess, alone))
    assert right > blind + 0.15
    assert share_recovered(guess, truth) >= right


def test_impossible_counts_are_refused():
    stay = Markov([1.0, 0.0], np.eye(2), steps=2)
    crowd, counts = Crowd([stay] * 2), Aggregates(2, 2, stay.states)
    attack = sf.adversaries.trajectory_recovery()
    with pytest.raises(sf.OutsideHypotheses, match="possible"):
        attack.infer(crowd, counts, [[2, 0], [1, 1]])
    with pytest.raises(sf.ParameterError, match="2 people"):
        attack.infer(crowd, counts, [[1, 0], [1, 1]])
    with pytest.raises(sf.Incompatible, match="one trace"):
        attack.infer(crowd, Aggregates(3, 2, stay.states), [[3, 0], [3, 0]])


@pytest.mark.parametrize("seed", range(20))
def test_one_person_among_known_ones_is_followed_step_by_step(seed):
    rng = np.random.default_rng(seed)
    moves = rng.dirichlet(np.full(3, 0.6), size=3) * (rng.random((3, 3)) < 0.8)
    moves += np.eye(3) * 0.2
    moves /= moves.sum(axis=1, keepdims=True)
    prior = sf.priors.markov_chain([0.2, 0.3, 0.5], moves, steps=4)
    release = sf.mechanisms.sensor_counts([0, 1, 2, 0]).protect(prior, sf.secrets.trajectory())
    belief, attacker = prior.belief(), sf.adversaries.trajectory_recovery()
    likely, guesses = {}, {}
    for trace in itertools.product(range(3), repeat=4):
        chance = belief.initial[trace[0]] * math.prod(
            moves[a, b] for a, b in itertools.pairwise(trace)
        )
        if chance > 0.0:
            seen = tuple(release.apply(trace))
            likely.setdefault(seen, []).append(trace)
    for seen, traces in likely.items():
        prefix = ()
        for time in range(4):  # the likeliest next place of those that some trace still has
            options = {trace[time] for trace in traces if trace[:time] == prefix}
            law = belief.initial if time == 0 else moves[prefix[-1]]
            prefix += (max(options, key=lambda state: law[state]),)
        guesses[seen] = attacker.infer(belief, release.channel, seen)
        assert guesses[seen] == prefix
    best = sf.measures.attack_success(adversary=sf.adversaries.map(), trials=400)
    own = sf.measures.attack_success(adversary=attacker, trials=400)
    losses = [one.loss(prior, sf.secrets.trajectory(), release) for one in (own, best)]
    assert losses[0].interval[0] <= losses[1].interval[1]
