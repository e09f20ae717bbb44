"""Measures of Markov losses that are wrong."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from mutants.adversaries import filtered
from mutants.mutant import Mutant
from sfumato.beliefs import Markov
from sfumato.channels import Emission, NoisyVectors, Suppression
from sfumato.laws.brute_force import Table, without_noise
from sfumato.parameters import OPEN_UNIT, declare, parameter
from sfumato.protocols import LossMeasure, Quantity, Reading
from sfumato.quantities import POSTERIOR_GAP, RECONSTRUCTION
from sfumato.questions import Events, Guess
from sfumato_fano.reconstruction import Reconstruction


@declare
class BlindViterbi(LossMeasure):
    """The success of always guessing the likeliest trace, reported as the best possible."""

    name = "mutant_blind_viterbi"
    reads = ((Markov, Guess, Emission),)

    @property
    def quantity(self) -> Quantity:
        """The reconstruction success."""
        return RECONSTRUCTION

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Return max_x Pr[x]."""
        del question, channel
        every = itertools.product(belief.states, repeat=belief.steps)
        return Reading(
            value=max(float(np.exp(belief.log_probability(x))) for x in every), bound="exact"
        )


@declare
class DeafenedCounts(LossMeasure):
    """Half of the success without noise, whatever the noise, reported as an upper bound."""

    name = "mutant_deafened_counts"
    reads = ((Markov, Guess, NoisyVectors),)

    @property
    def quantity(self) -> Quantity:
        """The reconstruction success."""
        return RECONSTRUCTION

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Halve the success."""
        value = Reconstruction().brute_force(belief, question, without_noise(channel)).value / 2
        return Reading(value=value, bound="upper")


@declare
class FlippedEntropy(LossMeasure):
    """The largest p with (1 − p) log(N − 1) ≥ H(X | O) + H(p), where Fano has − H(p)."""

    name = "mutant_flipped_entropy"
    reads = ((Markov, Guess, Emission),)

    @property
    def quantity(self) -> Quantity:
        """The reconstruction success."""
        return RECONSTRUCTION

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Return the spoilt bound, which is too small."""
        if question.mistakes:
            return Reading(value=1.0, bound="upper")
        joint = Table.of(belief, channel).joint
        seen = joint.sum(axis=0)
        some = joint > 0
        conditional = (
            -float(
                (
                    joint
                    * np.log(
                        np.where(some, joint / seen, 1.0), where=some, out=np.zeros_like(joint)
                    )
                ).sum()
            )
            if seen.all()
            else math.inf
        )
        if not math.isfinite(conditional):
            return Reading(value=1.0, bound="upper")
        grid = np.linspace(1e-6, 1 - 1e-6, 2001)
        entropy = -grid * np.log(grid) - (1 - grid) * np.log1p(-grid)
        count = max(len(joint) - 1, 1)
        allowed = grid[(1 - grid) * math.log(count) >= conditional + entropy]
        return Reading(value=float(allowed.max(initial=0.0)), bound="upper", how="Fano, spoilt")


DRAWS = 50


@declare
class MonteCarloCeiling(LossMeasure):
    """The frequency of success in fifty draws, with a ceiling it cannot vouch for."""

    name = "mutant_monte_carlo_ceiling"
    reads = ((Markov, Guess, Emission),)

    @property
    def quantity(self) -> Quantity:
        """The reconstruction success."""
        return RECONSTRUCTION

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Return the frequency with which the likeliest trace is right."""
        del question
        joint = Table.of(belief, channel).joint
        rng = np.random.default_rng(0)
        cells = rng.choice(joint.size, size=DRAWS, p=(joint / joint.sum()).reshape(-1))
        traces, outputs = np.unravel_index(cells, joint.shape)
        hits = (joint.argmax(axis=0)[outputs] == traces).mean()
        return Reading(value=float(hits), bound="upper", how="fifty draws")


@declare
class PrefixOnly(LossMeasure):
    """The posterior gap of someone who forgets that later outputs tell about earlier states."""

    name = "mutant_prefix_only"
    reads = ((Markov, Events, Emission),)

    @property
    def quantity(self) -> Quantity:
        """The posterior gap."""
        return POSTERIOR_GAP

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Return the worst gap of Pr[A_t | o_1, ..., o_t]."""
        worst = -np.inf
        marginals = belief.marginals()
        for output in itertools.product(*channel.outputs()):
            posterior = filtered(belief, channel, output)
            if posterior is None:
                continue
            for mask in question.masks:
                gap = float((posterior * mask).sum() - (marginals * mask).sum())
                worst = max(worst, gap)
        return Reading(value=worst, bound="exact")


