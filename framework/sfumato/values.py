"""Values that are equal when their contents are: read-only arrays, and frozen classes of them."""

from __future__ import annotations

import hashlib
import json
import math
import os
import secrets
import unicodedata
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self

import attrs
import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from sfumato.errors import ParameterError, did_you_mean


def read_only(value: ArrayLike, dtype: DTypeLike = np.float64) -> NDArray[Any]:
    """Return a read-only copy of `value`: what the caller keeps cannot change it.

    >>> from sfumato.values import read_only
    >>> read_only([1, 2]).flags.writeable
    False
    """
    array = np.array(value, dtype=dtype, copy=True)
    array.setflags(write=False)
    return array


def content_key(value: object) -> Hashable:
    """Return a hashable key, equal for values of equal content.

    >>> import numpy as np
    >>> from sfumato.values import content_key
    >>> content_key(np.arange(2.0)) == content_key(np.array([0.0, 1.0]))
    True
    """
    if isinstance(value, np.ndarray):
        # Adding zero turns -0.0 into 0.0: they are equal, so their keys must be.
        canonical = value + 0.0 if value.dtype.kind == "f" else value
        return ("array", value.shape, value.dtype.str, np.ascontiguousarray(canonical).tobytes())
    if isinstance(value, (tuple, list)):
        return ("sequence", tuple(content_key(item) for item in value))
    if isinstance(value, (set, frozenset)):
        return ("set", frozenset(content_key(item) for item in value))
    if isinstance(value, Mapping):
        items = ((content_key(k), content_key(v)) for k, v in value.items())
        return ("mapping", frozenset(items))
    if isinstance(value, Hashable):
        return value
    raise TypeError(f"a value kept in a frozen class must be hashable; got {type(value).__name__}.")


LONGEST_REPR = 160
"""Characters of the repr of what holds arrays; what is more is left out."""


def brief_repr(thing: Any) -> str:
    """Write an attrs object in one line: arrays by their shape, long tuples by their size.

    >>> import sfumato as sf
    >>> sf.secrets.every_point().question(sf.priors.rbf(length_scale=2.0, times=50).belief())
    Displacements(groups=<50 of them>, radii=<50 of them>)
    """
    fields = [field for field in attrs.fields(type(thing)) if field.repr and field.init]
    told = []
    for field in fields:
        value = getattr(thing, field.name)
        if isinstance(value, np.ndarray):
            text = f"<{'×'.join(map(str, value.shape))} array>"
        elif isinstance(value, tuple) and len(value) > 4:
            text = f"<{len(value)} of them>"
        else:
            text = repr(value)
        told.append(f"{field.alias}={text}")
    text = f"{type(thing).__name__}({', '.join(told)})"
    return text if len(text) <= LONGEST_REPR else f"{text[: LONGEST_REPR - 2]}…)"


class ByContent:
    """Equality and hashing by the contents of the attrs fields (with `eq=False` in attrs).

    Fields declared with ``eq=False`` do not count.
    """

    __slots__ = ()

    def _content(self) -> Hashable:
        fields = attrs.fields(type(self))  # type: ignore[arg-type]  # subclasses are attrs classes
        return tuple(content_key(getattr(self, field.name)) for field in fields if field.eq)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other):
            return NotImplemented
        return self._content() == other._content()

    def __hash__(self) -> int:
        return hash((type(self).__qualname__, self._content()))

    def __copy__(self) -> Self:
        return self  # nothing in it can change

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


# JSON has no infinities, so they are written as a table with this one key.
NOT_FINITE = "not finite"


def to_json(value: Any) -> str:
    """Write plain content; equal content gives equal text, whatever the order of keys.

    >>> from sfumato.values import to_json
    >>> to_json({"b": (1, 2.5), "a": float("inf")})
    '{"a":{"not finite":"inf"},"b":[1,2.5]}'
    """
    return json.dumps(_writable(value), sort_keys=True, allow_nan=False, separators=(",", ":"))


def from_json(text: str) -> Any:
    """Read what `to_json` wrote; tuples come back as lists.

    >>> from sfumato.values import from_json
    >>> from_json('{"a":{"not finite":"-inf"}}')
    {'a': -inf}
    """
    return json.loads(text, object_hook=_read)


