"""Fitted and simulated chains."""

import itertools
import pickle
from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf

fit = sf.priors.markov_chain.fit
fit_each = sf.priors.markov_chain.fit_each


def test_smoothed_frequencies_in_rational_numbers():
    traces = [["a", "b", "a", "a", "c"], ["b", "b", "a"]]
    counts = {("a", "b"): 1, ("b", "a"): 2, ("a", "a"): 1, ("a", "c"): 1, ("b", "b"): 1}
    for smoothing in (Fraction(1), Fraction(1, 4), Fraction(0)):
        chain = fit(traces, smoothing=float(smoothing)) if smoothing else None
        for i, x in enumerate("abc"):
            total = sum(counts.get((x, y), 0) for y in "abc") + 3 * smoothing
            for j, y in enumerate("abc"):
                value = (counts.get((x, y), 0) + smoothing) / total if total else Fraction(1, 3)
                if chain is not None:
                    assert chain.transitions[i, j] == pytest.approx(float(value), rel=1e-14)
    assert chain is None
    bare = fit([["a", "b", "a"], ["b", "b", "a"]], smoothing=0)
    assert bare.transitions.tolist() == pytest.approx(np.array([[0, 1], [2 / 3, 1 / 3]]))


def test_a_fitted_chain_is_stationary_and_knows_its_length():
    chain = fit([[0, 1, 1, 0, 2], [2, 2, 1]], states=range(5))
    belief = chain.belief()
    assert belief.steps == 5
    assert belief.states == tuple(range(5))
    assert belief.is_stationary()
    assert fit([[0, 1, 1]], steps=9).belief().steps == 9


def test_each_person_is_fitted_as_if_alone():
    rng = np.random.default_rng(0)
    traces = rng.integers(6, size=(40, 9))
    chains = fit_each(traces, states=range(8), steps=4, smoothing=0.5)
    assert len(chains) == 40
    for person in (0, 7, 39, -1):
        alone = fit([traces[person]], states=range(8), steps=4, smoothing=0.5)
        np.testing.assert_allclose(chains[person].transitions, alone.transitions, rtol=1e-14)
        np.testing.assert_allclose(
            chains[person].belief().initial, alone.belief().initial, rtol=1e-12
        )
        assert chains[person].steps == 4
    gaps = chains.spectral_gaps()
    values = np.sort(np.abs(np.linalg.eigvals(chains[3].transitions)))
    assert gaps[3] == pytest.approx(1 - values[-2], rel=1e-10)
    assert chains[3].spectral_gap() == pytest.approx(gaps[3], rel=1e-10)


def test_some_of_the_people_travel_between_processes():
    chains = fit_each([["a", "b", "a"], ["b", "b"], ["a", "a", "a"]], steps=3)
    some = pickle.loads(pickle.dumps(chains.some([2, 0])))  # noqa: S301 - our own object
    assert some[0] == chains[2]
    assert some[1] == chains[0]
    assert [chain == chains[place] for place, chain in enumerate(chains[1:])] == [False, False]
    assert list(chains[1:]) == [chains[1], chains[2]]
    assert chains.key(0) != chains.key(1)
    with pytest.raises(IndexError):
        chains[3]


def test_ragged_traces_do_not_run_into_each_other():
    chains = fit_each([[0, 1], [1], [1, 1, 1]], states=[0, 1], smoothing=1.0)
    assert chains[1].transitions.tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert chains[0].transitions[0].tolist() == pytest.approx([1 / 3, 2 / 3])
    assert chains[2].transitions[1].tolist() == pytest.approx([1 / 4, 3 / 4])


def test_the_simulated_chain():
    chain = sf.priors.markov_chain.simulated(states=5, tau=0.3, steps=7)
    for i in range(5):
        weights = [np.exp(-abs(i - j) / 1.5) for j in range(5)]
        np.testing.assert_allclose(chain.transitions[i], np.array(weights) / sum(weights))
    assert chain.belief().is_stationary()
    slow = sf.priors.markov_chain.simulated(states=5, tau=0.05, steps=7)
    assert slow.spectral_gap() < chain.spectral_gap()


