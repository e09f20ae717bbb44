"""The measure `reconstruction`: the best chance that anyone has to reconstruct a trajectory."""

from __future__ import annotations

import math

import numpy as np

from sfumato.beliefs import Markov
from sfumato.channels import Emission, NoisyVectors
from sfumato.errors import OutsideHypotheses, Undecidable
from sfumato.inference.markov.enumeration import enumerate_outputs
from sfumato.inference.markov.smoothing import viterbi
from sfumato.parameters import CHOICE, POSITIVE, declare, parameter
from sfumato.protocols import Reading
from sfumato.questions import Guess
from sfumato_fano.best_guess import SuccessMeasure, best_success, whole_trace_success
from sfumato_fano.fano import divergence_success, fano_success
from sfumato_fano.information import best_information, chain_entropy
from sfumato_fano.matches import ROUNDING, match_limits, noisy_match_limits
from sfumato_fano.sightings import Sightings, tractable_sightings

FEW = 200_000
"""How many pairs of an output and a guess are listed, at most, to sharpen the bounds."""

BUDGET = 2e9
"""Multiplications that a bound by matches may take: some seconds."""

SHARE = 0.2
"""The part of it that each person of a population has: of most, pairs are then left out."""

GRID = 1e13
"""Enumerated bounds are rounded up by 2 to 3 parts in GRID: more than any success without mistakes,
lest the loss fall where one is allowed."""


@declare
class Reconstruction(SuccessMeasure):
    """The success of the best possible guess: $max Pr[d(X, X̂) ≤ mistakes]$ over guessers.

    Formula: without mistakes it is $∑_y max_x Pr[x, y]$, exactly. With s mistakes it is the
    smallest of these bounds, each of which holds for every guesser:

    - matches: a success gets $C(T − s, k)$ sets of k positions wholly right. Anyone can expect
      $m_k$ at most, so that $p ≤ m_k / C(T − s, k)$ by Markov's inequality, for every k;
    - matches by segment: the same between sightings, where the fewest mistakes are added up as
      independent ones. With noise, sightings are as seldom as it makes them;
    - divergence: $d(p‖q) ≤ I(X; Y)$, with q a bound on success without the release;
    - Fano: equation (3) of the paper, with the smallest known $I(X; Y)$;
    - enumeration: on small instances, the best guess itself, found among all of them.

    What bounds the success from a release without noise bounds it with noise (data processing),
    so noise never raises the answer. `witness` holds all bounds that could win, `how` names the
    smallest.

    Assumptions: the adversary knows the chain and the channel; d counts differing positions.
    Guarantee: exact without mistakes and without noise, in polynomial time for sensors and for
    suppression, as long as it takes at most 1e11 multiplications, $T² n (M − n) M / 2$ with n
    sensors a step, and the success is at least 2.2e-308, below which float64 has fewer digits.
    Otherwise an upper bound. Rounding errs upwards: the exact value exceeds the true one by at
    most its `relative_error`.
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
    (0.1115, 'upper', 'matches by segment, the smallest of 10 bounds')
    """

    name = "reconstruction"

    method: str = parameter(
        CHOICE("bounds", "enumeration"), default="bounds", doc="bounds, or all outputs and guesses"
    )
    budget: float = parameter(
        POSITIVE,
        default=BUDGET,
        doc="multiplications that each bound by matches may take; a fifth for each of a population",
    )

    def evaluate(self, belief: Markov, question: Guess, channel: Emission) -> Reading:
        """Return the Bayes-optimal success, or the smallest bound on it."""
        if self.method == "enumeration":
            value = best_success(belief, channel, question.mistakes)
            return Reading(value=value, bound="exact", how="all outputs, all guesses")
        exactly = question.mistakes == 0 and not isinstance(channel, NoisyVectors)
        if exactly and (found := whole_trace_success(belief, channel)) is not None:
            return found
        bounds = success_limits(belief, channel, question.mistakes, self.budget)
        bounds |= _enumerated_limit(belief, channel.without_noise(), question.mistakes)
        best = min(bounds, key=lambda name: bounds[name])
        how = f"{best}, the smallest of {len(bounds)} bounds"
        return Reading(value=bounds[best], bound="upper", witness=bounds, how=how)

    def for_person(self, number: int) -> Reconstruction:
        """Return the measure with a fifth of the budget."""
        del number
        return Reconstruction(method=self.method, budget=self.budget * SHARE)

    def between_members(self, worst: float, bend: float, turn: float) -> float:
        """Return the bound for a sum of probabilities."""
        del turn
        return min(1.0, worst * math.exp(bend))

    def brute_force(self, belief: Markov, question: Guess, channel: Emission) -> Reading:
        """Return the best guess of every output, from the table of every trace and output."""
        from sfumato_fano import brute_force

        return brute_force.reconstruction(belief, question, channel)


