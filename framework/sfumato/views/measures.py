"""Definitions on views: a measure of pairs, of events or of guesses is a formula or two.

An author writes the formula for a finite view and, where there is one, that for a Gaussian view;
the framework takes the worst over what is asked, holds both ends of a bounded view together, adds
the rounding and takes the worst over the class. The measure then holds in every world.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import attrs
import numpy as np

from sfumato.errors import OutsideHypotheses
from sfumato.inference.gaussian.fisher_information import EXACT
from sfumato.inference.gaussian.interval_classes import GroupBounds
from sfumato.inference.gaussian.worst_pair import (
    entries_of,
    largest_square,
    largest_squares,
)
from sfumato.inference.markov.enumeration import IntArray
from sfumato.matrices.matrix import ROUNDOFF
from sfumato.protocols import LossMeasure, Reading, ScaleEnd
from sfumato.questions import Displacements, Nearness
from sfumato.values import FloatArray
from sfumato.views.finite import FiniteView, Outcomes
from sfumato.views.gaussian import (
    ENDS,
    CellPart,
    End,
    GaussianPart,
    GaussianView,
    near_outcomes,
    near_part,
)
from sfumato.views.view import FINITE, GAUSSIAN, view_of

SAMPLE, MARGIN = 256, 12
"""How many outcomes are looked at to find how high a limit is, and how many of them beyond it."""

CHUNK, LONG = 100_000, 20_000
"""How many numbers of pairs are held at a time: what a processor's cache holds. Pairs of longer
laws, and few pairs, are looked at one by one."""


@attrs.frozen
class Found:
    """A value with the rounding it may hide, and where it was found."""

    value: float
    slack: float = 0.0
    witness: Any = None
    rows: tuple[int, ...] = ()  # of the table: those of the worst pair


class ViewMeasure(LossMeasure):
    """A measure that is a function of what is seen of the secret, and of nothing else.

    Attributes
    ----------
    obeys_processing
        Whether the loss cannot rise when less is seen. If not, only exact views are read.
    of_secret
        Whether the loss is about the secret. If not, what tells more of other times counts, too.
    """

    obeys_processing: ClassVar[bool] = True
    of_secret: ClassVar[bool] = True

    def __init_subclass__(cls, **given: Any) -> None:
        """Read the worlds of finite views, and of Gaussian views where there is a formula."""
        super().__init_subclass__(**given)
        if "reads" not in vars(cls):  # a measure of more than views says so itself
            gaussian = cls.of_part is not ViewMeasure.of_part
            cls.reads = (*FINITE, *GAUSSIAN) if gaussian else FINITE

    def scale_end(self, question: type | None) -> ScaleEnd | None:
        """Return the proved end for displacements: of an event the loss may grow with the scale."""
        about_pairs = question is not None and issubclass(question, Displacements)
        return self.worst_scale if about_pairs else None

    @abstractmethod
    def of_outcomes(self, outcomes: Outcomes) -> Found:
        """Return the loss about one secret variable whose joint table is given."""

    def of_part(self, part: GaussianPart, end: End) -> float | tuple[float, float]:
        """Return the loss about one group of real values, for a little less or more information.

        A pair of numbers are two ends between which it lies.
        """
        raise NotImplementedError

    def of_informations(self, question: Any, bounds: Sequence[GroupBounds]) -> Any:
        """Return the loss of each cell: what obeys data processing grows with M.

        Where the prior of the secret entries varies, $V_SS$, the information and the prior's own
        chances are bounded as well; what reads the prior itself is not proved.
        """
        if not (self.obeys_processing and self.of_secret):
            return None
        pick, worst = (max, -math.inf) if self._sign > 0 else (min, math.inf)
        losses = np.full(len(bounds[0].told), worst)
        near = isinstance(question, Nearness)
        events: Any = question.parts if near else (None,) * len(bounds)
        groups = tuple(((event.entry,),) for event in events) if near else question.groups
        radii = tuple(event.radius for event in events) if near else question.radii
        for event, group, radius, one in zip(events, groups, radii, bounds, strict=True):
            squares = radius**2 * largest_squares(one.information, group)
            for cell, square in enumerate(squares.tolist()):
                part = CellPart.of(one, cell, group, radius, square)
                try:
                    if near:
                        upper = near_outcomes(part, event, "more")[1]
                        found: Any = self._worst([self.of_outcomes(upper)], 1).value
                    else:
                        found = self.of_part(part, "more")
                except OutsideHypotheses:
                    return None
                ends = found if isinstance(found, tuple) else (found,)
                unknown = any(map(math.isnan, ends))
                losses[cell] = -worst if unknown else pick(losses[cell], *ends)
        return losses

    def of_near(self, part: GaussianPart, event: Nearness) -> tuple[float, float]:
        """Return two ends of the loss of being near a place, for what may rise when less is seen.

        Others are read from the cells of the view. What is told, `part`, is known exactly.
        """
        del part, event
        raise OutsideHypotheses(f"{self.name} may rise when less is seen, as in cells of values.")

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Return the worst loss over what is asked."""
        if isinstance(question, Nearness) and not self.obeys_processing:
            parts = [near_part(belief, event, channel) for event in question.parts]
            each = zip(map(self.require_exact, parts), question.parts, strict=True)
            ends = [self.of_near(part, event) for part, event in each]
            worst = max(range(len(ends)), key=lambda number: ends[number][1])
            witness = {"event": question.parts[worst].name}
            how = f"{parts[worst].information.how}; posterior means"
            return self.between(max(low for low, _ in ends), ends[worst][1], witness, how)
        view = view_of(belief, question, channel)
        if isinstance(view, FiniteView):
            return self._of_finite(view)
        return self._of_gaussian(view) if isinstance(view, GaussianView) else view.reading(self)

    def require_exact(self, part: GaussianPart) -> GaussianPart:
        """Refuse a bound on what is told, for a loss that may rise when less is."""
        if part.information.bound != "exact":
            raise OutsideHypotheses(
                f"{self.name} may rise when less is seen: a bound on what is told says nothing."
            )
        return part

    def _of_finite(self, view: FiniteView) -> Reading:
        if not (view.is_exact or self.obeys_processing):
            raise OutsideHypotheses(
                f"{self.name} may rise when less is seen, so a view that is only bounded says "
                f"nothing of it ({view.how})."
            )
        worst = self._worst(self._found(view.upper), 1)
        if view.is_exact:
            mildest = attrs.evolve(worst, value=worst.value - 2 * self._sign * worst.slack)
        else:
            mildest = self._worst(self._found(view.lower), -1)
        return self.between(mildest.value, worst.value, worst.witness, view.how)

    def _found(self, tables: Sequence[Outcomes]) -> list[Found]:
        """Return the loss about each secret variable."""
        return [self.of_outcomes(outcomes) for outcomes in tables]

    def _of_gaussian(self, view: GaussianView) -> Reading:
        ends: dict[str, list[float]] = {"less": [], "more": []}
        for end in ENDS:
            for part in view.parts:
                found = self.of_part(part, end)
                pair = found if isinstance(found, tuple) else (found, found)
                ends[end].append(max(pair) if (end == "more") == (self._sign > 0) else min(pair))
        pick = max if self._sign > 0 else min
        worst = pick(range(len(view.parts)), key=ends["more"].__getitem__)
        part = view.parts[worst]
        witness = {"entries": part.entries}
        how = part.information.how
        return self.between(pick(ends["less"]), ends["more"][worst], witness, how)

    @property
    def _sign(self) -> int:
        return self.quantity.sign

    def _worst(self, found: Sequence[Found], side: int) -> Found:
        """Return the worst of several, each moved by its slack to the worse or the milder side."""
        moved = [attrs.evolve(f, value=f.value + side * self._sign * f.slack) for f in found]
        return max(moved, key=lambda one: self._sign * one.value)

    def between(self, mildest: float, worst: float, witness: Any, how: str) -> Reading:
        """Return the reading of a loss between two ends, the milder and the worse.

        It is exact where both ends agree to 1e-5, and then given by the worse one.
        """
        if math.isinf(worst) and mildest == worst:
            return Reading(value=worst, bound="exact", witness=witness, how=how)
        low, high = min(mildest, worst), max(mildest, worst)
        error = (high - low) / abs(worst) if worst and math.isfinite(worst) else math.inf
        if high == low or error <= EXACT:
            error = 0.0 if high == low else error
            return Reading(
                value=worst, bound="exact", relative_error=error, witness=witness, how=how
            )
        return Reading(
            value=worst,
            bound="upper" if self._sign > 0 else "lower",
            interval=(low, high),
            witness=witness,
            how=how,
        )