@pytest.mark.parametrize("smoothing", [-1.0, float("nan"), float("inf"), 1e308, "1", True, None])
def test_wrong_smoothing_is_refused(smoothing):
    with pytest.raises(sf.ParameterError, match="smoothing"):
        fit([[0, 1]], smoothing=smoothing)


@pytest.mark.parametrize(
    ("states", "tau"), [(0, 0.1), (2.5, 0.1), (3, 0.0), (3, float("nan")), (3, -1), (True, 0.1)]
)
def test_wrong_simulations_are_refused(states, tau):
    with pytest.raises(sf.ParameterError, match="simulated"):
        sf.priors.markov_chain.simulated(states=states, tau=tau, steps=3)


def test_data_that_says_nothing_is_refused():
    with pytest.raises(sf.ParameterError, match="at least one state"):
        fit([[]])
    with pytest.raises(sf.ParameterError, match="at least one state"):
        fit_each([])
    with pytest.raises(sf.ParameterError, match="has no 2"):
        fit([[0, 2]], states=[0, 1])
    # Two classes that are never left have no single stationary law.
    with pytest.raises(sf.ParameterError, match="not unique"):
        fit([[0, 0], [1, 1]], smoothing=0)


def test_one_matrix_for_each_step():
    traces = [["a", "b", "a"], ["a", "b", "b"], ["b", "b", "a"]]
    chain = fit(traces, homogeneous=False, smoothing=0.0)
    assert chain.steps == 3
    assert chain.transitions.shape == (2, 2, 2)
    assert chain.initial.tolist() == pytest.approx([2 / 3, 1 / 3])
    assert chain.transitions[0].tolist() == [[0.0, 1.0], [0.0, 1.0]]
    assert chain.transitions[1, 1].tolist() == pytest.approx([2 / 3, 1 / 3])


def test_split_and_periodic_chains_have_no_spectral_gap():
    from sfumato_markov_chain.stationary import spectral_gap

    stack = np.array([np.eye(2), [[0, 1], [1, 0]], [[0.5, 0.5], [0.5, 0.5]]])
    np.testing.assert_allclose(spectral_gap(stack), [0.0, 0.0, 1.0], atol=1e-12)
    stepwise = sf.priors.markov_chain([0.5, 0.5], stack[:2], 3)
    with pytest.raises(sf.OutsideHypotheses, match="one matrix"):
        stepwise.spectral_gap()


@pytest.mark.parametrize("steps", [0, -1, 2.5, True, "3", float("nan")])
def test_wrong_steps_are_refused(steps):
    with pytest.raises(sf.ParameterError, match="steps >= 1"):
        fit([[0, 1, 0]], steps=steps)
    with pytest.raises(sf.ParameterError, match="steps >= 1"):
        fit_each([[0, 1, 0]], steps=steps)


@pytest.mark.parametrize("traces", [[0, 1, 0, 1], np.array([0, 1, 0, 1]), ["home", "work"]])
def test_one_bare_trace_is_refused(traces):
    with pytest.raises(sf.ParameterError, match="a list of traces"):
        fit(traces)
    with pytest.raises(sf.ParameterError, match="a list of traces"):
        fit_each(traces)
    with pytest.raises(sf.ParameterError, match="a list of traces"):
        fit(traces, homogeneous=False)


def test_several_traces_of_a_person_are_fitted_as_if_alone():
    rng = np.random.default_rng(1)
    people = [
        [rng.integers(4, size=rng.integers(1, 7)).tolist() for _ in range(rng.integers(1, 5))]
        for _ in range(25)
    ]
    chains = fit_each(people, states=range(5), steps=3, smoothing=0.5)
    assert len(chains) == 25
    for person, traces in enumerate(people):
        counts = np.zeros((5, 5))
        for trace in traces:
            for here, there in itertools.pairwise(trace):
                counts[here, there] += 1
        expected = (counts + 0.5) / (counts.sum(axis=1, keepdims=True) + 2.5)
        np.testing.assert_allclose(chains[person].transitions, expected, rtol=1e-14)
        alone = fit(traces, states=range(5), steps=3, smoothing=0.5)
        np.testing.assert_allclose(
            chains[person].belief().initial, alone.belief().initial, rtol=1e-12
        )


