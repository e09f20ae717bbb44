"""A finite view: the joint table of a secret variable and what is seen of it, or a proved pair."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from sfumato.beliefs import Markov
from sfumato.channels import Emission, NoisyVectors, RememberingSuppression
from sfumato.errors import OutsideHypotheses, Undecidable
from sfumato.inference.markov.enumeration import IntArray, checked_pair
from sfumato.questions.events import Asked
from sfumato.values import FloatArray
from sfumato.views.segments import RememberedSegments, Segments, as_suppression, joint_error
from sfumato.views.windows import TooMany, Window

MOST = 20_000_000
"""How many numbers a table of one time may take where it is exact."""

WINDOW = 1_500_000
"""How many numbers a table of one time may take where a window only bounds it."""

AGREEMENT = 1e-3
"""How close, relatively, the highest posteriors of both ends of a window must come to stop."""

CELLS = 6
"""Into how many cells real numbers are put, for a lower end."""


@attrs.frozen(eq=False)
class Outcomes:
    """Pr[S = s, outcome] of one secret variable: all that definitions depend on.

    Attributes
    ----------
    asked
        The variable, and what is asked of it.
    joint
        (R, O), a row for each value of the variable that is possible at all.
    values
        Which of the variable's values the rows are.
    error
        A proved relative error of every number in `joint`, and of their sums.

    >>> asked = Asked((0,), np.eye(2, dtype=bool), ("s", "x"), np.array([[0, 1]]), (0,), np.eye(2))
    >>> Outcomes.of(asked, np.array([[0.5, 0.0], [0.25, 0.25]]), 0.0).likelihoods.tolist()
    [[1.0, 0.0], [0.5, 0.5]]
    """

    asked: Asked
    joint: FloatArray
    values: tuple[int, ...]
    error: float

    @classmethod
    def of(cls, asked: Asked, rows: FloatArray, error: float) -> Outcomes:
        """Keep the rows, (R, O), of the values that are possible."""
        possible = np.flatnonzero(rows.any(axis=1))
        return cls(asked, rows[possible], tuple(possible.tolist()), error)

    @functools.cached_property
    def prior(self) -> FloatArray:
        """Pr[S = s], (R,)."""
        return np.asarray(self.joint.sum(axis=1))

    @functools.cached_property
    def seen(self) -> FloatArray:
        """Pr[outcome], (O,)."""
        return np.asarray(self.joint.sum(axis=0))

    @functools.cached_property
    def likelihoods(self) -> FloatArray:
        """Pr[outcome | S = s], (R, O)."""
        return np.asarray(self.joint / self.prior[:, None])

    @functools.cached_property
    def posteriors(self) -> FloatArray:
        """Pr[S = s | outcome], (R, O)."""
        return np.asarray(self.joint / self.seen)

    @functools.cached_property
    def told_nats(self) -> float:
        """I(S; outcome) = Σ J log(J / (π_s Pr[o])), in nats."""
        some = self.joint > 0.0
        with np.errstate(divide="ignore"):
            gains = np.log(self.posteriors) - np.log(self.prior)[:, None]
        return max(0.0, float((self.joint[some] * gains[some]).sum()))

    @functools.cached_property
    def pairs(self) -> IntArray:
        """The pairs as rows of `joint`, (P, 2): those of which both values are possible."""
        place = {value: row for row, value in enumerate(self.values)}
        rows = [
            (place[one], place[other])
            for one, other in self.asked.pairs.tolist()
            if one in place and other in place
        ]
        return np.array(rows, dtype=np.intp).reshape(-1, 2)

    @functools.cached_property
    def events(self) -> IntArray:
        """The events as rows of `joint`, (E,)."""
        rows = [row for row, value in enumerate(self.values) if value in self.asked.events]
        return np.array(rows, dtype=np.intp)

    @functools.cached_property
    def hits(self) -> FloatArray:
        """Which guess is right for which row, (W, R), as numbers."""
        return np.asarray(self.asked.hits[:, list(self.values)], dtype=float)

    def name(self, row: int) -> Any:
        """Return what a row is called in a witness."""
        return self.asked.names[self.values[row]]


@attrs.frozen(eq=False)
class FiniteView:
    """What is seen of each secret variable of a question, from below and from above.

    Every loss that obeys data processing is at least that of `lower` and at most that of `upper`;
    where the view is exact they are the same.
    """

    lower: tuple[Outcomes, ...]
    upper: tuple[Outcomes, ...]
    how: str

    @property
    def is_exact(self) -> bool:
        """Whether both sides are the truth."""
        return self.lower is self.upper


def finite_view(
    belief: Markov, question: Any, channel: Emission | RememberingSuppression
) -> FiniteView:
    """Return the exact view if it can be had, else a window grown as far as a budget allows.

    >>> from sfumato.channels import Suppression
    >>> from sfumato.questions import Events
    >>> chain = Markov([0.5, 0.5], np.empty((0, 2, 2)), states="sx")
    >>> asked = Events(np.array([[[True, False]]]), ("s",))
    >>> view = finite_view(chain, asked, Suppression.memoryless("sx", [[1.0, 0.5]]))
    >>> view.is_exact, view.upper[0].posteriors.round(3).tolist()
    (True, [[0.0, 0.667], [1.0, 0.333]])
    """
    asked = question.asked()
    if isinstance(channel, RememberingSuppression):
        if all(len(one.times) == 1 for one in asked):
            return _remembered_view(belief, asked, channel)
        belief, channel, asked = _of_pairs(belief, channel, asked)
    checked_pair(belief, channel)
    if isinstance(channel, NoisyVectors):
        return _noisy_view(belief, asked, channel)
    tables = _tables(belief, channel, asked)
    error = joint_error(belief)
    each = list(zip(asked, tables, strict=True))
    above = tuple(Outcomes.of(one, high, error) for one, (_, high, _) in each)
    how = max((how for *_, how in tables), key=len)
    if all(low is high for low, high, _ in tables):
        return FiniteView(above, above, how)
    below = tuple(Outcomes.of(one, low, error) for one, (low, _, _) in each)
    return FiniteView(below, above, how)


def _remembered_view(
    belief: Markov, asked: Sequence[Asked], channel: RememberingSuppression
) -> FiniteView:
    segments = RememberedSegments(belief, channel)
    error = joint_error(belief, len(channel.visits))
    exact = tuple(
        Outcomes.of(one, segments.joint(one.times[0], one.members), error) for one in asked
    )
    return FiniteView(exact, exact, "segments")


def _of_pairs(
    belief: Markov, channel: RememberingSuppression, asked: Sequence[Asked]
) -> tuple[Markov, Emission, list[Asked]]:
    """Return chain, emission and secret variables of the pairs (hidden memory, state)."""
    pairs, emission = channel.augmented(belief)
    own = np.arange(pairs.state_count) % belief.state_count
    lifted = []
    for one in asked:
        places = own
        for _ in one.times[1:]:
            places = (places[:, None] * belief.state_count + own).ravel()
        lifted.append(attrs.evolve(one, members=one.members[:, places]))
    return pairs, emission, lifted


Tables = tuple[FloatArray, FloatArray, str]
"""Pr[value, outcome], (R, O), from below and from above, and how they were found."""


def _tables(belief: Markov, channel: Emission, wanted: Sequence[Asked]) -> list[Tables]:
    """Return the joint table of every secret variable; what is seen around one time once."""
    suppression = as_suppression(channel)
    if suppression is not None and all(len(one.times) == 1 for one in wanted):
        segments = Segments(belief, suppression, MOST)
        exact = [segments.joint(one.times[0], one.members) for one in wanted]
        return [(table, table, "segments") for table in exact]
    listed = functools.cache(functools.partial(_listed, belief, channel))
    found = []
    for one in wanted:
        low, high, how = listed(one.times)
        rows = one.members.astype(float)
        below = rows @ low
        found.append((below, below if low is high else rows @ high, how))
    return found


def _listed(belief: Markov, channel: Emission, times: tuple[int, ...]) -> Tables:
    """Return the table of all outputs, or those of the widest window that may be listed."""
    try:
        whole = Window.around(belief, channel, times, belief.steps, told=False, most=MOST)
        joint = whole.joint(times)
    except (TooMany, Undecidable):
        return _widest_window(belief, channel, times)
    return joint, joint, "all outputs"


def _widest_window(belief: Markov, channel: Emission, times: tuple[int, ...]) -> Tables:
    found: Tables | None = None
    for width in range(belief.steps):
        ends = [
            Window.around(belief, channel, times, width, told=told, most=WINDOW)
            for told in (False, True)
        ]
        try:
            low, high = (end.joint(times) for end in ends)
        except TooMany:
            break
        except Undecidable:
            if found is None:
                raise
            break
        found = low, high, f"a window of {width} steps on either side"
        below, above = ((table / table.sum(axis=0)).max(axis=1) for table in (low, high))
        if np.allclose(below, above, rtol=AGREEMENT, atol=0.0):
            break
    if found is None:
        raise OutsideHypotheses(
            f"the outputs at time {times[0]} and the states around it are too many to list; take "
            f"fewer states or symbols."
        )
    return found


def _noisy_view(belief: Markov, asked: Sequence[Asked], channel: NoisyVectors) -> FiniteView:
    """Return the view of real outputs: put into cells from below, with less noise from above.

    Cells are post-processing. The outputs are themselves a post-processing of the vectors without
    noise, and of those shown now and then: with Φ the normal law and a and b the two means of a
    step, N(a, σ²) and N(b, σ²) share all but 2Φ(‖a − b‖/2σ) − 1 of their mass.
    """
    error = joint_error(belief) + 1e-11  # the normal law has fewer digits than float64
    cells = _tables(belief, channel.in_cells(CELLS), asked)
    plain = channel.without_noise(), *channel.shown_by_chance()
    bounds = [_tables(belief, quiet, asked) for quiet in plain]
    lower, upper = [], []
    for number, one in enumerate(asked):
        lower.append(Outcomes.of(one, cells[number][0], error))
        above = [Outcomes.of(one, tables[number][1], error) for tables in bounds]
        upper.append(min(above, key=_telling))
    return FiniteView(tuple(lower), tuple(upper), "cells from below, less noise from above")


def _telling(outcomes: Outcomes) -> float:
    """Return how often the best guess is right: the smaller, the tighter a bound is likely."""
    return float(outcomes.joint.max(axis=0).sum())
