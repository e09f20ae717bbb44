"""What the release tells about the trace: the measure `mutual_information`, and its bounds.

Of a Markov chain it is known exactly from the segments between sightings or from a list of all
outputs, and else bounded; of a Gaussian trace it is a ratio of determinants.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

from sfumato.beliefs import Gaussian, Markov
from sfumato.channels import (
    AdditiveGaussian,
    Channel,
    Emission,
    NoisyVectors,
    RememberingSuppression,
    Symbols,
    WholeTrace,
)
from sfumato.comparison.populations import OfPopulation
from sfumato.errors import OutsideHypotheses, Undecidable
from sfumato.inference.exact import log_determinant_ratio
from sfumato.inference.gaussian.fisher_information import EXACT, UPPER, check_fit
from sfumato.inference.markov.enumeration import checked_pair, enumerate_outputs
from sfumato.inference.markov.probabilities import entropies, entropy_terms, top_term
from sfumato.inference.markov.remembered import (
    follow_segments,
    possible_starts,
    remembered_releases,
)
from sfumato.matrices.matrix import ROUNDOFF, Array, Matrix
from sfumato.parameters import CHOICE, declare, parameter
from sfumato.prior_classes.proofs import prove_growing_determinant
from sfumato.protocols import Prior, PriorClass, Quantity, Reading, Release, Secret
from sfumato.quantities import MUTUAL_INFORMATION
from sfumato.questions import Events, Guess, JointStates
from sfumato.values import FloatArray
from sfumato.views import GaussianPart, GuessMeasure, Outcomes
from sfumato.views.gaussian import End
from sfumato_fano.sightings import (
    Sightings,
    segments,
    tractable_sightings,
)

UNDERFLOW = 1e-300
"""More than all that float64 may lose in products and squares too small for it."""


@declare
class MutualInformation(OfPopulation, GuessMeasure):
    """$I(X; Y)$, the expected gain of log-probability of the true trace from the release.

    Formula: $∑_{x, y} Pr[x, y] log(Pr[x, y] / (Pr[x] Pr[y]))$.

    For raw counts and for suppression, exactly in polynomial time: $Pr[y]$ is a product over the
    segments between sightings, so H(Y) is a sum over segments, also with a hidden memory. For other
    finite channels, exactly by listing the outputs while they are few. For noisy counts, the
    smaller of the value without noise and equation (4) of the paper. With ``method="paper"`` the
    paper's bounds: $∑_t H(Y_t | Y_{t−1})$ for raw counts, equation (4) for noisy ones.

    For a Gaussian trace with additive noise, $½ log(det K / det Γ)$ with $K = Σ + Γ$, by either
    method.

    With ``about="secret"``, $I(S; Y)$ of what the secret is about, from the view: the worst of its
    variables, on chains $∑ Pr[s, o] log(Pr[s, o] / Pr[s] Pr[o])$, of real values
    $½ log det(I + Σ_SS M)$.

    Assumptions: the adversary knows the belief and the channel.
    Guarantee: exact or an upper bound, as `bound` says; rounding errs upwards, an exact value by
    at most its `relative_error`.
    Reference: Koga, Meehan and Chaudhuri (2024), section 3.3.1.

    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain.simulated(states=20, tau=0.1, steps=10)
    >>> secret = sf.secrets.trajectory(mistakes=2)
    >>> sensors = sf.mechanisms.sensor_counts([37 * t % 20 for t in range(10)])
    >>> release = sensors.protect(chain, secret)
    >>> loss = sf.measures.mutual_information().loss(chain, secret, release)
    >>> round(loss.value, 6), loss.bound
    (1.904503, 'exact')
    >>> paper = sf.measures.mutual_information(method="paper").loss(chain, secret, release)
    >>> round(paper.value, 6), paper.bound
    (1.932642, 'upper')
    """

    name = "mutual_information"
    promises = ("unit free", "nothing from silence")
    reads = (
        (Markov, object, Emission),
        (Markov, object, RememberingSuppression),
        (Markov, Events, WholeTrace),
        (Markov, JointStates, WholeTrace),
        (Gaussian, object, AdditiveGaussian),
    )
    default_for = "finite classes"  # shaped noise takes ball arithmetic for every belief

    method: str = parameter(
        CHOICE("best", "paper"), default="best", doc="the best known, or the paper's bounds"
    )
    about: str = parameter(
        CHOICE("trace", "secret"), default="trace", doc="what the information is about"
    )

    @property
    def of_secret(self) -> bool:  # type: ignore[override]  # of the object, not of the class
        """Whether it is about the secret, not the trace."""
        return self.about == "secret"

    @property
    def quantity(self) -> Quantity:
        """The mutual information, about the trace or the secret."""
        if not self.of_secret:
            return MUTUAL_INFORMATION
        return attrs.evolve(MUTUAL_INFORMATION, parameters={"about": "secret"})

    def evaluate(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Return the mutual information or an upper bound on it."""
        if self.of_secret:
            if isinstance(question, Guess):  # the secret is the whole trace
                return MutualInformation(self.method).evaluate(belief, question, channel)
            return super().evaluate(belief, question, channel)
        if isinstance(channel, WholeTrace):
            raise OutsideHypotheses("of one answer about a whole trace, ask for about='secret'.")
        if isinstance(belief, Gaussian):
            return gaussian_mutual_information(belief, channel)
        if self.method == "paper":
            return paper_information(belief, channel)
        return best_information(belief, channel)

    def of_joint(self, outcomes: Outcomes) -> float:
        """Return the information about one secret variable."""
        return outcomes.told_nats

    def of_part(self, part: GaussianPart, end: End) -> float:
        """Return the information about one group of real values."""
        return part.told_nats(end)

    def proved(
        self,
        prior: PriorClass,
        secret: Secret,
        release: Release,
        read: Callable[[Prior], Reading],
        *,
        tolerance: float,
    ) -> tuple[Reading, Prior] | None:
        """Return the information about a Gaussian trace from how far log det K can grow."""
        channel = release.channel
        if isinstance(channel, AdditiveGaussian) and not self.of_secret:
            return prove_growing_determinant(
                self, prior, channel.noise, read, 0.5, tolerance=tolerance
            )
        return super().proved(prior, secret, release, read, tolerance=tolerance)

    def between_members(self, worst: float, bend: float, turn: float) -> float:
        """Return the bound for I = Σ J i, i = log(J / π q), u = (log J)' and w a cell's width.

        I'' = Σ J'' i + E[u²] − E[E[u | s]²] − E[E[u | o]²] ≥ −(c + R²)(I + 2/e) − R², as the
        negative part of Σ J i is at most 1/e; bend and turn are c w²/8 and R² w²/8.
        """
        both = bend + turn
        return (worst + both * (1.0 + 2.0 / math.e)) / (1.0 - both)

    def brute_force(self, belief: Any, question: Any, channel: Any) -> Reading:
        """Return it from the table of every trace and output, or from exact determinants."""
        from sfumato_fano import brute_force

        if self.about == "secret" and not isinstance(question, Guess):
            return brute_force.information_about_secret(belief, question, channel)
        return brute_force.mutual_information(belief, channel)


