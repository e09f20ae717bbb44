"""What a mechanism hands out: a channel, ready to be applied."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs

from sfumato.protocols.quantity import Quantity
from sfumato.randomness import generator_or_secure

if TYPE_CHECKING:
    import numpy as np

    from sfumato.protocols.mechanism import Mechanism
    from sfumato.protocols.prior_class import PriorClass
    from sfumato.protocols.secret import Secret


def _not_nan(_: object, attribute: Any, value: float) -> None:
    if math.isnan(value):
        raise ValueError(f"release.{attribute.name} must be a number; got nan.")


@attrs.frozen(kw_only=True)
class Release:
    """A channel designed for a prior class and a secret.

    Attributes
    ----------
    channel
        The law of the output given the trace, of what is *really sampled*.
    utility_quantity
        What `utility` counts, and which way is worse.
    claims
        What the designer certifies, in plain values, such as a lower bound on any mechanism's
        loss.

    >>> import numpy as np
    >>> import sfumato as sf
    >>> prior, secret = sf.priors.rbf(length_scale=2.0, times=3), sf.secrets.basic(1)
    >>> release = sf.mechanisms.gaussian_uniform(mse=0.5).protect(prior, secret)
    >>> release.utility(), release.utility_quantity.name
    (0.5, 'mean squared error')
    >>> release.apply([0.0, 1.0, 2.0], rng=np.random.default_rng(0)).shape
    (3,)
    """

    mechanism: Mechanism
    prior: PriorClass
    secret: Secret
    channel: Any
    utility_value: float = attrs.field(converter=float, validator=_not_nan)
    utility_quantity: Quantity
    claims: Mapping[str, Any] = attrs.field(factory=dict, eq=False, hash=False)

    def apply(self, trace: Any, rng: np.random.Generator | None = None) -> Any:
        """Release a trace; without a generator the noise comes from the secure source."""
        return self.channel.sample(trace, generator_or_secure(rng))

    def utility(self) -> float:
        """Return how useful the release is, as `utility_quantity` says."""
        return self.utility_value

    @property
    def certificate(self) -> dict[str, Any]:
        """Return a plain table: what was designed, for whom, and what it is certified to do."""
        from sfumato.version import __version__

        return {
            "sfumato": __version__,
            "mechanism": self.mechanism.specification(),
            "prior": self.prior.specification(),
            "secret": self.secret.specification(),
            "utility": {"quantity": str(self.utility_quantity), "value": self.utility_value},
            **self.claims,
        }
