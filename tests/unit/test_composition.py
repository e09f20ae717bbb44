"""Several releases read together."""

from __future__ import annotations

import itertools

import attrs
import numpy as np
import pytest

import sfumato as sf
from sfumato.inference.exact import Differences
from sfumato.matrices import BlockDiagonal
from sfumato.prior_classes.combinations import joint_traces

RENYI = sf.measures.renyi(order=2.0)


def rbf(times, length=2.0):
    return sf.priors.rbf(length_scale=length, times=times)


def uniform(prior, mse=0.5):
    return sf.mechanisms.gaussian_uniform(mse=mse).protect(prior, sf.secrets.basic(0))


def gain(prior, noise, index):
    """1/V_ss − 1/Σ_ss by the textbook."""
    left = prior - prior @ np.linalg.solve(prior + noise, prior)
    return 1 / left[index, index] - 1 / prior[index, index]


def test_two_traces_in_a_row():
    parts = [uniform(rbf(3), 0.5), uniform(rbf(4), 0.25)]
    both = sf.compose(parts, rbf(7), sf.secrets.basic(2))
    assert isinstance(both.channel.noise, BlockDiagonal)
    assert both.prior == rbf(7)
    noise = np.diag([0.5] * 3 + [0.25] * 4)
    np.testing.assert_array_equal(both.channel.covariance(), noise)
    expected = gain(rbf(7).belief().covariance.dense(), noise, 2)
    assert RENYI.loss(both.prior, both.secret, both).value == pytest.approx(expected, rel=1e-9)
    assert both.utility() == pytest.approx(np.trace(noise) / 7)
    assert both.certificate["mechanism"]["composition"][0]["mse"] == 0.5


def test_interleaved_traces():
    even, odd = range(0, 6, 2), range(1, 6, 2)
    parts = [uniform(rbf(3, 1.0), 0.5), uniform(rbf(3, 1.0), 0.25)]
    both = sf.compose(parts, rbf(6), sf.secrets.basic(1), positions=[even, odd])
    order = [*even, *odd]
    prior = rbf(6).belief().covariance.dense()[np.ix_(order, order)]
    expected = gain(prior, np.diag([0.5] * 3 + [0.25] * 3), 1)
    assert RENYI.loss(both.prior, both.secret, both).value == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("times", [2, 3])
def test_the_same_trace_released_again_and_again(times):
    prior, secret = rbf(5), sf.secrets.basic(2)
    again = sf.compose([uniform(prior, 1.0)] * times, prior, secret, positions=[range(5)] * times)
    once = uniform(prior, 1.0 / times)
    found = RENYI.loss(again.prior, secret, again)
    assert found.value == pytest.approx(RENYI.loss(prior, secret, once).value, rel=1e-9)
    assert found.bound == "exact"
    # Never less than one of the releases alone: what is seen twice is seen.
    assert found.value > RENYI.loss(prior, secret, uniform(prior, 1.0)).value


def test_unrelated_traces_add_nothing():
    far = rbf([0.0, 1.0, 2.0, 1000.0, 1001.0])
    parts = [uniform(rbf(3)), uniform(rbf(2))]
    both = sf.compose(parts, far, sf.secrets.basic(1))
    alone = sf.mechanisms.gaussian_uniform(mse=0.5).protect(rbf(3), sf.secrets.basic(1))
    assert RENYI.loss(far, both.secret, both).value == pytest.approx(
        RENYI.loss(rbf(3), alone.secret, alone).value, rel=1e-9
    )


def test_classes_of_joint_priors():
    wide = sf.priors.rbf(length_scale=sf.AnyOf(1.0, 2.0), times=4)
    parts, secret = [uniform(rbf(4)), uniform(rbf(4))], sf.secrets.basic(1)
    both = sf.compose(parts, wide, secret, positions=[range(4), range(4)])
    found = RENYI.loss(both.prior, secret, both)
    each = [RENYI.loss(member, secret, both).value for member in both.prior.members()]
    assert found.value == max(each)
    assert found.worst in set(both.prior.members())
    assert sf.registry.build("prior", both.prior.specification()) == both.prior
    single = next(both.prior.members())
    assert sf.registry.build("prior", single.specification()) == single


def test_several_coordinates():
    plane = sf.priors.rbf(length_scale=2.0, times=4, dimensions=2)
    half = sf.priors.rbf(length_scale=2.0, times=2, dimensions=2)
    both = sf.compose([uniform(half), uniform(half)], plane, sf.secrets.basic(3))
    whole = sf.mechanisms.gaussian_uniform(mse=0.5).protect(plane, both.secret)
    assert RENYI.loss(plane, both.secret, both).value == pytest.approx(
        RENYI.loss(plane, both.secret, whole).value, rel=1e-9
    )


def test_a_composed_release_can_be_applied():
    both = sf.compose([uniform(rbf(2)), uniform(rbf(3))], rbf(5), sf.secrets.basic(0))
    assert both.apply(np.zeros(5), rng=np.random.default_rng(0)).shape == (5,)


def test_what_does_not_fit_is_refused():
    secret = sf.secrets.basic(0)
    with pytest.raises(sf.ParameterError, match="at least one release"):
        sf.compose([], rbf(2), secret)
    with pytest.raises(sf.Incompatible, match="5 times of 1 coordinates"):
        sf.compose([uniform(rbf(2)), uniform(rbf(3))], rbf(6), secret)
    with pytest.raises(sf.ParameterError, match="2 and 3 times; got 2 and 2"):
        sf.compose([uniform(rbf(2)), uniform(rbf(3))], rbf(5), secret, positions=[[0, 1], [2, 3]])
    with pytest.raises(sf.ParameterError, match=r"positions must lie in 0\.\.1"):
        sf.compose([uniform(rbf(2))], rbf(2), secret, positions=[[0, 2]])
    plane = sf.priors.rbf(length_scale=2.0, times=2, dimensions=2)
    with pytest.raises(sf.Incompatible, match="equally many coordinates"):
        sf.compose([uniform(rbf(2)), uniform(plane)], rbf(4), secret)
    chain = sf.priors.markov_chain(initial=[1.0], transitions=[[1.0]], steps=2)
    given = sf.mechanisms.suppress_given(probabilities=np.zeros((2, 1)))
    release = given.protect(chain, sf.secrets.contexts([0]))
    with pytest.raises(sf.Incompatible, match="AdditiveGaussian channels"):
        sf.compose([release], rbf(2), secret)


