"""Risk maps: the loss of every single time, had it been the secret.

The rows of a map are ordinary cells of a study, which ask `RisksOf` a measure instead of its loss:
they run where other cells run and are kept where they are kept. How many there are is decided by
counts before they run, so that a page does not depend on the speed of a machine.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from sfumato.comparison.cells import FACTORS, Cell, Comparison
from sfumato.comparison.names import group_by, noun_names, value_text
from sfumato.plugin_registry import default_registry
from sfumato.protocols import Loss, LossMeasure, Quantity, Release, Situation
from sfumato.quantities import count_text
from sfumato.questions.events import by_time
from sfumato.values import digest

if TYPE_CHECKING:
    from sfumato.plugin_registry import Registry

MOST_MAPS = 12
"""Of one comparison: of pairs of prior and secret, evenly spread."""
MOST_ROWS = 40
MOST_VALUES = 2000
"""In one map."""
TOO_MANY = "too many"


@attrs.frozen(kw_only=True)
class RiskRow:
    """The loss with each time as the secret, of one thing that is asked, under one mechanism.

    `exact` says whether all losses are.
    """

    mechanism: str
    asked: str
    losses: Mapping[int, float]
    exact: bool

    def __repr__(self) -> str:
        return f"<RiskRow of {count_text(len(self.losses), 'time')}: {self.told}>"

    def _repr_html_(self) -> str:
        from sfumato.report.cards import result_card

        return result_card(f"Risks of {count_text(len(self.losses), 'time')}", self.told)

    @property
    def told(self) -> str:
        """What is asked, under which mechanism, and between what numbers the losses lie."""
        low, high = (value_text(end(self.losses.values())) for end in (min, max))
        asked = f"{self.asked}, " if self.asked else ""
        bounds = "" if self.exact else ", some are bounds"
        return f"{asked}{self.mechanism}, losses {low} to {high}{bounds}"

    @classmethod
    def from_plain(cls, table: Mapping[str, Any], mechanism: str) -> RiskRow:
        """Read a row that a cell holds."""
        return cls(**{**table, "losses": dict(table["losses"])}, mechanism=mechanism)


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
        rows = count_text(len(self.rows), "row")
        return f"<RiskMap of {self.quantity}, {rows}: {self.prior}; {self.secret}>"

    def _repr_html_(self) -> str:
        from sfumato.report.cards import result_card

        rows = {f"row {number}": row.told for number, row in enumerate(self.rows, 1)}
        left = {"not drawn": "; ".join(self.left_out)} if self.left_out else {}
        facts = {"prior": self.prior, "secret": self.secret, **rows, **left}
        return result_card("Risk map", str(self.quantity), **facts)

    @property
    def times(self) -> range:
        """From the first time to the last."""
        return range(1 + max(max(row.losses) for row in self.rows))


# What a cell of a map computes -------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class RisksOf:
    """Asks a release for its rows of a map: a measure's losses of single times.

    The map is that of the prior class's member `worst`, a specification.
    """

    measure: Any
    worst: Mapping[str, Any]

    def specification(self) -> dict[str, Any]:
        """Return the plain table that `build` reads."""
        return {"measure": self.measure.specification(), "worst": self.worst}

    @classmethod
    def build(cls, table: Mapping[str, Any], registry: Registry) -> RisksOf:
        """Rebuild what a specification describes."""
        return cls(measure=registry.build("measure", table["measure"]), worst=table["worst"])

    def __call__(self, release: Release) -> dict[str, tuple[Any, ...]]:
        """Return the rows, in plain values."""
        at = release.situation(_member(release.prior, self.worst), release.secret)
        asked = by_time(at.question, at.belief)
        return {"risks": tuple(self._row(name, each, at) for name, each in asked.items())}

    def _row(self, asked: str, each: Mapping[int, Any], at: Situation) -> dict[str, Any]:
        found = {time: self.measure.evaluate(at.belief, q, at.channel) for time, q in each.items()}
        return {
            "asked": asked,
            "losses": [[time, reading.value] for time, reading in found.items()],
            "exact": all(reading.bound == "exact" for reading in found.values()),
        }


def _member(prior: Any, specification: Mapping[str, Any]) -> Any:
    """Return the member of a class that a specification is the specification of."""
    wanted = digest(specification)
    for member in prior.members():
        if digest(member.specification()) == wanted:
            return member
    return default_registry().build("prior", specification)


# Which cells have a map --------------------------------------------------------------------------


PlannedMap = list[tuple[Cell, RisksOf | None]]
"""The cells of one prior and one secret, and what is asked for each; None for those left out."""


def draw_map(planned: PlannedMap, every: Sequence[Cell], answers: Iterable[Cell]) -> RiskMap:
    """Return the map; the answers are those of what was asked, in order."""
    names = {kind: noun_names(every, kind) for kind in FACTORS}
    rows: list[RiskRow] = []
    left_out: list[str] = []
    answer = iter(answers)
    for cell, ask in planned:
        name = names["mechanism"].of(cell, "mechanism")
        if ask is None:
            left_out.append(f"{name} ({TOO_MANY})")
            continue
        found = next(answer)
        rows += [RiskRow.from_plain(row, name) for row in found.risks]
        if found.outcome != "measured":
            left_out.append(f"{name} ({found.reason})")
    first = planned[0][0]
    return RiskMap(
        prior=names["prior"].of(first, "prior"),
        secret=names["secret"].of(first, "secret"),
        quantity=first.loss.quantity,
        rows=tuple(rows),
        marked=_marked_times(first),
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
    return [planned for planned in map(_plan, pairs) if planned]


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


def _plan(cells: Sequence[Cell]) -> PlannedMap:
    """Decide, by counts alone, which of the cells have rows."""
    belief = next(cells[0].prior.members()).belief()
    asked = by_time(cells[0].secret.question(belief), belief)
    values = sum(map(len, asked.values()))
    planned: PlannedMap = []
    several = any(len(each) > 1 for each in asked.values())  # of one time there is no map
    for place, cell in enumerate(cells if several else ()):
        if place * len(asked) >= MOST_ROWS or (place + 1) * values > MOST_VALUES:
            planned.append((cell, None))
            continue
        seed = {} if cell.seed is None else {"seed": cell.seed}
        measure = attrs.evolve(cell.measure, **seed)
        planned.append((cell, RisksOf(measure=measure, worst=cell.loss.worst)))
    return planned


def _marked_times(cell: Cell) -> frozenset[int]:
    """Return the times that a secret about displacements names."""
    belief = next(cell.prior.members()).belief()
    question = cell.secret.question(belief)
    entries = set(getattr(question, "entries", ()))
    times = range(belief.times if entries and hasattr(belief, "entries_at") else 0)
    return frozenset(time for time in times if entries & set(belief.entries_at(time)))
