"""Objects and scenarios drawn from declarations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, find, given, seed, settings

import sfumato as sf
from sfumato.beliefs import Gaussian
from sfumato.errors import PluginError
from sfumato.laws.strategies import (
    Surroundings,
    instances,
    plugins_of_kind,
    prior_classes,
    scenarios,
)
from sfumato.laws.trial import using
from sfumato.matrices import Diagonal
from sfumato.parameters import (
    COUNT,
    LABEL_SET,
    ORDER,
    PLUGIN,
    POSITIVE,
    UNIT,
    VECTOR,
    ExactlyOne,
    Together,
    declare,
    parameter,
)
from sfumato.plugin_registry import Entry, Registry
from sfumato.protocols import NOUNS

SHIPPED = Registry.load(strict=True)
MODEST = settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.parametrize(
    "cls",
    [SHIPPED.get(kind, name) for kind in NOUNS for name in SHIPPED.names(kind)],
    ids=lambda cls: f"{cls.kind}:{cls.name}",
)
def test_every_shipped_class_can_be_drawn(cls):
    @MODEST
    @given(instances(cls))
    def drawn(made):
        assert type(made) is cls

    drawn()


@MODEST
@given(instances(SHIPPED.get("prior", "rbf"), {"n": 3}))
def test_sizes_that_are_settled_stay(prior):
    assert prior.sizes["n"] == 3


@pytest.mark.filterwarnings("ignore:Generating overly large repr")  # of a table by last release
@MODEST
@given(
    scenarios(SHIPPED, ("prior", "secret", "mechanism"), prior=SHIPPED.get("prior", "markov_chain"))
)
def test_scenarios_agree_in_sizes_and_labels(drawn):
    belief = drawn["prior"].belief()
    for state in getattr(drawn["secret"], "states", ()):
        assert state in belief.states


@MODEST
@given(scenarios(SHIPPED, ("prior", "secret"), secret=SHIPPED.get("secret", "basic")))
def test_an_index_lies_inside_the_trace(drawn):
    sizes = drawn["prior"].sizes
    assert drawn["secret"].index < sizes.get("n", sizes.get("T"))


@MODEST
@given(
    scenarios(
        SHIPPED, ("prior", "secret", "mechanism", "measures"), prior=SHIPPED.get("prior", "rbf")
    )
)
def test_a_panel_has_every_measure_that_fits(drawn):
    assert {"renyi", "posterior_interval"} <= {measure.name for measure in drawn["measures"]}
    by_name = {measure.name: measure for measure in drawn["measures"]}
    assert by_name["renyi"].order == by_name["renyi_paper_bound"].order


def test_both_finite_and_continuous_classes_are_drawn():
    strategy = prior_classes(SHIPPED, SHIPPED.get("prior", "rbf"))
    assert not find(strategy, lambda drawn: not drawn.finite).finite
    assert len(list(find(strategy, lambda drawn: drawn.finite).members())) >= 1


@declare
class Calibrated(sf.Prior):
    """A prior with rules between its parameters."""

    name = "calibrated"
    yields = Gaussian
    rules = (ExactlyOne(("mse", "epsilon")), Together("epsilon", "order"))

    mse: float | None = parameter(POSITIVE, default=None)
    epsilon: float | None = parameter(POSITIVE, default=None)
    order: float | None = parameter(ORDER, default=None)
    times: int = parameter(COUNT("n"), default=1)

    def belief(self):
        return Gaussian(Diagonal(np.ones(self.times)))


@MODEST
@given(instances(Calibrated))
def test_rules_are_kept(made):
    assert (made.mse is None) != (made.epsilon is None)
    assert (made.epsilon is None) == (made.order is None)


def test_both_sides_of_a_rule_are_drawn():
    assert find(instances(Calibrated), lambda made: made.mse is not None).epsilon is None
    assert find(instances(Calibrated), lambda made: made.epsilon is not None).mse is None


@declare
class Picky(sf.Prior):
    """Takes almost nothing of what its domains allow."""

    name = "picky"
    yields = Gaussian

    share: float = parameter(UNIT)
    weights: object = parameter(VECTOR("n"))

    def check(self):
        raise self.reject("share", "something that is never drawn", self.share)

    def belief(self):
        raise NotImplementedError


def test_a_class_that_rejects_its_own_domains_is_reported():
    @settings(suppress_health_check=list(HealthCheck), database=None)
    @given(instances(Picky))
    def drawn(made):
        del made

    with pytest.raises(PluginError, match=r"picky must take what its declared domains draw"):
        drawn()


@declare
class Attacked(sf.LossMeasure):
    """A measure that takes an adversary."""

    name = "attacked"
    reads = ((object, object, object),)

    adversary: object = parameter(PLUGIN("adversary"))

    @property
    def quantity(self):
        return sf.Quantity("attacked")

    def evaluate(self, belief, question, channel):
        raise NotImplementedError


@MODEST
@given(instances(Attacked))
def test_another_plugin_can_be_a_parameter(made):
    assert type(made.adversary).kind == "adversary"


def test_plugins_within_plugins_end():
    entry = Entry("measure", "attacked", Attacked, "a test")
    with using(Registry((*SHIPPED.entries, entry))):
        assert find(plugins_of_kind("measure", {}), lambda made: made.name != "attacked")


def test_a_registered_strategy_wins():
    from hypothesis import strategies as st

    rbf = SHIPPED.get("prior", "rbf")
    only = rbf(length_scale=2.0, times=2)
    entry = Entry("strategy", "rbf", lambda _sizes: st.just(only), "a test")
    with using(Registry((*SHIPPED.entries, entry))):
        assert find(instances(rbf), lambda _made: True) == only


@declare
class Watching(sf.Secret):
    """A secret about labels."""

    name = "watching"
    yields = {}  # noqa: RUF012 - never changed

    states: object = parameter(LABEL_SET("M"))

    def question(self, belief):
        raise NotImplementedError


@MODEST
@given(instances(Watching, around=Surroundings({"M": 2}, labels=("home", "work"))))
def test_labels_come_from_the_surroundings(made):
    assert set(made.states) <= {"home", "work"}


def test_most_drawn_chains_leave_something_open():
    drawn = []

    @seed(1)
    @settings(max_examples=60, database=None, deadline=None)
    @given(instances(SHIPPED.get("prior", "markov_chain")))
    def collect(prior):
        drawn.append(prior.belief())

    collect()
    open_ = [belief for belief in drawn if (belief.marginals() > 1e-6).sum(axis=1).max() > 1]
    longer = [belief for belief in drawn if belief.steps > 1]
    assert len(open_) > 0.5 * len(drawn)
    assert len(longer) > 0.6 * len(drawn)
