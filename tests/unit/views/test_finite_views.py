"""Views of chains beside every trace and every output, listed here and nowhere else."""

import itertools
import math

import attrs
import numpy as np
import pytest

import sfumato as sf
from sfumato.beliefs import Markov
from sfumato.channels import Emission, NoisyVectors, Suppression, Symbols
from sfumato.questions import Events, StateAt
from sfumato.views import Outcomes, view_of
from sfumato.views.sides import Sides, symbol_laws
from sfumato.views.windows import Window

# Every trace and every output ---------------------------------------------------------------------


def traces_of(belief):
    """Return every trace and its probability."""
    traces = np.array(list(itertools.product(range(belief.state_count), repeat=belief.steps)))
    chances = np.array(belief.initial)[traces[:, 0]]
    for time in range(belief.steps - 1):
        chances = chances * belief.transitions[time][traces[:, time], traces[:, time + 1]]
    return traces, chances


def listed(belief, law):
    """Return the traces and Pr[trace, output]; `law(time, prefix)` gives Pr[y | state], (M, Y)."""
    traces, chances = traces_of(belief)
    fronts = {(): chances}
    for time in range(belief.steps):
        longer = {}
        for prefix, front in fronts.items():
            for symbol, column in enumerate(law(time, prefix).T):
                seen = front * column[traces[:, time]]
                if seen.any():
                    longer[*prefix, symbol] = seen
        fronts = longer
    return traces, np.stack(list(fronts.values()), axis=1)


def law_of(channel):
    """Return Pr[y | state, prefix] from a channel's tables: the last symbol is silence."""
    if isinstance(channel, Symbols):
        return lambda time, _: np.asarray(channel.probabilities[time])
    count = len(channel.states)

    def law(time, prefix):
        table = channel.start
        seen = [(u, y) for u, y in enumerate(prefix) if y < count]
        if channel.after is not None and seen:
            table = channel.after[seen[-1]]
        silent = np.array(table[time])[:, None]
        return np.concatenate([np.diag(1.0 - silent[:, 0]), silent], axis=1)

    return law


def rows_of(traces, joint, values):
    """Return Pr[value, output] of the values that some function of the trace takes."""
    of = np.array([values(trace) for trace in traces.tolist()])
    return np.stack([joint[of == value].sum(axis=0) for value in range(of.max() + 1)])


# The definitions, of two laws or of a table -------------------------------------------------------


def renyi(order):
    def of(p, q):
        some = p > 0
        if (q[some] == 0).any():
            return math.inf
        if math.isinf(order):
            return math.log((p[some] / q[some]).max())
        if order == 1.0:
            return math.fsum(p[some] * np.log(p[some] / q[some]))
        return math.log(math.fsum(p[some] ** order * q[some] ** (1 - order))) / (order - 1)

    return of


def excess(epsilon):
    return lambda p, q: math.fsum(np.maximum(p - math.exp(epsilon) * q, 0.0))


def power(alpha):
    def of(p, q):
        ratios = [0.0, *(p[q > 0] / q[q > 0]).tolist()]
        return min(t * alpha + math.fsum(np.maximum(p - t * q, 0.0)) for t in ratios)

    return of


def odds_gap(delta):
    def of(p, q):
        with np.errstate(divide="ignore"):
            moves = np.abs(np.log(p[p > 0]) - np.log(q[p > 0]))
        mass = p[p > 0]
        return min(g for g in [0.0, *moves.tolist()] if math.fsum(mass[moves > g + 1e-12]) <= delta)

    return of


def gap(prior, posteriors, seen):
    del seen
    return posteriors.max() - prior


def breach(delta):
    return lambda prior, posteriors, seen: math.fsum(seen[posteriors > prior + delta])


def success(joint):
    return math.fsum(joint.max(axis=0))


def leakage(joint):
    return success(joint) / joint.sum(axis=1).max()


def maximal(joint):
    return math.log(math.fsum((joint / joint.sum(axis=1, keepdims=True)).max(axis=0)))


def pointwise(joint):
    lifts = joint / joint.sum(axis=0) / joint.sum(axis=1, keepdims=True)
    return math.log(lifts.max())


def information(joint):
    some = joint > 0
    apart = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    return math.fsum(joint[some] * np.log(joint[some] / apart[some]))


