"""Canonical JSON: one text for equal content, with infinities, and numbers that come back exact."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

# JSON has no infinities, so they are written as a table with this one key.
NOT_FINITE = "not finite"


def to_json(value: Any) -> str:
    """Write plain content; equal content gives equal text, whatever the order of keys.

    >>> to_json({"b": (1, 2.5), "a": float("inf")})
    '{"a":{"not finite":"inf"},"b":[1,2.5]}'
    """
    return json.dumps(_writable(value), sort_keys=True, allow_nan=False, separators=(",", ":"))


def from_json(text: str) -> Any:
    """Read what `to_json` wrote; tuples come back as lists.

    >>> from_json('{"a":{"not finite":"-inf"}}')
    {'a': -inf}
    """
    return json.loads(text, object_hook=_read)


def digest(value: Any) -> str:
    """Return the SHA-256 of the content, in hexadecimal.

    >>> digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    True
    """
    return hashlib.sha256(to_json(value).encode()).hexdigest()


def _read(table: dict[str, Any]) -> Any:
    return float(table[NOT_FINITE]) if set(table) == {NOT_FINITE} else table


def _writable(value: Any) -> Any:
    """Turn numpy scalars and arrays into numbers and lists, and infinities into tables."""
    if isinstance(value, Mapping):
        return {str(key): _writable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_writable(item) for item in value]
    if hasattr(value, "tolist"):  # numpy
        return _writable(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return {NOT_FINITE: repr(value)}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"a specification must hold plain values; got {type(value).__name__}.")
