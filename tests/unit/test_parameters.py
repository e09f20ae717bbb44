"""Declared parameters: one declaration checks, parses, writes and draws."""

from __future__ import annotations

import tomllib

import numpy as np
import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.parameters import (
    CHOICE,
    COVARIANCE,
    INDEX,
    LABELS,
    OPEN_UNIT,
    OPTIONAL,
    ORDER,
    POSITIVE,
    SIMPLEX,
    STOCHASTIC,
    TABLE,
    UNIT,
    ExactlyOne,
    Rejected,
    Sizes,
    Together,
    declare,
    parameter,
)

NOT_NUMBERS = [None, "1", True, 1j, [1.0], float("nan"), float("inf"), -float("inf")]


@pytest.mark.parametrize("bad", [-1.0, 0, 0.0, *NOT_NUMBERS])
def test_a_positive_parameter_rejects_everything_else(bad):
    with pytest.raises(
        sf.ParameterError, match=r"^rbf\.length_scale must be positive.*; got .*\.$"
    ):
        sf.priors.rbf(length_scale=bad, times=5)


def test_the_error_is_the_sentence_the_house_promises():
    with pytest.raises(sf.ParameterError) as caught:
        sf.priors.rbf(length_scale=-1.0, times=5)
    assert str(caught.value) == "rbf.length_scale must be positive; got -1.0."


@pytest.mark.parametrize("bad", [0, -3, [], [1, 1], [2, 1], "x", [1, float("nan")], 2.5, [[1, 2]]])
def test_times_must_be_a_count_or_increasing_stamps(bad):
    with pytest.raises(sf.ParameterError, match=r"^rbf\.times must be"):
        sf.priors.rbf(length_scale=1.0, times=bad)


@pytest.mark.parametrize(
    ("domain", "bad"),
    [
        (UNIT, -0.1),
        (UNIT, 2),
        (OPEN_UNIT, 0.0),
        (OPEN_UNIT, 1.0),
        (ORDER, 0),
        (ORDER, 0.5),
        (ORDER, 1.0),
        (INDEX("n"), -1),
        (INDEX("n"), 1.5),
        (SIMPLEX("M"), [0.5, 0.4]),
        (SIMPLEX("M"), [1.5, -0.5]),
        (SIMPLEX("M"), []),
        (SIMPLEX("M"), [[0.5, 0.5]]),
        (STOCHASTIC("M", "M"), [[0.5, 0.5], [0.5, 0.6]]),
        (STOCHASTIC("M", "M"), [[0.5, 0.5]]),
        (TABLE("T", "M"), [[0.5, 1.1]]),
        (TABLE("T", "M"), [[0.5, float("nan")]]),
        (COVARIANCE("n"), [[1.0, 2.0], [2.0, 1.0]]),
        (COVARIANCE("n"), [[1.0, 0.5], [0.4, 1.0]]),
        (COVARIANCE("n"), [[1.0, 0.5, 0.0], [0.5, 1.0, 0.0]]),
        (COVARIANCE("n"), [["a"]]),
        (LABELS("M"), ["a", "a"]),
        (LABELS("M"), "ab"),
        (CHOICE("greedy", "exhaustive"), "greed"),
        (CHOICE(False, True), 1),
    ],
)
def test_domains_reject(domain, bad):
    with pytest.raises(Rejected):
        domain.convert(bad, Sizes())


def test_sizes_must_agree_across_parameters():
    with pytest.raises(sf.ParameterError, match=r"markov_chain\.transitions must be .*M = 2"):
        sf.priors.markov_chain(initial=[0.5, 0.5], transitions=np.eye(3), steps=4)
    with pytest.raises(sf.ParameterError, match=r"markov_chain\.steps must be T = 3"):
        sf.priors.markov_chain(initial=[1, 0], transitions=[np.eye(2)] * 2, steps=4)


def test_arrays_are_read_only_copies_equal_and_hashed_by_content():
    given_table = np.full((2, 2), 0.5)
    one = sf.mechanisms.suppress_given(probabilities=given_table)
    given_table[0, 0] = 0.9
    other = sf.mechanisms.suppress_given(probabilities=[[0.5, 0.5], [0.5, 0.5]])
    assert one == other
    assert hash(one) == hash(other)
    assert len({one, other}) == 1
    with pytest.raises(ValueError, match="read-only"):
        one.probabilities[0, 0] = 1.0
    with pytest.raises(AttributeError):
        one.probabilities = other.probabilities


