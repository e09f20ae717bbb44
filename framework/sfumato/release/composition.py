"""Several releases of related traces, read together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import attrs

from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.compatibility import require_mechanism
from sfumato.errors import Incompatible, ParameterError
from sfumato.matrices import BlockDiagonal
from sfumato.prior_classes.combinations import joint_traces, trace_positions
from sfumato.protocols import Mechanism, PriorClass, Release, Secret
from sfumato.quantities import MEAN_SQUARED_ERROR


@attrs.frozen
class Composition(Mechanism[AdditiveGaussian]):
    """The mechanisms of several releases, one after another, with independent noise."""

    name: ClassVar[str] = "composition"
    asks: ClassVar[tuple[tuple[type, type], ...]] = ((Gaussian, object),)
    yields: ClassVar[type] = AdditiveGaussian

    parts: tuple[Mechanism, ...]

    def design(self, prior: PriorClass, secret: Secret) -> Release[AdditiveGaussian]:
        """Refuse: a composition is made of releases, not designed."""
        raise Incompatible(
            f"composition takes releases, not a prior and a secret such as '{prior.name}' and "
            f"{secret!r}: use sf.compose."
        )

    def specification(self) -> dict[str, Any]:
        """Return the tables of the mechanisms."""
        return {"composition": [part.specification() for part in self.parts]}


def compose(
    releases: Iterable[Release],
    prior: PriorClass,
    secret: Secret,
    *,
    positions: Iterable[Iterable[int]] | None = None,
) -> Release:
    """Return one release that stands for all of them, with independent noise on each.

    The loss of the composition is the loss of a joint trace, the released traces one after
    another, under a prior of all of them: their noise covariances stand along the diagonal.
    Losses do not just add up: they depend on how the prior relates the traces.

    Parameters
    ----------
    releases
        Releases that add Gaussian noise.
    prior
        What the adversary believes about all traces together; its trace holds every time that
        some release covers.
    secret
        What must stay hidden; its indices are positions in the joint trace.
    positions
        For each release, where in the prior's trace its times lie; a time may be released twice.
        Missing means one after another.

    The joint trace, and so the prior to give to measures, is that of the returned release.

    Reference: Meehan and Chaudhuri (2021), Corollary 3.4.1.

    Examples
    --------
    The same trace released twice is as revealing as half the noise once:

    >>> import sfumato as sf
    >>> prior, secret = sf.priors.rbf(length_scale=2.0, times=5), sf.secrets.basic(2)
    >>> noisy, quiet = (
    ...     sf.mechanisms.gaussian_uniform(mse=m).protect(prior, secret) for m in (1.0, 0.5)
    ... )
    >>> both = sf.compose([noisy, noisy], prior, secret, positions=[range(5), range(5)])
    >>> renyi = sf.measures.renyi(order=2.0)
    >>> print(renyi.loss(both.prior, secret, both))
    Rényi divergence (order=2) [nats] = 5.18337
    >>> print(renyi.loss(prior, secret, quiet))
    Rényi divergence (order=2) [nats] = 5.18337
    """
    composed = _checked_releases(releases)
    require_mechanism(Composition, prior, secret)
    channels = [release.channel for release in composed]
    dimensions = channels[0].dimensions
    counts = [channel.entries // dimensions for channel in channels]
    whole = next(prior.members()).belief().times
    joint = joint_traces(prior, _flat_positions(counts, positions, whole))
    belief = next(joint.members()).belief()
    if belief.dimensions != dimensions or belief.times != sum(counts):
        raise Incompatible(
            f"a composition must have a prior of all traces, {sum(counts)} times of {dimensions} "
            f"coordinates; got one of shape {belief.shape}."
        )
    secret.question(belief)  # a secret that is not about these traces says so now
    noises = tuple(channel.noise for channel in channels)
    noise = noises[0] if len(noises) == 1 else BlockDiagonal(noises)
    return Release(
        mechanism=Composition(tuple(release.mechanism for release in composed)),
        prior=joint,
        secret=secret,
        channel=AdditiveGaussian(noise, dimensions=dimensions),
        utility_value=noise.trace() / noise.size,
        utility_quantity=MEAN_SQUARED_ERROR,
    )


def _checked_releases(releases: Iterable[Any]) -> list[Release[AdditiveGaussian]]:
    """Return releases that add Gaussian noise to traces of equally many coordinates."""
    listed = isinstance(releases, Iterable) and not isinstance(releases, str)
    found: list[Release[AdditiveGaussian]] = list(releases) if listed else []
    wrong = [one for one in found if not isinstance(one, Release)]
    if not found or wrong:
        got = type(wrong[0] if wrong else releases).__name__
        raise ParameterError(
            f"a composition must have at least one release, in a list of releases; got a {got}."
        )
    for release in found:
        if not isinstance(release.channel, AdditiveGaussian):
            raise Incompatible(
                f"a composition takes AdditiveGaussian channels; {release.mechanism!r} yields "
                f"{type(release.channel).__name__}."
            )
    dimensions = {release.channel.dimensions for release in found}
    if len(dimensions) > 1:
        raise Incompatible(
            f"a composition takes traces of equally many coordinates; got {sorted(dimensions)}."
        )
    return found


def _flat_positions(
    counts: Sequence[int], positions: Iterable[Iterable[int]] | None, whole: int
) -> tuple[int, ...] | None:
    """Return the position of every time of the joint trace; None where it is the prior's trace."""
    if positions is None:
        return None
    if isinstance(positions, (str, Mapping)) or not isinstance(positions, Iterable):
        raise ParameterError(
            f"positions must be a list of positions for each release; got {positions!r}."
        )
    each = [trace_positions(places) for places in positions]
    if [len(places) for places in each] != list(counts):
        raise ParameterError(
            f"positions must place {' and '.join(map(str, counts))} times; got "
            f"{' and '.join(str(len(places)) for places in each)}."
        )
    flat = tuple(place for places in each for place in places)
    return None if flat == tuple(range(whole)) else flat