def fano(joint, room=0.0):
    told, q = information(joint) + room, joint.sum(axis=1).max()
    if q >= 1 or told >= -math.log(q):
        return 1.0
    low, high = q, 1.0
    for _ in range(80):
        p = (low + high) / 2
        d = p * math.log(p / q) + ((1 - p) * math.log((1 - p) / (1 - q)) if p < 1 else 0)
        low, high = (p, high) if d <= told else (low, p)
    return high


PAIRS = {
    sf.measures.renyi(order=1.0): renyi(1.0),
    sf.measures.renyi(order=1.5): renyi(1.5),
    sf.measures.renyi(order=2.0): renyi(2.0),
    sf.measures.renyi(order=4.0): renyi(4.0),
    sf.measures.renyi(order=math.inf): renyi(math.inf),
    sf.measures.hockey_stick(epsilon=0.5): excess(0.5),
    sf.measures.advantage(): excess(0.0),
    sf.measures.power(false_alarm=0.05): power(0.05),
    sf.measures.odds_gap(delta=0.0734): odds_gap(0.0734),
}
EVENTS = {
    sf.measures.posterior_gap(): gap,
    sf.measures.breach_rate(delta=0.05): breach(0.05),
}
GUESSES = {
    sf.measures.bayes_success(): success,
    sf.measures.bayes_leakage(): leakage,
    sf.measures.maximal_leakage(): maximal,
    sf.measures.pointwise_leakage(): pointwise,
    sf.measures.mutual_information(about="secret"): information,
    sf.measures.expected_error(): lambda joint: 1.0 - success(joint),
    sf.measures.fano(): fano,
}
MEASURES = PAIRS | EVENTS | GUESSES
PROCESSING = [m for m in MEASURES if m.name not in ("odds_gap", "breach_rate")]


def truth_of(measure, joint, pairs, events):
    """Return a measure of a table Pr[value, output] whose rows are all the values there are."""
    joint = joint[:, joint.any(axis=0)]
    there = joint.any(axis=1)
    if measure in PAIRS:
        laws = {s: joint[s] / math.fsum(joint[s]) for s in np.flatnonzero(there).tolist()}
        found = [PAIRS[measure](laws[a], laws[b]) for a, b in pairs if a in laws and b in laws]
        return max(found, default=0.05 if measure.name == "power" else 0.0)
    if measure in EVENTS:
        seen = joint.sum(axis=0)
        return max(
            (
                EVENTS[measure](math.fsum(joint[e]), joint[e] / seen, seen)
                for e in events
                if there[e]
            ),
            default=0.0,
        )
    return GUESSES[measure](joint[there])


def every_pair(count):
    return [(a, b) for a in range(count) for b in range(count) if a != b]


# Reference values ---------------------------------------------------------------------------------

INITIAL = [0.6, 0.3, 0.1]
MATRIX = [[0.8, 0.15, 0.05], [0.2, 0.75, 0.05], [0.5, 0.3, 0.2]]
CHAIN = Markov(INITIAL, MATRIX, steps=6)
SENSOR = [[[float(m == t % 3), float(m != t % 3)] for m in range(3)] for t in range(6)]
RESPONSE = Symbols(
    range(3), "abc", [[[0.6 if a == b else 0.2 for a in range(3)] for b in range(3)]] * 6
)
CHANNELS = {
    "suppression": Suppression.memoryless(range(3), [[0.3, 0.4, 1.0]] * 6),
    "sensor": Symbols(range(3), (1, 0), SENSOR),
    "response": RESPONSE,
}
IS_TWO = Events((np.arange(3) == 2) & (np.arange(6) == 3)[None, :, None], ("two",))
STATE = StateAt.of(CHAIN, [3])
OF_EVENT = [
    (sf.measures.posterior_gap(), 0.20061973, 0.62524803, 0.21017482),
    (sf.measures.renyi(order=math.inf), 1.72194027, 3.54327123, 1.77107748),
    (sf.measures.renyi(order=1.0), 1.15737484, 1.58555542, 0.41606904),
    (sf.measures.renyi(order=1.5), 1.19015238, 1.89452483, 0.60328461),
    (sf.measures.renyi(order=2.0), 1.21909852, 2.15376152, 0.74821144),
    (sf.measures.renyi(order=4.0), 1.30750605, 2.77035025, 1.03417165),
    (sf.measures.advantage(), 0.65972397, 0.67677575, 0.40023433),
    (sf.measures.hockey_stick(epsilon=0.5), 0.45952023, 0.57123772, 0.27025575),
    (sf.measures.power(false_alarm=0.05), 0.23766742, 0.52083386, 0.19631497),
    (sf.measures.breach_rate(delta=0.05), 0.32347328, 0.15305563, 0.22001847),
]
OF_STATE = [
    (sf.measures.bayes_success(), 0.87677527, 0.94492125, 0.71306010),
    (sf.measures.pointwise_leakage(), 1.48217187, 2.45136401, 1.51832008),
    (sf.measures.maximal_leakage(), 0.85823354, 0.90637408, 0.60392325),
    (sf.measures.mutual_information(about="secret"), 0.55935047, 0.71739285, 0.18452989),
]


