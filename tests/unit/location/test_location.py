"""Places on a map: published values, exact constraints, and the same numbers by other means."""

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import linprog
from scipy.spatial import cKDTree

import sfumato as sf
from sfumato.channels import Symbols
from sfumato.datasets import RealTrace

HALF_LN2 = math.log(2.0) / 2.0
grid = sf.priors.location_walk.grid


def uniform(places, steps=1):
    count = len(places)
    return sf.priors.markov_chain([1 / count] * count, [[1 / count] * count] * count, steps=steps)


def excess(law, places, epsilon):
    """Return the largest C_xz − e^{ε d(x,y)} C_yz, one entry after the other."""
    every = itertools.product(range(len(places)), repeat=3)
    return max(
        law[x][z] - math.exp(epsilon * math.dist(places[x], places[y])) * law[y][z]
        for x, y, z in every
    )


@pytest.mark.parametrize(("side", "value"), [(3, 1.072984), (4, 1.406506), (5, 1.757563)])
def test_optimal_mechanism_has_the_published_cost(side, value):
    places = grid(side, side)
    release = sf.mechanisms.geo_optimal(epsilon=HALF_LN2, places=places).protect(
        uniform(places), sf.secrets.basic(0)
    )
    assert release.utility() == pytest.approx(value, abs=1e-6)
    assert 0 <= release.certificate["gap"] < 1e-7
    assert release.certificate["lower_bound"] == pytest.approx(value, abs=1e-6)
    assert excess(release.channel.probabilities[0].tolist(), places.tolist(), HALF_LN2) <= 1e-16


def test_optimum_of_two_places_is_right_where_it_is_tiny():
    """It tells the likelier place, or errs with 1/(1 + e^{εd}) at both, whichever costs less."""
    rng = np.random.default_rng(3)
    for _ in range(60):
        apart, seldom = rng.uniform(0.5, 2), 10 ** rng.uniform(-6, -1)
        epsilon = rng.uniform(0.5, 18) / apart
        law, places = np.array([seldom, 1 - seldom]), [[0.0, 0.0], [0.0, apart]]
        release = sf.mechanisms.geo_optimal(epsilon=epsilon, places=places).protect(
            sf.priors.markov_chain(law, [law] * 2, steps=1), sf.secrets.basic(0)
        )
        truth = apart * min(seldom, 1 / (1 + math.exp(epsilon * apart)))
        assert release.utility() == pytest.approx(truth, abs=1e-9 * apart)
        assert release.certificate["gap"] <= 1e-9 * apart


def test_optimum_is_that_of_the_program_with_every_constraint():
    rng = np.random.default_rng(4)
    for _ in range(5):
        places, prior, epsilon = rng.normal(size=(5, 2)), rng.dirichlet(np.ones(5)), 0.8
        chain = sf.priors.markov_chain(prior, [prior] * 5, steps=2)
        release = sf.mechanisms.geo_optimal(epsilon=epsilon, places=places).protect(
            chain, sf.secrets.basic(1)
        )
        rows, costs = [], []
        for x, z in itertools.product(range(5), repeat=2):
            costs.append(prior[x] * math.dist(places[x], places[z]))
            for y in set(range(5)) - {x}:
                row = np.zeros((5, 5))
                row[x, z], row[y, z] = 1, -math.exp(epsilon * math.dist(places[x], places[y]))
                rows.append(row.ravel())
        sums = np.kron(np.eye(5), np.ones(5))
        truth = linprog(costs, rows, np.zeros(len(rows)), sums, np.ones(5), method="highs-ds").fun
        assert release.utility() == pytest.approx(truth, abs=1e-7)
        assert release.certificate["lower_bound"] <= truth + 1e-9


def test_planar_laplace_on_a_grid_has_the_published_epsilon():
    places = grid(3, 3, step=1.1)
    walk, secret = uniform(places), sf.secrets.basic(0)
    noise = sf.mechanisms.planar_laplace(epsilon=0.9, places=places, remap=False)
    loss = sf.measures.geo_indistinguishability(places=places)
    assert loss.loss(walk, secret, noise.protect(walk, secret)).value == pytest.approx(
        0.8844, abs=5e-5
    )


