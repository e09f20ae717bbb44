"""How hard to look: quick, default, thorough."""

from __future__ import annotations

import attrs

from sfumato.plugin_registry import did_you_mean


@attrs.frozen
class Profile:
    """How hard to look.

    Attributes
    ----------
    examples
        How many examples a law of ordinary cost gets in each case.
    draws
        How many draws a statistical law takes at first.
    shrink
        Whether a counterexample is made as small as possible before it is reported.
    """

    name: str
    examples: int
    draws: int
    shrink: bool = True


PROFILES = {
    "quick": Profile("quick", examples=6, draws=500),
    "default": Profile("default", examples=20, draws=4_000),
    "thorough": Profile("thorough", examples=200, draws=100_000),
}


def profile_named(name: str) -> Profile:
    """Return a profile, or say which was meant.

    >>> profile_named("quick").name
    'quick'
    """
    if name not in PROFILES:
        raise LookupError(f"there is no profile '{name}'; {did_you_mean(name, PROFILES)}")
    return PROFILES[name]
