"""The programs of Meehan and Chaudhuri: SDP_A for one secret, SDP_B above several."""

from __future__ import annotations

import numpy as np

from sfumato.errors import OutsideHypotheses
from sfumato.matrices import Dense, Diagonal, LowRank, Matrix, Sum
from sfumato.matrices.matrix import ROUNDOFF, Array
from sfumato.parameters import POSITIVE, declare, parameter
from sfumato_gaussian_noise.baselines import Calibrated, Design
from sfumato_gaussian_noise.design import Block, Indices, Members, block_of
from sfumato_gaussian_noise.dual_program import symmetric

FAR = 1e8  # spread, in units of what noise adds, beyond which noise makes no difference in float64


@declare
class Published(Calibrated):
    """A mechanism of the paper: for one prior, whose budget may be rescaled."""

    rescale: float = parameter(
        POSITIVE, default=1.0, doc="solve for this multiple of the budget, then divide by it"
    )

    def noise_of_each(self, members: Members, budget: float) -> list[Matrix]:
        """Return the noise of SDP_A for every group of the secret, for a class of one prior."""
        if not members.is_single:
            raise OutsideHypotheses(
                f"{self.name} designs for one prior; got a class: choose one with "
                f".designed_for(prior=...), or use gaussian_optimal."
            )
        found = []
        for group in members.first.question.groups:
            block = block_of(members.first.belief, group, 1.0)
            entries = [entry for ball in group for entry in ball]
            if block is None or block.shifts.shape[1] < len(entries):
                raise OutsideHypotheses(
                    f"{self.name} takes secret entries none of which is a constant or determined "
                    f"by the others; got {tuple(entries)}."
                )
            found.append(sdp_a(block, np.array(entries), budget, self.rescale))
        return found


@declare
class SDPA(Published):
    """Noise by the program SDP_A: independent on the secret entries, shaped on the others.

    The program replaces an inverse by a pseudo-inverse, so it is an approximation: its noise may be
    a few times worse than the best of its class (`gaussian_optimal` with
    `independent_secret_noise`), and for compound secrets it can leave directions nearly free of
    noise. With `rescale` it is solved for a multiple of the budget and divided by it, as its
    authors' figures were made (10 for one time, 1000 for two).

    Assumptions: one prior and one secret; `gaussian_multiple_secrets` takes several secrets.

    Reference: Meehan and Chaudhuri (2021), section 4 and appendix 7.3.1.

    >>> import sfumato as sf
    >>> prior, secret = sf.priors.rbf(length_scale=6.0, times=50), sf.secrets.basic(24)
    >>> release = sf.mechanisms.gaussian_sdp_a(mse=0.02).protect(prior, secret)
    >>> print(sf.measures.renyi().loss(prior, secret, release))
    Rényi divergence (order=2) [nats] = 21.2694
    """

    name = "gaussian_sdp_a"

    def noise(self, members: Members, mse: float) -> Design:
        """Solve the program for the one prior and secret."""
        single = self.noise_of_each(members, mse * members.first.belief.entries)
        if len(single) > 1:
            raise OutsideHypotheses(
                f"{self.name} takes one secret; got {len(single)}: use gaussian_multiple_secrets."
            )
        return Design(single[0])


@declare
class MultipleSecrets(Published):
    """Noise by Algorithm 1: SDP_A for every secret, then the smallest noise above all of them.

    SDP_B is $min tr Γ$ subject to $Γ ⪰ Γ_i$ for the noise $Γ_i$ of every secret: more noise in the
    semidefinite order is more private, so each secret keeps what its own noise gave it.
    Algorithm 1 bounds the variance of each $Γ_i$, not of the result. Here `mse` is the result's:
    SDP_A is solved for it, and the whole is then scaled to it, which for basic secrets is the same
    as giving Algorithm 1 the bound that leads to this mse (their SDP_A is linear in its bound).

    Reference: Meehan and Chaudhuri (2021), section 4, Algorithm 1, and appendix 7.3.2.

    >>> import sfumato as sf
    >>> prior, secret = sf.priors.rbf(length_scale=2.0, times=6), sf.secrets.every_point()
    >>> release = sf.mechanisms.gaussian_multiple_secrets(mse=0.35).protect(prior, secret)
    >>> print(sf.measures.renyi().loss(prior, secret, release))
    Rényi divergence (order=2) [nats] = 6.40379
    """

    name = "gaussian_multiple_secrets"

    def noise(self, members: Members, mse: float) -> Design:
        """Solve SDP_A for every secret, then SDP_B."""
        budget = mse * members.first.belief.entries
        single = self.noise_of_each(members, budget)
        above = smallest_above(np.stack([noise.dense() for noise in single]))
        scale = budget / float(np.trace(above))
        return Design(Dense(above * scale), {"mse_of_each_secret": mse * scale})


