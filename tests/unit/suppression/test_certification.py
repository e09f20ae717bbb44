"""Certificates against listing every trace in fractions: never below the truth, never above δ.

Where a gap ties with δ as far as float64 can tell, the certificate says so by exceeding δ by no
more than its own proved error.
"""

import itertools
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato.beliefs import Markov
from sfumato.channels import Suppression
from sfumato.inference.markov.segments import worst_segment_gap

TENTHS = [0.1, 0.2, 0.7]


def worst_gap(belief, channel, masks):
    """max Pr[A | o] − Pr[A], by enumeration; floats are the fractions they are."""
    exact = np.vectorize(Fraction, otypes=[object])
    initial, moves = exact(belief.initial), exact(belief.transitions)
    outputs = defaultdict(lambda: defaultdict(Fraction))
    priors = [Fraction(0)] * len(masks)
    for path in itertools.product(range(belief.state_count), repeat=belief.steps):
        chance = initial[path[0]]
        for t in range(belief.steps - 1):
            chance *= moves[t][path[t]][path[t + 1]]
        happened = [
            e for e, mask in enumerate(masks) if any(mask[t][x] for t, x in enumerate(path))
        ]
        for e in happened:
            priors[e] += chance
        for hidden in itertools.product([False, True], repeat=belief.steps):
            weight, last = chance, None
            for t, state in enumerate(path):
                p = Fraction(float(channel.table(last)[t, state]))
                weight *= p if hidden[t] else 1 - p
                last = last if hidden[t] else (t, state)
            if weight > 0:
                output = tuple(None if h else x for h, x in zip(hidden, path, strict=True))
                outputs[output]["all"] += weight
                for e in happened:
                    outputs[output][e] += weight
    return max(
        masses[e] / masses["all"] - priors[e]
        for masses in outputs.values()
        for e in range(len(masks))
    )


def dyadic_law(rng, count):
    cuts = np.sort(rng.integers(0, 9, count - 1))
    return np.diff(np.concatenate([[0], cuts, [8]])) / 8


def dyadic_chain(rng, steps, count):
    moves = [[dyadic_law(rng, count) for _ in range(count)] for _ in range(steps - 1)]
    return Markov(dyadic_law(rng, count), np.reshape(moves, (steps - 1, count, count)))


def random_masks(rng, steps, count):
    masks = np.zeros((steps, steps, count), dtype=bool)
    for t in range(steps):
        masks[t, t, rng.permutation(count)[: rng.integers(1, count)]] = True
    return masks


@pytest.mark.parametrize("numbers", ["ordinary", "logarithms"])
@pytest.mark.parametrize("seed", range(60))
def test_the_check_holds_the_worst_gap(seed, numbers, monkeypatch):
    if numbers == "logarithms":  # as if every factor might underflow
        monkeypatch.setattr("sfumato.inference.markov.segments.SMALLEST_FACTOR", 2.0)
    rng = np.random.default_rng(seed)
    steps, count = [(1, 3), (2, 3), (3, 3), (4, 2), (3, 2)][seed % 5]
    belief, masks = dyadic_chain(rng, steps, count), random_masks(rng, steps, count)
    start = rng.choice([0.0, 1.0, 1.0, 0.25, 0.625, 1 / 3, 1e-9], size=(steps, count))
    after = rng.choice([0.0, 1.0, 1.0, 0.5, 0.1], size=(steps, count) * 2)
    channel = Suppression(range(count), start, after if seed % 2 else None)
    worst, truth = worst_segment_gap(belief, channel, masks), worst_gap(belief, channel, masks)
    assert worst.floor <= truth <= worst.ceiling
    assert worst.ceiling - worst.floor < (1e-13 if numbers == "ordinary" else 1e-11)


