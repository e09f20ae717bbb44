"""The check in whole numbers against listing every trace and output in fractions."""

import itertools
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato.beliefs import Markov
from sfumato.channels import Suppression
from sfumato.inference.markov.rational import has_exact_laws, keeps_exactly


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


@pytest.mark.parametrize("seed", range(60))
def test_the_decision_turns_exactly_at_the_worst_gap(seed):
    rng = np.random.default_rng(seed)
    steps, count = [(1, 3), (2, 3), (3, 3), (4, 2), (3, 2)][seed % 5]
    belief, masks = dyadic_chain(rng, steps, count), random_masks(rng, steps, count)
    start = rng.choice([0.0, 1.0, 1.0, 0.25, 0.625, 1 / 3], size=(steps, count))
    after = rng.choice([0.0, 1.0, 1.0, 0.5, 0.1], size=(steps, count) * 2)
    channel = Suppression(range(count), start, after if seed % 2 else None)
    assert has_exact_laws(belief)
    gap = worst_gap(belief, channel, masks)
    near = float(gap)
    for delta in (np.nextafter(near, -1.0), near, np.nextafter(near, 2.0)):
        if 0.0 <= delta <= 1.0:
            kept = keeps_exactly(belief, channel, masks, float(delta))
            assert kept == (Fraction(float(delta)) >= gap)


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
    assert limit <= Fraction(float(chance)) <= limit + 4 * Fraction(float(np.spacing(chance)))


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
    assert loss.value <= delta * (1 + 1e-14)
    gap = worst_gap(belief, release.channel, secret.question(belief).masks)
    between = (release.channel.start > 0.0) & (release.channel.start < 1.0)
    if release.channel.after is None and between.any():  # whole numbers were used
        assert gap <= Fraction(delta)
    assert float(gap) <= delta * (1 + 1e-14)