@declare
class Budgeted(sf.Adversary):
    """A plugin with rules between its parameters."""

    name = "budgeted"
    reads = ()
    rules = (ExactlyOne(("mse", "epsilon")), Together("epsilon", "order"))
    mse: float | None = parameter(OPTIONAL(POSITIVE), default=None)
    epsilon: float | None = parameter(OPTIONAL(POSITIVE), default=None)
    order: float | None = parameter(OPTIONAL(ORDER), default=None)

    def infer(self, belief, channel, observed):
        return observed


@pytest.mark.parametrize(
    ("given_values", "match"),
    [
        ({}, r"^budgeted must have exactly one of mse, epsilon; got none of them\.$"),
        ({"mse": 1.0, "epsilon": 1.0, "order": 2.0}, "got mse and epsilon"),
        ({"epsilon": 1.0}, "epsilon and order together; got epsilon without order"),
        ({"mse": 1.0, "order": 2.0}, "got order without epsilon"),
    ],
)
def test_rules_between_parameters(given_values, match):
    with pytest.raises(sf.ParameterError, match=match):
        Budgeted(**given_values)


def test_rules_accept_what_fits():
    assert Budgeted(mse=1.0).mse == 1.0
    assert Budgeted(epsilon=1.0, order=2.0).order == 2.0


def test_a_plain_field_is_refused():
    with pytest.raises(TypeError, match="must be declared with parameter"):

        @declare
        class Sloppy(sf.Adversary):
            name = "sloppy"
            value: float = 1.0


@given(data=st.data())
def test_every_plugin_round_trips_through_toml_repr_and_equality(data):
    from sfumato.laws.strategies import instances

    kind = data.draw(st.sampled_from(["prior", "secret", "mechanism", "adversary", "measure"]))
    name = data.draw(st.sampled_from(sf.registry.names(kind)))
    drawn = data.draw(instances(sf.registry.get(kind, name)))
    text = tomli_w.dumps(drawn.specification())
    assert sf.registry.build(kind, tomllib.loads(text)) == drawn
    assert eval(repr(drawn), {"sf": sf}) == drawn  # noqa: S307 - our own repr


@pytest.mark.parametrize("name", ["rbf", "periodic"])
def test_missing_unknown_and_repeated_parameters(name):
    make = getattr(sf.priors, name)
    with pytest.raises(TypeError, match="did you mean 'length_scale'"):
        make(lenght_scale=1.0)
    with pytest.raises(TypeError, match="must have the parameter"):
        make()
    with pytest.raises(TypeError, match="got it twice"):
        make(1.0, length_scale=2.0)


def test_numpy_scalars_are_numbers_for_every_scalar_domain():
    """What the domains of all plugins take from Python, they take from numpy, as the same."""
    from sfumato.domains.domain import Real, Sizes, Whole

    kinds = ("prior", "secret", "mechanism", "adversary", "measure")
    domains = {
        declared.domain
        for kind in kinds
        for name in sf.registry.names(kind)
        for declared in sf.registry.get(kind, name).parameters()
        if isinstance(declared.domain, (Real, Whole))
    }
    assert len(domains) > 5
    for domain in domains:
        value = 2 if isinstance(domain, Whole) or domain.high > 2 else 0.5
        made = (np.int64, np.int32, np.uint8) if value == 2 else ()
        made += () if isinstance(domain, Whole) else (np.float64, np.float32)
        for make in made:
            converted = domain.convert(make(value), Sizes())
            assert converted == domain.convert(value, Sizes())
            assert type(converted) in (int, float)


def test_a_chain_of_one_step_without_moves_is_written_and_read_back():
    chain = sf.priors.markov_chain(initial=[0.5, 0.5], transitions=np.zeros((0, 2, 2)), steps=1)
    again = sf.registry.build("prior", chain.specification())
    assert again == chain
    assert again.belief().steps == 1
