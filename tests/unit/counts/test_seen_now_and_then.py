"""Sums over all outputs, segment by segment, against listing them: sensors and suppression."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato.beliefs import Markov
from sfumato.channels import Suppression, Symbols
from sfumato_fano.best_guess import sighted_log_success
from sfumato_fano.information import listed_information, sighted_information
from sfumato_fano.matches import match_limits
from sfumato_fano.sightings import sightings_of


def random_belief(rng, states, steps):
    matrices = rng.dirichlet(np.full(states, 0.5), (steps - 1, states))
    matrices[matrices < 0.05] = 0.0
    matrices /= matrices.sum(axis=-1, keepdims=True)
    return Markov(rng.dirichlet(np.ones(states)), matrices)


def channels(rng, states, steps):
    """Return one sensor, suppression, and suppression that remembers the last release."""
    seen = np.zeros((steps, states))
    seen[np.arange(steps), rng.integers(states, size=steps)] = 1.0
    names = tuple(range(states))
    start = np.clip(rng.uniform(-0.3, 1.3, (steps, states)), 0.0, 1.0)
    after = np.clip(rng.uniform(-0.3, 1.3, (steps, states) * 2), 0.0, 1.0)
    return [
        Symbols(names, (0, 1), np.stack([1.0 - seen, seen], axis=-1)),
        Suppression.memoryless(names, start),
        Suppression(names, start, after),
    ]


def joint(belief, channel):
    """Return Pr[x, y] as {y: {x: p}}, from the definition of both laws."""
    table = {}
    for path in itertools.product(range(belief.state_count), repeat=belief.steps):
        p = math.exp(belief.log_probability(path))
        for y in itertools.product(*channel.outputs()) if p > 0 else ():
            q = p * math.exp(channel.log_likelihood(y, path))
            if q > 0:
                table.setdefault(y, {})[path] = q
    return table


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kind", range(3))
def test_information_success_and_matches(seed, kind):
    rng = np.random.default_rng(seed)
    states, steps = int(rng.integers(2, 4)), int(rng.integers(2, 5 if kind == 0 else 4))
    belief = random_belief(rng, states, steps)
    channel = channels(rng, states, steps)[kind]
    table = joint(belief, channel)
    sightings = sightings_of(belief, channel)
    outputs = {y: sum(weights.values()) for y, weights in table.items()}
    priors = {}
    for weights in table.values():
        for path, p in weights.items():
            priors[path] = priors.get(path, 0.0) + p
    information = sum(
        p * math.log(p / (outputs[y] * priors[path]))
        for y, weights in table.items()
        for path, p in weights.items()
    )
    assert sighted_information(sightings).value == pytest.approx(information, rel=1e-9, abs=1e-12)
    assert listed_information(belief, channel).value == pytest.approx(information, abs=1e-12)
    whole = sum(max(weights.values()) for weights in table.values())
    assert math.exp(sighted_log_success(sightings)) == pytest.approx(whole, rel=1e-12)
    limits = match_limits(sightings, None, 0, 1e8)
    for size in (1, steps):
        expected = 0.0
        for places in itertools.combinations(range(steps), size):
            for weights in table.values():
                merged = {}
                for path, p in weights.items():
                    key = tuple(path[place] for place in places)
                    merged[key] = merged.get(key, 0.0) + p
                expected += max(merged.values())
        found = limits[f"{size} matches"] * math.comb(steps, size)
        assert found == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", [1, 2])
def test_the_same_decisions_under_other_labels(seed, kind):
    from sfumato.questions import Guess

    rng = np.random.default_rng(seed)
    belief, channel = random_belief(rng, 3, 12), channels(rng, 3, 12)[kind]
    other = Suppression(channel.states, channel.start, channel.after, shown="xyz")
    for measure in (sf.measures.reconstruction(), sf.measures.mutual_information()):
        plain, shown = (measure.evaluate(belief, Guess(0), one) for one in (channel, other))
        assert plain.bound == shown.bound == "exact"
        assert plain.value == shown.value
    short, decides = random_belief(rng, 3, 3), channels(rng, 3, 3)[kind]
    truth = sum(max(weights.values()) for weights in joint(short, decides).values())
    named = Suppression(decides.states, decides.start, decides.after, shown="xyz")
    reading = sf.measures.reconstruction().evaluate(short, Guess(0), named)
    assert reading.value == pytest.approx(truth, rel=1e-12)


def test_a_state_with_two_names_is_still_seen():
    from sfumato.questions import Guess

    rng = np.random.default_rng(0)
    belief = random_belief(rng, 3, 4)
    laws = np.zeros((4, 3, 3))
    laws[:, 0] = [0.2, 0.3, 0.5]  # two names for the first state, and silence
    laws[:, 1:, 2] = 1.0
    channel = Symbols(range(3), range(3), laws)
    truth = sum(max(weights.values()) for weights in joint(belief, channel).values())
    reading = sf.measures.reconstruction().evaluate(belief, Guess(0), channel)
    assert reading.value == pytest.approx(truth, rel=1e-12)
    assert sightings_of(belief, channel) is not None
    assert sf.measures.mutual_information().evaluate(
        belief, Guess(0), channel
    ).value == pytest.approx(listed_information(belief, channel).value, rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", [1, 2])
def test_reconstruction_answers_for_suppression(seed, kind):
    rng = np.random.default_rng(seed)
    belief = random_belief(rng, 3, 3)
    channel = channels(rng, 3, 3)[kind]
    table = joint(belief, channel)
    from sfumato.questions import Guess

    for mistakes in range(3):
        truth = 0.0
        for weights in table.values():
            truth += max(
                sum(
                    p
                    for path, p in weights.items()
                    if sum(a != b for a, b in zip(path, guess, strict=True)) <= mistakes
                )
                for guess in itertools.product(range(3), repeat=3)
            )
        reading = sf.measures.reconstruction().evaluate(belief, Guess(mistakes), channel)
        assert reading.value >= truth * (1 - 1e-12)
        if mistakes == 0:
            assert reading.bound == "exact"
            assert reading.value == pytest.approx(truth, rel=1e-12)


def test_symbols_that_tell_something_in_between_are_listed_instead():
    rng = np.random.default_rng(1)
    belief = random_belief(rng, 3, 3)
    noisy = Symbols((0, 1, 2), (0, 1), rng.dirichlet(np.ones(2), (3, 3)))
    assert sightings_of(belief, noisy) is None
    table = joint(belief, noisy)
    from sfumato.questions import Guess

    reading = sf.measures.reconstruction().evaluate(belief, Guess(0), noisy)
    assert reading.bound == "exact"
    expected = sum(max(weights.values()) for weights in table.values())
    assert reading.value == pytest.approx(expected, rel=1e-12)
    told = sf.measures.mutual_information().evaluate(belief, Guess(0), noisy)
    paper = sf.measures.mutual_information(method="paper").evaluate(belief, Guess(0), noisy)
    assert told.bound == "exact"
    assert paper.value >= told.value
    one = sf.measures.reconstruction().evaluate(belief, Guess(1), noisy)
    assert set(one.witness) <= {"Fano", "divergence", "1 matches", "enumeration"}
    exact = sf.measures.reconstruction(method="enumeration").evaluate(belief, Guess(1), noisy)
    assert exact.value <= one.value <= exact.value * (1 + 1e-11)


def test_too_many_outputs_leave_the_bounds_that_need_no_list():
    rng = np.random.default_rng(2)
    matrix = rng.dirichlet(np.ones(5), 5)
    belief = Markov(np.full(5, 0.2), matrix, steps=30)
    noisy = Symbols(range(5), (0, 1), rng.dirichlet(np.ones(2), (30, 5)))
    from sfumato.questions import Guess

    reading = sf.measures.reconstruction(budget=1e5).evaluate(belief, Guess(0), noisy)
    assert reading.bound == "upper"
    assert 0.0 < reading.value < 1.0
    assert sf.measures.mutual_information().evaluate(belief, Guess(0), noisy).bound == "upper"


def test_single_matches_are_left_out_where_they_take_too_long():
    belief = Markov(np.full(200, 0.005), np.full((200, 200), 0.005), steps=60)
    seen = np.zeros((60, 200, 101))
    seen[:, np.arange(100, 200), np.arange(1, 101)] = 1.0
    seen[:, :100, 0] = 1.0
    sightings = sightings_of(belief, Symbols(range(200), range(101), seen))
    assert match_limits(sightings, None, 1, 1e11) == {}


def test_a_small_budget_allows_few_matches():
    belief = Markov(np.full(20, 0.05), np.full((20, 20), 0.05), steps=12)
    seen = np.zeros((12, 20))
    seen[:, 3] = 1.0
    sightings = sightings_of(belief, Symbols(range(20), (0, 1), np.stack([1 - seen, seen], -1)))
    limits = [match_limits(sightings, None, 2, budget) for budget in (1.0, 1e5, 1e6, 1e9)]
    assert list(limits[0]) == ["1 matches", "matches by segment"]
    smallest = [min(found.values()) for found in limits]
    assert smallest == sorted(smallest, reverse=True)
    assert smallest[-1] < 0.5 * smallest[0]


def best_whole_trace(chain, watched):
    """Return Σ_y max_x Pr[x, y] from tables of all pairs of sightings, one gap after another."""
    belief = chain.belief()
    initial, matrix, steps = belief.initial, belief.matrix(0), belief.steps

    def times(a, b):
        return (a[:, :, None] * b[None]).max(axis=1, initial=0.0)

    hidden = [np.setdiff1d(np.arange(belief.state_count), places) for places in watched]
    reached = [initial[places] for places in watched]
    end = 0.0
    begun = initial[None, hidden[0]]
    for t in range(1, steps):
        reached[t] = times(begun, matrix[np.ix_(hidden[t - 1], watched[t])])[0]
        begun = times(begun, matrix[np.ix_(hidden[t - 1], hidden[t])])
    end = begun.max(initial=0.0)
    for a in range(steps - 1):
        ways, last = np.eye(len(watched[a])), watched[a]
        for b in range(a + 1, steps):
            reached[b] = reached[b] + reached[a] @ times(ways, matrix[np.ix_(last, watched[b])])
            ways, last = times(ways, matrix[np.ix_(last, hidden[b])]), hidden[b]
        end += reached[a] @ ways.max(axis=1, initial=0.0)
    return end + reached[-1].sum()


@pytest.mark.parametrize(
    ("states", "steps", "sensors"), [(110, 40, 101), (60, 8, 30), (20, 6, 20), (5, 4, 4)]
)
def test_however_many_sightings_the_whole_trace_is_exact(states, steps, sensors):
    chain = sf.priors.markov_chain.simulated(states=states, tau=0.1, steps=steps)
    rng = np.random.default_rng(0)
    watched = [np.sort(rng.choice(states, sensors, replace=False)) for _ in range(steps)]
    secret = sf.secrets.trajectory(mistakes=0)
    counts = sf.mechanisms.sensor_counts([places.tolist() for places in watched])
    loss = sf.measures.reconstruction().loss(chain, secret, counts.protect(chain, secret))
    assert loss.bound == "exact"
    truth = best_whole_trace(chain, watched)  # rounded itself, in far fewer operations
    assert truth * (1 - 1e-12) <= loss.value <= truth * (1 + loss.relative_error + 1e-12)
    assert loss.relative_error < 1e-10


def test_the_oracle_of_many_sightings_is_right_where_all_outputs_can_be_listed():
    chain = sf.priors.markov_chain.simulated(states=5, tau=0.3, steps=4)
    watched = [np.array([0, 2]), np.array([1, 2, 3]), np.array([4]), np.array([0, 1, 2, 3, 4])]
    belief = chain.belief()
    best = {}
    for path in itertools.product(range(5), repeat=4):
        y = tuple(x if x in places else None for x, places in zip(path, watched, strict=True))
        best[y] = max(best.get(y, 0.0), math.exp(belief.log_probability(path)))
    assert best_whole_trace(chain, watched) == pytest.approx(sum(best.values()), rel=1e-12)


def test_many_sightings_are_told_exactly_and_single_matches_still_count():
    """Everyone is seen at every step, so that everything is told and every match is certain."""
    chain = sf.priors.markov_chain.simulated(states=90, tau=0.1, steps=50)
    everywhere = sf.mechanisms.sensor_counts([list(range(90))] * 50)
    secret = sf.secrets.trajectory(mistakes=3)
    release = everywhere.protect(chain, secret)
    from sfumato_fano.information import chain_entropy

    told = sf.measures.mutual_information().loss(chain, secret, release)
    assert told.bound == "exact"
    everything = chain_entropy(chain.belief())
    assert everything <= told.value <= everything * (1 + told.relative_error)
    assert told.relative_error < 1e-9
    loss = sf.measures.reconstruction().loss(chain, secret, release)
    assert loss.value == 1.0
    assert loss.witness["1 matches"] == 1.0


def test_what_takes_too_long_is_bounded_and_says_so(monkeypatch):
    """A limit of nothing stands for a scenario that is too large."""
    from sfumato_fano import sightings

    monkeypatch.setattr(sightings, "MOST_OPERATIONS", 0.0)
    chain = sf.priors.markov_chain.simulated(states=8, tau=0.3, steps=30)
    secret = sf.secrets.trajectory(mistakes=0)
    release = sf.mechanisms.sensor_counts("drawn").protect(chain, secret)
    assert sf.measures.reconstruction().loss(chain, secret, release).bound == "upper"
    assert sf.measures.mutual_information().loss(chain, secret, release).bound == "upper"


@pytest.mark.parametrize(("steps", "bound"), [(170, "exact"), (182, "upper"), (200, "upper")])
def test_a_success_too_small_for_float64_is_rounded_up(steps, bound):
    """Each step is seen (one chance in 100), or the best of 99 others is as likely."""
    chain = sf.priors.markov_chain([0.01] * 100, np.full((100, 100), 0.01), steps=steps)
    secret = sf.secrets.trajectory(mistakes=0)
    release = sf.mechanisms.sensor_counts(0).protect(chain, secret)
    loss = sf.measures.reconstruction().loss(chain, secret, release)
    truth = Fraction(2, 100) ** steps
    assert loss.bound == bound
    if bound == "upper":
        assert truth <= Fraction(loss.value) <= truth * (1 + Fraction(2, 10**10)) + Fraction(1e-323)
    else:
        assert truth <= Fraction(loss.value) <= truth * (1 + Fraction(loss.relative_error))
        assert loss.relative_error < 5e-10


def test_nothing_to_tell_is_zero_and_not_minus_zero():
    chain = sf.priors.markov_chain([1.0], [[1.0]], steps=1)
    secret = sf.secrets.trajectory(mistakes=0)
    for noise in (None, 1.0):
        release = sf.mechanisms.sensor_counts([0], noise=noise).protect(chain, secret)
        for method in ("best", "paper"):
            loss = sf.measures.mutual_information(method=method).loss(chain, secret, release)
            assert math.copysign(1.0, loss.value) == 1.0
            assert loss.value == 0.0
