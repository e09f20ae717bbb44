"""From a suppression channel to a release."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.channels import Suppression
from sfumato.inference.expected_releases import expected_releases
from sfumato.protocols import Mechanism, PriorClass, Release, Secret
from sfumato.quantities import EXPECTED_RELEASES


def suppressing_release(
    mechanism: Mechanism,
    prior: PriorClass,
    secret: Secret,
    channel: Suppression,
    claims: Mapping[str, Any] | None = None,
) -> Release:
    """Return the release; over a class its utility is that of the least favourable member."""
    worst = prior.supremum(lambda member: -expected_releases(member.belief(), channel))
    return Release(
        mechanism=mechanism,
        prior=prior,
        secret=secret,
        channel=channel,
        utility_value=-worst.value,
        utility_quantity=EXPECTED_RELEASES,
        claims=claims or {},
    )
