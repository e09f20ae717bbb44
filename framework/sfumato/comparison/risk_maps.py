"""Risk maps: the loss of every single time, and what the release at each time gives away alone.

The rows of a map are ordinary cells of a study, which ask `RisksOf` a measure instead of its loss:
they run where other cells run and are kept where they are kept. How many there are is decided by
counts before they run, so that a page does not depend on the speed of a machine.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs

from sfumato.comparison.cells import FACTORS, Cell, Comparison, attempt
from sfumato.comparison.glimpses import leak_matrix
from sfumato.comparison.names import group_by, noun_names
from sfumato.plugin_registry import default_registry
from sfumato.protocols import Loss, LossMeasure, Quantity, Release, Situation
from sfumato.questions.events import by_time
from sfumato.values import digest

if TYPE_CHECKING:
    from sfumato.plugin_registry import Registry

MOST_MAPS = 12
"""Of one comparison: of pairs of prior and secret, evenly spread; both ends have squares."""
MOST_ROWS = 40
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

    `losses` are those with each time as the secret, from all that is released; `alone` those with
    the first time as the secret, from what is released at the second time alone, or empty, which
    `why_not_alone` explains. `exact` says whether all of them are.
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

    `marked` are the times that the secret itself names; `left_out` are the mechanisms that are not
    drawn, with the reason.
    """

    prior: str
    secret: str
    quantity: Quantity
    rows: tuple[RiskRow, ...]
    marked: frozenset[int]
    left_out: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<RiskMap of {self.quantity}, {len(self.rows)} rows: {self.prior}; {self.secret}>"

    @property
    def times(self) -> range:
        """From the first time to the last."""
        return range(1 + max(max(row.losses) for row in self.rows))


# What a cell of a map computes -------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class RisksOf:
    """Asks a release for its rows of a map: a measure's losses of single times.

    The map is that of the prior class's member `worst`, a specification; `marked` are the times
    that the secret names, and `squares` says whether the rows have matrices, too.
    """

    measure: Any
    worst: Mapping[str, Any]
    marked: Sequence[int]
    squares: bool

    def specification(self) -> dict[str, Any]:
        """Return the plain table that `build` reads."""
        table = {field.name: getattr(self, field.name) for field in attrs.fields(RisksOf)}
        return {**table, "measure": self.measure.specification()}

    @classmethod
    def build(cls, table: Mapping[str, Any], registry: Registry) -> RisksOf:
        """Rebuild what a specification describes."""
        return cls(**{**table, "measure": registry.build("measure", table["measure"])})

    def __call__(self, release: Release) -> dict[str, tuple[Any, ...]]:
        """Return the rows, in plain values."""
        at = release.situation(_member(release.prior, self.worst), release.secret)
        asked = by_time(at.question, at.belief)
        return {"risks": tuple(self._row(name, each, at) for name, each in asked.items())}

    def _row(self, asked: str, each: Mapping[int, Any], at: Situation) -> dict[str, Any]:
        found = {time: self.measure.evaluate(at.belief, q, at.channel) for time, q in each.items()}
        alone, why_not = None, TOO_MANY
        if self.squares:
            sides = _side_times(list(each), self.marked)
            matrix = partial(leak_matrix, self.measure, at.belief, at.channel, each, sides)
            alone, _, why_not = attempt(dict, matrix)
        alone = alone or {}
        readings = (*found.values(), *alone.values())
        return {
            "asked": asked,
            "losses": [[time, reading.value] for time, reading in found.items()],
            "alone": [[*pair, reading.value] for pair, reading in alone.items()],
            "why_not_alone": why_not,
            "exact": all(reading.bound == "exact" for reading in readings),
        }


def _member(prior: Any, specification: Mapping[str, Any]) -> Any:
    """Return the member of a class that a specification is the specification of."""
    wanted = digest(specification)
    for member in prior.members():
        if digest(member.specification()) == wanted:
            return member
    return default_registry().build("prior", specification)


def _side_times(times: list[int], marked: Iterable[int]) -> list[int]:
    """Return the times on the sides of a matrix: evenly spread, with those the secret names."""
    stride = math.ceil(len(times) / MOST_TIMES)
    named = sorted(set(marked) & set(times))[:MOST_MARKED]
    first = times.index(named[0]) % stride if named else 0
    return sorted({*times[first::stride], *named})


# Which cells have a map --------------------------------------------------------------------------


