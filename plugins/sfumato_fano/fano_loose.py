"""The paper's loose bound on reconstruction."""

from __future__ import annotations

import math

from sfumato.beliefs import Markov
from sfumato.channels import Emission
from sfumato.inference.chain_entropy import chain_entropy
from sfumato.inference.success_bounds import fano_success, log_ball_size
from sfumato.parameters import declare
from sfumato.populations import OfPopulation
from sfumato.protocols import DeclaredMeasure, Quantity, Reading
from sfumato.quantities import RECONSTRUCTION
from sfumato.questions import Guess
from sfumato_fano.information import paper_information


@declare
class FanoLoose(OfPopulation, DeclaredMeasure):
    """A bound on every guesser's success, from entropy and mutual information alone.

    The largest p with H(X) − Ĩ ≤ h(p) + p log N(s) + (1 − p) log(M^T − N(s)), where
    N(s) = Σ_{l ≤ s} C(T, l) (M − 1)^l and Ĩ is the paper's bound on the mutual information.

    Assumptions: the adversary knows the chain and the channel.
    Guarantee: an upper bound.
    Reference: Koga, Meehan and Chaudhuri (2024), equation (3).

    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain.simulated(states=20, tau=0.1, steps=10)
    >>> secret = sf.secrets.trajectory(mistakes=2)
    >>> sensors = sf.mechanisms.sensor_counts([37 * t % 20 for t in range(10)])
    >>> release = sensors.protect(chain, secret)
    >>> round(sf.measures.fano_loose().loss(chain, secret, release).value, 4)
    0.5018
    """

    name = "fano_loose"
    reads = ((Markov, Guess, Emission),)

    @property
    def quantity(self) -> Quantity:
        """The reconstruction success."""
        return RECONSTRUCTION

    def evaluate(self, belief: Markov, question: Guess, channel: Emission) -> Reading:
        """Return the bound."""
        information = paper_information(belief, channel)
        value = fano_success(
            chain_entropy(belief),
            information.value,
            belief.steps * math.log(belief.state_count),
            log_ball_size(belief.state_count, belief.steps, question.mistakes),
        )
        return Reading(value=value, bound="upper", how=f"information by {information.how}")
