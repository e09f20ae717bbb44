"""Emissions: likelihoods against the definition, samples against likelihoods, bad input."""

import itertools
import math
import pickle

import numpy as np
import pytest

from sfumato.channels import Emission, NoisyVectors, Suppression, Symbols
from sfumato.errors import OutsideHypotheses, ParameterError, Undecidable
from sfumato.values import SUPPRESSED

STATES = ("a", "b", "c")


def random_suppression(seed, steps=3, with_memory=True):
    rng = np.random.default_rng(seed)
    start = np.round(rng.random((steps, 3)) * 1.5 - 0.25, 2).clip(0, 1)
    after = np.round(rng.random((steps, 3, steps, 3)) * 1.5 - 0.25, 2).clip(0, 1)
    return Suppression(STATES, start, after if with_memory else None)


def random_symbols(seed, steps=3):
    rng = np.random.default_rng(seed)
    laws = rng.dirichlet(np.full(2, 0.5), (steps, 3))
    laws[0, 0] = [0.0, 1.0]
    return Symbols(STATES, ("no", ("yes", 1)), laws)


def chance_by_definition(channel, output, trace):
    """Pr[output | trace] of a suppression, following the last release by hand."""
    probability, last = 1.0, None
    for t, (symbol, state) in enumerate(zip(output, trace, strict=True)):
        j = STATES.index(state)
        if last is None or channel.after is None:
            p = channel.start[t, j]
        else:
            p = channel.after[last[0], last[1], t, j]
        if symbol is SUPPRESSED:
            probability *= p
        elif symbol == state:
            probability *= 1 - p
            last = (t, j)
        else:
            return 0.0
    return probability


@pytest.mark.parametrize("with_memory", [False, True])
def test_suppression_likelihood_is_the_definition(with_memory):
    channel = random_suppression(0, with_memory=with_memory)
    for trace in itertools.product(STATES, repeat=3):
        total = 0.0
        for output in itertools.product((*STATES, SUPPRESSED), repeat=3):
            expected = chance_by_definition(channel, output, trace)
            found = math.exp(channel.log_likelihood(output, trace))
            assert found == pytest.approx(expected, rel=1e-13)
            total += found
        assert total == pytest.approx(1.0, rel=1e-13)


def test_symbols_likelihood_is_the_definition():
    channel = random_symbols(1)
    for trace in itertools.product(range(3), repeat=3):
        for output in itertools.product(range(2), repeat=3):
            expected = math.prod(channel.probabilities[t, trace[t], output[t]] for t in range(3))
            labels = [channel.alphabet[y] for y in output]
            found = channel.log_likelihood(labels, [STATES[x] for x in trace])
            assert math.exp(found) == pytest.approx(expected, rel=1e-13)


def test_noisy_vectors_likelihood_is_the_normal_density():
    from scipy.stats import multivariate_normal

    rng = np.random.default_rng(2)
    channel = NoisyVectors(STATES, rng.normal(size=(2, 3, 2)), scale=0.7)
    observed = rng.normal(size=(2, 2))
    for trace in itertools.product(range(3), repeat=2):
        expected = sum(
            multivariate_normal(channel.means[t, x], 0.49 * np.eye(2)).logpdf(observed[t])
            for t, x in enumerate(trace)
        )
        found = channel.log_likelihood(observed, [STATES[x] for x in trace])
        assert found == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("seed", range(6))
def test_evidence_of_a_prefix_is_the_beginning_of_the_evidence(seed):
    for channel in (random_suppression(seed), random_symbols(seed)):
        rng = np.random.default_rng(seed)
        output = [alphabet[rng.integers(len(alphabet))] for alphabet in channel.outputs()]
        rows = channel.evidence(output)
        for k in range(4):
            np.testing.assert_array_equal(channel.evidence(output[:k]), rows[:k])


@pytest.mark.parametrize("channel", [random_suppression(3), random_symbols(3)])
def test_memory_gives_the_same_evidence_as_the_whole_past(channel):
    for output in itertools.product(*channel.outputs()):
        memory = whole = ()
        for t, symbol in enumerate(output):
            place = channel.outputs()[t].index(symbol)
            row = channel.evidence(output)[t]
            np.testing.assert_array_equal(channel.next_evidence(memory, t)[place], row)
            # What a channel that does not say what it remembers gets by default:
            np.testing.assert_array_equal(Emission.next_evidence(channel, whole, t)[place], row)
            memory = channel.remember(memory, t, symbol)
            whole = Emission.remember(channel, whole, t, symbol)


