"""Correct plugins of many kinds, none of which ships, hold every law that speaks of them."""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np
import pytest

from sfumato.beliefs import Gaussian, Markov
from sfumato.channels import AdditiveGaussian, Emission, Symbols
from sfumato.errors import OutsideHypotheses
from sfumato.laws.brute_force import Table
from sfumato.laws.law import all_laws, cases_of
from sfumato.laws.trial import PROFILES, try_with_excuses
from sfumato.matrices import Dense, Diagonal
from sfumato.parameters import (
    COUNT,
    INDEX,
    LABEL_SET,
    OPEN_UNIT,
    POSITIVE,
    REAL,
    SIMPLEX,
    STOCHASTIC,
    Collection,
    declare,
    parameter,
)
from sfumato.plugin_registry import Registry
from sfumato.protocols import LossMeasure, Mechanism, Prior, Quantity, Reading, Release, Secret
from sfumato.quantities import MEAN_SQUARED_ERROR
from sfumato.questions import Displacements, Events, Guess

SHIPPED = Registry.load(strict=True)


# Measures of chains -------------------------------------------------------------------------------


def successes(table, mistakes, joint):
    """Return, for each output, the chance of the best guess: a guess within so many mistakes."""
    if table.joint.size * len(table.traces) > 1e7:
        raise OutsideHypotheses("every guess is tried for every output: take a shorter trace.")
    wrong = (table.traces[:, None, :] != table.traces[None, :, :]).sum(axis=2)
    return ((wrong <= mistakes).astype(float) @ joint).max(axis=0)


@declare
class MinEntropyLeakage(LossMeasure):
    """log of the best guess's success after seeing the output, over that before."""

    name = "min_entropy_leakage"
    reads = ((Markov, Guess, Emission),)

    @property
    def quantity(self):
        return Quantity("min-entropy leakage", unit="nats")

    def evaluate(self, belief, question, channel):
        table = Table.of(belief, channel)
        after = successes(table, question.mistakes, table.joint).sum()
        before = successes(table, question.mistakes, table.joint.sum(axis=1, keepdims=True))
        return Reading(value=max(0.0, math.log(after / before[0])), bound="exact")

    def brute_force(self, belief, question, channel):
        table = Table.of(belief, channel)
        best, blind = 0.0, 0.0
        for column in [*table.joint.T, table.joint.sum(axis=1)]:
            found = 0.0
            for guess in table.traces:
                near = [(trace != guess).sum() <= question.mistakes for trace in table.traces]
                found = max(found, float(column[near].sum()))
            best, blind = best + found, found
        return Reading(value=max(0.0, math.log((best - blind) / blind)), bound="exact")


@declare
class TotalVariation(LossMeasure):
    """How far the law of the output moves when an event is known to have happened."""

    name = "total_variation"
    reads = ((Markov, Events, Emission),)

    @property
    def quantity(self):
        return Quantity("total variation of an event", unit="probability")

    def laws(self, belief, question, channel):
        table = Table.of(belief, channel)
        for mask in question.masks:
            inside = table.joint[table.inside(mask)].sum(axis=0)
            outside = table.joint.sum(axis=0) - inside
            if min(inside.sum(), outside.sum()) > 1e-12:
                yield inside / inside.sum(), outside.clip(0.0) / outside.sum()

    def evaluate(self, belief, question, channel):
        found = [0.5 * np.abs(a - b).sum() for a, b in self.laws(belief, question, channel)]
        return Reading(value=max(found, default=0.0), bound="exact")

    def brute_force(self, belief, question, channel):
        table = Table.of(belief, channel)
        best = 0.0
        for mask in question.masks:
            rows = table.inside(mask)
            weights = [table.joint[rows].sum(), table.joint[~rows].sum()]
            if min(weights) > 1e-12:
                pairs = zip(table.joint[rows].T, table.joint[~rows].T, strict=True)
                gains = (a.sum() / weights[0] - b.sum() / weights[1] for a, b in pairs)
                best = max(best, math.fsum(gain for gain in gains if gain > 0))
        return Reading(value=best, bound="exact")


# Measures of Gaussian traces ----------------------------------------------------------------------


