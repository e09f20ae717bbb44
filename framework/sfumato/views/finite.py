"""A finite view: the joint table of a secret variable and what is seen of it, or a proved pair."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np

from sfumato.beliefs import Markov
from sfumato.channels import (
    Emission,
    NoisyVectors,
    RememberingSuppression,
    Suppression,
)
from sfumato.errors import Undecidable
from sfumato.inference.markov.enumeration import IntArray, checked_pair
from sfumato.questions import Events
from sfumato.questions.events import Asked, BoolArray
from sfumato.values import FloatArray, brief_repr
from sfumato.views.couplings import coupled_divergence
from sfumato.views.segments import SMALLEST, joint_error, remembered_joint
from sfumato.views.sides import Pieces, Sides, TooMany, symbol_laws
from sfumato.views.windows import Window

MOST = 20_000_000
"""How many numbers a table of one time may take where it is exact."""

WINDOW = 1_500_000
"""How many numbers a table of one time may take where a window only bounds it."""

BUDGETS = (500_000, 4_000_000)
"""The same where a channel has no memory; the second is spent if the ends of the first differ."""

ASIDE = 20_000
"""How many outcomes each side of a time may have where it is looked at alone."""

AGREEMENT = 1e-3
"""How close, relatively, both ends must come to stop."""

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
    pieces
        Laws, (R, O) each, of what is seen in parts that are independent given the value; () where
        no such parts are known.

    >>> import numpy as np
    >>> from sfumato.questions import Asked
    >>> from sfumato.views import Outcomes
    >>> asked = Asked((0,), np.eye(2, dtype=bool), ("s", "x"), np.array([[0, 1]]), (0,), np.eye(2))
    >>> Outcomes.of(asked, np.array([[0.5, 0.0], [0.25, 0.25]]), 0.0).likelihoods.tolist()
    [[1.0, 0.0], [0.5, 0.5]]
    """

    __repr__ = brief_repr

    asked: Asked
    joint: FloatArray
    values: tuple[int, ...]
    error: float
    pieces: tuple[FloatArray, ...] = ()

    @classmethod
    def of(
        cls, asked: Asked, rows: FloatArray, error: float, pieces: Sequence[FloatArray] = ()
    ) -> Outcomes:
        """Keep the rows, (R, O), of the values that are possible.

        Pieces are given the state: they are kept where each value is one state.
        """
        possible = np.flatnonzero(rows.any(axis=1))
        parts: tuple[FloatArray, ...] = ()
        if pieces and _is_state(asked):
            state = asked.members[possible].argmax(axis=1)
            parts = tuple(piece[state] + 0.0 for piece in pieces)
        kept = rows if len(possible) == len(rows) else rows[possible]
        if np.signbit(kept).any():
            kept = kept + 0.0  # no −0, nor in the pieces: what is divided by it would be below zero
        return cls(asked, kept, tuple(possible.tolist()), error, parts)

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

    @property
    def posteriors(self) -> FloatArray:
        """Pr[S = s | outcome], (R, O); not kept, for tables of many outcomes fill the memory."""
        return np.asarray(self.joint / self.seen)

    @functools.cached_property
    def told_nats(self) -> float:
        """I(S; outcome) = Σ J log(J / (π_s Pr[o])), in nats."""
        told = 0.0
        for row, prior in zip(self.joint, self.prior, strict=True):
            with np.errstate(over="ignore"):  # one by one, for the product may underflow to zero
                ratios = row / self.seen / prior
            np.clip(ratios, SMALLEST, np.finfo(float).max, out=ratios)  # 0 log 0 is 0
            told += float(row @ np.log(ratios, out=ratios))
        return max(0.0, told)

    @functools.cached_property
    def best_guess(self) -> float:
        """How often the best guess is right: Σ_o max_w Pr[w is right, o]."""
        return self.best_gain(self.hits)

    @property
    def best_prior_guess(self) -> float:
        """How often the best guess is right before anything is seen."""
        return float((self.hits @ self.prior).max())

    def best_gain(self, gains: FloatArray) -> float:
        """Return $∑_o max_w ∑_s gains[w, s] Pr[s, o]$, of gains (W, R)."""
        one_each = np.array_equal(gains, np.eye(len(self.joint)))
        return float((self.joint if one_each else gains @ self.joint).max(axis=0).sum())

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
    def apart(self) -> FloatArray:
        """What the total variation of each pair's laws is at most, (P,).

        Of independent pieces 1 − TV ≥ ∏ ∑ min(p, q), and TV ≤ √(1 − ∏ (∑ √(p q))²).
        """
        if not self.pieces:
            return np.ones(len(self.pairs))
        common, alike = np.ones((2, len(self.joint), len(self.joint)))
        for laws in self.pieces:
            for row, law in enumerate(laws[:-1]):
                common[row, row + 1 :] *= np.minimum(law, laws[row + 1 :]).sum(axis=1)
            alike *= np.sqrt(laws) @ np.sqrt(laws).T
        room = 16.0 * self.error + 1e-12  # for what roundings take off under the root
        bounds = np.minimum(1.0 - common, np.sqrt(np.maximum(1.0 - alike**2, 0.0) + room))
        return np.asarray(bounds[tuple(np.sort(self.pairs).T)])

    @functools.cached_property
    def _is_apart(self) -> BoolArray:
        return np.zeros(len(self.pairs), dtype=bool)

    def tell_apart(self, place: int) -> bool:
        """Replace the bound of a pair by its total variation, $∑ p − ∑ min(p, q)$, unless it is."""
        if self._is_apart[place]:
            return False
        p, q = self.likelihoods[self.pairs[place]]
        same = (np.sort(self.pairs) == np.sort(self.pairs[place])).all(axis=1)
        self.apart[same], self._is_apart[same] = p.sum() - np.minimum(p, q).sum(), True
        return True

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


