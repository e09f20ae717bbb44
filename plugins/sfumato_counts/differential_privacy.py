"""The measure `differential_privacy`: what everyone loses at worst, wherever they go."""

from __future__ import annotations

import functools
import math
from collections.abc import Hashable
from fractions import Fraction
from typing import Any

import numpy as np

from sfumato.beliefs import Markov
from sfumato.channels import Emission, NoisyVectors
from sfumato.comparison.populations import OfPopulation
from sfumato.errors import OutsideHypotheses
from sfumato.inference.exact import Balls, certify
from sfumato.matrices.matrix import ROUNDOFF
from sfumato.parameters import CHOICE, OPEN_UNIT, declare, parameter
from sfumato.protocols import LossMeasure, Quantity, Reading
from sfumato.values import FloatArray

FAR = 40.0
"""Φ(−FAR) lies below every positive float64."""

WIDE = 1e5
"""From this shift on the second term of δ is left out: that adds at most 1e-9 of ε."""

MOST_MEMORIES = 100_000
"""How many different pasts of an emission are followed."""

ROUNDING = 1.0 + 1e-14
"""Lengths are taken larger by this factor, above the rounding of a sum, a root and a ratio."""


@declare
class DifferentialPrivacy(OfPopulation, LossMeasure):
    """The ε of (ε, δ)-differential privacy when one person's whole trace is replaced.

    Formula: with Gaussian noise of deviation σ the counts move by at most Δ in Euclidean length,
    and neighbours are as far apart as N(0, 1) and N(μ, 1), $μ = Δ/σ$. The exact ε is the smallest
    with $Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ) ≤ δ$. One sensor a step has $Δ = √T$; with more, a move
    from one to another changes two counts. With ``formula="paper"`` it is $ε = √(2 log(1.25/δ)) μ$,
    which is $√(2 log(1.25/δ) T)/σ$ for one sensor a step.

    Of an emission with finitely many outputs it is the largest sum over the steps of
    $log (max_m Pr[o_t | X_t = m] / min_m Pr[o_t | X_t = m])$: the ε of δ = 0.

    Assumptions: none on the prior, which is why everyone has the same loss. The paper's formula
    is proved for ε ≤ 1; beyond, the exact ε stands for it, or 1 if that is larger.
    Guarantee: exact, and rounded up, for Gaussian noise; the paper's formula and finite outputs
    give an upper bound. Without noise ε is infinite.
    Reference: Koga, Meehan and Chaudhuri (2024), section 2.2.1; Dwork and Roth (2014),
    theorem A.1; Balle and Wang (2018), theorem 8.

    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain.simulated(states=10, tau=0.1, steps=4)
    >>> secret = sf.secrets.trajectory(mistakes=1)
    >>> release = sf.mechanisms.sensor_counts([0, 3, 6, 9], noise=8.0).protect(chain, secret)
    >>> round(sf.measures.differential_privacy(delta=0.01).loss(chain, secret, release).value, 4)
    0.3599
    >>> paper = sf.measures.differential_privacy(delta=0.01, formula="paper")
    >>> round(paper.loss(chain, secret, release).value, 4)
    0.7769
    """

    name = "differential_privacy"
    promises = ("nothing from silence",)
    reads = ((Markov, object, Emission),)

    delta: float = parameter(OPEN_UNIT, default=1e-5, doc="chance of exceeding ε")
    formula: str = parameter(
        CHOICE("exact", "paper"), default="exact", doc="the exact trade-off, or the paper's formula"
    )

    @property
    def quantity(self) -> Quantity:
        """The ε at this δ."""
        return Quantity("differential privacy", {"delta": self.delta}, unit="nats")

    def evaluate(self, belief: Markov, question: Any, channel: Emission) -> Reading:
        """Return ε."""
        del belief, question
        if not isinstance(channel, NoisyVectors):
            return finite_epsilon(channel, self.delta)
        moves = [_largest_square(means) for means in channel.means]
        shift = ROUNDING * math.sqrt(math.fsum(moves)) / channel.scale
        paper = math.sqrt(2.0 * math.log(1.25 / self.delta)) * shift
        if self.formula == "paper" and paper <= 1.0:
            return Reading(value=paper, bound="upper", how="the paper's formula")
        value, error = gaussian_epsilon(self.delta, shift), 1e-9 if shift >= WIDE else 0.0
        if self.formula == "exact":
            how = "Gaussian trade-off"
            return Reading(value=value, bound="exact", relative_error=error, how=how)
        how = f"Gaussian trade-off: the paper's formula, {paper:.4g} here, is proved up to 1"
        return Reading(value=max(1.0, value), bound="upper", how=how)

    def brute_force(self, belief: Markov, question: Any, channel: Any) -> Reading:
        """Return the smallest ε for every two traces and every set of outputs."""
        from sfumato_counts import brute_force

        del question
        return brute_force.differential_privacy(belief, channel, self.delta)