@pytest.mark.parametrize(("column", "name"), list(enumerate(CHANNELS)))
def test_reference_values_of_an_event_and_a_state(column, name):
    channel = CHANNELS[name]
    traces, joint = listed(CHAIN, law_of(channel))
    two = rows_of(traces, joint, lambda trace: int(trace[3] != 2))
    states = rows_of(traces, joint, lambda trace: trace[3])
    for measure, *values in OF_EVENT:
        assert truth_of(measure, two, [(0, 1)], [0]) == pytest.approx(values[column], abs=1e-6)
        found = measure.evaluate(CHAIN, IS_TWO, channel)
        assert (found.value, found.bound) == (pytest.approx(values[column], abs=1e-6), "exact")
    for measure, *values in OF_STATE:
        assert truth_of(measure, states, [], []) == pytest.approx(values[column], abs=1e-6)
        found = measure.evaluate(CHAIN, STATE, channel)
        assert (found.value, found.bound) == (pytest.approx(values[column], abs=1e-6), "exact")


@pytest.mark.parametrize(
    ("name", "other", "order_two", "apart"),
    [
        ("suppression", 0, 1.70212122, 0.7),
        ("suppression", 1, 1.71291026, 0.65898995),
        ("sensor", 0, math.inf, 1.0),
        ("sensor", 1, 1.24434772, 0.47533089),
        ("response", 0, 0.88304129, 0.4320843),
        ("response", 1, 1.02392959, 0.44665059),
    ],
)
def test_reference_values_of_pairs(name, other, order_two, apart):
    channel = CHANNELS[name]
    joint = rows_of(*listed(CHAIN, law_of(channel)), lambda trace: trace[3])
    (outcomes,) = view_of(CHAIN, STATE, channel).upper
    for measure, expected in (
        (sf.measures.renyi(order=2.0), order_two),
        (sf.measures.advantage(), apart),
    ):
        assert truth_of(measure, joint, [(2, other)], []) == pytest.approx(expected, abs=1e-6)
        p, q = outcomes.likelihoods[[2, other]]
        assert float(measure.of_laws(p, q)) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("measure", "question", "ends"),
    [
        (sf.measures.posterior_gap(), IS_TWO, (0.174873, 0.385225, 0.203476, 0.234770)),
        (sf.measures.bayes_success(), STATE, (0.704270, 0.747784, 0.712536, 0.717435)),
        (
            sf.measures.mutual_information(about="secret"),
            STATE,
            (0.170123, 0.240177, 0.183135, 0.191339),
        ),
        (sf.measures.renyi(order=2.0), IS_TWO, (0.742853, 0.792131, 0.747787, 0.750543)),
    ],
)
def test_reference_values_of_windows(measure, question, ends):
    found = [
        of_window(measure, CHAIN, RESPONSE, question.asked()[0], width, told=told)
        for width in (1, 2)
        for told in (False, True)
    ]
    assert found == pytest.approx(ends, abs=1e-6)


def of_window(measure, belief, channel, asked, width, *, told):
    """Return a measure of what a window shows, without rounding."""
    window = Window.around(belief, channel, asked.times, width, told=told, most=10**6)
    states = window.joint(asked.times, asked.mask)
    rows = np.eye(2) if asked.mask is not None else asked.members.astype(float)
    return loss_of(measure, Outcomes.of(asked, rows @ states, 0.0))