class PairMeasure(ViewMeasure):
    """A distance between the laws of what is seen under two values of the secret: the worst pair.

    The author writes `of_laws` and, for Gaussian views, `of_shift`.

    Attributes
    ----------
    is_additive
        Whether the distance of laws of independent pieces is the sum of the pieces' distances, as
        for Rényi divergences. It is then read piece by piece, where the secret is a state.

    >>> import math
    >>> import numpy as np
    >>> from sfumato.parameters import declare
    >>> from sfumato.protocols import Quantity
    >>> from sfumato.views import PairMeasure
    >>> @declare
    ... class Hellinger(PairMeasure):
    ...     "1 − Σ √(p q): the squared Hellinger distance of the worst pair."
    ...     name = "hellinger"
    ...     quantity = Quantity("squared Hellinger distance")
    ...     def of_laws(self, p, q):
    ...         return 1.0 - np.sqrt(p * q).sum(axis=-1)
    ...     def of_shift(self, distance):
    ...         return -math.expm1(-(distance**2) / 8.0)
    >>> import sfumato as sf
    >>> prior, secret = sf.priors.rbf(length_scale=6.0, times=50), sf.secrets.basic(24)
    >>> release = sf.mechanisms.gaussian_uniform(mse=1.0).protect(prior, secret)
    >>> print(f"{Hellinger().loss(prior, secret, release).value:.6f}")
    0.613673
    """

    is_additive: ClassVar[bool] = False
    worst_scale = "low"  # of_shift grows with M, which falls as the prior is scaled up: see renyi

    @abstractmethod
    def of_laws(self, p: FloatArray, q: FloatArray) -> FloatArray:
        """Return the distance of each pair of laws of the outcomes, (P,) from (P, O) twice."""

    def of_shift(self, distance: float) -> float:
        """Return the distance of N(0, 1) and N(distance, 1); it must grow with it."""
        raise NotImplementedError

    def shift_error(self, distance: float) -> float:
        """Return the relative rounding of `of_shift`; by default a few operations."""
        del distance
        return 8 * ROUNDOFF

    def __init_subclass__(cls, **given: Any) -> None:
        """Read Gaussian views where there is a formula for two normal laws."""
        super().__init_subclass__(**given)
        if cls.of_shift is PairMeasure.of_shift:
            cls.reads = FINITE

    def rounding(self, value: float, error: float) -> float:
        """Return how far relative errors of the laws can move a value; by default 64 times."""
        return 64.0 * error * (1.0 + abs(value))

    def at_most(self, apart: FloatArray) -> FloatArray | None:
        """Return what the distance of pairs of so large a total variation cannot exceed, (P,).

        Pairs that cannot be the worst are then passed over. None: it is not bounded by that.
        """
        del apart
        return None

    def _found(self, tables: Sequence[Outcomes]) -> list[Found]:
        """Return the worst pair of each variable, −∞ where another's is worse; ∞ ends it."""
        found: list[Found] = []
        worst = -math.inf
        for outcomes in tables:
            if worst < math.inf:
                found.append(self.of_outcomes(outcomes, worst))
                worst = max(worst, self._sign * found[-1].value)
        return found

    def of_outcomes(self, outcomes: Outcomes, beyond: float = -math.inf) -> Found:
        """Return the worst pair; of a secret of one value only, that value against itself.

        A pair that cannot be worse than `beyond`, nor than another, may be left at −∞.
        """
        pairs = outcomes.pairs
        if not len(pairs):
            same = np.ones((1, 1))
            return Found(float(self.of_laws(same, same)[0]))
        tables = (self.is_additive and outcomes.pieces) or (outcomes.likelihoods,)
        if len(tables) == 1 and tables[0].shape[1] > (LONG if len(pairs) > 2 else 0):
            values = self._of_long_laws(outcomes, beyond)
        else:
            values = np.sum([self._of_pairs(laws, pairs) for laws in tables], axis=0)
        place = int(np.argmax(self._sign * values))
        value = float(values[place])
        slack = len(tables) * self.rounding(value, outcomes.error) if math.isfinite(value) else 0.0
        rows = tuple(pairs[place].tolist())
        return Found(value, slack, {"pair": tuple(map(outcomes.name, rows))}, rows)

    def _of_long_laws(self, outcomes: Outcomes, worst: float) -> FloatArray:
        """Return the distance of every pair that may be worse than those looked at before it."""
        laws, pairs, room = outcomes.likelihoods, outcomes.pairs, 16.0 * outcomes.error
        values = np.full(len(pairs), -self._sign * math.inf)
        left = np.ones(len(pairs), dtype=bool)
        while worst < math.inf and left.any():
            limits = self.at_most(outcomes.apart)
            bounds = np.where(left, math.inf if limits is None else limits + room, -math.inf)
            place = int(bounds.argmax())
            if bounds[place] <= worst:
                break
            if limits is None or not outcomes.tell_apart(place):
                one, other = pairs[place]
                values[place] = self.of_laws(laws[one, None], laws[other, None])[0]
                worst, left[place] = max(worst, self._sign * values[place]), False
        return values

    def _of_pairs(self, laws: FloatArray, pairs: IntArray) -> FloatArray:
        """Return the distance of every pair of rows, some of them at a time."""
        stride = max(1, CHUNK // laws.shape[1])
        parts = [pairs[begin : begin + stride].T for begin in range(0, len(pairs), stride)]
        return np.concatenate([self.of_laws(laws[one], laws[other]) for one, other in parts])

    def of_part(self, part: GaussianPart, end: End) -> float:
        """Return the distance of the two normal laws that the worst pair is like."""
        return self.of_shift(part.distance(end))

    def of_informations(self, question: Any, bounds: Sequence[GroupBounds]) -> Any:
        """Return the distance of the worst pair for each of many informations: it grows with M."""
        if isinstance(question, Nearness):
            return super().of_informations(question, bounds)
        worst = np.sqrt(largest_square(question, bounds)) * (1.0 + 2 * ROUNDOFF)
        return np.array([self.of_shift(float(distance)) for distance in worst])

    def _of_gaussian(self, view: GaussianView) -> Reading:
        """Return the distance of the worst pair, with the displacement that makes it."""
        worst = worst_square(view)
        if worst.bound == "upper":
            low, high = (self.of_shift(math.sqrt(end)) for end in (worst.floor, worst.value))
            return attrs.evolve(worst, value=high, interval=(low, high))
        sides = (1.0 - worst.relative_error, 1.0, 1.0 + worst.relative_error)
        low, value, high = (self.of_shift(math.sqrt(worst.value * side)) for side in sides)
        if not value or math.isinf(value):
            return attrs.evolve(worst, value=value, relative_error=0.0)
        error = max(value - low, high - value) / value + self.shift_error(math.sqrt(worst.value))
        return attrs.evolve(worst, value=value, relative_error=error)


def highest(scores: FloatArray, weights: FloatArray, limit: float) -> tuple[IntArray, int]:
    """Return the outcomes of highest score that weigh at most `limit` together, and the next one.

    Those that are higher than one of a sample are taken or, if they weigh more, the others left,
    until few are to be sorted. −1 stands for no next outcome.

    >>> import numpy as np
    >>> from sfumato.views.measures import highest
    >>> highest(np.array([3.0, 1.0, 2.0]), np.array([0.25, 0.5, 0.25]), 0.4)
    (array([0]), 2)
    """
    some = np.modf(np.arange(SAMPLE) * 0.6180339887)[0]
    rest, taken, room = np.arange(len(scores)), [np.empty(0, dtype=np.intp)], limit
    while len(rest) > SAMPLE:
        left, few = scores[rest], rest[(some * len(rest)).astype(np.intp)]
        few = few[np.argsort(-scores[few])]
        heavy = np.cumsum(weights[few]) * (len(rest) / SAMPLE)
        place = min(int(np.searchsorted(heavy, room)) + MARGIN, SAMPLE // 2)
        above = left > scores[few[place]]
        high = rest[above]
        weight = float(weights[high].sum())
        if not len(high):  # many are alike
            break
        if weight > room:
            rest = high
        else:
            taken, room, rest = [*taken, high], room - weight, rest[~above]
    order = rest[np.argsort(-scores[rest], kind="stable")]
    fits = int(np.searchsorted(np.cumsum(weights[order]), room, side="right"))
    edge = int(order[fits]) if fits < len(order) else -1
    return np.concatenate([*taken, order[:fits]]), edge


def worst_square(view: GaussianView) -> Reading:
    """Return sup ΔᵀMΔ over the displacements, M = V_SS⁻¹ − Σ_SS⁻¹: the squared distance μ².

    The witness names the entries that move and the worst displacement.
    """
    squares, question = view.squares, view.source[1]
    worst, ceiling = squares.worst, float(squares.ceilings.max())
    value = float(squares.values[worst])
    # An upper bound below the worst cannot matter; a less certain value close to it can.
    exact = bool(np.all(squares.exact[squares.values >= value]))
    ends = None if exact else (float(squares.floors.max()), ceiling)
    certain = ceiling == value or not exact
    displacement = question.radii[worst] * squares.displacements[worst]
    moved = {"displacement": tuple(displacement.tolist())} if displacement.size else {}
    return Reading(
        value=value if exact else ceiling,
        bound="exact" if exact else "upper",
        interval=ends,
        relative_error=0.0 if certain else ceiling / value - 1.0 + 2 * ROUNDOFF,
        witness={"entries": tuple(entries_of(question.groups[worst])), **moved},
        how=squares.hows[worst],
    )


def bent_difference(worst: float, bend: float, turn: float) -> float:
    """Return what p − q can be between members where it is at most `worst`, p and c q at most one.

    `worst` bounds the interpolation of p − q; p is at most e^bend times its own and q at least
    e^(−bend − turn) times its own (`LossMeasure.between_members`).
    """
    return worst + math.expm1(bend) + math.expm1(bend + turn)


class EventMeasure(ViewMeasure):
    """How much likelier what is seen can make an event: the worst event.

    The author writes `of_posteriors` and, for Gaussian views, `of_part`.
    """

    @abstractmethod
    def of_posteriors(
        self, prior: float, posteriors: FloatArray, seen: FloatArray, error: float
    ) -> tuple[float, float]:
        """Return the loss of an event and what rounding may hide.

        `posteriors` are Pr[E | outcome] and `seen` Pr[outcome], (O,); their relative errors and
        that of `prior` are at most `error`.
        """

    def of_outcomes(self, outcomes: Outcomes) -> Found:
        """Return the worst event."""
        found = []
        for row in outcomes.events:
            if len(outcomes.joint) == 1:
                continue  # certain, whatever is seen
            prior = float(outcomes.prior[row])
            # A posterior is a quotient of two sums: twice the error, and a little.
            posteriors = outcomes.joint[row] / outcomes.seen
            value, slack = self.of_posteriors(
                prior, posteriors, outcomes.seen, 4.0 * outcomes.error
            )
            found.append(Found(value, slack, {"event": outcomes.name(int(row))}))
        if not found:  # no event is open: nothing can make it likelier
            value, slack = self.of_posteriors(0.0, np.zeros(1), np.ones(1), 0.0)
            found.append(Found(value, slack))
        return max(found, key=lambda one: self._sign * (one.value + self._sign * one.slack))


class GuessMeasure(ViewMeasure):
    """What a guess of the secret gains from what is seen.

    The author writes `of_joint` and, for Gaussian views, `of_part`.
    """

    @abstractmethod
    def of_joint(self, outcomes: Outcomes) -> float:
        """Return the loss about a secret variable with the joint table `outcomes.joint`, (R, O)."""

    def rounding(self, value: float, error: float) -> float:
        """Return how far relative errors of the table can move a value; by default 16 times."""
        return 16.0 * error * (1.0 + abs(value))

    def of_outcomes(self, outcomes: Outcomes) -> Found:
        """Return the loss, with its rounding."""
        value = self.of_joint(outcomes)
        slack = self.rounding(value, outcomes.error) if math.isfinite(value) else 0.0
        return Found(
            value, slack, {"times": outcomes.asked.times} if outcomes.asked.times else None
        )
