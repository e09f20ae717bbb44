"""Comparisons that reports are tested on."""

from __future__ import annotations

import pytest

import sfumato as sf
from sfumato.parameters import REAL, SEED, declare, parameter


class Bounds(sf.LossMeasure):
    """A measure of one shared quantity whose value is given."""

    reads = ((object, object, object),)

    @property
    def quantity(self):
        return sf.Quantity("success", unit="probability")


@declare
class Above(Bounds):
    """An upper bound."""

    name = "above"
    value: float = parameter(REAL)

    def evaluate(self, belief, question, channel):
        return sf.Reading(value=self.value, bound="upper")


@declare
class Exactly(Bounds):
    """The value, with nothing to check it by."""

    name = "exactly"
    value: float = parameter(REAL)

    def evaluate(self, belief, question, channel):
        return sf.Reading(value=self.value, bound="exact")


@declare
class Attacked(Bounds):
    """An attack's success."""

    name = "attacked"
    value: float = parameter(REAL)
    seed: int | None = parameter(SEED, default=None)

    def evaluate(self, belief, question, channel):
        interval = (self.value - 0.05, self.value + 0.05)
        return sf.Reading(
            value=self.value, bound="estimate", interval=interval, estimate_of="lower"
        )


@declare
class Endless(Bounds):
    """An infinite loss."""

    name = "endless"

    @property
    def quantity(self):
        return sf.Quantity("endless", unit="nats")

    def evaluate(self, belief, question, channel):
        return sf.Reading(value=float("inf"), bound="exact")

    def brute_force(self, belief, question, channel):
        return self.evaluate(belief, question, channel)


def chain():
    return sf.priors.markov_chain(
        initial=[0.5, 0.5], transitions=[[0.9, 0.1], [0.2, 0.8]], steps=3, states=["s", "x"]
    )


@pytest.fixture(scope="session")
def sandwiched():
    """One scenario that three measures answer for, and an infinite loss."""
    return sf.compare(
        [sf.priors.rbf(length_scale=2.0, times=5)],
        [sf.secrets.basic(2)],
        [sf.mechanisms.gaussian_uniform(mse=0.5), sf.mechanisms.gaussian_uniform(mse=1.0)],
        [Above(0.7), Exactly(0.5), Attacked(0.45), Endless()],
    )


@pytest.fixture(scope="session")
def swept():
    """A sweep of ten length scales for two mechanisms and two quantities."""
    return sf.compare(
        [sf.priors.rbf(length_scale=float(l), times=9) for l in range(1, 11)],
        [sf.secrets.basic(4)],
        [
            sf.Labelled(sf.mechanisms.gaussian_uniform(mse=0.1), "little"),
            sf.Labelled(sf.mechanisms.gaussian_uniform(mse=1.0), "much"),
        ],
        [sf.measures.renyi(), sf.measures.posterior_interval()],
    )


@pytest.fixture(scope="session")
def worlds():
    """Two worlds, with refusals and without labels."""
    return sf.compare(
        priors=[
            sf.priors.rbf(length_scale=2.0, times=9),
            sf.priors.rbf(length_scale=sf.AnyOf(1.0, 2.0), times=9),
            chain(),
        ],
        secrets=[sf.secrets.basic(4) | sf.secrets.basic(6), sf.secrets.contexts({"s"})],
        mechanisms=[
            sf.mechanisms.gaussian_uniform(mse=0.5),
            sf.mechanisms.suppress_given(probabilities=[[1, 0.5]] * 3),
            sf.mechanisms.suppress_given(probabilities=[[1, 0.25]] * 3),
        ],
        measures=[
            sf.measures.renyi(),
            sf.measures.posterior_gap(),
            sf.measures.released_fraction(),
        ],
    )