# SDP_A --------------------------------------------------------------------------------------------


def sdp_a(block: Block, entries: Indices, budget: float, rescale: float = 1.0) -> Matrix:
    """Return the noise of SDP_A for one secret S, of total variance at most `budget`.

    The program is max β subject to Ã⁺(C + Γ)Ã⁺ᵀ ⪰ β I, tr Γ ≤ B, Γ ⪰ 0, with Ã⁺ the pseudo-inverse
    of the regression on the secret: the smallest eigenvalue of Ã⁺(C + Γ)Ã⁺ᵀ stands in for that of
    (Ãᵀ(C + Γ)⁻¹Ã)⁻¹, and the larger it is, the smaller their bound of the loss is hoped to be.
    From the solution only σ² = the mean of the diagonal of Γ_SS and the block Γ_UU are kept, as the
    mechanism is Γ_SS = σ² I, Γ_SU = 0.

    For one secret entry Ã⁺ is the row ãᵀ / |ã|²: a linear function of Γ, largest on the
    spectraplex at the projector on its top eigenvector, Γ = B ããᵀ / |ã|², whatever the rescaling.
    """
    if block.shifts.shape[1] == 1:
        shift = block.shifts[:, 0]
        noise = budget * np.outer(shift, shift) / float(shift @ shift)
    else:
        noise = budget * _several_entries(block, rescale * budget)
    return _two_blocks(noise, entries, budget)


def _several_entries(block: Block, total: float) -> Array:
    """Return the solution for several secret entries, of trace one, for the budget `total`.

    Only Ã⁺ Γ Ã⁺ᵀ counts, so Γ = Q G Qᵀ in the span of the columns of Ã = Q R, where the constraint
    reads G ⪰ R (β I − K) Rᵀ with K = Ã⁺ C Ã⁺ᵀ. The matrix of smallest trace that is semidefinite
    and above another one is the other one's positive part, and its trace grows with β.
    """
    from scipy.optimize import brentq

    basis, root = np.linalg.qr(block.shifts)
    root = root / (np.linalg.norm(root) / np.sqrt(len(root)))
    inverse = np.linalg.inv(root) @ basis.T
    beyond = _beyond_the_least(inverse @ block.spread @ inverse.T, total)

    def above(level: float) -> tuple[Array, Array]:
        values, vectors = np.linalg.eigh(
            symmetric(root @ (level * np.eye(len(root)) - beyond) @ root.T)
        )
        return np.maximum(values, 0.0), vectors

    enough = (1.0 + float(np.trace(root @ beyond @ root.T))) / len(root)
    # The bracket may be 10⁸ times as long as the root, and take more than the usual 100 steps.
    level = brentq(
        lambda level: float(above(level)[0].sum()) - 1.0,
        0.0,
        2.0 * enough,
        rtol=1e-14,
        maxiter=1000,
    )
    values, vectors = above(level)
    factor = basis @ (vectors * np.sqrt(values / values.sum()))
    return np.asarray(factor @ factor.T)


def _beyond_the_least(spread: Array, total: float) -> Array:
    """Return K/total less a multiple of the identity, which moves β and nothing else.

    Eigenvalues far above what noise adds are cut off: by the Schur complement, a cut at c moves the
    optimal β by at most the share 1/c.
    """
    values, vectors = np.linalg.eigh(symmetric(spread))
    above = values - values[0]
    above[above <= 16 * values.size * ROUNDOFF * np.max(np.abs(values))] = 0.0  # equal, but rounded
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        beyond = np.nan_to_num(above / total, nan=0.0, posinf=FAR)
    return np.asarray((vectors * np.minimum(beyond, FAR)) @ vectors.T)


