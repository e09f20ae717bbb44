"""Bounds by matches against tables of every trace and output, and from below by quadrature."""

import itertools
import math

import numpy as np
import pytest

import sfumato as sf
from sfumato.beliefs import Markov
from sfumato.channels import NoisyVectors, Suppression, Symbols
from sfumato.questions import Guess
from sfumato_fano.matches import PAIRS, SEGMENTS, _tables, match_limits, noisy_hints
from sfumato_fano.sightings import sightings_of


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
def test_expected_sets_lie_between_one_guess_and_one_for_every_set(seed, kind):
    """Of one guess for each output at least, and at most as many as with a new guess for each set.

    Single positions and the whole trace are exact.
    """
    rng = np.random.default_rng(seed)
    states, steps = int(rng.integers(2, 4)), int(rng.integers(2, 6 if kind == "sensors" else 4))
    belief, channel = random_belief(rng, states, steps), random_channel(rng, kind, states, steps)
    paths, table = joint_table(belief, channel)
    limits = match_limits(sightings_of(belief, channel), None, 0, 1e9)
    matches = (paths[:, None] == paths[None]).sum(axis=2)
    for size in range(1, steps + 1):
        found = limits[f"{size} matches"] * math.comb(steps, size)
        one = (np.vectorize(math.comb)(matches, size) @ table).max(axis=0).sum()
        sets = itertools.combinations(range(steps), size)
        every = sum(best_matches(paths, table, list(chosen)) for chosen in sets)
        assert one * (1 - 1e-13) <= found <= every * (1 + 1e-11)
        if size in (1, steps):
            assert found == pytest.approx(one, rel=1e-11)


@pytest.mark.parametrize("kind", ["sensors", "suppression", "memory"])
@pytest.mark.parametrize("seed", range(25))
def test_every_bound_is_above_the_truth(seed, kind):
    """All b and k that a budget would choose, at budgets from nothing to plenty."""
    rng = np.random.default_rng(100 + seed)
    states, steps = int(rng.integers(2, 4)), int(rng.integers(2, 6 if kind == "sensors" else 4))
    belief, channel = random_belief(rng, states, steps), random_channel(rng, kind, states, steps)
    paths, table = joint_table(belief, channel)
    sightings = sightings_of(belief, channel)
    for budget in (1.0, 1e3, 1e4, 1e8):
        for mistakes in range(steps):
            limits = match_limits(sightings, None, mistakes, budget)
            exact = truth(paths, table, mistakes)
            assert all(value >= exact * (1 - 1e-13) for value in limits.values())
    smallest = [min(match_limits(sightings, None, s, 1e8).values()) for s in range(steps)]
    assert smallest == sorted(smallest)
    assert min(match_limits(sightings, None, 0, 1e8).values()) == pytest.approx(
        truth(paths, table, 0), rel=1e-10
    )


@pytest.mark.parametrize("seed", range(12))
def test_right_guesses_within_segments(seed):
    """More are right no more often, and no segment's best guess is above its bound.

    Nobody is ever seen here, so that there is one segment.
    """
    rng = np.random.default_rng(300 + seed)
    states, steps = int(rng.integers(2, 4)), int(rng.integers(2, 7))
    belief = random_belief(rng, states, steps)
    blind = Symbols(range(states), (0,), np.ones((steps, states, 1)))
    paths, table = joint_table(belief, blind)
    sightings = sightings_of(belief, blind)
    (watch,) = sightings.watches()
    for depth in (SEGMENTS, PAIRS):
        (part,) = _tables(sightings, watch, None, steps, size=steps, depth=depth)
        right = part.right[:, -1]
        assert (np.diff(right) <= 0.0).all()
        for mistakes in range(steps):
            exact = truth(paths, table, mistakes)
            assert right[steps - mistakes] >= exact * (1 - 1e-12)
        assert right[steps] == pytest.approx(truth(paths, table, 0), rel=1e-11)


@pytest.mark.parametrize(("mistakes", "at_most"), [(1, 0.0120), (3, 0.112), (6, 0.493)])
def test_noise_is_used(mistakes, at_most):
    """Averages over what noise erases: .018, .12 and .49 come from single bounds for each set."""
    chain = sf.priors.markov_chain.simulated(states=10, tau=0.1, steps=10)
    secret = sf.secrets.trajectory(mistakes=mistakes)
    sensors = sf.mechanisms.sensor_counts([37 * t % 10 for t in range(10)], noise=1.0)
    loss = sf.measures.reconstruction().loss(chain, secret, sensors.protect(chain, secret))
    assert loss.value <= at_most


@pytest.mark.parametrize(
    ("states", "steps", "mistakes", "attack", "width"),
    [(20, 10, 5, 0.0511, 1.8), (100, 14, 7, 2.33e-6, 1.6), (100, 20, 10, 2.06e-8, 2.0)],
)
def test_bounds_are_near_an_attack(states, steps, mistakes, attack, width):
    """The widest of the paper's settings without noise; attacks as the benchmark sums them up."""
    chain = sf.priors.markov_chain.simulated(states=states, tau=0.1, steps=steps)
    secret = sf.secrets.trajectory(mistakes=mistakes)
    release = sf.mechanisms.sensor_counts("drawn", seed=0).protect(chain, secret)
    loss = sf.measures.reconstruction().loss(chain, secret, release)
    assert attack <= loss.value <= width * attack


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
def test_hints_bound_what_noisy_counts_tell(seed):
    rng = np.random.default_rng(seed)
    states, steps = int(rng.integers(2, 5)), int(rng.integers(1, 4))
    belief = random_belief(rng, states, steps)
    means = np.zeros((steps, states, 1))
    means[np.arange(steps), rng.integers(states, size=steps)] = 1.0
    noise = float(rng.choice([0.3, 0.7, 1.0, 2.0, 5.0]))
    channel = NoisyVectors(range(states), means, scale=noise)
    sightings = sightings_of(belief, channel.without_noise())
    for mistakes in range(steps):
        exact = noisy_truth(belief, channel, mistakes, 120 if steps < 3 else 40)
        for tilt in (None, 1.5, 4.0):
            found = []
            for exact_steps, budget in itertools.product(range(steps + 1), (1.0, 1e8)):
                coarser = noisy_hints(sightings, channel, exact_steps, tilt)
                found.append(min(match_limits(*coarser, mistakes, budget).values()))
                assert found[-1] >= exact * (1 - 1e-6)
            assert found[-1] <= found[1] * (1 + 1e-9)
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
        limits = match_limits(sightings_of(belief, channel), None, mistakes, 1e8)
        assert exact <= min(limits.values()) * (1 + 1e-12)