PlannedMap = list[tuple[Cell, RisksOf | None]]
"""The cells of one prior and one secret, and what is asked for each; None for those left out."""


def draw_map(planned: PlannedMap, every: Sequence[Cell], answers: Iterable[Cell]) -> RiskMap:
    """Return the map; the answers are those of what was asked, in order."""
    names = {kind: noun_names(every, kind) for kind in FACTORS}
    rows: list[RiskRow] = []
    left_out: list[str] = []
    marked: frozenset[int] = frozenset()
    answer = iter(answers)
    for cell, ask in planned:
        name = names["mechanism"].of(cell, "mechanism")
        if ask is None:
            left_out.append(f"{name} ({TOO_MANY})")
            continue
        found, marked = next(answer), frozenset(ask.marked)
        rows += [RiskRow.from_plain(row, name) for row in found.risks]
        if found.outcome != "measured":
            left_out.append(f"{name} ({found.reason})")
    first = planned[0][0]
    return RiskMap(
        prior=names["prior"].of(first, "prior"),
        secret=names["secret"].of(first, "secret"),
        quantity=first.loss.quantity,
        rows=tuple(rows),
        marked=marked,
        left_out=tuple(left_out),
    )


def plan_maps(comparison: Comparison) -> list[PlannedMap]:
    """Choose maps of a few pairs of prior and secret, spread over those of the comparison.

    For a class of priors the map is that of the member with the worst loss.
    """
    pairs = cells_by_pair(comparison)
    if len(pairs) > MOST_MAPS:
        last = len(pairs) - 1
        pairs = [pairs[round(place * last / (MOST_MAPS - 1))] for place in range(MOST_MAPS)]
    ends = (0, len(pairs) - 1)
    found = (_plan(pair, squares=place in ends) for place, pair in enumerate(pairs))
    return [planned for planned in found if planned]


def cells_by_pair(comparison: Comparison) -> list[list[Cell]]:
    """Return the cells of which a map can be made, by prior and secret.

    There is one measure for each pair, among those that depend on what is asked: the first that is
    not a probability, which would be near one wherever much is told, if it is finite; else the
    first.
    """
    asking = [cell for cell in comparison.measured if depends_on_secret(cell.measure)]
    pairs = group_by(asking, lambda cell: (cell.prior, cell.secret)).values()
    chosen = []
    for pair in pairs:
        each = list(group_by(pair, lambda cell: cell.measure).values())
        wide = (own for own in each if all(_is_wide(cell.loss) for cell in own))
        chosen.append(next(wide, each[0]))
    return chosen


def _is_wide(loss: Loss) -> bool:
    """Whether a loss can be drawn to scale, and tells large ones apart."""
    return loss.quantity.unit != "probability" and math.isfinite(loss.value)


def depends_on_secret(measure: Any) -> bool:
    """Whether a measure's number is of what is told, and depends on what is asked."""
    return (
        isinstance(measure, LossMeasure)
        and "utility" not in measure.promises
        and all(question is not object for _, question, _ in type(measure).reads)
    )


def _plan(cells: Sequence[Cell], *, squares: bool) -> PlannedMap:
    """Decide, by counts alone, which of the cells have a row, and which rows a matrix."""
    belief = next(cells[0].prior.members()).belief()
    question = cells[0].secret.question(belief)
    asked = by_time(question, belief)
    values = sum(map(len, asked.values()))
    marked = sorted(_marked_times(question, belief))
    planned: PlannedMap = []
    several = any(len(each) > 1 for each in asked.values())  # of one time there is no map
    for place, cell in enumerate(cells if several else ()):
        rows = place * len(asked)
        if rows >= MOST_ROWS or (place + 1) * values > MOST_VALUES:
            planned.append((cell, None))
            continue
        seed = {} if cell.seed is None else {"seed": cell.seed}
        ask = RisksOf(
            measure=attrs.evolve(cell.measure, **seed),
            worst=cell.loss.worst,
            marked=marked,
            squares=squares and rows < MOST_MATRICES,
        )
        planned.append((cell, ask))
    return planned


def _marked_times(question: Any, belief: Any) -> frozenset[int]:
    """Return the times that a question about displacements names."""
    entries = set(getattr(question, "entries", ()))
    times = range(belief.times if entries and hasattr(belief, "entries_at") else 0)
    return frozenset(time for time in times if entries & set(belief.entries_at(time)))
