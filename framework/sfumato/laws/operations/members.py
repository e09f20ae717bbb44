"""Reaching into a class of priors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sfumato.prior_classes import AnyOf, Interval
from sfumato.prior_families import Family
from sfumato.protocols import Prior, PriorClass


def member_at(prior: PriorClass, place: float) -> Any:
    """Return the member at a place between 0 and 1: inside an interval, or along a list.

    >>> import sfumato as sf
    >>> member_at(sf.priors.rbf(length_scale=sf.Interval(2, 4), times=5), 0.25)
    sf.priors.rbf(length_scale=2.5, times=5)
    """
    if isinstance(prior, Family) and not prior.finite:
        chosen = {name: _within(domain, place) for name, domain in prior.varying.items()}
        return prior.member(chosen)
    members = list(prior.members())
    return members[min(int(place * len(members)), len(members) - 1)]


def _within(domain: Interval | AnyOf, place: float) -> Any:
    if isinstance(domain, Interval):
        return min(domain.low + place * (domain.high - domain.low), domain.high)
    return domain.options[min(int(place * len(domain.options)), len(domain.options) - 1)]


def ends_of(prior: PriorClass) -> Iterator[Prior]:
    """Yield the first and the last member: the ends of an interval."""
    members = list(prior.members())
    yield members[0]
    if len(members) > 1:
        yield members[-1]
