"""Correct plugins of a shape that nothing shipped has hold every law: no law is about habits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_correct_plugins import FEW, SHIPPED, adding, telling

from sfumato.beliefs import Gaussian, Markov
from sfumato.channels import (
    AdditiveGaussian,
    Emission,
    RememberingSuppression,
    Suppression,
    Symbols,
)
from sfumato.inference.markov.remembered import expected_releases
from sfumato.laws.brute_force import worst_of_tables
from sfumato.laws.law import all_laws, cases_of
from sfumato.laws.trial import try_with_excuses
from sfumato.matrices import Dense, Diagonal
from sfumato.parameters import COUNT, INDEX, OPEN_UNIT, POSITIVE, declare, parameter
from sfumato.protocols import (
    Adversary,
    LossMeasure,
    Mechanism,
    Prior,
    Quantity,
    Reading,
    Release,
    Secret,
)
from sfumato.quantities import EXPECTED_RELEASES
from sfumato.questions import Displacements, Events

# Priors -------------------------------------------------------------------------------------------


@declare
class Clockwork(Prior):
    """States that are pairs, in a circle: nothing is random but where it begins."""

    name = "clockwork"
    yields = Markov

    places: int = parameter(COUNT("M"), doc="number of places in the circle")
    steps: int = parameter(COUNT("T"), doc="number of steps")

    def belief(self) -> Markov:
        turn = np.roll(np.eye(self.places), 1, axis=1)
        labels = tuple((number, "on the way") for number in range(self.places))
        return Markov(np.full(self.places, 1.0 / self.places), turn, self.steps, labels)


@declare
class Absorbing(Prior):
    """A ladder that nobody goes down: most pairs of states are impossible."""

    name = "absorbing"
    yields = Markov

    climb: float = parameter(OPEN_UNIT, doc="chance of a step up")
    rungs: int = parameter(COUNT("M"), doc="number of rungs")
    steps: int = parameter(COUNT("T"), doc="number of steps")

    def belief(self) -> Markov:
        up = np.diag(np.full(self.rungs, 1.0 - self.climb))
        up += np.diag(np.full(self.rungs - 1, self.climb), 1)
        up[-1, -1] = 1.0
        return Markov(np.eye(self.rungs)[0], up, self.steps)


@declare
class Tides(Prior):
    """Two waves in the plane, with a mean that turns: any two places are correlated."""

    name = "tides"
    yields = Gaussian
    scale_parameter = "variance"

    times: int = parameter(COUNT("n"), doc="number of points")
    variance: float = parameter(POSITIVE, default=1.0, doc="variance of a wave")

    def belief(self) -> Gaussian:
        angle = 2.4 * np.arange(2 * self.times)
        waves = np.stack([np.cos(angle), np.sin(angle)])
        covariance = self.variance * (waves.T @ waves + 0.1 * np.eye(len(angle)))
        return Gaussian(Dense(covariance), mean=np.cos(angle), dimensions=2)


# Secrets ------------------------------------------------------------------------------------------


@declare
class LastPoint(Secret):
    """The value at one point, counted in the usual way, with neither a default nor a bound."""

    name = "last_point"
    yields = {Gaussian: Displacements}  # noqa: RUF012 - never changed

    index: int = parameter(INDEX("n"), doc="the point")
    radius: float = parameter(POSITIVE, doc="radius of the pairs")

    def question(self, belief: Any) -> Displacements:
        if self.index >= belief.times:
            raise self.reject("index", f"below {belief.times}", self.index)
        return Displacements(groups=((belief.entries_at(self.index),),), radii=self.radius)


# Mechanisms ---------------------------------------------------------------------------------------


def suppressing(mechanism: Any, prior: Any, secret: Any, channel: Any) -> Release:
    return Release(
        mechanism=mechanism,
        prior=prior,
        secret=secret,
        channel=channel,
        utility_value=expected_releases(next(prior.members()).belief(), channel),
        utility_quantity=EXPECTED_RELEASES,
    )


@declare
class ShowsOnce(Mechanism):
    """Releases one state, the first, under another name, and is silent from then on."""

    name = "shows_once"
    asks = ((Markov, object),)
    yields = Suppression

    def design(self, prior: Any, secret: Any) -> Release:
        belief = next(prior.members()).belief()
        shape = (belief.steps, belief.state_count)
        names = tuple(("seen", state) for state in belief.states)
        channel = Suppression(belief.states, np.zeros(shape), np.ones(2 * shape), shown=names)
        return suppressing(self, prior, secret, channel)


@declare
class SilentAfterAVisit(Mechanism):
    """Releases states with a chance, and nothing more once the first state was visited, hidden."""

    name = "silent_after_a_visit"
    asks = ((Markov, Events),)
    yields = RememberingSuppression

    chance: float = parameter(OPEN_UNIT, doc="chance that a state is withheld before the visit")

    def design(self, prior: Any, secret: Any) -> Release:
        belief = next(prior.members()).belief()
        steps, count = belief.steps, belief.state_count
        first = np.full((1, steps, 2, count), self.chance)
        first[:, :, 1] = 1.0
        after = [np.full((count, steps - t - 1, 1, count), self.chance) for t in range(steps - 1)]
        channel = RememberingSuppression(belief.states, ((0, 0),), (first, *after))
        return suppressing(self, prior, secret, channel)


@declare
class Parity(Mechanism):
    """Tells for certain whether the number of the state is odd, and never more."""

    name = "parity"
    asks = ((Markov, object),)
    yields = Symbols

    def design(self, prior: Any, secret: Any) -> Release:
        belief = next(prior.members()).belief()
        odd = np.arange(belief.state_count) % 2
        table = np.broadcast_to(np.eye(2)[odd], (belief.steps, belief.state_count, 2))
        return telling(self, prior, secret, Symbols(belief.states, (None, ("odd", 1)), table))


@declare
class LoudThenQuiet(Mechanism):
    """Independent noise that falls from entry to entry, over four powers of ten."""

    name = "loud_then_quiet"
    asks = ((Gaussian, object),)
    yields = AdditiveGaussian
    promises = (("mse", "mean_squared_error"),)

    mse: float = parameter(POSITIVE, doc="average noise variance per entry")

    def design(self, prior: Any, secret: Any) -> Release:
        entries = next(prior.members()).belief().entries
        shares = 10.0 ** -np.linspace(0.0, 4.0, entries)
        return adding(self, prior, secret, Diagonal(self.mse * entries * shares / shares.sum()))


# Measures and adversaries -------------------------------------------------------------------------


@declare
class Doubt(LossMeasure):
    """The least probability that an output leaves to the opposite of an event: small is bad."""

    name = "doubt"
    reads = ((Markov, Events, Symbols),)
    quantity = Quantity("doubt left", unit="probability", worse="smaller")

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        if question.has_windows:
            return Reading(value=0.0, bound="lower")
        found = _least_doubt(belief, question, channel)
        return Reading(value=found, bound="exact")

    def brute_force(self, belief: Any, question: Any, channel: Any) -> Reading:
        def sure(joint: Any, asked: Any) -> float:
            seen = joint.sum(axis=0)
            return max(
                float((joint[row] / np.where(seen > 0, seen, 1)).max()) for row in asked.events
            )

        found = worst_of_tables(belief, question, channel, sure)
        return Reading(value=1.0 - found.value, bound="exact")


def _least_doubt(belief: Any, question: Any, channel: Any) -> float:
    """Follow every prefix of symbols and, of each event, its law and that of the chain."""
    least = 1.0
    for mask, time in zip(question.masks, question.times, strict=True):
        laws = [(belief.initial, np.zeros(belief.state_count))]
        for now in range(belief.steps):
            if now == time:
                laws = [(law, law * mask[now]) for law, _ in laws]
            laws = [
                (law * chances, joint * chances)
                for law, joint in laws
                for chances in channel.probabilities[now].T
                if (law * chances).sum() > 0.0
            ]
            if now + 1 < belief.steps:
                matrix = belief.matrix(now)
                laws = [(law @ matrix, joint @ matrix) for law, joint in laws]
        least = min([least, *(1.0 - float(joint.sum() / law.sum()) for law, joint in laws)])
    return max(least, 0.0)


@declare
class Hunch(LossMeasure):
    """What is claimed is only a floor: at least nothing is lost."""

    name = "hunch"
    reads = ((Markov, Events, Emission), (Gaussian, Displacements, AdditiveGaussian))
    quantity = Quantity("a hunch of harm")

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        return Reading(value=0.0, bound="lower", how="nobody gains by less than nothing")


@declare
class Stubborn(Adversary):
    """Takes the likeliest state at each time, whatever is seen."""

    name = "stubborn"
    reads = ((Markov, Emission),)

    def infer(self, belief: Any, channel: Any, observed: Any) -> Any:
        self.require(belief, channel)
        return tuple(belief.states[place] for place in belief.marginals().argmax(axis=1))


UNUSUAL = (
    *(Clockwork, Absorbing, Tides, LastPoint, ShowsOnce, SilentAfterAVisit, Parity),
    *(LoudThenQuiet, Doubt, Hunch, Stubborn),
)


@pytest.mark.parametrize("cls", UNUSUAL, ids=lambda cls: cls.name)
def test_an_unusual_plugin_holds(cls):
    registry = SHIPPED.with_classes(cls)
    entry = registry.entry(cls.kind, cls.name)
    for law in all_laws():
        case = next(iter(cases_of(law, registry, [entry])), None)
        if case is not None:
            verdict = try_with_excuses(case, registry, FEW)
            assert not verdict.fails, f"{case}: {verdict.message}\n\n{verdict.script}"
