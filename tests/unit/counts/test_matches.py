"""Bounds by matches against tables of every trace and output, and from below by quadrature."""

import itertools
import math

import numpy as np
import pytest

import sfumato as sf
from sfumato.beliefs import Markov
from sfumato.channels import NoisyVectors, Suppression, Symbols
from sfumato.questions import Guess
from sfumato_fano.matches import erasures, match_limits, match_sum
from sfumato_fano.sightings import sightings_of, without_noise


def random_belief(rng, states, steps):
    matrices = rng.dirichlet(np.full(states, rng.choice([0.2, 0.5, 3.0])), (steps - 1, states))
    matrices[matrices < 0.03] = 0.0
    matrices /= matrices.sum(axis=-1, keepdims=True)
    return Markov(rng.dirichlet(np.ones(states)), matrices)


def random_channel(rng, kind, states, steps):
    """Return sensors, suppression, or suppression that remembers the last release."""
    names = tuple(range(states))
    if kind == "sensors":
        seen = np.zeros((steps, states))
        seen[np.arange(steps), rng.integers(states, size=steps)] = 1.0
        return Symbols(names, (0, 1), np.stack([1.0 - seen, seen], axis=-1))
    start = np.clip(rng.uniform(-0.3, 1.3, (steps, states)), 0.0, 1.0)
    if kind == "suppression":
        return Suppression.memoryless(names, start)
    after = np.clip(rng.uniform(-0.3, 1.3, (steps, states) * 2), 0.0, 1.0)
    return Suppression(names, start, after)


def joint_table(belief, channel):
    """Return every trace, (X, T), and Pr[x, y] for all of them and every output, (X, Y)."""
    paths = list(itertools.product(range(belief.state_count), repeat=belief.steps))
    outputs = list(itertools.product(*channel.outputs()))
    table = np.zeros((len(paths), len(outputs)))
    for row, path in enumerate(paths):
        chance = math.exp(belief.log_probability(path))
        if chance > 0.0:
            logs = [channel.log_likelihood(output, path) for output in outputs]
            table[row] = chance * np.exp(logs)
    return np.array(paths), table


def best_matches(paths, table, positions):
    """Return Σ_y max_x Pr[X_A = x, y]."""
    _, groups = np.unique(paths[:, positions], axis=0, return_inverse=True)
    sums = np.zeros((groups.max() + 1, table.shape[1]))
    np.add.at(sums, groups.ravel(), table)
    return sums.max(axis=0).sum()


def truth(paths, table, mistakes):
    """Return Σ_y max_g Pr[d(X, g) ≤ s, y]."""
    near = (paths[:, None] != paths[None]).sum(axis=2) <= mistakes
    return (near @ table).max(axis=0).sum()


@pytest.mark.parametrize("kind", ["sensors", "suppression", "memory"])
@pytest.mark.parametrize("seed", range(10))
def test_sums_over_sets_of_blocks(seed, kind):
    rng = np.random.default_rng(seed)
    states, steps = int(rng.integers(2, 4)), int(rng.integers(2, 6 if kind == "sensors" else 4))
    belief, channel = random_belief(rng, states, steps), random_channel(rng, kind, states, steps)
    paths, table = joint_table(belief, channel)
    for count in range(steps):
        for inner in itertools.combinations(range(1, steps), count):
            cuts = (0, *inner, steps)
            for size in range(count + 2):
                value, expected = match_sum(sightings_of(belief, channel), cuts, size), 0.0
                for chosen in itertools.combinations(range(count + 1), size):
                    places = [t for block in chosen for t in range(cuts[block], cuts[block + 1])]
                    expected += best_matches(paths, table, places) if places else table.sum()
                assert expected <= value * (1 + 1e-15)
                assert value == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("kind", ["sensors", "suppression", "memory"])
@pytest.mark.parametrize("seed", range(25))
def test_every_bound_is_above_the_truth(seed, kind):
    """All b and k that a budget would choose, at budgets from nothing to plenty."""
    rng = np.random.default_rng(100 + seed)
    states, steps = int(rng.integers(2, 4)), int(rng.integers(2, 6 if kind == "sensors" else 4))
    belief, channel = random_belief(rng, states, steps), random_channel(rng, kind, states, steps)
    paths, table = joint_table(belief, channel)
    sightings = sightings_of(belief, channel)
    for budget in (1.0, 1e4, 1e5, 1e8):
        for mistakes in range(steps):
            limits = match_limits([(1.0, sightings)], mistakes, budget)
            exact = truth(paths, table, mistakes)
            assert all(value >= exact * (1 - 1e-13) for value in limits.values())
    smallest = [min(match_limits([(1.0, sightings)], s, 1e8).values()) for s in range(steps)]
    assert smallest == sorted(smallest)
    assert min(match_limits([(1.0, sightings)], 0, 1e8).values()) == pytest.approx(
        truth(paths, table, 0), rel=1e-10
    )


