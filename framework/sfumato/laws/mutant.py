"""Plugins that are wrong on purpose: what a law must reject."""

from __future__ import annotations

from typing import Any

import attrs

from sfumato.laws.counterexamples import BY_HAND
from sfumato.plugin_registry import Entry, Registry


@attrs.frozen
class Mutant:
    """A wrong plugin and the law that catches it.

    Attributes
    ----------
    law
        The name of the law.
    plugin
        The wrong class.
    mistake
        What is wrong with it, in one sentence.
    """

    law: str
    plugin: Any
    mistake: str

    @property
    def name(self) -> str:
        """The registered name of the wrong class."""
        return str(self.plugin.name)

    def registry(self, shipped: Registry) -> Registry:
        """Return the shipped plugins with this one among them."""
        entry = Entry(self.plugin.kind, self.name, self.plugin, BY_HAND)
        return attrs.evolve(shipped, entries=(*shipped.entries, entry))
