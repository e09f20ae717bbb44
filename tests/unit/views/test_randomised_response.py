"""A mechanism that knows nothing of views, under every definition, from both sides."""

import math

import numpy as np
import pytest

import sfumato as sf
from sfumato.beliefs import Markov
from sfumato.channels import Symbols
from sfumato.parameters import OPEN_UNIT, declare, parameter
from sfumato.protocols import Mechanism, Quantity, Release


@declare
class RandomisedResponse(Mechanism):
    """Tell the state with some probability, and else any other."""

    name = "randomised_response"
    asks = ((Markov, object),)
    yields = Symbols

    keep: float = parameter(OPEN_UNIT, default=0.6, doc="how often the state is told")

    def design(self, prior, secret):
        """Return the release."""
        belief = next(prior.members()).belief()
        count = belief.state_count
        law = np.full((count, count), (1.0 - self.keep) / (count - 1))
        np.fill_diagonal(law, self.keep)
        channel = Symbols(belief.states, belief.states, [law] * belief.steps)
        kept = Quantity("states told", worse="smaller")
        return Release(
            mechanism=self,
            prior=prior,
            secret=secret,
            channel=channel,
            utility_value=self.keep,
            utility_quantity=kept,
        )


MEASURES = [
    sf.measures.renyi(order=1.0),
    sf.measures.renyi(order=2.0),
    sf.measures.renyi(order=math.inf),
    sf.measures.hockey_stick(epsilon=0.5),
    sf.measures.advantage(),
    sf.measures.power(),
    sf.measures.posterior_gap(),
    sf.measures.bayes_success(),
    sf.measures.bayes_leakage(),
    sf.measures.g_vulnerability(gain=np.eye(10)),
    sf.measures.maximal_leakage(),
    sf.measures.pointwise_leakage(),
    sf.measures.mutual_information(about="secret"),
    sf.measures.expected_error(),
]


def chains():
    """Yield mixing chains of ten states: the second eigenvalue is at most a half in size.

    Some draw the state anew with a chance, evenly or by a skewed law; of others every row is drawn.
    """
    rng, stay = np.random.default_rng(1), np.eye(10)
    yield "even, .5", 0.5 * stay + 0.05
    yield "skewed, .3", 0.3 * stay + 0.7 * rng.dirichlet(np.ones(10))
    yield "rows", rng.dirichlet(np.ones(10), size=10)
    yield "rows that stay", 0.3 * stay + 0.7 * rng.dirichlet(np.full(10, 3.0), size=10)


@pytest.mark.parametrize("chain", [pytest.param(m, id=name) for name, m in chains()])
def test_a_long_trace_of_many_states_is_known_from_both_sides(chain):
    """T = 24, M = 10."""
    assert sorted(np.abs(np.linalg.eigvals(chain)))[-2] <= 0.5 + 1e-12
    prior = sf.priors.markov_chain(initial="stationary", transitions=chain, steps=24)
    secret = sf.secrets.basic(12)
    release = RandomisedResponse(keep=0.6).protect(prior, secret)
    for measure in MEASURES:
        loss = measure.loss(prior, secret, release)
        low, high = loss.interval or (
            loss.value * (1.0 - loss.relative_error),
            loss.value * (1.0 + loss.relative_error),
        )
        assert 0.0 < low <= high < math.inf
        assert high - low <= 0.05 * high, (measure, low, high)


def test_what_may_rise_when_less_is_seen_is_refused():
    chain = sf.priors.markov_chain(initial=[0.1] * 10, transitions=np.full((10, 10), 0.1), steps=24)
    secret = sf.secrets.basic(12)
    release = RandomisedResponse(keep=0.6).protect(chain, secret)
    for measure in (sf.measures.breach_rate(delta=0.1), sf.measures.odds_gap(delta=0.05)):
        with pytest.raises(sf.OutsideHypotheses, match="may rise when less is seen"):
            measure.loss(chain, secret, release)
