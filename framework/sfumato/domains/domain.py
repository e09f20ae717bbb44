"""What a domain is: a set of values that can check, parse, write and draw its elements."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from sfumato.domains.sizes import Sizes

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

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
