"""Comparisons: everything answered, refused with a reason, or failed in the open."""

from __future__ import annotations

import pytest

import sfumato as sf
from sfumato.parameters import declare


@declare
class Clumsy(sf.LossMeasure):
    """A measure that always fails."""

    name = "clumsy"
    reads = ((object, object, object),)

    @property
    def quantity(self):
        return sf.Quantity("clumsiness")

    def evaluate(self, belief, question, channel):
        raise ZeroDivisionError("oops")


def chain():
    return sf.priors.markov_chain(
        initial=[0.5, 0.5], transitions=[[0.9, 0.1], [0.2, 0.8]], steps=3, states=["s", "x"]
    )


def everything():
    return sf.compare(
        priors=[sf.priors.rbf(length_scale=2.0, times=9), chain()],
        secrets=[sf.secrets.basic(4), sf.secrets.contexts({"s"}), sf.secrets.trajectory(1)],
        mechanisms=[
            sf.mechanisms.gaussian_uniform(mse=0.5),
            sf.mechanisms.suppress_given(probabilities=[[1, 0.5]] * 3),
            sf.mechanisms.sensor_counts(["s", "x", "s"]),
        ],
        measures=[
            sf.measures.renyi(order=2.0),
            sf.measures.posterior_gap(),
            sf.measures.reconstruction(),
            sf.measures.released_fraction(),
            Clumsy(),
        ],
    )


def test_worlds_side_by_side():
    table = everything().to_pandas()
    assert len(table) == 2 * 3 * 3 * 5
    answered = table[table.outcome == "measured"]
    pairs = set(
        zip(answered.mechanism.str.extract(r"\.(\w+)\(")[0], answered.quantity, strict=True)
    )
    # Definitions cross worlds: both answer for suppression and for counts.
    assert ("suppress_given", "posterior gap [probability]") in pairs
    assert ("sensor_counts", "posterior gap [probability]") in pairs
    assert ("suppress_given", "reconstruction success [probability]") in pairs
    assert ("sensor_counts", "reconstruction success [probability]") in pairs
    assert set(table[table.measure.str.contains("clumsy")].outcome) <= {"failed", "refused"}


def test_refusals_are_grouped_by_reason_with_a_count():
    refusals = everything().refusals
    assert "contexts needs Markov chains; the prior 'rbf' gives Gaussian traces." in refusals
    total = sum(refusals.values())
    assert total == sum(cell.outcome == "refused" for cell in everything().cells)


def test_a_failure_is_shown_and_the_rest_goes_on():
    shown = str(everything())
    assert "ZeroDivisionError: oops" in shown
    assert "posterior gap" in shown
    assert "combinations do not fit" in shown


def test_compare_is_a_function_also_the_second_time():
    arguments = {"priors": [chain()], "secrets": [], "mechanisms": [], "measures": []}
    assert len(sf.compare(**arguments).to_pandas()) == 0
    assert len(sf.compare(**arguments).to_pandas()) == 0


def test_a_single_object_instead_of_a_list_is_said_so():
    with pytest.raises(TypeError, match=r"compare\.priors must be a list"):
        sf.compare(priors=chain(), secrets=[], mechanisms=[], measures=[])


def test_incompatible_calls_are_refused_in_one_sentence():
    prior, secret = chain(), sf.secrets.contexts({"s"})
    with pytest.raises(sf.Incompatible, match="gaussian_uniform needs Gaussian traces"):
        sf.mechanisms.gaussian_uniform(mse=1.0).protect(prior, secret)
    release = sf.mechanisms.suppress_given(probabilities=[[1, 0.5]] * 3).protect(prior, secret)
    with pytest.raises(sf.Incompatible) as caught:
        sf.measures.posterior_interval().loss(prior, secret, release)
    assert str(caught.value) == (
        "posterior_interval needs Gaussian traces; the prior 'markov_chain' gives Markov chains."
    )


@pytest.mark.parametrize(
    ("secret", "match"),
    [
        (lambda: sf.secrets.contexts({"q"}), r"contexts\.states must be among"),
        (lambda: sf.secrets.contexts({"s"}, times=[3]), r"contexts\.times must be below"),
        (lambda: sf.secrets.trajectory(4), r"trajectory\.mistakes must be at most"),
    ],
)
def test_questions_outside_the_trace_are_refused(secret, match):
    with pytest.raises(sf.ParameterError, match=match):
        secret().question(chain().belief())


def test_an_index_outside_the_trace_is_refused():
    prior, secret = sf.priors.rbf(length_scale=1.0, times=5), sf.secrets.basic(5)
    with pytest.raises(sf.ParameterError, match="below the trace length 5; got 5"):
        sf.mechanisms.gaussian_uniform(mse=1.0).protect(prior, secret)


@pytest.mark.parametrize(
    "make",
    [
        lambda: sf.mechanisms.gaussian_given(covariance=[[1.0]]),
        lambda: sf.mechanisms.suppress_given(probabilities=[[1.0]]),
        lambda: sf.mechanisms.sensor_counts(["s"]),
        lambda: sf.mechanisms.sensor_counts(["s", "x", "q"]),
    ],
)
def test_mechanisms_of_the_wrong_size_are_refused(make):
    mechanism = make()
    gaussian = mechanism.name.startswith("gaussian")
    prior = sf.priors.rbf(length_scale=1.0, times=5) if gaussian else chain()
    secret = sf.secrets.basic(0) if gaussian else sf.secrets.trajectory(1)
    with pytest.raises(sf.ParameterError, match=mechanism.name):
        mechanism.protect(prior, secret)


def test_a_comparison_of_a_billion_cells_is_refused_before_it_runs():
    many = [sf.secrets.basic(index) for index in range(1000)]
    priors = [sf.priors.rbf(length_scale=1.0, times=n) for n in range(1, 1001)]
    with pytest.raises(sf.ParameterError, match="at most 100,000 cells; got 1,000,000"):
        sf.compare(priors, many, [sf.mechanisms.gaussian_uniform(mse=1.0)], [sf.measures.renyi()])