def noisy_truth(belief, channel, mistakes, points):
    """Return the best success by quadrature on a grid of every output; σ is about a half to two."""
    paths = np.array(list(itertools.product(range(belief.state_count), repeat=belief.steps)))
    chances = np.array([math.exp(belief.log_probability(path)) for path in paths])
    grid = np.linspace(-6 * channel.scale, 1 + 6 * channel.scale, points)
    cell = grid[1] - grid[0]
    outputs = np.stack(np.meshgrid(*[grid] * belief.steps), axis=-1).reshape(-1, belief.steps)
    means = channel.means[np.arange(belief.steps), paths, 0]
    near = ((paths[:, None] != paths[None]).sum(axis=2) <= mistakes).astype(float)
    total = 0.0
    for part in np.array_split(outputs, max(1, len(outputs) // 4000)):
        gaps = (part[None] - means[:, None]) / channel.scale
        laws = np.exp(-np.square(gaps).sum(axis=2) / 2)
        laws *= (cell / (math.sqrt(2 * math.pi) * channel.scale)) ** belief.steps
        total += (near @ (chances[:, None] * laws)).max(axis=0).sum()
    return total


@pytest.mark.parametrize("seed", range(12))
def test_erased_steps_bound_what_noisy_counts_tell(seed):
    rng = np.random.default_rng(seed)
    states, steps = int(rng.integers(2, 5)), int(rng.integers(1, 4))
    belief = random_belief(rng, states, steps)
    means = np.zeros((steps, states, 1))
    means[np.arange(steps), rng.integers(states, size=steps)] = 1.0
    noise = float(rng.choice([0.3, 0.7, 1.0, 2.0, 5.0]))
    channel = NoisyVectors(range(states), means, scale=noise)
    sightings = sightings_of(belief, without_noise(channel))
    for mistakes in range(steps):
        exact = noisy_truth(belief, channel, mistakes, 120 if steps < 3 else 40)
        found = []
        for exact_steps in range(steps + 1):
            mixture = erasures(sightings, channel, exact_steps)
            assert sum(chance for chance, _ in mixture) == pytest.approx(1.0, rel=1e-11)
            found.append(min(match_limits(mixture, mistakes, 1e8).values()))
            assert found[-1] >= exact * (1 - 1e-6)
        assert found == sorted(found, reverse=True) or max(found) == 1.0
        loss = sf.measures.reconstruction().evaluate(belief, Guess(mistakes), channel)
        assert exact * (1 - 1e-6) <= loss.value <= 1.0


def test_much_noise_leaves_nothing_but_the_prior():
    chain = sf.priors.markov_chain.simulated(states=6, tau=0.2, steps=6)
    secret = sf.secrets.trajectory(mistakes=0)
    release = sf.mechanisms.sensor_counts([0, 1, 2, 3, 4, 5], noise=1e6).protect(chain, secret)
    blind = max(
        math.exp(chain.belief().log_probability(path))
        for path in itertools.product(range(6), repeat=6)
    )
    loss = sf.measures.reconstruction().loss(chain, secret, release)
    assert blind <= loss.value <= blind * (1 + 1e-5)


@pytest.mark.parametrize(
    ("states", "mistakes", "at_most"),
    [(30, 1, 1.71e-12), (30, 3, 3.0e-8), (30, 5, 5.8e-5), (10, 1, 3.1e-4), (10, 8, 0.21)],
)
def test_a_day_of_24_steps(states, mistakes, at_most):
    chain = sf.priors.markov_chain.simulated(states=states, tau=0.1, steps=24)
    secret = sf.secrets.trajectory(mistakes=mistakes)
    sensors = sf.mechanisms.sensor_counts([37 * t % states for t in range(24)])
    loss = sf.measures.reconstruction().loss(chain, secret, sensors.protect(chain, secret))
    assert loss.value <= at_most


@pytest.mark.parametrize("seed", range(15))
def test_the_ball_attacker_lies_between_its_starts_and_the_truth(seed):
    """Attack ≤ truth ≤ bound, each summed over every output."""
    rng = np.random.default_rng(200 + seed)
    states, steps = int(rng.integers(2, 4)), int(rng.integers(2, 6))
    belief = random_belief(rng, states, steps)
    channel = random_channel(rng, "sensors", states, steps)
    paths, table = joint_table(belief, channel)
    outputs = list(itertools.product(*channel.outputs()))
    possible = np.flatnonzero(table.sum(axis=0))
    for mistakes in range(steps):
        exact, successes = truth(paths, table, mistakes), {}
        for name in ("map", "marginal_mode", "hamming_ball"):
            adversary = getattr(sf.adversaries, name)()
            shown = [outputs[place] for place in possible]
            guesses = adversary.infer_many(belief, channel, shown, mistakes)
            near = (paths[None] != guesses[:, None]).sum(axis=2) <= mistakes  # (Y, X)
            successes[name] = float((near * table[:, possible].T).sum())
        assert successes["hamming_ball"] >= max(successes.values()) * (1 - 1e-9)
        assert successes["hamming_ball"] >= 0.97 * exact
        assert successes["hamming_ball"] <= exact * (1 + 1e-9)
        limits = match_limits([(1.0, sightings_of(belief, channel))], mistakes, 1e8)
        assert exact <= min(limits.values()) * (1 + 1e-12)
