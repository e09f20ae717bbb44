"""What the release at each time says, alone, of the secret at each time."""

from __future__ import annotations

import math
import time as clock
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs

from sfumato.comparison.cells import attempt
from sfumato.comparison.executors import progress
from sfumato.comparison.glimpses import glimpses
from sfumato.errors import OutsideHypotheses
from sfumato.plugin_registry import default_registry
from sfumato.protocols import LossMeasure, Quantity, Reading
from sfumato.questions.events import by_time
from sfumato.report.words import noun_names

if TYPE_CHECKING:
    from sfumato.comparison.cells import Cell, Comparison


LeakMatrix = dict[tuple[int, int], Reading]
"""By the time of the secret and the time of the release."""


def leak_matrix(
    measure: Any,
    belief: Any,
    channel: Any,
    questions: Mapping[int, Any],
    *,
    times: list[int],
    until: float,
) -> LeakMatrix:
    """Return the readings for all pairs of `times`; refuse what has none or would take too long.

    Scenarios that are equal, as those at equal distances of a stationary trace, are read once.
    """
    known: dict[Any, Reading] = {}
    found: LeakMatrix = {}
    for glimpse in glimpses(belief, channel, {time: questions[time] for time in times}, times):
        scenario = (glimpse.belief, glimpse.question, glimpse.channel)
        if scenario not in known:
            if clock.monotonic() > until:
                raise OutsideHypotheses("too many")
            known[scenario] = measure.evaluate(*scenario)
        found[glimpse.secret, glimpse.released] = known[scenario]
    if not found:
        raise OutsideHypotheses("its single releases have no law of their own")
    return found


MOST_MAPS = 2
MOST_ROWS = 12
MOST_MATRICES = 6
MOST_TIMES = 20
"""On each side of a matrix; of longer traces, times evenly spread."""
MOST_MARKED = 5
PATIENCE = 20.0
"""Seconds for the maps of one comparison; rows that would take longer are left out and counted."""


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


def risk_maps(comparison: Comparison) -> list[RiskMap]:
    """Return maps of a few pairs of prior and secret, spread over those of the comparison.

    For a class of priors the map is that of the member with the worst loss.
    """
    chosen = _spread(_mappable(comparison), MOST_MAPS)
    until = clock.monotonic() + PATIENCE
    with progress("risk maps", sum(map(len, chosen))) as update:
        maps = [_risk_map(comparison.measured, cells, until, update) for cells in chosen]
    return [risk for risk in maps if risk.rows or risk.left_out]


def told_of_choice(comparison: Comparison) -> str:
    """Say how many pairs of prior and secret have a map, where not all do."""
    pairs = len(_mappable(comparison))
    if pairs <= MOST_MAPS:
        return ""
    return f"Maps of {MOST_MAPS} of {pairs} pairs of prior and secret: the first and the last."


def _mappable(comparison: Comparison) -> list[list[Cell]]:
    """Return the cells of which a map can be made, by prior and secret."""
    groups: dict[Any, list[Cell]] = {}
    for cell in comparison.measured:
        if _asks_by_time(cell):
            groups.setdefault((cell.prior, cell.secret, type(cell.measure)), []).append(cell)
    # One measure for each prior and secret: the first that reads its question.
    first: dict[Any, list[Cell]] = {}
    for (prior, secret, _), cells in groups.items():
        same = [cell for cell in cells if cell.measure == cells[0].measure]
        first.setdefault((prior, secret), same)
    return list(first.values())


def _asks_by_time(cell: Cell) -> bool:
    """Whether the measure depends on what is asked."""
    return isinstance(cell.measure, LossMeasure) and all(
        question is not object for _, question, _ in type(cell.measure).reads
    )


def _spread(items: list[Any], most: int) -> list[Any]:
    if len(items) <= most:
        return items
    return [items[round(place * (len(items) - 1) / (most - 1))] for place in range(most)]


def _risk_map(
    every: Sequence[Cell], cells: list[Cell], until: float, update: Callable[..., None]
) -> RiskMap:
    names = {kind: noun_names(every, kind) for kind in ("prior", "secret", "mechanism")}
    rows: list[RiskRow] = []
    left_out: list[str] = []
    marked = _marked(cells[0])
    for cell in cells:
        name = names["mechanism"].of(cell, "mechanism")
        update(advance=1)
        if clock.monotonic() > until or len(rows) >= MOST_ROWS:
            left_out.append(f"{name} (too many)")
            continue
        # Of a few rows also a matrix, for which half the time may be spent.
        patient = until - PATIENCE / 2 if len(rows) < MOST_MATRICES else -math.inf
        found, _, reason = attempt(list, partial(_rows, cell, name, marked, patient))
        if found is None:
            left_out.append(f"{name} ({reason})")
        else:
            rows.extend(found)
    return RiskMap(
        prior=names["prior"].of(cells[0], "prior"),
        secret=names["secret"].of(cells[0], "secret"),
        quantity=cells[0].quantity,
        rows=tuple(rows),
        marked=marked,
        left_out=tuple(left_out),
    )


def _rows(cell: Cell, mechanism: str, marked: frozenset[int], until: float) -> list[RiskRow]:
    """Design the release again and read it at each time, for the worst member of the class."""
    channel = cell.mechanism.protect(cell.prior, cell.secret).channel
    belief = _worst(cell).belief()
    rows = []
    for asked, questions in by_time(cell.secret.question(belief), belief).items():
        found = {
            time: cell.measure.evaluate(belief, question, channel)
            for time, question in questions.items()
        }
        alone, _, why_not = attempt(
            dict,
            partial(
                leak_matrix,
                cell.measure,
                belief,
                channel,
                questions,
                times=_chosen(list(questions), marked),
                until=until,
            ),
        )
        readings = [*found.values(), *(alone or {}).values()]
        rows.append(
            RiskRow(
                mechanism=mechanism,
                asked=asked,
                losses={time: reading.value for time, reading in found.items()},
                alone={pair: reading.value for pair, reading in (alone or {}).items()},
                why_not_alone=why_not,
                exact=all(reading.bound == "exact" for reading in readings),
            )
        )
    return rows


def _chosen(times: list[int], marked: frozenset[int]) -> list[int]:
    """Return the times on the sides of a matrix: evenly spread, with those the secret names."""
    stride = math.ceil(len(times) / MOST_TIMES)
    named = sorted(marked & set(times))[:MOST_MARKED]
    first = times.index(named[0]) % stride if named else 0
    return sorted({*times[first::stride], *named})


def _worst(cell: Cell) -> Any:
    """Return the member of the cell's class that its loss is the loss of."""
    for member in cell.prior.members():
        if member.specification() == cell.finding.worst:
            return member
    return default_registry().build("prior", cell.finding.worst or {})


def _marked(cell: Cell) -> frozenset[int]:
    """Return the times that a question about displacements names."""
    belief = next(cell.prior.members()).belief()
    question = cell.secret.question(belief)
    entries = set(getattr(question, "entries", ()))
    times = getattr(belief, "times", 0)
    if not entries or not hasattr(belief, "entries_at"):
        return frozenset()
    return frozenset(time for time in range(times) if entries & set(belief.entries_at(time)))


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
