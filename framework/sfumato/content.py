"""Values that are equal when their contents are: read-only arrays, and frozen classes of them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Self

import attrs
import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray


def read_only(value: ArrayLike, dtype: DTypeLike = np.float64) -> NDArray[Any]:
    """Return a read-only copy of `value`: what the caller keeps cannot change it.

    >>> read_only([1, 2]).flags.writeable
    False
    """
    array = np.array(value, dtype=dtype, copy=True)
    array.setflags(write=False)
    return array


def content_key(value: object) -> Hashable:
    """Return a hashable key, equal for values of equal content.

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
