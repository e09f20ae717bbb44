"""What a domain is: a set of values that can check, parse, write and draw its elements."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


_EXPRESSION = re.compile(r"^([A-Za-z]+)([+-]\d+)?$")


def split_size(expression: str) -> tuple[str, int]:
    """Return the name and the offset of a size such as ``"T-1"``.

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

    def opened(self, value: Any) -> Any:
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
