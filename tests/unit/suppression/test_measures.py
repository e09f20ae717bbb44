"""Windows of times, breach rates, and the weaker adversary, against enumeration."""

import itertools

import numpy as np
import pytest

import sfumato as sf


@pytest.mark.parametrize("seed", range(20))
def test_window_gap_matches_brute_force(seed, random_chain, brute_force_gap):
    rng = np.random.default_rng(seed)
    chain = random_chain(rng)
    belief = chain.belief()
    times = sorted(rng.choice(belief.steps, rng.integers(1, belief.steps + 1), replace=False))
    states = belief.states[: 1 + int(rng.integers(belief.state_count - 1))]
    secret = sf.secrets.contexts(states, times=times, together=bool(seed % 2), window=True)
    table = rng.integers(0, 4, size=(belief.steps, belief.state_count)) / 3
    release = sf.mechanisms.suppress_given(probabilities=table).protect(chain, secret)
    loss = sf.measures.posterior_gap().loss(chain, secret, release)
    truth = brute_force_gap(belief, release.channel, secret.question(belief))
    assert loss.value == pytest.approx(truth, rel=1e-10, abs=1e-12)
    assert loss.bound == "exact" or truth < 1e-8  # a window of one time, and a gap of rounding


def test_privacy_at_every_time_does_not_protect_the_window():
    # On usual days (u) someone is at a sensitive place both times or never, on others (o) exactly
    # once. Which kind of day it is tells nothing about either time, and all about the window.
    states = ["u", "o", "s", "a", "r", "b"]
    moves = {"u": "sa", "o": "rb", "s": "s", "a": "a", "r": "b", "b": "r"}
    matrix = [[(y in moves[x]) / len(moves[x]) for y in states] for x in states]
    chain = sf.priors.markov_chain(
        initial=[0.75, 0.25, 0, 0, 0, 0], transitions=matrix, steps=3, states=states
    )
    first_only = np.outer([0, 1, 1], np.ones(6))
    gap = sf.measures.posterior_gap()
    each = sf.secrets.contexts({"s", "r"}, times=[1, 2], together=True)
    window = sf.secrets.contexts({"s", "r"}, times=[1, 2], together=True, window=True)
    release = sf.mechanisms.suppress_given(probabilities=first_only).protect(chain, each)
    nothing = gap.loss(chain, each, release)
    assert nothing.bound == "upper"
    assert nothing.value < 1e-13  # the proved rounding error of the check
    loss = gap.loss(chain, window, release)
    assert loss.value == pytest.approx(3 / 8, rel=1e-12)  # 1 against 3/4 · 1/2 + 1/4
    assert loss.witness["output"][0] == "o"
    # What does follow from δ/2 = 0 each: the union bound, with the *sum* of the priors, 1.
    assert loss.value + 5 / 8 <= 1.0 + 1e-12


def chain_and_secret():
    chain = sf.priors.markov_chain(
        initial=[0.2, 0.4, 0.4],
        transitions=[[0.6, 0.4, 0.0], [0.2, 0.6, 0.2], [0.0, 0.3, 0.7]],
        steps=4,
        states=["s", "a", "b"],
    )
    return chain, sf.secrets.contexts({"s"})


def posterior_by_enumeration(belief, channel, observed):
    """Pr[X_t = k | o] from log_likelihood alone."""
    total, inside = 0.0, np.zeros((belief.steps, belief.state_count))
    for path in itertools.product(range(belief.state_count), repeat=belief.steps):
        trace = belief.decode(path)
        weight = np.exp(belief.log_probability(trace) + channel.log_likelihood(observed, trace))
        total += weight
        inside[np.arange(belief.steps), path] += weight
    return inside / total


@pytest.mark.parametrize("per", ["sensitive_state", "length"])
def test_breach_rate_counts_breaches(per):
    chain, secret = chain_and_secret()
    belief = chain.belief()
    traces = belief.sample(np.random.default_rng(0), 12)
    release = sf.mechanisms.suppress_sensitive().protect(chain, secret)
    breaches = sensitive = 0
    for trace in traces:
        observed = [sf.SUPPRESSED if state == "s" else state for state in trace]
        posterior = posterior_by_enumeration(belief, release.channel, observed)
        rise = posterior[:, 0] - belief.marginals()[:, 0]
        there = np.array([state == "s" for state in trace])
        sensitive += there.sum()
        breaches += (there & (rise > 0.1)).sum()
    assert 0 < breaches <= sensitive
    loss = sf.measures.breach_rate(traces=traces, delta=0.1, per=per).loss(chain, secret, release)
    assert loss.bound == "exact"
    assert loss.value == pytest.approx(breaches / {"sensitive_state": sensitive, "length": 48}[per])
    assert loss.witness == {
        "sensitive_state": pytest.approx(breaches / sensitive),
        "length": pytest.approx(breaches / 48),
    }


