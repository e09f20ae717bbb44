"""How many states any δ-private mechanism can release: a bound by linear programs, certified.

Let a mechanism look at all hidden states and outputs so far, but at nothing that is still to come:
one that holds its answers back until the trace is over can release more. A release still cuts the
trace, so the most that can be released is a backward recursion over last releases, and each segment
a flow of masses: $H(t, k)$ suppressed and $G(t, k)$ released in state k at time t,

    $H + G = ∑_{k'} H(t − 1, k') P(k', k),  value ∑ G(t, k) (1 + V(t, k)).$

Every event A of the segment has its own share of the flow, $h_A ≤ H$ and $g_A$, which is H on the
states of A at its time and then moves alike. Privacy says $g_A(t, k) ≤ θ_A G(t, k)$ at every end,
and $∑_k h_A ≤ θ_A ∑_k H$ at the end of the trace. Every such δ-private mechanism gives such masses,
so the value, with bounds of later segments as V, bounds the releases of all of them.

**Certificate.** For max $c·x$ with $A x = b$, $B x ≤ 0$ and $0 ≤ x ≤ w$, *any* y and any $z ≥ 0$
give $c·x ≤ y·b + ∑_j max(0, c − Aᵀy − Bᵀz)_j w_j$. The solver's duals are only a suggestion: the
bound is computed from them with every rounding error added, and holds however wrong they are.
Limits and masses w are rounded up before.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sfumato.beliefs import Markov
from sfumato.channels import RememberingSuppression, Suppression
from sfumato.comparison.executors import results_in_threads, with_progress
from sfumato.errors import OutsideHypotheses
from sfumato.parameters import declare
from sfumato.protocols import LossMeasure, PriorClass, Quantity, Reading, Secret
from sfumato.quantities import RELEASED_FRACTION
from sfumato.questions import Events
from sfumato.values import FloatArray
from sfumato.views.segments import worst_gap
from sfumato_suppression.protected_chain import ProtectedChain, releasable

IntArray = NDArray[np.intp]

RELAXED = 1e-12
"""By how much δ is raised for a bound: more than float64 can err in a prior."""

TOLERANCE = 1e-9
"""What the solver aims at; it decides how good results are, never whether they hold."""

UNIT_ROUNDOFF = 2.0**-53


@attrs.frozen
class Budget:
    """The time until which to search, by `time.monotonic`; what is found by then counts."""

    end: float = math.inf

    @property
    def left(self) -> float:
        """The seconds that are left."""
        return self.end - time.monotonic()

    def part(self, share: float) -> Budget:
        """Return a share of what is left."""
        return self if math.isinf(self.end) else Budget(time.monotonic() + share * self.left)


class Entries:
    """The entries of a sparse matrix, added block by block from arrays that broadcast."""

    def __init__(self) -> None:
        self._parts: list[tuple[IntArray, IntArray, FloatArray]] = []

    def add(self, rows: Any, columns: Any, values: Any) -> None:
        """Add entries; zeros are left out."""
        parts = [part.ravel() for part in np.broadcast_arrays(rows, columns, values)]
        kept = parts[2] != 0.0
        self._parts.append((parts[0][kept], parts[1][kept], parts[2][kept].astype(float)))

    def matrix(self, shape: tuple[int, int]) -> Any:
        """Return the matrix; entries of one place add up."""
        rows, columns, values = (np.concatenate(parts) for parts in zip(*self._parts, strict=True))
        return sparse.csc_matrix((values, (rows, columns)), shape=shape)


@attrs.frozen(eq=False)
class LinearProgram:
    """max costs·x with matrix x = right in the first `equal` rows, ≤ after, and 0 ≤ x ≤ most."""

    costs: FloatArray
    matrix: Any
    right: FloatArray
    equal: int
    most: FloatArray

    def solve(self, budget: Budget) -> tuple[FloatArray, FloatArray] | None:
        """Return x and the duals of the rows, or None where the solver finds none in time."""
        import highspy

        program: Any = highspy.Highs()  # type: ignore[no-untyped-call]  # no types there
        model = highspy.HighsLp()
        for option, value in (("output_flag", False), ("threads", 1), ("solver", "ipm")):
            program.setOptionValue(option, value)
        program.setOptionValue("run_crossover", "off")
        for kind in ("primal_feasibility", "dual_feasibility", "ipm_optimality"):
            program.setOptionValue(f"{kind}_tolerance", TOLERANCE)
        model.num_row_, model.num_col_ = self.matrix.shape
        model.col_cost_, model.col_lower_ = -self.costs, np.zeros(len(self.costs))
        model.col_upper_, model.row_upper_ = self.most, self.right
        model.row_lower_ = np.where(np.arange(len(self.right)) < self.equal, self.right, -np.inf)
        model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        model.a_matrix_.start_, model.a_matrix_.index_ = self.matrix.indptr, self.matrix.indices
        model.a_matrix_.value_ = self.matrix.data
        program.passModel(model)
        known = highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kInfeasible
        # The interior point gives up at times: then without presolve, then by simplex.
        for option, value in (("presolve", "on"), ("presolve", "off"), ("solver", "simplex")):
            if budget.left <= 0.0:
                return None
            program.setOptionValue(option, value)
            program.setOptionValue("time_limit", budget.left)
            program.clearSolver()
            program.run()
            if program.getModelStatus() in known:
                break
        if program.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        found = program.getSolution()
        return np.array(found.col_value), -np.array(found.row_dual)

    def certify(self, duals: FloatArray) -> float:
        """Return an upper bound on the value, valid for any duals: weak duality, rounded up."""
        duals = duals.copy()
        duals[self.equal :] = np.maximum(duals[self.equal :], 0.0)
        size = abs(self.matrix)
        terms = np.diff(self.matrix.indptr) + 3.0
        error = terms * UNIT_ROUNDOFF * 2.0 * (np.abs(self.costs) + size.T @ np.abs(duals))
        excess = np.maximum(self.costs - self.matrix.T @ duals + error, 0.0)
        bound = float(duals @ self.right) + float(excess @ self.most)
        products = np.abs(duals) @ np.abs(self.right) + excess @ self.most
        return bound + 2.0 * (len(duals) + len(excess)) * UNIT_ROUNDOFF * float(products)


class SegmentLimit:
    """The program of the segments that begin after the releases of one time."""

    def __init__(self, chain: ProtectedChain, able: NDArray[np.bool_], start: int) -> None:
        belief = chain.belief
        self._length, self._count = belief.steps - start - 1, belief.state_count
        self._able = able[start + 1 :]
        self._moves = belief.transitions[start + 1 :]
        later = (chain.times > start) & (chain.previous <= start)  # all that is left of a window
        self._masks = chain.masks[later][:, start + 1 :]
        self._times, self._members = chain.times[later] - start - 1, chain.members[later]
        self._limits = chain.limits[later]
        # The pairs (event, time after it), each with M masses.
        self.events, self.times = np.nonzero(np.arange(self._length) > self._times[:, None])
        self._pair = np.full((len(self._times), self._length), -1)
        self._pair[self.events, self.times] = np.arange(len(self.events))
        cells, shares = self._length * self._count, len(self.events) * self._count
        self._released, self._share, self._passed = cells, 2 * cells, 2 * cells + shares
        self._width, self._equal = 2 * cells + 2 * shares, cells + shares
        self._matrix = self._assemble()

    @property
    def event_count(self) -> int:
        """How many events the segments may hold."""
        return len(self._times)

    def _assemble(self) -> Any:
        """Return the rows: flow, shares' flow, h ≤ H, g ≤ θ G, and the end of the trace."""
        length, count, entries = self._length, self._count, Entries()
        states, cells = np.arange(count), np.arange(length * count)
        entries.add(cells, cells, 1.0)
        entries.add(cells, self._released + cells, 1.0)
        time = np.arange(1, length)[:, None, None]
        onward = time * count + states, (time - 1) * count + states[:, None]
        entries.add(*onward, -self._moves)
        row, share = length * count, np.arange(len(self.events) * count)
        entries.add(row + share, self._share + share, 1.0)
        entries.add(row + share, self._passed + share, 1.0)
        # Where a share's flow comes from: H on the states of the event, elsewhere itself.
        before = self.times - 1
        fresh = before == self._times[self.events]
        inside, pair = self._masks[self.events, before], self._pair[self.events, before]
        origin = np.where(inside, before[:, None] * count, self._share + pair[:, None] * count)
        inflow = -self._moves[before]
        inflow[fresh] *= inside[fresh, :, None]
        pairs = np.arange(len(self.events))[:, None, None] * count
        entries.add(row + pairs + states, (origin + states)[..., None], inflow)
        row += len(share)
        entries.add(row + share, self._share + share, 1.0)
        entries.add(row + share, (self.times[:, None] * count + states).ravel(), -1.0)
        row += len(share)
        pairs, ends = np.nonzero(self._able[self.times])
        here = row + np.arange(len(pairs))
        entries.add(here, self._passed + pairs * count + ends, 1.0)
        where = self._released + self.times[pairs] * count + ends
        entries.add(here, where, -self._limits[self.events[pairs]])
        row += len(pairs)
        numbers, last = np.arange(len(self._times))[:, None], (length - 1) * count + states
        entries.add(row + numbers, last, -self._limits[:, None])
        final = self._pair[:, -1, None]
        inside = self._masks[:, -1]
        entries.add(row + numbers, last, inside)
        share = self._share + final * count + states
        entries.add(row + numbers, share, ~inside & (final >= 0))
        return entries.matrix((row + len(self._times), self._width))

    def bounds(
        self, laws: Sequence[FloatArray], to_go: FloatArray, budget: Budget, share: float = 1.0
    ) -> list[SegmentBound]:
        """Return the bounds from laws of the first state, (M,), with values to go (L, M).

        Duals that were found for one law prove something for all, those for the laws' mean nearly
        as much as its own. Where time is short that is solved first, and each law's own program
        only if a share of the time is enough for all; without any, there are duals of no event.
        """
        if not len(laws):
            return []
        programs = [self._program(law, to_go) for law in laws]
        solved = list[tuple[FloatArray, FloatArray] | None]([None] * len(laws))
        common, enough, began = None, math.isinf(budget.end), time.monotonic()
        if not enough:
            common = self._program(np.mean(laws, axis=0), to_go).solve(budget.part(0.5))
            took, budget = time.monotonic() - began, budget.part(share)
            enough = common is not None and 1 < len(laws) < budget.left / took
        if enough:
            solved = results_in_threads(lambda program: program.solve(budget), programs)
        some = [solution[1] for solution in (common, *solved) if solution]
        found, bounds = [self._unbound_duals(to_go), *some], []
        for program, own in zip(programs, solved, strict=True):
            duals = found if own is None else [found[0], own[1]]
            value, best = min((program.certify(each), n) for n, each in enumerate(duals))
            flow = shares = None
            if solution := own or common:
                flow = solution[0][: self._released].reshape(self._length, self._count)
                shares = solution[0][self._share : self._passed].reshape(-1, self._count)
            bounds.append(SegmentBound(max(0.0, value), flow, shares, duals[best]))
        return bounds

    def _program(self, initial: FloatArray, to_go: FloatArray) -> LinearProgram:
        """Return the program; costs and the most a mass can be are rounded up."""
        costs, right = np.zeros(self._width), np.zeros(self._matrix.shape[0])
        costs[self._released : self._share] = np.nextafter(1.0 + to_go, np.inf).ravel()
        right[: self._count] = initial
        reach = follow_law(initial, self._moves) * (1.0 + 1e-12)
        shown = reach * self._able
        most = [reach, shown, reach[self.times], shown[self.times]]
        upper = np.concatenate([part.ravel() for part in most])
        return LinearProgram(costs, self._matrix, right, self._equal, upper)

    def _unbound_duals(self, to_go: FloatArray) -> FloatArray:
        """Return duals that no event enters: U = max(1 + V, P U), the best time to release."""
        duals = np.zeros(self._matrix.shape[0])
        best = np.where(self._able, 1.0 + to_go, 0.0)
        for step in range(self._length - 2, -1, -1):
            best[step] = np.maximum(best[step], self._moves[step] @ best[step + 1])
        duals[: best.size] = best.ravel()
        return duals


