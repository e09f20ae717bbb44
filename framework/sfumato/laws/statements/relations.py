"""What one definition says about another: each relation links two measures of one release.

The measures are looked up by what they count, so a stranger's is held against all others. The worst
pair, event or guess of one may not be that of the other; every relation here survives that.
"""
# ruff: noqa: D401 - a law is a statement, not a command

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import attrs
import numpy as np

from sfumato.beliefs import Gaussian, Markov
from sfumato.errors import REFUSALS
from sfumato.laws.capabilities import (
    ROUNDING,
    Classes,
    above,
    can_read,
    measures_counting,
    value_of,
)
from sfumato.laws.law import NotHere, law, require
from sfumato.laws.transformations import silent
from sfumato.parameters import NONNEGATIVE, OPEN_UNIT, ORDER
from sfumato.protocols import Reading, Situation
from sfumato.questions import Events, Nearness

RENYI, ADVANTAGE, HOCKEY = "Rényi divergence", "advantage", "hockey-stick divergence"
POWER, GAP, SUCCESS = "power", "posterior gap", "Bayes success"
MAXIMAL, POINTWISE = "maximal leakage", "pointwise maximal leakage"
INFORMATION = "mutual information"


# Two ends of a quantity ---------------------------------------------------------------------------


def counts(*names: str) -> Callable[[Classes], bool]:
    """Return whether the measure counts one of the quantities."""

    def applies(classes: Classes) -> bool:
        cls = classes["measure"]
        if any(item.required for item in cls.parameters()):
            return False
        return cls().quantity.name in names

    return applies


def ends(at: Situation, measure: Any, name: str, **parameters: Any) -> tuple[float, float]:
    """Return the largest floor and the smallest ceiling that any measure gives of a quantity."""
    others = [one for one in measures_counting(name, parameters) if one != measure]
    own = (measure.quantity.name, dict(measure.quantity.parameters)) == (name, parameters)
    found: list[Reading] = []
    for one in (*(measure,) * own, *others):
        with suppress(*REFUSALS):
            if can_read(one, at):
                found.append(one.evaluate(at.belief, at.question, at.channel))
    if not found:
        raise NotHere(f"no measure reads the {name} here")
    room = [one.relative_error * abs(one.value) if one.relative_error else 0.0 for one in found]
    floors = [one.floor - error for one, error in zip(found, room, strict=True)]
    ceilings = [one.ceiling + error for one, error in zip(found, room, strict=True)]
    return max(floors), min(ceilings)


def require_at_most(low: float, high: float, relation: str) -> None:
    """Require that a floor is not above a ceiling, up to rounding."""
    require(not above(low, high, ROUNDING), f"{relation} must hold; got {low:.12g} and {high:.12g}")


def _own(measure: Any, name: str, otherwise: float) -> float:
    """Return the measure's own parameter, or what was drawn where it has none."""
    value = value_of(measure, name)
    return otherwise if value is None else float(value)


# Pairs of values ----------------------------------------------------------------------------------


@law("relations.orders", over=("measure",), applies=counts(RENYI), order=ORDER)
def orders_lie_between_one_and_infinity(at: Situation, measure: Any, order: float) -> None:
    """A Rényi divergence lies between that of order one, Kullback–Leibler's, and the infinite."""
    one, infinite = (ends(at, measure, RENYI, order=end) for end in (1.0, math.inf))
    for own in {_own(measure, "order", drawn) for drawn in (order, 1.0 + (order - 1.0) / 8.0)}:
        this = ends(at, measure, RENYI, order=own)
        require_at_most(this[0], infinite[1], f"D of order {own:.6g} ≤ D of infinite order")
        if own > 1.0:
            require_at_most(one[0], this[1], f"D of order one ≤ D of order {own:.6g}")


@law("relations.advantage", over=("measure",), applies=counts(ADVANTAGE, RENYI))
def divergences_bound_advantage(at: Situation, measure: Any) -> None:
    """The advantage is at most √(D/2), √(1 − e^−D) and 1 − e^−ε, D and ε of orders one and ∞.

    If pairs count both ways it is at most tanh(ε/2).
    """
    low, _ = ends(at, measure, ADVANTAGE)
    apart, ratio = (max(ends(at, measure, RENYI, order=order)[1], 0.0) for order in (1.0, math.inf))
    require_at_most(low, math.sqrt(apart / 2.0), "advantage ≤ √(D/2)")
    require_at_most(low, math.sqrt(-math.expm1(-apart)), "advantage ≤ √(1 − e^−D)")
    require_at_most(low, -math.expm1(-ratio), "advantage ≤ 1 − e^−ε")
    if _counts_both_ways(at.question):
        require_at_most(low, math.tanh(ratio / 2.0), "advantage ≤ tanh(ε/2)")


