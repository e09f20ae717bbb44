"""The domain of set labels: for each state, the contexts it may stand for."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import attrs

from sfumato.parameters import LABEL_SET, Domain, Label, Rejected, Sizes

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

SetLabel = tuple[Hashable, tuple[Hashable, ...]]


@attrs.frozen
class LabelSets(Domain):
    """A mapping from states to sets of contexts, or a list of (state, contexts) pairs.

    Kept as a tuple of pairs, in a fixed order.

    >>> LABEL_SETS.convert({"s": {"y", "s"}}, Sizes())
    (('s', ('s', 'y')),)
    """

    @property
    def sentence(self) -> str:
        """Return the form of the mapping."""
        return "a mapping from states to non-empty sets of contexts that hold the state itself"

    def convert(self, value: Any, sizes: Sizes) -> tuple[SetLabel, ...]:
        """Return the pairs; every set must hold its own state."""
        pairs = value.items() if isinstance(value, Mapping) else value
        if isinstance(pairs, (str, bytes)) or not isinstance(pairs, Iterable):
            raise Rejected(self.sentence)
        converted = {}
        for pair in pairs:
            if isinstance(pair, str) or not isinstance(pair, Iterable):
                raise Rejected(self.sentence)
            state, contexts = _two(pair, self.sentence)
            state = Label().convert(state, sizes)
            kept = LABEL_SET("M").convert(contexts, Sizes())
            if state not in kept or state in converted:
                raise Rejected(self.sentence)
            converted[state] = tuple(sorted(kept, key=repr))
        return tuple(sorted(converted.items(), key=repr))

    def plain(self, value: Any) -> Any:
        """Write a list of pairs."""
        return [[state, list(contexts)] for state, contexts in value]

    def strategy(self, sizes: Mapping[str, int]) -> SearchStrategy[Any]:
        """Draw sets for the default labels 0, 1, ...: each state, and perhaps another."""
        from hypothesis import strategies as st

        count = sizes.get("M", 3)
        states = st.integers(0, count - 1)
        return st.dictionaries(states, states, max_size=count).map(
            lambda others: {state: {state, other} for state, other in others.items()}
        )


def _two(pair: Iterable[Any], sentence: str) -> tuple[Any, Any]:
    items = list(pair)
    if len(items) != 2:
        raise Rejected(sentence)
    return items[0], items[1]


LABEL_SETS = LabelSets()
