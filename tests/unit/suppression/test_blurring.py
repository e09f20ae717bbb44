"""Randomised response and generalisation, against their definitions in plain sums."""

import itertools
import math

import numpy as np
import pytest

import sfumato as sf


def chain(steps=3):
    return sf.priors.markov_chain(
        initial=[0.2, 0.3, 0.5],
        transitions=[[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.25, 0.25, 0.5]],
        steps=steps,
        states=["a", "b", "c"],
    )


def worst_rise(belief, law, symbols):
    """max Pr[X_t = a | o] − Pr[X_t = a], the law of a symbol given a state being law(state, y)."""
    joint = {}
    for path in itertools.product(range(3), repeat=belief.steps):
        chance = belief.initial[path[0]]
        for t in range(belief.steps - 1):
            chance *= belief.transitions[t][path[t], path[t + 1]]
        for output in itertools.product(symbols, repeat=belief.steps):
            weight = chance * math.prod(law(x, y) for x, y in zip(path, output, strict=True))
            seen = joint.setdefault(output, np.zeros(1 + belief.steps))
            seen += weight * np.array([1.0, *(x == 0 for x in path)])
    priors = belief.marginals()[:, 0]
    return max((seen[1:] / seen[0] - priors).max() for seen in joint.values() if seen[0] > 0)


def test_randomised_response_is_what_it_says():
    prior, epsilon = chain(), 1.3
    release = sf.mechanisms.randomised_response(epsilon=epsilon).protect(
        prior, sf.secrets.contexts({"a"})
    )
    total = math.exp(epsilon) + 2

    def law(x, y):
        return (math.exp(epsilon) if x == y else 1.0) / total

    loss = sf.measures.posterior_gap().loss(prior, release.secret, release)
    assert loss.value == pytest.approx(worst_rise(prior.belief(), law, range(3)), rel=1e-9)
    assert release.utility() == pytest.approx(3 * math.exp(epsilon) / total)
    drawn = release.channel.sample_many(np.zeros((20_000, 3), dtype=int), np.random.default_rng(0))
    share = (np.asarray(drawn) == "a").mean()
    assert abs(share - math.exp(epsilon) / total) < 6 * math.sqrt(0.25 / 60_000)
    ratios = release.channel.probabilities
    worst = max(np.log(ratios[0, x] / ratios[0, y]).max() for x in range(3) for y in range(3))
    assert worst == pytest.approx(epsilon)
    sure = sf.mechanisms.randomised_response(epsilon=2000.0).protect(prior, release.secret)
    assert sure.utility() == 3.0


def test_groups_that_share_a_state_are_one():
    prior, secret = chain(), sf.secrets.contexts({"a"})
    release = sf.mechanisms.generalise(groups=[{"a", "b"}]).protect(prior, secret)
    assert release.apply(["a", "c", "b"]) == (frozenset("ab"), "c", frozenset("ab"))
    loss = sf.measures.posterior_gap().loss(prior, secret, release)

    def law(x, y):
        return float(y == ("merged" if x < 2 else "c"))

    assert loss.value == pytest.approx(worst_rise(prior.belief(), law, ["merged", "c"]), rel=1e-9)
    assert release.utility() == pytest.approx(prior.belief().marginals()[:, 2].sum())
    whole = sf.mechanisms.generalise(groups=[{"a", "b"}, {"c", "b"}]).protect(prior, secret)
    assert set(whole.apply(["a", "c", "b"])) == {frozenset("abc")}
    assert sf.measures.posterior_gap().loss(prior, secret, whole).value < 1e-11
    with pytest.raises(sf.ParameterError, match="groups"):
        sf.mechanisms.generalise(groups=[{"a", "z"}]).protect(prior, secret)
