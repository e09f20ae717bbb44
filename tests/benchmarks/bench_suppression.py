"""Suppression against literal implementations: ratios of processor times in one run.

Run it as a script; it takes some minutes, nearly all of them in the literal implementations.
"""

from __future__ import annotations

import itertools
import time

import numpy as np

import sfumato as sf
from sfumato.channels import Suppression
from sfumato.inference.markov.segments import worst_segment_gap
from sfumato_suppression.memoryless_search import (
    MemorylessTable,
    by_worth,
    greedy_tables,
    lower_all,
)
from sfumato_suppression.protected_chain import ProtectedChain

STEPS, STATES, SENSITIVE, DELTA = 24, 19, 3, 0.25
GRID = 10


def random_day(steps: int, states: int, seed: int = 0, lasting: float = 1.0):
    """A day of contexts that last, with moves that change from hour to hour.

    The less lasting, the less one hour tells about the next.
    """
    rng = np.random.default_rng(seed)
    stay = rng.uniform(0.2, 0.8, size=states) * lasting
    matrices = []
    for _ in range(steps - 1):
        moves = rng.dirichlet(np.full(states, 0.5), size=states)
        moves = lasting * moves + (1 - lasting) / states
        matrices.append(np.diag(stay) + (1 - stay)[:, None] * moves)
    transitions = np.array(matrices)
    return sf.priors.markov_chain(
        initial=rng.dirichlet(np.ones(states)),
        transitions=transitions / transitions.sum(axis=2, keepdims=True),
        steps=steps,
    )


# --- literal implementations -------------------------------------------------------------------


class Literal:
    """The paper's definitions in plain loops, for one chain and its sensitive states."""

    def __init__(self, belief, sensitive, delta):
        self.belief, self.sensitive, self.delta = belief, sensitive, delta
        self.steps, self.count = belief.steps, belief.state_count
        self.matrices = [matrix.tolist() for matrix in belief.transitions]
        self.prior = belief.marginals().tolist()
        self.initial = belief.initial.tolist()

    def posterior(self, chances, t, s, start, end):
        """Equation (3) for start, ⊥ ... ⊥, end; a number as the end is the time of the last ⊥."""
        first, state = start
        matrices = self.belief.transitions
        law = self.belief.initial if state is None else matrices[first][state]
        forward = {first + 1: law}
        for u in range(first + 2, t + 1):
            forward[u] = (forward[u - 1] * chances[u - 1]) @ matrices[u - 1]
        if isinstance(end, int):
            u, backward = end, chances[end]
        else:
            u, backward = end[0], np.zeros(self.count)
            backward[end[1]] = 1.0 - chances[end]
        while u > t:
            u -= 1
            backward = chances[u] * (matrices[u] @ backward)
        joint = forward[t] * backward
        total = joint.sum()
        return None if total == 0.0 else joint[s] / total

    def algorithm_3(self, chances):
        """IsPrivate over the partial outputs of lines 11 and 12, each belief anew."""
        may = (chances < 1.0) & (np.array(self.prior) > 0.0)  # conditions (1) and (2)
        for t in range(self.steps):
            for s in self.sensitive:
                if may[t, s] and 1.0 - self.prior[t][s] > self.delta:
                    return False
                for start in [(-1, None), *itertools.product(range(t), range(self.count))]:
                    if start[1] is not None and not may[start]:
                        continue
                    ends = itertools.product(range(t + 1, self.steps), range(self.count))
                    released = (end for end in ends if may[end])
                    for end in itertools.chain(range(t, self.steps), released):
                        posterior = self.posterior(chances, t, s, start, end)
                        if posterior is None:  # Pr[o] = 0
                            continue
                        if posterior - self.prior[t][s] > self.delta * (1 + 1e-12):
                            return False
        return True

    def segments(self, law, first, chances):
        """Laws of the state at each later time, all between being suppressed."""
        laws = {first: law}
        for t in range(first, self.steps - 1):
            hidden = [p * q for p, q in zip(laws[t], chances[t], strict=True)]
            laws[t + 1] = [
                sum(hidden[k] * self.matrices[t][k][j] for k in range(self.count))
                for j in range(self.count)
            ]
        last = zip(laws[self.steps - 1], chances[self.steps - 1], strict=True)
        laws[self.steps] = [sum(p * q for p, q in last)]
        return laws

    def cached_loops(self, chances):  # noqa: C901, PLR0912 - loops, as the name says
        """IsPrivate with all forward and backward values cached, in plain loops."""
        table = chances.tolist()
        released = [
            (t, i)
            for t in range(self.steps)
            for i in range(self.count)
            if table[t][i] < 1.0 and self.prior[t][i] > 0.0
        ]
        by_time = {t: [i for u, i in released if u == t] for t in range(self.steps)}
        by_time[self.steps] = [0]
        starts = {(-1, None): self.segments(self.initial, 0, table)}
        for t, i in released:
            if t + 1 < self.steps:
                starts[t, i] = self.segments(self.matrices[t][i], t + 1, table)
        for t in range(self.steps):
            for s in self.sensitive:
                limit = self.prior[t][s] + self.delta
                if table[t][s] < 1.0 and self.prior[t][s] > 0.0 and limit < 1.0:
                    return False
                if t + 1 < self.steps:
                    onward = self.segments(self.matrices[t][s], t + 1, table)
                else:
                    onward = {self.steps: [1.0]}
                for (first, _), laws in starts.items():
                    if first >= t:
                        continue
                    weight = laws[t][s] * table[t][s]
                    if weight == 0.0:
                        continue
                    for last in range(t + 1, self.steps + 1):
                        joint, total = onward[last], laws[last]
                        for j in by_time[last]:
                            if weight * joint[j] > limit * total[j] * (1.0 + 1e-12):
                                return False
        return True

    def greedy_search(self, order):
        """Lower every probability by binary search on the grid, with the cached check."""
        chances = np.ones((self.steps, self.count))
        for place in order:
            t, i = divmod(int(place), self.count)
            low, high = 0, GRID  # high is private
            while low < high:
                middle = (low + high) // 2
                chances[t, i] = middle / GRID
                if self.cached_loops(chances):
                    high = middle
                else:
                    low = middle + 1
            chances[t, i] = high / GRID
        return chances

    def algorithm_4(self, now, last):
        """okayToRelease at time `now` after the last release (time, state) or None."""
        matrices = self.belief.transitions
        first, law = (0, self.belief.initial) if last is None else (last[0] + 1, None)
        law = matrices[last[0]][last[1]] if law is None else law
        reach = {first: law}
        for t in range(first, now):
            reach[t + 1] = reach[t] @ matrices[t]
        for j in np.flatnonzero(reach[now]):
            for s in self.sensitive:
                for t in range(first, self.steps):
                    if t < now:
                        onward = np.eye(self.count)[s]
                        for u in range(t, now):
                            onward = onward @ matrices[u]
                        posterior = reach[t][s] * onward[j] / reach[now][j]
                    else:
                        onward = np.eye(self.count)[j]
                        for u in range(now, t):
                            onward = onward @ matrices[u]
                        posterior = onward[s]
                    if posterior - self.prior[t][s] > self.delta:
                        return False
        return True


