"""Gaps rounded once, against listing every trace in fractions; ties with δ stay below it."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato.beliefs import Markov
from sfumato.channels import Suppression
from sfumato.inference.markov.rational import WholeChain
from sfumato.inference.markov.segments import worst_segment_gap

TENTHS = [0.1, 0.2, 0.7]


def normalised(law):
    exact = [Fraction(float(x)) for x in law]
    return [x / sum(exact) for x in exact]


def enumerated(belief, channel, output, inside):
    """Pr[A] and Pr[A | o] by listing all traces; a law is its stored numbers over their sum."""
    initial = normalised(belief.initial)
    moves = [[normalised(row) for row in belief.matrix(t)] for t in range(belief.steps - 1)]
    prior, joint, total = Fraction(0), Fraction(0), Fraction(0)
    for path in itertools.product(range(belief.state_count), repeat=belief.steps):
        weight = initial[path[0]]
        for t in range(belief.steps - 1):
            weight *= moves[t][path[t]][path[t + 1]]
        prior += weight * inside(path)
        last = None
        for t, state in enumerate(path):
            p = Fraction(float(channel.table(last)[t, state]))
            if output[t] is sf.SUPPRESSED:
                weight *= p
            else:
                weight *= (1 - p) * (output[t] == belief.states[state])
                last = (t, state)
        total += weight
        joint += weight * inside(path)
    return prior, joint / total


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


@pytest.mark.parametrize("seed", range(40))
def test_prior_and_posterior_of_the_worst_output(seed):
    rng = np.random.default_rng(seed)
    steps, count = [(1, 4), (2, 3), (3, 3), (4, 2), (5, 2)][seed % 5]
    belief = random_chain(rng, steps, count, 9)
    start = rng.choice([0.0, 1.0, 1.0, 0.3, 1e-9], size=(steps, count))
    after = rng.choice([0.0, 1.0, 1.0, 0.7, 0.1], size=(steps, count) * 2)
    channel = Suppression(belief.states, start, after if seed % 2 else None)
    masks = np.zeros((steps, steps, count), dtype=bool)
    masks[np.arange(steps), np.arange(steps), 0] = True
    gap = worst_segment_gap(belief, channel, masks)
    prior, posterior = enumerated(belief, channel, gap.output, lambda path: path[gap.time] == 0)
    found = WholeChain.affordable(belief).prior_and_posterior(
        channel, gap.output, gap.time, masks[gap.event, gap.time]
    )
    assert found == (prior, posterior)
    if not (channel.start == 1.0).all():
        assert gap.value == float(posterior - prior)
        assert (gap.prior, gap.posterior) == (float(prior), float(posterior))


@pytest.mark.parametrize("name", ["suppress_simulatable", "suppress_hybrid", "suppress_segmented"])
def test_independent_steps_tell_exactly_nothing(name):
    chain = sf.priors.markov_chain(
        initial=TENTHS, transitions=[TENTHS] * 3, steps=4, states=["s", "x", "y"]
    )
    secret = sf.secrets.contexts({"s"}, times=[0])
    release = getattr(sf.mechanisms, name)(delta=0.0).protect(chain, secret)
    assert release.utility() == pytest.approx(3.0, rel=1e-12)
    assert sf.measures.posterior_gap().loss(chain, secret, release).value == 0.0


@pytest.mark.parametrize("steps", [3, 60])  # the second is too large for whole numbers
def test_a_release_of_nothing_tells_exactly_nothing(steps):
    rng = np.random.default_rng(0)
    chain = sf.priors.markov_chain(
        initial=rng.dirichlet(np.ones(12)), transitions=rng.dirichlet(np.ones(12), 12), steps=steps
    )
    secret = sf.secrets.contexts({0, 1})
    hidden = np.ones((steps, 12))
    release = sf.mechanisms.suppress_given(probabilities=hidden).protect(chain, secret)
    assert sf.measures.posterior_gap().loss(chain, secret, release).value == 0.0
    assert (WholeChain.affordable(chain.belief()) is None) == (steps == 60)


@pytest.mark.parametrize("delta", [0.0, 0.3, 1 / 3, 2 / 3])
@pytest.mark.parametrize(
    "name", ["suppress_probabilistic", "suppress_simulatable", "suppress_segmented"]
)
def test_a_design_that_ties_with_delta_is_never_reported_above_it(name, delta):
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
        assert gap.value <= delta
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
    assert sf.measures.posterior_gap().loss(chain, secret, release).value <= third
