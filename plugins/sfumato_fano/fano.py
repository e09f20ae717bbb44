"""The paper's two bounds on reconstruction, from its bound on the mutual information."""

from __future__ import annotations

from abc import abstractmethod

from sfumato.beliefs import Markov
from sfumato.channels import Emission
from sfumato.errors import OutsideHypotheses
from sfumato.parameters import declare
from sfumato.protocols import Reading
from sfumato.questions import Guess
from sfumato_fano.best_guess import SuccessMeasure
from sfumato_fano.inequalities import fano_success, han_verdu_success, log_over_mistakes
from sfumato_fano.information import chain_entropy, paper_information
from sfumato_fano.position_sets import position_sets

BUDGET = 1e10
"""Multiplications that the programme may take; beyond, long hops are bounded."""


class PaperBound(SuccessMeasure):
    """An inequality between a guesser's success and Ĩ, the paper's bound on I(X; Y)."""

    @abstractmethod
    def largest_success(
        self, belief: Markov, mistakes: int, information: float
    ) -> tuple[float, str]:
        """Return the largest success that the inequality allows, and a remark if there is one."""

    def evaluate(self, belief: Markov, question: Guess, channel: Emission) -> Reading:
        """Return the bound."""
        told = paper_information(belief, channel)
        value, remark = self.largest_success(belief, question.mistakes, told.value)
        return Reading(value=value, bound="upper", how=f"information by {told.how}{remark}")


@declare
class FanoLoose(PaperBound):
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

    def largest_success(
        self, belief: Markov, mistakes: int, information: float
    ) -> tuple[float, str]:
        """Solve equation (3)."""
        entropy, states = chain_entropy(belief), belief.state_count
        return fano_success(entropy, information, states, belief.steps, mistakes), ""


@declare
class FanoTight(PaperBound):
    """A bound on every guesser's success that looks at how uneven the prior is.

    The largest p with −Ĩ ≤ h(p) + p log q, with q = Σ_{l ≤ s} C(T, l) f(T − l) and f(m) the
    largest probability of any m states at any m times, by the programme of Theorem 1.

    Assumptions: the adversary knows the chain and the channel; the chain is stationary, as
    Theorem 1 has it. `reconstruction` needs no stationarity.
    Guarantee: an upper bound; refused for a chain that is not stationary.
    Reference: Koga, Meehan and Chaudhuri (2024), section 3.3.2, equation (5) and theorem 1;
    Han and Verdú (1994).

    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain.simulated(states=20, tau=0.1, steps=10)
    >>> secret = sf.secrets.trajectory(mistakes=2)
    >>> sensors = sf.mechanisms.sensor_counts([37 * t % 20 for t in range(10)])
    >>> release = sensors.protect(chain, secret)
    >>> round(sf.measures.fano_tight().loss(chain, secret, release).value, 4)
    0.4359
    """

    name = "fano_tight"

    def largest_success(
        self, belief: Markov, mistakes: int, information: float
    ) -> tuple[float, str]:
        """Solve the inequality of Han and Verdú with equation (5)."""
        if not belief.is_stationary():
            raise OutsideHypotheses(
                "fano_tight holds for a stationary chain (initial law π with π P = π); use "
                "initial='stationary', or the measure 'reconstruction'."
            )
        found = position_sets(belief, mistakes, BUDGET)
        log_best = log_over_mistakes(belief.steps, found.logs[::-1][: mistakes + 1].tolist())
        slow = "; long hops bounded, as the programme would take too long"
        return han_verdu_success(information, log_best), "" if found.exact else slow
