"""The segment check against listing every trace and every output in rational arithmetic."""

import itertools
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest

from sfumato.beliefs import Markov
from sfumato.channels import Suppression
from sfumato.errors import Incompatible, ParameterError
from sfumato.inference.markov.segments import (
    BEGINNING,
    release_probabilities,
    silent_kernels,
    worst_segment_gap,
)
from sfumato.values import SUPPRESSED


def is_private(belief, channel, masks, delta):
    """Whether no gap is proved to exceed δ."""
    return worst_segment_gap(belief, channel, masks).floor <= delta


def worst_posteriors(belief, channel, masks):
    return [worst_segment_gap(belief, channel, [mask]).posterior for mask in masks]


def joint_laws(initial, transitions, chance):
    """Pr[x, o] for all traces x and outputs o; chance(last, t, j) suppresses j at t."""
    laws = defaultdict(lambda: defaultdict(Fraction))
    steps, states = len(transitions) + 1, range(len(initial))
    for path in itertools.product(states, repeat=steps):
        probability = initial[path[0]]
        for t in range(steps - 1):
            probability *= transitions[t][path[t]][path[t + 1]]
        if probability == 0:
            continue
        for hidden in itertools.product([False, True], repeat=steps):
            weight, last, output = probability, None, []
            for t, state in enumerate(path):
                p = chance(last, t, state)
                weight *= p if hidden[t] else 1 - p
                if not hidden[t]:
                    last = (t, state)
                output.append(SUPPRESSED if hidden[t] else state)
            if weight > 0:
                laws[tuple(output)][path] += weight
    return laws


def worst_by_brute_force(laws, events):
    """Worst posterior of every event (time, states), over all outputs."""
    worst = [Fraction(0)] * len(events)
    for masses in laws.values():
        total = sum(masses.values())
        for number, (time, states) in enumerate(events):
            inside = sum((w for path, w in masses.items() if path[time] in states), Fraction(0))
            worst[number] = max(worst[number], inside / total)
    return worst


def posterior_of(laws, output, event):
    masses = laws[tuple(output)]
    inside = sum((w for path, w in masses.items() if path[event[0]] in event[1]), Fraction(0))
    return inside / sum(masses.values())


def prior_of(laws, event):
    return sum(
        (w for masses in laws.values() for path, w in masses.items() if path[event[0]] in event[1]),
        Fraction(0),
    )


def random_law(rng, count):
    weights = rng.integers(0, 5, count) * (rng.random(count) < 0.7)
    if weights.sum() == 0:
        weights[rng.integers(count)] = 1
    return [Fraction(int(w), int(weights.sum())) for w in weights]


def random_chain(rng, steps, count):
    """Sparse laws: zeros, unreachable states, absorbing states."""
    initial = random_law(rng, count)
    transitions = [[random_law(rng, count) for _ in range(count)] for _ in range(steps - 1)]
    if rng.random() < 0.4:
        absorbing = int(rng.integers(count))
        for matrix in transitions:
            matrix[absorbing] = [Fraction(int(j == absorbing)) for j in range(count)]
    return initial, transitions


def random_chance(rng):
    kind = rng.integers(4)
    if kind < 2:
        return Fraction(int(kind))
    return Fraction(int(rng.integers(1, 8)), 8)


def floats(nested):
    return np.array(nested, dtype=object).astype(float)


def masks_of(events, steps, count):
    masks = np.zeros((len(events), steps, count), dtype=bool)
    for number, (time, states) in enumerate(events):
        masks[number, time, list(states)] = True
    return masks


def belief_of(initial, transitions):
    count = len(initial)
    stack = floats(transitions).reshape(len(transitions), count, count)
    return Markov(floats(initial), stack)


def random_events(rng, steps, count):
    singles = [(t, {s}) for t in range(steps) for s in range(count)]
    if rng.random() < 0.5:
        return singles
    several = [(t, set(np.flatnonzero(rng.random(count) < 0.6).tolist())) for t in range(steps)]
    return singles + [event for event in several if event[1]]


