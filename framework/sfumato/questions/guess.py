"""Guessing a whole trajectory."""

from __future__ import annotations

import attrs
import numpy as np


def _plain(value: object) -> object:
    """Return numpy's whole numbers as Python's; anything else as it is."""
    return int(value) if isinstance(value, np.integer) else value


@attrs.frozen
class Guess:
    """The adversary succeeds with a guess that differs in at most `mistakes` positions.

    >>> Guess(2).mistakes
    2
    """

    mistakes: int = attrs.field(converter=_plain)

    def __attrs_post_init__(self) -> None:
        if isinstance(self.mistakes, bool) or not isinstance(self.mistakes, int):
            raise ValueError(  # noqa: TRY004 - one error for every bad value
                f"guess.mistakes must be a whole number; got {self.mistakes!r}."
            )
        if self.mistakes < 0:
            raise ValueError(f"guess.mistakes must be 0 or more; got {self.mistakes}.")
