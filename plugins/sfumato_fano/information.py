"""What is known about the mutual information of a trace and its release."""

from __future__ import annotations

import math

import attrs
import numpy as np

from sfumato.beliefs import Gaussian, Markov
from sfumato.channels import AdditiveGaussian, Emission, NoisyVectors, Symbols
from sfumato.errors import OutsideHypotheses, Undecidable
from sfumato.inference.exact import log_determinant_ratio
from sfumato.inference.gaussian.fisher_information import EXACT, UPPER, check_fit
from sfumato.inference.markov.enumeration import DEFAULT_LIMIT, checked_pair, enumerate_outputs
from sfumato.inference.markov.probabilities import entropies
from sfumato.matrices.matrix import ROUNDOFF, Array, Matrix
from sfumato.protocols import Reading
from sfumato.values import FloatArray
from sfumato_fano.sightings import (
    UNDERFLOW,
    RoundedInformation,
    Sightings,
    sighted_information,
    sightings_of,
)


def chain_entropy(belief: Markov) -> float:
    """Return H(X) = H(X_1) + Σ_t H(X_{t+1} | X_t), in nats.

    Examples
    --------
    >>> import numpy as np
    >>> fair = Markov([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], steps=10)
    >>> float(round(chain_entropy(fair) / np.log(2), 12))
    10.0
    """
    total = float(entropies(belief.initial))
    if belief.steps == 1:
        return total
    marginals = belief.marginals()[:-1]
    if belief.is_homogeneous:
        return total + float(marginals.sum(axis=0) @ entropies(belief.matrix(0)))
    for marginal, matrix in zip(marginals, belief.transitions, strict=True):
        total += float(marginal @ entropies(matrix))
    return total


def enumerated_information(
    belief: Markov, channel: Emission, limit: int = DEFAULT_LIMIT
) -> RoundedInformation:
    """Return I(X; Y) = Σ_y Pr[y] (E[log Pr[y | X] | y] − log Pr[y]), over every output, in nats.

    The inner expectation is Σ_t Σ_m Pr[X_t = m | y] log Pr[y_t | X_t = m, y before t]: only the
    posterior of single states is needed. Rounding: Pr[y] and the posteriors are products of T
    sums of M terms, so that log Pr[y] loses digits as a number near one does.

    Raises
    ------
    OutsideHypotheses
        If there are more than `limit` outputs, or the alphabet is not finite.

    Examples
    --------
    >>> from sfumato.channels import Suppression
    >>> chain = Markov([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], steps=2, states="ab")
    >>> shown = Suppression.memoryless("ab", np.full((2, 2), 0.5))
    >>> float(round(enumerated_information(chain, shown).value / np.log(2), 12))
    1.0
    """
    outputs = enumerate_outputs(belief, channel, limit)
    told = untold = 0.0
    for part in outputs.parts():
        inner = _expected(outputs.marginals(part), outputs.log_evidence(part))
        told -= float(outputs.probabilities[part] @ outputs.log_probabilities[part])
        untold -= float(outputs.probabilities[part] @ inner)
    operations = 8.0 * belief.steps * (belief.state_count + 8)
    # Both sums are of positive terms, each raised by one in place of the digits it has lost.
    return RoundedInformation.up(told + 1.0, untold + 1.0, operations)


def _expected(marginals: FloatArray, log_evidence: FloatArray) -> FloatArray:
    """Return Σ p log e, where a state of posterior zero counts nothing."""
    finite = np.where(marginals > 0.0, log_evidence, 0.0)
    return np.asarray((marginals * finite).sum(axis=(1, 2)))


def without_noise(channel: NoisyVectors) -> Symbols:
    """Return the channel that tells which mean the state has, and adds nothing.

    The noisy output is computed from that symbol and independent noise, so whatever bounds the
    success of those who see the symbols also bounds the success of those who see noise
    (data processing).

    Examples
    --------
    >>> noisy = NoisyVectors(("a", "b", "c"), [[[0.0], [1.0], [0.0]]], scale=2.0)
    >>> without_noise(noisy).probabilities[0].tolist()
    [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]
    """
    steps, count, _ = channel.means.shape
    numbers = np.empty((steps, count), dtype=np.intp)
    for time, means in enumerate(channel.means):
        numbers[time] = np.unique(means, axis=0, return_inverse=True)[1].reshape(-1)
    symbols = int(numbers.max()) + 1
    return Symbols(channel.states, tuple(range(symbols)), np.eye(symbols)[numbers])


def stepwise_information(belief: Markov, channel: Symbols | NoisyVectors) -> float:
    """Return an upper bound Ĩ ≥ I(X; Y), in nats, for a channel without memory.

    For symbols, Ĩ = Σ_t H(Y_t | Y_{t−1}) − H(Y_t | X_t): conditioning on less of the past can
    only add entropy. Raw counts are a function of the state, so there the last term is zero.
    For noisy vectors, equation (4) of Koga, Meehan and Chaudhuri (2024), for any means: with
    p_a the probability of mean a and σ the scale,
    Ĩ = −Σ_t Σ_a p_a log Σ_b p_b exp(−‖a − b‖² / (2σ²)). Both are rounded up.

    Examples
    --------
    >>> fair = Markov([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], steps=2)
    >>> seen = Symbols((0, 1), (0, 1), [[[1.0, 0.0], [0.0, 1.0]]] * 2)
    >>> float(round(stepwise_information(fair, seen) / np.log(2), 12))
    2.0
    """
    checked_pair(belief, channel)
    if isinstance(channel, NoisyVectors):
        return _noisy(belief, channel)
    marginals = belief.marginals()
    laws = np.einsum("tm,tmy->ty", marginals, channel.probabilities)
    gained = float(entropies(laws[0]))
    for time, matrix in enumerate(belief.transitions):
        before = channel.probabilities[time] * marginals[time][:, None]
        joint = before.T @ (matrix @ channel.probabilities[time + 1])
        totals = joint.sum(axis=1)
        following = joint[totals > 0.0] / totals[totals > 0.0, None]
        gained += float(totals[totals > 0.0] @ entropies(following))
    noise = float((marginals * entropies(channel.probabilities)).sum())
    symbols = channel.probabilities.shape[2]
    operations = 4.0 * belief.steps * (belief.state_count + symbols + 8)
    return RoundedInformation.up(gained, noise, operations).value


