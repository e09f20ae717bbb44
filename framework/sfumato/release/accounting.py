"""What is known of one person by now: all that was released, read together.

Gaussian releases have a joint prior over the person's time line, and noise that is independent from
release to release: Theorem 1.1 on the joint (Meehan and Chaudhuri 2021, Corollary 3.4.1). Releases
of the same times by the same channel, or with independent noise, are one release with less noise.
Emissions of a chain multiply. What lies far away is not solved with, but counted: `told_by_far` for
Gaussian beliefs; for chains the states around what is near are told.
"""

from __future__ import annotations

import bisect
import contextlib
import functools
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from sfumato.beliefs import Gaussian, Markov
from sfumato.channels import AdditiveGaussian, RememberingSuppression
from sfumato.errors import Incompatible, OutsideHypotheses
from sfumato.matrices import BlockDiagonal, Diagonal, Matrix
from sfumato.matrices.matrix import ROUNDOFF, Array
from sfumato.plugin_registry import default_registry
from sfumato.prior_classes.combinations import joint_traces
from sfumato.protocols import Loss, LossMeasure, PriorClass, Release, Secret
from sfumato.quantities import MEAN_SQUARED_ERROR
from sfumato.release.composition import Composition
from sfumato.release.time_lines import (
    Elsewhere,
    chain_part,
    cut_channel,
    groups_of,
    multiply_channels,
    stretch_around,
)
from sfumato.views.measures import ViewMeasure

TOGETHER = 200
"""Entries up to which nothing is forgotten."""

MOST = 1_500
"""Entries that are solved with at most; correlated noise is then taken for its least part."""

OVER_INTERVALS = 400
"""Entries that are read together at most over an interval of priors, where nothing is forgotten."""

HEADROOM = 1e3
"""By how much the releases far away may grow before those that were counted are counted again."""

SLOW = 1e-3
"""Least noise in any direction, in units of the prior's variance, of releases that fade quickly."""

LEAST = 1e-6
"""What is told in place of what is far, at least, in units of the prior's precision."""

ENOUGH = 1e-3
"""Information about a secret entry, in units of the prior's precision, that may be told instead."""

ALWAYS = 10**9
"""A distance beyond which there is nothing."""


@attrs.frozen(eq=False, slots=False)
class Past:
    """One release as it is remembered: where on the time line, by which channel, hiding what."""

    at: int
    channel: Any
    key: str  # equal for equal channels
    secret: Secret

    @functools.cached_property
    def points(self) -> int:
        """How many times it covers."""
        return int(self.channel.trace_form[0])

    @functools.cached_property
    def end(self) -> int:
        """The position after its last time."""
        return self.at + self.points

    def distance(self, at: int, end: int) -> int:
        """Return how many positions lie between it and a stretch; 0 where they overlap."""
        return max(0, self.at - end + 1, at - self.end + 1)

    @functools.cached_property
    def floor(self) -> float:
        """The certified least variance of its noise in any direction."""
        return float(self.channel.noise.smallest_eigenvalue())


def _start(past: Past) -> int:
    return past.at


def without_length(table: Any, value: Any = None) -> Any:
    """Return the table of a prior with its times or steps left open, or set to a value."""
    if isinstance(table, Mapping):
        return {
            key: value if key in ("times", "steps") else without_length(item, value)
            for key, item in table.items()
        }
    if isinstance(table, list) and table and isinstance(table[0], Mapping):
        return [without_length(item, value) for item in table]
    return table


@attrs.frozen(eq=False)
class Asked:
    """A measure and a secret of the trace of some points at a position, and its question."""

    measure: LossMeasure
    secret: Secret
    at: int
    points: int
    question: Any

    def around(self, width: int) -> range:
        """Return the positions that are near; all of them for no width."""
        far = width or ALWAYS
        return range(self.at - far, self.at + self.points + far)


