"""Temporal leakage: how ε at every step adds up along a chain, backwards and forwards.

With ε_t the largest log-ratio of one step's outputs, what is released up to t has a log-ratio of
at most α_t = L(α_{t−1}) + ε_t under any two states at t, where the rows q, d of the backward matrix
are the laws of the state before:

    L(α) = max over pairs of rows and sets A of log (q_A (e^α − 1) + 1)/(d_A (e^α − 1) + 1),

the largest ratio of two expectations of a function between 1 and e^α. From t on it is the same with
the chain's own matrix, and together α_t + α'_t − ε_t.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from sfumato.beliefs import Markov
from sfumato.channels import Emission
from sfumato.channels.emission import MemorylessEmission
from sfumato.errors import OutsideHypotheses
from sfumato.inference.markov.probabilities import reachable_states
from sfumato.laws.brute_force import Table, secret_tables
from sfumato.matrices.matrix import ROUNDOFF
from sfumato.parameters import CHOICE, declare, parameter
from sfumato.protocols import LossMeasure, Quantity, Reading
from sfumato.quantities import renyi_divergence
from sfumato.questions import Events
from sfumato.values import FloatArray
from sfumato.views.segments import marginals_up_to

ROUNDING = 1.0 + 1e-12
"""Each step's leakage is taken larger by this factor, above the rounding of its sums."""

BLOCK = 2_000_000
"""How many numbers of pairs of rows are held at a time."""