def test_cell_probabilities_are_those_of_the_nearest_place():
    places, epsilon = np.array([[0.0, 0.0], [1.0, 0.2], [0.3, 1.5], [4.0, -1.0]]), 0.7
    release = sf.mechanisms.planar_laplace(epsilon=epsilon, places=places, remap=False).protect(
        uniform(places), sf.secrets.basic(0)
    )
    law, tree = release.channel.probabilities[0], cKDTree(places)
    for x, place in enumerate(places):  # rings of equal mass, each at many angles
        radii = [_radius_of(share, epsilon) for share in (np.arange(1500) + 0.5) / 1500]
        angles = (np.arange(400) + 0.5) / 400 * 2 * np.pi
        points = place + np.stack(
            [np.outer(radii, np.cos(angles)), np.outer(radii, np.sin(angles))], axis=-1
        )
        nearest = tree.query(points.reshape(-1, 2))[1]
        assert np.bincount(nearest, minlength=4) / nearest.size == pytest.approx(law[x], abs=4e-4)


def _radius_of(share, epsilon):
    from scipy.special import lambertw

    return float(-(lambertw((share - 1) / math.e, -1).real + 1) / epsilon)


def test_a_half_plane_has_its_closed_form():
    # The first coordinate of planar Laplace noise has a Bessel density; a far place takes its tail.
    from scipy.special import k1

    places, epsilon = np.array([[0.0, 0.0], [60.0, 0.0]]), 0.5
    release = sf.mechanisms.planar_laplace(epsilon=epsilon, places=places, remap=False).protect(
        uniform(places), sf.secrets.basic(0)
    )
    tail = quad(
        lambda x: epsilon**2 / math.pi * x * k1(epsilon * x), 30.0, 150.0, epsabs=0, epsrel=1e-12
    )[0]
    assert release.channel.probabilities[0, 0, 1] == pytest.approx(tail, rel=1e-9)


def test_remapping_never_costs_distance_nor_privacy():
    places = grid(3, 2)
    walk, secret = sf.priors.location_walk(places, reach=0.5, steps=3), sf.secrets.basic(1)
    loss = sf.measures.geo_indistinguishability(places=places)
    plain, remapped = (
        sf.mechanisms.planar_laplace(epsilon=0.6, places=places, remap=remap).protect(walk, secret)
        for remap in (False, True)
    )
    best = sf.mechanisms.geo_optimal(epsilon=0.6, places=places).protect(walk, secret)
    assert best.utility() <= remapped.utility() <= plain.utility()
    assert loss.loss(walk, secret, remapped).value <= loss.loss(walk, secret, plain).value <= 0.6


@pytest.mark.parametrize("name", ["planar_laplace", "location_exponential", "geo_optimal"])
def test_mechanisms_keep_epsilon_in_their_very_tables(name):
    rng = np.random.default_rng(7)
    for epsilon in (0.05, 1.0, 6.0, 40.0):
        places = rng.uniform(0, 3, size=(6, 2))
        release = getattr(sf.mechanisms, name)(epsilon=epsilon, places=places).protect(
            uniform(places), sf.secrets.basic(0)
        )
        found = excess(release.channel.probabilities[0].tolist(), places.tolist(), epsilon)
        assert found <= 1e-15, epsilon


def test_epsilon_per_step_is_more_for_somebody_who_moves():
    places = grid(2, 2)
    walk, secret = sf.priors.location_walk(places, reach=0.4, steps=5), sf.secrets.basic(2)
    release = sf.mechanisms.location_exponential(epsilon=1.0, places=places).protect(walk, secret)
    step = sf.measures.geo_indistinguishability(places=places).loss(walk, secret, release)
    moving = sf.measures.location_leakage(places=places).loss(walk, secret, release)
    assert step.value <= 1.0 < moving.value <= 5.0
    # the same from every trace and output
    belief, channel = walk.belief(), release.channel
    laws = np.zeros((4, 4**5))
    for trace in itertools.product(range(4), repeat=5):
        chance = math.exp(belief.log_probability(trace))
        output = np.ones(1)
        for place in trace:
            output = np.kron(output, channel.probabilities[0, place])
        laws[trace[2]] += chance * output
    laws /= laws.sum(axis=1, keepdims=True)
    truth = max(
        np.log(laws[x] / laws[y]).max() / math.dist(places[x], places[y])
        for x, y in itertools.permutations(range(4), 2)
    )
    assert moving.value == pytest.approx(truth, rel=1e-9)


