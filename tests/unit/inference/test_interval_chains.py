"""Losses over intervals of chains, against every trace and output of members on a dense grid."""

import itertools
import math

import numpy as np
import pytest

import sfumato as sf
from sfumato.inference.markov.interval_chains import bound_bends
from sfumato.prior_classes.families import boxes_of

TAU = sf.Interval(0.25, 0.9)
WEIGHT = sf.Interval(0.1, 0.95)


def matrices(rng, states):
    return [rng.dirichlet(np.full(states, 0.8), size=states) * 0.98 + 0.02 / states for _ in "AB"]


def drawn(seed):
    """Return a class of chains, its interval, its transitions and first law by parameter."""
    rng = np.random.default_rng(seed)
    if seed % 3 == 0:
        prior = sf.priors.line_chain(states=3, tau=TAU, steps=4)

        def moves(tau):
            weights = np.exp(-np.abs(np.subtract.outer(range(3), range(3))) / (3 * tau))
            return weights / weights.sum(axis=1, keepdims=True)

        return prior, TAU, moves, lambda tau: stationary(moves(tau))
    first, second = matrices(rng, 3)
    if seed % 3 == 1:
        second[0, 1] = first[0, 1] = 0.0
        first, second = (m / m.sum(axis=1, keepdims=True) for m in (first, second))
    law = "stationary" if seed % 2 else rng.dirichlet(np.ones(3)).tolist()
    prior = sf.priors.mixed_chain(law, first.tolist(), second.tolist(), WEIGHT, steps=4)

    def moves(weight):
        return first + weight * (second - first)

    return prior, WEIGHT, moves, lambda w: stationary(moves(w)) if seed % 2 else np.array(law)


def stationary(matrix):
    return np.linalg.matrix_power(matrix, 4000)[0]


def tables(law, matrix, channel, time, steps=4):
    """Return Pr[X_t, outputs] by listing every trace; `channel` holds Pr[hidden | state]."""
    joint = {}
    for trace in itertools.product(range(3), repeat=steps):
        p = law[trace[0]] * math.prod(matrix[a, b] for a, b in itertools.pairwise(trace))
        for hidden in itertools.product((0, 1), repeat=steps):
            chances = [
                channel[x] if h else 1 - channel[x] for x, h in zip(trace, hidden, strict=True)
            ]
            seen = tuple(-1 if h else x for x, h in zip(trace, hidden, strict=True))
            joint.setdefault(seen, np.zeros(3))[trace[time]] += p * math.prod(chances)
    table = np.array(list(joint.values())).T
    return table[:, table.sum(axis=0) > 0]


def gap(joint):
    return max(0.0, (joint[0] / joint.sum(axis=0)).max() - joint[0].sum())


def pair(joint):
    event, rest = joint[0], joint[1:].sum(axis=0)
    return event / event.sum(), rest / rest.sum()


def renyi(joint):
    p, q = pair(joint)
    return math.log(np.sum(p[q > 0] ** 2 / q[q > 0]))


def information(joint):
    event = np.array([joint[0], joint[1:].sum(axis=0)])
    ratio = event / np.outer(event.sum(axis=1), event.sum(axis=0))
    return np.sum(event[event > 0] * np.log(ratio[event > 0]))


def success(joint):
    return np.maximum(joint[0], joint[1:].sum(axis=0)).sum()


MEASURES = [
    (sf.measures.posterior_gap(), gap),
    (sf.measures.renyi(order=2.0), renyi),
    (sf.measures.renyi(order=math.inf), lambda j: np.log(np.divide(*pair(j)).max())),
    (sf.measures.advantage(), lambda j: np.maximum(np.subtract(*pair(j)), 0).sum()),
    (
        sf.measures.hockey_stick(epsilon=0.4),
        lambda j: np.maximum(pair(j)[0] - math.exp(0.4) * pair(j)[1], 0).sum(),
    ),
    (sf.measures.bayes_success(), success),
    (sf.measures.expected_error(), lambda j: 1 - success(j)),
    (sf.measures.g_vulnerability(gain=[[1, -1], [0, 0.5]]), lambda j: np.maximum(
        j[0] - j[1:].sum(axis=0), 0.5 * j[1:].sum(axis=0)).sum()),
    (sf.measures.maximal_leakage(), lambda j: math.log(np.maximum(*pair(j)).sum())),
    (sf.measures.pointwise_leakage(), lambda j: math.log(
        max((p / j.sum(axis=0)).max() / p.sum() for p in (j[0], j[1:].sum(axis=0))))),
    (sf.measures.mutual_information(about="secret"), information),
]  # fmt: skip