def _counts_both_ways(question: Any) -> bool:
    if not hasattr(question, "asked"):
        return False
    pairs = [{tuple(pair) for pair in asked.pairs.tolist()} for asked in question.asked()]
    return all((b, a) in some for some in pairs for a, b in some)


@law("relations.hockey_advantage", over=("measure",), applies=counts(ADVANTAGE, HOCKEY))
def advantage_is_the_stick_of_zero(at: Situation, measure: Any) -> None:
    """The advantage is the hockey-stick divergence δ(0)."""
    one, other = ends(at, measure, ADVANTAGE), ends(at, measure, HOCKEY, epsilon=0.0)
    require_at_most(one[0], other[1], "advantage ≤ δ(0)")
    require_at_most(other[0], one[1], "δ(0) ≤ advantage")


@law(
    "relations.hockey_divergence",
    over=("measure",),
    applies=counts(HOCKEY, RENYI),
    order=ORDER,
    epsilon=NONNEGATIVE,
)
def divergence_bounds_the_stick(at: Situation, measure: Any, order: float, epsilon: float) -> None:
    """δ(ε) is at most e^{(λ−1)(D−ε)} (1/λ) (1−1/λ)^{λ−1}, D the Rényi divergence of order λ."""
    epsilon, own = _own(measure, "epsilon", epsilon), _own(measure, "order", order)
    order = own if 1.0 < own < math.inf else order
    low, _ = ends(at, measure, HOCKEY, epsilon=epsilon)
    _, high = ends(at, measure, RENYI, order=order)
    exponent = (order - 1.0) * (high - epsilon) + (order - 1.0) * math.log1p(-1.0 / order)
    most = math.exp(min(exponent - math.log(order), 1.0))
    require_at_most(low, most, f"δ({epsilon:.6g}) ≤ its bound from order {order:.6g}")


@law("relations.power", over=("measure",), applies=counts(POWER, ADVANTAGE), alarm=OPEN_UNIT)
def advantage_bounds_power(at: Situation, measure: Any, alarm: float) -> None:
    """The power of a test lies between its rate of false alarms and that plus the advantage."""
    alarm = _own(measure, "false_alarm", alarm)
    found = ends(at, measure, POWER, false_alarm=alarm)
    _, apart = ends(at, measure, ADVANTAGE)
    require_at_most(found[0], min(alarm + apart, 1.0), "power ≤ α + advantage")
    require_at_most(alarm, found[1], "α ≤ power")


# Events -------------------------------------------------------------------------------------------


def _one_event(at: Situation) -> tuple[Situation, float]:
    """Return the situation with the first event alone, and that event's probability."""
    question, belief = at.question, at.belief
    if isinstance(question, Nearness) and isinstance(belief, Gaussian):
        from scipy.special import ndtr

        deviation = math.sqrt(float(belief.covariance.diagonal()[question.entry]))
        mean = 0.0 if belief.mean is None else float(belief.mean[question.entry])
        away, near = (question.place - mean) / deviation, question.radius / deviation
        at = attrs.evolve(at, question=question.parts[0])
        return at, float(ndtr(near - abs(away)) - ndtr(-near - abs(away)))
    if not (isinstance(question, Events) and isinstance(belief, Markov)):
        raise NotHere("what is asked is no event of a kind whose probability is known at once")
    one = Events(question.masks[:1], question.names[:1])
    if one.has_windows:
        raise NotHere("the event is about several times")
    time = int(one.times[0])
    chance = float(belief.marginals()[time] @ one.masks[0, time])
    return attrs.evolve(at, question=one), chance


@law("relations.gap_ratio", over=("measure",), applies=counts(GAP, RENYI))
def gap_and_ratio_are_one(at: Situation, measure: Any) -> None:
    """The posterior gap of an event follows from its worst ratio ε against its opposite.

    With p its probability the gap is p(1−p)(e^ε − 1)/(1 + p(e^ε − 1)).
    """
    alone, chance = _one_event(at)
    if not 0.0 < chance < 1.0:
        raise NotHere("the event is certain, or impossible")
    gaps, ratios = ends(alone, measure, GAP), ends(alone, measure, RENYI, order=math.inf)

    def gap(ratio: float) -> float:
        shrunk = math.exp(-max(ratio, 0.0))  # e^−ε: nothing overflows
        return chance * (1.0 - chance) * (1.0 - shrunk) / (shrunk + chance * (1.0 - shrunk))

    require_at_most(gaps[0], gap(ratios[1]), "gap ≤ that of the worst ratio")
    require_at_most(gap(ratios[0]), gaps[1], "gap of the worst ratio ≤ gap")


