"""What is asked of a trace of real values: displacements of some entries, nearness to a place."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import ClassVar

import attrs
import numpy as np

from sfumato.values import ByContent, brief_repr

Ball = tuple[int, ...]
Group = tuple[Ball, ...]


def _radii(value: float | Sequence[float]) -> tuple[float, ...]:
    radii = (value,) if isinstance(value, (int, float, np.integer, np.floating)) else tuple(value)
    for radius in radii:
        if isinstance(radius, bool) or not (math.isfinite(radius) and radius > 0):
            raise ValueError(f"displacements.radii must be positive; got {radius}.")
    return tuple(float(radius) for radius in radii)


@attrs.frozen(eq=False)
class Displacements(ByContent):
    """A union of groups, each a product of balls on trace entries.

    A ball is a tuple of entries that move together by at most a radius in Euclidean norm (the d
    coordinates of one time).
    A group is a tuple of balls that may move at once: one for a basic secret, several for a
    compound one.
    The loss of the question is the worst over its groups.

    Attributes
    ----------
    groups
        The groups of balls.
    radii
        The radius of each group's balls; one number stands for all.

    >>> from sfumato.questions import Displacements
    >>> question = Displacements(groups=(((24,),), ((3,), (4,))), radii=1.0)
    >>> question.entries, question.radii
    ((3, 4, 24), (1.0, 1.0))
    """

    __repr__ = brief_repr

    words: ClassVar[str] = "pairs of real values"

    groups: tuple[Group, ...]
    radii: tuple[float, ...] = attrs.field(converter=_radii)

    def __attrs_post_init__(self) -> None:
        if not self.groups:
            raise ValueError("displacements.groups must have at least one group; got none.")
        for group in self.groups:
            entries = [entry for ball in group for entry in ball]
            if not all(isinstance(e, int) and e >= 0 for e in entries):
                raise ValueError(f"entries must be whole numbers, 0 or more; got {group}.")
            if not entries or len(set(entries)) != len(entries):
                raise ValueError(
                    f"a group must have balls on distinct entries, at least one; got {group}."
                )
        if len(self.radii) == 1:
            object.__setattr__(self, "radii", self.radii * len(self.groups))
        if len(self.radii) != len(self.groups):
            raise ValueError(
                f"displacements.radii must be one for each of {len(self.groups)} groups; "
                f"got {len(self.radii)}."
            )

    @property
    def entries(self) -> tuple[int, ...]:
        """Every entry of the trace that some group moves, in order."""
        return tuple(sorted({e for group in self.groups for ball in group for e in ball}))

    @classmethod
    def union(cls, questions: Iterable[Displacements]) -> Displacements:
        """Return the question whose pairs are those of any of the questions."""
        parts = list(questions)
        groups = tuple(group for part in parts for group in part.groups)
        return cls(groups, tuple(radius for part in parts for radius in part.radii))


@attrs.frozen
class Nearness:
    """Whether one entry of the trace lies within a radius of a place, and `others` of theirs.

    >>> from sfumato.questions import Nearness
    >>> Nearness(entry=3, place=0.0, radius=0.25).name
    '|x[3] - 0| <= 0.25'
    """

    words: ClassVar[str] = "being near a place"

    entry: int
    place: float
    radius: float
    others: tuple[Nearness, ...] = ()

    @property
    def parts(self) -> tuple[Nearness, ...]:
        """Each of the events alone."""
        return (attrs.evolve(self, others=()), *self.others)

    @classmethod
    def union(cls, questions: Iterable[Nearness]) -> Nearness:
        """Return the question that has the events of all."""
        first, *others = (part for question in questions for part in question.parts)
        return attrs.evolve(first, others=tuple(others))

    @property
    def name(self) -> str:
        """What the event is called in a witness."""
        return f"|x[{self.entry}] - {self.place:g}| <= {self.radius:g}"