@pytest.mark.parametrize(
    "positions",
    [
        *([[0, 1], [2, bad]] for bad in (3.5, 3.0, "3", True, None, float("nan"), -1, [3])),
        *([[0, 1], bad] for bad in (None, 3, "23", {2: 3})),
        *(3, "ab", {0: [0, 1], 1: [2, 3]}),
    ],
    ids=repr,
)
def test_positions_that_are_none_are_refused_in_one_sentence(positions):
    with pytest.raises(sf.ParameterError, match=r"^positions must be [^.]*list[^.]*; got .*\.$"):
        sf.compose([uniform(rbf(2))] * 2, rbf(4), sf.secrets.basic(0), positions=positions)


@pytest.mark.parametrize("releases", [None, 3, "ab", [None], [3], [rbf(2)]], ids=repr)
def test_what_is_no_release_is_refused_in_one_sentence(releases):
    with pytest.raises(sf.ParameterError, match=r"^a composition must .* releases; got a \w+\.$"):
        sf.compose(releases, rbf(4), sf.secrets.basic(0))
    with pytest.raises(sf.ParameterError, match=r"list of releases; got a Release\.$"):
        sf.compose(uniform(rbf(2)), rbf(4), sf.secrets.basic(0))


def test_what_comes_one_by_one_is_composed_like_a_list():
    parts, secret = [uniform(rbf(2)), uniform(rbf(2), 0.25)], sf.secrets.basic(0)
    listed = sf.compose(parts, rbf(4), secret, positions=[[0, 1], [3, 2]])
    yielded = sf.compose(iter(parts), rbf(4), secret, positions=map(iter, [[0, 1], [3, 2]]))
    assert yielded == listed
    assert sf.compose(parts, rbf(4), secret, positions=np.array([[0, 1], [3, 2]])) == listed


CHAIN = sf.priors.markov_chain(initial=[1.0], transitions=[[1.0]], steps=4)


@pytest.mark.parametrize("positions", [None, [[0, 1], [2, 3]], [[0, 1], [3, 2]]])
@pytest.mark.parametrize("prior", [CHAIN, sf.AnyOf(CHAIN), None, "rbf", sf.priors.rbf], ids=str)
def test_beliefs_that_are_not_gaussian_are_refused(prior, positions):
    parts = [uniform(rbf(2)), uniform(rbf(2))]
    for secret in (sf.secrets.basic(0), sf.secrets.contexts([0])):
        with pytest.raises(sf.Incompatible, match=r"Gaussian|must get a prior"):
            sf.compose(parts, prior, secret, positions=positions)
    with pytest.raises(sf.Incompatible, match="must get a secret; got None"):
        sf.compose(parts, rbf(4), None, positions=positions)


def test_positions_in_a_file_are_checked_too():
    table = {"joint": rbf(4).specification(), "positions": [0, "1"]}
    with pytest.raises(sf.ParameterError, match=r"^positions must be lists of whole numbers"):
        sf.registry.build("prior", table)


def test_a_secret_beyond_the_traces_is_refused_at_once():
    prior = sf.priors.rbf(length_scale=1.0, times=5)
    release = sf.mechanisms.gaussian_uniform(mse=1.0).protect(prior, sf.secrets.basic(0))
    with pytest.raises(sf.ParameterError, match=r"basic.index must be .*got 77"):
        sf.compose([release], prior, sf.secrets.basic(77))


def test_a_prefix_of_the_trace_is_a_selection_like_any_other():
    """Whoever gets three of four times knows what a prior of three times says."""
    secret, renyi = sf.secrets.basic(1), sf.measures.renyi(order=2.0)
    longer, shorter = (sf.priors.rbf(length_scale=1.0, times=n) for n in (4, 3))
    release = sf.mechanisms.gaussian_uniform(mse=0.1).protect(shorter, secret)
    composed = sf.compose([release], longer, secret, positions=[[0, 1, 2]])
    expected = renyi.loss(shorter, secret, release).value
    assert renyi.loss(composed.prior, secret, composed).value == pytest.approx(expected, rel=1e-12)


def test_a_time_taken_twice_is_told_from_nearly_equal_ones_without_a_formula_of_all():
    """By positions, and by balls of the whole joint trace: the same entries are copies."""
    positions = (0, 3, 1, 3, 2, 0)
    near = sf.priors.rbf(length_scale=1e7, times=4)  # neighbours are equal in float64
    belief = joint_traces(near, positions).belief()

    def whole(numbers):
        return numbers.block(near.belief().exact(numbers), positions, positions)

    by_balls = Differences(attrs.evolve(belief, exact=whole))

    def never(_):
        raise AssertionError("the formula of all entries was evaluated")

    quick = Differences(attrs.evolve(belief, exact=attrs.evolve(belief.exact, whole=never)))
    pairs = list(itertools.product(range(6), repeat=2))
    found = [quick.is_copy(*pair) for pair in pairs]
    assert found == [positions[i] == positions[j] for i, j in pairs]
    assert found == [by_balls.is_copy(*pair) for pair in pairs]