def step_leakage(matrix: FloatArray, alpha: float) -> tuple[float, float, float]:
    """Return L(α) and the q_A and d_A that attain it.

    Dinkelbach's iteration over all pairs at once: for a ratio 1 + x the best set is
    A = {q − d > x d}, and the largest quotient of these, (q_A − d_A)(e^α − 1)/(d_A(e^α − 1) + 1)
    above one, is the next x. It ends where no pair has a larger one. Of rows that are nearly the
    same nothing cancels. Rows of zeros stand for states that cannot be.
    """
    rows = np.unique(matrix[matrix.any(axis=1)], axis=0)
    if alpha == 0.0 or len(rows) < 2:
        return 0.0, 1.0, 1.0
    # 1/(e^α − 1), which is nothing where α is infinite.
    rest, excess, best = math.exp(-alpha) / -math.expm1(-alpha), 0.0, (0.0, 1.0, 1.0)
    stride = max(1, BLOCK // rows.size)
    while True:
        for begin in range(0, len(rows), stride):
            apart = rows[begin : begin + stride, None] - rows
            inside = apart > excess * rows
            more, d = np.einsum("ijk,ijk->ij", apart, inside), np.einsum("jk,ijk->ij", rows, inside)
            with np.errstate(divide="ignore", over="ignore"):
                larger = np.divide(more, d + rest, out=np.zeros_like(more), where=more > 0.0)
            place = np.unravel_index(int(np.argmax(larger)), larger.shape)
            if larger[place] > best[0]:
                best = float(larger[place]), float(d[place] + more[place]), float(d[place])
        if best[0] <= excess * (1.0 + 1e-15) or math.isinf(best[0]):
            return min(math.log1p(best[0]), alpha), *best[1:]
        excess = best[0]


def accumulate(matrices: Iterable[FloatArray], epsilons: Iterable[float]) -> list[float]:
    """Return α_1 = ε_1 and α_t = L_t(α_{t−1}) + ε_t, with a matrix for each step."""
    budgets = [float(one) for one in epsilons]
    found = [budgets[0]]
    for matrix, epsilon in zip(matrices, budgets[1:], strict=False):
        # Entries that are off by a share η move L(α) by at most 2η, and by 2ηα.
        off = 8.0 * ROUNDOFF * (len(matrix) + 2) * len(budgets) * min(found[-1], 1.0)
        found.append(step_leakage(matrix, found[-1])[0] * ROUNDING + off + epsilon)
    return found


def supremum(matrix: FloatArray, epsilon: float) -> float:
    """Return the limit of α_t = L(α_{t−1}) + ε; infinite where it grows without end.

    For the q and d that attain L(α), y = e^α − 1 has its fixed point where, with g = e^ε − 1,
    d y² + (1 − q + d − q g) y − g = 0, which has one positive root; no fixed point of L is
    below it, and with the q and d that attain L there one goes on. Where q and d are rounded away
    α would creep: each step goes at least twice as far as the last must, from a few ulps on, and to
    end above the limit is to promise less.
    """
    growth, alpha, creep = math.expm1(epsilon), epsilon, ROUNDOFF
    while True:
        leaked, q, d = step_leakage(matrix, alpha)
        if leaked + epsilon <= alpha * (1.0 + 1e-14):
            return alpha
        half = (1.0 - q + d - q * growth) / 2.0
        spread = math.sqrt(half * half + d * growth)
        if half <= 0.0 and d == 0.0:
            return math.inf
        root = growth / (half + spread) if half > 0.0 else (spread - half) / d
        alpha, creep = max(math.log1p(root), leaked + epsilon, alpha * (1.0 + creep)), 2.0 * creep


def backward_matrices(belief: Markov) -> list[FloatArray]:
    """Return Pr[X_{t−1} = x | X_t = s] as (s, x) for t = 1 ... T − 1; zeros for an impossible s."""
    marginals = marginals_up_to(belief, belief.steps - 1)
    return [belief.reversed_matrix(time, marginals) for time in range(belief.steps - 1)]


def forward_matrices(belief: Markov) -> list[FloatArray]:
    """Return the chain's own matrices, the last one first; zeros for states that cannot be."""
    possible = reachable_states(belief)
    steps = reversed(range(belief.steps - 1))
    return [belief.matrix(time) * possible[time][:, None] for time in steps]


def step_epsilons(belief: Markov, channel: Emission) -> FloatArray:
    """Return ε_t: the largest log-ratio of an output of step t under two states that can be."""
    if not isinstance(channel, MemorylessEmission) and not _is_memoryless(channel):
        raise OutsideHypotheses(
            "temporal leakage takes a randomiser of each step by itself; this one remembers."
        )
    found = []
    for time, possible in enumerate(reachable_states(belief)):
        rows = channel.next_evidence((), time)[:, possible]
        rows = rows[(rows > -np.inf).any(axis=1)]
        gaps = rows.max(axis=1) - rows.min(axis=1)
        if gaps.any():  # the logarithms themselves are rounded
            gaps = gaps * ROUNDING - 4.0 * ROUNDOFF * rows.min(axis=1)
        found.append(float(gaps.max()))
    return np.array(found)


def _is_memoryless(channel: Emission) -> bool:
    """Whether nothing that is seen is remembered, whatever it is."""
    return all(
        channel.remember((), time, symbol) == ()
        for time, alphabet in enumerate(channel.outputs())
        for symbol in alphabet
    )


def leakages(belief: Markov, epsilons: FloatArray) -> dict[str, FloatArray]:
    """Return the backward, forward and total leakage of every time, (T,) each."""
    backward = np.array(accumulate(backward_matrices(belief), epsilons))
    forward = np.array(accumulate(forward_matrices(belief), epsilons[::-1])[::-1])
    with np.errstate(invalid="ignore"):
        total = np.where(np.isinf(epsilons), np.inf, backward + forward - epsilons)
    return {"backward": backward, "forward": forward, "total": total}


@declare
class TemporalLeakage(LossMeasure):
    """What ε at every step becomes where the adversary knows how states follow one another.

    Claim: whatever randomiser of these $ε_t$ is used, no output is more than $e^{loss}$ times as
    likely under one state at a secret time as under another. So it bounds the Rényi divergence of
    infinite order, of any mechanism with these $ε_t$.

    Formula: backward $α_t = L(α_{t−1}) + ε_t$, forward the same from the end, total their sum less
    $ε_t$; $L(α) = max log (q_A(e^α − 1) + 1)/(d_A(e^α − 1) + 1)$ over rows q, d of the matrix
    backwards or forwards and sets A. The loss is that of the worst secret time.

    Assumptions: each step is randomised by itself.

    Guarantee: an upper bound: of the total on all that is released, of the backward leakage on what
    is released up to a time, of the forward leakage on what is released from it on.

    Reference: Cao, Yoshikawa, Xiao and Xiong (2017), theorems 3 and 4.

    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain("stationary", [[0.8, 0.2], [0.2, 0.8]], steps=6)
    >>> secret = sf.secrets.basic(2)
    >>> release = sf.mechanisms.randomised_response(epsilon=0.1).protect(chain, secret)
    >>> for measure in (sf.measures.temporal_leakage(), sf.measures.renyi(order=float("inf"))):
    ...     print(f"{measure.loss(chain, secret, release).value:.6f}")
    0.313120
    0.313120
    """

    name = "temporal_leakage"
    promises = ("nothing from silence",)
    reads = ((Markov, Events, Emission),)

    part: str = parameter(
        CHOICE("total", "backward", "forward"),
        default="total",
        doc="of all that is released, of what is up to a time, or from it on",
    )

    @property
    def quantity(self) -> Quantity:
        """The divergence of infinite order of what is counted."""
        if self.part == "total":
            return renyi_divergence(math.inf)
        return Quantity(f"{self.part} temporal leakage", unit="nats")

    def evaluate(self, belief: Markov, question: Events, channel: Emission) -> Reading:
        """Return the leakage of the worst time."""
        if question.has_windows:
            raise OutsideHypotheses("temporal leakage is of one time; ask about single times.")
        found = leakages(belief, step_epsilons(belief, channel))[self.part]
        times = np.unique(question.times)
        worst = int(times[np.argmax(found[times])])
        value, at = float(found[worst]), {"time": worst}
        return Reading(value=value, bound="upper", witness=at, how="step by step")

    def brute_force(self, belief: Markov, question: Events, channel: Emission) -> Reading:
        """Return max log Pr[seen | s]/Pr[seen | s'] over the pairs, of what the part is about."""
        table = Table.of(belief, channel)
        worst = 0.0
        for asked, joint in secret_tables(table, question):
            time = asked.times[0]
            if len(asked.times) > 1:
                raise OutsideHypotheses("brute force looks at single times.")
            ends = {"total": (0, None), "backward": (0, time + 1), "forward": (time, None)}
            seen = [output[slice(*ends[self.part])] for output in table.outputs]
            numbers = {one: number for number, one in enumerate(dict.fromkeys(seen))}
            places = np.array([numbers[one] for one in seen])
            rows = [np.bincount(places, row) for row in joint]
            for one, other in asked.pairs.tolist():
                worst = max(worst, _largest_ratio(rows[one], rows[other]))
        return Reading(value=worst, bound="exact", how="brute force")


def _largest_ratio(p: FloatArray, q: FloatArray) -> float:
    if not (p.any() and q.any()):
        return 0.0
    pairs = zip((p / math.fsum(p)).tolist(), (q / math.fsum(q)).tolist(), strict=True)
    return max((math.log(a / b) if b else math.inf) for a, b in pairs if a)