def test_batches_are_stacks():
    for channel in (random_suppression(4), random_symbols(4)):
        outputs = list(itertools.product(*channel.outputs()))[::5]
        batch = channel.evidence_batch(outputs)
        for output, rows in zip(outputs, batch, strict=True):
            np.testing.assert_array_equal(rows, channel.evidence(output))


def output_counts(channel, trace, size, rng):
    path = np.array([STATES.index(state) for state in trace])
    outputs = channel.sample_many(np.tile(path, (size, 1)), rng)
    counts = dict.fromkeys(itertools.product(*channel.outputs()), 0)
    for output in outputs:
        counts[tuple(output)] += 1
    return counts


@pytest.mark.parametrize(
    "channel", [random_suppression(5), random_suppression(6, with_memory=False), random_symbols(5)]
)
def test_samples_have_the_stated_law(channel):
    # 6.5 standard deviations: a false alarm below 1e-9 per output.
    size, trace = 20_000, ("b", "a", "b")
    counts = output_counts(channel, trace, size, np.random.default_rng(0))
    rejected = False
    for output, count in counts.items():
        expected = math.exp(channel.log_likelihood(output, trace))
        spread = math.sqrt(size * expected * (1 - expected))
        assert abs(count - size * expected) <= 6.5 * spread + 1e-9
        rejected |= abs(count - 1.3 * size * expected) > 6.5 * spread
    assert rejected  # a law that is off by 30 % would have been noticed


def test_noisy_samples_have_the_stated_spread_and_lie_on_the_grid():
    channel = NoisyVectors(STATES, np.arange(6.0).reshape(2, 3, 1), scale=2.0)
    size = 100_000
    paths = np.tile([0, 2], (size, 1))
    released = channel.sample_many(paths, np.random.default_rng(1))
    assert released.shape == (size, 2)
    noise = released - np.array([0.0, 5.0])
    np.testing.assert_allclose(noise.mean(axis=0), 0.0, atol=6.5 * 2.0 / math.sqrt(size))
    variance = noise.var(axis=0)
    assert (np.abs(variance / 4.0 - 1.0) < 6.5 * math.sqrt(2.0 / size)).all()
    assert (released / channel.grid == np.rint(released / channel.grid)).all()
    assert 2.0**-31 < channel.grid / channel.scale <= 2.0**-29


def test_probability_zero_never_and_one_always_suppresses():
    channel = Suppression.memoryless("ab", [[0.0, 1.0]] * 4)
    paths = np.tile([0, 1, 1, 0], (500, 1))
    for output in channel.sample_many(paths, np.random.default_rng(0)):
        assert tuple(output) == ("a", SUPPRESSED, SUPPRESSED, "a")


def test_one_sample_is_a_possible_output():
    for channel in (random_suppression(7), random_symbols(7)):
        for _ in range(20):
            output = channel.sample(("c", "a", "b"))
            assert isinstance(output, tuple)
            assert channel.log_likelihood(output, ("c", "a", "b")) > -np.inf


def test_tuple_labels_survive_sampling():
    channel = Suppression.memoryless([(0, 1), (2, 3)], [[0.0, 0.0]])
    assert tuple(channel.sample([(2, 3)])) == ((2, 3),)


def test_entries_that_mean_nothing_do_not_count():
    after = np.full((2, 1, 2, 1), 0.5)
    other = after.copy()
    other[1, 0, 0, 0] = 0.25  # a probability before the release it depends on
    assert Suppression("a", [[0.5]] * 2, after) == Suppression("a", [[0.5]] * 2, other)
    other[0, 0, 1, 0] = 0.25
    assert Suppression("a", [[0.5]] * 2, after) != Suppression("a", [[0.5]] * 2, other)


def test_equality_hash_and_pickle():
    for make in (random_suppression, random_symbols):
        assert make(8) == make(8)
        assert hash(make(8)) == hash(make(8))
        assert make(8) != make(9)
        assert pickle.loads(pickle.dumps(make(8))) == make(8)  # noqa: S301  # our own bytes
    noisy = NoisyVectors("ab", np.zeros((1, 2, 1)), 1.0)
    assert noisy == NoisyVectors("ab", np.zeros((1, 2, 1)), 1)
    assert noisy != NoisyVectors("ab", np.zeros((1, 2, 1)), 2.0)


