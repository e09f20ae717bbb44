"""How much loss a sample of releases demonstrates, with confidence."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable
from typing import Any

import attrs
import numpy as np
from scipy.special import betaincinv

from sfumato.laws.law import NotHere
from sfumato.protocols import Quantity, Release
from sfumato.quantities import POSTERIOR_GAP, RECONSTRUCTION, renyi_divergence
from sfumato.questions import Displacements, Events, Guess
from sfumato.values import FloatArray

THRESHOLDS = 9
"""How many tests of one statistic are tried; the level is divided by their number."""


@attrs.frozen(eq=False)
class Attempt:
    """What an attack works with: a belief, a release, how many draws and which level."""

    belief: Any
    question: Any
    release: Release
    draws: int
    rng: np.random.Generator
    level: float

    def sample(self) -> tuple[Any, list[Hashable]]:
        """Draw traces of states and release each."""
        traces = self.belief.sample(self.rng, self.draws)
        return traces, [tuple(self.release.apply(trace, self.rng)) for trace in traces]

    def release_given(self, entries: list[int], shift: FloatArray) -> FloatArray:
        """Release traces drawn from the prior given that the secret entries equal `shift`'s.

        X + Σ_{:,S}Σ_SS⁺(x − X_S) has the law of the trace given X_S = x.
        """
        belief, draws = self.belief, self.draws
        traces = np.asarray(belief.sample(self.rng, draws), dtype=float).reshape(draws, -1)
        own = belief.covariance.block(entries, entries)
        weights = belief.covariance.columns(entries) @ np.linalg.pinv(own)
        given = traces + (shift[entries] - traces[:, entries]) @ weights.T
        given[:, entries] = shift[entries]
        outputs = [self.release.apply(trace.reshape(belief.shape), self.rng) for trace in given]
        return np.asarray(outputs, dtype=float).reshape(draws, -1)


def demonstrated_loss(quantity: Quantity, attempt: Attempt) -> float:
    """Return a lower bound of the loss that holds with probability 1 − level.

    One half of the draws finds a good attack, the other half judges it; nothing but the release
    and the belief's own sampler is used.
    """
    order = dict(quantity.parameters).get("order")
    question = attempt.question
    if isinstance(question, Displacements) and order is not None:
        if quantity == renyi_divergence(float(order)):
            return _divergence(attempt, float(order))
    elif isinstance(question, Events) and quantity == POSTERIOR_GAP:
        return _gap(attempt)
    elif isinstance(question, Guess) and quantity == RECONSTRUCTION:
        return _success(attempt)
    raise NotHere(f"no attack is known for the quantity '{quantity.name}' here")


def _divergence(attempt: Attempt, order: float) -> float:
    """Tell releases of two secrets apart by a linear test; an event E shows D_λ ≥ d_λ(p‖q)."""
    question, half = attempt.question, attempt.draws // 2
    best = 0.0
    share = attempt.level / (len(question.groups) * THRESHOLDS)
    for group, radius in zip(question.groups, question.radii, strict=True):
        entries = [entry for ball in group for entry in ball]
        move = np.zeros(attempt.belief.entries)
        for ball in group:
            move[list(ball)] = radius / math.sqrt(len(ball))
        here, there = (attempt.release_given(entries, shift) for shift in (0.0 * move, move))
        # Fisher's linear discriminant.
        spread = np.atleast_2d(np.cov(here[:half].T) + np.cov(there[:half].T))
        weights = np.linalg.pinv(spread) @ (there[:half].mean(axis=0) - here[:half].mean(axis=0))
        scores = (there[half:] @ weights, here[half:] @ weights)
        for cut in np.quantile(scores[0], np.linspace(0.05, 0.95, THRESHOLDS)):
            p = _chance_at_least(int((scores[0] > cut).sum()), len(scores[0]), share)
            q = _chance_at_most(int((scores[1] > cut).sum()), len(scores[1]), share)
            best = max(best, _binary_divergence(p, q, order))
    return best


def _binary_divergence(p: float, q: float, order: float) -> float:
    """Return the Rényi divergence of two coins, the smaller end where p ≤ q."""
    if p <= q:
        return 0.0
    if q <= 0.0:
        return math.inf
    if order == 1.0:  # Kullback and Leibler
        return p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))
    inside = p**order * q ** (1 - order) + (1 - p) ** order * (1 - q) ** (1 - order)
    return math.log(inside) / (order - 1)


def _gap(attempt: Attempt) -> float:
    """Find the output after which an event is most surprising; judge it on fresh draws."""
    draws, level, half = attempt.draws, attempt.level, attempt.draws // 2
    traces, outputs = attempt.sample()
    paths = np.array([attempt.belief.encode(trace) for trace in traces])
    masks, times = attempt.question.masks, attempt.question.times
    inside = np.stack([masks[e, t][paths[:, t]] for e, t in enumerate(times)], axis=1)
    prior = [_chance_at_most(int(row.sum()), draws, level / 3) for row in inside.T]
    alone: Counter[Hashable] = Counter(outputs[:half])
    together = Counter(
        (output, int(event))
        for output, row in zip(outputs[:half], inside[:half], strict=True)
        for event in np.flatnonzero(row)
    )
    ranked = sorted(
        together,
        key=lambda pair: together[pair] / (alone[pair[0]] + 5.0) - prior[pair[1]],
        reverse=True,
    )
    best = 0.0
    for output, event in ranked[:THRESHOLDS]:
        seen = np.array([other == output for other in outputs[half:]])
        hits = int(inside[half:][seen, event].sum())
        posterior = _chance_at_least(hits, int(seen.sum()), level / (3 * THRESHOLDS))
        best = max(best, posterior - prior[event])
    return best


def _success(attempt: Attempt) -> float:
    """Guess the trace seen most often with an output; judge the guesses on fresh draws."""
    traces, outputs = attempt.sample()
    half = attempt.draws // 2
    seen: dict[Hashable, Counter[Any]] = {}
    for trace, output in zip(traces[:half], outputs[:half], strict=True):
        seen.setdefault(output, Counter())[trace] += 1
    fallback = Counter(traces[:half])
    hits = 0
    for trace, output in zip(traces[half:], outputs[half:], strict=True):
        guess = seen.get(output, fallback).most_common(1)[0][0]
        hits += sum(a != b for a, b in zip(trace, guess, strict=True)) <= attempt.question.mistakes
    return _chance_at_least(hits, attempt.draws - half, attempt.level)


def _chance_at_least(hits: int, total: int, level: float) -> float:
    """Return the exact (Clopper-Pearson) lower confidence limit of a chance."""
    return 0.0 if hits == 0 else float(betaincinv(hits, total - hits + 1, level / 2))


def _chance_at_most(hits: int, total: int, level: float) -> float:
    """Return the exact (Clopper-Pearson) upper confidence limit of a chance."""
    return 1.0 - _chance_at_least(total - hits, total, level)