# δ-location sets


def test_places_of_a_set_look_alike_and_the_set_has_its_mass():
    places = grid(3, 1)
    walk, secret = sf.priors.location_walk(places, reach=0.3, steps=3), sf.secrets.basic(1)
    release = sf.mechanisms.delta_location_set(epsilon=0.8, delta=0.15, places=places).protect(
        walk, secret
    )
    channel, belief = release.channel, walk.belief()
    traces = list(itertools.product(range(3), repeat=3))
    prior = {trace: math.exp(belief.log_probability(trace)) for trace in traces}
    for prefix in [
        (),
        *itertools.product(range(3), repeat=1),
        *itertools.product(range(3), repeat=2),
    ]:
        weights = np.zeros(3)  # Pr[next place, prefix], from every trace
        for trace, chance in prior.items():
            seen = math.exp(channel.log_likelihood(prefix, trace)) if prefix else 1.0
            weights[trace[len(prefix)]] += chance * seen
        if weights.sum() == 0:
            continue
        predicted = weights / weights.sum()
        inside = channel.likely_set(predicted)
        assert predicted[inside].sum() >= 0.85
        assert predicted[inside].sum() - predicted[inside].min() < 0.85
        law = np.exp([channel.evidence((*prefix, z))[-1] for z in range(3)])  # (z, x)
        assert law.sum(axis=0) == pytest.approx(np.ones(3))
        shown = law[inside][:, inside]
        assert (shown.max(axis=1) <= math.exp(0.8) * shown.min(axis=1) * (1 + 1e-12)).all()
        assert law[np.setdiff1d(range(3), inside)].sum() == 0


def test_location_sets_sample_what_they_say():
    places = grid(2, 1)
    walk = sf.priors.location_walk(places, reach=0.5, steps=2)
    release = sf.mechanisms.delta_location_set(epsilon=1.0, delta=0.2, places=places).protect(
        walk, sf.secrets.basic(0)
    )
    traces = np.tile([0, 1], (20_000, 1))
    drawn = release.channel.sample_many(traces, np.random.default_rng(0))
    for output in itertools.product(range(2), repeat=2):
        chance = math.exp(release.channel.log_likelihood(output, (0, 1)))
        share = (drawn == np.array(output)).all(axis=1).mean()
        assert abs(share - chance) < 6 * math.sqrt(chance * (1 - chance) / 20_000) + 1e-9


# Events


@pytest.mark.parametrize(
    ("expression", "truth"),
    [
        ("0@1", lambda x: x[1] == 0),
        ("0@0 or 0@1 or 0@2", lambda x: 0 in x[:3]),
        ("0@0 and 1@2", lambda x: x[0] == 0 and x[2] == 1),
        ("not (2@1 and not 0@3) or 1@1", lambda x: not (x[1] == 2 and x[3] != 0) or x[1] == 1),
    ],
)
def test_events_are_what_they_say_of_every_trace(expression, truth):
    rng = np.random.default_rng(1)
    chain = sf.priors.markov_chain(rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3), 3), steps=4)
    secret = sf.secrets.place_event(expression)
    release = sf.mechanisms.randomised_response(epsilon=0.9).protect(chain, secret)
    belief, law = chain.belief(), release.channel.probabilities[0]
    joint = np.zeros((2, 81))
    for trace in itertools.product(range(3), repeat=4):
        output = np.ones(1)
        for place in trace:
            output = np.kron(output, law[place])
        joint[int(not truth(trace))] += math.exp(belief.log_probability(trace)) * output
    gap = (joint[0] / joint.sum(axis=0)).max() - joint[0].sum()
    laws = joint / joint.sum(axis=1, keepdims=True)
    assert sf.measures.posterior_gap().loss(chain, secret, release).value == pytest.approx(gap)
    advantage = np.maximum(laws[0] - laws[1], 0).sum()
    assert sf.measures.advantage().loss(chain, secret, release).value == pytest.approx(advantage)