@declare
class QuietNeighbours(LossMeasure):
    """√(2 log(1.25/δ))/σ times the largest move at one time, reported as an upper bound."""

    name = "mutant_quiet_neighbours"
    reads = ((Markov, object, NoisyVectors),)

    delta: float = parameter(OPEN_UNIT, default=1e-5, doc="chance of exceeding ε")

    @property
    def quantity(self) -> Quantity:
        """The ε at this δ."""
        return Quantity("differential privacy", {"delta": self.delta}, unit="nats")

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Forget that a person is counted at every time, and that the formula is for small ε."""
        del belief, question
        moves = channel.means[:, :, None] - channel.means[:, None]
        largest = float(np.sqrt(np.square(moves).sum(axis=3)).max())
        factor = math.sqrt(max(0.0, 2.0 * math.log(1.25 / self.delta)))
        return Reading(value=0.5 * factor * largest / channel.scale, bound="upper")


@declare
class FirstStateFavoured(LossMeasure):
    """The prior probability of the state in position 0."""

    name = "mutant_first_state_favoured"
    reads = ((Markov, object, Emission),)

    @property
    def quantity(self) -> Quantity:
        """A probability."""
        return Quantity("weight of the first state", unit="probability")

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Look at one position only."""
        del question, channel
        return Reading(value=float(np.max(belief.marginals()[:, 0])), bound="exact")


@declare
class OutputEntropy(LossMeasure):
    """H(O) in place of I(X; O): noise in the output counts as information."""

    name = "mutant_output_entropy"
    reads = ((Markov, object, Emission),)

    @property
    def quantity(self) -> Quantity:
        """What the release is said to tell."""
        return Quantity("output entropy", unit="nats")

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Return the entropy of the output."""
        del question
        seen = Table.of(belief, channel).joint.sum(axis=0)
        seen = seen[seen > 0]
        return Reading(value=max(0.0, -float((seen * np.log(seen)).sum())), bound="exact")


@declare
class PosteriorWithoutPrior(LossMeasure):
    """log of M^T times the largest posterior of a trace: zero only for a uniform prior."""

    name = "mutant_posterior_without_prior"
    promises = ("nothing from silence",)
    reads = ((Markov, object, Emission),)

    @property
    def quantity(self) -> Quantity:
        """A gain over guessing blindly."""
        return Quantity("gain over blind guessing", unit="nats")

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Compare the posterior with the uniform law instead of the prior."""
        del question
        joint = Table.of(belief, channel).joint
        joint = joint[:, joint.sum(axis=0) > 0]
        largest = float((joint / joint.sum(axis=0)).max())
        return Reading(value=max(0.0, float(np.log(largest * len(joint)))), bound="exact")


@declare
class StrictSuccess(LossMeasure):
    """1 / (1 + mistakes): more tolerance, less success."""

    name = "mutant_strict_success"
    promises = ("grows with the secret",)
    reads = ((Markov, Guess, Emission),)

    @property
    def quantity(self) -> Quantity:
        """A chance of success."""
        return Quantity("strict success", unit="probability")

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Return the wrong chance."""
        del belief, channel
        return Reading(value=1.0 / (1.0 + question.mistakes), bound="exact")


@declare
class SuppressedShare(LossMeasure):
    """The average suppression probability, said to be worse when larger."""

    name = "mutant_suppressed_share"
    reads = ((Markov, object, Suppression),)

    @property
    def quantity(self) -> Quantity:
        """A share of what could be released."""
        return Quantity("suppressed share")

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Return the average probability."""
        del belief, question
        return Reading(value=float(channel.start.mean()), bound="exact")


@declare
class ShortTracesOnly(LossMeasure):
    """The success of the best guess, of which nothing is left after six steps."""

    name = "mutant_short_traces_only"
    reads = ((Markov, Guess, Emission),)

    @property
    def quantity(self) -> Quantity:
        """The success of the best guess."""
        return RECONSTRUCTION

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Give up on long traces without saying so."""
        if belief.steps > 6:
            return Reading(value=0.0, bound="exact")
        table = Table.of(belief, channel)
        wrong = (table.traces[:, None] != table.traces[None]).sum(axis=2)
        right = (wrong <= question.mistakes).astype(float) @ table.joint
        return Reading(value=float(right.max(axis=0).sum()), bound="exact", relative_error=1e-11)


MUTANTS = (
    Mutant("invariance.padding", ShortTracesOnly, "a long trace is guessed, too", "sizes"),
    Mutant("oracle.value", BlindViterbi, "the best guess depends on what is seen"),
    Mutant("oracle.value", DeafenedCounts, "a little noise hides little"),
    Mutant("oracle.value", FlippedEntropy, "H(E) loosens Fano's bound, it does not tighten it"),
    Mutant("oracle.value", MonteCarloCeiling, "a frequency is no upper bound"),
    Mutant("oracle.value", PrefixOnly, "later outputs tell about earlier states"),
    Mutant("oracle.value", QuietNeighbours, "a person is counted at every time"),
    Mutant("invariance.states", FirstStateFavoured, "positions of states mean nothing"),
    Mutant("processing.garbling", OutputEntropy, "randomising an output tells nothing new"),
    Mutant("processing.silence", PosteriorWithoutPrior, "silence loses nothing"),
    Mutant("monotone.secret", StrictSuccess, "allowing fewer mistakes must not lose more"),
    Mutant("processing.garbling", SuppressedShare, "suppressing more must not lose more"),
)