def _is_state(asked: Asked) -> bool:
    """Whether each value of the variable is one state, or one state at each of some times."""
    return asked.mask is None and bool((asked.members.sum(axis=1) == 1).all())


@attrs.frozen(eq=False)
class FiniteView:
    """What is seen of each secret variable of a question, from below and from above.

    Every loss that obeys data processing is at least that of `lower` and at most that of `upper`;
    where the view is exact they are the same.
    """

    __repr__ = brief_repr

    lower: tuple[Outcomes, ...]
    upper: tuple[Outcomes, ...]
    how: str
    coupled: Callable[[float], float] | None = None  # of real outputs: a Rényi divergence's bound

    @property
    def is_exact(self) -> bool:
        """Whether both sides are the truth."""
        return self.lower is self.upper


def finite_view(
    belief: Markov, question: Any, channel: Emission | RememberingSuppression
) -> FiniteView:
    """Return the exact view if it can be had, else a window grown as far as a budget allows.

    >>> import numpy as np
    >>> from sfumato.beliefs import Markov
    >>> from sfumato.channels import Suppression
    >>> from sfumato.questions import Events
    >>> from sfumato.views.finite import finite_view
    >>> chain = Markov([0.5, 0.5], np.empty((0, 2, 2)), states="sx")
    >>> asked = Events(np.array([[[True, False]]]), ("s",))
    >>> view = finite_view(chain, asked, Suppression.memoryless("sx", [[1.0, 0.5]]))
    >>> view.is_exact, view.upper[0].posteriors.round(3).tolist()
    (True, [[0.0, 0.667], [1.0, 0.333]])
    """
    if isinstance(question, Events):
        question.kept.require_few()
    asked = question.asked()
    if isinstance(channel, RememberingSuppression):
        if all(len(one.times) == 1 for one in asked):
            exact = tuple(_remembered_tables(belief, asked, channel))
            return FiniteView(exact, exact, "segments")
        belief, channel, asked = _of_pairs(belief, channel, asked)
    checked_pair(belief, channel)
    if isinstance(channel, NoisyVectors):
        return _noisy_view(belief, asked, channel)
    found = _seen(belief, channel, asked)
    above = tuple(high for _, high, _ in found)
    how = max((how for *_, how in found), key=len)
    if all(low is high for low, high, _ in found):
        return FiniteView(above, above, how)
    return FiniteView(tuple(low for low, _, _ in found), above, how)


def _remembered_tables(
    belief: Markov, asked: Sequence[Asked], channel: RememberingSuppression
) -> list[Outcomes]:
    error = joint_error(belief, len(channel.visits))
    found = []
    for one in asked:
        joint = remembered_joint(belief, channel, one.times[0], one.members, MOST)
        found.append(Outcomes.of(one, joint, error))
    return found


def _of_pairs(
    belief: Markov, channel: RememberingSuppression, asked: Sequence[Asked]
) -> tuple[Markov, Emission, list[Asked]]:
    """Return chain, emission and secret variables of the pairs (hidden memory, state)."""
    pairs, emission = channel.augmented(belief)
    own = np.arange(pairs.state_count) % belief.state_count
    lifted = []
    for one in asked:
        if one.mask is not None:
            lifted.append(attrs.evolve(one, mask=one.mask[:, own]))
            continue
        places = own
        for _ in one.times[1:]:
            places = (places[:, None] * belief.state_count + own).ravel()
        lifted.append(attrs.evolve(one, members=one.members[:, places]))
    return pairs, emission, lifted


Ends = tuple[Outcomes, Outcomes, str]
"""What is seen of a secret variable from below and from above, and how that was found."""


def _seen(belief: Markov, channel: Emission, wanted: Sequence[Asked]) -> list[Ends]:
    """Return what is seen of every secret variable; what is seen around one time is found once."""
    symbols = symbol_laws(channel)
    single = all(len(one.times) == 1 for one in wanted)
    if single and symbols is None and isinstance(channel, Suppression):
        remembering = RememberingSuppression.of(channel)
        exact = _remembered_tables(belief, wanted, remembering)
        return [(table, table, "segments") for table in exact]
    if single and symbols is not None:
        sides = Sides(belief, symbols)
        around = functools.cache(functools.partial(_around, sides))
        return [_of_sides(sides, one, *around(one.times[0])) for one in wanted]
    tables = functools.cache(functools.partial(_states, belief, channel))
    found = []
    for one in wanted:
        window = one.mask is not None
        low, high, how = (
            _states(belief, channel, one.times, one.mask) if window else tables(one.times)
        )
        rows = np.eye(2) if window else one.members.astype(float)
        below, above = (Outcomes.of(one, rows @ joint, error) for joint, error in (low, high))
        found.append((above, above, how) if low is high else (below, above, how))
    return found


