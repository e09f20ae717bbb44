"""Pairs of real traces that differ by a displacement."""

from __future__ import annotations

import math

import attrs

from sfumato.content import ByContent

Ball = tuple[int, ...]
Group = tuple[Ball, ...]


@attrs.frozen(eq=False)
class Displacements(ByContent):
    """A union of groups, each a product of balls on trace entries.

    A ball is a tuple of entries that move together by at most `radius` in Euclidean norm (the d
    coordinates of one time).
    A group is a tuple of balls that may move at once: one for a basic secret, several for a
    compound one.
    The loss of the question is the worst over its groups.

    >>> Displacements(groups=(((24,),),), radius=1.0).entries
    (24,)
    """

    groups: tuple[Group, ...]
    radius: float

    def __attrs_post_init__(self) -> None:
        if not (math.isfinite(self.radius) and self.radius > 0):
            raise ValueError(f"displacements.radius must be positive; got {self.radius}.")
        for group in self.groups:
            entries = [entry for ball in group for entry in ball]
            if not entries or len(set(entries)) != len(entries):
                raise ValueError(
                    f"a group must have balls on distinct entries, at least one; got {group}."
                )
        if not self.groups:
            raise ValueError("displacements.groups must have at least one group; got none.")

    @property
    def entries(self) -> tuple[int, ...]:
        """Every entry of the trace that some group moves, in order."""
        return tuple(sorted({e for group in self.groups for ball in group for e in ball}))
