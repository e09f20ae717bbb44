"""Quantities that mechanisms and measures of different plugins share, and how they are printed."""

from __future__ import annotations

import decimal
import math
import re

from sfumato.protocols import MARKS, Quantity, Reading

MEAN_SQUARED_ERROR = Quantity("mean squared error", unit="squared units of the trace")
EXPECTED_RELEASES = Quantity("expected number of released states", unit="states", worse="smaller")
NOISE_VARIANCE = Quantity("noise variance", unit="squared counts")
RELEASED_FRACTION = Quantity("released fraction", worse="smaller")
RECONSTRUCTION = Quantity("reconstruction success", unit="probability")
POSTERIOR_GAP = Quantity("posterior gap", unit="probability")
MUTUAL_INFORMATION = Quantity("mutual information", unit="nats")


def renyi_divergence(order: float) -> Quantity:
    """Return the quantity that measures and targets of conditional inferential privacy share.

    >>> from sfumato.quantities import renyi_divergence
    >>> str(renyi_divergence(2.0))
    'Rényi divergence (order=2) [nats]'
    """
    return Quantity("Rényi divergence", {"order": float(order)}, unit="nats")


def count_text(count: int, noun: str) -> str:
    """Write how many there are of something.

    >>> from sfumato.quantities import count_text
    >>> count_text(1, "cell"), count_text(1200, "cell"), count_text(2, "person")
    ('1 cell', '1,200 cells', '2 people')
    """
    return f"{count:,} {noun if count == 1 else {'person': 'people'}.get(noun, f'{noun}s')}"


# How numbers are printed --------------------------------------------------------------------------

ROUNDING = {
    "upper": decimal.ROUND_CEILING,
    "lower": decimal.ROUND_FLOOR,
    "exact": decimal.ROUND_HALF_EVEN,
    "estimate": decimal.ROUND_HALF_EVEN,
}
"""Bounds are rounded outwards: the digits of an upper bound are never below it."""


def round_outwards(value: float, bound: str, form: str = ".6g") -> str:
    """Write a number so that what is printed still holds: upper bounds up, lower bounds down.

    `form` is Python's own (``".6g"``, ``"8.3f"``); up to 15 digits, the text read back as a number
    is on the right side of the value.

    >>> import math
    >>> from sfumato.quantities import round_outwards
    >>> [round_outwards(229.04841, bound) for bound in ("exact", "upper", "lower")]
    ['229.048', '229.049', '229.048']
    >>> round_outwards(0.2, "upper"), round_outwards(math.inf, "upper")
    ('0.2', '∞')
    """
    if not math.isfinite(value):
        plain = format(value, re.sub(r"\..*|[a-zA-Z]$", "", form))
        return plain.replace("inf", "∞")
    digits = re.search(r"\.(\d+)([eEfFgG%]?)$", form)
    if digits is None:
        return format(value, form)
    exact, places, kind = decimal.Decimal(repr(float(value))), int(digits[1]), digits[2].lower()
    with decimal.localcontext(prec=400, rounding=ROUNDING[bound]):
        if kind in ("f", "%"):
            last = -places - 2 * (kind == "%")
        else:
            last = exact.adjusted() - (places if kind == "e" else max(places, 1) - 1)
        return format(float(exact.quantize(decimal.Decimal(1).scaleb(last))), form)


NOTICEABLE = 2e-3
"""Relative difference of the ends of a bound from which both are written."""


def reading_text(reading: Reading, form: str = ".6g", ends: str = ".4g") -> str:
    """Write a value with the sign of its direction, and an estimate with its interval.

    Both ends of a bound are written where they are known and differ noticeably.

    >>> from sfumato import Reading
    >>> from sfumato.quantities import reading_text
    >>> reading_text(Reading(value=229.04841, bound="upper"))
    '≤ 229.049'
    >>> reading_text(Reading(value=229.04841, bound="upper", interval=(220.0, 229.04841)))
    '≤ 229.049, ≥ 220'
    """
    text = f"{MARKS[reading.bound]} {round_outwards(reading.value, reading.bound, form)}"
    if reading.interval is None:
        return text
    low, high = reading.interval
    if reading.bound == "estimate":
        return (
            f"{text} [{round_outwards(low, 'lower', ends)}, {round_outwards(high, 'upper', ends)}]"
        )
    apart = math.isfinite(low) and math.isfinite(high) and high - low > NOTICEABLE * abs(high)
    other, end = ("lower", low) if reading.bound == "upper" else ("upper", high)
    return f"{text}, {MARKS[other]} {round_outwards(end, other, ends)}" if apart else text