def finite_epsilon(channel: Emission, delta: float) -> Reading:
    """Return max over outputs of Σ_t log (max_m Pr[o_t | X_t = m] / min_m Pr[o_t | X_t = m]).

    Both traces are free at every step, so no output separates two of them by more, and the worst
    one does by as much: this is ε at δ = 0, and an upper bound at any other. What is remembered of
    the past is followed from its end, r(t, memory) = max_y ratio(y) + r(t + 1, memory after y); an
    emission without memory has Σ_t max_y. It is infinite where some state rules an output out; that
    is exact if another emits it with a chance above δ, as no ε then suffices.
    """
    layers: list[dict[Hashable, list[tuple[float, Hashable]]]] = []
    remembered: set[Hashable] = {()}
    told, certain = False, False
    for time, alphabet in enumerate(channel.outputs()):
        layer: dict[Hashable, list[tuple[float, Hashable]]] = {}
        for memory in remembered:
            rows = channel.next_evidence(memory, time)
            largest, smallest = rows.max(axis=1), rows.min(axis=1)
            possible = np.flatnonzero(largest > -np.inf)
            ratios = largest[possible] - smallest[possible]
            if ratios.any():  # the logarithms themselves are rounded
                ratios -= 4.0 * ROUNDOFF * (smallest[possible] - 1.0)
            after = [channel.remember(memory, time, alphabet[y]) for y in possible]
            layer[memory] = list(zip(ratios.tolist(), after, strict=True))
            told |= bool((ratios > 0.0).any())
            if len(remembered) == 1:  # reached for certain
                certain |= bool((np.exp(largest[possible]) > delta)[np.isinf(ratios)].any())
        layers.append(layer)
        remembered = {memory for moves in layer.values() for _, memory in moves}
        if len(remembered) > MOST_MEMORIES:
            raise OutsideHypotheses(
                f"differential_privacy follows at most {MOST_MEMORIES} memories of an emission; "
                f"there are {len(remembered)} after step {time}, so take fewer steps."
            )
    rest: dict[Hashable, float] = dict.fromkeys(remembered, 0.0)
    for layer in reversed(layers):
        rest = {m: max(ratio + rest[after] for ratio, after in moves) for m, moves in layer.items()}
    if not told:
        return Reading(value=0.0, bound="exact", how="the output does not depend on the state")
    if certain:
        how = "two states are told apart with certainty"
        return Reading(value=math.inf, bound="exact", how=how)
    value = rest[()] * (1.0 + 2.0 * len(layers) * ROUNDOFF)
    return Reading(value=value, bound="upper", how="the largest ratio of every step")


def _largest_square(means: FloatArray) -> float:
    """Return the largest squared distance of two states' means, (M, K), holding one row of them."""
    different = np.unique(means, axis=0)
    return max(float(np.square(different - mean).sum(axis=1).max()) for mean in different)


@functools.lru_cache(maxsize=1024)  # everyone in a population asks for the same
def gaussian_epsilon(delta: float, shift: float) -> float:
    """Return the smallest ε ≥ 0 for which N(0, 1) and N(μ, 1) are (ε, δ)-indistinguishable.

    That is where δ = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ), with μ the `shift` (Balle and Wang, 2018,
    theorem 8). It falls in x = ε/μ − μ/2, and is solved for x, which stays moderate where ε is
    tiny or huge. The answer is never too small: an x counts only if balls prove that δ suffices,
    and ε = μ (x + μ/2) is rounded up.
    """
    if shift in (0.0, math.inf):
        return shift
    low, high = max(-shift / 2.0, -FAR), FAR
    if low > -FAR and _suffices(low, delta, shift):
        return 0.0
    while low < (middle := (low + high) / 2.0) < high:
        low, high = (low, middle) if _suffices(middle, delta, shift) else (middle, high)
    epsilon = Fraction(shift) * (Fraction(high) + Fraction(shift) / 2)
    try:
        return math.nextafter(float(epsilon), math.inf)
    except OverflowError:
        return math.inf


def _suffices(x: float, delta: float, shift: float) -> bool:
    """Return whether Φ(−x) − e^ε Φ(−x − μ) ≤ δ at ε = μ (x + μ/2); False where none can tell."""

    def decide(numbers: Balls) -> bool | None:
        start, move, root = (numbers.number(value) for value in (x, shift, 2.0))
        root = root.sqrt()
        excess = (start / root).erfc() - 2 * numbers.number(delta)
        if shift < WIDE:
            factor = (move * (start + move / 2)).exp()
            excess -= factor * ((start + move) / root).erfc()
        return True if excess <= 0 else False if excess > 0 else None

    return bool(certify(decide))
