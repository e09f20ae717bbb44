"""What a domain is, a set of values that can check, parse, write and draw them; and numbers."""
# ruff: noqa: ARG002, D102 - what every domain can do is documented on Domain

from __future__ import annotations

import json
import math
import numbers
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


_EXPRESSION = re.compile(r"^([A-Za-z]+)([+-]\d+)?$")


def split_size(expression: str) -> tuple[str, int]:
    """Return the name and the offset of a size such as ``"T-1"``.

    >>> from sfumato.domains.domain import split_size
    >>> split_size("T-1")
    ('T', -1)
    """
    match = _EXPRESSION.match(expression)
    if match is None:
        raise ValueError(f"a size must look like 'n' or 'T-1'; got {expression!r}.")
    return match[1], int(match[2] or 0)


def evaluate_size(expression: str, sizes: Mapping[str, int]) -> int:
    """Return the number a size expression stands for."""
    name, offset = split_size(expression)
    return sizes[name] + offset


class Sizes(dict[str, int]):
    """The sizes bound so far while one object's parameters are read in order.

    >>> from sfumato.domains import Sizes
    >>> sizes = Sizes()
    >>> sizes.agree("M", 3), sizes.agree("M", 4)
    (True, False)
    """

    def agree(self, expression: str, length: int) -> bool:
        """Bind the size to `length`, or say whether it agrees with the earlier binding."""
        name, offset = split_size(expression)
        return self.setdefault(name, length - offset) == length - offset

    def wanted(self, expression: str) -> str:
        """Describe a size for an error: ``"T-1 = 4"``, or ``"n"`` while it is free."""
        name, _ = split_size(expression)
        return f"{expression} = {evaluate_size(expression, self)}" if name in self else expression


BuildPlugin = Callable[[str, Mapping[str, Any]], object]


class Rejected(ValueError):
    """A value lies outside a domain; the text completes the sentence "must be ..."."""


class Domain(ABC):
    """A set of admissible values, declared once and used everywhere.

    One declaration gives validation, the error text, parsing, the documentation table and a
    Hypothesis strategy.
    """

    @property
    @abstractmethod
    def sentence(self) -> str:
        """What a value must be, completing "must be ..."."""

    @abstractmethod
    def convert(self, value: Any, sizes: Sizes) -> Any:
        """Return `value` in its canonical form, or raise `Rejected`."""

    def takes(self, value: Any, sizes: Mapping[str, int] | None = None) -> bool:
        """Whether a value is inside, at any sizes or at the given ones."""
        try:
            self.convert(value, Sizes(sizes or {}))
        except Rejected:
            return False
        return True

    @abstractmethod
    def strategy(self, sizes: Mapping[str, int]) -> SearchStrategy[Any]:
        """Draw elements for the given sizes."""

    def size_names(self) -> frozenset[str]:
        """Return the names of the sizes that elements have."""
        return frozenset()

    def plain(self, value: Any) -> Any:
        """Write `value` as TOML or JSON would hold it."""
        return value

    def build(self, plain: Any, build_plugin: BuildPlugin) -> Any:
        """Read what `plain` wrote; `build_plugin` makes nested plugins."""
        del build_plugin
        return plain

    def open_parts(self, value: Any) -> Any:
        """Return a value made of named parts as a table, in which parts may be sets of values."""
        return value

    def parse(self, text: str) -> Any:
        """Read the command line: JSON where it is JSON, else the text itself."""
        try:
            return json.loads(text)
        except json.JSONDecodeError:
            return text

    def __or__(self, other: Domain) -> Domain:
        from sfumato.domains.alternatives import Either

        return Either((self, other))


@attrs.frozen
class Real(Domain):
    """A real number in an interval.

    >>> from sfumato.domains import POSITIVE, Sizes
    >>> POSITIVE.convert(2, Sizes())
    2.0
    """

    sentence: str
    low: float = -math.inf
    high: float = math.inf
    low_open: bool = False
    high_open: bool = False
    draw: tuple[float, float] = (-10.0, 10.0)
    infinite: bool = False

    def convert(self, value: Any, sizes: Sizes) -> float:
        """Return the number as a float; NaN, infinities, text and booleans are rejected."""
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise Rejected(f"{self.sentence} (a real number)")
        try:
            number = float(value)
        except OverflowError:
            raise Rejected(f"{self.sentence} and finite") from None
        if math.isnan(number) or (math.isinf(number) and not self.infinite):
            raise Rejected(f"{self.sentence} and finite")
        above = number > self.low if self.low_open else number >= self.low
        below = number < self.high if self.high_open else number <= self.high
        if not (above and below):
            raise Rejected(self.sentence)
        return number

    def strategy(self, sizes: Mapping[str, int]) -> SearchStrategy[float]:
        """Draw from a moderate range inside the interval; extremes are tested by name."""
        from hypothesis import strategies as st

        return st.floats(
            self.draw[0], self.draw[1], allow_nan=False, allow_infinity=False, allow_subnormal=False
        )


REAL = Real("a real number")
POSITIVE = Real("positive", low=0.0, low_open=True, draw=(0.05, 8.0))
NONNEGATIVE = Real("non-negative", low=0.0, draw=(0.0, 8.0))
UNIT = Real("between 0 and 1", low=0.0, high=1.0, draw=(0.0, 1.0))
OPEN_UNIT = Real(
    "strictly between 0 and 1", low=0.0, high=1.0, low_open=True, high_open=True, draw=(0.01, 0.99)
)
ORDER = Real("a Rényi order above 1", low=1.0, low_open=True, draw=(1.01, 16.0))


@attrs.frozen
class Whole(Domain):
    """A whole number, at least `low`; with `size`, the number itself is that size."""

    sentence: str
    low: int = 0
    size: str | None = None
    below: str | None = None
    draw: tuple[int, int] = (0, 8)

    def size_names(self) -> frozenset[str]:
        return frozenset(split_size(name)[0] for name in (self.size, self.below) if name)

    def convert(self, value: Any, sizes: Sizes) -> int:
        """Return the number as an int; floats with a fraction, text and booleans are rejected."""
        if isinstance(value, bool) or not isinstance(value, numbers.Integral):
            raise Rejected(f"{self.sentence} (a whole number)")
        number = int(value)
        if number < self.low:
            raise Rejected(self.sentence)
        if self.size is not None and not sizes.agree(self.size, number):
            raise Rejected(f"{sizes.wanted(self.size)}, as the other parameters have it")
        return number

    def strategy(self, sizes: Mapping[str, int]) -> SearchStrategy[int]:
        from hypothesis import strategies as st

        if self.size is not None:
            return st.just(evaluate_size(self.size, sizes))
        if self.below is not None and split_size(self.below)[0] in sizes:
            return st.integers(self.low, evaluate_size(self.below, sizes) - 1)
        return st.integers(*self.draw)


def COUNT(size: str) -> Whole:  # noqa: N802 - domains are written in capitals
    """Return the domain of a number that is itself the size `size`."""
    return Whole("at least 1", low=1, size=size)


def INDEX(size: str) -> Whole:  # noqa: N802 - domains are written in capitals
    """Return the domain of positions 0, 1, ... below the size `size`."""
    return Whole("a position in the trace, 0 or more", low=0, below=size, draw=(0, 2))


WHOLE = Whole("a whole number, 0 or more", low=0, draw=(0, 3))
POSITIVE_WHOLE = Whole("a whole number, 1 or more", low=1, draw=(1, 8))
SEED = Whole("a seed (a whole number, 0 or more)", low=0, draw=(0, 2**16))
