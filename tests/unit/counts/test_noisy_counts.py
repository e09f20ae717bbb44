"""Noisy counts against quadrature."""

import itertools
import math
import tracemalloc

import numpy as np
import pytest

import sfumato as sf

WIDTH, POINTS = 7.0, 141


def grid(noise):
    """Return points and trapezoid weights that cover both means."""
    points = np.linspace(-WIDTH * noise, 1.0 + WIDTH * noise, POINTS)
    return points, np.full(POINTS, points[1] - points[0])


def densities(played, noise):
    """Return Pr[x] f(y | x) on the grid, {x: array of shape (POINTS,) * T}, one sensor a step."""
    points, _ = grid(noise)
    table = {}
    for path, p in played.paths.items():
        density = np.array(p)
        for t, x in enumerate(path):
            mean = float(x == played.sensors[t][0])
            bump = np.exp(-0.5 * ((points - mean) / noise) ** 2)
            density = np.multiply.outer(density, bump / (noise * math.sqrt(2 * math.pi)))
        table[path] = density
    return table


def integral(values, noise):
    points, _ = grid(noise)
    return float(values.sum() * (points[1] - points[0]) ** values.ndim)


def success(played, mistakes, noise):
    table = densities(played, noise)
    best = 0.0
    for guess in itertools.product(range(played.states), repeat=played.steps):
        best = np.maximum(best, played.hit(table, guess, mistakes))
    return integral(best, noise)


def information(played, noise):
    table = densities(played, noise)
    total = sum(table.values())
    value = 0.0
    for path, density in table.items():
        inside = density > 0
        ratio = np.log(density, where=inside, out=np.zeros_like(density))
        ratio -= np.log(total, where=inside, out=np.zeros_like(density))
        gain = np.where(inside, density * (ratio - math.log(played.paths[path])), 0.0)
        value += integral(gain, noise)
    return value


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("noise", [0.3, 1.0, 4.0])
def test_bounds_lie_above_the_integral(game, seed, noise):
    played = game(seed, states=3, steps=2, sensors=1)
    for mistakes in range(2):
        truth = success(played, mistakes, noise)
        for measure in (sf.measures.reconstruction(), sf.measures.fano_loose()):
            loss = measure.loss(*played.scenario(mistakes, noise))
            assert loss.bound == "upper"
            assert loss.value >= truth - 1e-4  # the integrand has kinks
    loss = sf.measures.mutual_information().loss(*played.scenario(0, noise))
    assert loss.bound == "upper"
    assert loss.value >= information(played, noise) - 1e-6


@pytest.mark.parametrize("seed", range(6))
def test_noise_never_raises_the_loss(game, seed):
    played = game(seed)
    for mistakes in range(played.steps + 1):
        raw = sf.measures.reconstruction().loss(*played.scenario(mistakes)).value
        told = sf.measures.mutual_information().loss(*played.scenario(mistakes)).value
        for noise in (0.01, 0.5, 3.0, 100.0):
            scenario = played.scenario(mistakes, noise)
            assert sf.measures.reconstruction().loss(*scenario).value <= raw
            assert sf.measures.mutual_information().loss(*scenario).value <= told * (1 + 1e-12)


def test_much_noise_leaves_what_the_prior_gives_away(game):
    played = game(3, states=3, steps=3, sensors=1)
    blind = played.best(played.paths, 0)
    loss = sf.measures.reconstruction().loss(*played.scenario(0, 1e6))
    assert loss.value == pytest.approx(blind, rel=1e-4)
    assert "Fano" in loss.witness
    assert "erased" in loss.how


def test_equation_4_is_the_paper_s_sum_over_one_sensor(game):
    played = game(2, states=4, steps=3, sensors=1)
    prior, secret, release = played.scenario(0, 0.8)
    marginals = np.zeros((3, 4))
    for path, p in played.paths.items():
        for t, x in enumerate(path):
            marginals[t, x] += p
    total = 0.0
    for t, (place,) in enumerate(played.sensors):
        p, overlap = marginals[t, place], math.exp(-1 / (2 * 0.8**2))
        total -= p * math.log(p + (1 - p) * overlap)
        total -= (1 - p) * math.log((1 - p) + p * overlap)
    loss = sf.measures.mutual_information(method="paper").loss(prior, secret, release)
    assert loss.value == pytest.approx(total, rel=1e-12)


def test_equation_4_with_many_sensors_is_the_sum_over_pairs_and_holds_no_table_of_them():
    chain = sf.priors.markov_chain.simulated(states=150, tau=0.1, steps=2)
    secret = sf.secrets.trajectory(mistakes=0)
    watched = sf.mechanisms.sensor_counts([list(range(120))] * 2, noise=0.8)
    release = watched.protect(chain, secret)
    measure = sf.measures.mutual_information(method="paper")
    measure.loss(chain, secret, release)  # whatever is loaded only once is loaded now
    tracemalloc.start()
    try:
        loss = measure.loss(chain, secret, release)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 121 * 121 * 120  # one byte for each pair of counts and sensor
    total = 0.0
    near, far = math.exp(-1 / (2 * 0.8**2)), math.exp(-2 / (2 * 0.8**2))
    for law in chain.belief().marginals():
        elsewhere = law[120:].sum()
        for p in law[:120]:  # seen at one sensor: two counts differ from those of another
            others = law[:120].sum() - p
            total -= p * math.log(p + near * elsewhere + far * others)
        total -= elsewhere * math.log(elsewhere + near * law[:120].sum())
    assert loss.value == pytest.approx(total, rel=1e-11)