@pytest.mark.parametrize(("sensitive", "delta"), [(1, 0.125), (5, 0.25), (20, 0.1), (32, 0.3)])
def test_a_probability_stands_at_its_limit(sensitive, delta):
    # One step, s with prior a = sensitive / 64: a / (a + (1 − a) p) ≤ θ = a + δ, so
    # p ≥ a (1 − θ) / (θ (1 − a)).
    a = Fraction(sensitive, 64)
    theta = a + Fraction(delta)
    limit = a * (1 - theta) / (theta * (1 - a))
    chain = sf.priors.markov_chain(
        initial=[float(a), float(1 - a)], transitions=np.eye(2), steps=1, states=["s", "x"]
    )
    release = sf.mechanisms.suppress_hybrid(delta=delta).protect(chain, sf.secrets.contexts({"s"}))
    chance = release.channel.start[0, 1]
    assert limit <= Fraction(float(chance)) <= limit * (1 + Fraction(1, 10**10))


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("name", ["suppress_probabilistic", "suppress_segmented"])
def test_designs_on_exact_chains_never_exceed_delta_at_all(seed, name):
    rng = np.random.default_rng(100 + seed)
    steps, count = [(1, 2), (2, 2), (2, 3), (3, 2)][seed % 4]
    belief = dyadic_chain(rng, steps, count)
    chain = sf.priors.markov_chain(
        initial=belief.initial, transitions=belief.transitions, steps=steps
    )
    delta = float(rng.choice([0.125, 0.25, 0.1]))
    secret = sf.secrets.contexts({0})
    release = getattr(sf.mechanisms, name)(delta=delta).protect(chain, secret)
    loss = sf.measures.posterior_gap().loss(chain, secret, release)
    gap = worst_gap(belief, release.channel, secret.question(belief).masks)
    assert gap <= Fraction(loss.value)
    assert loss.value * (1 - loss.relative_error) <= delta
    assert gap <= Fraction(delta)


def random_law(rng, count, largest):
    weights = rng.integers(0, largest + 1, count)
    weights[rng.integers(count)] += 1
    return weights / weights.sum()


def random_chain(rng, steps, count, largest):
    moves = [[random_law(rng, count, largest) for _ in range(count)] for _ in range(steps - 1)]
    return Markov(
        random_law(rng, count, largest),
        np.reshape(moves, (steps - 1, count, count)),
        states="stuv"[:count],
    )


@pytest.mark.parametrize("name", ["suppress_simulatable", "suppress_hybrid", "suppress_segmented"])
def test_independent_steps_may_be_released(name):
    chain = sf.priors.markov_chain(
        initial=TENTHS, transitions=[TENTHS] * 3, steps=4, states=["s", "x", "y"]
    )
    secret = sf.secrets.contexts({"s"}, times=[0])
    release = getattr(sf.mechanisms, name)(delta=0.0).protect(chain, secret)
    assert release.utility() == pytest.approx(3.0, rel=1e-12)
    loss = sf.measures.posterior_gap().loss(chain, secret, release)
    assert loss.bound == "upper"
    assert loss.value < 1e-13  # a tie with δ = 0: independence cannot be told from rounding


@pytest.mark.parametrize("steps", [3, 60])
def test_a_release_of_nothing_tells_exactly_nothing(steps):
    rng = np.random.default_rng(0)
    chain = sf.priors.markov_chain(
        initial=rng.dirichlet(np.ones(12)), transitions=rng.dirichlet(np.ones(12), 12), steps=steps
    )
    secret = sf.secrets.contexts({0, 1})
    hidden = np.ones((steps, 12))
    release = sf.mechanisms.suppress_given(probabilities=hidden).protect(chain, secret)
    assert sf.measures.posterior_gap().loss(chain, secret, release).value == 0.0


@pytest.mark.parametrize("delta", [0.0, 0.3, 1 / 3, 2 / 3])
@pytest.mark.parametrize(
    "name", ["suppress_probabilistic", "suppress_simulatable", "suppress_segmented"]
)
def test_a_design_that_ties_with_delta_is_never_proved_above_it(name, delta):
    rng = np.random.default_rng(7)
    for _ in range(40):
        steps, count, largest = rng.integers(1, 4), rng.integers(2, 5), rng.choice([1, 2, 5])
        belief = random_chain(rng, steps, count, largest)
        chain = sf.priors.markov_chain(
            initial=belief.initial,
            transitions=belief.transitions,
            steps=int(steps),
            states=belief.states,
        )
        secret = sf.secrets.contexts({"s"})
        release = getattr(sf.mechanisms, name)(delta=delta).protect(chain, secret)
        gap = sf.measures.posterior_gap().loss(chain, secret, release)
        assert gap.bound == "upper" or gap.value * (1 - gap.relative_error) <= delta
        assert gap.value <= delta + 1e-13
        assert release.claims["posterior_gap"] == gap.value


def test_a_tie_costs_no_utility_where_the_exact_gap_is_delta():
    # Pr[s] = 1/3 rises to 2/3 at most: in floats the difference may come out above 1/3.
    third = 1 / 3
    chain = sf.priors.markov_chain(
        initial=[third, 2 * third],
        transitions=[[2 * third, third], [third / 2, 1 - third / 2]],
        steps=2,
        states=["s", "x"],
    )
    secret = sf.secrets.contexts({"s"}, times=[1])
    release = sf.mechanisms.suppress_simulatable(delta=third).protect(chain, secret)
    assert release.utility() == pytest.approx(1.0, rel=1e-12)
    assert sf.measures.posterior_gap().loss(chain, secret, release).value <= third * (1 + 1e-13)
