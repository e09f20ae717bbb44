"""Windows of times by shortest paths, against listing every trace and output."""

import itertools
import time

import numpy as np
import pytest

import sfumato as sf
from sfumato.beliefs import Markov
from sfumato.channels import RememberingSuppression, Suppression
from sfumato.inference.markov.remembered import worst_window_gap


def listed_gap(belief, channel, mask):
    """max Pr[met | o] − Pr[met] over all outputs, and the posterior of every output."""
    outputs, prior = {}, 0.0
    for path in itertools.product(range(belief.state_count), repeat=belief.steps):
        chance = belief.initial[path[0]]
        for t in range(belief.steps - 1):
            chance *= belief.transitions[t][path[t], path[t + 1]]
        met = any(mask[t, x] for t, x in enumerate(path))
        prior += chance * met
        for hidden in itertools.product([False, True], repeat=belief.steps):
            weight, last = chance, None
            for t, state in enumerate(path):
                p = channel.table(last)[t, state]
                weight *= p if hidden[t] else 1 - p
                last = last if hidden[t] else (t, state)
            if weight > 0:
                symbols = tuple(
                    sf.SUPPRESSED if h else belief.states[x]
                    for h, x in zip(hidden, path, strict=True)
                )
                seen = outputs.setdefault(symbols, [0.0, 0.0])
                seen[0] += weight
                seen[1] += weight * met
    posteriors = {output: met / total for output, (total, met) in outputs.items()}
    return max(posteriors.values()) - prior, posteriors, prior


def random_case(seed):
    rng = np.random.default_rng(seed)
    steps, count = [(2, 3), (3, 3), (4, 2), (5, 2), (1, 3)][seed % 5]
    laws = rng.dirichlet(np.full(count, 0.6), size=(steps, count))
    laws[rng.random(laws.shape) < 0.2] = 0.0
    laws += 1e-12 * (laws.sum(axis=2, keepdims=True) == 0)
    laws /= laws.sum(axis=2, keepdims=True)
    belief = Markov(rng.dirichlet(np.ones(count)), laws[1:], steps)
    values = [0.0, 0.2, 0.7, 1.0]
    start = rng.choice(values, size=(steps, count))
    after = rng.choice(values, size=(steps, count, steps, count)) if seed % 2 else None
    mask = rng.random((steps, count)) < 0.35
    mask[0, 0] = True
    return belief, Suppression(belief.states, start, after), mask


@pytest.mark.parametrize("seed", range(60))
def test_the_shortest_path_is_the_worst_output(seed):
    belief, channel, mask = random_case(seed)
    gap, posteriors, prior = listed_gap(belief, channel, mask)
    found = worst_window_gap(belief, channel, mask[None])
    assert found.value >= max(gap, 0.0) - 1e-15
    assert found.floor <= max(gap, 0.0) + 1e-15
    assert found.value == pytest.approx(max(gap, 0.0), abs=1e-12)
    assert posteriors[found.output] - prior == pytest.approx(gap, abs=1e-12)


def test_tiny_probabilities_do_not_vanish():
    tiny = 1e-160
    moves = [[1 - tiny, tiny, 0], [0, 1 - tiny, tiny], [0, 0, 1.0]]
    belief = Markov([1.0, 0, 0], moves, steps=4)
    channel = Suppression.memoryless(belief.states, np.tile([1.0, 1.0, 0.0], (4, 1)))
    mask = np.zeros((1, 4, 3), dtype=bool)
    mask[0, 1:3, 1] = True
    # State 2 would show that state 1 was visited, unseen, on a path of probability 1e-320.
    with pytest.raises(sf.Undecidable, match="below 1e-250"):
        worst_window_gap(belief, channel, mask)


def test_a_way_of_sightings_rarer_than_float64_is_followed():
    moves = np.zeros((5, 5))
    moves[0, :2], moves[1, [0, 2]], moves[2, 3:] = (1.0, 1e-170), (1.0, 1e-170), 0.5
    moves[3, 3] = moves[4, 4] = 1.0
    belief = Markov([1.0, 0, 0, 0, 0], moves, steps=4, states="abcde")
    channel = Suppression.memoryless("abcde", np.tile([0.0, 0, 0, 1, 0], (4, 1)))
    mask = np.zeros((1, 4, 5), dtype=bool)
    mask[0, 2:, 3] = True
    # After a, b and c, of probability 1e-340, nothing seen is a visit of d.
    for one in (channel, RememberingSuppression.of(channel)):
        assert worst_window_gap(belief, one, mask).floor == pytest.approx(1.0)


def test_a_day_of_eight_states_takes_no_time():
    rng = np.random.default_rng(0)
    laws = rng.dirichlet(np.ones(8), size=(23, 8))
    chain = sf.priors.markov_chain(initial=np.full(8, 1 / 8), transitions=laws, steps=24)
    secret = sf.secrets.contexts({0}, times=[9, 10, 11], window=True)
    segmented = sf.mechanisms.suppress_segmented(delta=0.2)
    release = segmented.protect(chain, sf.secrets.contexts({0}))
    began = time.process_time()
    loss = sf.measures.posterior_gap().loss(chain, secret, release)
    assert time.process_time() - began < 5.0  # 0.03 s when nothing else runs
    assert loss.bound == "exact"