def informations(belief, question, channel):
    """Yield (M, Σ_SS, radius) of every group of one ball: M = V⁻¹ − Σ_SS⁻¹."""
    sigma = belief.covariance.dense()
    total = sigma + channel.covariance()
    if np.linalg.cond(total) > 1e8:
        raise OutsideHypotheses("this needs a prior and noise that float64 can solve with.")
    for group, radius in zip(question.groups, question.radii, strict=True):
        if len(group) > 1:
            raise OutsideHypotheses("this is for one ball at a time.")
        own = list(group[0])
        left = sigma[np.ix_(own, own)] - sigma[own] @ np.linalg.solve(total, sigma[:, own])
        if np.linalg.cond(left) > 1e8 or np.linalg.cond(sigma[np.ix_(own, own)]) > 1e8:
            raise OutsideHypotheses("this needs a secret that float64 can tell.")
        yield left, sigma[np.ix_(own, own)], radius


@declare
class PosteriorEntropy(LossMeasure):
    """The differential entropy that is left of the secret: it depends on the units."""

    name = "posterior_entropy"
    reads = ((Gaussian, Displacements, AdditiveGaussian),)

    @property
    def quantity(self):
        return Quantity("posterior entropy", unit="nats", worse="smaller")

    def evaluate(self, belief, question, channel):
        found = []
        for left, own, _ in informations(belief, question, channel):
            if np.linalg.eigvalsh(left)[0] < 1e-10 * np.linalg.eigvalsh(own)[0]:
                return Reading(value=-math.inf, bound="exact", how="nothing hides the secret")
            found.append(0.5 * np.linalg.slogdet(2 * math.pi * math.e * left)[1])
        return Reading(value=float(min(found)), bound="exact", relative_error=1e-7)

    def brute_force(self, belief, question, channel):
        from sfumato.laws.exact_gaussian import as_array, in_exact_numbers, posterior_covariance

        left = in_exact_numbers(
            belief, channel, lambda s, g: as_array(posterior_covariance(s, g), absolute=1e-30)
        )
        blocks = [left[np.ix_(group[0], group[0])] for group in question.groups]
        found = [np.linalg.eigvalsh(2 * math.pi * math.e * block) for block in blocks]
        if any(values[0] < 1e-20 for values in found):
            return Reading(value=-math.inf, bound="exact")
        return Reading(value=min(0.5 * float(np.log(v).sum()) for v in found), bound="exact")


@declare
class Bhattacharyya(LossMeasure):
    """ΔᵀMΔ / 8: the Bhattacharyya distance of the two laws of the output."""

    name = "bhattacharyya"
    reads = ((Gaussian, Displacements, AdditiveGaussian),)

    @property
    def quantity(self):
        return Quantity("Bhattacharyya distance", unit="nats")

    def evaluate(self, belief, question, channel):
        best = 0.0
        for left, own, radius in informations(belief, question, channel):
            if np.linalg.eigvalsh(left)[0] < 1e-10 * np.linalg.eigvalsh(own)[0]:
                return Reading(value=math.inf, bound="exact", how="nothing hides the secret")
            gain = np.linalg.inv(left) - np.linalg.inv(own)
            best = max(best, radius**2 * float(np.linalg.eigvalsh(gain)[-1]) / 8.0)
        return Reading(value=best, bound="exact", relative_error=1e-6)

    def brute_force(self, belief, question, channel):
        from sfumato.laws.exact_gaussian import as_array, in_exact_numbers, posterior_covariance

        left, own = in_exact_numbers(
            belief,
            channel,
            lambda s, g: (as_array(posterior_covariance(s, g), 1e-30), as_array(s, 1e-30)),
        )
        best = 0.0
        for group, radius in zip(question.groups, question.radii, strict=True):
            block = np.ix_(group[0], group[0])
            gain = np.linalg.inv(left[block]) - np.linalg.inv(own[block])
            directions = np.linalg.eigh(gain)[1].T
            best = max(best, *(radius**2 * float(u @ gain @ u) / 8.0 for u in directions))
        return Reading(value=best, bound="exact", relative_error=1e-6)


