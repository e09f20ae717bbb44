"""Seeds of cells: from what the cell asks, never from where or when it is computed."""

from __future__ import annotations

import hashlib
from typing import Any

import attrs

from sfumato.parameters import Declared


def derived_seed(study_seed: int, *digests: str) -> int:
    """Return 32 bits of the hash of the study's seed and the digests of the specifications.

    >>> derived_seed(0, "a", "b") == derived_seed(0, "a", "b") != derived_seed(1, "a", "b")
    True
    """
    text = "\n".join((str(study_seed), *digests))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4])


def takes_seed(noun: Any) -> bool:
    """Whether the noun declares a parameter `seed` that was left at its default."""
    if not isinstance(noun, Declared):
        return False
    declared = {item.name for item in type(noun).parameters()}
    return "seed" in declared and "seed" not in noun.specification()


def with_seed(noun: Any, seed: int) -> Any:
    """Return the noun with its seed set, if it takes one."""
    return attrs.evolve(noun, seed=seed) if takes_seed(noun) else noun