@attrs.frozen(eq=False)
class SegmentBound:
    """A certified bound with the duals that prove it, one for each row of the program.

    And the solver's masses H (L, M) and h (pairs, M), its own or of the mean, if it found any.
    """

    value: float
    flow: FloatArray | None
    shares: FloatArray | None
    duals: FloatArray


def follow_law(initial: FloatArray, moves: FloatArray) -> FloatArray:
    """Return the law of the state at every time, (L, M)."""
    laws = [np.asarray(initial)]
    for matrix in moves:
        laws.append(laws[-1] @ matrix)
    return np.array(laws)


@attrs.frozen(eq=False)
class Starts:
    """The releases of one time that may start a segment, −1 for the beginning of the trace.

    Each of the states has its law of the next state and the bound on what is released from then on.
    """

    time: int
    limit: SegmentLimit
    states: IntArray
    laws: list[FloatArray]
    bounds: list[SegmentBound]


def bound_segments(chain: ProtectedChain, able: NDArray[np.bool_], budget: Budget) -> list[Starts]:
    """Return the bounds of all segments, those of the latest starts first."""
    belief, to_go, found = chain.belief, np.zeros(able.shape), list[Starts]()
    times = range(belief.steps - 2, -2, -1)
    # A program takes about as long as the fourth power of its segment's length.
    costs = [(belief.steps - start) ** 4 for start in times]
    for number, start in enumerate(with_progress(times, "bounds", len(times))):
        states, laws = np.zeros(1, dtype=np.intp), [belief.initial]
        if start >= 0:
            states = np.flatnonzero(able[start])
            laws = list(belief.matrix(start)[states])
        limit = SegmentLimit(chain, able, start)
        share = costs[number] / sum(costs[number:])
        bounds = limit.bounds(laws, to_go[start + 1 :], budget, share)
        to_go[start, states] = [bound.value for bound in bounds]  # of time −1 nobody asks
        found.append(Starts(start, limit, states, laws, bounds))
    return found


