"""Domains made of others: alternatives, named choices, lists, switches, labels and plugins."""
# ruff: noqa: ARG002, D102 - what every domain can do is documented on Domain

from __future__ import annotations

import operator
from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import attrs

from sfumato.domains.domain import BuildPlugin, Domain, Rejected, Sizes, evaluate_size, split_size

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


@attrs.frozen
class Either(Domain):
    """A value of the first domain that takes it."""

    options: tuple[Domain, ...]

    @property
    def sentence(self) -> str:
        return " or ".join(option.sentence for option in self.options)

    def size_names(self) -> frozenset[str]:
        return frozenset().union(*(option.size_names() for option in self.options))

    def convert(self, value: Any, sizes: Sizes) -> Any:
        return self._first(value, sizes)[1]

    def _first(self, value: Any, sizes: Sizes) -> tuple[Domain, Any]:
        reasons = []
        for option in self.options:
            trial = Sizes(sizes)
            try:
                converted = option.convert(value, trial)
            except Rejected as reason:
                reasons.append(str(reason))
                continue
            sizes.update(trial)
            return option, converted
        raise Rejected(" or ".join(dict.fromkeys(reasons)))

    def plain(self, value: Any) -> Any:
        return self._first(value, Sizes())[0].plain(value)

    def build(self, plain: Any, build_plugin: BuildPlugin) -> Any:
        """Let the alternatives read in turn; those without plugins leave the value as it is."""
        for option in self.options:
            plain = option.build(plain, build_plugin)
        return plain

    def strategy(self, sizes: Mapping[str, int]) -> SearchStrategy[Any]:
        from hypothesis import strategies as st

        return st.one_of([option.strategy(sizes) for option in self.options])

    def __or__(self, other: Domain) -> Domain:
        return Either((*self.options, other))


@attrs.frozen
class Choice(Domain):
    """One of a few fixed values."""

    values: tuple[Hashable, ...]

    @property
    def sentence(self) -> str:
        return "one of " + ", ".join(map(repr, self.values)) if self.values != (None,) else "None"

    def convert(self, value: Any, sizes: Sizes) -> Any:
        for choice in self.values:
            if type(value) is type(choice) and value == choice:
                return choice
        raise Rejected(self.sentence)

    def strategy(self, sizes: Mapping[str, int]) -> SearchStrategy[Any]:
        from hypothesis import strategies as st

        return st.sampled_from(self.values)


def CHOICE(*values: Hashable) -> Choice:  # noqa: N802 - domains are written in capitals
    """Return the domain of the listed values."""
    return Choice(values)


ABSENT = Choice((None,))
SWITCH = Choice((False, True))


def OPTIONAL(domain: Domain) -> Domain:  # noqa: N802 - domains are written in capitals
    """Return `domain` with None added."""
    return ABSENT | domain


@attrs.frozen
class Collection(Domain):
    """A tuple of elements of one domain; with `size`, its length is that size."""

    element: Domain
    size: str | None = None
    least: int = 1
    distinct: bool = False

    @property
    def sentence(self) -> str:
        kind = "distinct values" if self.distinct else "values"
        return f"a list of {kind}, each {self.element.sentence}"

    def size_names(self) -> frozenset[str]:
        own = frozenset({split_size(self.size)[0]}) if self.size else frozenset()
        return own | self.element.size_names()

    def convert(self, value: Any, sizes: Sizes) -> tuple[Any, ...]:
        """Return a tuple of converted elements; sets, where order is nothing, are sorted."""
        if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
            raise Rejected(self.sentence)
        if isinstance(value, (set, frozenset)) and (self.size is not None or not self.distinct):
            raise Rejected(f"{self.sentence}, in order, which a set has not")
        items = sorted(value, key=repr) if isinstance(value, (set, frozenset)) else list(value)
        if len(items) < self.least:
            raise Rejected(f"{self.sentence}, at least {self.least} of them")
        converted = tuple(self.element.convert(item, sizes) for item in items)
        if self.distinct and len(set(converted)) < len(converted):
            raise Rejected(f"{self.sentence} (one is listed twice)")
        if self.size is not None and not sizes.agree(self.size, len(converted)):
            raise Rejected(f"a list of {sizes.wanted(self.size)} values")
        return converted

    def plain(self, value: Any) -> Any:
        return [self.element.plain(item) for item in value]

    def build(self, plain: Any, build_plugin: BuildPlugin) -> Any:
        if not isinstance(plain, list):
            return plain
        return [self.element.build(item, build_plugin) for item in plain]

    def strategy(self, sizes: Mapping[str, int]) -> SearchStrategy[Any]:
        from hypothesis import strategies as st

        if self.size is not None and split_size(self.size)[0] in sizes:
            count = evaluate_size(self.size, sizes)
            least, most = count, count
        else:
            least, most = self.least, max(self.least, 3)
        return st.lists(
            self.element.strategy(sizes), min_size=least, max_size=most, unique=self.distinct
        ).map(tuple)