# Mechanisms ---------------------------------------------------------------------------------------


def adding(mechanism, prior, secret, noise):
    belief = next(prior.members()).belief()
    return Release(
        mechanism=mechanism,
        prior=prior,
        secret=secret,
        channel=AdditiveGaussian(noise, dimensions=belief.dimensions),
        utility_value=noise.trace() / belief.entries,
        utility_quantity=MEAN_SQUARED_ERROR,
    )


@declare
class PrivateGaussian(Mechanism):
    """Independent noise with which one entry is (ε, δ)-differentially private."""

    name = "private_gaussian"
    asks = ((Gaussian, Displacements),)
    yields = AdditiveGaussian

    epsilon: float = parameter(OPEN_UNIT, doc="ε of differential privacy")
    delta: float = parameter(OPEN_UNIT, doc="δ of differential privacy")

    def design(self, prior, secret):
        belief = next(prior.members()).belief()
        deviation = math.sqrt(2 * math.log(1.25 / self.delta)) / self.epsilon
        return adding(self, prior, secret, Diagonal(np.full(belief.entries, deviation**2)))


@declare
class AutoregressiveNoise(Mechanism):
    """AR(1) noise: what is left of the last draw, and a new one."""

    name = "autoregressive_noise"
    asks = ((Gaussian, Displacements),)
    yields = AdditiveGaussian
    promises = (("mse", "mean_squared_error"),)

    mse: float = parameter(POSITIVE, doc="average noise variance per entry")
    memory: float = parameter(OPEN_UNIT, default=0.5, doc="correlation of neighbours")

    def design(self, prior, secret):
        belief = next(prior.members()).belief()
        apart = np.abs(np.subtract.outer(np.arange(belief.entries), np.arange(belief.entries)))
        return adding(self, prior, secret, Dense(self.mse * self.memory**apart))


def telling(mechanism, prior, secret, channel):
    return Release(
        mechanism=mechanism,
        prior=prior,
        secret=secret,
        channel=channel,
        utility_value=float(np.mean(channel.probabilities.max(axis=2))),
        utility_quantity=Quantity("chance of the likeliest symbol", worse="smaller"),
    )


@declare
class RandomisedResponse(Mechanism):
    """Tells the state with odds e^ε against each other state."""

    name = "randomised_response"
    asks = ((Markov, object),)
    yields = Symbols

    epsilon: float = parameter(POSITIVE, doc="local differential privacy of one step")

    def design(self, prior, secret):
        belief = next(prior.members()).belief()
        count = belief.state_count
        odds = np.ones((count, count)) + (math.exp(self.epsilon) - 1.0) * np.eye(count)
        table = np.broadcast_to(
            odds / odds.sum(axis=1, keepdims=True), (belief.steps, count, count)
        )
        return telling(self, prior, secret, Symbols(belief.states, belief.states, table))


@declare
class DiscreteLaplace(Mechanism):
    """Tells the position of the state with two-sided geometric noise, cut off at the ends."""

    name = "discrete_laplace"
    asks = ((Markov, object),)
    yields = Symbols

    scale: float = parameter(POSITIVE, doc="scale of the noise, in positions")

    def design(self, prior, secret):
        belief = next(prior.members()).belief()
        places = np.arange(belief.state_count)
        weights = np.exp(-np.abs(np.subtract.outer(places, places)) / self.scale)
        table = weights / weights.sum(axis=1, keepdims=True)
        table = np.broadcast_to(table, (belief.steps, *table.shape))
        return telling(self, prior, secret, Symbols(belief.states, tuple(places.tolist()), table))


# Priors -------------------------------------------------------------------------------------------


@declare
class TwoStepMemory(Prior):
    """A chain of pairs of states: where one goes depends on the last two places."""

    name = "two_step_memory"
    yields = Markov

    initial: Any = parameter(SIMPLEX("M"), doc="law of each of the first two states")
    moves: Any = parameter(STOCHASTIC("M", "M", "M"), doc="law of the next state after each pair")
    steps: int = parameter(COUNT("T"), doc="number of steps")

    def belief(self):
        count = len(self.initial)
        pairs = [(a, b) for a in range(count) for b in range(count)]
        matrix = np.zeros((len(pairs), len(pairs)))
        for row, (a, b) in enumerate(pairs):
            for c in range(count):
                matrix[row, pairs.index((b, c))] = self.moves[a, b, c]
        labels = tuple(f"{a}{b}" for a, b in pairs)
        first = np.outer(self.initial, self.initial).ravel()
        return Markov(first, matrix, self.steps, labels)