class Account:
    """The time line of one person: a prior class without its length, and what was released."""

    def __init__(self, table: Mapping[str, Any], points: int) -> None:
        self.table = without_length(table)
        self.pasts: list[Past] = []  # in the order in which they begin
        self._found: dict[Any, Any] = {}
        self.width = 1  # how far from a trace releases have been solved with, so far
        self.step: float | None = None  # seconds between positions
        # Of all releases: the longest, the least γ, Σ n/γ, and how many different values.
        self._sums: tuple[int, float, float, int] = (0, math.inf, 0.0, 0)
        one = next(self._own(points).members()).belief()
        if not isinstance(one, (Gaussian, Markov)):
            raise Incompatible(
                f"a ledger adds up releases of Gaussian traces and of chains; the prior "
                f"'{table.get('name', 'given')}' is of {type(one).words}: release such traces once "
                f"each, without a ledger."
            )
        self.is_chain = isinstance(one, Markov)
        self.dimensions = one.dimensions if isinstance(one, Gaussian) else 1
        self.repeats = isinstance(one, Gaussian) or one.is_homogeneous

    def _prior(self, positions: Sequence[int]) -> PriorClass:
        """Return the class of beliefs about some positions of the time line, in order."""
        if positions[0] and self._stationary:
            positions = [place - positions[0] for place in positions]
        regular = list(positions) == list(range(len(positions)))
        length = len(positions) if regular else [float(place) for place in positions]
        found: PriorClass = default_registry().build("prior", without_length(self.table, length))
        return found

    def add(self, past: Past) -> None:
        """Remember a release."""
        longest, floor, told, values = self._sums
        if not self.is_chain:
            first = bisect.bisect_left(self.pasts, past.at, key=_start)
            last = bisect.bisect_right(self.pasts, past.at, key=_start)
            again = any(other.key == past.key for other in self.pasts[first:last])
            floor = min(floor, past.floor)
            told += self.dimensions * past.points / max(past.floor, 1e-250)
            values += 0 if again else self.dimensions * past.points
        self._sums = max(longest, past.points), floor, told, values
        bisect.insort(self.pasts, past, key=_start)

    @contextlib.contextmanager
    def planning(self, *more: Past) -> Iterator[None]:
        """Remember some releases for a while."""
        before = self._sums
        for past in more:
            self.add(past)
        try:
            yield
        finally:
            for past in more:
                self.pasts.remove(past)
            self._sums = before

    def within(self, at: int, end: int, width: int) -> list[Past]:
        """Return the releases at most so far from a stretch."""
        first = bisect.bisect_left(self.pasts, at - width - self._sums[0], key=_start)
        last = bisect.bisect_right(self.pasts, end + width, key=_start)
        return [p for p in self.pasts[first:last] if p.distance(at, end) <= width]

    @functools.lru_cache(maxsize=8)  # noqa: B019 - as long as the account
    def _own(self, points: int) -> PriorClass:
        """Return the class for a trace of its own: what a secret speaks of, wherever it lies."""
        return self._prior(range(points))

    def known(self, measure: LossMeasure, secret: Secret, at: int, points: int) -> Loss:
        """Return the loss about a secret of the trace at some position, by all that was released.

        It is the truth where nothing had to be forgotten, else a bound from the worse side.
        """
        if "utility" in measure.promises:
            raise Incompatible(
                f"{measure.name} counts what a release is good for, not what is known."
            )
        read = self._of_chain if self.is_chain else self._of_gaussian
        return read(measure, secret, at, points)

    def affected(self, new: Past, times: int = 1) -> list[tuple[Secret, int, int]]:
        """Return the secrets, each with its trace, that a new release tells more of.

        Only what was told instead of releases far away covers those to come: secrets that were read
        exactly, as all are of states and of few values, are read again. Where all of them are, how
        far is near is found anew.
        """
        span = ALWAYS
        if not (self.is_chain or self._few):
            before, gain = self._total, self.dimensions * new.points / max(new.floor, 1e-250)
            span = self.width if _level(self._sums[2] + times * gain) == before else ALWAYS
        if span == ALWAYS:
            self.width = 1
        near = [new, *self.within(new.at, new.end, span)]
        return list(dict.fromkeys((past.secret, past.at, past.points) for past in near))

    # --- real values -------------------------------------------------------------------------

    def _of_gaussian(self, measure: LossMeasure, secret: Secret, at: int, points: int) -> Loss:
        own = self._own(points)
        asked = Asked(measure, secret, at, points, secret.question(next(own.members()).belief()))
        least = LEAST / _peak(own)
        if self._few:
            return self._joint_loss(asked, self.pasts, least)
        most = MOST if own.finite else OVER_INTERVALS
        # Only what far releases tell of the secret is bounded, not what of the rest of the trace.
        bounded = (
            isinstance(measure, ViewMeasure) and measure.of_secret and measure.obeys_processing
        )
        fades = bounded and self._sums[1] > 0 and self._stationary
        width = 1 if self.width == ALWAYS else self.width
        while fades:
            near = self.within(at, at + points, width)
            if not all(isinstance(past.channel.noise, Diagonal) for past in near):
                width = self._up_to_next(at, at + points, width)  # they are near as a whole
                near = self.within(at, at + points, width)
            told, size = self._told(asked, near, width)
            if told * _peak(own) <= ENOUGH or (size > most and own.finite and told < math.inf):
                self.width = max(self.width, width)
                return self._joint_loss(asked, near, least, told=told, width=width)
            gone = self._fading(width) <= 1e-9 / math.sqrt(self._total)
            if size > most or (gone and len(near) == len(self.pasts)):
                break
            width += width // 2 + 1
        places = {place for past in self.pasts for place in range(past.at, past.end)}
        if self.dimensions * len(places) > most:
            raise OutsideHypotheses(
                f"nothing can be proved of more than {most} released values together: the prior "
                f"does not die out with time, or a release has directions with too little noise."
            )
        self.width = ALWAYS  # nothing covers what is still to come
        return self._joint_loss(asked, self.pasts, least)

    def _up_to_next(self, at: int, end: int, width: int) -> int:
        """Return how far from a stretch the next release ends: up to there, no more are near."""
        before = bisect.bisect_right(self.pasts, at - width - self._sums[0], key=_start)
        after = bisect.bisect_left(self.pasts, end + width, key=_start)
        ends = [at - past.end for past in self.pasts[max(before - 1, 0) : before]]
        return max(
            width,
            min([*ends, *(past.at - end for past in self.pasts[after : after + 1])], default=0),
        )

    def _joint_loss(
        self, asked: Asked, near: list[Past], least: float, *, told: float = 0.0, width: int = 0
    ) -> Loss:
        """Return the loss of what is near, with `told` more information about each secret entry.

        Over intervals `told` is that of some members; what a proof must count of what lies further
        than `width` away stands in the channel. Of what dies out with time only differences of
        positions matter, so releases that lie alike around a trace are read once.
        """
        key = self._key(asked, near, asked.measure, asked.secret, told, width)
        if key in self._found:
            return self._found[key]  # type: ignore[no-any-return]
        covered = {place for past in near for place in range(past.at, past.end)}
        more = {t: told + least * (width > 0 or t not in covered) for t in self._times(asked)}
        told_more = {place: m for place, m in more.items() if m > 0.0}
        joint = _fused(near, self.dimensions, told_more, asked.around(width))
        unique = sorted(set(joint.flat))
        where = {place: number for number, place in reversed(list(enumerate(joint.flat)))}
        places = {t - asked.at: where[t] for t in more}
        moved = Elsewhere(asked.secret, self._own(asked.points), places, self.dimensions)
        prior = self._prior(unique)
        index = {place: number for number, place in enumerate(unique)}
        alone = joint.flat == unique
        every = joint_traces(prior, None if alone else [index[place] for place in joint.flat])
        channel = AdditiveGaussian(joint.noise, dimensions=self.dimensions)
        if width and not prior.finite:
            if type(asked.measure).proved is not LossMeasure.proved:
                raise OutsideHypotheses(
                    f"{asked.measure.name} has a proof of its own over intervals, which cannot "
                    f"count what is forgotten: take an AnyOf of priors."
                )
            beyond = self._beyond(asked, joint, width)
            channel = Remembered(joint.noise, dimensions=self.dimensions, beyond=beyond)
        loss = asked.measure.loss(every, moved, _channelled(every, moved, channel))
        if told_more or joint.lowered:
            loss = _one_sided(asked.measure, loss)
        else:
            loss = attrs.evolve(loss, relative_error=loss.relative_error + joint.error)
        if key is not None:
            self._found[key] = loss
        return loss

    @property
    def _few(self) -> bool:
        """Whether nothing is forgotten yet; what has hardly any noise somewhere fades slowly."""
        one = self._own(1)
        _, floor, _, values = self._sums
        if floor >= SLOW * _peak(one):
            return values <= TOGETHER
        return values <= (MOST // 2 if one.finite else OVER_INTERVALS)

    def _key(self, asked: Asked, near: list[Past], *others: Any) -> Any:
        """Return what a reading depends on; None where positions themselves matter."""
        if not self._stationary:
            return None
        around = tuple((past.at - asked.at, past.key) for past in near)
        return (asked.points, around, self._total, self._sums[1] > 0, *others)

    def _times(self, asked: Asked) -> list[int]:
        """Return the positions of the secret's times."""
        entries = itertools.chain.from_iterable(groups_of(asked.question))
        return sorted({asked.at + entry // self.dimensions for entry in entries})

    @property
    def _stationary(self) -> bool:
        """Whether only differences of positions matter, and covariances die out with them."""
        return not self.is_chain and self._fading(1) < math.inf

    @functools.cache  # noqa: B019 - as long as the account
    def _fading(self, distance: int) -> float:
        """Bound any covariance at that distance or more, for every member.

        It grows with every parameter (`Prior.covariance_beyond`), and the ends of an interval are
        among the members that are listed.
        """
        return max(m.covariance_beyond(float(distance)) for m in self._own(1).members())

    @property
    def _total(self) -> float:
        """A bound of Σ n_r/γ_r over all releases, that changes only when it has grown much.

        While it does not, what was once counted as far away need not be counted again.
        """
        return _level(self._sums[2])

    def _reach(self) -> int:
        """Return how far from what is near covariances are looked at one by one; 0: nowhere."""
        away, least = 1, 1e-12 / math.sqrt(self._total)
        while self._fading(away) > least and away < MOST:
            away += away // 2 + 1
        reach = away + self._sums[0]
        return reach if self._own(1).finite and 2 * reach * self.dimensions <= MOST else 0

    def _beyond(self, asked: Asked, joint: Fused, width: int) -> Array:
        """Return √(Σ_r n_r/γ_r) times bounds of each entry's covariance with what is far, (2, n).

        A row for what lies before, and one for what lies after the stretch that is near.
        """
        held = asked.around(width)
        low, high = held.start - 1, held.stop
        rows = [
            [self._fading(max(0, away)) for away in side]
            for side in ([p - low for p in joint.flat], [high - p for p in joint.flat])
        ]
        return math.sqrt(self._total) * np.repeat(np.array(rows), self.dimensions, axis=1)

    def _told(self, asked: Asked, near: list[Past], width: int) -> tuple[float, int]:
        """Bound by how much the information M about the secret entries is more with the far ones.

        Also return how many entries are near.

        For any weights w on what is near, y = e − w and r = Σ y − Γ w, as in
        `inference.gaussian.interval_classes`, V = yᵀΣ y + wᵀΓ w − rᵀK⁻¹r of all releases together.
        With w best for those near, r is zero there but for rounding, and elsewhere the covariance
        with the secret that the near ones leave, looked at place by place up to `_reach`. Further
        away, and over intervals anywhere, it is at most Σ_o |Σ_no| |y_o|. As K ⪰ Γ, rᵀK⁻¹r is below
        d = (√(rᵀr/γ) + max_n |r_n| √(Σ_r n_r/γ_r))², and M at most (V − d)⁻¹ − Σ_SS⁻¹. So the bound
        holds for what is released there later, too, while Σ_r n_r/γ_r allows it.
        """
        key = self._key(asked, near, asked.question, width)
        if key in self._found:
            return self._found[key]  # type: ignore[no-any-return]
        least = LEAST / _peak(self._own(asked.points))
        more = dict.fromkeys(self._times(asked), least)
        joint = _fused(near, self.dimensions, more, asked.around(width))
        reach, held = self._reach(), asked.around(width)
        edges = [*range(held.start - reach, held.start), *range(held.stop, held.stop + reach)]
        unique = sorted({*joint.flat, *edges})
        number = {place: k for k, place in enumerate(unique)}
        rows = np.array([number[place] for place in (*joint.flat, *edges)]) * self.dimensions
        rows = (rows[:, None] + np.arange(self.dimensions)).ravel()
        first = {place: k for k, place in reversed(list(enumerate(joint.flat)))}
        noise, beyond, worst = joint.noise, self._beyond(asked, joint, width + reach), 0.0
        root, groups = math.sqrt(self._total), groups_of(asked.question)
        for belief in (member.belief() for member in self._prior(unique).members()):
            whole = belief.covariance.block(rows, rows)
            for group in groups:
                times = [divmod(entry, self.dimensions) for entry in group]
                entries = [first[asked.at + time] * self.dimensions + axis for time, axis in times]
                gain = _gain_by_far(
                    whole, belief.rounding, noise, entries, beyond=beyond, root=root
                )
                worst = max(worst, gain)
        self._found[key] = worst, noise.size
        return worst, noise.size

    # --- states ------------------------------------------------------------------------------

    def _of_chain(self, measure: LossMeasure, secret: Secret, at: int, points: int) -> Loss:
        pasts = self.pasts
        if any(isinstance(past.channel, RememberingSuppression) for past in pasts):
            if len(pasts) > 1 or at or (pasts[0].at, pasts[0].points) != (at, points):
                raise Incompatible(
                    "a suppression with a hidden memory is read alone, from position 0: no other "
                    "release of the same person can be accounted for beside it."
                )
            own = self._own(points)
            return measure.loss(own, secret, _channelled(own, secret, pasts[0].channel))
        low, high, near = stretch_around(pasts, at, at + points)
        outside = [past for past in pasts if past.at < low or past.end > high]
        ends = (
            {place for place in (low - 1, high) if place >= 0 and outside}
            if self.repeats
            else set()
        )
        first, last = min({low, *ends}), max({high - 1, *ends})
        whole = self._prior(range(last + 1 if self.repeats else points))
        states = next(whole.members()).belief().states
        length = last - first + 1
        prior = whole if first == 0 else chain_part(whole, first, length)
        own = self._own(points)
        moved = Elsewhere(secret, own, {t: at - first + t for t in range(points)}, 1, length)
        parts = tuple(
            (max(past.at, low) - first, cut_channel(past.channel, low - past.at, high - past.at))
            for past in near
        )
        channel, bounded = multiply_channels(
            states, length, parts, frozenset(place - first for place in ends)
        )
        loss = measure.loss(prior, moved, _channelled(prior, moved, channel))
        return _one_sided(measure, loss) if ends or bounded else loss


def _level(total: float) -> float:
    """Return the next power of `HEADROOM`."""
    return float(HEADROOM ** math.ceil(math.log(max(total, 1.0), HEADROOM)))


def _peak(prior: PriorClass) -> float:
    """Return the largest variance that a finite class gives an entry."""
    return max(float(member.belief().covariance.diagonal().max()) for member in prior.members())


def _one_sided(measure: LossMeasure, loss: Loss) -> Loss:
    """Return a loss of somebody who was told more: a bound from the worse side."""
    if not getattr(measure, "obeys_processing", False):
        raise OutsideHypotheses(
            f"{measure.name} may fall when more is seen, so it cannot be bounded where older "
            f"releases are forgotten."
        )
    worse = loss.quantity.worse == "larger"
    return attrs.evolve(
        loss,
        value=loss.ceiling if worse else loss.floor,
        bound="upper" if worse else "lower",
        interval=None,
        relative_error=0.0,
        how=f"{loss.how}; releases far away are counted by telling more",
    )


# --- noise, and what is left --------------------------------------------------------------------


@attrs.frozen(eq=False)
class Fused:
    """Releases as few blocks: positions and noise of each, and the relative rounding of it all."""

    blocks: list[tuple[list[int], Matrix]]
    error: float
    lowered: bool  # whether some noise was taken for its least part, which is a bound

    @property
    def flat(self) -> list[int]:
        """The positions of all blocks, one after another."""
        return [place for places, _ in self.blocks for place in places]

    @property
    def noise(self) -> Matrix:
        """The noise of all blocks."""
        noises = tuple(noise for _, noise in self.blocks)
        return noises[0] if len(noises) == 1 else BlockDiagonal(noises)


@attrs.frozen(eq=False, slots=False)
class Remembered(AdditiveGaussian):
    """Noise on what is near, and what a proof over intervals must count of what lies further."""

    beyond: Any = attrs.field(kw_only=True)  # type: ignore[misc]  # of the object here


def _fused(near: list[Past], dimensions: int, more: Mapping[int, float], held: range) -> Fused:
    """Return the releases as one with independent noise and those that are correlated.

    Of independent noise only what is held counts.

    k releases of X + N(0, Γ) tell what one of X + N(0, Γ/k) does, their mean; independent noise of
    variances v₁, v₂, … what one of 1/(1/v₁ + 1/v₂ + …) does. `more` adds information of its own.
    """
    precisions: dict[int, Array] = {place: np.full(dimensions, m) for place, m in more.items()}
    blocks: dict[tuple[int, str], tuple[Past, int]] = {}
    distinct = {(past.at, past.key): past.points for past in near}
    crowded = dimensions * sum(distinct.values()) > MOST
    for past in near:
        noise = past.channel.noise
        if isinstance(noise, Diagonal) or crowded:
            variances = (
                noise.variances
                if isinstance(noise, Diagonal)
                else np.full(noise.size, past.floor)  # less noise: a bound
            )
            with np.errstate(divide="ignore"):
                each = (1.0 / variances).reshape(-1, dimensions)
            for offset, row in enumerate(each):
                if (place := past.at + offset) in held:
                    precisions[place] = precisions.get(place, np.zeros(dimensions)) + row
        else:
            _, count = blocks.get((past.at, past.key), (past, 0))
            blocks[past.at, past.key] = past, count + 1
    shrink = 1.0 - (len(near) + 4) * 2 * ROUNDOFF  # never more noise than there is
    found: list[tuple[list[int], Matrix]] = []
    if precisions:
        places = sorted(precisions)
        if dimensions * len(places) > 4 * MOST:
            raise OutsideHypotheses(
                f"at most {4 * MOST} values are read together; got {dimensions * len(places)} that "
                f"cannot be forgotten, as the prior does not die out with time."
            )
        variances = shrink / np.concatenate([precisions[place] for place in places])
        found.append((places, Diagonal(variances)))
    for past, count in blocks.values():
        noise = past.channel.noise if count == 1 else past.channel.noise.scaled(shrink / count)
        found.append((list(range(past.at, past.end)), noise))
    return Fused(found, 1.0 - shrink, crowded)


def _channelled(prior: PriorClass, secret: Secret, channel: Any) -> Release:
    return Release(
        mechanism=Composition(()),
        prior=prior,
        secret=secret,
        channel=channel,
        utility_value=0.0,
        utility_quantity=MEAN_SQUARED_ERROR,
    )


def _gain_by_far(
    whole: Array, rounding: float, noise: Matrix, entries: list[int], *, beyond: Array, root: float
) -> float:
    """Bound the further information of `Account._told`; rounding is added to r and to V.

    `whole` is the covariance of what is near and then of places elsewhere, with the relative
    rounding of its entries; `root` is √(Σ_r n_r/γ_r).
    """
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    gamma, size = noise.dense(), noise.size
    sigma, cross = whole[:size, :size], whole[size:, :size]
    floor = 0.99 * noise.smallest_eigenvalue()
    try:
        w = cho_solve(cho_factor(sigma + gamma, lower=True), sigma[:, entries])
    except LinAlgError:
        return math.inf
    y = -w
    y[entries, range(len(entries))] += 1.0
    unit, blur = (4 * size + 16) * ROUNDOFF, rounding * float(sigma.diagonal().max())
    off = unit * (np.abs(sigma) @ np.abs(y) + np.abs(gamma) @ np.abs(w)) + blur * np.abs(y).sum(0)
    rest = np.abs(sigma @ y - gamma @ w) + off
    close = float(np.linalg.norm(rest) + noise.error_bound() * np.linalg.norm(w)) / math.sqrt(floor)
    left_off = unit * np.abs(cross) @ np.abs(y) + blur * np.abs(y).sum(0)
    elsewhere = np.vstack([root * (np.abs(cross @ y) + left_off), beyond @ np.abs(y)])
    far = float(np.linalg.norm(elsewhere.max(axis=0)))
    d = (close + far) ** 2 * (1 + 1e-12)
    left = y.T @ sigma @ y + w.T @ gamma @ w
    slack = float(np.sum(np.abs(y).T @ off)) + noise.error_bound() * float(np.sum(w**2))
    least = float(np.linalg.eigvalsh((left + left.T) / 2)[0]) - 2 * slack - d
    return d / (least * (least + d)) if least > 0 else math.inf