def success_limits(
    belief: Markov, channel: Emission, mistakes: int, budget: float
) -> dict[str, float]:
    """Return bounds on max over guessers of Pr[d(X, X̂) ≤ mistakes], by name.

    What holds without noise holds with it. Every choice of what to compute depends on the
    budget and not on the mistakes, so that the smallest bound never falls as mistakes grow.
    """
    steps = belief.steps
    if mistakes >= steps:
        return {"every guess succeeds": 1.0}
    quiet = channel.without_noise()
    told = best_information(belief, channel).value
    entropy, states = chain_entropy(belief), belief.state_count
    bounds = {"Fano": fano_success(entropy, told, states, steps, mistakes)}
    bounds |= _match_limits(belief, channel, mistakes, budget)
    # Those who see nothing can guess the likeliest trace: if even that success makes the
    # divergence bound larger than what is known, the bound itself is not worth its price.
    nothing = np.zeros((steps, states))
    least = float(viterbi(belief, nothing)[1])
    if divergence_success(told, least) < min(bounds.values()):
        blind = np.ones((steps, states))
        unseen = match_limits(Sightings.where(belief, blind, 1.0 - blind), None, mistakes, budget)
        bounds["divergence"] = divergence_success(told, math.log(min(unseen.values())))
    if mistakes == 0 and (whole := whole_trace_success(belief, quiet)) is not None:
        bounds["whole trace"] = whole.value
    return bounds


def _match_limits(
    belief: Markov, channel: Emission, mistakes: int, budget: float
) -> dict[str, float]:
    """Return bounds by matches; of outputs that must be listed, by single ones.

    There m_1 = Σ_y Pr[y] Σ_t max_x Pr[X_t = x | y].
    """
    quiet = channel.without_noise()
    if sightings := tractable_sightings(belief, quiet):
        limits = match_limits(sightings, None, mistakes, budget)
        if isinstance(channel, NoisyVectors):
            limits |= noisy_match_limits(sightings, channel, mistakes, budget)
        return limits
    try:
        outputs = enumerate_outputs(belief, quiet)
    except (OutsideHypotheses, Undecidable):
        return {}
    single = 0.0
    for part in outputs.parts():
        best = outputs.marginals(part).max(axis=2).sum(axis=1)
        single += float(outputs.probabilities[part] @ best)
    return {"1 matches": min(single * (1.0 + ROUNDING) / (belief.steps - mistakes), 1.0)}


def _enumerated_limit(belief: Markov, channel: Emission, mistakes: int) -> dict[str, float]:
    """Return the best guess's success where that is as quick as the bounds, else nothing.

    Rounding is taken upwards. Whether to enumerate does not depend on the mistakes, lest the
    answer fall where more of them are allowed; beginnings of guesses never outnumber the pairs,
    so the search itself refuses nothing.
    """
    try:
        choices = sum(math.log(len(alphabet)) for alphabet in channel.outputs())
        if choices + belief.steps * math.log(belief.state_count) > math.log(FEW):
            return {}
        found = best_success(belief, channel, mistakes, FEW)
    except (OutsideHypotheses, Undecidable):
        return {}
    return {"enumeration": min(1.0, math.ceil(found * GRID + 2.0) / GRID)}
