"""The mechanism: where sensors stand, what is counted, what is released."""

import numpy as np
import pytest

import sfumato as sf

PLACES = ("home", "work", "gym", "bar")


@pytest.fixture
def chain():
    matrix = np.full((4, 4), 0.1) + 0.6 * np.eye(4)
    return sf.priors.markov_chain("stationary", matrix, steps=3, states=PLACES)


def protect(chain, sensors, **options):
    return sf.mechanisms.sensor_counts(sensors, **options).protect(chain, sf.secrets.trajectory(1))


def test_apply_draws_the_target_s_own_output(chain):
    release = protect(chain, ["home", "work", "home"])
    assert list(release.apply(("home", "home", "home"))) == [1, 0, 1]
    several = protect(chain, ["home", ["work", "bar"], "gym"])
    assert list(several.apply(("home", "bar", "gym"))) == [(1, 0), (0, 1), (1, 0)]
    assert list(several.apply(("bar", "home", "bar"))) == [(0, 0), (0, 0), (0, 0)]


def test_counting_and_subtracting_gives_the_target_s_own_output(chain):
    rng = np.random.default_rng(0)
    people = [tuple(PLACES[x] for x in row) for row in rng.integers(4, size=(50, 3))]
    for sensors in (["home", "work", "gym"], ["home", ["work", "bar"], ["gym", "home", "bar"]]):
        release = protect(chain, sensors)
        counts = release.count(people)
        for t, places in enumerate(sensors):
            here = [places] if isinstance(places, str) else places
            expected = [sum(person[t] == place for person in people) for place in here]
            assert np.atleast_1d(counts[t]).tolist()[: len(here)] == expected
        own = release.without(counts, people[1:])
        assert own == list(release.apply(people[0]))
        guess = sf.adversaries.map().infer(chain.belief(), release.channel, own)
        assert len(guess) == 3


def test_noise_is_added_to_counts_with_the_stated_deviation(chain):
    release = protect(chain, ["home", "work", "gym"], noise=2.0)
    people = [("home", "work", "bar")] * 7
    rng = np.random.default_rng(1)
    draws = np.array([release.count(people, rng) for _ in range(4000)])
    np.testing.assert_allclose(draws.mean(axis=0), [7, 7, 0], atol=0.2)
    np.testing.assert_allclose(draws.std(axis=0), 2.0, rtol=0.06)
    own = np.array(release.without(draws[0], people[1:]))
    np.testing.assert_allclose(own, draws[0] - [6, 6, 0], atol=1e-12)
    grid = release.channel.grid
    np.testing.assert_array_equal(np.rint(own / grid), own / grid)
    assert release.utility() == 4.0
    sf.adversaries.map().infer(chain.belief(), release.channel, own)


def test_one_place_is_watched_throughout_and_places_can_be_drawn(chain):
    fixed = protect(chain, "work")
    assert fixed.channel == protect(chain, ["work"] * 3).channel
    drawn = protect(chain, "drawn", seed=4)
    assert drawn.channel == protect(chain, "drawn", seed=4).channel
    places = {
        sf.mechanisms.sensor_counts("drawn", seed=seed).places(chain.belief()) for seed in range(20)
    }
    assert len(places) > 5
    assert all(len(here) == 1 and here[0] in PLACES for row in places for here in row)


def test_specification_rebuilds_an_equal_mechanism():
    for made in (
        sf.mechanisms.sensor_counts(["a", ["b", "c"]], noise=0.5),
        sf.mechanisms.sensor_counts("drawn", seed=3),
        sf.mechanisms.sensor_counts(2),
    ):
        assert sf.registry.build("mechanism", made.specification()) == made


@pytest.mark.parametrize(
    ("sensors", "words"),
    [
        (["home", "work"], "one place for each of 3 steps"),
        (["home", "work", "pub"], "among"),
        ([["home", "home"], "work", "gym"], "listed twice"),
        (0.5, "a label"),
        ([], "at least 1"),
        ({"home", "work", "gym"}, "order"),
    ],
)
def test_wrong_sensors_are_refused(chain, sensors, words):
    with pytest.raises(sf.ParameterError, match=words):
        protect(chain, sensors)


@pytest.mark.parametrize("noise", [0.0, -1.0, float("nan"), float("inf"), "1", True])
def test_wrong_noise_is_refused(chain, noise):
    with pytest.raises(sf.ParameterError, match="noise"):
        protect(chain, ["home"] * 3, noise=noise)


def test_wrong_traces_and_counts_are_refused(chain):
    release = protect(chain, ["home", "work", "gym"])
    with pytest.raises(sf.ParameterError, match="3 states"):
        release.count([("home", "work")])
    with pytest.raises(sf.ParameterError, match="has no 'pub'"):
        release.count([("home", "work", "pub")])
    with pytest.raises(sf.ParameterError, match="shape"):
        release.without([1, 2], [])


@pytest.mark.parametrize("count", [0.4, 7, -1, float("nan"), float("inf"), "1", None])
def test_counts_that_no_target_explains_are_refused(chain, count):
    release = protect(chain, ["home", "work", "gym"])
    assert release.without([1.0, 0, 1], [("bar", "bar", "bar")]) == [1, 0, 1]
    with pytest.raises(sf.ParameterError, match="counts must"):
        release.without([1, 0, count], [("bar", "bar", "bar")])


def test_counts_with_noise_must_be_finite(chain):
    release = protect(chain, ["home", "work", "gym"], noise=1.0)
    with pytest.raises(sf.ParameterError, match="finite"):
        release.without([1.5, 0.25, float("nan")], [])


@pytest.mark.parametrize("name", ["map", "marginal_mode", "prior_mode", "constant"])
@pytest.mark.parametrize("observed", [[0, 0], [0] * 4, [], 5, None])
def test_attackers_refuse_outputs_of_another_length(chain, name, observed):
    attacker = getattr(sf.adversaries, name)()
    channel = protect(chain, ["home", "work", "gym"]).channel
    assert len(attacker.infer(chain.belief(), channel, [0, 0, 1])) == 3
    with pytest.raises(sf.ParameterError, match="observed must have 3 symbols"):
        attacker.infer(chain.belief(), channel, observed)
    with pytest.raises(sf.ParameterError, match="observed must have 3 symbols"):
        attacker.infer_many(chain.belief(), channel, [observed, [0, 0, 1]])


@pytest.mark.parametrize("name", ["map", "marginal_mode", "prior_mode", "constant"])
def test_attackers_refuse_symbols_that_are_never_released(chain, name):
    channel = protect(chain, ["home", "work", "gym"]).channel
    with pytest.raises(sf.ParameterError, match="has no 'rubbish'"):
        getattr(sf.adversaries, name)().infer(chain.belief(), channel, [0, "rubbish", 0])


@pytest.mark.parametrize("wrong", [[3, 0, 1], 5, None, "ab", ["ab"]])
def test_what_is_no_list_of_traces_is_not_counted(wrong):
    chain = sf.priors.markov_chain([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], steps=2)
    release = sf.mechanisms.sensor_counts([0, 1]).protect(chain, sf.secrets.trajectory(0))
    with pytest.raises(sf.ParameterError, match="traces must be a list of traces"):
        release.count(wrong)
    with pytest.raises(sf.ParameterError, match="traces must be a list of traces"):
        release.without([0, 0], wrong)


def test_an_attacker_without_parentheses_is_refused_with_a_hint():
    with pytest.raises(sf.ParameterError, match=r"write map\(\) with parentheses"):
        sf.measures.attack_success(adversary=sf.adversaries.map)