def test_table_in_force():
    channel = random_suppression(9)
    np.testing.assert_array_equal(channel.table(None)[1], channel.start[1])
    np.testing.assert_array_equal(channel.table((0, 2))[1], channel.after[0, 2, 1])
    memoryless = random_suppression(9, with_memory=False)
    np.testing.assert_array_equal(memoryless.table((0, 2))[1], memoryless.start[1])


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        (Suppression, ("ab", [[0.5, 1.5]])),
        (Suppression, ("ab", [[0.5, -0.5]])),
        (Suppression, ("ab", [[0.5, np.nan]])),
        (Suppression, ("ab", [0.5, 0.5])),
        (Suppression, ("ab", np.empty((0, 2)))),
        (Suppression, ("abc", [[0.5, 0.5]])),
        (Suppression, ("ab", [[0.5, 0.5]], np.ones((1, 2, 1, 3)))),
        (Suppression, ("ab", [[0.5, 0.5]], np.full((1, 2, 1, 2), np.nan))),
        (Suppression, ("ab", [[0.5, 0.5]], np.full((1, 2, 1, 2), 2.0))),
        (Suppression, ("ab", [["x", "y"]])),
        (Symbols, ("ab", (0, 1), [[[0.5, 0.4], [0.5, 0.5]]])),
        (Symbols, ("ab", (0, 1), [[[0.5, np.nan], [0.5, 0.5]]])),
        (Symbols, ("ab", (0, 1), [[1.5, -0.5], [0.5, 0.5]])),
        (Symbols, ("ab", (0, 1), [[0.5, 0.5], [0.5, 0.5]])),
        (Symbols, ("ab", (0, 0), [[[0.5, 0.5], [0.5, 0.5]]])),
        (Symbols, ("a", (0, 1), [[[0.5, 0.5], [0.5, 0.5]]])),
        (NoisyVectors, ("ab", [[[0.0], [1.0]]], 0.0)),
        (NoisyVectors, ("ab", [[[0.0], [1.0]]], -1.0)),
        (NoisyVectors, ("ab", [[[0.0], [1.0]]], np.nan)),
        (NoisyVectors, ("ab", [[[0.0], [1.0]]], np.inf)),
        (NoisyVectors, ("ab", [[[0.0], [1.0]]], None)),
        (NoisyVectors, ("ab", [[[0.0], [1.0]]], True)),
        (NoisyVectors, ("ab", [[[0.0], [np.nan]]], 1.0)),
        (NoisyVectors, ("ab", [[[0.0], [np.inf]]], 1.0)),
        (NoisyVectors, ("ab", [[0.0, 1.0]], 1.0)),
        (NoisyVectors, ("abc", [[[0.0], [1.0]]], 1.0)),
        (NoisyVectors, ("ab", [[[0.0], [1.0]]], 1e-16)),  # noise lost in float64's spacing
    ],
)
def test_bad_parameters_are_refused(kind, arguments):
    with pytest.raises(ParameterError) as caught:
        kind(*arguments)
    assert str(caught.value).endswith(".")


def test_bad_observations_are_refused():
    suppression, symbols = random_suppression(0), random_symbols(0)
    noisy = NoisyVectors("ab", np.zeros((2, 2, 1)), 1.0)
    for channel in (suppression, symbols):
        with pytest.raises(ParameterError, match="at most 3"):
            channel.evidence([channel.outputs()[0][0]] * 4)
        with pytest.raises(ParameterError, match="has no"):
            channel.evidence(["nowhere"])
        with pytest.raises(ParameterError, match="one common length"):
            channel.evidence_batch([channel.outputs()[0][:1], channel.outputs()[0][:2]])
        with pytest.raises(ParameterError, match="trace must have between 0 states"):
            channel.log_likelihood([], ("a",) * 4)
    with pytest.raises(ParameterError, match="did you mean"):
        suppression.log_likelihood([SUPPRESSED], ("a", "b", "aa"))
    for observed in ([np.nan], [np.inf], [[0.0, 1.0]], [0.0] * 3, ["x"], [None, []]):
        with pytest.raises(ParameterError, match="observed"):
            noisy.evidence(observed)
    with pytest.raises(Undecidable, match="overflows"):
        noisy.evidence([1e200])
    with pytest.raises(OutsideHypotheses, match="finite"):
        noisy.outputs()


def test_the_beginning_of_an_output_given_the_beginning_of_a_trace():
    """What is emitted depends on no later state."""
    channel = Suppression.memoryless(("s", "x"), [[1.0, 0.25], [1.0, 0.5], [1.0, 0.5]])
    whole = channel.log_likelihood(["x", SUPPRESSED], ["x", "s", "x"])
    assert channel.log_likelihood(["x", SUPPRESSED], ["x", "s"]) == whole
    for trace in (["x"], ["x", "s", "x", "x"]):
        with pytest.raises(ParameterError, match="trace must have between 2 states"):
            channel.log_likelihood(["x", SUPPRESSED], trace)