def _noisy(belief: Markov, channel: NoisyVectors) -> float:
    """Return the bound of equation (4), one step at a time."""
    classes = without_noise(channel).probabilities
    total = 0.0
    for marginal, means, members in zip(belief.marginals(), channel.means, classes, strict=True):
        law = marginal @ members
        centres = means[members.argmax(axis=0)]  # any member of a class has its mean
        possible = law > 0.0
        law, centres = law[possible], centres[possible]
        for chance, centre in zip(law, centres, strict=True):  # many sensors: no table of pairs
            gaps = np.square((centres - centre) / channel.scale).sum(axis=-1)
            total += float(chance) * _surprise(gaps / 2.0, law)
        if len(law) > 1:
            total += UNDERFLOW  # squares of gaps may vanish under much noise
    operations = 4.0 * belief.steps * (belief.state_count + classes.shape[2] + 8)
    return RoundedInformation.up(total, 0.0, operations).value


def _surprise(exponents: FloatArray, law: FloatArray) -> float:
    """Return −log Σ_b p_b exp(−g_b), with all its digits where the sum is near one."""
    missing = -float(np.expm1(-exponents) @ law)
    if missing < 0.5:
        return -math.log1p(-missing)
    return -math.log(float(np.exp(-exponents) @ law))


def gaussian_mutual_information(belief: Gaussian, channel: AdditiveGaussian) -> Reading:
    """Return I(X; Z) = ½ log (det K / det Γ), K = Σ + Γ, in nats.

    In float64 as ½ Σ log(1 + wᵢ), w the eigenvalues of Γ^(−1/2) Σ Γ^(−1/2): no determinant and no
    inverse of Σ is formed. It is infinite if and only if Σ moves a direction that the noise
    leaves alone; if Γ is singular but Σ stays within its range, the same holds on that range.

    >>> from sfumato.matrices import Diagonal
    >>> belief = Gaussian(Diagonal([3.0]))
    >>> found = gaussian_mutual_information(belief, AdditiveGaussian(Diagonal([1.0])))
    >>> round(found.value, 6), found.bound
    (0.693147, 'exact')
    """
    check_fit(belief, channel)
    noise = channel.noise
    if reason := _structurally_infinite(belief, noise):
        return Reading(value=math.inf, bound="exact", how=reason)
    value, error = _whitened(belief, noise)
    if error <= EXACT:
        return Reading(
            value=value, bound="exact", relative_error=error, how="float64, error certified"
        )
    if found := log_determinant_ratio(belief, noise):
        ratio, error, how = found
        return Reading(value=ratio / 2, bound="exact", relative_error=error, how=how)
    if error < UPPER:
        how = "float64, raised by the certified error"
        return Reading(value=value * (1 + error), bound="upper", how=how)
    raise Undecidable(
        "float64 cannot tell this mutual information from an infinite one, nor can exact "
        "arithmetic: add independent noise to every entry."
    )


def _structurally_infinite(belief: Gaussian, noise: Matrix) -> str:
    """Say why the information is infinite, where that needs no tolerance; else ""."""
    silent = noise.diagonal() == 0
    if np.any(belief.covariance.diagonal()[silent] > 0):
        return "an entry is released without noise"
    if belief.definite and noise.rank_bound() < belief.entries:
        return "the noise has too small a rank"
    return ""


def _whitened(belief: Gaussian, noise: Matrix) -> tuple[float, float]:
    """Return the information and its relative error (inf: unknown).

    Perturbations E of Σ and F of Γ ⪰ g I move det K by factors 1 ± (‖E‖ + ‖F‖) / (g (1 + wᵢ)) and
    det Γ by factors 1 ± ‖F‖/g, by Weyl's inequality in the coordinates in which Γ is the identity.
    """
    from scipy.linalg import LinAlgError, cholesky, solve_triangular

    floor = noise.smallest_eigenvalue()
    if not floor > 0:
        return math.nan, math.inf
    size, prior, added = belief.entries, belief.covariance.dense(), noise.dense()
    try:
        factor = cholesky(added, lower=True)
    except LinAlgError:
        return math.nan, math.inf
    half = solve_triangular(factor, prior, lower=True)
    white = solve_triangular(factor, half.T, lower=True)
    values: Array = np.maximum(np.linalg.eigvalsh((white + white.T) / 2), 0.0)
    total = 0.5 * float(np.sum(np.log1p(values)))
    trace, noisy = belief.covariance.trace(), noise.trace()
    # Rounding of Σ and of the two solves, and of Γ as it is sampled and factorised.
    solving = 16 * size * ROUNDOFF * math.sqrt(noisy / floor)
    from_prior = (belief.rounding + solving) * trace / floor
    from_noise = 2 * (noise.error_bound() + 16 * size * ROUNDOFF * noisy) / floor
    each = from_prior / (1 + values) + from_noise
    if not np.all(each < 0.5):
        return total, math.inf
    absolute = 0.5 * float(np.sum(-np.log1p(-each))) + 8 * size * ROUNDOFF * total
    return total, absolute / total if total > 0 else (0.0 if trace == 0 else math.inf)


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