@pytest.mark.parametrize("name", ["map", "marginal_mode", "prior_mode", "constant"])
def test_attacks_on_noisy_counts_stay_below_the_bounds(game, name):
    played = game(1, states=3, steps=3, sensors=2)
    adversary = getattr(sf.adversaries, name)()
    measure = sf.measures.attack_success(adversary=adversary, trials=500)
    for mistakes in range(3):
        scenario = played.scenario(mistakes, 0.5)
        losses = [measure.loss(*scenario), sf.measures.reconstruction().loss(*scenario)]
        assert sf.contradictions(losses) == ()
        raw = played.success(mistakes)
        assert losses[0].interval[0] <= raw


def cells(played, noise, edges):
    """Return what is left when every noisy count is rounded to a cell: {means: Pr[cell]}.

    Whoever sees cells sees less, so their success and information lie below those of the noisy
    counts, exactly: cells have probabilities in closed form, whatever the steps and sensors.
    """
    most = max(map(len, played.sensors))
    cuts = np.linspace(-noise, 1.0 + noise, edges)

    def law(mean):
        below = [0.5 * math.erfc((mean - cut) / (noise * math.sqrt(2))) for cut in cuts]
        return np.diff(np.concatenate([[0.0], below, [1.0]]))

    laws = {0.0: law(0.0), 1.0: law(1.0)}
    table = {}
    for path in played.paths:
        means = tuple(played.means(t, x) for t, x in enumerate(path))
        if means not in table:
            joint = np.ones(1)
            for here in means:
                for mean in here + (0.0,) * (most - len(here)):
                    joint = np.multiply.outer(joint, laws[mean]).ravel()
            table[means] = joint
    return table


@pytest.mark.parametrize("noise", [0.2, 0.7, 3.0])
@pytest.mark.parametrize(
    "sizes",  # states, steps, sensors a step at most, edges of cells
    [(2, 5, 1, 5), (3, 4, 1, 5), (3, 5, 1, 4), (4, 4, 1, 5), (4, 5, 1, 3), (3, 3, 2, 3)],
)
def test_bounds_lie_above_what_cells_give_away_for_any_mistakes(game, sizes, noise):
    states, steps, sensors, edges = sizes
    played = game(steps, states=states, steps=steps, sensors=sensors)
    table = cells(played, noise, edges)
    patterns = {means: number for number, means in enumerate(table)}
    paths = np.array(list(played.paths))
    priors = np.array(list(played.paths.values()))
    groups = np.zeros((len(paths), len(patterns)))
    for row, path in enumerate(played.paths):
        means = tuple(played.means(t, x) for t, x in enumerate(path))
        groups[row, patterns[means]] = priors[row]
    likelihoods = np.array(list(table.values()))  # (patterns, cells)
    guesses = np.array(list(itertools.product(range(states), repeat=steps)))
    wrong = (guesses[:, None] != paths).sum(axis=2)
    below = []
    for mistakes in range(steps + 1):
        reached = ((wrong <= mistakes) @ groups) @ likelihoods
        below.append(float(reached.max(axis=0).sum()))
        scenario = played.scenario(mistakes, noise)
        for measure in (
            sf.measures.reconstruction(),
            sf.measures.reconstruction(budget=1.0),
            sf.measures.fano_loose(),
        ):
            loss = measure.loss(*scenario)
            assert loss.bound == "upper"
            assert loss.value >= below[-1] * (1 - 1e-12)
    attack = sf.measures.attack_success(adversary=sf.adversaries.map(), trials=2000)
    loss = attack.loss(*played.scenario(0, noise))
    assert loss.interval[1] >= below[0]  # the best guesser of noisy counts beats that of cells
    laws = groups.sum(axis=0)
    output = laws @ likelihoods
    ratios = np.log(likelihoods, where=likelihoods > 0, out=np.zeros_like(likelihoods))
    ratios -= np.log(output, where=output > 0, out=np.zeros_like(output))
    told = float((laws[:, None] * likelihoods * ratios).sum())
    for method in ("best", "paper"):
        information = sf.measures.mutual_information(method=method).loss(*played.scenario(0, noise))
        assert information.value >= told * (1 - 1e-12)


def test_cells_give_away_nearly_everything_when_they_are_narrow(game):
    """The oracle above is not idle: with narrow cells it meets the integral."""
    played = game(1, states=3, steps=2, sensors=1)
    table = cells(played, 0.7, 60)
    groups = {}
    for path, p in played.paths.items():
        means = tuple(played.means(t, x) for t, x in enumerate(path))
        groups.setdefault(means, {})[path] = p
    best = 0.0
    for guess in itertools.product(range(3), repeat=2):
        here = sum(table[means] * played.hit(paths, guess, 1) for means, paths in groups.items())
        best = np.maximum(best, here)
    assert float(best.sum()) == pytest.approx(success(played, 1, 0.7), abs=2e-3)
