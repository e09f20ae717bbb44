"""Designing for another prior than the one a release is measured under."""

from __future__ import annotations

from sfumato.beliefs import Gaussian
from sfumato.errors import Incompatible
from sfumato.protocols import PriorClass


def designed_for(prior: PriorClass, design_prior: PriorClass | None) -> PriorClass:
    """Return the class to design for, after checking that both speak of one kind of trace.

    >>> import sfumato as sf
    >>> prior = sf.priors.rbf(length_scale=6.0, times=3)
    >>> designed_for(prior, None) is prior
    True
    """
    if design_prior is None:
        return prior
    if not issubclass(design_prior.yields, Gaussian):
        raise Incompatible(
            f"design_prior must yield Gaussian beliefs; '{design_prior.name}' yields "
            f"{design_prior.yields.__name__}."
        )
    wanted, got = (next(each.members()).belief().shape for each in (prior, design_prior))
    if wanted != got:
        raise Incompatible(f"design_prior must be about traces of shape {wanted}; got {got}.")
    return design_prior