def check_everything(initial, transitions, chance, channel, events):
    steps, count = len(transitions) + 1, len(initial)
    belief, masks = belief_of(initial, transitions), masks_of(events, steps, count)
    laws = joint_laws(initial, transitions, chance)
    expected = worst_by_brute_force(laws, events)
    np.testing.assert_allclose(
        worst_posteriors(belief, channel, masks), floats(expected), rtol=1e-12, atol=0
    )
    gaps = [worst - prior_of(laws, event) for worst, event in zip(expected, events, strict=True)]
    gap = worst_segment_gap(belief, channel, masks)
    # Rounded up, by no more than it says.
    assert gap.floor <= max(gaps) <= gap.value
    assert gap.value == pytest.approx(float(max(gaps)), rel=1e-12, abs=1e-13)
    # The witness really attains what is claimed.
    truth = posterior_of(laws, gap.output, events[gap.event])
    assert gap.posterior == pytest.approx(float(truth), rel=1e-12)
    # The decision turns exactly at the worst gap.
    worst = max(gaps)
    if 0 < worst < 1:
        assert is_private(belief, channel, masks, float(worst) + 1e-9)
        assert not is_private(belief, channel, masks, float(worst) - 1e-9)


@pytest.mark.parametrize("seed", range(40))
def test_memoryless_suppression_matches_brute_force(seed):
    rng = np.random.default_rng(seed)
    steps, count = [(1, 3), (2, 4), (3, 3), (4, 3), (5, 2)][seed % 5]
    initial, transitions = random_chain(rng, steps, count)
    table = [[random_chance(rng) for _ in range(count)] for _ in range(steps)]
    channel = Suppression.memoryless(range(count), floats(table))
    events = random_events(rng, steps, count)
    check_everything(initial, transitions, lambda _, t, j: table[t][j], channel, events)


@pytest.mark.parametrize("seed", range(60))
def test_suppression_by_last_release_matches_brute_force(seed):
    rng = np.random.default_rng(1000 + seed)
    steps, count = [(2, 4), (3, 3), (4, 3), (5, 2), (4, 2)][seed % 5]
    initial, transitions = random_chain(rng, steps, count)
    start = [[random_chance(rng) for _ in range(count)] for _ in range(steps)]
    after = {
        (u, i, t, j): random_chance(rng)
        for u, i, t, j in itertools.product(range(steps), range(count), repeat=2)
    }
    table = np.zeros((steps, count, steps, count))
    for place, value in after.items():
        table[place] = float(value)

    def chance(last, t, j):
        return start[t][j] if last is None else after[(*last, t, j)]

    channel = Suppression(range(count), floats(start), table)
    check_everything(initial, transitions, chance, channel, random_events(rng, steps, count))


@pytest.mark.parametrize("seed", range(5))
def test_five_steps_and_four_states(seed):
    rng = np.random.default_rng(2000 + seed)
    initial, transitions = random_chain(rng, 5, 4)
    table = [[random_chance(rng) for _ in range(4)] for _ in range(5)]
    channel = Suppression.memoryless(range(4), floats(table))
    events = [(t, {0}) for t in range(5)] + [(t, {1, 3}) for t in range(5)]
    check_everything(initial, transitions, lambda _, t, j: table[t][j], channel, events)


def chain(edges, layers):
    """A layered chain: `edges` maps a state to its equally likely successors."""
    states = [state for layer in layers for state in layer]
    place = {state: k for k, state in enumerate(states)}
    matrix = np.eye(len(states))
    for state, successors in edges.items():
        matrix[place[state]] = 0.0
        for successor in successors:
            matrix[place[state], place[successor]] = 1.0 / len(successors)
    initial = np.zeros(len(states))
    for state in layers[0]:
        initial[place[state]] = 1.0 / len(layers[0])
    return Markov(initial, matrix, steps=len(layers), states=states)


def table_of(belief, chances, steps=None):
    """Suppression probabilities by state; what is not named is released."""
    row = [float(chances.get(state, 0)) for state in belief.states]
    return np.tile(row, (steps or belief.steps, 1))


def sensitive(belief, states):
    masks = [
        np.outer(np.arange(belief.steps) == t, [label == s for label in belief.states])
        for t in range(belief.steps)
        for s in states
    ]
    return np.array(masks, dtype=bool)


def gap_of(belief, chances, states):
    channel = Suppression.memoryless(belief.states, table_of(belief, chances))
    return worst_segment_gap(belief, channel, sensitive(belief, states)).value


