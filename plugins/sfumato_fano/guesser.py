"""Adversaries that answer with one guess of the whole trajectory."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Markov
from sfumato.channels import Emission
from sfumato.errors import ParameterError
from sfumato.protocols import DeclaredAdversary

IntArray = NDArray[np.intp]


class Guesser(DeclaredAdversary):
    """An adversary whose answer is a trajectory; it works on many outputs at once.

    The author writes `guesses`, for a batch of outputs that are all different.
    """

    reads = ((Markov, Emission),)

    @abstractmethod
    def guesses(
        self, belief: Markov, channel: Emission, observed: Sequence[Any], mistakes: int | None
    ) -> IntArray:
        """Return guesses as positions, (B, T); `mistakes` is how many are allowed, if known."""

    def infer(self, belief: Markov, channel: Emission, observed: Any) -> tuple[Hashable, ...]:
        """Return the guessed labels."""
        self.require(belief, channel)
        _checked_lengths(channel, [observed])
        channel.evidence(observed)  # even those who do not look refuse what is never released
        return belief.decode(self.guesses(belief, channel, [observed], None)[0])

    def infer_many(
        self,
        belief: Markov,
        channel: Emission,
        observed: Sequence[Any],
        mistakes: int | None = None,
    ) -> IntArray:
        """Return guesses as positions, (B, T); equal outputs are solved once."""
        self.require(belief, channel)
        _checked_lengths(channel, observed)
        first, number = distinct(observed)
        return self.guesses(belief, channel, [observed[place] for place in first], mistakes)[number]


def _checked_lengths(channel: Emission, observed: Sequence[Any]) -> None:
    """Raise unless every output has one symbol for each step."""
    for output in observed:
        length = len(output) if isinstance(output, (Sequence, np.ndarray)) else None
        if length != channel.steps:
            shown = repr(output) if length is None else length
            raise ParameterError(f"observed must have {channel.steps} symbols; got {shown}.")


def distinct(observed: Sequence[Any]) -> tuple[IntArray, IntArray]:
    """Return where each different output occurs first, and the number of every output.

    >>> [part.tolist() for part in distinct([(0, 1), (1, 1), (0, 1)])]
    [[0, 1], [0, 1, 0]]
    """
    numbers: dict[Hashable, int] = {}
    first: list[int] = []
    number = np.empty(len(observed), dtype=np.intp)
    for place, output in enumerate(observed):
        array = output if isinstance(output, np.ndarray) else None
        plain = array is not None and array.dtype != object
        key: Hashable = array.tobytes() if plain and array is not None else tuple(output)
        number[place] = numbers.setdefault(key, len(numbers))
        if number[place] == len(first):
            first.append(place)
    return np.array(first, dtype=np.intp), number
