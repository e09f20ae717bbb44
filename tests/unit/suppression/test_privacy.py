"""Every mechanism with a δ keeps it, judged by brute force over all traces and outputs."""

import itertools

import numpy as np
import pytest

import sfumato as sf
from sfumato.beliefs import Markov

MECHANISMS = {
    "suppress_probabilistic": {},
    "suppress_simulatable": {},
    "suppress_hybrid": {},
    "suppress_segmented": {},
}
DELTAS = (0.0, 0.02, 0.1, 0.25, 1 / 3, 0.6, 1.0)


@pytest.mark.parametrize("block", range(10))
def test_every_mechanism_keeps_its_delta(block, random_chain, random_secret, brute_force_gap):
    for seed in range(20 * block, 20 * block + 20):
        rng = np.random.default_rng(seed)
        chain = random_chain(rng)
        secret = random_secret(rng, chain)
        delta = DELTAS[seed % len(DELTAS)]
        belief = chain.belief()
        question = secret.question(belief)
        utilities = {}
        for name in MECHANISMS:
            release = getattr(sf.mechanisms, name)(delta=delta).protect(chain, secret)
            truth = brute_force_gap(belief, release.channel, question)
            assert truth <= delta + 1e-12, (seed, name)
            loss = sf.measures.posterior_gap().loss(chain, secret, release)
            assert loss.value == pytest.approx(truth, rel=1e-9, abs=1e-12), (seed, name)
            assert loss.bound == ("exact" if loss.value == 0.0 or truth > 1e-8 else "upper")
            utilities[name] = release.utility()
        hybrid = max(utilities["suppress_probabilistic"], utilities["suppress_simulatable"])
        assert utilities["suppress_hybrid"] == pytest.approx(hybrid, rel=1e-9, abs=1e-12)
        assert utilities["suppress_segmented"] >= utilities["suppress_hybrid"] * (1 - 1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_every_member_of_a_finite_class_is_certified(
    seed, random_chain, random_secret, brute_force_gap
):
    rng = np.random.default_rng(1000 + seed)
    first = random_chain(rng)
    count, steps = first.belief().state_count, first.steps
    second = sf.priors.markov_chain(
        initial=rng.dirichlet(np.ones(count)),
        transitions=rng.dirichlet(np.ones(count), size=count),
        steps=steps,
        states=first.states,
    )
    secret, either = random_secret(rng, first), sf.AnyOf(first, second)
    utilities = {}
    for name in MECHANISMS:
        release = getattr(sf.mechanisms, name)(delta=0.2).protect(either, secret)
        for member in (first, second):
            belief = member.belief()
            question = secret.question(belief)
            assert brute_force_gap(belief, release.channel, question) <= 0.2 + 1e-12, name
        utilities[name] = release.utility()
        alone = getattr(sf.mechanisms, name)(delta=0.2).protect(first, secret)
        if name == "suppress_simulatable":  # what is private for both is private for one
            assert release.utility() <= alone.utility() + 1e-12
    assert utilities["suppress_segmented"] >= utilities["suppress_hybrid"] * (1 - 1e-9)


def test_chains_whose_states_differ_in_order_are_no_class():
    first, second = (
        sf.priors.markov_chain(
            initial=[0.5, 0.5], transitions=np.full((2, 2), 0.5), steps=2, states=states
        )
        for states in (["s", "x"], ["x", "s"])
    )
    with pytest.raises(sf.ParameterError, match="the same states in the same order"):
        sf.AnyOf(first, second)


@pytest.mark.parametrize("name", MECHANISMS)
def test_an_interval_class_is_refused(name):
    class Drifting(sf.PriorClass):
        name = "drifting"
        finite = False
        yields = Markov

        def __init__(self):
            self.member = sf.priors.markov_chain(
                initial=[0.5, 0.5], transitions=np.full((2, 2), 0.5), steps=2
            )

        def members(self):
            yield self.member

        def supremum(self, function):
            return sf.Supremum(function(self.member), self.member, "searched")

        def specification(self):
            return {"name": "drifting"}

    with pytest.raises(sf.OutsideHypotheses, match="interval"):
        getattr(sf.mechanisms, name)(delta=0.2).protect(Drifting(), sf.secrets.contexts({0}))


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("seed", range(6))
def test_a_window_of_times_is_protected(name, seed, random_chain, brute_force_gap):
    rng = np.random.default_rng(seed)
    chain, delta = random_chain(rng), 0.15
    secret = sf.secrets.contexts(chain.belief().states[:1], window=True)
    release = getattr(sf.mechanisms, name)(delta=delta).protect(chain, secret)
    belief = chain.belief()
    truth = brute_force_gap(belief, release.channel, secret.question(belief))
    assert truth <= delta + 1e-12
    assert truth - 1e-15 <= release.claims["posterior_gap"] <= delta + 1e-12


def test_a_window_is_protected_at_some_utility_where_its_times_alone_are_not():
    chain = sf.priors.markov_chain(
        initial=[0.1, 0.5, 0.4],
        transitions=[[0.5, 0.3, 0.2], [0.1, 0.7, 0.2], [0.1, 0.3, 0.6]],
        steps=6,
        states=["hospital", "home", "work"],
    )
    window = sf.secrets.contexts({"hospital"}, times=[2, 3, 4], window=True)
    each = sf.secrets.contexts({"hospital"}, times=[2, 3, 4])
    gap, segmented = sf.measures.posterior_gap(), sf.mechanisms.suppress_segmented(delta=0.05)
    assert gap.loss(chain, window, segmented.protect(chain, each)).value > 0.05
    release = segmented.protect(chain, window)
    assert gap.loss(chain, window, release).value <= 0.05
    assert release.utility() > 1.4
    nothing = sf.mechanisms.suppress_segmented(delta=1e-158).protect(chain, window)
    assert nothing.claims["posterior_gap"] == 0.0


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("window", [False, True])
def test_how_states_are_listed_changes_no_design(name, window):
    initial, moves = np.array([0.2, 0.5, 0.3]), np.array([[5, 3, 2], [1, 7, 2], [3, 1, 6]]) / 10
    found = []
    for order in itertools.permutations(range(3)):
        chain = sf.priors.markov_chain(
            initial[list(order)], moves[np.ix_(order, order)], 4, [f"state {k}" for k in order]
        )
        secret = sf.secrets.contexts({"state 0"}, window=window)
        release = getattr(sf.mechanisms, name)(delta=0.1).protect(chain, secret)
        found.append(release.channel.permuted(np.argsort(order)))
    for channel in found[1:]:
        assert channel.states == found[0].states
        np.testing.assert_allclose(channel.start, found[0].start, atol=1e-9)
        if channel.after is not None:
            np.testing.assert_allclose(channel.after, found[0].after, atol=1e-9)


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("delta", [-0.1, 1.5, float("nan"), "0.1", None, True])
def test_delta_outside_its_domain(name, delta):
    with pytest.raises(sf.ParameterError, match=f"{name}.delta must be"):
        getattr(sf.mechanisms, name)(delta=delta)