def utility_bound(prior: PriorClass, secret: Secret, delta: float) -> float:
    """Return a number that no δ-private suppression's expected number of releases exceeds.

    Over a class, a mechanism must be private for every member, so the least bound of all counts.
    Claim: certified, for every mechanism that answers as the trace happens: it may look at all
    hidden states and outputs so far, at none to come. Of a window of times it knows what one
    segment tells, not what several tell together, so that it is looser there.
    Reference: extends Götz, Nath and Gehrke (2012), section 5.

    >>> import sfumato as sf
    >>> from sfumato_suppression.limits import utility_bound
    >>> chain = sf.priors.markov_chain(
    ...     initial=[0.5, 0.5], transitions=[[1, 0], [0, 1]], steps=1, states=["s", "x"]
    ... )
    >>> round(utility_bound(chain, sf.secrets.contexts({"s"}), 0.25), 6)
    0.333333
    """
    if not prior.finite:
        raise OutsideHypotheses(
            f"utility_bound needs every member of a prior class, and '{prior.name}' varies over an "
            "interval; use sf.AnyOf."
        )
    beliefs = [member.belief() for member in prior.members()]
    return min(belief_bound(belief, secret.question(belief), delta) for belief in beliefs)


def belief_bound(
    belief: Markov, question: Events, delta: float, budget: Budget | None = None
) -> float:
    """Return the bound for one belief; without a budget it takes the time that it needs."""
    chain = ProtectedChain.of(belief, question, delta + RELAXED)
    return bound_segments(chain, releasable([chain]), budget or Budget())[-1].bounds[0].value


