"""The Gaussian view: what a Gaussian release tells of some real values.

With M = V_SS⁻¹ − Σ_SS⁻¹ the release is equivalent, for X_S, to T = X_S + N(0, M⁻¹): the posterior
of X_S is Gaussian with covariance (Σ_SS⁻¹ + M)⁻¹ whatever is seen, its mean an affine image of T.
So (mean, Σ_SS, M) is all that any definition depends on. M is known up to a certified error, so
every number is computed for a little more and for a little less information.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Hashable
from typing import Any, Literal

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.channels.noisy_vectors import normal_chances
from sfumato.errors import OutsideHypotheses, Undecidable
from sfumato.inference.gaussian.fisher_information import Information
from sfumato.inference.gaussian.interval_classes import GroupBounds
from sfumato.inference.gaussian.worst_pair import (
    WorstSquares,
    entries_of,
    positions,
    worst_squares,
)
from sfumato.matrices.matrix import ROUNDOFF
from sfumato.questions import Asked, Displacements, Nearness
from sfumato.questions.displacements import Group
from sfumato.values import FloatArray, brief_repr
from sfumato.views.finite import FiniteView, Outcomes

End = Literal["less", "more"]
ENDS: tuple[End, End] = ("less", "more")
"""A little less information than was computed, or a little more: the truth lies between."""


@attrs.frozen(eq=False)
class GaussianPart:
    """One group of entries that move together: $Σ_SS$, M, and the balls in which they move."""

    entries: tuple[int, ...]
    mean: FloatArray
    prior: FloatArray  # Σ_SS
    information: Information  # M, with its error
    balls: tuple[tuple[int, ...], ...]  # as positions among the entries
    radius: float
    squares: tuple[float, float]  # r² sup ΔᵀMΔ, from below and above

    def distance(self, end: End) -> float:
        """Return $μ = √(ΔᵀMΔ)$ of the worst pair: releases are like $N(0, 1)$ and $N(μ, 1)$."""
        return math.sqrt(max(self.squares[end == "more"], 0.0))

    def told_nats(self, end: End) -> float:
        """Return $I(X_S; Z) = ½ log det(I + Σ_SS M)$, in nats."""
        if self.information.infinite:
            return math.inf
        return 0.5 * float(np.log1p(self.gains(end)).sum())

    def gains(self, end: End) -> FloatArray:
        """Return the eigenvalues of $Σ^{1/2} M Σ^{1/2}$: information in units of the prior."""
        return self._spectrum(end, end)[0]

    def _spectrum(self, end: End, prior: End) -> tuple[FloatArray, FloatArray]:
        """Return the eigenvalues of Rᵀ M R and R times its vectors, R Rᵀ = Σ_SS: no inverse.

        M is M + ρD or M − ρD, D = diag(M). Rounding moves Σ_SS, and Rᵀ M R, by no more than 4nu
        times the norms of what it is made of, in Loewner order: either is taken with so much more
        or so much less, the prior as `prior` says.
        """
        known, matrix = self.information, self.information.matrix
        spread = known.relative_error * np.diag(np.diagonal(matrix))
        if end == "more":
            matrix = matrix + (spread if known.bound == "exact" else 0.0)
        else:
            matrix = matrix - spread if known.bound == "exact" else np.zeros_like(matrix)
        room = 4.0 * len(matrix) * ROUNDOFF
        variances, axes = np.linalg.eigh(self.prior)
        moved = variances + (room if prior == "more" else -room) * variances[-1]
        root = axes * np.sqrt(np.maximum(moved, 0.0))
        gains, vectors = np.linalg.eigh(root.T @ matrix @ root)
        lost = room * max(float(moved[-1]), 0.0) * float(np.linalg.norm(matrix, 2))
        gains = gains + (lost if end == "more" else -lost)
        return np.maximum(gains, 0.0), np.asarray(root @ vectors)

    def posterior(self, end: End) -> FloatArray:
        """Return $V_SS = R (I + Rᵀ M R)⁻¹ Rᵀ$, $R Rᵀ = Σ_SS$; zero where M is infinite."""
        if self.information.infinite:
            shape = self.prior.shape
            exposed = end == "more" or len(self.prior) == 1
            return np.zeros(shape) if exposed else np.array(self.prior)
        gains, axes = self._spectrum(end, "less" if end == "more" else "more")
        return np.asarray(axes / (1.0 + gains) @ axes.T)

    def success(self, covariance: FloatArray, radius: float) -> tuple[float, float]:
        """Return two ends of Pr[every ball of N(0, covariance) lies within the radius].

        The mean is the best guess, and by Anderson's inequality this is how often it is right.
        For one ball it is a number; of several, at least the product over the balls (the Gaussian
        correlation inequality) and at most the least of them.
        """
        each = [
            ball_chances(covariance[np.ix_(ball, ball)], radius) for ball in map(list, self.balls)
        ]
        return math.prod(low for low, _ in each), min(high for _, high in each)

    def prior_success(self, radius: float) -> tuple[float, float]:
        """Return two ends of how often the prior mean is a right guess."""
        return self.success(self.prior, radius)


class _VaryingPrior:
    """Stands for Σ_SS where it is not one matrix: to look at it is to prove nothing."""

    def _refuse(self, *_: object, **__: object) -> Any:
        raise OutsideHypotheses("the prior of the secret entries varies.")

    __array__ = __getitem__ = __len__ = __getattr__ = _refuse


@attrs.frozen(eq=False)
class CellPart(GaussianPart):
    """The most that is told of a group by any of many members: ends that hold for all of them.

    The least V_SS, the largest M, the ends of Σ_SS, and the most that is told in nats. Where Σ_SS
    varies, a definition that reads `prior` itself is not proved.
    """

    bounds: GroupBounds
    cell: int

    @classmethod
    def of(
        cls, bounds: GroupBounds, cell: int, group: Group, radius: float, square: float
    ) -> CellPart:
        """Return what holds for one cell of many."""
        entries = tuple(entries_of(group))
        prior = bounds.largest_prior[cell] if bounds.prior_is_shared else _VaryingPrior()
        known = Information.bounding(bounds.information[cell])
        return cls(
            entries=entries,
            mean=np.zeros(len(entries)),
            prior=prior,  # type: ignore[arg-type]
            information=known,
            balls=positions(group),
            radius=radius,
            squares=(0.0, square),
            bounds=bounds,
            cell=cell,
        )

    def posterior(self, end: End) -> FloatArray:
        """Return the least V_SS."""
        del end
        return np.asarray(self.bounds.left[self.cell])

    def told_nats(self, end: End) -> float:
        """Return the most that is told."""
        del end
        return float(np.nan_to_num(self.bounds.told[self.cell], nan=math.inf, posinf=math.inf))

    def prior_success(self, radius: float) -> tuple[float, float]:
        """Return the least success under any of the priors, and the largest."""
        ends = self.bounds.largest_prior[self.cell], self.bounds.least_prior[self.cell]
        if not all(np.all(np.isfinite(end)) and np.linalg.eigvalsh(end)[0] >= 0 for end in ends):
            return 0.0, 1.0
        return self.success(ends[0], radius)[0], self.success(ends[1], radius)[1]


def ball_chances(covariance: FloatArray, radius: float) -> tuple[float, float]:
    """Return two ends, mostly close, of Pr[‖N(0, V)‖ ≤ r].

    One coordinate: erf. Always between the χ² laws of the largest and of the smallest variance. Two
    coordinates: with z₁ ~ N(0, 1) and a = r/√λ₁ it is E[erf(√(r² − λ₁z₁²)/√(2λ₂)); |z₁| ≤ a], an
    integral over z₁ = a sin θ in small panels, cut where the normal law has no mass left. Where λ₂
    is so small that the inner factor falls in a thin layer at the ends, the factor is one but for
    the layer, and both are ends.

    >>> import numpy as np
    >>> from sfumato.views.gaussian import ball_chances
    >>> ball_chances(np.array([[1.0]]), 1.0)[0].__round__(6)
    0.682689
    """
    from scipy.special import erf, gammainc

    values = np.maximum(np.linalg.eigvalsh(covariance), 0.0)
    size, least, most = len(values), float(values[0]), float(values[-1])
    if most == 0.0:
        return 1.0, 1.0
    if size == 1:
        return (float(erf(radius / math.sqrt(2.0 * most))),) * 2
    low = float(gammainc(size / 2.0, radius**2 / (2.0 * most)))
    high = 1.0 if least == 0.0 else float(gammainc(size / 2.0, radius**2 / (2.0 * least)))
    if size > 2:
        return low, high
    reach = radius / math.sqrt(most)
    if least < THIN * min(most, radius**2 / 10.0):
        inner = math.sqrt(max(0.0, radius**2 - 100.0 * least) / most)  # the factor is one within
        return max(low, float(erf(inner / math.sqrt(2.0)))), min(
            high, float(erf(reach / math.sqrt(2.0)))
        )
    end = math.asin(min(1.0, REACH / reach))
    nodes, weights = np.polynomial.legendre.leggauss(16)
    edges = np.linspace(-end, end, PANELS + 1)
    half = np.diff(edges)[:, None] / 2.0
    angle = edges[:-1, None] + half * (1.0 + nodes)
    density = np.exp(-np.square(reach * np.sin(angle)) / 2.0) * reach * np.cos(angle)
    factor = erf(radius * np.cos(angle) / math.sqrt(2.0 * least))
    value = float((weights * half * density * factor).sum()) / math.sqrt(2.0 * math.pi)
    return max(low, value * (1 - 1e-9)), min(high, value * (1 + 1e-9) + 1e-18)


@attrs.frozen(eq=False)
class GaussianView:
    """The parts of a question about real values: from one Fisher information for all measures.

    `source` holds the belief, the question and the channel.
    """

    __repr__ = brief_repr

    source: tuple[Gaussian, Displacements, AdditiveGaussian]

    @functools.cached_property
    def squares(self) -> WorstSquares:
        """The worst pairs of every group."""
        return worst_squares(*self.source)

    @functools.cached_property
    def parts(self) -> tuple[GaussianPart, ...]:
        """What is told of the groups of entries, once of those of which the same is told."""
        belief, question, _ = self.source
        found: dict[Hashable, GaussianPart] = {}
        for number in range(len(question.groups)):
            part = self._part(belief, question, number)
            told = part.information
            arrays = (part.mean, part.prior, told.matrix, told.support)
            key = *(one.tobytes() for one in arrays), told.relative_error, part.radius, part.squares
            found.setdefault((key, part.balls), part)
        return tuple(found.values())

    def _part(self, belief: Gaussian, question: Displacements, number: int) -> GaussianPart:
        squares = self.squares
        entries = entries_of(question.groups[number])
        return GaussianPart(
            entries=tuple(entries),
            mean=np.zeros(len(entries)) if belief.mean is None else belief.mean[entries],
            prior=belief.covariance.block(entries, entries),
            information=squares.informations[number],
            balls=positions(question.groups[number]),
            radius=question.radii[number],
            squares=(float(squares.floors[number]), float(squares.ceilings[number])),
        )


PANELS = 256
"""Parts in which the angle of a disc is integrated."""

THIN = 1e-3
"""Ratio of two variances below which a disc is cut by its wider coordinate alone."""


# Being near a place: an event about a real value, which is seen through the posterior mean -------

CELLS = 20_000
"""Cells of the posterior mean, over its own law, over that given the event, around either edge."""

REACH = 9.0
"""Standard deviations around the middle of either; beyond them lies one cell on each side."""

NODES = 8
"""Points at which the chance of the event is looked at in each cell."""

LEAST = 1e-290
"""What a possible outcome that is rarer than float64 can hold is taken to weigh, from above."""

NARROW = 1e-3
"""Below this width in deviations a chance is a series, in which nothing cancels."""


def near_view(belief: Gaussian, question: Nearness, channel: AdditiveGaussian) -> FiniteView:
    """Return the view of |X − c| ≤ r, through the posterior mean m ~ N(m₀, σ² − v), in cells.

    Given m the event has probability p(m) = Φ((c + r − m)/√v) − Φ((c − r − m)/√v). Telling only the
    cell of m is post-processing. Telling for each cell one of its two ends, by chance and so that
    the event stays as likely, is what the true m is a post-processing of: p is monotone on either
    side of c, so every p(m) is a mixture of those at the ends.

    >>> from sfumato.beliefs import Gaussian
    >>> from sfumato.channels import AdditiveGaussian
    >>> from sfumato.matrices import Diagonal
    >>> from sfumato.questions import Nearness
    >>> from sfumato.views.gaussian import near_view
    >>> channel = AdditiveGaussian(Diagonal([1.0]))
    >>> view = near_view(Gaussian(Diagonal([1.0])), Nearness(0, 0.0, 0.25), channel)
    >>> [float(view.upper[0].posteriors[0].max().round(6)), float(view.upper[0].prior[0].round(6))]
    [0.276326, 0.197413]
    """
    lower, upper = [], []
    for one in question.parts:
        part = near_part(belief, one, channel)
        lower.append(near_outcomes(part, one, "less")[0])
        upper.append(near_outcomes(part, one, "more")[1])
    how = f"{part.information.how}; cells of the posterior mean"
    return FiniteView(tuple(lower), tuple(upper), how)


def near_part(belief: Gaussian, one: Nearness, channel: AdditiveGaussian) -> GaussianPart:
    """Return what is told of the entry that an event is about."""
    if belief.dimensions > 1:
        raise OutsideHypotheses("being near a place is asked of traces of one coordinate.")
    ball = Displacements((((one.entry,),),), one.radius)
    return GaussianView((belief, ball, channel)).parts[0]


def near_outcomes(part: GaussianPart, question: Nearness, end: End) -> tuple[Outcomes, Outcomes]:
    """Return the event and what is seen of it, from below and from above."""
    name, both = question.name, np.eye(2, dtype=bool)
    asked = Asked((), both, (name, ("not", name)), np.array([[0, 1]]), (0,), both)
    below, above = _near_cells(part, question, end)
    return Outcomes.of(asked, below, 1e-11), Outcomes.of(asked, above, 1e-11)


def near_law(part: GaussianPart, end: End) -> tuple[float, float, float]:
    """Return m₀, the deviation of the posterior mean, and the posterior deviation √v."""
    sigma = math.sqrt(float(part.prior[0, 0]))
    if part.information.infinite:
        return float(part.mean[0]), sigma, 0.0
    gain = float(part.gains(end)[0])
    return float(part.mean[0]), sigma * math.sqrt(gain / (1 + gain)), sigma / math.sqrt(1 + gain)


def _open_law(part: GaussianPart, question: Nearness, end: End) -> tuple[float, float, float]:
    """Return the law of the posterior mean, unless float64 takes the event for certain or not."""
    law = near_law(part, end)
    prior = near_chances(np.array(law[0]), question, math.sqrt(float(part.prior[0, 0])))
    if not prior.min() >= LEAST:
        raise Undecidable(
            f"{question.name}, or its opposite, has a probability below {LEAST:g}: too small for "
            f"float64; ask about a place that the prior can reach."
        )
    return law


def near_chances(means: FloatArray, question: Nearness, deviation: float) -> FloatArray:
    """Return Pr[event | m] and Pr[not the event | m], (2, ...): each with all its digits."""
    from scipy.special import ndtr

    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        above = (question.place + question.radius - means) / deviation
        below = (question.place - question.radius - means) / deviation
        centre, width = (question.place - means) / deviation, 2.0 * question.radius / deviation
        density = np.exp(-np.square(centre) / 2.0) * width / math.sqrt(2.0 * math.pi)
        series = density * (1.0 + (np.square(centre) - 1.0) * width * width / 24.0)
        narrow = width * (1.0 + np.abs(centre)) < NARROW
    inside = np.where(below > 0, ndtr(-below) - ndtr(-above), ndtr(above) - ndtr(below))
    return np.stack([np.where(narrow, series, inside), ndtr(-above) + ndtr(below)])


def _near_cells(part: GaussianPart, question: Nearness, end: End) -> tuple[FloatArray, FloatArray]:
    """Return the tables (2, cells) from below, and (2, ends of cells) from above."""
    middle, spread, deviation = _open_law(part, question, end)
    place, radius = question.place, question.radius
    if deviation == 0.0:  # the value itself is told
        cuts = np.array([-np.inf, place - radius, place + radius, np.inf])
        masses = normal_chances((cuts - middle) / spread)
        table = np.stack([masses * [0, 1, 0], masses * [1, 0, 1]])
        return table, table
    if spread == 0.0:  # nothing is told
        chances = near_chances(np.array([middle]), question, deviation)
        return chances, chances
    cuts = _cuts(middle, spread, deviation, question)
    table, at, left, right = _cells(cuts, part, question, end)
    below = _complete(table[:, table.sum(axis=0) >= LEAST])
    total = table.sum(axis=0)
    rarer = table[0] > table[1]  # of the event and its opposite, the one that keeps its digits
    part_of = np.where(rarer, table[1], table[0])
    share = np.divide(part_of, total, out=np.zeros_like(total), where=total > 0)
    first, second = (np.where(rarer, at[1, side], at[0, side]) for side in (left, right))
    gap = second - first
    move = np.divide(share - first, gap, out=np.full_like(gap, 0.5), where=gap != 0)
    move = np.clip(move, 0.0, 1.0)
    mass = np.bincount(left, total * (1 - move), len(cuts) + 1)
    mass += np.bincount(right, total * move, len(cuts) + 1)
    # The place, where the event is likeliest, and a place far away can be posterior means.
    extremes = [int(np.searchsorted(cuts, place)), len(cuts)]
    mass[extremes] = np.maximum(mass[extremes], len(cuts) * LEAST)
    return np.asarray(below), np.asarray((at * mass)[:, mass >= LEAST], dtype=float)


def near_shifts(
    part: GaussianPart, question: Nearness, end: End
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return Pr[the event or not, cell], (2, C), and two ends of how far log-odds move in each."""
    middle, spread, deviation = _open_law(part, question, end)
    if deviation == 0.0 or spread == 0.0:
        table, move = _near_cells(part, question, end)[0], math.inf if deviation == 0.0 else 0.0
        return table, *np.full((2, table.shape[1]), move)
    cuts = _cuts(middle, spread, deviation, question)
    table, at, left, right = _cells(cuts, part, question, end)
    with np.errstate(divide="ignore"):
        odds = np.log(at[0]) - np.log(at[1]) - math.log(table[0].sum() / table[1].sum())
    ends = np.stack([odds[left], odds[right]])
    apart = np.abs(ends)
    return (
        table,
        np.where((ends > 0).all(axis=0) | (ends < 0).all(axis=0), apart.min(axis=0), 0.0),
        apart.max(axis=0),
    )


