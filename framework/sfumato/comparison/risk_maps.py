"""Risk maps: the loss of every single time, and what the release at each time gives away alone.

The rows of a map are ordinary cells of a study, which ask `RisksOf` a measure instead of its loss:
they run where other cells run and are kept where they are kept. How many there are is decided by
counts before they run, so that a page does not depend on the speed of a machine.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from sfumato.comparison.cells import Cell, Comparison, attempt
from sfumato.comparison.glimpses import LeakMatrix as LeakMatrix  # noqa: PLC0414 - for who draws
from sfumato.comparison.glimpses import leak_matrix
from sfumato.plugin_registry import default_registry
from sfumato.protocols import LossMeasure, Quantity, Reading, Release
from sfumato.questions.events import by_time
from sfumato.report.words import noun_names

if TYPE_CHECKING:
    from sfumato.plugin_registry import Registry

MOST_MAPS = 2
MOST_ROWS = 12
MOST_MATRICES = 6
MOST_VALUES = 2000
"""In the bands of one map."""
MOST_TIMES = 20
"""On each side of a matrix; of longer traces, times evenly spread."""
MOST_MARKED = 5
TOO_MANY = "too many"


@attrs.frozen(kw_only=True)
class RiskRow:
    """The loss at each time of one thing that is asked, under one mechanism.

    Attributes
    ----------
    losses
        With each time as the secret, from all that is released.
    alone
        With the first time as the secret, from what is released at the second time alone; empty
        where that has no answer.
    why_not_alone
        Why it is empty.
    exact
        Whether all of these are exact.
    """

    mechanism: str
    asked: str
    losses: Mapping[int, float]
    alone: Mapping[tuple[int, int], float]
    why_not_alone: str
    exact: bool

    @classmethod
    def from_plain(cls, table: Mapping[str, Any], mechanism: str) -> RiskRow:
        """Read a row that a cell holds."""
        losses = dict(table["losses"])
        alone = {(secret, released): loss for secret, released, loss in table["alone"]}
        return cls(**{**table, "losses": losses, "alone": alone}, mechanism=mechanism)


@attrs.frozen(kw_only=True)
class RiskMap:
    """Losses by mechanism and time, for one prior and one secret.

    Attributes
    ----------
    marked
        The times that the secret itself names.
    left_out
        The mechanisms that are not drawn, with the reason.
    """

    prior: str
    secret: str
    quantity: Quantity
    rows: tuple[RiskRow, ...]
    marked: frozenset[int]
    left_out: tuple[str, ...] = ()

    @property
    def times(self) -> range:
        """From the first time to the last."""
        return range(1 + max(max(row.losses) for row in self.rows))


# What a cell of a map computes -------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class RisksOf:
    """Asks a release for its rows of a map: a measure's losses of single times.

    Attributes
    ----------
    worst
        The specification of the member of the prior class whose map it is.
    marked
        The times that the secret names.
    squares
        Whether the rows have matrices, too.
    """

    measure: Any
    worst: Mapping[str, Any]
    marked: Sequence[int]
    squares: bool

    def specification(self) -> dict[str, Any]:
        """Return the plain table that `build` reads."""
        return {
            "risks_of": self.measure.specification(),
            "worst": self.worst,
            "marked": list(self.marked),
            "squares": self.squares,
        }

    @classmethod
    def build(cls, table: Mapping[str, Any], registry: Registry) -> RisksOf:
        """Rebuild what a specification describes."""
        others = {key: value for key, value in table.items() if key != "risks_of"}
        return cls(measure=registry.build("measure", table["risks_of"]), **others)

    def __call__(self, release: Release) -> dict[str, tuple[Any, ...]]:
        """Return the rows, in plain values."""
        at = release.situation(_member(release.prior, self.worst), release.secret)
        asked = by_time(at.question, at.belief).items()
        return {
            "risks": tuple(self._row(name, each, at.belief, at.channel) for name, each in asked)
        }

    def _row(self, asked: str, each: Mapping[int, Any], belief: Any, channel: Any) -> Any:
        found = {time: self.measure.evaluate(belief, one, channel) for time, one in each.items()}
        alone, why_not = self._alone(belief, channel, each) if self.squares else ({}, TOO_MANY)
        readings: Iterable[Reading] = (*found.values(), *alone.values())
        return {
            "asked": asked,
            "losses": [[time, reading.value] for time, reading in found.items()],
            "alone": [[*pair, reading.value] for pair, reading in alone.items()],
            "why_not_alone": why_not,
            "exact": all(reading.bound == "exact" for reading in readings),
        }

    def _alone(self, belief: Any, channel: Any, each: Mapping[int, Any]) -> tuple[LeakMatrix, str]:
        sides = _sides(list(each), self.marked)
        found, _, why_not = attempt(
            dict, lambda: leak_matrix(self.measure, belief, channel, each, sides)
        )
        return found or {}, why_not


def _member(prior: Any, specification: Mapping[str, Any]) -> Any:
    """Return the member of a class that a specification is the specification of."""
    for member in prior.members():
        if member.specification() == specification:
            return member
    return default_registry().build("prior", specification)


def _sides(times: list[int], marked: Iterable[int]) -> list[int]:
    """Return the times on the sides of a matrix: evenly spread, with those the secret names."""
    stride = math.ceil(len(times) / MOST_TIMES)
    named = sorted(set(marked) & set(times))[:MOST_MARKED]
    first = times.index(named[0]) % stride if named else 0
    return sorted({*times[first::stride], *named})


# Which cells have a map --------------------------------------------------------------------------


@attrs.frozen
class PlannedMap:
    """The cells of one prior and one secret, and what is asked for each; None for those left out.

    For a class of priors the map is that of the member with the worst loss.
    """

    cells: tuple[Cell, ...]
    marked: frozenset[int]
    asks: tuple[RisksOf | None, ...]

    def draw(self, every: Sequence[Cell], answers: Iterable[Cell]) -> RiskMap:
        """Return the map; the answers are those of what was asked, in order."""
        names = {kind: noun_names(every, kind) for kind in ("prior", "secret", "mechanism")}
        rows: list[RiskRow] = []
        left_out: list[str] = []
        answer = iter(answers)
        for cell, ask in zip(self.cells, self.asks, strict=True):
            name = names["mechanism"].of(cell, "mechanism")
            found = Cell(outcome="refused", reason=TOO_MANY) if ask is None else next(answer)
            rows += [RiskRow.from_plain(row, name) for row in found.risks]
            if found.outcome != "measured":
                left_out.append(f"{name} ({found.reason})")
        first = self.cells[0]
        return RiskMap(
            prior=names["prior"].of(first, "prior"),
            secret=names["secret"].of(first, "secret"),
            quantity=first.quantity,
            rows=tuple(rows),
            marked=self.marked,
            left_out=tuple(left_out),
        )


def risk_maps(comparison: Comparison) -> list[RiskMap]:
    """Return the maps of a comparison: those it has, or else computed here and now."""
    from sfumato.comparison.study_files import as_study_result

    return list(as_study_result(comparison).with_maps().maps[0])


def plan_maps(comparison: Comparison) -> list[PlannedMap]:
    """Choose maps of a few pairs of prior and secret, spread over those of the comparison."""
    pairs = _mappable(comparison)
    if len(pairs) > MOST_MAPS:
        last = len(pairs) - 1
        pairs = [pairs[round(place * last / (MOST_MAPS - 1))] for place in range(MOST_MAPS)]
    found = [_plan(cells) for cells in pairs]
    return [planned for planned in found if planned.cells]


def told_of_choice(comparison: Comparison) -> str:
    """Say how many pairs of prior and secret have a map, where not all do."""
    pairs = len(_mappable(comparison))
    if pairs <= MOST_MAPS:
        return ""
    return f"Maps of {MOST_MAPS} of {pairs} pairs of prior and secret: the first and the last."


def _mappable(comparison: Comparison) -> list[list[Cell]]:
    """Return the cells of which a map can be made, by prior and secret."""
    first: dict[Any, Any] = {}
    groups: dict[Any, list[Cell]] = {}
    for cell in comparison.measured:
        # One measure for each prior and secret: the first that depends on what is asked.
        if _asks_by_time(cell.measure):
            pair = cell.prior, cell.secret
            if first.setdefault(pair, cell.measure) == cell.measure:
                groups.setdefault(pair, []).append(cell)
    return list(groups.values())


def _asks_by_time(measure: Any) -> bool:
    return isinstance(measure, LossMeasure) and all(
        question is not object for _, question, _ in type(measure).reads
    )


def _plan(cells: Sequence[Cell]) -> PlannedMap:
    """Decide, by counts alone, which of the cells have a row, and which rows a matrix."""
    belief = next(cells[0].prior.members()).belief()
    question = cells[0].secret.question(belief)
    asked = by_time(question, belief)
    if not asked:
        return PlannedMap((), frozenset(), ())
    marked = _marked(question, belief)
    values = sum(map(len, asked.values()))
    asks: list[RisksOf | None] = []
    rows = 0
    for cell in cells:
        if rows >= MOST_ROWS or (1 + rows // len(asked)) * values > MOST_VALUES:
            asks.append(None)
            continue
        squares = rows < MOST_MATRICES
        asks.append(_ask(cell, marked, squares=squares))
        rows += len(asked)
    return PlannedMap(tuple(cells), marked, tuple(asks))


def _ask(cell: Cell, marked: frozenset[int], *, squares: bool) -> RisksOf:
    seeded = {} if cell.seed is None else {"seed": cell.seed}
    return RisksOf(
        measure=attrs.evolve(cell.measure, **seeded),
        worst=cell.reading.worst,
        marked=sorted(marked),
        squares=squares,
    )


def _marked(question: Any, belief: Any) -> frozenset[int]:
    """Return the times that a question about displacements names."""
    entries = set(getattr(question, "entries", ()))
    if not entries or not hasattr(belief, "entries_at"):
        return frozenset()
    return frozenset(time for time in range(belief.times) if entries & set(belief.entries_at(time)))


# What is said of maps ----------------------------------------------------------------------------


def finite_losses(risk: RiskMap) -> list[float]:
    """Return the finite losses of a map."""
    losses = (loss for row in risk.rows for loss in row.losses.values())
    return [loss for loss in losses if math.isfinite(loss)]


def told_of_maps(maps: Sequence[RiskMap]) -> str:
    """Say what the cells of the maps and of the matrices are."""
    words = ["In a band, each cell is the loss if that single time were the secret."]
    if any(row.alone for risk in maps for row in risk.rows):
        words.append(
            "In a square, it is the loss of the secret at the time of its row if nothing but the "
            "release at the time of its column were seen; the strip beside it is the loss from all "
            "releases together. A pale row with a dark strip is a secret that no single point "
            "gives away, but all of them do."
        )
    words.append("Darker is worse.")
    if any(risk.marked for risk in maps):
        words.append("▾ and ▸ mark what the mechanisms were asked to protect.")
    return " ".join(words)


def told_of_map(risk: RiskMap) -> str:
    """Say what is missing from one map, and whether it shows bounds."""
    words = []
    if not all(row.exact for row in risk.rows):
        words.append("Some values are bounds.")
    if risk.left_out:
        words.append(f"Not drawn: {'; '.join(risk.left_out)}.")
    missing = {row.mechanism: row.why_not_alone for row in risk.rows if not row.alone}
    if missing:
        told = "; ".join(f"{name} ({why.rstrip('.')})" for name, why in missing.items())
        words.append(f"Without a square: {told}.")
    return " ".join(words)
