"""The program SDP_A of Meehan and Chaudhuri."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import OutsideHypotheses
from sfumato.matrices import Dense, Diagonal, LowRank, Matrix, Sum
from sfumato.matrices.matrix import ROUNDOFF, Array
from sfumato.parameters import OPTIONAL, PLUGIN, POSITIVE, declare, parameter
from sfumato.protocols import PriorClass, Secret
from sfumato_gaussian_noise.baselines import Calibrated, Design, designed_for
from sfumato_gaussian_noise.blocks import Block, block_of
from sfumato_gaussian_noise.dual_program import solve

FAR = 1e8
"""Spread, in units of what noise adds, beyond which noise makes no difference in float64."""


def sdp_a(block: Block, entries: tuple[int, ...], budget: float, rescale: float = 1.0) -> Matrix:
    """Return the noise of SDP_A for one secret S, of total variance at most `budget`.

    The program is max β subject to Ã⁺(C + Γ)Ã⁺ᵀ ⪰ β I, tr Γ ≤ B, Γ ⪰ 0, with Ã⁺ the pseudo-inverse
    of the regression on the secret: the smallest eigenvalue of Ã⁺(C + Γ)Ã⁺ᵀ stands in for that of
    (Ãᵀ(C + Γ)⁻¹Ã)⁻¹, and the larger it is, the smaller their bound of the loss is hoped to be.
    From the solution only σ² = the mean of the diagonal of Γ_SS and the block Γ_UU are kept, as the
    mechanism is Γ_SS = σ² I, Γ_SU = 0.

    With `rescale` the program is solved for that multiple of the budget and the noise is divided
    by it afterwards.

    Reference: Meehan and Chaudhuri (2021), appendix 7.3.1.

    >>> block = Block(np.ones((2, 1)), np.zeros((2, 2)), ((0,),), np.zeros((2, 1)), np.zeros(2))
    >>> sdp_a(block, (0,), 2.0).dense().round(4)
    array([[1., 0.],
           [0., 1.]])
    """
    if block.shifts.shape[1] == 1:
        noise = _one_entry(block.shifts[:, 0], budget)
    else:
        noise = budget * _several_entries(block, rescale * budget)
    return _repaired(noise, np.array(entries), budget)


def _one_entry(shift: Array, budget: float) -> Array:
    """Return the solution for one secret entry: B ããᵀ / |ã|², whatever the rescaling.

    Ã⁺ is the row ãᵀ / |ã|², so the program maximises ãᵀ Γ ã under tr Γ ≤ B; a linear function of
    the spectraplex is largest at the projector on its top eigenvector, here ã itself.
    """
    return np.asarray(budget * np.outer(shift, shift) / float(shift @ shift))


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
        inner = root @ (level * np.eye(len(root)) - beyond) @ root.T
        values, vectors = np.linalg.eigh((inner + inner.T) / 2)
        return np.maximum(values, 0.0), vectors

    enough = (1.0 + float(np.trace(root @ beyond @ root.T))) / len(root)
    level = brentq(lambda level: float(above(level)[0].sum()) - 1.0, 0.0, 2.0 * enough, rtol=1e-14)
    values, vectors = above(level)
    factor = basis @ (vectors * np.sqrt(values / values.sum()))
    return np.asarray(factor @ factor.T)


def _beyond_the_least(spread: Array, total: float) -> Array:
    """Return K/total less a multiple of the identity, which moves β and nothing else.

    Eigenvalues far above what noise adds are cut off: by the Schur complement, a cut at c moves the
    optimal β by at most the share 1/c.
    """
    values, vectors = np.linalg.eigh((spread + spread.T) / 2)
    above = values - values[0]
    above[above <= 16 * values.size * ROUNDOFF * np.max(np.abs(values))] = 0.0  # equal, but rounded
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        beyond = np.nan_to_num(above / total, nan=0.0, posinf=FAR)
    return np.asarray((vectors * np.minimum(beyond, FAR)) @ vectors.T)


def _repaired(noise: Array, secret: NDArray[np.intp], budget: float) -> Matrix:
    """Keep the two blocks, semidefinite and within budget, whatever rounding left."""
    others = np.setdiff1d(np.arange(len(noise)), secret)
    block = noise[np.ix_(others, others)]
    values, vectors = np.linalg.eigh((block + block.T) / 2)
    values = values + max(0.0, -float(values.min(initial=0.0)))
    factor = np.zeros((len(noise), others.size))
    factor[others] = vectors * np.sqrt(values)
    variances = np.zeros(len(noise))
    variances[secret] = max(0.0, float(np.mean(np.diagonal(noise)[secret])))
    share = min(1.0, budget / float(np.sum(values) + np.sum(variances)))
    own = Diagonal(variances * share)
    return Sum((LowRank(factor * np.sqrt(share)), own)) if others.size else own


@declare
class SDPA(Calibrated):
    """Noise by the program SDP_A: independent on the secret entries, shaped on the others.

    The program replaces an inverse by a pseudo-inverse, so it is an approximation: its noise may be
    a few times worse than the best of its class (`gaussian_optimal` with
    `independent_secret_noise`), and for compound secrets it can leave directions nearly free of
    noise. With `rescale` it is solved for a multiple of the budget and divided by it, as its
    authors' figures were made (10 for one time, 1000 for two).

    Assumptions: one prior and one secret; `gaussian_multiple_secrets` takes several secrets.

    Reference: Meehan and Chaudhuri (2021), section 4 and appendix 7.3.1.

    >>> SDPA(mse=0.02, rescale=10.0)
    sf.mechanisms.gaussian_sdp_a(mse=0.02, rescale=10.0)
    """

    name = "gaussian_sdp_a"

    rescale: float = parameter(
        POSITIVE, default=1.0, doc="solve for this multiple of the budget, then divide by it"
    )
    design_prior: PriorClass | None = parameter(
        OPTIONAL(PLUGIN("prior")),
        default=None,
        doc="design for this prior, whatever class the release is later measured under",
    )

    def noise(self, prior: PriorClass, secret: Secret, mse: float) -> Design:
        """Solve the program for the one prior and secret."""
        blocks = secret_blocks(designed_for(prior, self.design_prior), secret, self.name)
        if len(blocks) > 1:
            raise OutsideHypotheses(
                f"{self.name} takes one secret; got {len(blocks)}: use gaussian_multiple_secrets."
            )
        ((entries, block),) = blocks
        return Design(sdp_a(block, entries, mse * block.shifts.shape[0], self.rescale))


def secret_blocks(
    prior: PriorClass, secret: Secret, name: str
) -> list[tuple[tuple[int, ...], Block]]:
    """Return the entries and the block of every group, for a class of one prior."""
    members = list(prior.members())
    if len(members) > 1 or not prior.finite:
        raise OutsideHypotheses(
            f"{name} designs for one prior; got a class: give one as design_prior, or use "
            f"gaussian_optimal."
        )
    belief = members[0].belief()
    question = secret.question(belief)
    found = []
    for group in question.groups:
        block = block_of(belief, group, 1.0)
        entries = tuple(entry for ball in group for entry in ball)
        if block is None or block.shifts.shape[1] < len(entries):
            raise OutsideHypotheses(
                f"{name} takes secret entries none of which is a constant or determined by the "
                f"others; got {entries}."
            )
        found.append((entries, block))
    return found


TOLERANCE = 1e-9
"""How far, relatively, the trace may be above the smallest one."""
MOST_ROUNDS = 500
NEGLIGIBLE = 1e-14
"""Eigenvalues below this share of the largest are rounding."""


def smallest_above(covariances: Array) -> Array:
    """Return the matrix K of smallest trace with K ⪰ Γ_i for all i.

    For weights Z_i ⪰ 0 with Σ Z_i ⪯ I, tr K ≥ Σ tr K Z_i ≥ Σ tr Γ_i Z_i; at the optimum these are
    equal, so that (K − Γ_i) Z_i = 0, Z_i = K⁻¹ Γ_i Z_i Γ_i K⁻¹ and K² = Σ Γ_i Z_i Γ_i.
    The last two are iterated, from weights of the shape of the Γ_i; what K lacks of Γ_i is then
    added to its diagonal, so that it is above all of them whatever the iteration did. Where the
    lower bound shows that it has not come to an end, a solver has the word.

    Reference: Meehan and Chaudhuri (2021), appendix 7.3.2; the iteration is known from telling
    quantum states apart, which is the same program.

    >>> smallest_above(np.array([np.diag([1.0, 0.0]), np.diag([0.0, 2.0])])).round(6)
    array([[1., 0.],
           [0., 2.]])
    """
    scale = float(np.trace(covariances, axis1=1, axis2=2).max())
    if not scale > 0:
        return np.zeros_like(covariances[0])
    found, bound = _iterated(covariances / scale)
    above = _raised(found, covariances / scale)
    if float(np.trace(above)) > bound * (1 + 1e3 * TOLERANCE):
        above = _raised(_solved(covariances / scale), covariances / scale)
    return above * scale


def _iterated(covariances: Array) -> tuple[Array, float]:
    """Return K, and the lower bound Σ tr Γ_i Z_i of the trace."""
    factors = _factors(covariances)
    weights = _whitened(factors)[1]
    for _ in range(MOST_ROUNDS):
        inner = np.swapaxes(factors, 1, 2) @ weights
        root, weights = _whitened(factors @ inner)
        inner = np.swapaxes(factors, 1, 2) @ weights
        bound = float(np.sum(inner**2))
        if abs(float(np.trace(root)) - bound) <= 0.1 * TOLERANCE * bound and (
            _lacking(root, covariances) * len(root) <= TOLERANCE * bound
        ):
            break
    return root, bound


def _factors(covariances: Array) -> Array:
    """Return F_i with Γ_i = F_i F_iᵀ, all as wide as the highest rank."""
    values, vectors = np.linalg.eigh(covariances)
    kept = values > NEGLIGIBLE * values[:, -1:]
    width = int(kept.sum(axis=1).max())
    roots = np.sqrt(np.where(kept, values, 0.0))
    return np.asarray((vectors * roots[:, None, :])[:, :, -width:])


def _whitened(factors: Array) -> tuple[Array, Array]:
    """Return K = (Σ F_i F_iᵀ)^½ and the factors K⁻¹ F_i, on the range of K."""
    total: NDArray[np.float64] = np.einsum("kir,kjr->ij", factors, factors)
    values, vectors = np.linalg.eigh(total)
    kept = values > NEGLIGIBLE * values[-1]
    roots = np.sqrt(np.where(kept, values, 0.0))
    inverse = np.divide(1.0, roots, out=np.zeros_like(roots), where=kept)
    return (vectors * roots) @ vectors.T, (vectors * inverse) @ vectors.T @ factors


def _lacking(found: Array, covariances: Array) -> float:
    return max(0.0, -float(np.linalg.eigvalsh(found - covariances)[:, 0].min()))


def _raised(found: Array, covariances: Array) -> Array:
    even = (found + found.T) / 2
    return np.asarray(even + _lacking(even, covariances) * np.eye(len(even)))


def _solved(covariances: Array) -> Array:
    import cvxpy as cp

    size = covariances.shape[1]
    above = cp.Variable((size, size), symmetric=True)
    constraints = [above - covariance >> 0 for covariance in covariances]
    problem = cp.Problem(cp.Minimize(cp.trace(above)), constraints)
    # An interior-point method needs minutes for one cone per secret; what SCS leaves out is added.
    solve(problem, "SCS", "SDP_B", eps=1e-6, max_iters=20_000)
    return np.asarray(above.value)


@declare
class MultipleSecrets(Calibrated):
    """Noise by Algorithm 1: SDP_A for every secret, then the smallest noise above all of them.

    SDP_B is min tr Γ subject to Γ ⪰ Γ_i for the noise Γ_i of every secret i: more noise in the
    semidefinite order is more private, so each secret keeps what its own noise gave it.
    Algorithm 1 bounds the variance of each Γ_i, not of the result. Here `mse` is the result's:
    SDP_A is solved for it, and the whole is then scaled to it, which for basic secrets is the same
    as giving Algorithm 1 the bound that leads to this mse (their SDP_A is linear in its bound).

    Reference: Meehan and Chaudhuri (2021), section 4, Algorithm 1, and appendix 7.3.2.

    >>> MultipleSecrets(mse=0.35)
    sf.mechanisms.gaussian_multiple_secrets(mse=0.35)
    """

    name = "gaussian_multiple_secrets"

    rescale: float = parameter(
        POSITIVE, default=1.0, doc="solve for this multiple of the budget, then divide by it"
    )

    design_prior: PriorClass | None = parameter(
        OPTIONAL(PLUGIN("prior")),
        default=None,
        doc="design for this prior, whatever class the release is later measured under",
    )

    def noise(self, prior: PriorClass, secret: Secret, mse: float) -> Design:
        """Solve SDP_A for every secret, then SDP_B."""
        blocks = secret_blocks(designed_for(prior, self.design_prior), secret, self.name)
        budget = mse * blocks[0][1].shifts.shape[0]
        single = [sdp_a(block, entries, budget, self.rescale) for entries, block in blocks]
        above = smallest_above(np.stack([noise.dense() for noise in single]))
        scale = budget / float(np.trace(above))
        return Design(Dense(above * scale), {"mse_of_each_secret": mse * scale})
