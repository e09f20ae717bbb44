"""Reading the fields of a row: finite numbers and points in time."""

from __future__ import annotations

import math
from datetime import UTC, datetime


def finite(text: str) -> float:
    """Return a finite number.

    >>> finite("2.5")
    2.5
    """
    if "_" in text:  # Python's own way to write 10, not a file's
        raise ValueError(f"a value must be a number; got {text!r}")
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"a value must be finite; got {text!r}")
    return value


def named(text: str, what: str) -> str:
    """Return a name that is not empty.

    >>> named("ann", "user")
    'ann'
    """
    if not text:
        raise ValueError(f"a {what} must have a name; got none")
    return text


def on_globe(latitude: float, longitude: float) -> tuple[float, float]:
    """Return the place, in degrees, if there is one like it.

    >>> on_globe(48.0, 11.5)
    (48.0, 11.5)
    """
    if not (-90 <= latitude <= 90 and -180 <= longitude <= 180):
        raise ValueError(f"a fix must lie on the globe; got {latitude}, {longitude}")
    return latitude, longitude


def seconds(text: str) -> float:
    """Return seconds: a number as it is, an ISO 8601 date since 1970 (UTC unless it says).

    >>> seconds("12.5"), seconds("1970-01-02T00:00:00Z"), seconds("1970-01-01 01:00:00+0000")
    (12.5, 86400.0, 3600.0)
    """
    try:
        return finite(text)
    except ValueError:
        pass
    try:
        return unix_seconds(datetime.fromisoformat(text.strip()))
    except ValueError:
        raise ValueError(f"a time must be a finite number or an ISO date; got {text!r}") from None


def dated_seconds(text: str, form: str) -> float:
    """Return the seconds since 1970 of a date in the given form (see `datetime.strptime`).

    >>> dated_seconds("02/01/1970 00:00", "%d/%m/%Y %H:%M")
    86400.0
    """
    return unix_seconds(datetime.strptime(text.strip(), form))  # noqa: DTZ007 - zone added there


def unix_seconds(moment: datetime) -> float:
    """Return the seconds since 1970; a time without a zone is taken for UTC."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return aware.timestamp()