def loss_of(measure, outcomes):
    """Return a measure of one table, without rounding."""
    if measure.name == "mutual_information":
        return outcomes.told_nats
    return measure.of_outcomes(outcomes).value


# Drawn chains and channels ------------------------------------------------------------------------


def drawn_laws(rng, shape):
    """Return laws with zeros, some of them certain of one value."""
    laws = rng.dirichlet(np.full(shape[-1], 0.8), size=shape[:-1])
    laws *= rng.random(shape) < 0.75
    laws = np.where(laws.sum(axis=-1, keepdims=True) > 0, laws, np.eye(shape[-1])[0])
    certain = np.eye(shape[-1])[rng.integers(shape[-1], size=shape[:-1])]
    laws = np.where(rng.random((*shape[:-1], 1)) < 0.2, certain, laws)
    return laws / laws.sum(axis=-1, keepdims=True)


def drawn_chain(rng, steps, states):
    return Markov(drawn_laws(rng, (states,)), drawn_laws(rng, (steps - 1, states, states)))


def chances(rng, shape):
    """Return probabilities of which some are 0 and some 1."""
    return np.clip(rng.uniform(-0.4, 1.4, shape), 0.0, 1.0)


def drawn_glimpses(rng, belief, kind):
    """Return a channel that shows the state now and then."""
    steps, count = belief.steps, belief.state_count
    start = chances(rng, (steps, count))
    if kind == "suppression":
        return Suppression.memoryless(belief.states, start)
    if kind == "memory":
        return Suppression(belief.states, start, chances(rng, (steps, count, steps, count)))
    # Several sensors: each sees one state, now and then, and has a symbol of its own.
    seen = np.where(rng.random((steps, count)) < 0.6, 1.0 - start, 0.0)
    laws = np.concatenate([seen[..., None] * np.eye(count), 1.0 - seen[..., None]], axis=2)
    return Symbols(belief.states, range(count + 1), laws)


def questions_of(rng, belief):
    """Yield a question about the belief with how it reads a trace, its pairs and its events."""
    count, steps = belief.state_count, belief.steps
    time, wanted = int(rng.integers(steps)), int(rng.integers(count))
    at = sf.secrets.basic(time).question(belief)
    yield at, lambda x: x[time], every_pair(count), range(count)
    inside = sf.secrets.contexts([belief.states[wanted]], times=[time], both_ways=True)
    yield inside.question(belief), lambda x: int(x[time] != wanted), [(0, 1), (1, 0)], [0]
    if steps > 1:
        one, two = sorted(rng.choice(steps, 2, replace=False).tolist())
        both = sf.secrets.compound([two, one]).question(belief)
        pairs = every_pair(count * count)
        yield both, lambda x: x[one] * count + x[two], pairs, range(count * count)
        chosen = sorted(rng.choice(steps, rng.integers(2, steps + 1), replace=False).tolist())
        some = sf.secrets.contexts([belief.states[wanted]], times=chosen, window=True)
        met = lambda x: int(all(x[t] != wanted for t in chosen))  # noqa: E731 - beside its question
        yield some.question(belief), met, [(0, 1)], [0]


def same(found, truth):
    if math.isinf(truth):
        return found.value == truth
    return found.floor - 1e-9 <= truth * (1 + 1e-9) and truth <= found.ceiling + 1e-9 + 1e-9 * truth


@pytest.mark.parametrize("kind", ["suppression", "memory", "sensors"])
@pytest.mark.parametrize("part", range(5))
def test_segments_are_all_outputs(kind, part):
    """500 chains of each kind; every measure sees each of them, by one of four questions."""
    rng = np.random.default_rng([part, ord(kind[1])])
    for number in range(100):
        belief = drawn_chain(rng, int(rng.integers(1, 5)), int(rng.integers(1, 4)))
        channel = drawn_glimpses(rng, belief, kind)
        traces, joint = listed(belief, law_of(channel))
        asked = list(questions_of(rng, belief))
        question, reads, pairs, events = asked[number % len(asked)]
        table = rows_of(traces, joint, reads)
        for measure in MEASURES:
            found = measure.evaluate(belief, question, channel)
            truth = truth_of(measure, table, pairs, events)
            if measure.name == "fano":  # an upper bound, from information rounded up
                assert truth - 1e-12 <= found.value <= fano(table, 1e-9) + 1e-9
            else:
                assert same(found, truth), (measure, found, truth)
        gain = rng.normal(size=(3, len(question.asked()[0].names)))
        truth = math.fsum((gain[:, : len(table)] @ table).max(axis=0))
        found = sf.measures.g_vulnerability(gain=gain).evaluate(belief, question, channel)
        assert found.floor - 1e-9 <= truth <= found.ceiling + 1e-9


