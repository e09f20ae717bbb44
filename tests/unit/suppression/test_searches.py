"""The searches against exhaustive enumeration and the paper's own recursions."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato_suppression.memoryless_search import (
    MemorylessTable,
    best_grid_table,
    greedy_tables,
)
from sfumato_suppression.protected_chain import FINEST, ProtectedChain


def protected(chain, secret, delta):
    belief = chain.belief()
    return ProtectedChain.of(belief, secret.question(belief), delta)


def memoryless(chain, table):
    return sf.mechanisms.suppress_given(probabilities=table)


@pytest.mark.parametrize("seed", range(6))
def test_exhaustive_search_finds_the_best_table_on_the_grid(seed, brute_force_gap, monkeypatch):
    monkeypatch.setattr("sfumato_suppression.memoryless_search.GRID", 3)
    rng = np.random.default_rng(seed)
    chain = sf.priors.markov_chain(
        initial=rng.dirichlet(np.ones(3)), transitions=rng.dirichlet(np.ones(3), size=3), steps=2
    )
    secret, delta = sf.secrets.contexts({0}), (0.1, 0.2, 0.35)[seed % 3]
    belief = chain.belief()
    question, worth = secret.question(belief), belief.marginals()
    best = 0.0
    for values in itertools.product(np.arange(4) / 3, repeat=4):  # the sensitive state is hidden
        table = np.ones((2, 3))
        table[:, 1:] = np.reshape(values, (2, 2))
        utility = float((worth * (1 - table)).sum())
        if utility <= best:
            continue
        channel = sf.mechanisms.suppress_given(probabilities=table).protect(chain, secret).channel
        if brute_force_gap(belief, channel, question) <= delta + 1e-12:
            best = utility
    found = best_grid_table([protected(chain, secret, delta)])
    assert float((worth * (1 - found)).sum()) == pytest.approx(best, rel=1e-12, abs=1e-12)


def test_exhaustive_search_refuses_what_is_too_large(monkeypatch):
    monkeypatch.setattr("sfumato_suppression.memoryless_search.LIMIT", 3)
    rng = np.random.default_rng(0)
    chain = sf.priors.markov_chain(
        initial=rng.dirichlet(np.ones(4)), transitions=rng.dirichlet(np.ones(4), size=4), steps=4
    )
    mechanism = sf.mechanisms.suppress_probabilistic(delta=0.1, search="exhaustive")
    with pytest.raises(sf.OutsideHypotheses, match="greedy"):
        mechanism.protect(chain, sf.secrets.contexts({0}))


@pytest.mark.parametrize(("steps", "count"), [(6, 6), (24, 19)])
def test_exhaustive_search_refuses_a_hopeless_chain_before_it_starts(steps, count, monkeypatch):
    def visit(*_):
        pytest.fail("the search was begun")

    monkeypatch.setattr("sfumato_suppression.memoryless_search._Search._visit", visit)
    chain = sf.priors.markov_chain(
        initial=np.full(count, 1 / count),
        transitions=np.full((count, count), 1 / count),
        steps=steps,
    )
    mechanism = sf.mechanisms.suppress_probabilistic(delta=0.1, search="exhaustive")
    refusal = f"for {steps * count} probabilities .* \\(4 always do\\); use search="
    with pytest.raises(sf.OutsideHypotheses, match=refusal):
        mechanism.protect(chain, sf.secrets.contexts({0, 1, 2}))


@pytest.mark.parametrize("seed", range(20))
def test_a_lowered_entry_cannot_be_lowered_further(
    seed, random_chain, random_secret, brute_force_gap
):
    rng = np.random.default_rng(seed)
    chain = random_chain(rng)
    secret, delta = random_secret(rng, chain), 0.15
    belief = chain.belief()
    question = secret.question(belief)
    table = MemorylessTable([protected(chain, secret, delta)], np.ones(belief.marginals().shape))
    places = list(np.ndindex(table.chances.shape))
    rng.shuffle(places)
    for time, state in places:
        table.lower(time * belief.state_count + state, 0)
    assert ((table.chances == 0) | (table.chances >= FINEST)).all()
    assert ((table.chances == 1) | (table.chances <= 1 - FINEST)).all()

    def gap(chances):
        release = memoryless(chain, chances).protect(chain, secret)
        return brute_force_gap(belief, release.channel, question)

    assert gap(table.chances) <= delta + 1e-12
    for time, state in places:
        chance = table.chances[time, state]
        if belief.marginals()[time, state] > 0 and chance > FINEST:
            lower = table.chances.copy()
            lower[time, state] = chance * (1 - 1e-5) - 1e-9
            assert gap(lower) > delta * (1 - 1e-11)  # fractions keep 1e-12 from the limit


def test_greedy_tables_are_all_private(brute_force_gap):
    rng = np.random.default_rng(4)
    chain = sf.priors.markov_chain(
        initial=rng.dirichlet(np.ones(4)), transitions=rng.dirichlet(np.ones(4), size=4), steps=4
    )
    secret = sf.secrets.contexts({0, 1})
    belief = chain.belief()
    for table in greedy_tables([protected(chain, secret, 0.2)]):
        channel = memoryless(chain, table).protect(chain, secret).channel
        assert brute_force_gap(belief, channel, secret.question(belief)) <= 0.2 + 1e-12


def gamma_utility(belief, sensitive, delta):  # noqa: C901 - algorithm 4, literally
    """Expected releases of algorithm 4 by the recursion of section 5.1, in rational numbers."""
    steps, count = belief.steps, belief.state_count

    def exact(law):
        return [Fraction(x).limit_denominator(10**6) for x in law]

    matrices = [[exact(row) for row in matrix] for matrix in belief.transitions]
    initial = exact(belief.initial)

    def move(law, t):
        return [sum(law[k] * matrices[t][k][j] for k in range(count)) for j in range(count)]

    def unit(k):
        return [Fraction(int(j == k)) for j in range(count)]

    prior = [initial]
    for t in range(steps - 1):
        prior.append(move(prior[-1], t))

    def reach(law, u, v):
        for t in range(u, v):
            law = move(law, t)
        return law

    def okay(first, law, now):
        """okayToRelease at `now`, X_first having the law `law` and all since being suppressed."""
        arriving = reach(law, first, now)
        for j in range(count):
            if arriving[j] == 0:
                continue
            for s in sensitive:
                for t in range(first, steps):
                    if t < now:
                        onward = reach(unit(s), t, now)[j]
                        posterior = reach(law, first, t)[s] * onward / arriving[j]
                    else:
                        posterior = reach(unit(j), now, t)[s]
                    if posterior - prior[t][s] > delta:
                        return False
        return True

    def suppressed_after(first, law):
        """γ: expected suppressions from time `first` on."""
        if first == steps:
            return Fraction(0)
        for now in range(first, steps):
            if okay(first, law, now):
                arriving = reach(law, first, now)
                later = Fraction(0)
                for j in range(count):
                    if arriving[j]:
                        following = matrices[now][j] if now + 1 < steps else None
                        later += arriving[j] * suppressed_after(now + 1, following)
                return now - first + later
        return Fraction(steps - first)

    return steps - suppressed_after(0, initial)


@pytest.mark.parametrize("seed", range(25))
def test_simulatable_utility_is_that_of_the_gamma_recursion(seed):
    rng = np.random.default_rng(seed)
    steps, count = 4, 3
    weights = rng.integers(0, 4, size=(steps, count, count)) + np.eye(count, dtype=int)
    laws = weights / weights.sum(axis=2, keepdims=True)
    chain = sf.priors.markov_chain(initial=laws[0, 0], transitions=laws[1:], steps=steps)
    delta = Fraction(int(rng.integers(1, 9)), 17)  # not a tie: denominators differ
    release = sf.mechanisms.suppress_simulatable(delta=float(delta)).protect(
        chain, sf.secrets.contexts({0})
    )
    expected = gamma_utility(chain.belief(), [0], delta)
    assert release.utility() == pytest.approx(float(expected), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_utility_is_the_expected_number_of_releases(seed, random_chain, random_secret, joint):
    rng = np.random.default_rng(seed)
    chain = random_chain(rng)
    release = sf.mechanisms.suppress_segmented(delta=0.3).protect(chain, random_secret(rng, chain))
    belief = chain.belief()
    _, outputs, weight = joint(belief, release.channel)
    shown = (outputs < belief.state_count).sum(axis=1)
    assert release.utility() == pytest.approx(float((weight * shown).sum()), rel=1e-12, abs=1e-14)
    fraction = sf.measures.released_fraction().loss(chain, release.secret, release)
    assert fraction.value == pytest.approx(release.utility() / belief.steps, rel=1e-12)


def test_segmented_beats_the_hybrid_on_a_day():
    rng = np.random.default_rng(0)
    moves = rng.dirichlet(np.full(8, 0.5), size=(11, 8))
    transitions = 0.6 * np.eye(8) + 0.4 * moves
    chain = sf.priors.markov_chain(initial=np.full(8, 1 / 8), transitions=transitions, steps=12)
    secret = sf.secrets.contexts({0, 1})
    hybrid = sf.mechanisms.suppress_hybrid(delta=0.2).protect(chain, secret)
    segmented = sf.mechanisms.suppress_segmented(delta=0.2).protect(chain, secret)
    assert segmented.utility() > 1.2 * hybrid.utility()
    assert sf.measures.posterior_gap().loss(chain, secret, segmented).value <= 0.2


def test_underflow_does_not_let_a_breach_through():
    # Transitions of 1e-120: a path of three is 1e-360, and counts like any other.
    tiny = 1e-120
    matrix = np.array([[1 - tiny, tiny, 0], [0, 1 - tiny, tiny], [0, 0, 1.0]])
    chain = sf.priors.markov_chain(initial=[1.0, 0, 0], transitions=matrix, steps=6)
    for mechanism in ("suppress_probabilistic", "suppress_segmented", "suppress_simulatable"):
        secret = sf.secrets.contexts({1})
        release = getattr(sf.mechanisms, mechanism)(delta=0.1).protect(chain, secret)
        loss = sf.measures.posterior_gap().loss(chain, secret, release)
        assert loss.value <= 0.1 + 1e-12


def test_an_exhaustive_search_is_never_below_the_greedy_one():
    chain = sf.priors.markov_chain(
        initial=[5 / 12, 7 / 12],
        transitions=[[5 / 12, 7 / 12], [0.2, 0.8]],
        steps=2,
        states=["s", "x"],
    )
    secret = sf.secrets.contexts({"s"})
    greedy, exhaustive = (
        sf.mechanisms.suppress_probabilistic(delta=0.25, search=search).protect(chain, secret)
        for search in ("greedy", "exhaustive")
    )
    assert exhaustive.utility() >= greedy.utility()