# What is known of a Markov chain, in nats, rounded up ---------------------------------------------


def best_information(belief: Markov, channel: Emission | RememberingSuppression) -> Reading:
    """Return the mutual information, exactly where it can be had, else the smallest bound.

    What is told without noise bounds what is told with it (data processing).
    """
    quiet, weaker = channel, list[Channel]()
    try:
        if isinstance(quiet, RememberingSuppression):
            told = remembered_information(belief, quiet)
        else:
            quiet = quiet.without_noise()
            sightings = tractable_sightings(belief, quiet)
            told = (
                sighted_information(sightings) if sightings else listed_information(belief, quiet)
            )
    except (OutsideHypotheses, Undecidable):
        told = _rounded_up("entropy of the trace", chain_entropy(belief), 0.0, belief, 0)
        weaker = [quiet]
    if quiet is not channel:
        told, weaker = attrs.evolve(told, how=f"without noise: {told.how}"), [*weaker, channel]
    if not weaker:
        return told
    stepwise = [one for one in weaker if isinstance(one, (Symbols, NoisyVectors))]
    bounds = [told, *(stepwise_information(belief, one) for one in stepwise)]
    smallest = min(bounds, key=lambda found: found.value)
    return attrs.evolve(smallest, bound="upper", relative_error=0.0)