def few_numbers(rng, number):
    """Return a chain and a channel in which many beginnings of an output are nearly alike."""
    steps, count = int(rng.integers(3, 5)), int(rng.integers(2, 4))
    stay = float(rng.choice([0.25, 0.5, 0.6, 0.75]))
    turns = rng.integers(0, 4, count) + np.eye(count)[0]
    matrix = [
        np.where(np.eye(count, dtype=bool), stay, (1 - stay) / (count - 1)),
        np.stack([np.roll(turns / turns.sum(), row) for row in range(count)]),
    ][number % 2]
    belief = Markov(np.full(count, 1 / count), matrix, steps=steps)
    if number % 4 < 2:
        silent = rng.choice([0.0, 0.25, 0.5, 1.0], size=(steps, count))
        return belief, Suppression.memoryless(belief.states, silent)
    laws = rng.integers(0, 3, (count, 3)) + np.eye(3)[0]
    return belief, Symbols(belief.states, "abc", [laws / laws.sum(axis=1, keepdims=True)] * steps)


@pytest.mark.parametrize("part", range(3))
def test_only_beginnings_that_say_the_same_are_one(part):
    """Symmetric chains have unlike beginnings which a sum of their numbers cannot tell apart."""
    rng = np.random.default_rng([part, 17])
    for number in range(200):
        belief, channel = few_numbers(rng, number)
        traces, joint = listed(belief, law_of(channel))
        question, reads, pairs, events = list(questions_of(rng, belief))[2 + number % 4 // 2]
        values = len(question.asked()[0].names)
        table = rows_of(traces, joint, reads)
        table = np.pad(table, ((0, values - len(table)), (0, 0)))
        for measure in PROCESSING:
            if measure.name != "fano":
                found = measure.evaluate(belief, question, channel)
                truth = truth_of(measure, table, pairs, events)
                assert same(found, truth), (measure, found, truth)


def test_several_times_of_a_long_trace_come_from_the_segments_that_cover_them():
    """What 40 drawn outputs say of both times, by smoothing, are outcomes of one exact view."""
    rng = np.random.default_rng(7)
    belief = Markov(rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3), size=(23, 3)))
    start, after = rng.uniform(0.2, 0.9, (24, 3)), rng.uniform(0.2, 0.9, (24, 3, 24, 3))
    for channel in (Suppression.memoryless(range(3), start), Suppression(range(3), start, after)):
        question = sf.secrets.compound([10, 12]).question(belief)
        view = view_of(belief, question, channel)
        (outcomes,) = view.upper
        assert view.is_exact
        assert outcomes.joint.shape[1] < 100_000  # of 4^24 outputs
        law = belief.marginals()[10][:, None] * (belief.matrix(10) @ belief.matrix(11))
        assert outcomes.prior == pytest.approx(law.ravel(), rel=1e-9)
        known = outcomes.posteriors.T
        traces = drawn_traces(rng, belief, 40)
        for output in channel.sample_many(traces, rng):
            said = both_times(belief, np.exp(channel.evidence(tuple(output))), 10, 12)
            apart = np.abs(known - said).max(axis=1)
            assert apart.min() < 1e-9


def drawn_traces(rng, belief, count):
    traces = np.zeros((count, belief.steps), dtype=np.intp)
    for row in traces:
        row[0] = rng.choice(belief.state_count, p=belief.initial)
        for time in range(1, belief.steps):
            row[time] = rng.choice(belief.state_count, p=belief.matrix(time - 1)[row[time - 1]])
    return traces


