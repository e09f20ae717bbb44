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
    """Whether the noun declares a parameter `seed` and leaves it open, as None.

    A seed with any other default is the noun's own: 0 that was given could not be told from it.
    """
    return _declares_seed(noun) and noun.seed is None


def own_seed(noun: Any) -> int | None:
    """Return the seed that the noun itself says."""
    return int(noun.seed) if _declares_seed(noun) and noun.seed is not None else None


def _declares_seed(noun: Any) -> bool:
    return isinstance(noun, Declared) and any(p.name == "seed" for p in type(noun).parameters())


def with_seed(noun: Any, seed: int) -> Any:
    """Return the noun with its seed set, if it takes one."""
    return attrs.evolve(noun, seed=seed) if takes_seed(noun) else noun