@pytest.mark.parametrize("seed", range(6))
def test_no_chain_of_an_interval_loses_more_than_what_is_proved(seed):
    prior, interval, moves, law = drawn(seed)
    channel = [1.0, 0.4, 0.7]
    secret = sf.secrets.contexts({0}, times=[1])
    release = sf.mechanisms.suppress_given(probabilities=[channel] * 4).protect(prior, secret)
    grid = np.linspace(interval.low, interval.high, 61)
    seen = [tables(law(x), moves(x), channel, 1) for x in grid]
    for measure, by_hand in MEASURES:
        values = [by_hand(joint) for joint in seen]
        loss = measure.loss(prior, secret, release)
        assert "proved" in loss.how, measure
        if measure.quantity.worse == "larger":
            assert loss.bound == "upper"
            assert max(values) <= loss.value * (1 + 1e-12) <= max(values) * 1.0025 + 1e-9, measure
        else:
            assert min(values) * 0.9975 <= loss.value <= min(values) * (1 + 1e-12), measure
        best = measure.loss(loss.worst, secret, release)
        assert loss.floor <= best.ceiling * (1 + 1e-12), measure
        assert best.floor <= loss.ceiling * (1 + 1e-12), measure


@pytest.mark.parametrize("seed", range(12))
def test_quotients_of_probabilities_bend_no_more_than_is_said(seed):
    prior, interval, moves, law = drawn(seed)
    [box] = boxes_of(prior)
    rng = np.random.default_rng(seed)
    low = rng.uniform(interval.low, interval.high - 0.1)
    ends = low, low + 10 ** rng.uniform(-2.5, -1)
    found = bound_bends(box, 4, np.array([ends[:1]]), np.array([ends[1:]]))
    paths = np.array(list(itertools.product(range(3), repeat=4)))
    sets = rng.random((40, len(paths))) < rng.uniform(0.02, 0.9, (40, 1))
    sets[0] = True

    def logarithms(x):
        matrix = moves(x)
        chances = law(x)[paths[:, 0]] * np.prod(matrix[paths[:, :-1], paths[:, 1:]], axis=1)
        sums = sets @ chances
        sums = sums[sums > 0]  # the same ones for every x
        return np.log(sums)[:, None] - np.log(sums)

    first, last = map(logarithms, ends)
    assert np.max(np.abs(first - last)) ** 2 / 8 <= found.turns[0]
    for t in np.linspace(0, 1, 9):
        straight = (1 - t) * first + t * last
        bent = np.abs(logarithms((1 - t) * ends[0] + t * ends[1]) - straight)
        assert np.max(bent) <= found.bends[0] + 1e-12


def test_two_parameters_and_choices_are_boxes_too():
    cells = sf.AnyOf(
        sf.priors.line_chain(states=3, tau=sf.Interval(0.5, 0.6), steps=3),
        sf.priors.line_chain(states=3, tau=0.9, steps=3),
    )
    secret = sf.secrets.contexts({1})
    release = sf.mechanisms.suppress_given(probabilities=[[0.2, 1, 0.5]] * 3).protect(cells, secret)
    loss = sf.measures.posterior_gap().loss(cells, secret, release)
    members = [sf.priors.line_chain(states=3, tau=x, steps=3) for x in (0.5, 0.55, 0.6, 0.9)]
    grid = [sf.measures.posterior_gap().loss(m, secret, release).value for m in members]
    assert loss.bound == "upper"
    assert max(grid) <= loss.value <= max(grid) * 1.0015


def test_what_cannot_be_proved_is_searched_as_before():
    secret = sf.secrets.contexts({1})
    # A move that only some members can make: a posterior may jump where it becomes possible.
    torn = sf.priors.mixed_chain(
        [0.5, 0.5], [[1, 0], [0.5, 0.5]], [[0.5, 0.5], [0.5, 0.5]], sf.Interval(0, 0.5), steps=3
    )
    hide = sf.mechanisms.suppress_given(probabilities=[[0.2, 0.9]] * 3)
    release = hide.protect(torn, secret)
    assert sf.measures.posterior_gap().loss(torn, secret, release).bound == "estimate"
    # A share of outputs jumps, too.
    line = sf.priors.line_chain(states=2, tau=sf.Interval(0.5, 1), steps=3)
    release = hide.protect(line, secret)
    assert sf.measures.breach_rate(delta=0.1).loss(line, secret, release).bound == "estimate"


def test_a_certificate_over_an_interval_of_chains_guarantees():
    from sfumato.release.certificates import certify

    line = sf.priors.line_chain(states=4, tau=sf.Interval(0.3, 0.6), steps=6)
    secret = sf.secrets.contexts({2})
    release = sf.mechanisms.suppress_given(probabilities=[[0.1, 0.2, 0.9, 0.3]] * 6).protect(
        line, secret
    )
    found = certify(release, [sf.measures.posterior_gap(), sf.measures.bayes_success()], None)
    names = [entry["measure"]["name"] for entry in found["guarantees"]]
    assert names == ["posterior_gap", "bayes_success"]


def test_moves_too_rare_for_float64_are_refused():
    with pytest.raises(sf.ParameterError, match="tau must be at least"):
        sf.priors.line_chain(states=10, tau=1e-3, steps=3)
