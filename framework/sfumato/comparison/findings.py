"""What a comparison has found, in sentences: who protects best, at what cost, and what it exposes.

A sentence says no more than the losses do: an upper bound is "at most", and a loss that several
measures answer for is what the best of them know.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from sfumato.comparison.cells import FACTORS, Cell, Comparison
from sfumato.comparison.names import group_by, noun_key, noun_names
from sfumato.comparison.risk_maps import RiskMap, depends_on_secret
from sfumato.comparison.sweeps import SweepAxis, sweep_axes
from sfumato.protocols import Loss, Quantity
from sfumato.quantities import round_outwards

SAME = 1e-6
"""Relative difference below which two costs, or two ends, are one."""
SHARES = (
    (1.0, "every other time lies"),
    (0.9, "nearly every other time lies"),
    (0.5, "most other times lie"),
)
"""Of the other times, and how that is said; fewer are not worth a sentence."""
MOST = 3
"""Scenarios that one sentence tells of."""
EXPOSED = 10.0
"""How many times worse than the secret other times are before it is said."""


def findings(comparison: Comparison) -> tuple[str, ...]:
    """Return sentences, the most telling first; none where nothing was measured.

    >>> import sfumato as sf
    >>> from sfumato.comparison.findings import findings
    >>> print(*findings(sf.compare(
    ...     [sf.priors.rbf(length_scale=6.0, times=50)],
    ...     [sf.Labelled(sf.secrets.basic(24), "time 24")],
    ...     [sf.mechanisms.gaussian_uniform(mse=0.1), sf.mechanisms.gaussian_optimal(mse=0.1)],
    ...     [sf.measures.renyi()],
    ... )))
    Under gaussian_optimal instead of gaussian_uniform, the Rényi divergence of time 24 falls from
    59.7 to 1.81 nats, at the same mean squared error of 0.1.
    """
    cells = _main_cells(comparison.measured)
    if not cells:
        return ()
    told = _Told.of(comparison, cells)
    sentences = (told.contrast(), *told.along_sweep())
    return tuple(_sentence(words) for words in sentences if words)


def _main_cells(measured: Sequence[Cell]) -> list[Cell]:
    """Return the cells of the first quantity that is about the secret, else of the first."""
    asking = [cell for cell in measured if depends_on_secret(cell.measure)] or measured
    return (
        [cell for cell in measured if cell.loss.quantity == asking[0].loss.quantity]
        if asking
        else []
    )


def _sentence(words: str) -> str:
    return words[0].upper() + words[1:].rstrip(".") + "."


# What is known of one scenario -------------------------------------------------------------------


@attrs.frozen
class Known:
    """What all measures of one quantity know of one scenario."""

    cell: Cell
    losses: tuple[Loss, ...]

    @property
    def span(self) -> tuple[float, float]:
        """The largest floor and the smallest ceiling; estimates count where there is no other."""
        for bounds in (("exact",), ("exact", "upper", "lower"), ("estimate",)):
            chosen = [loss for loss in self.losses if loss.bound in bounds]
            if chosen:
                return max(loss.floor for loss in chosen), min(loss.ceiling for loss in chosen)
        return -math.inf, math.inf

    @property
    def worst(self) -> float:
        """The number by which scenarios are ordered: the end that is known not to be exceeded."""
        quantity = self.losses[0].quantity
        low, high = self.span
        known = (high, low) if quantity.worse == "larger" else (low, high)
        return quantity.sign * (known[0] if math.isfinite(known[0]) else known[1])

    def rank(self) -> tuple[float, float]:
        """Order scenarios by loss, equal ones by what they cost."""
        quantity, utility = self.cell.utility_quantity, self.cell.utility
        cost = 0.0 if quantity is None or utility is None else quantity.sign * utility
        return float(f"{self.worst:.6e}"), cost

    @property
    def text(self) -> str:
        """The value in words: ``1.8``, ``at most 1.81``, ``between 0.069 and 0.3``."""
        low, high = self.span
        if low == high or abs(high - low) <= SAME * abs(high):
            return _number(self.losses[0].value if len(self.losses) == 1 else high, "exact")
        estimates = [loss for loss in self.losses if loss.bound == "estimate"]
        if len(estimates) == len(self.losses):
            return f"about {_number(estimates[0].value, 'estimate')}"
        if low == -math.inf:
            about = [f" (about {_number(loss.value, 'estimate')} by attack)" for loss in estimates]
            return f"at most {_number(high, 'upper')}{''.join(about[:1])}"
        if high == math.inf:
            return f"at least {_number(low, 'lower')}"
        return f"between {_number(low, 'lower')} and {_number(high, 'upper')}"


def _number(value: float, bound: str) -> str:
    """Write a number with three digits, as people do: ``1,230``, ``0.0459``."""
    rounded = float(round_outwards(value, bound, ".3g").replace("∞", "inf"))
    return f"{rounded:,.0f}" if 1000 <= abs(rounded) < 1e9 else f"{rounded:.3g}".replace("inf", "∞")


def known_scenarios(cells: Sequence[Cell]) -> list[Known]:
    """Return what is known of each scenario of one quantity."""
    groups = group_by(cells, lambda cell: tuple(noun_key(cell, kind) for kind in FACTORS))
    return [Known(own[0], tuple(cell.loss for cell in own)) for own in groups.values()]


# What is said of them ----------------------------------------------------------------------------


@attrs.frozen
class _Told:
    """The scenarios of the main quantity, their names, and the maps beside them."""

    scenarios: list[Known]
    quantity: Quantity
    names: Mapping[str, Any]
    maps: tuple[RiskMap, ...]

    @classmethod
    def of(cls, comparison: Comparison, cells: Sequence[Cell]) -> _Told:
        names = {kind: noun_names(comparison.measured, kind) for kind in FACTORS}
        return cls(known_scenarios(cells), cells[0].loss.quantity, names, comparison.maps or ())

    def name(self, known: Known, kind: str) -> str:
        return str(self.names[kind].of(known.cell, kind))

    @property
    def unit(self) -> str:
        return "" if self.quantity.unit in ("", "probability") else f" {self.quantity.unit}"

    def contrast(self) -> str:
        """Say what the best mechanism makes of the loss, where that of the others is worst."""
        pairs = group_by(
            self.scenarios, lambda one: (noun_key(one.cell, "prior"), noun_key(one.cell, "secret"))
        )
        pair = max(pairs.values(), key=lambda own: (len(own) > 1, max(one.worst for one in own)))
        best = min(pair, key=Known.rank)
        alike = [one for one in pair if one is not best and _same_cost(one.cell, best.cell)]
        other = max(alike or pair, key=lambda one: one.worst)
        what = f"the {self.quantity.name} of {self.name(best, 'secret')}"
        where = f" (prior {self.name(best, 'prior')})" if self.names["prior"].several else ""
        name = self.name(best, "mechanism")
        if best.rank()[0] < other.rank()[0]:
            moves = "falls" if self.quantity.worse == "larger" else "rises"
            words = (
                f"under {name} instead of {self.name(other, 'mechanism')}, {what} {moves} from "
                f"{other.text} to {best.text}{self.unit}{_cost(best.cell, other.cell)}{where}"
            )
            return words + self._exposed(best)
        each = (f"{one.text}{self.unit} under {self.name(one, 'mechanism')}" for one in pair[:MOST])
        return f"{what} is {' and '.join(each)}{where}"

    def _exposed(self, best: Known) -> str:
        """Say which share of the other times the best mechanism leaves far worse off."""
        here = tuple(self.name(best, kind) for kind in FACTORS)
        for risk in self.maps:
            rows = (row for row in risk.rows if (risk.prior, risk.secret, row.mechanism) == here)
            row = next((row for row in rows if row.exact), None)
            own = [row.losses[time] for time in risk.marked if time in row.losses] if row else []
            if row is None or not own or risk.quantity.worse != "larger":
                continue
            others = sorted(loss for time, loss in row.losses.items() if time not in risk.marked)
            for share, words in SHARES if others else ():
                at = others[len(others) - math.ceil(share * len(others))]
                if _far_worse(at, max(own), risk.quantity):
                    return f", and {words} {self._level(at, risk.quantity)}"
        return ""

    def _level(self, loss: float, quantity: Quantity) -> str:
        """Say how high a loss is at least; of another quantity than the sentence's, of which."""
        bounded = quantity.unit == "probability"
        level = float(
            round_outwards(loss, "lower", ".2g" if bounded else ".1g").replace("∞", "inf")
        )
        most = level == math.inf or (bounded and level >= 1)
        unit = "" if bounded or not quantity.unit else f" {quantity.unit}"
        what = "" if quantity == self.quantity else f" of {quantity.name}"
        return f"at {level:,.6g}{unit}{what}{'' if most else ' or more'}".replace("inf", "∞")

    def along_sweep(self) -> Iterable[str]:
        """Say how each mechanism's loss moves along the longest sweep."""
        axis = next(iter(sweep_axes([one.cell for one in self.scenarios])), None)
        if axis is None:
            return
        places = group_by(self.scenarios, lambda one: self._line(one, axis))
        moves = []
        for line, own in itertools.islice(places.items(), MOST):
            ordered = sorted(own, key=lambda one: axis.value(one.cell) or 0.0)
            if line is not None and len(ordered) > 1:
                moves.append((line, ordered))
        if not moves:
            return
        ends = [axis.value(moves[0][1][place].cell) for place in (0, -1)]
        told = " and ".join(
            f"from {own[0].text} to {own[-1].text}{self.unit} under {line}" for line, own in moves
        )
        name = axis.parameter.replace("_", " ")
        yield (
            f"as the {name} goes from {ends[0]:.6g} to {ends[1]:.6g}, the {self.quantity.name} "
            f"goes {told}"
        )

    def _line(self, one: Known, axis: SweepAxis) -> str | None:
        if axis.value(one.cell) is None:
            return None
        names = noun_names([known.cell for known in self.scenarios], "mechanism", axis.parameter)
        return str(names.of(one.cell, "mechanism")) or str(one.cell.mechanism.name)


def _far_worse(loss: float, than: float, quantity: Quantity) -> bool:
    """Whether a loss is many times another one; of probabilities, that much nearer to one."""
    if quantity.unit == "probability":
        return EXPOSED * (1 - loss) <= 1 - than and than < 1
    return 0 < EXPOSED * than <= loss


def _same_cost(one: Cell, other: Cell) -> bool:
    if None in (one.utility, other.utility) or one.utility_quantity != other.utility_quantity:
        return False
    return math.isclose(float(one.utility or 0), float(other.utility or 0), rel_tol=SAME)


def _cost(best: Cell, other: Cell) -> str:
    """Say what the better mechanism costs beside the other."""
    quantity = best.utility_quantity
    if quantity is None or quantity != other.utility_quantity:
        return ""
    had, has = (_number(float(cell.utility or 0), "exact") for cell in (other, best))
    if _same_cost(best, other):
        return f", at the same {quantity.name} of {has}"
    return f", the {quantity.name} being {has} instead of {had}"