def test_paper_example_1():
    belief = chain({}, [["s", "x"]])
    masks = sensitive(belief, ["s"])
    channel = Suppression.memoryless(belief.states, [[1.0, 1 / 3]])
    gap = worst_segment_gap(belief, channel, masks)
    assert gap.posterior == pytest.approx(3 / 4, rel=1e-14)
    assert is_private(belief, channel, masks, 0.25)
    # A little less suppression is not private, a little more is.
    less = Suppression.memoryless(belief.states, [[1.0, 1 / 3 - 1e-9]])
    more = Suppression.memoryless(belief.states, [[1.0, 0.4]])
    assert not is_private(belief, less, masks, 0.25)
    assert is_private(belief, more, masks, 0.25)


def test_lemma_3_counterexample_is_caught():
    belief = chain({}, [["s", "x"]])
    masks = sensitive(belief, ["s"])
    passed = Suppression.memoryless(belief.states, [[0.5, 1 / 6]])
    cached = Suppression.memoryless(belief.states, [[1.0, 1 / 6]])
    assert worst_segment_gap(belief, cached, masks).posterior == pytest.approx(6 / 7, rel=1e-14)
    assert not is_private(belief, cached, masks, 0.25)
    # p_s = 1/2 releases s itself half of the time: certain knowledge.
    assert worst_segment_gap(belief, passed, masks).posterior == 1.0


def test_paper_example_2():
    layers = [["y1", "y2"], ["s1", "z1", "s2", "z2"]]
    belief = chain({"y1": ["s1", "z1"], "y2": ["s2", "z2"]}, layers)
    half = dict.fromkeys(["y1", "y2", "z1", "z2"], 0.5)
    for other, gap in [
        ({"y1": 1, "y2": 1}, 1 / 4),
        ({"z1": 1, "z2": 1}, 1 / 4),
        (half, 5 / 12),  # half-way between the two above: not convex
        ({"y1": 1, "z1": 1}, 3 / 4),
        ({"y2": 1, "z2": 1}, 3 / 4),  # half-way is 5/12 again: not concave
    ]:
        chances = {"s1": 1, "s2": 1, **other}
        assert gap_of(belief, chances, ["s1", "s2"]) == pytest.approx(gap, rel=1e-14)


def test_paper_example_3():
    belief = chain({}, [["s1", "s2", "x1", "x2"]])
    assert gap_of(belief, {"s1": 1, "s2": 1}, ["s1", "s2"]) == pytest.approx(1 / 4, rel=1e-14)


def test_paper_example_4():
    edges = {
        **{w: ["x1"] for w in ("w1", "w2")},
        **{w: ["x2"] for w in ("w3", "w4")},
        **{w: ["x3"] for w in ("w5", "w6")},
        "x1": ["s1", "y1"], "x2": ["y2"], "x3": ["s2", "y3"],
        "s1": ["z1"], "y1": ["z2"], "y2": ["z1", "z2"], "y3": ["z1"], "s2": ["z2"],
    }  # fmt: skip
    layers = [
        ["w1", "w2", "w3", "w4", "w5", "w6"],
        ["x1", "x2", "x3"], ["s1", "y1", "y2", "s2", "y3"], ["z1", "z2"],
    ]  # fmt: skip
    belief = chain(edges, layers)
    assert gap_of(belief, {"s1": 1, "s2": 1}, ["s1", "s2"]) == pytest.approx(5 / 6, rel=1e-14)
    best = dict.fromkeys(["s1", "y1", "z1", "s2", "y3", "z2"], 1)
    assert gap_of(belief, best, ["s1", "s2"]) == pytest.approx(1 / 3, rel=1e-14)


def test_a_state_that_may_start_a_segment_may_still_not_end_one():
    # start -> {s, a}, s -> j, a -> k: total suppression after j is private, releasing j is not.
    belief = chain({"s": ["j"], "a": ["k"]}, [["s", "a"], ["j", "k"]])
    hidden = {"s": 1, "a": 1, "j": 1, "k": 1}
    assert gap_of(belief, hidden, ["s"]) == 0.0
    for chance in (0.0, 0.5, 1 - 1e-13):
        assert gap_of(belief, {**hidden, "j": chance}, ["s"]) == pytest.approx(0.5, rel=1e-12)