def _cells(
    cuts: FloatArray, part: GaussianPart, question: Nearness, end: End
) -> tuple[FloatArray, FloatArray, NDArray[np.intp], NDArray[np.intp]]:
    """Return Pr[the event or not, m in a cell], Pr[the event or not | m at a cut], and whose ends.

    The last two cells are those beyond the cuts; the last cut stands for a place far away.
    """
    middle, spread, deviation = near_law(part, end)
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    half = np.diff(cuts)[:, None] / 2
    points = cuts[:-1, None] + half * (1 + nodes)
    density = np.exp(-np.square((points - middle) / spread) / 2) / (spread * math.sqrt(2 * math.pi))
    inner = (near_chances(points, question, deviation) * (density * half * weights)).sum(axis=-1)
    table = np.concatenate([inner, _tails(cuts, part, question, end)], axis=1)
    at = np.concatenate([near_chances(cuts, question, deviation), [[0.0], [1.0]]], axis=1)
    left = np.concatenate([np.arange(len(cuts) - 1), [0, len(cuts) - 1]])
    right = np.concatenate([np.arange(1, len(cuts)), [len(cuts), len(cuts)]])
    return table, at, left, right


def _complete(table: FloatArray) -> FloatArray:
    """Merge cells in which a number is too small for float64 with the one that is most like them.

    Telling less, they never seem to rule out what they only make very unlikely.
    """
    whole = table.min(axis=0) >= LEAST
    if whole.all() or not whole.any():
        return table
    kept, others = table[:, whole], table[:, ~whole]
    share = kept[0] / kept.sum(axis=0)
    for row, place in ((0, int(share.argmin())), (1, int(share.argmax()))):
        kept[:, place] += others[:, others.argmin(axis=0) == row].sum(axis=1)
    return kept


