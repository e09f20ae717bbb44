"""One release, any question: what was designed for one prior and secret, asked about others."""

from __future__ import annotations

from typing import Any

import attrs

from sfumato.errors import ParameterError
from sfumato.protocols import Mechanism, PriorClass, Release, Secret


@attrs.frozen(eq=False, repr=False)
class DesignedFor(Mechanism):
    """A mechanism that designs for its own prior and secret, whatever it is then asked about.

    Without one of them it takes the one that it is asked about.

    >>> import sfumato as sf
    >>> six = sf.priors.rbf(length_scale=6.0, times=50)
    >>> noise = sf.mechanisms.gaussian_optimal(mse=0.02).designed_for(prior=six)
    >>> other = sf.priors.rbf(length_scale=3.0, times=50)
    >>> noise.protect(other, sf.secrets.basic(24)).prior == six
    True
    """

    mechanism: Mechanism
    prior: PriorClass | None = None
    secret: Secret | None = None

    asks = ((object, object),)

    def __attrs_post_init__(self) -> None:
        if self.prior is None and self.secret is None:
            raise ParameterError("a design must name a prior or a secret; got neither.")

    @property
    def name(self) -> str:  # type: ignore[override]  # of the object, not of the class
        """The name of the mechanism."""
        return self.mechanism.name

    @property
    def yields(self) -> type:  # type: ignore[override]  # of the object, not of the class
        """The type of channel that the mechanism designs."""
        return self.mechanism.yields

    @property
    def strength(self) -> Any:  # type: ignore[override]  # of the object, not of the class
        """The strength of the mechanism."""
        return self.mechanism.strength

    def at_strength(self, value: float) -> DesignedFor:
        """Return the same design with another strength."""
        return DesignedFor(self.mechanism.at_strength(value), self.prior, self.secret)

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Design for the own prior and secret."""
        return self.mechanism.protect(self.prior or prior, self.secret or secret)

    def specification(self) -> dict[str, Any]:
        """Return the plain table that rebuilds the mechanism."""
        own = {"prior": self.prior, "secret": self.secret}
        design = {kind: noun.specification() for kind, noun in own.items() if noun is not None}
        return {**self.mechanism.specification(), "design": design}

    def __repr__(self) -> str:
        own = {"prior": self.prior, "secret": self.secret}
        inside = ", ".join(f"{kind}={noun!r}" for kind, noun in own.items() if noun is not None)
        return f"{self.mechanism!r}.designed_for({inside})"


@attrs.frozen(eq=False, repr=False)
class Finished(DesignedFor):
    """A release that is there already, in the place of a mechanism: nothing is designed again.

    >>> import sfumato as sf
    >>> prior, secret = sf.priors.rbf(length_scale=6.0, times=5), sf.secrets.basic(2)
    >>> release = sf.mechanisms.gaussian_uniform(mse=1.0).protect(prior, secret)
    >>> table = sf.compare([prior], [sf.secrets.basic(0)], [release], [sf.measures.advantage()])
    >>> table.cells[0].outcome
    'measured'
    """

    release: Release | None = attrs.field(default=None, kw_only=True)

    @classmethod
    def of(cls, release: Release) -> Finished:
        """Return what stands for a release."""
        return cls(release.mechanism, release.prior, release.secret, release=release)

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Return the release."""
        del prior, secret
        return self.release  # type: ignore[return-value]  # given by `of`