@pytest.mark.parametrize(("chance", "gap"), [(0.0, 0.25), (0.1, 0.75)])
def test_privacy_is_not_monotone_inside_a_segment(chance, gap):
    # start -> {j, k}, j -> {s, a}, k -> a. After a release all is suppressed, after ⊥ only s is.
    belief = chain({"j": ["s", "a"], "k": ["a"]}, [["j", "k"], ["s", "a"]])
    start = np.zeros((2, 4))
    start[0, belief.index("j")] = chance
    start[0, belief.index("k")] = 1.0
    start[1, belief.index("s")] = 1.0
    after = np.ones((2, 4, 2, 4))
    channel = Suppression(belief.states, start, after)
    found = worst_segment_gap(belief, channel, sensitive(belief, ["s"]))
    assert found.value == pytest.approx(gap, rel=1e-13)
    assert is_private(belief, channel, sensitive(belief, ["s"]), gap)
    assert not is_private(belief, channel, sensitive(belief, ["s"]), gap - 1e-6)


def test_a_sensitive_release_of_tiny_probability_is_certain_knowledge():
    belief = chain({}, [["s", "x"]])
    channel = Suppression.memoryless(belief.states, [[1 - 1e-13, 1.0]])
    gap = worst_segment_gap(belief, channel, sensitive(belief, ["s"]))
    assert (gap.posterior, gap.output) == (1.0, ("s",))
    assert not is_private(belief, channel, sensitive(belief, ["s"]), 0.49)


def test_an_output_of_probability_far_below_float64_counts():
    # a hides with chance 1e-12 for 30 steps, then is s (hidden) or x (shown), a again, and j,
    # shown. c is always hidden. Only ⊥...⊥ j, of probability below 1e-360, betrays s; after any
    # other release everything is hidden.
    steps, a, s, x, j = 33, 0, 1, 2, 3
    matrix = np.tile(np.eye(5), (steps - 1, 1, 1))
    matrix[29, a] = [0, 0.5, 0.5, 0, 0]
    matrix[30, [s, x]] = np.eye(5)[a]
    matrix[31, a] = np.eye(5)[j]
    belief = Markov([0.5, 0, 0, 0, 0.5], matrix, states=("a", "s", "x", "j", "c"))
    start = np.ones((steps, 5))
    start[:30, a] = 1e-12
    start[30, x] = 0.0
    start[32, j] = 0.0
    channel = Suppression(belief.states, start, np.ones((steps, 5, steps, 5)))
    masks = np.zeros((1, steps, 5), dtype=bool)
    masks[0, 30, s] = True
    gap = worst_segment_gap(belief, channel, masks)
    assert gap.posterior - gap.prior == pytest.approx(3 / 4, rel=1e-12)
    # In logarithms of up to 860 the proved error is larger than the error.
    assert gap.floor <= 3 / 4 <= gap.value <= 3 / 4 + 1e-9
    assert gap.output == (*[SUPPRESSED] * 32, "j")
    assert not is_private(belief, channel, masks, 0.74)
    # With j hidden as well nothing is left but the release of a: 1/2 against a prior of 1/4.
    start[32, j] = 1.0
    hidden = Suppression(belief.states, start, np.ones((steps, 5, steps, 5)))
    assert worst_segment_gap(belief, hidden, masks).value == pytest.approx(1 / 4, rel=1e-9)


def test_a_segment_that_vanishes_in_one_step_counts():
    # b is likely and stays; a, then s (each suppressed for certain) lead to z, which is shown.
    # Pr[a, s] = 1e-340 is no float64, but whoever sees z knows that s has been.
    moves = np.tile(np.eye(4), (2, 1, 1))
    moves[0, 0, 2] = 1e-200
    moves[1, 2] = [0.0, 0.0, 0.0, 1.0]
    belief = Markov([1e-140, 1.0, 0.0, 0.0], moves, states="absz")
    table = np.ones((3, 4))
    table[2, 3] = 0.0
    channel = Suppression.memoryless("absz", table)
    masks = np.zeros((1, 3, 4), dtype=bool)
    masks[0, 1, 2] = True
    assert worst_posteriors(belief, channel, masks) == pytest.approx([1.0])
    assert not is_private(belief, channel, masks, 0.5)


