"""Bad input is refused in one sentence, and good input never warns."""

from __future__ import annotations

import copy

import attrs
import numpy as np
import pytest

import sfumato as sf
from sfumato.parameters import declare
from sfumato.plugin_registry import Registry
from sfumato.questions import Displacements, Events, Guess


@pytest.mark.parametrize(
    "make",
    [
        lambda: sf.priors.rbf(length_scale=10**400, times=3),
        lambda: sf.priors.rbf(length_scale=1.0, times=10**12),
        lambda: sf.priors.rbf(length_scale=1.0, times=10**400),
        lambda: sf.priors.markov_chain(
            initial=[0.5, 0.5], transitions=np.eye(2), steps=2, states=[np.array([1]), 2]
        ),
        lambda: sf.mechanisms.gaussian_given(covariance=[[1.0, 0.0], [0.0, -1e-13]]),
        lambda: sf.mechanisms.gaussian_given(covariance=[[np.longdouble("1e4000")]]),
        lambda: Guess(float("nan")),
        lambda: Guess(1.5),
        lambda: Events(np.full((1, 1, 1), np.nan), ("a",)),
        lambda: Displacements((((0.5,),),), 1.0),
        lambda: Displacements((((-1,),),), 1.0),
        lambda: Displacements((((0,),),), True),
        lambda: sf.Reading(value="5", bound="exact"),
        lambda: sf.Reading(value=1.0, bound="exact", relative_error=float("inf")),
        lambda: sf.Reading(value=1.0, bound="exact", interval=(0, 2, 3)),
        lambda: sf.Reading(value=1.0, bound="estimate", interval=("a", "b")),
        lambda: sf.Reading(value=1.0, bound="exact", estimate_of="zzz"),
    ],
)
def test_constructors_refuse(make):
    with pytest.raises(ValueError, match=r"."):
        make()


def nested(leaf, wrap, depth=5_000):
    for _ in range(depth):
        leaf = wrap(leaf)
    return leaf


DEEP = {
    "list": nested(1.0, lambda inner: [inner]),
    "table": nested(1.0, lambda inner: {"x": inner}),
    "any_of": nested({"name": "rbf"}, lambda inner: {"any_of": [inner]}),
}


@pytest.mark.parametrize("form", DEEP)
@pytest.mark.parametrize(
    "make",
    [
        lambda deep: sf.priors.rbf(length_scale=deep, times=3),
        lambda deep: sf.mechanisms.gaussian_given(covariance=deep),
        lambda deep: sf.priors.kernel(deep, times=3),
        sf.secrets.contexts,
        lambda deep: sf.registry.build("prior", {"any_of": [deep]}),
        lambda deep: sf.Study.from_table({"title": "deep", "priors": deep}),
    ],
)
def test_what_is_nested_deeply_is_refused_in_one_sentence(make, form):
    with pytest.raises((ValueError, TypeError), match=r"must") as refusal:
        make(DEEP[form])
    assert len(str(refusal.value)) < 1_000


def test_an_error_does_nothing_to_a_terminal(monkeypatch, capsys):
    from sfumato.commands import main

    monkeypatch.setattr("sys.argv", ["sfumato", "describe", "\x1b]0;owned\x07"])
    with pytest.raises(SystemExit):
        main()
    assert "\x1b" not in capsys.readouterr().err


@pytest.mark.parametrize("length_scale", [1e-300, 5e-324, 1e12])
@pytest.mark.parametrize("make", [sf.priors.rbf, sf.priors.matern])
def test_extreme_scales_do_not_warn(make, length_scale):
    assert np.isfinite(make(length_scale=length_scale, times=3).belief().covariance.dense()).all()


def test_numpy_numbers_are_numbers():
    assert sf.Interval(np.int64(1), np.float32(2.5)) == sf.Interval(1, 2.5)
    assert sf.Reading(value=np.float64(1.0), bound="exact", relative_error=0).relative_error == 0.0


def test_text_that_holds_inf_survives_repr():
    secret = sf.secrets.contexts(["info"])
    assert eval(repr(secret), {"sf": sf}) == secret  # noqa: S307 - our own repr


