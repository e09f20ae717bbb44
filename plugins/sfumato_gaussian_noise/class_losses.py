"""The losses of a release over a whole class of priors."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.channels import AdditiveGaussian
from sfumato.inference.group_losses import GroupLosses, group_losses, is_scalar
from sfumato.matrices import Matrix
from sfumato.matrices.matrix import Array
from sfumato.prior_families import Family
from sfumato.protocols import Prior, PriorClass, Secret
from sfumato.protocols.prior_class import Supremum

LARGEST_GLANCE = 128
"""Entries of a trace up to which a few hundred dense covariances are looked at together."""


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

    supremum = _supremum(prior, secret, noise, loss)
    kept = _kept(seen, supremum.member, finite=prior.finite)
    return ClassLosses(supremum.value, supremum.how, tuple(kept))


def _supremum(
    prior: PriorClass, secret: Secret, noise: Matrix, loss: Callable[[Prior], float]
) -> Supremum:
    """Return the worst member: of an interval, ranked by rough losses of many members at once."""
    if not isinstance(prior, Family) or prior.finite or noise.size > LARGEST_GLANCE:
        return prior.supremum(loss)
    question = secret.question(next(prior.members()).belief())
    if not all(is_scalar(group) for group in question.groups):
        return prior.supremum(loss)
    entries = np.array([group[0][0] for group in question.groups])
    radii, added = np.array(question.radii), noise.dense()
    return prior.ranked(loss, lambda stack: rough_losses(stack, added, entries, radii))


def rough_losses(
    priors: Array, noise: Array, entries: NDArray[np.intp], radii: Array
) -> list[float] | None:
    """Return about the worst r²(1/V_ss − 1/Σ_ss) under each of k priors (k, n, n), uncertified.

    V_ss = yᵀΣ y + wᵀΓ w for w = (Σ + Γ)⁻¹Σ_s and y = e_s − w, where an error of w counts squared.

    >>> found = rough_losses(np.ones((1, 1, 1)), np.array([[0.5]]), np.array([0]), np.ones(1))
    >>> [round(loss, 9) for loss in found]
    [2.0]
    """
    columns = priors[:, :, entries]
    try:
        weights = np.linalg.solve(priors + noise, columns)
    except np.linalg.LinAlgError:
        return None
    left = -weights
    left[:, entries, np.arange(entries.size)] += 1.0
    variances = np.sum(left * (priors @ left), axis=1) + np.sum(weights * (noise @ weights), axis=1)
    own = priors[:, entries, entries]
    with np.errstate(divide="ignore", invalid="ignore"):
        losses = np.max(radii**2 * (1 / variances - 1 / own), axis=1)
    return [_never_nan(loss) for loss in losses.tolist()]


def _kept(
    seen: dict[int, tuple[Prior, GroupLosses]], worst: Prior, *, finite: bool
) -> Iterator[tuple[Prior, GroupLosses]]:
    """Yield all that was seen of a finite class, and only the worst of a continuum."""
    yield seen[id(worst)]
    if finite:
        yield from (item for key, item in seen.items() if key != id(worst))


def _never_nan(value: float) -> float:
    return math.inf if math.isnan(value) else value