def paper_information(belief: Markov, channel: Emission | RememberingSuppression) -> Reading:
    """Return the paper's bound: section 3.3.1 for raw counts, equation (4) for noisy ones.

    It is defined for channels without memory; for others the best that is known stands in.
    """
    if isinstance(channel, (Symbols, NoisyVectors)):
        return stepwise_information(belief, channel)
    return best_information(belief, channel)


def chain_entropy(belief: Markov) -> float:
    """Return H(X) = H(X_1) + Σ_t H(X_{t+1} | X_t), in nats."""
    marginals, matrices = belief.marginals()[:-1], belief.transitions
    if belief.is_homogeneous:  # the entropies of one matrix serve every step
        marginals, matrices = marginals.sum(axis=0, keepdims=True)[: len(matrices)], matrices[:1]
    later = zip(marginals, matrices, strict=True)
    return float(entropies(belief.initial)) + sum(float(m @ entropies(P)) for m, P in later)


def sighted_information(sightings: Sightings) -> Reading:
    """Return I(X; Y) of a chain that is seen now and then.

    Pr[y] is the product over its segments (a, b) of w(a, b) = Pr[next sighting is b | last one
    was a], so H(Y) is the sum over a of v(a) times the entropy of the law w(a, ·), with v(a) the
    probability that a is seen at all, v(b) = Σ_a v(a) w(a, b). Where a state is seen by chance,
    H(Y | X) is the expected entropy of those choices. Exact; `Sightings.operations` says how long
    it takes, where listing all outputs takes 2^T. Rounding: each step of w and v adds up at most
    M and N terms, and a logarithm at most doubles what they lose.
    """
    belief, gained, lost = sightings.belief, 0.0, 0.0
    visits = np.zeros(len(sightings))
    visits[0] = 1.0
    for watch in sightings.watches():
        choices = entropies(np.stack([watch.unseen, watch.seen], axis=-1))
        laws = _GrowingLaws(len(watch.starts))
        for part in segments(sightings, watch):
            before = visits[part.starts]
            visits[part.nodes] += before @ part.weights
            laws.add(part.weights)
            if part.time < belief.steps:
                lost += float(before @ (part.ways @ choices[part.time]))
        gained += float(visits[watch.starts] @ laws.entropies())
    return _rounded_up("segments between sightings", gained, lost, belief, len(sightings))


def remembered_information(belief: Markov, channel: RememberingSuppression) -> Reading:
    """Return I(X; Y) of suppression with a hidden memory, which is a function of the trace.

    A release forgets the memory, so H(Y) is a sum over segments as with sightings; H(Y | X) is the
    expected entropy of the choices, each of which depends on last release, memory and state.
    """
    released = remembered_releases(belief, channel)
    gained = lost = 0.0
    for start in range(-1, belief.steps - 1):
        states, weights = possible_starts(released, start)
        laws = _GrowingLaws(len(states))
        for step in follow_segments(belief, channel, start, states):
            choices = entropies(np.stack([step.chances, 1.0 - step.chances], axis=-1))
            lost += float((weights * step.mass) @ (step.law * choices).sum(axis=(1, 2)))
            laws.add(step.mass[:, None] * step.shown)
        laws.add((step.mass * step.silent)[:, None])
        gained += float(weights @ laws.entropies())
    terms = released.size + len(channel.visits)
    return _rounded_up("segments between releases", gained, lost, belief, terms)


