"""The loss of a Gaussian release about a union of products of balls."""

from __future__ import annotations

import math

import attrs
import numpy as np

from sfumato.beliefs.gaussian import Gaussian
from sfumato.channels.additive_gaussian import AdditiveGaussian
from sfumato.inference.fisher_information import fisher_information, scalar_informations
from sfumato.inference.worst_pair import worst_pair
from sfumato.matrices.matrix import Array
from sfumato.questions.displacements import Displacements, Group


@attrs.frozen(eq=False)
class GroupLosses:
    """For each group j of a question, an upper bound of r_j² sup ΔᵀM_jΔ, and a Δ that is close.

    Attributes
    ----------
    values : array
        The losses, in units of half the Rényi order, raised by their certified errors.
    witnesses : tuple of arrays
        For each group, its displacement Δ in units of the radius; empty where the loss is infinite.
    """

    values: Array
    witnesses: tuple[Array, ...]

    @property
    def worst(self) -> int:
        """The group with the largest loss."""
        return int(np.argmax(self.values))


def group_losses(
    belief: Gaussian, question: Displacements, channel: AdditiveGaussian
) -> GroupLosses:
    """Return the loss of every group, from one factorisation where all groups are single entries.

    >>> from sfumato.matrices import Diagonal
    >>> question = Displacements(groups=(((0,),), ((1,),)), radii=(1.0, 2.0))
    >>> channel = AdditiveGaussian(Diagonal([0.5, 0.25]))
    >>> group_losses(Gaussian(Diagonal([1.0, 1.0])), question, channel).values.round(9)
    array([ 2., 16.])
    """
    if len(question.groups) > 1 and all(is_scalar(group) for group in question.groups):
        entries = np.array([group[0][0] for group in question.groups])
        informations, error = scalar_informations(belief, channel)
        values = np.square(question.radii) * informations[entries] * (1 + error)
        return GroupLosses(values, (np.ones(1),) * entries.size)
    found = [_of_group(belief, group, channel) for group in question.groups]
    values = np.array([value for value, _ in found]) * np.square(question.radii)
    return GroupLosses(values, tuple(witness for _, witness in found))


def is_scalar(group: Group) -> bool:
    """Whether the group is one ball of one entry.

    >>> is_scalar(((3,),)), is_scalar(((3,), (4,)))
    (True, False)
    """
    return len(group) == 1 and len(group[0]) == 1


def positions(group: Group) -> tuple[tuple[int, ...], ...]:
    """Return the balls as positions in the group's own list of entries.

    >>> positions(((7, 8), (3, 4)))
    ((0, 1), (2, 3))
    """
    counter = iter(range(sum(len(ball) for ball in group)))
    return tuple(tuple(next(counter) for _ in ball) for ball in group)


def _of_group(belief: Gaussian, group: Group, channel: AdditiveGaussian) -> tuple[float, Array]:
    entries = tuple(entry for ball in group for entry in ball)
    information = fisher_information(belief, channel, entries)
    if information.infinite:
        return math.inf, np.zeros(0)
    worst = worst_pair(information.matrix, positions(group), 1.0, support=information.support)
    return worst.value * (1 + information.relative_error), worst.witness