def _cuts(middle: float, spread: float, deviation: float, question: Nearness) -> FloatArray:
    """Return where the cells end: fine wherever m is likely, with or without the event, or p turns.

    Given X = x the posterior mean is N(m₀ + k (x − m₀), k v), k = 1 − v/σ².
    """
    ends, far = np.linspace(-1, 1, CELLS + 1), REACH * deviation
    place, radius = question.place, question.radius
    sigma = math.hypot(spread, deviation)
    shrink = (spread / sigma) ** 2
    told = shrink * radius + REACH * spread * deviation / sigma
    grids = [middle + REACH * spread * ends, middle + shrink * (place - middle) + told * ends]
    grids += [edge + far * ends[::2] for edge in (place - radius, place + radius)]
    return np.unique(np.concatenate([*grids, [place]]))


def _tails(cuts: FloatArray, part: GaussianPart, question: Nearness, end: End) -> FloatArray:
    """Return Pr[the event or not, m beyond the first or the last cut], (2, 2).

    Far from the place the event all but cannot be: where the two normal laws leave less than
    float64 can hold, its chance is taken to be that at the cut, which is more.
    """
    middle, spread, deviation = near_law(part, end)
    outer = normal_chances((np.array([-np.inf, cuts[0], cuts[-1], np.inf]) - middle) / spread)
    chances = near_chances(cuts[[0, -1]], question, deviation)
    return np.asarray(chances * outer[[0, 2]])