def both_times(belief, evidence, one, other):
    """Return Pr[X_one, X_other | an output], flat, by products of matrices."""
    law = np.diag(belief.initial * evidence[0])
    for time in range(1, belief.steps):
        if time == one + 1:  # from here on the row is the state at the first time
            law = np.diag(law.sum(axis=0))
        law = law @ belief.matrix(time - 1) * evidence[time]
        if time == other:
            law = (law[..., None] * np.eye(belief.state_count)).reshape(-1, belief.state_count)
    joint = law.sum(axis=1)
    return joint / joint.sum()


@pytest.mark.parametrize("part", range(5))
def test_condensed_sides_hold_the_truth(part):
    """500 emissions without memory: both ends of what is condensed, however much, hold it."""
    rng = np.random.default_rng([part, 11])
    for number in range(100):
        belief = drawn_chain(rng, int(rng.integers(2, 6)), int(rng.integers(2, 4)))
        channel, law = drawn_emission(rng, belief, "symbols")
        traces, joint = listed(belief, law)
        question, reads, pairs, events = list(questions_of(rng, belief))[number % 2]
        table, (asked,) = rows_of(traces, joint, reads), question.asked()
        sides = Sides(belief, symbol_laws(channel))
        for most in (1, 4, 12):
            low, high = (outcomes_of(sides, asked, most, told=told) for told in (False, True))
            for measure in PROCESSING:
                if measure.name == "fano":
                    continue  # the information and the success, of which it is made, are here
                sign, truth = measure.quantity.sign, truth_of(measure, table, pairs, events)
                below, above = (loss_of(measure, end) for end in (low, high))
                assert no_worse(below, truth, sign), (measure, most, below, truth)
                assert no_worse(truth, above, sign), (measure, most, truth, above)


def outcomes_of(sides, asked, most, *, told):
    time = asked.times[0]
    pieces = sides.pieces(time, most, told=told)
    joint = sides.joint(time, pieces, asked.members)
    return Outcomes.of(asked, joint, 0.0, sides.given(time, pieces))


def test_a_sighting_among_other_symbols_ends_what_must_be_listed(monkeypatch):
    rng = np.random.default_rng(5)
    chain = Markov(rng.dirichlet(np.ones(2)), rng.dirichlet(np.ones(2), size=(5, 2)))
    law = np.zeros((6, 2, 4))  # 0 and 1 tell the state, the other two do not
    law[:, 0, [0, 2, 3]], law[:, 1, 1:] = rng.dirichlet(np.ones(3), size=(2, 6))
    channel = Symbols(chain.states, "01?!", law)
    monkeypatch.setattr("sfumato.views.finite.MOST", 2000)  # of 4^5 x 2 outputs a state
    question = StateAt.of(chain, [3])
    assert view_of(chain, question, channel).is_exact
    traces, joint = listed(chain, law_of(channel))
    states = rows_of(traces, joint, lambda trace: trace[3])
    for measure in (one for one in MEASURES if one.name != "fano"):
        found = measure.evaluate(chain, question, channel)
        assert found.bound == "exact", measure
        truth = truth_of(measure, states, every_pair(2), [0, 1])
        assert found.value == pytest.approx(truth, rel=1e-9, abs=1e-12), measure


def test_the_end_of_a_long_trace_has_few_segments():
    """Of 300 steps of 20 states there are 36 million segments, but few around the last time."""
    rng = np.random.default_rng(6)
    law, hidden = rng.dirichlet(np.ones(20)), rng.uniform(0.1, 0.9, (300, 20))
    chain = Markov(law, np.tile(law, (20, 1)), steps=300)  # every day for itself
    channel = Suppression.memoryless(chain.states, hidden)
    found = sf.measures.maximal_leakage().evaluate(chain, StateAt.of(chain, [299]), channel)
    expected = math.log((1.0 - hidden[-1]).sum() + hidden[-1].max())
    assert (found.value, found.bound) == (pytest.approx(expected, rel=1e-9), "exact")


# Windows ------------------------------------------------------------------------------------------