def test_families_keep_values_of_their_own():
    stamps = np.arange(5.0)
    family = sf.priors.rbf(length_scale=sf.AnyOf(*np.array([1.0, 2.0])), times=stamps)
    before = hash(family)
    stamps[0] = -100
    assert hash(family) == before
    assert next(family.members()).times[0] == 0
    with pytest.raises(TypeError):
        family.fixed["times"] = 4
    assert sf.registry.build("prior", family.specification()) == family
    assert eval(repr(family), {"sf": sf}) == family  # noqa: S307 - our own repr
    explicit = sf.priors.rbf(length_scale=sf.Interval(1, 2), times=5, variance=1.0)
    assert explicit == sf.priors.rbf(length_scale=sf.Interval(1, 2), times=5)


def test_copies_stay_read_only():
    chain = sf.priors.markov_chain(initial=[1.0, 0.0], transitions=np.eye(2), steps=2)
    assert not copy.deepcopy(chain).transitions.flags.writeable


def test_a_read_only_array_of_the_caller_is_copied():
    from sfumato.matrices import Dense

    mine = np.eye(2)
    mine.setflags(write=False)
    matrix = Dense(mine)
    mine.setflags(write=True)
    mine[0, 0] = -5
    assert matrix.entries[0, 0] == 1


def chain(states):
    return sf.priors.markov_chain(
        initial=[0.9, 0.1], transitions=[[0.5, 0.5], [0.5, 0.5]], steps=2, states=states
    )


def test_a_belief_and_a_channel_about_different_traces_are_refused():
    secret = sf.secrets.contexts({"s"})
    release = sf.mechanisms.suppress_given(probabilities=[[1, 0.5]] * 2).protect(
        chain(["s", "x"]), secret
    )
    for measure in (sf.measures.released_fraction(), sf.measures.posterior_gap()):
        with pytest.raises(sf.Incompatible, match="one trace"):
            measure.loss(chain(["x", "s"]), secret, release)
    short, long = (sf.priors.rbf(length_scale=1.0, times=n) for n in (3, 300))
    noisy = sf.mechanisms.gaussian_uniform(mse=0.1).protect(short, sf.secrets.basic(0))
    with pytest.raises(sf.Incompatible, match="one trace"):
        sf.measures.mean_squared_error().loss(long, sf.secrets.basic(0), noisy)


@pytest.mark.parametrize("adversary", ["map", "marginal_mode", "hidden_markov_posterior"])
def test_adversaries_refuse_a_channel_about_another_trace(adversary):
    secret = sf.secrets.contexts({"s"})
    release = sf.mechanisms.suppress_given(probabilities=[[1, 0.5]] * 2).protect(
        chain(["s", "x"]), secret
    )
    attacker = getattr(sf.adversaries, adversary)()
    with pytest.raises(sf.Incompatible, match="one trace"):
        attacker.infer(chain(["x", "s"]).belief(), release.channel, [sf.SUPPRESSED] * 2)


def test_nouns_in_the_wrong_place_are_named():
    prior, secret = sf.priors.rbf(length_scale=1.0, times=3), sf.secrets.basic(0)
    with pytest.raises(sf.Incompatible, match="gaussian_uniform must get a prior; got None"):
        sf.mechanisms.gaussian_uniform(mse=1.0).protect(None, secret)
    with pytest.raises(sf.Incompatible, match="measures a release; got None"):
        sf.measures.renyi().loss(prior, secret, None)


@pytest.mark.parametrize("radius", [1e-300, 1e300])
@pytest.mark.parametrize("name", ["basic", "compound", "every_point"])
def test_losses_that_do_not_fit_float64_are_undecidable(radius, name):
    prior = sf.priors.rbf(length_scale=1.0, times=3)
    first = {"basic": (0,), "compound": ([0, 1],), "every_point": ()}[name]
    secret = getattr(sf.secrets, name)(*first, radius=radius)
    release = sf.mechanisms.gaussian_uniform(mse=0.1).protect(prior, secret)
    with pytest.raises(sf.Undecidable, match="float64"):
        sf.measures.renyi(order=2.0).loss(prior, secret, release)


@declare
class Careless(sf.Mechanism):
    """A mechanism that forgets to return anything."""

    name = "careless"
    asks = ((object, object),)
    yields = object

    def design(self, prior, secret):
        return None