@declare
class BrownianBridge(Prior):
    """A walk that is known to return; no part of a longer one."""

    name = "brownian_bridge"
    yields = Gaussian

    length: int = parameter(COUNT("n"), doc="number of points")
    pinned: int = parameter(INDEX("n"), default=0, doc="where it has just been seen")

    def belief(self):
        t = np.arange(1.0, self.length + 1) / (self.length + 1)
        return Gaussian(Dense(np.minimum.outer(t, t) - np.outer(t, t) + 0.05 * np.eye(len(t))))


@declare
class DriftingWalk(Prior):
    """A random walk with a drift: its mean is not zero, and it is a part of a longer one."""

    name = "drifting_walk"
    yields = Gaussian
    scale_parameter = "variance"

    times: int = parameter(COUNT("n"), doc="number of points")
    drift: float = parameter(REAL, default=0.5, doc="how far the mean moves at each step")
    variance: float = parameter(POSITIVE, default=1.0, doc="variance of a step")

    def belief(self):
        t = np.arange(1.0, self.times + 1)
        return Gaussian(Dense(self.variance * np.minimum.outer(t, t)), mean=self.drift * t)


# Secrets ------------------------------------------------------------------------------------------


@declare
class TwoPlacesAtOnce(Secret):
    """The values at several times together, the later ones first."""

    name = "two_places_at_once"
    yields = {Gaussian: Displacements}  # noqa: RUF012 - never changed

    indices: tuple[int, ...] = parameter(Collection(INDEX("n"), distinct=True), doc="the times")
    radius: float = parameter(POSITIVE, default=1.0, doc="radius of the pairs at each time")

    def question(self, belief):
        if max(self.indices) >= belief.times:
            raise self.reject("indices", f"below {belief.times}", self.indices)
        places = sorted(self.indices, reverse=True)
        return Displacements(groups=(tuple(map(belief.entries_at, places)),), radii=self.radius)


@declare
class SeenThere(Secret):
    """Being in one of some states at one time, as a single event."""

    name = "seen_there"
    yields = {Markov: Events}  # noqa: RUF012 - never changed

    states: tuple[Any, ...] = parameter(LABEL_SET("M"), doc="the states")
    index: int = parameter(INDEX("n"), default=0, doc="the time")

    def question(self, belief):
        if any(state not in belief.states for state in self.states):
            raise self.reject("states", f"among {belief.states}", self.states)
        if self.index >= belief.steps:
            raise self.reject("index", f"below {belief.steps}", self.index)
        masks = np.zeros((1, belief.steps, belief.state_count), dtype=bool)
        masks[0, self.index] = [state in self.states for state in belief.states]
        return Events(masks, ("seen there",))


CORRECT = (
    MinEntropyLeakage,
    TotalVariation,
    PosteriorEntropy,
    Bhattacharyya,
    PrivateGaussian,
    AutoregressiveNoise,
    RandomisedResponse,
    DiscreteLaplace,
    TwoStepMemory,
    BrownianBridge,
    DriftingWalk,
    TwoPlacesAtOnce,
    SeenThere,
)
# A few examples of each law: how hard the kit looks is tested where mutants are.
FEW = attrs.evolve(PROFILES["quick"], examples=3, share=2.0)


@pytest.mark.parametrize("cls", CORRECT, ids=lambda cls: cls.name)
def test_a_correct_plugin_holds(cls):
    registry = SHIPPED.with_classes(cls)
    entry = registry.entry(cls.kind, cls.name)
    for law in all_laws():
        case = next(iter(cases_of(law, registry, [entry])), None)
        if case is not None:
            verdict = try_with_excuses(case, registry, FEW)
            assert not verdict.fails, f"{case}: {verdict.message}\n\n{verdict.script}"