@attrs.frozen(eq=False)
class Echo(Emission):
    """Symbols whose law depends on the state and, from a time on, on the symbol before."""

    states: tuple
    laws: np.ndarray  # (T, Y + 1, M, Y): by the symbol before, the last for none
    since: int = 0

    @property
    def steps(self):
        return len(self.laws)

    def outputs(self):
        return (tuple(range(self.laws.shape[3])),) * self.steps

    def row(self, time, prefix):
        return prefix[-1] if len(prefix) > self.since else self.laws.shape[3]

    def law(self, time, prefix):
        return self.laws[time, self.row(time, prefix)]

    def evidence(self, observed):
        each = [self.law(t, observed[:t])[:, y] for t, y in enumerate(observed)]
        with np.errstate(divide="ignore"):
            return np.log(np.array(each))

    def evidence_batch(self, observed):
        return np.stack([self.evidence(one) for one in observed])

    def remember(self, memory, time, symbol):
        return (symbol,) if time >= self.since else ()

    def next_evidence(self, memory, time):
        row = memory[-1] if memory else self.laws.shape[3]
        with np.errstate(divide="ignore"):
            return np.log(self.laws[time, row].T)

    def sample_many(self, traces, rng):
        raise NotImplementedError


def drawn_emission(rng, belief, kind):
    steps, count, size = belief.steps, belief.state_count, int(rng.integers(2, 4))
    if kind == "symbols":
        laws = drawn_laws(rng, (steps, count, size))
        channel = Symbols(belief.states, range(size), laws)
        return channel, law_of(channel)
    if kind == "suppression":
        channel = drawn_glimpses(rng, belief, "memory")
        return channel, law_of(channel)
    since = int(rng.integers(0, 2)) if kind == "echo" else 0
    channel = Echo(belief.states, drawn_laws(rng, (steps, size + 1, count, size)), since)
    return channel, channel.law


def no_worse(one, other, sign):
    return (
        sign * (one - other) <= 1e-9 * (1.0 + abs(other))
        if math.isfinite(other)
        else sign * one <= sign * other
    )


@pytest.mark.parametrize("kind", ["symbols", "suppression", "echo"])
@pytest.mark.parametrize("part", range(5))
def test_windows_hold_the_truth_and_narrow(kind, part):
    """500 emissions of each kind: no end of a window is on the wrong side, nor moves away."""
    rng = np.random.default_rng([part, ord(kind[0])])
    for number in range(100):
        belief = drawn_chain(rng, int(rng.integers(2, 5)), int(rng.integers(2, 4)))
        channel, law = drawn_emission(rng, belief, kind)
        traces, joint = listed(belief, law)
        questions = list(questions_of(rng, belief))
        question, reads, pairs, events = questions[number % 4]
        table = rows_of(traces, joint, reads)
        (asked,) = question.asked()
        for measure in PROCESSING[number % 2 :: 2] if number % 4 > 1 else PROCESSING:
            if measure.name == "fano":
                continue  # the information and the success, of which it is made, are here
            sign, truth = measure.quantity.sign, truth_of(measure, table, pairs, events)
            ends = (-math.inf, math.inf) if sign > 0 else (math.inf, -math.inf)
            for width in range(belief.steps):
                wider = tuple(
                    of_window(measure, belief, channel, asked, width, told=told)
                    for told in (False, True)
                )
                assert no_worse(ends[0], wider[0], sign)
                assert no_worse(wider[1], ends[1], sign)
                ends = wider
                assert no_worse(ends[0], truth, sign), (measure, width, ends, truth)
                assert no_worse(truth, ends[1], sign), (measure, width, ends, truth)
            assert ends[0] == pytest.approx(truth, abs=1e-9)
            assert ends[1] == pytest.approx(truth, abs=1e-9)


def densities_on_a_grid(chain, channel, time):
    """Return Pr[X_t = s] and the law of three noisy counts given each s, on a grid of outputs."""
    scale = channel.scale
    grid, step = np.linspace(-7 * scale, 1 + 7 * scale, 61, retstep=True)
    laws, masses = np.zeros((chain.state_count, 61, 61, 61)), np.zeros(chain.state_count)
    for trace, chance in zip(*traces_of(chain), strict=True):
        bells = [
            np.exp(-((grid - channel.means[u, x, 0]) ** 2) / (2 * scale**2))
            for u, x in enumerate(trace)
        ]
        density = np.einsum("i,j,k", *bells) / (2 * np.pi * scale**2) ** 1.5
        laws[trace[time]] += chance * density * step**3
        masses[trace[time]] += chance
    return masses, laws / masses[:, None, None, None]