def digest(value: Any) -> str:
    """Return the SHA-256 of the content, in hexadecimal.

    >>> from sfumato.values import digest
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


def printable(text: str) -> str:
    r"""Return a text with control characters written as escapes, which do nothing to a terminal.

    Ends of lines and tabs stay; so does everything that is not text, for others to refuse.

    >>> from sfumato.values import printable
    >>> print(printable("\x1b[31mred\x1b[0m"))
    \x1b[31mred\x1b[0m
    """
    if not isinstance(text, str) or text.isprintable():
        return text
    kinds = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
    return "".join(
        letter
        if letter in "\n\t" or unicodedata.category(letter) not in kinds
        else letter.encode("unicode_escape").decode()
        for letter in text
    )


def places(table: Mapping[str, Any], wanted: Callable[[Any], bool]) -> Iterator[tuple[str, Any]]:
    """Yield the place and the value of everything that is wanted, however deep it lies.

    >>> from sfumato.values import places
    >>> list(places({"a": 1, "b": {"c": 2}}, lambda value: value == 2))
    [('b.c', 2)]
    """
    for key, value in table.items():
        if wanted(value):
            yield key, value
        elif isinstance(value, Mapping):
            yield from ((f"{key}.{place}", found) for place, found in places(value, wanted))


def value_at(table: Mapping[str, Any], place: str) -> Any:
    """Return the value at a place.

    >>> from sfumato.values import value_at
    >>> value_at({"a": 1, "b": {"c": 2}}, "b.c")
    2
    """
    key, _, rest = place.partition(".")
    return value_at(table[key], rest) if rest else table[key]


def replace_at(table: Mapping[str, Any], place: str, value: Any) -> dict[str, Any]:
    """Return a copy of the table with another value at a place.

    >>> from sfumato.values import replace_at
    >>> replace_at({"a": 1, "b": {"c": 2}}, "b.c", 3)
    {'a': 1, 'b': {'c': 3}}
    """
    key, _, rest = place.partition(".")
    return {**table, key: replace_at(table[key], rest, value) if rest else value}


class _Suppressed:
    """The type of `SUPPRESSED`; it has exactly one instance."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "sf.SUPPRESSED"

    def __copy__(self) -> _Suppressed:
        return self

    def __deepcopy__(self, memo: object) -> _Suppressed:
        return self

    def __reduce__(self) -> str:
        # A string tells pickle to look the object up by this name in this module.
        return "SUPPRESSED"


SUPPRESSED = _Suppressed()
"""What an observer sees in place of a state that was withheld (⊥ in the literature)."""


Labels = tuple[Hashable, ...]


def as_labels(labels: Iterable[Hashable] | None) -> Any:
    """Return labels as a tuple, None as it is: the converter of fields that hold labels.

    >>> from sfumato.values import as_labels
    >>> as_labels("ab")
    ('a', 'b')
    """
    if labels is None:
        return None
    if not isinstance(labels, Iterable):
        raise ParameterError(f"labels must be a sequence; got {labels!r}.")
    return tuple(labels)


def checked_labels(labels: Iterable[Hashable], count: int, name: str) -> Labels:
    """Return `labels` as a tuple of `count` distinct hashable names.

    >>> from sfumato.values import checked_labels
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

    >>> from sfumato.values import positions_of
    >>> positions_of(("home", "work"))
    {'home': 0, 'work': 1}
    """
    return {label: position for position, label in enumerate(labels)}


def position_in(positions: Mapping[Hashable, int], label: Any, name: str) -> int:
    """Return the position of one label, or say which label it may have been meant to be.

    A label that is a frozenset may be given as a set.

    >>> from sfumato.values import position_in
    >>> position_in({"home": 0, "work": 1}, "wrok", "states")
    Traceback (most recent call last):
    sfumato.errors.ParameterError: states has no 'wrok'; did you mean 'work'?
    """
    try:
        return positions[frozenset(label) if isinstance(label, set) else label]
    except (KeyError, TypeError):  # unknown, or not hashable
        pass
    raise ParameterError(f"{name} has no {label!r}; {did_you_mean(label, positions, most=8)}")


def encode_labels(labels: Labels, sequence: Iterable[Any], name: str) -> NDArray[np.intp]:
    """Return the positions of a sequence of labels.

    >>> from sfumato.values import encode_labels
    >>> encode_labels(("home", "work"), ["work", "home"], "states")
    array([1, 0])
    """
    positions = positions_of(labels)
    items = list(sequence)
    try:
        codes = [positions[item] for item in items]
    except (KeyError, TypeError):  # the slow way finds the culprit and says so
        codes = [position_in(positions, item, name) for item in items]
    return np.array(codes, dtype=np.intp)


def encode_batch(labels: Labels, sequences: Iterable[Iterable[Any]], name: str) -> NDArray[np.intp]:
    """Return the positions of B sequences of one length, (B, k).

    >>> from sfumato.values import encode_batch
    >>> encode_batch(("home", "work"), [["work", "home"], ["home", "home"]], "states").tolist()
    [[1, 0], [0, 0]]
    """
    items = [list(sequence) for sequence in sequences]
    lengths = sorted({len(item) for item in items})
    if len(lengths) != 1:
        raise ParameterError(f"sequences must have one common length; got lengths {lengths}.")
    flat = encode_labels(labels, (label for item in items for label in item), name)
    return flat.reshape(len(items), lengths[0])


def _can_be_found_again(label: object) -> bool:
    try:
        hash(label)
    except TypeError:
        return False
    return bool(label == label)  # noqa: PLR0124  # NaN differs from itself


SUM_TOLERANCE = 1e-9
"""How far a law's probabilities may be from summing to one."""

FloatArray = NDArray[np.float64]


def checked_probabilities(values: ArrayLike, name: str) -> FloatArray:
    """Return a read-only array of numbers in [0, 1].

    >>> from sfumato.values import checked_probabilities
    >>> checked_probabilities([0.0, 1.5], "start")
    Traceback (most recent call last):
    sfumato.errors.ParameterError: start must lie in [0, 1]; got 1.5.
    """
    array = _as_real(values, name)
    outside = ~((array >= 0.0) & (array <= 1.0))  # written so that NaN is outside
    if outside.any():
        raise ParameterError(f"{name} must lie in [0, 1]; got {array[outside].flat[0]}.")
    return array


def checked_laws(values: ArrayLike, name: str) -> FloatArray:
    """Return a read-only array whose last axis holds probability laws.

    Sums may differ from one by `SUM_TOLERANCE`. A law that differs by more than rounding is
    divided by its sum, so that long chains do not drift; one that does not is kept bit for bit.

    >>> from sfumato.values import checked_laws
    >>> checked_laws([0.5, 0.4], "initial")
    Traceback (most recent call last):
    sfumato.errors.ParameterError: initial must sum to one within 1e-09; got a sum of 0.9.
    """
    array = _as_real(values, name)
    negative = ~(array >= 0.0)  # written so that NaN is negative
    if negative.any():
        raise ParameterError(f"{name} must lie in [0, 1]; got {array[negative].flat[0]}.")
    sums = array.sum(axis=-1)
    wrong = ~(np.abs(sums - 1.0) <= SUM_TOLERANCE)
    if wrong.any():
        culprit = float(sums[wrong].flat[0])
        raise ParameterError(
            f"{name} must sum to one within {SUM_TOLERANCE}; got a sum of {culprit:.12g}."
        )
    inexact = np.abs(sums - 1.0) > array.shape[-1] * np.finfo(np.float64).eps
    if not inexact.any():
        return array
    return read_only(np.where(inexact[..., None], array / sums[..., None], array))


def cumulative(laws: FloatArray) -> FloatArray:
    """Return cumulative laws that end in exactly one at the last possible outcome.

    >>> import numpy as np
    >>> from sfumato.values import cumulative
    >>> cumulative(np.array([0.5, 0.5, 0.0])).tolist()
    [0.5, 1.0, 1.0]
    """
    sums = np.cumsum(laws, axis=-1)
    return np.asarray(sums / sums[..., -1:])


def draw_outcomes(cumulative_laws: FloatArray, uniforms: FloatArray) -> NDArray[np.intp]:
    """Return one outcome per row by inversion; an outcome of probability zero is never drawn.

    >>> import numpy as np
    >>> from sfumato.values import draw_outcomes
    >>> draw_outcomes(np.array([[0.0, 1.0], [0.25, 1.0]]), np.array([0.0, 0.1])).tolist()
    [1, 0]
    """
    return np.asarray((cumulative_laws <= uniforms[..., None]).sum(axis=-1), dtype=np.intp)


def _as_real(values: ArrayLike, name: str) -> FloatArray:
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "iuf":
            raise ParameterError(f"{name} must be an array of real numbers; got {array.dtype}.")
        return read_only(values if array is values else array)
    except (TypeError, ValueError) as error:
        if isinstance(error, ParameterError):
            raise
        raise ParameterError(f"{name} must be an array of real numbers; {error}.") from error


def refuse_unwritable(*paths: Path, overwrite: bool) -> None:
    """Refuse, before the work is done, what could not be written: a folder, a file in none.

    A file that is there is refused too, unless it may be overwritten.
    """
    for path in paths:
        if path.is_dir():
            raise IsADirectoryError(f"{path} must be a file; got a folder: name a file in it.")
        if not path.parent.is_dir():
            raise FileNotFoundError(f"the folder {path.parent} must exist; make it first.")
        if path.exists() and not overwrite:
            raise FileExistsError(f"{path} must not exist; give --force to overwrite it.")


def write_whole(path: Path, text: str, *, confidential: bool = False, durable: bool = True) -> None:
    """Write a text beside its place, then move it there: no reader ever sees half of it.

    A confidential file can be read by its owner only. Without `durable` the disk may take its
    time: after a power cut the file can be damaged, which is for those who check what they read
    and write very many files.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from sfumato.values import write_whole
    >>> place = Path(tempfile.mkdtemp()) / "note.txt"
    >>> write_whole(place, "whole")
    >>> place.read_text()
    'whole'
    """
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    mode = 0o600 if confidential else 0o666  # the latter less what the user's umask takes away
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
            stream.write(text)
            stream.flush()
            if durable:
                os.fsync(stream.fileno())
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