def test_a_thousand_steps_do_not_underflow():
    # Two states that forget at once: X_t is independent of the rest, so given ⊥ everywhere
    # Pr[s] = 0.5·1 / (0.5·1 + 0.5·0.5) = 2/3, at every time.
    steps = 1000
    belief = Markov([0.5, 0.5], np.full((2, 2), 0.5), steps=steps, states="sx")
    channel = Suppression.memoryless("sx", np.tile([1.0, 0.5], (steps, 1)))
    masks = np.zeros((3, steps, 2), dtype=bool)
    for number, time in enumerate((0, 500, 999)):
        masks[number, time, 0] = True
    np.testing.assert_allclose(worst_posteriors(belief, channel, masks), 2 / 3, rtol=1e-12)


def test_masks_outside_their_domain():
    belief = chain({"a": ["a", "b"]}, [["a", "b"], []])
    channel = Suppression.memoryless(belief.states, np.ones((2, 2)))
    for masks in (
        np.ones((1, 2, 2), dtype=bool),  # two times
        np.zeros((1, 2, 2), dtype=bool),  # no time
        np.zeros((0, 2, 2), dtype=bool),  # no event
        np.ones((1, 1, 2), dtype=bool),  # another length
        np.ones((1, 2, 2)),  # numbers
    ):
        with pytest.raises(ParameterError, match="mask"):
            worst_segment_gap(belief, channel, masks)


def test_other_states_or_steps_are_incompatible():
    belief = chain({}, [["s", "x"]])
    mask = [[[True, False]]]
    with pytest.raises(Incompatible, match="states"):
        worst_segment_gap(belief, Suppression.memoryless("xs", [[1.0, 1.0]]), mask)
    with pytest.raises(Incompatible, match="steps"):
        worst_segment_gap(belief, Suppression.memoryless("sx", np.ones((2, 2))), mask)


@pytest.mark.parametrize("seed", range(12))
def test_kernels_give_the_joint_law_of_a_state_and_the_sightings_around_it(seed):
    # Pr[X_t = a, (u, x), (v, y)] = w(u, x) K(x → a) p(a) K(a → y) (1 − p(y)), for the state of a
    # time at which nothing is seen; (v, y) may be the end, after silence.
    rng = np.random.default_rng(seed)
    steps, count, time = 4, 3, 2
    initial, transitions = random_chain(rng, steps, count)
    belief = belief_of(initial, transitions)
    start = rng.choice([0.0, 0.25, 0.5, 1.0], size=(steps, count))
    after = rng.choice([0.0, 0.25, 0.5, 1.0], size=(steps, count) * 2) if seed % 2 else None
    channel = Suppression(range(count), start, after)
    seen = release_probabilities(belief, channel)
    expected = defaultdict(float)
    for path in itertools.product(range(count), repeat=steps):
        weight = np.exp(belief.log_probability(path))
        for hidden in itertools.product([False, True], repeat=steps):
            output = [SUPPRESSED if h else x for h, x in zip(hidden, path, strict=True)]
            if not hidden[time]:
                continue
            times = [t for t in range(steps) if not hidden[t]]
            before = max((t * count + path[t] for t in times if t < time), default=BEGINNING)
            later = min((t * count + path[t] for t in times if t > time), default=steps * count)
            chance = weight * np.exp(channel.log_likelihood(output, path))
            expected[path[time], before, later] += chance
    inside = time * count + np.arange(count)
    for before in (BEGINNING, *range(time * count)):
        last = None if before == BEGINNING else divmod(before, count)
        table = channel.table(last)
        open_, *onward = silent_kernels(belief, table[None], np.array([[before, *inside]]))[0]
        release = np.append(1.0 - table.ravel(), 1.0)
        weight = 1.0 if last is None else seen[last]
        for state, later in itertools.product(range(count), range(len(release))):
            found = weight * open_[inside[state]] * table[time, state]
            found *= onward[state][later] * release[later]
            assert found == pytest.approx(expected[state, before, later], rel=1e-12, abs=1e-15)