def test_one_trace_and_several_and_arrays_may_be_mixed():
    traces = np.array([[0, 1, 1], [1, 0, 0]])
    mixed = fit_each([[0, 1, 1], [[0, 1, 1], [1, 0, 0]], traces, [traces[0], [1, 0, 0]]])
    assert mixed.steps == 3
    assert mixed[1] == mixed[2] == mixed[3]
    assert mixed[0] == fit_each([traces[0]])[0]
    cube = fit_each(np.stack([traces, traces[::-1]]))
    assert cube[0] == mixed[1]
    assert cube[0] == cube[1]
    assert cube.key(0) == cube.key(1)
    assert fit_each([((0, 1, 1), (1, 0, 0))])[0] == mixed[1]
    assert fit_each([(0, 1, 1)])[0] == mixed[0]


def test_a_table_of_people_keeps_their_names():
    days = {"ann": [["a", "b"], ["b", "b"]], "bob": ["b", "b", "a"], "cem": [["a"]]}
    chains = fit_each(days)
    assert chains.names == ("ann", "bob", "cem")
    assert chains.some([2, 0]).names == ("cem", "ann")
    assert chains[1:].names == ("bob", "cem")
    assert pickle.loads(pickle.dumps(chains)).names == chains.names  # noqa: S301 - our own object
    assert list(chains) == list(fit_each(list(days.values())))
    assert fit_each([[0, 1]]).names == (0,)
    sensors = sf.mechanisms.sensor_counts(["a", "b", "a"])
    found = sf.measures.reconstruction().of_population(
        chains, sf.secrets.trajectory(mistakes=1), sensors, processes=1
    )
    assert len(found) == 3


@pytest.mark.parametrize(
    ("people", "words"),
    [
        ([[[0, 1], 2]], "a trace or a list of traces"),
        ([[[0, 1], []]], "at least one state"),
        ([[]], "at least one state"),
        ({}, "at least one state"),
        ([[[[0, 1]]]], "lists of states"),
        ([["ab", ["a"]]], "a trace or a list of traces"),
        ([7], "a list of traces"),
        ({"ann": "home"}, "a list of traces"),
    ],
)
def test_people_who_are_neither_one_trace_nor_several_are_refused(people, words):
    with pytest.raises(sf.ParameterError, match=words):
        fit_each(people)


def test_a_list_of_people_is_not_one_person():
    with pytest.raises(sf.ParameterError, match="lists of states"):
        fit([[[0, 1], [1, 1]]])


@pytest.mark.parametrize("one", [np.int64(1), np.float32(1), np.float64(1), np.int8(1)])
def test_numpy_numbers_count_as_numbers(one):
    simulated = sf.priors.markov_chain.simulated
    assert simulated(states=5, tau=one, steps=3) == simulated(states=5, tau=1, steps=3)
    assert fit([[0, 1, 1]], smoothing=one) == fit([[0, 1, 1]], smoothing=1)
    chains = fit_each([[0, 1, 1]], smoothing=one)
    assert chains[0] == fit_each([[0, 1, 1]], smoothing=1)[0]
    assert type(chains.smoothing) is float


@pytest.mark.parametrize("wrong", [5, None, "ab", 1.5])
def test_what_is_no_list_of_traces_is_refused_in_a_sentence(wrong):
    with pytest.raises(sf.ParameterError, match=r"sequences must be a list of traces.*; got "):
        fit(wrong)
    with pytest.raises(sf.ParameterError, match=r"people must be a list of traces.*; got "):
        fit_each(wrong)
