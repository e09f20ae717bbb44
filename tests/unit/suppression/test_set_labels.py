"""Set labels: what the weaker adversary can learn, whatever he believes about the labels."""

import itertools

import numpy as np
import pytest

import sfumato as sf


def worst_rise(belief, channel, suspects, joint):
    """max over outputs, times and q of Σ_a q(s | a) (Pr[a | o] − Pr[a]): q is 0 or 1 at worst."""
    path, outputs, weight = joint(belief, channel)
    _, group = np.unique(outputs, axis=0, return_inverse=True)
    total = np.bincount(group.ravel(), weight)
    worst = 0.0
    for time in range(belief.steps):
        rises = []
        for state in suspects:
            inside = path[:, time] == state
            posterior = np.bincount(group.ravel(), weight * inside, minlength=len(total)) / total
            rises.append(posterior - (weight * inside).sum())
        worst = max(worst, float(np.maximum(rises, 0.0).sum(axis=0).max()))
    return worst


@pytest.mark.parametrize("name", ["suppress_probabilistic", "suppress_segmented"])
@pytest.mark.parametrize("seed", range(6))
def test_no_belief_about_the_labels_gains_more_than_delta(name, seed, joint):
    rng = np.random.default_rng(seed)
    chain = sf.priors.markov_chain(
        initial=rng.dirichlet(np.ones(4)),
        transitions=rng.dirichlet(np.ones(4), size=4),
        steps=3,
        states=["s", "a", "b", "c"],
    )
    mechanism = sf.mechanisms.suppress_set_labels(
        mechanism=getattr(sf.mechanisms, name)(delta=0.3),
        labels={"s": {"s", "x"}, "a": {"a", "s"}, "b": {"b", "y"}},
    )
    release = mechanism.protect(chain, sf.secrets.contexts({"s"}))
    assert release.certificate["multiplicity"] == 2
    assert release.certificate["delta"] == 0.15
    rise = worst_rise(chain.belief(), release.channel, [0, 1], joint)
    assert rise <= 0.3 + 1e-12
    assert release.utility() > 0


def test_outputs_are_set_labels_and_the_stream_shows_them():
    chain = sf.priors.markov_chain(
        initial=[0.25] * 4, transitions=np.full((4, 4), 0.25), steps=3, states=["s", "a", "b", "c"]
    )
    mechanism = sf.mechanisms.suppress_set_labels(
        mechanism=sf.mechanisms.suppress_given(probabilities=np.zeros((3, 4))),
        labels={"s": {"s", "a"}, "a": {"a", "s"}, "b": {"b", "y"}},
    )
    release = mechanism.protect(chain, sf.secrets.contexts({"s"}))
    shown = ((0, frozenset("sa")), (1, frozenset("sa")), frozenset("by"), frozenset("c"))
    assert release.channel.shown == shown  # a shared set needs the number of the state
    assert release.apply(["a", "b", "c"]) == (shown[1], shown[2], shown[3])
    stream = release.stream()
    assert stream.send("s") == shown[0]
    likelihood = release.channel.log_likelihood([shown[1], shown[2], shown[3]], ["a", "b", "c"])
    plain = [set(label) if isinstance(label, frozenset) else label for label in shown[1:4]]
    assert release.channel.log_likelihood(plain, ["a", "b", "c"]) == likelihood
    assert likelihood == 0.0
    assert release.channel.sample(["a", "b", "c"]) == (shown[1], shown[2], shown[3])


def test_measures_read_set_labels():
    chain = sf.priors.markov_chain(
        initial=[0.5, 0.5], transitions=np.full((2, 2), 0.5), steps=3, states=["s", "x"]
    )
    secret = sf.secrets.contexts({"s"})
    inner = sf.mechanisms.suppress_given(probabilities=[[1, 0.5]] * 3)
    wrapped = sf.mechanisms.suppress_set_labels(mechanism=inner, labels={"s": {"s", "t"}})
    plain, labelled = (m.protect(chain, secret) for m in (inner, wrapped))
    for measure in (sf.measures.posterior_gap(), sf.measures.released_fraction()):
        assert measure.loss(chain, secret, labelled).value == pytest.approx(
            measure.loss(chain, secret, plain).value, rel=1e-12
        )
    witness = sf.measures.posterior_gap().loss(chain, secret, labelled).witness["output"]
    assert set(witness) <= {frozenset("x"), frozenset("st"), sf.SUPPRESSED}
    listed = 0.0
    for output in itertools.product((*labelled.channel.shown, sf.SUPPRESSED), repeat=3):
        traces = list(itertools.product("sx", repeat=3))
        listed += sum(np.exp(labelled.channel.log_likelihood(output, t)) for t in traces) / 8
    assert listed == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize(
    "labels", [{"s": {"x"}}, {"s": set()}, "s", 3, [["s"]], [["s", ["s"]], ["s", ["s", "t"]]]]
)
def test_labels_outside_their_domain(labels):
    with pytest.raises(sf.ParameterError, match="labels must be"):
        sf.mechanisms.suppress_set_labels(
            mechanism=sf.mechanisms.suppress_sensitive(), labels=labels
        )


def test_labels_of_unknown_states_and_other_mechanisms_are_refused():
    with pytest.raises(sf.ParameterError, match="mechanism must be a mechanism that gives states"):
        sf.mechanisms.suppress_set_labels(
            mechanism=sf.mechanisms.gaussian_uniform(mse=1.0), labels={"s": {"s"}}
        )
    chain = sf.priors.markov_chain(initial=[0.5, 0.5], transitions=np.eye(2), steps=2)
    mechanism = sf.mechanisms.suppress_set_labels(
        mechanism=sf.mechanisms.suppress_sensitive(), labels={"s": {"s"}}
    )
    with pytest.raises(sf.ParameterError, match="labels must be about states"):
        mechanism.protect(chain, sf.secrets.contexts({0}))
    # Within another, its delta would not be divided by the multiplicity.
    twice = sf.mechanisms.suppress_set_labels(mechanism=mechanism, labels={0: {0}})
    with pytest.raises(sf.ParameterError, match="mechanism must be one that shows states as they"):
        twice.protect(chain, sf.secrets.contexts({0}))


def test_labels_tell_channels_apart():
    plain = sf.channels.Suppression("sx", [[1.0, 0.5]])
    named = sf.channels.Suppression("sx", [[1.0, 0.5]], shown="ab")
    assert plain != named
    assert plain.essence()[0] != named.essence()[0]


def test_specification_rebuilds_the_mechanism():
    mechanism = sf.mechanisms.suppress_set_labels(
        mechanism=sf.mechanisms.suppress_hybrid(delta=0.2), labels={"s": {"t", "s"}}
    )
    plain = mechanism.specification()
    assert plain["labels"] == [["s", ["s", "t"]]]
    again = sf.mechanisms.suppress_set_labels(mechanism=mechanism.mechanism, labels=plain["labels"])
    assert again == mechanism
