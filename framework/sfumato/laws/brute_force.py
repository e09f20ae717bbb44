"""Brute force: the table of every trace and every output, and which measure checks which.

A measure that calls a number exact brings `brute_force`, which finds the same number for tiny
cases from its definition, by other means; these are the tools that most of them need.
"""

from __future__ import annotations

import functools
import itertools
import math
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Markov
from sfumato.channels import (
    Emission,
    MemoryEmission,
    NoisyVectors,
    RememberingSuppression,
    Symbols,
    WholeTrace,
)
from sfumato.errors import OutsideHypotheses
from sfumato.laws.capabilities import can_read, same_quantity
from sfumato.laws.law import every
from sfumato.plugin_registry import default_registry
from sfumato.protocols import LossMeasure, Quantity, Reading, Situation
from sfumato.questions import Nearness
from sfumato.values import SUPPRESSED, FloatArray
from sfumato.views import OwnQuestion

MOST = 20_000
"""Outputs or traces in a table, at most."""

HALVINGS = 200
"""Steps of a bisection, after which float64 has no number between the ends."""


COPIED = 100
"""Bytes of code from which on two functions that do the same are one and its copy."""


# What brute force knows ---------------------------------------------------------------------------


def between(low: float, high: float) -> Reading:
    """Return what is known of a number that lies between two others; equal ends are the number."""
    if low == high:
        return Reading(value=low, bound="exact", how="brute force")
    low, high = min(low, high), max(low, high)  # equal ends may be a rounding apart
    return Reading(value=high, bound="estimate", interval=(low, high), how="brute force")


def checks_of(measure: LossMeasure) -> Iterator[LossMeasure]:
    """Yield the measures whose brute force finds this one's quantity: itself, then others."""
    if measure.has_brute_force():
        yield measure
    yield from (
        other for other in measures_of(measure.quantity) if type(other) is not type(measure)
    )


def measures_of(quantity: Quantity) -> Iterator[LossMeasure]:
    """Yield the registered measures of a quantity that bring a brute force."""
    return (one for one in same_quantity(quantity) if one.has_brute_force())


def true_value(check: LossMeasure, at: Situation) -> Reading | None:
    """Return what the brute force of `check` finds, or None where it has nothing to say."""
    if not can_read(check, at):
        return None
    if isinstance(at.question, OwnQuestion):
        return at.question.brute_force(check, at.belief, at.channel)
    return check.brute_force(at.belief, at.question, at.channel)


def calls_of(work: Callable[[], object], author: object) -> dict[bytes, str]:
    """Return the functions that some work calls: of the author, of measures, of the framework.

    They are known by what they do, so that a copy under another name is the same.
    Of the framework, only `sfumato.inference` counts, but for exact numbers: everybody asks
    beliefs and channels. What a cache of the author's module remembers is forgotten before, so that
    the function behind it is called.
    """
    home = type(author).__module__
    modules = {cls.__module__ for cls in every(default_registry(), "measure")}
    for held in list(vars(sys.modules[home]).values()):
        if callable(getattr(held, "cache_clear", None)):
            held.cache_clear()
    seen: dict[bytes, str] = {}

    def note(frame: Any, event: str, _: object) -> None:
        name, code = str(frame.f_globals.get("__name__")), frame.f_code
        inside = name in modules or name.startswith("sfumato.inference")
        inside |= name.partition(".")[0] == home.partition(".")[0]
        inside &= name != "sfumato.inference.exact"  # the one door, for everyone
        plain = not code.co_name.startswith("__") or code.co_name == "__call__"
        plain &= code.co_name != "quantity"  # by which a measure is only named
        if event == "call" and inside and plain:
            called = f"{name}.{code.co_qualname} (line {code.co_firstlineno})"
            what = code.co_code if len(code.co_code) >= COPIED else called.encode()
            seen[what + repr(code.co_names).encode()] = called

    sys.setprofile(note)
    threading.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return seen


# Every trace and every output ---------------------------------------------------------------------