def test_private_mechanisms_are_never_breached():
    chain, secret = chain_and_secret()
    traces = chain.belief().sample(np.random.default_rng(1), 50)
    measure = sf.measures.breach_rate(traces=traces, delta=0.2)
    for name in ("suppress_probabilistic", "suppress_hybrid", "suppress_segmented"):
        release = getattr(sf.mechanisms, name)(delta=0.2).protect(chain, secret)
        assert measure.loss(chain, secret, release).value == 0.0


def test_a_rate_that_depends_on_chance_is_an_estimate_that_covers_the_truth():
    chain, secret = chain_and_secret()
    belief = chain.belief()
    traces = [trace for trace in belief.sample(np.random.default_rng(2), 24) if "s" in trace]
    table = np.tile([0.5, 0.5, 0.5], (4, 1))
    release = sf.mechanisms.suppress_given(probabilities=table).protect(chain, secret)
    prior = belief.marginals()[:, 0]
    expected = sensitive = 0.0
    for trace in traces:
        for hidden in itertools.product([False, True], repeat=4):
            observed = [sf.SUPPRESSED if h else x for h, x in zip(hidden, trace, strict=True)]
            posterior = posterior_by_enumeration(belief, release.channel, observed)[:, 0]
            there = np.array([state == "s" for state in trace])
            expected += (there & (posterior - prior > 0.3)).sum() / 16
        sensitive += trace.count("s")
    loss = sf.measures.breach_rate(traces=traces, delta=0.3).loss(chain, secret, release)
    assert loss.bound == "estimate"
    assert loss.floor < expected / sensitive < loss.ceiling
    assert loss.floor > 0


def test_breach_rate_refuses_what_it_cannot_count():
    chain, secret = chain_and_secret()
    release = sf.mechanisms.suppress_sensitive().protect(chain, secret)
    with pytest.raises(sf.OutsideHypotheses, match="sensitive state"):
        sf.measures.breach_rate(traces=[["a"] * 4]).loss(chain, secret, release)
    with pytest.raises(sf.ParameterError, match="4 states each"):
        sf.measures.breach_rate(traces=[["a"]]).loss(chain, secret, release)
    with pytest.raises(sf.ParameterError, match="states has no"):
        sf.measures.breach_rate(traces=[["a", "b", "c", "d"]]).loss(chain, secret, release)
    window = sf.secrets.contexts({"s"}, window=True)
    with pytest.raises(sf.OutsideHypotheses, match="window"):
        sf.measures.breach_rate(traces=[["s"] * 4]).loss(chain, window, release)


def test_frequency_only_ignores_all_but_the_present_symbol():
    chain, secret = chain_and_secret()
    belief = chain.belief()
    table = np.array([[1, 0.5, 0.2]] * 4)
    channel = sf.mechanisms.suppress_given(probabilities=table).protect(chain, secret).channel
    found = sf.adversaries.frequency_only().infer(
        belief, channel, [sf.SUPPRESSED, "a", sf.SUPPRESSED, sf.SUPPRESSED]
    )
    hidden = belief.marginals() * table
    expected = hidden / hidden.sum(axis=1, keepdims=True)
    expected[1] = [0, 1, 0]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_the_strong_adversary_conditions_on_everything(seed, random_chain, random_secret):
    rng = np.random.default_rng(seed)
    chain = random_chain(rng)
    belief = chain.belief()
    release = sf.mechanisms.suppress_segmented(delta=0.3).protect(chain, random_secret(rng, chain))
    observed = release.apply(belief.sample(rng), rng)
    found = sf.adversaries.hidden_markov_posterior().infer(belief, release.channel, observed)
    truth = posterior_by_enumeration(belief, release.channel, observed)
    np.testing.assert_allclose(found, truth, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize(("per", "rate"), [("length", 1.0), ("sensitive_state", 1.0)])
def test_a_state_in_two_events_is_breached_once(per, rate):
    chain = sf.priors.markov_chain(
        initial=[0.5, 0.5], transitions=[[0.5, 0.5], [0.5, 0.5]], steps=2, states=["s", "x"]
    )
    secret = sf.secrets.contexts({"s"}) | sf.secrets.contexts({"s"}, times=[0])
    shown = sf.mechanisms.suppress_given(probabilities=np.zeros((2, 2))).protect(chain, secret)
    measure = sf.measures.breach_rate(traces=[["s", "s"]], delta=0.1, per=per)
    assert measure.loss(chain, secret, shown).value == rate
    at = shown.situation(chain, secret)
    assert measure.brute_force(at.belief, at.question, at.channel).value == rate