def test_a_plugin_that_returns_nothing_is_a_failed_cell():
    comparison = sf.compare(
        [sf.priors.rbf(length_scale=1.0, times=3)],
        [sf.secrets.basic(0)],
        [Careless()],
        [sf.measures.renyi()],
    )
    (cell,) = comparison.cells
    assert cell.outcome == "failed"
    assert "must return a Release; got None" in cell.reason


FAULTY = {
    "studies": "def sfumato_studies():\n    return {1: 'a', 'b': 'c'}",
    "measures": (
        "from sfumato.parameters import declare\n"
        "@declare\nclass M(sf.LossMeasure):\n    name='m'\n    reads=5\n"
        "    quantity=None\n    def evaluate(self, belief, question, channel): ...\n"
        "@sf.hookimpl\ndef sfumato_measures():\n    return [M]"
    ),
    "registry": "sf.registry.names('prior')",
}


@pytest.mark.parametrize("how", FAULTY)
def test_faulty_plugins_are_skipped(tmp_path, how, monkeypatch):
    file = tmp_path / "faulty.py"
    marker = "" if how == "registry" else "@sf.hookimpl\n" if how == "studies" else ""
    file.write_text(f"import sfumato as sf\n{marker}{FAULTY[how]}\n")
    monkeypatch.setattr("sfumato.plugin_registry._default", [])
    monkeypatch.setenv("SFUMATO_PLUGINS", str(file))
    with pytest.warns(sf.BrokenPluginWarning, match=r"faulty\.py"):
        names = sf.registry.names("prior")
    assert "rbf" in names


def test_one_file_given_twice_is_one_plugin(plugin_file):
    registry = Registry.load([plugin_file, plugin_file], strict=True)
    assert registry.names("prior").count("ornstein_uhlenbeck") == 1


def test_contradictions_see_past_a_loose_loss():
    prior, secret = sf.priors.rbf(length_scale=1.0, times=3), sf.secrets.basic(1)
    release = sf.mechanisms.gaussian_uniform(mse=0.1).protect(prior, secret)
    loss = sf.measures.renyi().loss(prior, secret, release)
    loose = attrs.evolve(loss, value=10.0, relative_error=0.9)
    tight = attrs.evolve(loss, value=9.99, relative_error=0.0)
    below = attrs.evolve(loss, value=5.0, bound="upper", relative_error=0.0)
    assert len(sf.contradictions([loose, tight, below])) == 1


def test_releasing_nothing_has_no_gap_at_all():
    prior = sf.priors.markov_chain(
        initial=[0.3, 0.3, 0.4],
        transitions=[[0.1, 0.2, 0.7], [0.3, 0.3, 0.4], [0.6, 0.3, 0.1]],
        steps=4,
    )
    secret = sf.secrets.contexts([0, 1, 2])
    release = sf.mechanisms.suppress_given(probabilities=np.ones((4, 3))).protect(prior, secret)
    assert 0 <= sf.measures.posterior_gap().loss(prior, secret, release).value < 1e-15


@pytest.mark.parametrize("mse", [1e-6, 1e-8])
def test_the_posterior_of_an_ordinary_release_is_never_impossible(mse):
    prior = sf.priors.rbf(length_scale=6.0, times=50)
    release = sf.mechanisms.gaussian_uniform(mse=mse).protect(prior, sf.secrets.basic(24))
    belief = prior.belief()
    for seed in range(5):
        trace = belief.sample(np.random.default_rng(seed))
        released = release.apply(trace, rng=np.random.default_rng(100 + seed))
        believed = sf.adversaries.gaussian_posterior().infer(belief, release.channel, released)
        assert np.abs(believed.mean - trace).max() < 20 * np.sqrt(mse)


def test_a_chain_of_one_step_has_no_moves():
    chain = sf.priors.markov_chain(initial=[0.5, 0.5], transitions=np.empty((0, 2, 2)), steps=1)
    assert chain.belief().steps == 1
    with pytest.raises(sf.ParameterError, match="not an empty one"):
        sf.priors.markov_chain(initial=[], transitions=np.empty((0, 2, 2)), steps=1)