class _GrowingLaws:
    """Laws of which a few outcomes become known at a time; the largest of each is kept apart."""

    def __init__(self, count: int) -> None:
        self.top, self.rest, self.terms = np.zeros((3, count))

    def add(self, chances: FloatArray) -> None:
        """Add outcomes to the first laws, (S, K)."""
        rows = np.arange(len(chances))
        table = np.column_stack([self.top[rows], chances])
        largest = table.argmax(axis=1)
        self.top[rows] = table[rows, largest]
        table[rows, largest] = 0.0
        self.rest[rows] += table.sum(axis=1)
        self.terms[rows] += entropy_terms(table).sum(axis=1)

    def entropies(self) -> FloatArray:
        return np.asarray(self.terms + top_term(self.top, self.rest))


def listed_information(belief: Markov, channel: Emission) -> Reading:
    """Return I(X; Y) = Σ_y Pr[y] (E[log Pr[y | X] | y] − log Pr[y]), over every output.

    The inner expectation is Σ_t Σ_m Pr[X_t = m | y] log Pr[y_t | X_t = m, y before t]: only the
    posterior of single states is needed. Rounding: Pr[y] and the posteriors are products of T
    sums of M terms, so that log Pr[y] loses digits as a number near one does.
    """
    outputs = enumerate_outputs(belief, channel)
    told = untold = 0.0
    for part in outputs.parts():
        marginals, evidence = outputs.marginals(part), outputs.log_evidence(part)
        expected = (marginals * np.where(marginals > 0.0, evidence, 0.0)).sum(axis=(1, 2))
        told -= float(outputs.probabilities[part] @ outputs.log_probabilities[part])
        untold -= float(outputs.probabilities[part] @ expected)
    # Both sums are of positive terms, each raised by one in place of the digits it has lost.
    terms = belief.state_count + 8
    return _rounded_up("all outputs", told + 1.0, untold + 1.0, belief, terms)


def stepwise_information(belief: Markov, channel: Symbols | NoisyVectors) -> Reading:
    """Return the paper's upper bound Ĩ ≥ I(X; Y) for a channel without memory.

    For symbols, Ĩ = Σ_t H(Y_t | Y_{t−1}) − H(Y_t | X_t): conditioning on less of the past can
    only add entropy. Raw counts are a function of the state, so there the last term is zero.
    For noisy vectors, equation (4) of Koga, Meehan and Chaudhuri (2024), for any means: with
    p_a the probability of mean a and σ the scale,
    Ĩ = −Σ_t Σ_a p_a log Σ_b p_b exp(−‖a − b‖² / (2σ²)).
    """
    checked_pair(belief, channel)
    if isinstance(channel, NoisyVectors):
        how, (gained, symbols), lost = "equation (4)", _equation_4(belief, channel), 0.0
    else:
        laws, marginals = channel.probabilities, belief.marginals()
        how, symbols = "one step of the past", laws.shape[2]
        gained = float(entropies(marginals[0] @ laws[0]))
        for time, matrix in enumerate(belief.transitions):
            joint = (laws[time] * marginals[time][:, None]).T @ (matrix @ laws[time + 1])
            joint = joint[joint.any(axis=1)]
            totals = joint.sum(axis=1)
            gained += float(totals @ entropies(joint / totals[:, None]))
        lost = float((marginals * entropies(laws)).sum())
    found = _rounded_up(how, gained, lost, belief, symbols)
    return attrs.evolve(found, bound="upper", relative_error=0.0, how=how)


