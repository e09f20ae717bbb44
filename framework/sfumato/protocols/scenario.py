"""The situation that a loss is the loss of."""

from __future__ import annotations

from typing import Any

import attrs


@attrs.frozen
class Scenario:
    """A prior class, a secret (with its radius, mistakes and indices) and a channel.

    Losses contradict each other only within one scenario.

    >>> Scenario("a prior", "a secret", "a channel").secret
    'a secret'
    """

    prior: Any
    secret: Any
    channel: Any