@law("relations.success_advantage", over=("measure",), applies=counts(SUCCESS, ADVANTAGE))
def advantage_bounds_success(at: Situation, measure: Any) -> None:
    """Whether an event has happened is guessed as well as the advantage A allows.

    With q the chance of the better guess before, between max(q, (1−q)(1+A)) and q + (1−q)A: that is
    (1+A)/2 where q is one half.
    """
    alone, chance = _one_event(at)
    before = max(chance, 1.0 - chance)
    success, apart = ends(alone, measure, SUCCESS), ends(alone, measure, ADVANTAGE)
    most = before + (1.0 - before) * min(apart[1], 1.0)
    require_at_most(success[0], most, "success ≤ q + (1−q)A")
    least = max(before, (1.0 - before) * (1.0 + max(apart[0], 0.0)))
    require_at_most(least, success[1], "max(q, (1−q)(1+A)) ≤ success")


# Guesses ------------------------------------------------------------------------------------------


def _before(at: Situation, measure: Any) -> tuple[float, float]:
    """Return the two ends of the success of a guess without the release."""
    quiet = attrs.evolve(at, channel=silent(at.channel, at.belief))
    return ends(quiet, measure, SUCCESS)


@law("relations.success_leakage", over=("measure",), applies=counts(SUCCESS, MAXIMAL))
def leakage_bounds_success(at: Situation, measure: Any) -> None:
    """Success is at most that of a guess without the release times e^L, L the maximal leakage."""
    low, _ = ends(at, measure, SUCCESS)
    _, leak = ends(at, measure, MAXIMAL)
    _, before = _before(at, measure)
    most = before * math.exp(leak) if leak < 700.0 else math.inf
    require_at_most(low, most, "success ≤ prior success · e^L")


@law("relations.information_leakage", over=("measure",), applies=counts(INFORMATION, MAXIMAL))
def leakage_bounds_information(at: Situation, measure: Any) -> None:
    """The information about the secret is at most its maximal leakage."""
    low, _ = ends(at, measure, INFORMATION, about="secret")
    _, high = ends(at, measure, MAXIMAL)
    require_at_most(low, high, "information ≤ maximal leakage")


@law("relations.leakage_pointwise", over=("measure",), applies=counts(MAXIMAL, POINTWISE))
def pointwise_bounds_maximal(at: Situation, measure: Any) -> None:
    """The maximal leakage is at most the pointwise maximum."""
    low, _ = ends(at, measure, MAXIMAL)
    _, high = ends(at, measure, POINTWISE)
    require_at_most(low, high, "maximal leakage ≤ pointwise maximum")


def _rarest(at: Situation) -> float:
    """Return the smallest probability of a value that the secret can take."""
    if isinstance(at.question, Nearness):
        chances = [_one_event(attrs.evolve(at, question=one))[1] for one in at.question.parts]
        if max(chances) > 1.0 - 1e-6:
            raise NotHere("an event is all but sure: how rarely it fails has too few digits")
        return min(min(chance, 1.0 - chance) for chance in chances)
    if not (isinstance(at.question, Events) and isinstance(at.belief, Markov)):
        raise NotHere("what is asked has no values of known probability")
    if at.question.has_windows:
        raise NotHere("an event is about several times")
    laws = [asked.members @ at.belief.marginals()[asked.times[0]] for asked in at.question.asked()]
    return min(float(law[law > 0.0].min()) for law in laws)


@law("relations.pointwise_prior", over=("measure",), applies=counts(POINTWISE))
def rarity_bounds_pointwise(at: Situation, measure: Any) -> None:
    """The pointwise maximum is at most log 1/p, p the rarest value of the secret's probability."""
    rarest = _rarest(at)
    if not 0.0 < rarest < 1.0:
        raise NotHere("the secret is certain")
    low, _ = ends(at, measure, POINTWISE)
    require_at_most(low, -math.log(rarest), "pointwise maximum ≤ log 1/p")


@law("relations.success_information", over=("measure",), applies=counts(SUCCESS, INFORMATION))
def information_bounds_success(at: Situation, measure: Any) -> None:
    """d(success ‖ success without the release) is at most the information about the secret."""
    low, _ = ends(at, measure, SUCCESS)
    _, told = ends(at, measure, INFORMATION, about="secret")
    _, before = _before(at, measure)
    if not 0.0 < before < 1.0 or low <= before:
        raise NotHere("the release does not help to guess")
    apart = low * math.log(low / before)
    if low < 1.0:
        apart += (1.0 - low) * (np.log1p(-low) - np.log1p(-before))
    # A success that is known up to rounding moves d by its slope.
    slope = math.log(low / before) - (np.log1p(-low) - np.log1p(-before) if low < 1.0 else -40.0)
    require_at_most(float(apart) - 1e-9 * float(slope), told, "d(success ‖ before) ≤ information")