def _equation_4(belief: Markov, channel: NoisyVectors) -> tuple[float, int]:
    """Return the bound of equation (4), and how many means a step has at most."""
    classes = channel.without_noise().probabilities
    total = 0.0
    for marginal, means, members in zip(belief.marginals(), channel.means, classes, strict=True):
        law = marginal @ members
        centres = means[members.argmax(axis=0)]  # any member of a class has its mean
        law, centres = law[law > 0.0], centres[law > 0.0]
        for chance, centre in zip(law, centres, strict=True):  # many sensors: no table of pairs
            exponents = np.square((centres - centre) / channel.scale).sum(axis=-1) / 2.0
            missing = -float(np.expm1(-exponents) @ law)
            # Both are −log Σ_b p_b exp(−g_b); near one the first has all its digits.
            near = missing < 0.5
            surprise = math.log1p(-missing) if near else math.log(np.exp(-exponents) @ law)
            total -= float(chance) * surprise
        if len(law) > 1:
            total += UNDERFLOW  # squares of gaps may vanish under much noise
    return total, classes.shape[2]


def _rounded_up(how: str, gained: float, lost: float, belief: Markov, terms: int) -> Reading:
    """Return gained − lost, raised by more than its error: exact where that is small enough.

    Both are positive sums, to which a step of the chain adds M and so many other terms in a row.
    """
    if gained <= 0.0:  # a sum of positive terms without any: nothing is told
        return Reading(value=0.0, bound="exact", how=how)
    operations = 4.0 * belief.steps * (belief.state_count + terms + 8)
    error = operations * ROUNDOFF * (gained + lost) + UNDERFLOW
    value = max(0.0, gained - lost) + error
    relative = min(1.0, 2.0 * error / value)
    if relative > EXACT:
        return Reading(value=value, bound="upper", how=f"{how}, raised by float64's error")
    return Reading(value=value, bound="exact", relative_error=relative, how=how)


# What is known of a Gaussian trace ----------------------------------------------------------------


def _certain_rank(belief: Gaussian) -> int:
    """Return how many independent directions the belief surely moves, whatever rounding did."""
    if belief.definite:
        return belief.entries
    covariance = belief.covariance.dense()
    error = (belief.rounding + 8 * len(covariance) * ROUNDOFF) * float(np.trace(covariance))
    return int(np.count_nonzero(np.linalg.eigvalsh(covariance) > error))


def gaussian_mutual_information(belief: Gaussian, channel: AdditiveGaussian) -> Reading:
    """Return I(X; Z) = ½ log (det K / det Γ), K = Σ + Γ, in nats.

    In float64 as ½ Σ log(1 + wᵢ), w the eigenvalues of Γ^(−1/2) Σ Γ^(−1/2): no determinant and no
    inverse of Σ is formed. It is infinite if and only if Σ moves a direction that the noise
    leaves alone; if Γ is singular but Σ stays within its range, the same holds on that range.
    """
    check_fit(belief, channel)
    noise = channel.noise
    # Infinite by structure, which needs no tolerance:
    if np.any(belief.covariance.diagonal()[noise.diagonal() == 0] > 0):
        how = "an entry is released without noise"
        return Reading(value=math.inf, bound="exact", how=how)
    if noise.rank_bound() < _certain_rank(belief):
        return Reading(value=math.inf, bound="exact", how="the noise has too small a rank")
    value, error = _whitened(belief, noise)
    if error <= EXACT:
        how = "float64, error certified"
        return Reading(value=value, bound="exact", relative_error=error, how=how)
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


def _whitened(belief: Gaussian, noise: Matrix) -> tuple[float, float]:
    """Return the information and its relative error (inf: unknown).

    Perturbations E of Σ and F of Γ ⪰ g I move det K by factors 1 ± (‖E‖ + ‖F‖) / (g (1 + wᵢ)) and
    det Γ by factors 1 ± ‖F‖/g, by Weyl's inequality in the coordinates in which Γ is the identity.
    """
    from scipy.linalg import LinAlgError, cholesky, solve_triangular

    floor, size = noise.smallest_eigenvalue(), belief.entries
    if not floor > 0:
        return math.nan, math.inf
    try:
        factor = cholesky(noise.dense(), lower=True)
    except LinAlgError:
        return math.nan, math.inf
    half = solve_triangular(factor, belief.covariance.dense(), lower=True)
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