# --- measurements ------------------------------------------------------------------------------


def seconds(work, repeat=1):
    """The best of `repeat` runs in processor time, and what the work returned."""
    best, value = float("inf"), None
    for _ in range(repeat):
        began = time.process_time()
        value = work()
        best = min(best, time.process_time() - began)
    return best, value


def report(work, ours, others):
    ratios = "  ".join(f"{name}: {theirs:.4g} s = {theirs / ours:,.0f}x" for name, theirs in others)
    print(f"{work:<28} {ours:.4g} s   {ratios}")


def compare_checks(title, literal, question, table):
    """Print one accepting check of a table against the literal ones."""
    belief, delta = literal.belief, literal.delta
    channel = Suppression.memoryless(belief.states, table)
    check, worst = seconds(lambda: worst_segment_gap(belief, channel, question.masks), 50)
    ours = worst.floor <= delta  # what the mechanisms certify with
    loops, cached = seconds(lambda: literal.cached_loops(table), 3)
    printed, third = seconds(lambda: literal.algorithm_3(table))
    if not ours == cached == third:
        raise SystemExit(f"the checks disagree: {ours}, {cached}, {third}")
    report(title, check, [("cached loops", loops), ("algorithm 3", printed)])


def main():
    """Print the table."""
    chain = random_day(STEPS, STATES)
    secret = sf.secrets.contexts(set(range(SENSITIVE)))
    belief = chain.belief()
    question = secret.question(belief)
    literal = Literal(belief, range(SENSITIVE), DELTA)
    protected = ProtectedChain.of(belief, question, DELTA)
    order = by_worth(belief.marginals())

    def greedy():
        table = MemorylessTable([protected], np.ones((STEPS, STATES)))
        lower_all(table, order, GRID)
        return table.chances

    ours, found = seconds(greedy, 3)
    compare_checks("one check, searched table", literal, question, greedy_tables([protected])[0])
    even = random_day(STEPS, STATES, lasting=0.1).belief()
    full = np.full((STEPS, STATES), 0.5)
    full[:, :SENSITIVE] = 1.0
    compare_checks("one check, full table", Literal(even, range(SENSITIVE), DELTA), question, full)

    release = sf.mechanisms.suppress_segmented(delta=DELTA).protect(chain, secret)
    traces = [belief.sample(np.random.default_rng(k)) for k in range(50)]
    streams = [release.stream(np.random.default_rng(k)) for k in range(50)]

    def stream_all():
        for stream, trace in zip(streams, traces, strict=True):
            for state in trace:
                stream.send(state)

    decision = seconds(stream_all)[0] / (50 * STEPS)
    naive = seconds(lambda: [literal.algorithm_4(t, None) for t in range(STEPS)])[0] / STEPS
    report("one streaming decision", decision, [("algorithm 4", naive)])

    long = random_day(48, STATES)
    took, long_release = seconds(
        lambda: sf.mechanisms.suppress_segmented(delta=DELTA).protect(long, secret)
    )
    print(f"{'segmented, T=48':<28} {took:.1f} s   utility {long_release.utility():.3f}")

    loops, reference = seconds(lambda: literal.greedy_search(order))
    report("greedy probabilistic search", ours, [("loops, binary search", loops)])
    print("largest difference of the two tables:", float(np.abs(found - reference).max()))


if __name__ == "__main__":
    main()
