"""How much an output raises the probability of an event, and the output that does."""

from __future__ import annotations

from typing import Any

import attrs


@attrs.frozen
class Gap:
    """Pr[event | output] − Pr[event] at its worst.

    Parameters
    ----------
    value
        posterior − prior.
    posterior, prior
        Probability of the event with and without the output.
    event
        Number of the event among the masks that were given.
    time
        When the event happens, counted from 0.
    output
        The worst output, a tuple of symbols.

    Examples
    --------
    >>> Gap(value=0.25, posterior=0.75, prior=0.5, event=0, time=3, output=("home",)).value
    0.25
    """

    value: float
    posterior: float
    prior: float
    event: int
    time: int
    output: tuple[Any, ...]