@declare
class ReleasableFraction(LossMeasure):
    """The ceiling of the released fraction: no suppression that is as private releases more.

    Formula: utility_bound(δ) / T, with δ the posterior gap of the release itself. What lies between
    `released_fraction` and this is what a better design might still gain.

    Assumptions: the other mechanism answers as the trace happens; it may look at all hidden states
    and outputs so far. For events over a window of times the bound holds, but is looser.

    Guarantee: an upper bound, certified by weak duality; for suppress_optimal nearly attained.

    Reference: extends Götz, Nath and Gehrke (2012), section 5.

    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain(
    ...     initial=[0.5, 0.5], transitions=[[1, 0], [0, 1]], steps=1, states=["s", "x"]
    ... )
    >>> secret = sf.secrets.contexts({"s"})
    >>> release = sf.mechanisms.suppress_given([[1.0, 0.5]]).protect(chain, secret)  # gap 1/6
    >>> ceiling = sf.measures.releasable_fraction().loss(chain, secret, release)
    >>> round(ceiling.value, 6), ceiling.bound
    (0.25, 'upper')
    """

    name = "releasable_fraction"
    promises = ("utility",)
    reads = ((Markov, Events, Suppression), (Markov, Events, RememberingSuppression))

    @property
    def quantity(self) -> Quantity:
        """The released fraction, which this bounds."""
        return RELEASED_FRACTION

    def evaluate(
        self,
        belief: Markov,
        question: Events,
        channel: Suppression | RememberingSuppression,
    ) -> Reading:
        """Return the bound for the gap that is measured, rounded up."""
        gap = worst_gap(belief, question, channel).value  # type: ignore[union-attr]  # of such
        most = min(belief_bound(belief, question, gap), float(belief.steps))
        how = f"linear programs for a gap of {gap:.6g}"
        return Reading(value=most / belief.steps, bound="upper", how=how)
