"""What is known about the mutual information of a trace and its release."""

from __future__ import annotations

import attrs

from sfumato.beliefs import Markov
from sfumato.channels import Emission, NoisyVectors, Symbols
from sfumato.errors import OutsideHypotheses, Undecidable
from sfumato.inference.chain_entropy import chain_entropy
from sfumato.inference.noiseless import without_noise
from sfumato.inference.reachable_information import enumerated_information
from sfumato.inference.segments import Segments, segments
from sfumato.inference.sightings import Sightings, sightings_of
from sfumato.inference.stepwise_information import stepwise_information

MOST_NODES = 4_000
"""How many possible sightings are followed before falling back on other ways."""


@attrs.frozen
class Known:
    """A value of I(X; Y) in nats, whether it is exact, and how it was found."""

    value: float
    exact: bool
    how: str


def raw(channel: Emission) -> Emission:
    """Return the channel without its noise."""
    return without_noise(channel) if isinstance(channel, NoisyVectors) else channel


def seen_segments(belief: Markov, channel: Emission) -> tuple[Sightings, Segments] | None:
    """Return the release as segments between sightings, where it is of that kind."""
    sightings = sightings_of(belief, channel)
    if sightings is None or len(sightings) > MOST_NODES:
        return None
    return sightings, segments(sightings)


def paper_information(belief: Markov, channel: Emission) -> Known:
    """Return the paper's bound: section 3.3.1 for raw counts, equation (4) for noisy ones.

    It is defined for channels without memory; for others the best that is known stands in.
    """
    if isinstance(channel, (Symbols, NoisyVectors)):
        how = "equation (4)" if isinstance(channel, NoisyVectors) else "one step of the past"
        return Known(stepwise_information(belief, channel), exact=False, how=how)
    return best_information(belief, channel)


def best_information(belief: Markov, channel: Emission, found: Segments | None = None) -> Known:
    """Return the mutual information, exactly where it can be had, else the smallest bound.

    Parameters
    ----------
    belief, channel
        The scenario.
    found
        The segments of the channel without noise, where they are at hand.
    """
    quiet = raw(channel)
    if found is None:
        pair = seen_segments(belief, quiet)
        found = None if pair is None else pair[1]
    known = _finite(belief, quiet, found)
    if not isinstance(channel, NoisyVectors):
        return known
    options = (
        attrs.evolve(known, exact=False, how=f"without noise: {known.how}"),
        paper_information(belief, channel),
    )
    return min(options, key=lambda option: option.value)


def _finite(belief: Markov, channel: Emission, found: Segments | None) -> Known:
    """Return what is known of a channel without noise."""
    if found is not None:
        return Known(found.information, exact=True, how="segments between sightings")
    try:
        value = enumerated_information(belief, channel)
    except (OutsideHypotheses, Undecidable):
        options = [Known(chain_entropy(belief), exact=False, how="entropy of the trace")]
        if isinstance(channel, Symbols):
            options.append(paper_information(belief, channel))
        return min(options, key=lambda option: option.value)
    return Known(value, exact=True, how="all outputs")
