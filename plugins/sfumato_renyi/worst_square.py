"""The largest ΔᵀMΔ of a question: what every loss of a Gaussian release is made of."""

from __future__ import annotations

import math

import attrs
import numpy as np

from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.errors import Undecidable
from sfumato.inference.fisher_information import fisher_information, scalar_informations
from sfumato.inference.group_losses import is_scalar, positions
from sfumato.inference.information import EXACT
from sfumato.inference.worst_pair import worst_pair
from sfumato.protocols import Reading
from sfumato.questions import Displacements
from sfumato.questions.displacements import Group


def worst_square(belief: Gaussian, question: Displacements, channel: AdditiveGaussian) -> Reading:
    """Return sup ΔᵀMΔ over the question's displacements, M = V_SS⁻¹ − Σ_SS⁻¹.

    The witness names the entries that move and the worst displacement.

    >>> from sfumato.matrices import Diagonal
    >>> belief, channel = Gaussian(Diagonal([1.0])), AdditiveGaussian(Diagonal([0.5]))
    >>> worst_square(belief, Displacements((((0,),),), radii=2.0), channel).value
    8.0
    """
    for radius in set(question.radii):
        within_float64(radius, radius)
    if len(question.groups) > 1 and all(is_scalar(group) for group in question.groups):
        return _every_scalar(belief, question, channel)
    readings = [
        group_square(belief, group, radius, channel)
        for group, radius in zip(question.groups, question.radii, strict=True)
    ]
    worst = max(readings, key=lambda reading: reading.value)
    # An upper bound of equal value elsewhere hides nothing; one below the worst cannot matter.
    tied = any(r.bound == "upper" and r.value >= worst.value for r in readings)
    return attrs.evolve(worst, bound="upper", relative_error=0.0) if tied else worst


def scaled(reading: Reading, factor: float) -> Reading:
    """Return the reading of `factor` times as much."""
    return attrs.evolve(reading, value=within_float64(factor, reading.value))


def within_float64(*factors: float) -> float:
    """Return a product, or refuse it where it vanishes or overflows though no factor does.

    >>> within_float64(2.0, 0.0), within_float64(2.0, math.inf)
    (0.0, inf)
    """
    product = math.prod(factors)
    vanished = product == 0 and all(factor != 0 for factor in factors)
    if vanished or (math.isinf(product) and all(math.isfinite(factor) for factor in factors)):
        raise Undecidable(
            "the loss does not fit float64: use a moderate radius and order, or other units."
        )
    return product


def group_square(
    belief: Gaussian, group: Group, radius: float, channel: AdditiveGaussian
) -> Reading:
    """Return the largest square of one product of balls."""
    entries = tuple(entry for ball in group for entry in ball)
    information = fisher_information(belief, channel, entries)
    if information.infinite:
        return Reading(value=math.inf, how=information.how, witness={"entries": entries})
    worst = worst_pair(information.matrix, positions(group), radius, support=information.support)
    exact = information.bound == worst.bound == "exact"
    value = worst.value
    if not exact and information.bound == "exact":
        value *= 1 + information.relative_error  # a bound is one only above its rounding
    return Reading(
        value=value,
        bound="exact" if exact else "upper",
        relative_error=information.relative_error if exact else 0.0,
        witness={"entries": entries, "displacement": tuple(worst.witness.tolist())},
        how=f"{information.how}; {worst.how}",
    )


def _every_scalar(belief: Gaussian, question: Displacements, channel: AdditiveGaussian) -> Reading:
    """Return the worst of many one-entry secrets, from one factorisation."""
    entries = np.array([group[0][0] for group in question.groups])
    informations, error = scalar_informations(belief, channel)
    with np.errstate(over="ignore", under="ignore"):  # looked at below
        worst = int(np.argmax(np.square(question.radii) * informations[entries]))
    radius = question.radii[worst]
    return Reading(
        value=within_float64(radius, radius, float(informations[entries[worst]])),
        bound="exact" if error <= EXACT else "upper",
        relative_error=error if error <= EXACT else 0.0,
        witness={"entries": (int(entries[worst]),), "displacement": (radius,)},
        how="one factorisation for all entries",
    )