def _two_blocks(noise: Array, secret: Indices, budget: float) -> Matrix:
    """Keep σ² I on the secret and the block of the others, within budget after rounding."""
    others = np.delete(np.arange(len(noise)), secret)
    values, vectors = np.linalg.eigh(symmetric(noise[np.ix_(others, others)]))
    values = values + max(0.0, -float(values.min(initial=0.0)))
    factor = np.zeros((len(noise), others.size))
    factor[others] = vectors * np.sqrt(values)
    variances = np.zeros(len(noise))
    variances[secret] = max(0.0, float(np.mean(np.diagonal(noise)[secret])))
    share = min(1.0, budget / float(np.sum(values) + np.sum(variances)))
    own = Diagonal(variances * share)
    return Sum((LowRank(factor * np.sqrt(share)), own)) if others.size else own


# SDP_B --------------------------------------------------------------------------------------------

TOLERANCE = 1e-9  # how far, relatively, the trace may be above the smallest one
MOST_ROUNDS = 500
NEGLIGIBLE = 1e-14  # eigenvalues below this share of the largest are rounding


def smallest_above(covariances: Array) -> Array:
    """Return the matrix K of smallest trace with K ⪰ Γ_i for all i.

    For weights Z_i ⪰ 0 with Σ Z_i ⪯ I, tr K ≥ Σ tr K Z_i ≥ Σ tr Γ_i Z_i; at the optimum these are
    equal, so that (K − Γ_i) Z_i = 0, Z_i = K⁻¹ Γ_i Z_i Γ_i K⁻¹ and K² = Σ Γ_i Z_i Γ_i.
    The last two are iterated, from weights of the shape of the Γ_i; what K lacks of Γ_i is then
    added to its diagonal, so that it is above all of them whatever the iteration did.

    Reference: Meehan and Chaudhuri (2021), appendix 7.3.2; the iteration is known from telling
    quantum states apart, which is the same program.
    """
    scale = float(np.trace(covariances, axis1=1, axis2=2).max())
    if not scale > 0:
        return np.zeros_like(covariances[0])
    scaled = covariances / scale
    even = symmetric(_iterate(scaled))
    return np.asarray(even + _lacking(even, scaled) * np.eye(len(even))) * scale


def _iterate(covariances: Array) -> Array:
    """Return K, once its trace and the lower bound Σ tr Γ_i Z_i of the trace agree."""
    values, vectors = np.linalg.eigh(covariances)
    kept = values > NEGLIGIBLE * values[:, -1:]
    width = int(kept.sum(axis=1).max())  # Γ_i = F_i F_iᵀ, all as wide as the highest rank
    factors = (vectors * np.sqrt(np.where(kept, values, 0.0))[:, None, :])[:, :, -width:]
    weights = _whiten(factors)[1]
    for _ in range(MOST_ROUNDS):
        inner = np.swapaxes(factors, 1, 2) @ weights
        root, weights = _whiten(factors @ inner)
        inner = np.swapaxes(factors, 1, 2) @ weights
        bound = float(np.sum(inner**2))
        if abs(float(np.trace(root)) - bound) <= 0.1 * TOLERANCE * bound and (
            _lacking(root, covariances) * len(root) <= TOLERANCE * bound
        ):
            break
    return root


def _whiten(factors: Array) -> tuple[Array, Array]:
    """Return K = (Σ F_i F_iᵀ)^½ and the factors K⁻¹ F_i, on the range of K."""
    total: Array = np.einsum("kir,kjr->ij", factors, factors)
    values, vectors = np.linalg.eigh(total)
    kept = values > NEGLIGIBLE * values[-1]
    roots = np.sqrt(np.where(kept, values, 0.0))
    inverse = np.divide(1.0, roots, out=np.zeros_like(roots), where=kept)
    return (vectors * roots) @ vectors.T, (vectors * inverse) @ vectors.T @ factors


def _lacking(found: Array, covariances: Array) -> float:
    return max(0.0, -float(np.linalg.eigvalsh(found - covariances)[:, 0].min()))
