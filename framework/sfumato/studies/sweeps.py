"""Sweeps: one table of a study that stands for many, one for each value of a parameter.

Anywhere inside a noun's table a value may be

    { sweep = [1.0, 3.0, 6.0] }        these values
    { linspace = [0.1, 0.5, 5] }       5 values from 0.1 to 0.5, evenly
    { logspace = [0.01, 1.0, 5] }      5 values from 0.01 to 1.0, evenly in the logarithm

and several sweeps in one noun make every combination.
"""

from __future__ import annotations

import difflib
import itertools
import math
import numbers
from collections.abc import Iterator, Mapping
from typing import Any

from sfumato.studies.study_error import StudyError

SWEEPS = ("sweep", "linspace", "logspace")
FORMS = (*SWEEPS, "interval", "any_of")
"""What a table in place of a value can be: a sweep of values, or a class of them."""
NEAR = 0.75
"""How alike a misspelt form is to its name, from 0 to 1."""


def count(plain: Any, where: str) -> int:
    """Return how many nouns a table stands for, without making them.

    >>> count({"name": "rbf", "length_scale": {"linspace": [0, 1, 1_000_000_000]}}, "priors[0]")
    1000000000
    """
    if _is_sweep(plain):
        return _length(plain, where)
    _check_form(plain, where)
    inner: list[tuple[str, Any]] = []
    if isinstance(plain, Mapping):
        inner = [(f"{where}.{key}", value) for key, value in plain.items()]
    elif isinstance(plain, list):
        inner = [(f"{where}[{place}]", value) for place, value in enumerate(plain)]
    return math.prod(count(value, place) for place, value in inner)


def expand(plain: Any, where: str) -> Iterator[Any]:
    """Yield the tables without sweeps that a table stands for, the first sweep slowest.

    >>> list(expand({"mse": {"sweep": [1, 2]}}, "mechanisms[0]"))
    [{'mse': 1}, {'mse': 2}]
    """
    if _is_sweep(plain):
        yield from _values(plain, where)
    elif isinstance(plain, Mapping):
        yield from _expand_items(list(plain.items()), where)
    elif isinstance(plain, list) and count(plain, where) != 1:
        items = [(str(place), value) for place, value in enumerate(plain)]
        for table in _expand_items(items, where):
            yield list(table.values())
    else:
        yield plain


def _expand_items(items: list[tuple[str, Any]], where: str) -> Iterator[dict[str, Any]]:
    choices = [list(expand(value, f"{where}.{key}")) for key, value in items]
    for chosen in itertools.product(*choices):
        yield dict(zip((key for key, _ in items), chosen, strict=True))


def _is_sweep(plain: Any) -> bool:
    return isinstance(plain, Mapping) and len(plain) == 1 and next(iter(plain)) in SWEEPS


def _check_form(plain: Any, where: str) -> None:
    """Refuse a table that was meant as a sweep or a class and is neither."""
    if not isinstance(plain, Mapping) or "name" in plain:
        return
    forms = [key for key in plain if key in FORMS]
    if len(forms) > 1:
        raise StudyError(f"{where} must be one of {', '.join(FORMS)}; got {' and '.join(forms)}.")
    if len(plain) == 1 and not forms:
        (key,) = plain
        near = difflib.get_close_matches(str(key), FORMS, n=1, cutoff=NEAR)
        if near:
            raise StudyError(f"{where} has no form '{key}'; did you mean '{near[0]}'?")


def _length(plain: Mapping[str, Any], where: str) -> int:
    ((form, given),) = plain.items()
    if not isinstance(given, list) or not given:
        raise StudyError(f"{where}.{form} must be a list of values; got {given!r}.")
    if form == "sweep":
        return len(given)
    _, _, steps = _ends(form, given, where)
    return steps


def _values(plain: Mapping[str, Any], where: str) -> list[Any]:
    _length(plain, where)
    ((form, given),) = plain.items()
    if form == "sweep":
        return list(given)
    low, high, steps = _ends(form, given, where)
    shares = [step / (steps - 1) for step in range(steps)]
    if form == "logspace":
        inner = [low * (high / low) ** share for share in shares[1:-1]]
        return [float(low), *inner, float(high)]
    whole = isinstance(low, int) and isinstance(high, int) and (high - low) % (steps - 1) == 0
    if whole:  # so that whole parameters can be swept, too
        return list(range(low, high + 1, (high - low) // (steps - 1)))
    return [low + (high - low) * share for share in shares]


def _ends(form: str, given: list[Any], where: str) -> tuple[Any, Any, int]:
    """Return the ends and the number of values of an evenly spaced sweep."""
    real = [isinstance(n, numbers.Real) and not isinstance(n, bool) for n in given]
    if len(given) != 3 or not all(real) or not isinstance(given[2], int) or given[2] < 2:
        raise StudyError(
            f"{where}.{form} must be [from, to, how many], with 2 or more of them; got {given!r}."
        )
    low, high, steps = given
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise StudyError(f"{where}.{form} must go up between finite ends; got {given!r}.")
    if form == "linspace" and not math.isfinite(float(high) - float(low)):
        raise StudyError(f"{where}.linspace must span a finite range; got {given!r}.")
    if form == "logspace" and low <= 0:
        raise StudyError(
            f"{where}.logspace must have positive ends (the values, not exponents); got {given!r}."
        )
    if form == "logspace" and not math.isfinite(float(high) / float(low)):
        raise StudyError(f"{where}.logspace must span a finite ratio; got {given!r}.")
    return low, high, steps