@attrs.frozen(eq=False)
class Table:
    """Pr[trace, output] for every trace (rows, as positions of states) and output (columns)."""

    traces: NDArray[np.intp]
    outputs: list[tuple[Any, ...]]
    joint: FloatArray

    @classmethod
    def of(
        cls,
        belief: Markov,
        channel: Emission | RememberingSuppression,
        outputs: Sequence[Any] = (),
    ) -> Table:
        """Multiply out the chain and the channel, for every output or for those given."""
        traces, prior = every_trace(belief)
        listed = list(outputs) or every_output(channel)
        return cls(traces, listed, _product(prior, likelihoods(channel, traces, listed)))

    def row(self, trace: Any) -> int:
        """Return the row of a trace of positions, or raise `ValueError`."""
        return int(self.traces.tolist().index([int(place) for place in trace]))

    def inside(self, mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which traces are in an event: at some time in a state that it holds."""
        return np.asarray(mask[np.arange(len(mask)), self.traces].any(axis=1))


def _product(prior: FloatArray, laws: FloatArray) -> FloatArray:
    """Return Pr[trace, output]; where float64 cannot hold it, it would look impossible."""
    joint = prior[:, None] * laws
    if ((joint < np.finfo(float).tiny) & (prior[:, None] > 0.0) & (laws > 0.0)).any():
        raise OutsideHypotheses("float64 cannot hold products of such probabilities.")
    return joint


def secret_tables(table: Table, question: Any) -> Iterator[tuple[Any, FloatArray]]:
    """Yield every secret variable of a question with Pr[value, output], (R, N)."""
    for asked in question.asked():
        if asked.mask is not None:
            met = asked.mask[np.arange(asked.mask.shape[0]), table.traces].any(axis=1)
            yield asked, np.stack([table.joint[rows].sum(axis=0) for rows in (met, ~met)])
            continue
        width = round(asked.members.shape[1] ** (1 / len(asked.times)))
        place = np.zeros(len(table.traces), dtype=np.intp)
        for time in asked.times:
            place = place * width + table.traces[:, time]
        yield asked, np.stack([table.joint[member[place]].sum(axis=0) for member in asked.members])


def worst_of_tables(
    belief: Markov, question: Any, channel: Emission, loss: Callable[[FloatArray, Any], float]
) -> Reading:
    """Return the largest ``loss(Pr[value, output], variable)`` over the secret variables."""

    def worst(table: Table) -> float:
        return max(loss(joint, asked) for asked, joint in secret_tables(table, question))

    return from_table(worst, belief, channel)


def worst_of_pairs(
    belief: Markov,
    question: Any,
    channel: Emission,
    loss: Callable[[FloatArray, FloatArray], float],
) -> Reading:
    """Return the largest ``loss(p, q)`` of what is seen under two values that must look alike."""
    if isinstance(question, Nearness):
        raise OutsideHypotheses("brute force looks at states, or at pairs of real values.")

    def worst(joint: FloatArray, asked: Any) -> float:
        laws = [row / math.fsum(row) if row.sum() > 0 else None for row in joint]
        pairs = [(laws[one], laws[other]) for one, other in asked.pairs.tolist()]
        found = [loss(p, q) for p, q in pairs if p is not None and q is not None]
        return max(found, default=loss(np.ones(1), np.ones(1)))

    return worst_of_tables(belief, question, channel, worst)


def every_trace(belief: Markov) -> tuple[NDArray[np.intp], FloatArray]:
    """Return every trace of positions, (N, T), and its probability."""
    if belief.state_count**belief.steps > MOST:
        raise OutsideHypotheses("there are too many traces for brute force.")
    every = itertools.product(range(belief.state_count), repeat=belief.steps)
    traces = np.array(list(every), dtype=np.intp)
    chances = np.asarray(belief.initial)[traces[:, 0]]
    for time in range(belief.steps - 1):
        chances = chances * np.asarray(belief.matrix(time))[traces[:, time], traces[:, time + 1]]
    return traces, chances


def every_output(
    channel: Emission | RememberingSuppression, most: int = MOST
) -> list[tuple[Any, ...]]:
    """Return every sequence of symbols."""
    alphabets = channel.outputs()
    if math.prod(map(len, alphabets)) > most:
        raise OutsideHypotheses("there are too many outputs for brute force.")
    return list(itertools.product(*alphabets))


def likelihoods(
    channel: Emission | RememberingSuppression,
    traces: NDArray[np.intp],
    outputs: Sequence[tuple[Any, ...]],
) -> FloatArray:
    """Return Pr[o | x] for every trace (rows) and output (columns)."""
    if isinstance(channel, RememberingSuppression):
        return likelihoods(MemoryEmission(channel), channel.pairs(traces), outputs)
    chances = np.exp(channel.evidence_batch(outputs))
    factors = (chances[:, time, traces[:, time]].T for time in range(channel.steps))
    return np.asarray(functools.reduce(np.multiply, factors))


def posterior_marginals(belief: Markov, channel: Emission, output: tuple[Any, ...]) -> FloatArray:
    """Return Pr[X_t = m | output] as (T, M)."""
    table = Table.of(belief, channel, [output])
    visits = table.traces[:, :, None] == np.arange(belief.state_count)
    chances = table.joint[:, 0] / table.joint.sum()
    return np.asarray(np.einsum("n,ntm->tm", chances, visits))


def best_log_probability(belief: Markov, channel: Emission, output: tuple[Any, ...]) -> float:
    """Return the largest log Pr[x, output] over all traces x, step by step in logarithms."""
    evidence = channel.evidence(output)
    with np.errstate(divide="ignore"):
        best = np.log(belief.initial) + evidence[0]
        for time in range(belief.steps - 1):
            best = (best[:, None] + np.log(belief.matrix(time))).max(axis=0) + evidence[time + 1]
    return float(best.max())


def expected_releases(belief: Markov, channel: Emission | RememberingSuppression) -> float:
    """Return the expected number of symbols that are not withheld."""
    table = Table.of(belief, channel)
    released = [sum(symbol is not SUPPRESSED for symbol in output) for output in table.outputs]
    return float(table.joint.sum(axis=0) @ np.array(released, dtype=float))


def crossing(exceeds: Callable[[float], bool], high: float, low: float = 0.0) -> float:
    """Return by bisection where a condition that holds below stops to, as seen from above."""
    if not exceeds(low):
        return low
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if exceeds(middle) else (low, middle)
    return high


# Real outputs, between two channels of symbols ----------------------------------------------------

MOST_CELLS = 1_500
"""Outputs of the whole trace, at most."""

MARGIN = 3.0
"""Deviations around the means that are divided; beyond them a single cell on either side."""


def in_cells(channel: NoisyVectors) -> Symbols:
    """Return the channel that tells in which cell each real output lies.

    That is post-processing, so whatever an adversary gains by it is at most the truth.
    """
    steps, _, width = channel.means.shape
    count = math.floor(MOST_CELLS ** (1.0 / (steps * width)) + 1e-9)
    if count < 2:
        raise OutsideHypotheses("there are too many real outputs for cells.")
    laws = [_cell_chances(channel, coordinate, count) for coordinate in range(width)]
    joint = laws[0]
    for law in laws[1:]:
        joint = (joint[..., :, None] * law[..., None, :]).reshape(*joint.shape[:2], -1)
    return Symbols(channel.states, tuple(range(joint.shape[2])), joint)


def _cell_chances(channel: NoisyVectors, coordinate: int, count: int) -> FloatArray:
    """Return the chance of every cell of one coordinate, (T, M, count)."""
    means = channel.means[:, :, coordinate]
    room = MARGIN * channel.scale
    cuts = np.linspace(means.min() - room, means.max() + room, count + 1)[1:-1]
    ends = [-math.inf, *cuts.tolist(), math.inf]
    chances = np.empty((*means.shape, count))
    for place in itertools.product(*map(range, means.shape)):
        scaled = [(end - means[place]) / channel.scale for end in ends]
        chances[place] = [_normal_chance(low, high) for low, high in itertools.pairwise(scaled)]
    return np.asarray(chances / chances.sum(axis=2, keepdims=True))


def _normal_chance(low: float, high: float) -> float:
    """Return Pr[low < N(0, 1) < high], from the tail in which nothing cancels."""
    if low > 0:
        low, high = -high, -low
    return 0.5 * (math.erfc(-high / math.sqrt(2.0)) - math.erfc(-low / math.sqrt(2.0)))


def without_noise(channel: NoisyVectors) -> Symbols:
    """Return the channel that tells the vectors themselves, from which noise only takes away."""
    vectors = [[tuple(row) for row in table] for table in channel.means.tolist()]
    alphabet = tuple(dict.fromkeys(vector for table in vectors for vector in table))
    chances = [[[float(v == symbol) for symbol in alphabet] for v in table] for table in vectors]
    return Symbols(channel.states, alphabet, chances)


def from_table(
    loss: Callable[[Table], float],
    belief: Markov,
    channel: Emission | RememberingSuppression | WholeTrace,
) -> Reading:
    """Return ``loss(table)``, where an adversary gains no less by a more telling channel.

    Real outputs are first put into cells, which tell less, then stripped of noise, which tells
    more: the truth lies between. A channel of the whole trace gives two such tables itself.
    """
    if isinstance(channel, WholeTrace):
        traces, prior = every_trace(belief)
        both = [_product(prior, laws) for laws in channel.tables(traces)]
        outputs = [[(code,) for code in range(table.shape[1])] for table in both]
        ends = map(Table, (traces, traces), outputs, both)
        return between(*map(loss, ends))
    if not isinstance(channel, NoisyVectors):
        return Reading(value=loss(Table.of(belief, channel)), bound="exact", how="brute force")
    low, high = (loss(Table.of(belief, c)) for c in (in_cells(channel), without_noise(channel)))
    return between(low, high)
