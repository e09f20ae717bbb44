"""The best chance that anyone has to reconstruct a trajectory."""

from __future__ import annotations

import math

from sfumato.beliefs import Markov
from sfumato.channels import Emission, NoisyVectors
from sfumato.comparison.populations import OfPopulation
from sfumato.errors import OutsideHypotheses, Undecidable
from sfumato.parameters import CHOICE, POSITIVE, declare, parameter
from sfumato.protocols import LossMeasure, Quantity, Reading
from sfumato.quantities import RECONSTRUCTION
from sfumato.questions import Guess
from sfumato_fano.bounds import success_limits
from sfumato_fano.information import without_noise
from sfumato_fano.whole_trace import WholeTrace, bayes_success

FEW = 200_000
"""How many pairs of an output and a guess are listed, at most, to sharpen the bounds."""

GRID = 1e13
"""Enumerated bounds are rounded up by 2 to 3 parts in GRID: more than any success without mistakes,
lest the loss fall where one is allowed."""


@declare
class Reconstruction(OfPopulation, LossMeasure):
    """The success of the best possible guess: max over guessers of Pr[d(X, X̂) ≤ mistakes].

    Without mistakes it is Σ_y max_x Pr[x, y], exactly. With s mistakes it is the smallest of
    these bounds, each of which holds for every guesser:

    - matches: a success gets all C(T − s, k) subsets of k of T − s positions right, and the
      expected number of k-subsets wholly right is at most
      m_k = Σ_{|A| = k} Σ_y max_x Pr[X_A = x, y]; by Markov's inequality
      p ≤ m_k / C(T − s, k), for every k that the budget allows;
    - divergence: d(p‖q) ≤ I(X; Y), with q a bound on success without the release;
    - Fano: equation (3) of the paper, with the smallest known I(X; Y);
    - enumeration: on small instances, the best guess itself, found among all of them.

    What bounds the success from a release without noise bounds it with noise (data processing),
    so noise never raises the answer. `witness` holds all bounds that could win, `how` names the
    smallest.

    Assumptions: the adversary knows the chain and the channel; d counts differing positions.
    Guarantee: exact without mistakes and without noise, in polynomial time for sensors and for
    suppression, as long as it takes at most 1e11 multiplications: T² n M² / 2 with n sensors a
    step, and where n is more than half of M only T² n (M − n) M / 2, and as long as the success
    is at least 2.2e-308, below which float64 has fewer digits. Otherwise an upper bound. Rounding
    errs upwards: the exact value exceeds the true one by at most its `relative_error`.
    With ``method="enumeration"`` exact for any mistakes, by listing all outputs and searching all
    guesses, refused where there are too many. The bound by single matches may take 2e10
    multiplications where `budget` is less.
    Reference: Koga, Meehan and Chaudhuri (2024), sections 3.1 and 3.3.

    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain.simulated(states=10, tau=0.1, steps=10)
    >>> secret = sf.secrets.trajectory(mistakes=2)
    >>> sensors = sf.mechanisms.sensor_counts([37 * t % 10 for t in range(10)])
    >>> release = sensors.protect(chain, secret)
    >>> loss = sf.measures.reconstruction().loss(chain, secret, release)
    >>> round(loss.value, 4), loss.bound, loss.how
    (0.1552, 'upper', '5 matches, the smallest of 9 bounds')
    """

    name = "reconstruction"
    reads = ((Markov, Guess, Emission),)

    method: str = parameter(
        CHOICE("bounds", "enumeration"), default="bounds", doc="bounds, or all outputs and guesses"
    )
    budget: float = parameter(
        POSITIVE, default=2e8, doc="multiplications that the bounds by matches may take"
    )

    @property
    def quantity(self) -> Quantity:
        """The reconstruction success."""
        return RECONSTRUCTION

    def evaluate(self, belief: Markov, question: Guess, channel: Emission) -> Reading:
        """Return the Bayes-optimal success, or the smallest bound on it."""
        if self.method == "enumeration":
            value = bayes_success(belief, channel, question.mistakes)
            return Reading(value=value, bound="exact", how="all outputs, all guesses")
        if question.mistakes == 0 and not isinstance(channel, NoisyVectors):
            found = WholeTrace.of(belief, channel)
            if found is not None:
                return Reading(
                    value=found.value,
                    bound="exact" if found.is_exact else "upper",
                    relative_error=found.relative_error if found.is_exact else 0.0,
                    how="sum over all outputs",
                )
        bounds = {
            **success_limits(belief, channel, question.mistakes, self.budget),
            **_enumerated(belief, channel, question.mistakes),
        }
        best = min(bounds, key=lambda name: bounds[name])
        return Reading(
            value=bounds[best],
            bound="upper",
            witness=bounds,
            how=f"{best}, the smallest of {len(bounds)} bounds",
        )

    def brute_force(self, belief: Markov, question: Guess, channel: Emission) -> Reading:
        """Return the best guess of every output, from the table of every trace and output."""
        from sfumato_fano import brute_force

        return brute_force.reconstruction(belief, question, channel)


def _enumerated(belief: Markov, channel: Emission, mistakes: int) -> dict[str, float]:
    """Return the best guess's success where that is as quick as the bounds, else nothing.

    Noise is left out (data processing), and rounding is taken upwards. Whether to enumerate does
    not depend on the mistakes, lest the answer fall where more of them are allowed; beginnings
    of guesses never outnumber the pairs, so the search itself refuses nothing.
    """
    finite = without_noise(channel) if isinstance(channel, NoisyVectors) else channel
    try:
        choices = sum(math.log(len(alphabet)) for alphabet in finite.outputs())
        if choices + belief.steps * math.log(belief.state_count) > math.log(FEW):
            return {}
        found = bayes_success(belief, finite, mistakes, FEW)
    except (OutsideHypotheses, Undecidable):
        return {}
    return {"enumeration": min(1.0, math.ceil(found * GRID + 2.0) / GRID)}
