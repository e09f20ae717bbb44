"""Measures that claim an error and spend it downwards, or are silent where much is lost."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from mutants.mutant import Mutant, PlainRenyi
from sfumato.beliefs import Markov
from sfumato.channels import Emission
from sfumato.errors import OutsideHypotheses, SolverFailed, Undecidable
from sfumato.laws.brute_force import Table
from sfumato.parameters import declare
from sfumato.protocols import LossMeasure, Quantity, Reading
from sfumato.quantities import POSTERIOR_GAP
from sfumato.questions import Events


@declare
class PlainGap(LossMeasure):
    """The largest rise of an event's probability, from the table of all traces and outputs."""

    name = "mutant_plain_gap"
    reads = ((Markov, Events, Emission),)

    @property
    def quantity(self) -> Quantity:
        """The posterior gap."""
        return POSTERIOR_GAP

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Multiply everything out."""
        table = Table.of(belief, channel)
        outputs = table.joint.sum(axis=0)
        seen = outputs > 0
        best = 0.0
        for mask in question.masks:
            inside = table.joint[table.inside(mask)].sum(axis=0)
            best = max(best, float((inside[seen] / outputs[seen]).max() - inside.sum()))
        return Reading(value=best, bound="exact", relative_error=1e-12)


@declare
class NearlyTheTruth(PlainRenyi):
    """0.9 % less than the loss, with a declared error of 1 %."""

    name = "mutant_nearly_the_truth"

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Spend the error downwards."""
        found = super().evaluate(belief, question, channel)
        return attrs.evolve(found, value=0.991 * found.value, relative_error=0.01)


@declare
class RoundedDown(PlainGap):
    """A gap cut off after the third digit, with an error that admits it."""

    name = "mutant_rounded_down"

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Drop the digits."""
        found = super().evaluate(belief, question, channel)
        cut = int(found.value * 1000) / 1000
        error = min(0.01, abs(found.value - cut) / max(cut, 1e-9))
        return attrs.evolve(found, value=cut, relative_error=error)


@declare
class OnlyGoodNews(PlainRenyi):
    """Says that its hypotheses do not hold whenever the loss is large."""

    name = "mutant_only_good_news"

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Refuse what looks bad."""
        found = super().evaluate(belief, question, channel)
        if found.value > 3.0:
            raise OutsideHypotheses("the divergence is too large for the method.")
        return found


@declare
class CannotTellBadNews(PlainGap):
    """Says that float64 cannot tell, whenever the gap is large."""

    name = "mutant_cannot_tell_bad_news"

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Refuse what looks bad."""
        found = super().evaluate(belief, question, channel)
        if found.value > 0.1:
            raise Undecidable("float64 cannot tell.")
        return found


@declare
class NeverConverges(PlainGap):
    """Says that its solver has failed, whenever the gap is large."""

    name = "mutant_never_converges"

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Fail where it looks bad."""
        found = super().evaluate(belief, question, channel)
        if found.value > 0.15:
            raise SolverFailed("no convergence.")
        return found


@declare
class SmallRadiiOnly(PlainRenyi):
    """Says that only small radii are within its hypotheses."""

    name = "mutant_small_radii_only"

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Refuse pairs that are easily told apart."""
        if max(question.radii) > 0.7:
            raise OutsideHypotheses("the linearisation holds for small radii.")
        return super().evaluate(belief, question, channel)


@declare
class BothAreSilent(PlainRenyi):
    """A quantity of its own, refused where it is large, also by its brute force."""

    name = "mutant_both_are_silent"

    @property
    def quantity(self) -> Quantity:
        """A quantity that no other measure has."""
        return Quantity("distance of outputs", {"order": self.order}, unit="nats")

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Refuse what looks bad."""
        found = super().evaluate(belief, question, channel)
        if found.value > 2.0:
            raise OutsideHypotheses("only weak signals are linear.")
        return found

    def brute_force(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Refuse it, too."""
        return BothAreSilent.evaluate(self, belief, question, channel)


@declare
class MostlyGoodNews(PlainRenyi):
    """Answers one in seven of the questions with bad answers."""

    name = "mutant_mostly_good_news"

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Refuse most of what looks bad."""
        found = super().evaluate(belief, question, channel)
        if found.value > 1.0 and int(found.value * 1e6) % 7:
            raise OutsideHypotheses("the iteration did not converge.")
        return found


@declare
class IndependentNoiseOnly(PlainRenyi):
    """Says that noise must be independent, also where it is shared and hides little."""

    name = "mutant_independent_noise_only"

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Refuse what is correlated."""
        noise = channel.covariance()
        if np.abs(noise - np.diag(noise.diagonal())).max() > 0.0:
            raise OutsideHypotheses("the noise must be independent.")
        return super().evaluate(belief, question, channel)


@declare
class RoughTracesOnly(PlainRenyi):
    """Says that a trace must be rough, where its neighbours would give the secret away."""

    name = "mutant_rough_traces_only"

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Refuse what is correlated by more than a half."""
        sigma = belief.covariance.dense()
        deviations = np.sqrt(sigma.diagonal())
        if np.abs(np.triu(sigma / deviations / deviations[:, None], 1)).max() > 0.5:
            raise OutsideHypotheses("the trace must be rough.")
        return super().evaluate(belief, question, channel)


MUTANTS = (
    Mutant("oracle.refusal", IndependentNoiseOnly, "shared noise hides less", "silence"),
    Mutant("oracle.refusal", RoughTracesOnly, "smooth traces tell more", "silence"),
    Mutant("oracle.refusal", BothAreSilent, "a check must not be silent, too", "silence"),
    Mutant("oracle.refusal", MostlyGoodNews, "refusals go with the loss", "silence"),
    Mutant("oracle.value", NearlyTheTruth, "a declared error is spent upwards", "claimed error"),
    Mutant("oracle.value", RoundedDown, "a declared error is spent upwards", "claimed error"),
    Mutant("oracle.refusal", OnlyGoodNews, "a refusal must not depend on the loss", "silence"),
    Mutant("oracle.refusal", CannotTellBadNews, "a refusal must not depend on the loss", "silence"),
    Mutant("oracle.refusal", NeverConverges, "failing is a refusal, too", "silence"),
    Mutant("oracle.refusal", SmallRadiiOnly, "far pairs are what counts", "silence"),
)