Table = tuple[FloatArray, float]
"""Pr[X at some times, outcome] and its error."""


def _states(
    belief: Markov, channel: Emission, times: tuple[int, ...], mask: BoolArray | None = None
) -> tuple[Table, Table, str]:
    """Return the table of all outputs, or the two ends of as many as may be listed.

    Its rows are the states at the times; with a mask, whether one of them lies in it or none.
    """
    whole = Window.around(belief, channel, times, belief.steps, told=False, most=MOST)
    try:
        table = whole.joint(times, mask), whole.error
    except (TooMany, Undecidable):
        return _widest_window(belief, channel, times, mask)
    return table, table, "all outputs"


def _agree(low: FloatArray, high: FloatArray) -> bool:
    """Whether the best guess and the highest posteriors are nearly alike at both ends."""
    below, above = (
        np.append((table / table.sum(axis=0)).max(axis=1), table.max(axis=0).sum())
        for table in (low, high)
    )
    return np.allclose(below, above, rtol=AGREEMENT, atol=0.0)


Around = tuple[Pieces, Pieces]
"""The pieces around a time that a table is made of, and those that are looked at alone."""


def _around(sides: Sides, time: int) -> tuple[Around, Around, str]:
    """Return what is seen on both sides of a time: all of it, or condensed from either end."""
    with contextlib.suppress(TooMany, Undecidable):
        exact = (sides.listed(time, MOST),) * 2
        return exact, exact, "all outputs"
    every = np.eye(len(sides.prior[time]), dtype=bool)
    for budget in BUDGETS:
        most = sides.most(time, budget)
        low, high = (sides.pieces(time, most, told=told) for told in (False, True))
        if _agree(*(sides.joint(time, pieces, every) for pieces in (low, high))):
            break
    below, above = (sides.pieces(time, ASIDE, told=told) for told in (False, True))
    return (low, below), (high, above), f"both sides, each condensed to {most} outcomes"


def _of_sides(sides: Sides, asked: Asked, low: Around, high: Around, how: str) -> Ends:
    """Return what is seen of one secret variable."""

    def end(around: Around) -> Outcomes:
        (time,) = asked.times
        pieces = sides.given(time, around[1]) if _is_state(asked) else ()
        return Outcomes.of(asked, sides.joint(time, around[0], asked.members), sides.error, pieces)

    above = end(high)
    return (above if low is high else end(low)), above, how


def _widest_window(
    belief: Markov, channel: Emission, times: tuple[int, ...], mask: BoolArray | None
) -> tuple[Table, Table, str]:
    """Return the tables of the widest windows: from below, where no state is told, a wider one."""

    def end(width: int, *, told: bool) -> Table:
        # A state that is not told is summed out in the end, and may take its room until then.
        most = WINDOW if told else min(MOST, WINDOW * belief.state_count)
        window = Window.around(belief, channel, times, width, told=told, most=most)
        return window.joint(times, mask), window.error

    low, high, widths = end(0, told=False), end(0, told=True), [0, 0]
    with contextlib.suppress(TooMany, Undecidable):
        for width in range(1, belief.steps):
            if _agree(low[0], high[0]):
                break
            low, widths[0] = end(width, told=False), width
            high, widths[1] = end(width, told=True), width
    steps = " and ".join(map(str, dict.fromkeys(widths)))
    return low, high, f"a window of {steps} steps on either side"


def _noisy_view(belief: Markov, asked: Sequence[Asked], channel: NoisyVectors) -> FiniteView:
    """Return the view of real outputs: put into cells from below, with less noise from above.

    Cells are post-processing. The outputs are themselves a post-processing of the vectors without
    noise, and of those shown now and then: with Φ the normal law and a and b the two means of a
    step, N(a, σ²) and N(b, σ²) share all but 2Φ(‖a − b‖/2σ) − 1 of their mass.
    """
    cells = _seen(belief, channel.in_cells(CELLS), asked)
    plain = channel.without_noise(), *channel.shown_by_chance()
    bounds = [_seen(belief, quiet, asked) for quiet in plain]
    below = [low for low, _, _ in cells]
    above = [  # the one by which the best guess is right most seldom: likely the tightest
        min((high for _, high, _ in each), key=lambda one: one.best_guess)
        for each in zip(*bounds, strict=True)
    ]
    lower, upper = (  # the normal law has fewer digits than float64
        tuple(attrs.evolve(one, error=one.error + 1e-11) for one in end) for end in (below, above)
    )
    coupled = functools.partial(coupled_divergence, belief, channel, asked)
    how = "cells from below, less noise from above"
    return FiniteView(lower, upper, how, coupled)
