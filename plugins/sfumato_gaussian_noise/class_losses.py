"""The losses of a release over a whole class of priors."""

from __future__ import annotations

import math
from collections.abc import Iterator

import attrs
import numpy as np

from sfumato.channels import AdditiveGaussian
from sfumato.inference.group_losses import GroupLosses, group_losses
from sfumato.matrices import Matrix
from sfumato.matrices.matrix import Array
from sfumato.protocols import Prior, PriorClass, Secret


@attrs.frozen(eq=False)
class Violation:
    """A member of the class, a group of the secret, their loss, and a displacement close to it."""

    member: Prior
    group: int
    loss: float
    displacement: Array


@attrs.frozen(eq=False)
class ClassLosses:
    """The worst loss over the class in units of half the Rényi order, never too small.

    Attributes
    ----------
    worst : float
        The largest loss.
    how : str
        Whether the class was looked at whole ("single", "finite", "proved") or "searched".
    """

    worst: float
    how: str
    readings: tuple[tuple[Prior, GroupLosses], ...]

    def above(self, threshold: float) -> list[Violation]:
        """Return every member and group with a larger loss, the worst first."""
        found = [
            Violation(member, group, float(losses.values[group]), losses.witnesses[group])
            for member, losses in self.readings
            for group in np.flatnonzero(losses.values > threshold).tolist()
        ]
        return sorted(found, key=lambda violation: -violation.loss)


def class_losses(prior: PriorClass, secret: Secret, noise: Matrix) -> ClassLosses:
    """Return the losses of all members of a finite class; else of those that a search keeps.

    >>> import sfumato as sf
    >>> from sfumato.matrices import Diagonal
    >>> prior = sf.priors.rbf(length_scale=sf.AnyOf(1.0, 6.0), times=50)
    >>> found = class_losses(prior, sf.secrets.basic(24), Diagonal.constant(0.02, 50))
    >>> round(found.worst, 3), found.how
    (260.603, 'finite')
    """
    seen: dict[int, tuple[Prior, GroupLosses]] = {}

    def loss(member: Prior) -> float:
        belief = member.belief()
        channel = AdditiveGaussian(noise, dimensions=belief.dimensions)
        losses = group_losses(belief, secret.question(belief), channel)
        seen[id(member)] = (member, losses)
        return _never_nan(float(losses.values.max()))

    supremum = prior.supremum(loss)
    kept = _kept(seen, supremum.member, finite=prior.finite)
    return ClassLosses(supremum.value, supremum.how, tuple(kept))


def _kept(
    seen: dict[int, tuple[Prior, GroupLosses]], worst: Prior, *, finite: bool
) -> Iterator[tuple[Prior, GroupLosses]]:
    """Yield all that was seen of a finite class, and only the worst of a continuum."""
    yield seen[id(worst)]
    if finite:
        yield from (item for key, item in seen.items() if key != id(worst))


def _never_nan(value: float) -> float:
    return math.inf if math.isnan(value) else value
