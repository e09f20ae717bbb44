"""Chains of days: the stated smoothing, and a real home defended end to end."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf

HOMES = Path(__file__).parents[3].parent / "shared" / "data" / "adl_homes"


def fit_days(days, **options):
    return sf.priors.markov_chain.fit(days, homogeneous=False, **options)


def stated_formula(days, states, c):
    """P_t(i, j) in rational numbers, straight from the definition."""
    c, size, steps = Fraction(c), len(states), len(days[0])
    pairs = [[(day[t], day[t + 1]) for day in days] for t in range(steps - 1)]
    everywhere = [pair for step in pairs for pair in step]

    def habit(i, j):
        left = sum(pair[0] == i for pair in everywhere)
        if left + c == 0:
            return Fraction(1, size)
        return (everywhere.count((i, j)) + c / size) / (left + c)

    def move(t, i, j):
        left = sum(pair[0] == i for pair in pairs[t])
        if left + c == 0:
            return habit(i, j)
        return (pairs[t].count((i, j)) + c * habit(i, j)) / (left + c)

    return [[[move(t, i, j) for j in states] for i in states] for t in range(steps - 1)]


@pytest.mark.parametrize("smoothing", [0, 0.5, 1, 3])
def test_transitions_are_the_stated_formula(smoothing):
    days = [list(day) for day in ("aabbc", "abbba", "aaaaa", "bbcca")]
    states = ["a", "b", "c", "never"]
    chain = fit_days(days, states=states, smoothing=float(smoothing))
    expected = np.array(stated_formula(days, states, smoothing), dtype=object).astype(float)
    np.testing.assert_allclose(chain.transitions, expected, rtol=1e-14)
    c = Fraction(smoothing)
    occurring = (sum(day.count("a") for day in days) + c / 4) / (20 + c)
    assert chain.initial[0] == pytest.approx(float((3 + c * occurring) / (4 + c)), rel=1e-14)


def test_days_outside_their_domain():
    for days in ([], [[]], [["a"], ["a", "b"]]):
        with pytest.raises(sf.ParameterError, match="one length"):
            fit_days(days)
    for smoothing in (-1.0, float("nan"), float("inf")):
        with pytest.raises(sf.ParameterError, match="smoothing"):
            fit_days([["a"]], smoothing=smoothing)
    with pytest.raises(sf.ParameterError, match="states has no"):
        fit_days([["a"]], states=["b"])


@pytest.mark.skipif(not HOMES.exists(), reason="the activity homes are not beside the checkout")
def test_a_real_home_is_defended_end_to_end():
    from sfumato_papers.homes import read_kasteren

    log = read_kasteren(HOMES / "kasteren_mit" / "houseA.activities")
    days = [list(day.states) for day in log.day_streams(minutes=120)]
    fitted, held_out = days[: len(days) // 2], days[len(days) // 2 :]
    states = sorted({state for day in days for state in day})
    chain = sf.priors.markov_chain.fit(fitted, homogeneous=False, states=states, smoothing=1.0)
    sensitive = next(
        state for state in states if "bath" in state.lower() or "toilet" in state.lower()
    )
    secret = sf.secrets.contexts({sensitive})
    delta = 0.1
    naive = sf.mechanisms.suppress_sensitive().protect(chain, secret)
    segmented = sf.mechanisms.suppress_segmented(delta=delta).protect(chain, secret)
    hybrid = sf.mechanisms.suppress_hybrid(delta=delta).protect(chain, secret)
    gap = sf.measures.posterior_gap()
    assert gap.loss(chain, secret, naive).value > 0.5
    assert gap.loss(chain, secret, segmented).value <= delta + 1e-12
    assert segmented.utility() >= hybrid.utility() > 0
    breaches = sf.measures.breach_rate(traces=held_out, delta=delta, per="length")
    assert breaches.loss(chain, secret, segmented).value == 0.0
    for day in held_out:
        stream = segmented.stream()
        assert all(stream.send(state) in (state, sf.SUPPRESSED) for state in day)
