"""What is known about the mutual information of a trace and its release."""

from __future__ import annotations

import attrs

from sfumato.beliefs import Markov
from sfumato.channels import Emission, NoisyVectors, Symbols
from sfumato.errors import OutsideHypotheses, Undecidable
from sfumato.inference.chain_entropy import chain_entropy
from sfumato.inference.noiseless import without_noise
from sfumato.inference.reachable_information import enumerated_information
from sfumato.inference.rounded_information import RoundedInformation
from sfumato.inference.sighted_information import sighted_information
from sfumato.inference.sightings import Sightings, sightings_of
from sfumato.inference.stepwise_information import stepwise_information

MOST_OPERATIONS = 1e11
"""How many multiplications following all segments between sightings may take: a few minutes."""


@attrs.frozen
class Known:
    """A value of I(X; Y) in nats, rounded up; whether it is exact, and how it was found."""

    value: float
    exact: bool
    how: str
    relative_error: float = 0.0

    @classmethod
    def rounded(cls, found: RoundedInformation, how: str) -> Known:
        """Return an exact value, or one that float64 knows as an upper bound only."""
        if not found.is_exact:
            return cls(found.value, exact=False, how=f"{how}, raised by float64's error")
        return cls(found.value, exact=True, how=how, relative_error=found.relative_error)


def raw(channel: Emission) -> Emission:
    """Return the channel without its noise."""
    return without_noise(channel) if isinstance(channel, NoisyVectors) else channel


def followed(belief: Markov, channel: Emission) -> Sightings | None:
    """Return the release as sightings, where it is of that kind and they can be followed."""
    sightings = sightings_of(belief, channel)
    if sightings is None or sightings.operations > MOST_OPERATIONS:
        return None
    return sightings


def paper_information(belief: Markov, channel: Emission) -> Known:
    """Return the paper's bound: section 3.3.1 for raw counts, equation (4) for noisy ones.

    It is defined for channels without memory; for others the best that is known stands in.
    """
    if isinstance(channel, (Symbols, NoisyVectors)):
        how = "equation (4)" if isinstance(channel, NoisyVectors) else "one step of the past"
        return Known(stepwise_information(belief, channel), exact=False, how=how)
    return best_information(belief, channel)


def best_information(
    belief: Markov, channel: Emission, sightings: Sightings | None = None
) -> Known:
    """Return the mutual information, exactly where it can be had, else the smallest bound.

    Parameters
    ----------
    belief, channel
        The scenario.
    sightings
        The channel without noise as sightings, where they are at hand.
    """
    quiet = raw(channel)
    known = _finite(belief, quiet, followed(belief, quiet) if sightings is None else sightings)
    if not isinstance(channel, NoisyVectors):
        return known
    options = (
        Known(known.value, exact=False, how=f"without noise: {known.how}"),
        paper_information(belief, channel),
    )
    return min(options, key=lambda option: option.value)


def _finite(belief: Markov, channel: Emission, sightings: Sightings | None) -> Known:
    """Return what is known of a channel without noise."""
    if sightings is not None:
        return Known.rounded(sighted_information(sightings), "segments between sightings")
    try:
        found = enumerated_information(belief, channel)
    except (OutsideHypotheses, Undecidable):
        operations = 4.0 * belief.steps * (belief.state_count + 8)
        most = RoundedInformation.up(chain_entropy(belief), 0.0, operations).value
        options = [Known(most, exact=False, how="entropy of the trace")]
        if isinstance(channel, Symbols):
            options.append(paper_information(belief, channel))
        return min(options, key=lambda option: option.value)
    return Known.rounded(found, "all outputs")