@pytest.mark.parametrize(
    "expression",
    [
        "",
        "0",
        "0@",
        "0@1.5",
        "0@-1",
        "f(0)@1",
        "0@1 + 1@2",
        "__import__('os')",
        "x" * 3000,
        "(" * 900,
    ],
)
def test_what_is_no_expression_is_refused(expression):
    with pytest.raises(sf.ParameterError, match="expression"):
        sf.secrets.place_event(expression)


def test_events_about_other_places_or_times_are_refused():
    walk = sf.priors.location_walk(grid(2, 1), reach=1.0, steps=2)
    for expression in ("home@0", "0@2"):
        with pytest.raises(sf.ParameterError, match="about"):
            sf.secrets.place_event(expression).question(walk.belief())
    many = sf.priors.location_walk(grid(9, 9), reach=1.0, steps=4)
    with pytest.raises(sf.OutsideHypotheses, match="fewer times"):
        sf.secrets.place_event("0@0 or 0@1 or 0@2").question(many.belief()).asked()


# Places


def test_walk_is_stationary_and_reversible():
    belief = sf.priors.location_walk([[0, 0], [1, 2], [3, 1]], reach=1.5, steps=4).belief()
    flow = belief.initial[:, None] * belief.matrix(0)
    assert flow == pytest.approx(flow.T)
    assert belief.is_stationary()


def test_positions_become_places_and_a_chain():
    degree = 1 / 111_194.9
    days = [
        RealTrace(
            "ann", [0, 30, 61, 120], np.array([[0, 0], [0, 9], [0, 1], [2, 0]]) * 100 * degree
        )
    ]
    found = sf.priors.location_walk.fit(days, spacing=100.0, every=60.0, steps=5)
    assert found.places.shape == (3, 2)
    assert len(found.prior.belief().states) == 3
    noise = sf.mechanisms.planar_laplace(epsilon=0.01, places=found.places)
    release = noise.protect(found.prior, sf.secrets.basic(2))
    assert isinstance(release.channel, Symbols)


@pytest.mark.parametrize("places", [[[0, 0], [0, 0]], [[0, 0, 1]], [[math.nan, 0]], [], "here"])
def test_places_are_distinct_points_of_the_plane(places):
    with pytest.raises(sf.ParameterError, match="places"):
        sf.priors.location_walk(places, reach=1.0, steps=2)


def test_places_must_be_those_of_the_states():
    walk = sf.priors.location_walk(grid(2, 1), reach=1.0, steps=2)
    for name, more in (("planar_laplace", {}), ("delta_location_set", {"delta": 0.1})):
        with pytest.raises(sf.ParameterError, match="2 states"):
            getattr(sf.mechanisms, name)(epsilon=1.0, places=grid(3, 1), **more).protect(
                walk, sf.secrets.basic(0)
            )


@pytest.mark.parametrize("name", ["location_exponential", "planar_laplace"])
def test_a_map_too_wide_for_float64_is_refused(name):
    places = [[0.0, 0.0], [200.0, 0.0], [300_000.0, 0.0]]
    walk = sf.priors.location_walk(places=places, reach=1e6, steps=3)
    mechanism = sf.registry.get("mechanism", name)(epsilon=0.0069, places=places)
    with pytest.raises(sf.OutsideHypotheses, match="too far for float64"):
        mechanism.protect(walk, sf.secrets.basic(0))


def test_what_a_likely_set_remembers_is_what_was_shown():
    """Oracle: the evidence of every whole output, which follows it from its beginning."""
    places = sf.priors.location_walk.grid(3, 1)
    walk = sf.priors.location_walk(places, reach=0.6, steps=3)
    mechanism = sf.mechanisms.delta_location_set(epsilon=1.0, delta=0.1, places=places)
    channel = mechanism.protect(walk, sf.secrets.basic(1)).channel
    for output in itertools.product(channel.states, repeat=3):
        memory, whole = (), np.exp(channel.evidence(output))
        for time, shown in enumerate(output):
            row = channel.next_evidence(memory, time)[channel.states.index(shown)]
            np.testing.assert_allclose(np.exp(row), whole[time], rtol=1e-12)
            memory = channel.remember(memory, time, shown)