def divergence(p, q, order):
    """Return the Rényi divergence of two laws."""
    if order == 1.0:
        return float((p * np.log(p / q)).sum())
    return math.log(float((p**order * q ** (1 - order)).sum())) / (order - 1)


@pytest.mark.parametrize("seed", range(6))
def test_renyi_of_noisy_counts_lies_between_two_finite_ends(seed):
    rng = np.random.default_rng(seed)
    chain = Markov(rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3), size=(2, 3)))
    means, scale = rng.integers(0, 2, (3, 3, 1)).astype(float), float(rng.choice([0.6, 1.0, 2.0]))
    time, channel = int(rng.integers(3)), NoisyVectors(chain.states, means, scale)
    states = StateAt.of(chain, [time])
    masses, laws = densities_on_a_grid(chain, channel, time)
    rest = np.tensordot(masses[1:] / masses[1:].sum(), laws[1:], 1)
    for order in (1.0, 1.5, 4.0):
        measure = sf.measures.renyi(order=order)
        event = sf.secrets.contexts([0], times=[time]).question(chain)
        found = measure.evaluate(chain, event, channel)
        truth = divergence(laws[0], rest, order)
        assert found.floor - 1e-6 <= truth <= found.ceiling + 1e-6 < np.inf
        found = measure.evaluate(chain, states, channel)
        truth = max(divergence(p, q, order) for p, q in itertools.permutations(laws, 2))
        assert found.floor - 1e-6 <= truth <= found.ceiling + 1e-6 < np.inf
        assert found.floor > 0.0 or truth < 1e-3
    silent = NoisyVectors(chain.states, np.zeros((3, 3, 1)), scale)
    assert sf.measures.renyi().evaluate(chain, states, silent).ceiling < 1e-9


def test_much_noise_over_a_long_trace_is_bounded_by_its_worst_trace():
    chain = Markov([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], steps=30)
    channel = NoisyVectors(chain.states, np.tile([[[0.0], [1.0]]], (30, 1, 1)), 0.1)
    found = sf.measures.renyi(order=4.0).evaluate(chain, StateAt.of(chain, [15]), channel)
    assert found.ceiling <= 4.0 * 30 / (2 * 0.1**2) * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_pairs_that_are_passed_over_are_not_the_worst(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    chain = Markov(rng.dirichlet(np.ones(4)), rng.dirichlet(np.ones(4), size=(4, 4)))
    table = np.where(rng.random((5, 4)) < 0.3, 1.0, rng.random((5, 4)))
    channel = Suppression.memoryless(chain.states, table)
    names = ("advantage", "hockey_stick", "power", "odds_gap", "renyi")
    for secret in (sf.secrets.basic(2), sf.secrets.contexts([0, 1])):
        question = secret.question(chain)
        tables = view_of(chain, question, channel).upper
        for measure in (getattr(sf.measures, name)() for name in names):
            monkeypatch.setattr("sfumato.views.measures.LONG", 0)
            found = measure.evaluate(chain, question, channel)
            each = [
                measure.of_laws(one.likelihoods[[p]], one.likelihoods[[q]])[0]
                for one in tables
                for p, q in one.pairs
            ]
            assert found.value == pytest.approx(max(each), rel=1e-9, abs=1e-12)


def test_states_that_cannot_be_are_passed_over_by_coupled_traces():
    chain = Markov([0.5, 0.5, 0.0], [[0.9, 0.1, 0.0], [0.1, 0.9, 0.0], [0.0, 0.0, 1.0]], steps=2)
    counts = NoisyVectors(chain.states, [[[0.0], [1.0], [9.0]]] * 2, 1.0)
    smaller = Markov([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], steps=2)
    fewer = NoisyVectors(smaller.states, [[[0.0], [1.0]]] * 2, 1.0)
    losses = [
        sf.measures.renyi().evaluate(belief, StateAt.of(belief, [0]), channel).ceiling
        for belief, channel in ((chain, counts), (smaller, fewer))
    ]
    assert losses[0] == pytest.approx(losses[1], rel=1e-9)
