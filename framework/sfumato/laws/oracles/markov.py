"""Markov losses from the table of every trace and every output."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Markov
from sfumato.channels import Emission, NoisyVectors, Symbols
from sfumato.errors import OutsideHypotheses
from sfumato.laws.law import NotHere
from sfumato.questions import Events, Guess
from sfumato.values import SUPPRESSED, FloatArray

MOST = 20_000
"""Outputs or traces in a table, at most."""


@attrs.frozen(eq=False)
class Table:
    """Pr[trace, output] for every trace (rows) and every output (columns)."""

    traces: list[tuple[int, ...]]
    outputs: list[tuple[Any, ...]]
    joint: FloatArray

    @classmethod
    def of(cls, belief: Markov, channel: Emission) -> Table:
        """Multiply out the chain and the channel, one time after another."""
        try:
            alphabets = channel.outputs()
        except OutsideHypotheses as reason:
            raise NotHere(str(reason)) from None
        if np.prod([len(alphabet) for alphabet in alphabets]) > MOST:
            raise NotHere("too many outputs for the oracle's table")
        places, prior = _listed(belief)
        outputs = list(itertools.product(*alphabets))
        likelihoods = np.exp(channel.evidence_batch(outputs))
        joint = np.repeat(prior[:, None], len(outputs), axis=1)
        for time in range(belief.steps):
            joint *= likelihoods[:, time, places[:, time]].T
        return cls(list(map(tuple, places.tolist())), outputs, joint)


def _listed(belief: Markov) -> tuple[NDArray[np.intp], FloatArray]:
    """Return every trace of positions, (N, T), and its probability."""
    if belief.state_count**belief.steps > MOST:
        raise NotHere("too many traces for the oracle's table")
    every = itertools.product(range(belief.state_count), repeat=belief.steps)
    places = np.array(list(every), dtype=np.intp)
    chances = np.asarray(belief.initial)[places[:, 0]]
    for time in range(belief.steps - 1):
        chances = chances * np.asarray(belief.matrix(time))[places[:, time], places[:, time + 1]]
    return places, chances


def posterior_gap(belief: Markov, question: Events, channel: Emission) -> float:
    """Return max over outputs o and events A of Pr[A | o] − Pr[A]."""
    table = Table.of(belief, channel)
    seen = table.joint.sum(axis=0)
    worst = -np.inf
    for mask in question.masks:
        inside = np.array([mask[range(belief.steps), trace].any() for trace in table.traces])
        prior = float(table.joint[inside].sum())
        possible = seen > 0
        posterior = table.joint[inside].sum(axis=0)[possible] / seen[possible]
        worst = max(worst, float(posterior.max()) - prior)
    return worst


def reconstruction(belief: Markov, question: Guess, channel: Emission) -> float:
    """Return Σ_o max over guesses g of Pr[d(X, g) ≤ mistakes, o]."""
    table = Table.of(belief, channel)
    places = np.array(table.traces)
    if len(places) ** 2 > 2_000_000:
        raise NotHere("too many guesses for the oracle's table")
    wrong = (places[:, None, :] != places[None, :, :]).sum(axis=2)
    success = (wrong <= question.mistakes).astype(float) @ table.joint
    return float(success.max(axis=0).sum())


def mutual_information(belief: Markov, _question: object, channel: Emission) -> float:
    """Return I(X; O) in nats."""
    table = Table.of(belief, channel)
    traces, outputs = np.nonzero(table.joint)
    joint = table.joint[traces, outputs]
    # Three logarithms: the product of two tiny marginals could vanish.
    gain = (
        np.log(joint)
        - np.log(table.joint.sum(axis=1)[traces])
        - np.log(table.joint.sum(axis=0)[outputs])
    )
    return float((joint * gain).sum())


def expected_releases(belief: Markov, channel: Emission) -> float:
    """Return the expected number of symbols that are not withheld."""
    table = Table.of(belief, channel)
    released = [sum(symbol is not SUPPRESSED for symbol in output) for output in table.outputs]
    return float(table.joint.sum(axis=0) @ np.array(released, dtype=float))


def posterior_marginals(belief: Markov, channel: Emission, output: tuple[Any, ...]) -> FloatArray:
    """Return Pr[X_t = m | output] as (T, M)."""
    places, chances = _weighed(belief, channel, output)
    marginals = np.zeros((belief.steps, belief.state_count))
    for time in range(belief.steps):
        np.add.at(marginals[time], places[:, time], chances)
    law: FloatArray = marginals / chances.sum()
    return law


def _weighed(
    belief: Markov, channel: Emission, output: tuple[Any, ...]
) -> tuple[NDArray[np.intp], FloatArray]:
    """Return every trace and Pr[trace, output]."""
    places, chances = _listed(belief)
    likelihood = np.exp(channel.evidence(output))
    for time in range(belief.steps):
        chances = chances * likelihood[time, places[:, time]]
    return places, chances


def largest_posterior(belief: Markov, channel: Emission, output: tuple[Any, ...]) -> float:
    """Return max over traces of Pr[trace, output]."""
    return float(_weighed(belief, channel, output)[1].max())


CLOSE = 1e-9
"""A rise so near to δ that rounding decides which side it is on."""


def breach_rate(
    *,
    belief: Markov,
    question: Events,
    channel: Emission,
    traces: Sequence[Sequence[Any]],
    delta: float,
    per: str,
) -> float:
    """Return the expected share of sensitive states X_t ∈ A with Pr[A | o] − Pr[A] > δ."""
    if question.has_windows:
        raise NotHere("the oracle counts states, not windows")
    table = Table.of(belief, channel)
    seen = table.joint.sum(axis=0)
    breached = sensitive = length = 0.0
    for trace in traces:
        path = tuple(int(code) for code in belief.encode(trace))
        row = table.joint[table.traces.index(path)]
        if row.sum() <= 0:
            raise NotHere("the oracle knows nothing of a trace that cannot occur")
        length += len(path)
        for mask in question.masks:
            time = int(np.flatnonzero(mask.any(axis=1))[0])
            if not mask[time, path[time]]:
                continue
            sensitive += 1
            inside = np.array([mask[time, other[time]] for other in table.traces])
            possible = row > 0
            rise = table.joint[inside][:, possible].sum(axis=0) / seen[possible]
            rise -= table.joint[inside].sum()
            if (np.abs(rise - delta) < CLOSE).any():
                raise NotHere("a rise is too close to δ for the oracle to decide")
            breached += float(row[possible][rise > delta].sum() / row.sum())
    whole = sensitive if per == "sensitive_state" else length
    if whole == 0:
        raise NotHere("no sensitive state occurs")
    return breached / whole


MOST_CELLS = 1_500
"""Outputs of the whole trace, at most."""

MARGIN = 3.0
"""Deviations around the means that are divided; beyond them a single cell on either side."""


def in_cells(channel: NoisyVectors) -> Symbols:
    """Return the channel that tells in which cell each real output lies.

    That is post-processing, so whatever an adversary gains by it is at most the truth.

    >>> noisy = NoisyVectors(("away", "here"), [[[0.0], [1.0]]], scale=1.0)
    >>> in_cells(noisy).probabilities.shape[:2]
    (1, 2)
    """
    steps, _, width = channel.means.shape
    count = math.floor(MOST_CELLS ** (1.0 / (steps * width)) + 1e-9)
    if count < 2:
        raise NotHere("too many real outputs for cells")
    laws = [_law(channel, coordinate, count) for coordinate in range(width)]
    joint = laws[0]
    for law in laws[1:]:
        joint = (joint[..., :, None] * law[..., None, :]).reshape(*joint.shape[:2], -1)
    return Symbols(channel.states, tuple(range(joint.shape[2])), joint)


def _law(channel: NoisyVectors, coordinate: int, count: int) -> FloatArray:
    """Return the chance of every cell of one coordinate, (T, M, count)."""
    means = channel.means[:, :, coordinate]
    room = MARGIN * channel.scale
    cuts = np.linspace(means.min() - room, means.max() + room, count + 1)[1:-1]
    ends = [-math.inf, *cuts.tolist(), math.inf]
    chances = np.empty((*means.shape, count))
    for place in itertools.product(*map(range, means.shape)):
        scaled = [(end - means[place]) / channel.scale for end in ends]
        chances[place] = [_chance(low, high) for low, high in itertools.pairwise(scaled)]
    return np.asarray(chances / chances.sum(axis=2, keepdims=True))


def _chance(low: float, high: float) -> float:
    """Return Pr[low < N(0, 1) < high], from the tail in which nothing cancels."""
    if low > 0:
        low, high = -high, -low
    return 0.5 * (math.erfc(-high / math.sqrt(2.0)) - math.erfc(-low / math.sqrt(2.0)))


def without_noise(channel: NoisyVectors) -> Symbols:
    """Return the channel that tells the vectors themselves, from which noise only takes away.

    >>> noisy = NoisyVectors(("away", "here"), [[[0.0], [1.0]]], scale=1.0)
    >>> without_noise(noisy).probabilities.tolist()
    [[[1.0, 0.0], [0.0, 1.0]]]
    """
    vectors = [[tuple(row) for row in table] for table in channel.means.tolist()]
    alphabet = tuple(dict.fromkeys(vector for table in vectors for vector in table))
    chances = [[[float(v == symbol) for symbol in alphabet] for v in table] for table in vectors]
    return Symbols(channel.states, alphabet, chances)


LARGEST = 700.0
"""Above this, e^ε leaves float64."""


def differential_privacy(belief: Markov, channel: NoisyVectors | Symbols, delta: float) -> float:
    """Return the smallest ε with Pr[O ∈ E | x] ≤ e^ε Pr[O ∈ E | x'] + δ for all x, x' and E."""
    traces = np.array(list(itertools.product(range(belief.state_count), repeat=belief.steps)))
    if len(traces) > 300:
        raise NotHere("too many pairs of traces for the oracle")
    if isinstance(channel, NoisyVectors):
        return _shifted_normals(_farthest(channel, traces) / channel.scale, delta)
    return _tables(_laws(channel, traces), delta)


def _farthest(channel: NoisyVectors, traces: FloatArray) -> float:
    """Return the largest distance of what two traces are released as, before noise."""
    centres = channel.means[np.arange(channel.steps), traces].reshape(len(traces), -1)
    return float(
        max(np.linalg.norm(one - other) for one, other in itertools.combinations(centres, 2))
        if len(centres) > 1
        else 0.0
    )


def _shifted_normals(shift: float, delta: float) -> float:
    """Return ε for N(0, 1) and N(μ, 1): the worst event is z > ε/μ + μ/2, the likelier side.

    Its two chances are taken with fifty digits: their difference cancels in float64.
    """
    if shift == 0:
        return 0.0
    try:
        import mpmath
    except ImportError:
        raise NotHere("the oracle needs mpmath, of the extra sfumato[laws]") from None
    with mpmath.workdps(50):
        mu, target = mpmath.mpf(shift), mpmath.mpf(delta)

        def excess(epsilon: mpmath.mpf) -> mpmath.mpf:
            cut = epsilon / mu + mu / 2
            near, far = (mpmath.erfc(z / mpmath.sqrt(2)) / 2 for z in (cut - mu, cut))
            return near - mpmath.exp(epsilon) * far - target

        if excess(mpmath.mpf(0)) <= 0:
            return 0.0
        low, high = mpmath.mpf(0), mu * mu / 2 + 60 * mu
        for _ in range(90):
            middle = (low + high) / 2
            low, high = (middle, high) if excess(middle) > 0 else (low, middle)
        return float(high)


def _laws(channel: Symbols, traces: FloatArray) -> FloatArray:
    """Return Pr[o | x] for every trace (rows) and output (columns)."""
    outputs = list(itertools.product(*channel.outputs()))
    if len(outputs) > MOST // 20:
        raise NotHere("too many outputs for the oracle")
    likelihoods = np.exp(channel.evidence_batch(outputs))
    factors = [likelihoods[:, time, traces[:, time]].T for time in range(channel.steps)]
    return np.asarray(np.prod(factors, axis=0))


def _tables(laws: FloatArray, delta: float) -> float:
    """Return the smallest ε with Σ_o max(P(o) − e^ε Q(o), 0) ≤ δ for every two rows."""

    def excess(epsilon: float) -> float:
        reduced = math.exp(epsilon) * laws
        return max(float(np.maximum(row - reduced, 0.0).sum(axis=1).max()) for row in laws) - delta

    if excess(0.0) <= 0:
        return 0.0
    if excess(LARGEST) > 0:
        return math.inf
    low, high = 0.0, LARGEST
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return high
