"""Names of states and symbols, and their positions in an array."""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.suppressed import SUPPRESSED

Labels = tuple[Hashable, ...]


def listed(labels: Iterable[Hashable] | None) -> Any:
    """Return labels as a tuple, None as it is: the converter of fields that hold labels.

    >>> listed("ab")
    ('a', 'b')
    """
    if labels is None:
        return None
    if not isinstance(labels, Iterable):
        raise ParameterError(f"labels must be a sequence; got {labels!r}.")
    return tuple(labels)


def checked_labels(labels: Iterable[Hashable], count: int, name: str) -> Labels:
    """Return `labels` as a tuple of `count` distinct hashable names.

    >>> checked_labels(["home", "work"], 2, "states")
    ('home', 'work')
    """
    kept = tuple(labels)
    if len(kept) != count:
        raise ParameterError(f"{name} must hold {count} labels; got {len(kept)}.")
    for label in kept:
        if not _can_be_found_again(label) or label is SUPPRESSED:
            raise ParameterError(
                f"{name} must be hashable, not NaN and not sf.SUPPRESSED; got {label!r}."
            )
    if len(set(kept)) != count:
        repeated = next(label for label in kept if kept.count(label) > 1)
        raise ParameterError(f"{name} must be distinct; got {repeated!r} more than once.")
    return kept


def positions_of(labels: Labels) -> dict[Hashable, int]:
    """Return the position of every label.

    >>> positions_of(("home", "work"))
    {'home': 0, 'work': 1}
    """
    return {label: position for position, label in enumerate(labels)}


def position_in(positions: Mapping[Hashable, int], label: Any, name: str) -> int:
    """Return the position of one label, or say which label it may have been meant to be.

    A label that is a frozenset may be given as a set.

    >>> position_in({"home": 0, "work": 1}, "wrok", "states")
    Traceback (most recent call last):
    sfumato.errors.ParameterError: states has no 'wrok'; did you mean 'work'?
    """
    try:
        return positions[frozenset(label) if isinstance(label, set) else label]
    except (KeyError, TypeError):  # unknown, or not hashable
        pass
    known = {str(candidate): candidate for candidate in positions}
    close = difflib.get_close_matches(str(label), known, n=1)
    if close:
        hint = f"did you mean {known[close[0]]!r}?"
    else:
        shown = ", ".join(repr(candidate) for candidate in list(positions)[:8])
        hint = f"it holds {shown}{', ...' if len(positions) > 8 else ''}."
    raise ParameterError(f"{name} has no {label!r}; {hint}")


def encoded(labels: Labels, sequence: Iterable[Any], name: str) -> NDArray[np.intp]:
    """Return the positions of a sequence of labels.

    >>> encoded(("home", "work"), ["work", "home"], "states")
    array([1, 0])
    """
    positions = positions_of(labels)
    items = list(sequence)
    try:
        codes = [positions[item] for item in items]
    except (KeyError, TypeError):  # the slow way finds the culprit and says so
        codes = [position_in(positions, item, name) for item in items]
    return np.array(codes, dtype=np.intp)


def encoded_batch(
    labels: Labels, sequences: Iterable[Iterable[Any]], name: str
) -> NDArray[np.intp]:
    """Return the positions of B sequences of one length, (B, k).

    >>> encoded_batch(("home", "work"), [["work", "home"], ["home", "home"]], "states").tolist()
    [[1, 0], [0, 0]]
    """
    items = [list(sequence) for sequence in sequences]
    lengths = sorted({len(item) for item in items})
    if len(lengths) != 1:
        raise ParameterError(f"sequences must have one common length; got lengths {lengths}.")
    flat = encoded(labels, (label for item in items for label in item), name)
    return flat.reshape(len(items), lengths[0])


def _can_be_found_again(label: object) -> bool:
    try:
        hash(label)
    except TypeError:
        return False
    return bool(label == label)  # noqa: PLR0124  # NaN differs from itself