@attrs.frozen
class Label(Domain):
    """A state's label: text or a whole number."""

    size: str | None = None
    sentence = "a label (text or a whole number)"

    def size_names(self) -> frozenset[str]:
        return frozenset({self.size}) if self.size else frozenset()

    def convert(self, value: Any, sizes: Sizes) -> str | int:
        """Return the label; whole numbers lose their numpy type."""
        if isinstance(value, str):
            return value
        if isinstance(value, bool):
            raise Rejected(self.sentence)
        try:
            return operator.index(value)
        except TypeError:
            raise Rejected(self.sentence) from None

    def strategy(self, sizes: Mapping[str, int]) -> SearchStrategy[Any]:
        """Draw 0, 1, ..., below the size if there is one: the default labels of a chain."""
        from hypothesis import strategies as st

        most = sizes[self.size] - 1 if self.size is not None and self.size in sizes else 3
        return st.integers(0, most)


def LABELS(size: str) -> Domain:  # noqa: N802 - domains are written in capitals
    """Return the domain of lists of distinct labels, `size` of them."""
    return Collection(Label(), size=size, distinct=True)


def LABEL_SET(size: str) -> Domain:  # noqa: N802 - domains are written in capitals
    """Return the domain of non-empty sets of labels out of `size` many."""
    return Collection(Label(size), distinct=True)


def LIST_OF(element: Domain, size: str | None = None) -> Domain:  # noqa: N802 - a domain
    """Return the domain of lists of `element`, of length `size` if given."""
    return Collection(element, size=size)


@attrs.frozen
class Plugin(Domain):
    """Another plugin's object, such as the adversary of an attack; `yields` may limit which."""

    kind: str
    yields: type | None = None

    @property
    def sentence(self) -> str:
        article = "an" if self.kind[0] in "aeiou" else "a"
        return f"{article} {self.kind}"

    def convert(self, value: Any, sizes: Sizes) -> Any:
        if getattr(type(value), "kind", None) != self.kind:
            if callable(value) and getattr(value, "kind", None) == self.kind:
                raise Rejected(f"{self.sentence}: write {value.name}() with parentheses")
            raise Rejected(self.sentence)
        if not self.allows(type(value)):
            raise Rejected(
                f"{self.sentence} that gives {getattr(self.yields, 'words', self.yields)}"
            )
        return value

    def allows(self, plugin: Any) -> bool:
        """Whether objects of a class are among those asked for."""
        return self.yields is None or plugin.yields is self.yields

    def plain(self, value: Any) -> Any:
        return value.specification()

    def build(self, plain: Any, build_plugin: BuildPlugin) -> Any:
        """Build a specification, in the form of a name or a table with a name."""
        if isinstance(plain, str):
            plain = {"name": plain}
        return build_plugin(self.kind, plain) if isinstance(plain, Mapping) else plain

    def strategy(self, sizes: Mapping[str, int]) -> SearchStrategy[Any]:
        from sfumato.laws.strategies import plugins_of_kind

        return plugins_of_kind(self.kind, sizes, self.allows)


PLUGIN = Plugin
