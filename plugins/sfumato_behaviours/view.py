"""The laws of a release under several behaviours, N(m_k, Σ_k + Γ), and what tells them apart.

Rényi divergences of two normal laws are closed forms, certified in balls. The mass that two laws
share is an integral along a line on which everything is known: the error of its sum is proved.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Hashable
from typing import Any

import attrs
import numpy as np

from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.errors import OutsideHypotheses, Undecidable
from sfumato.inference import exact
from sfumato.matrices.matrix import ROUNDOFF
from sfumato.protocols import LossMeasure, Reading
from sfumato.values import FloatArray, brief_repr
from sfumato.views import OwnView

Ends = tuple[float, float]
"""Two numbers between which another one lies."""

AGREEMENT = 1e-5
"""Two ends that are so close, relatively, are a number."""

LARGEST = 40.0
"""The largest |ε| for which the line is summed; beyond, δ(ε) is bounded by that one."""

STEP = math.pi / (LARGEST + 37.0)
"""Distance of the points along the line: what it folds back is below 2 e^−37."""

MOST_POINTS = 1 << 17
"""Points along the line, at most; what is then left out widens the ends."""

FIRST_POINTS = 1 << 8
"""Points of the first part of the line; every part is as long as all before it."""


@attrs.frozen(eq=False)
class BehaviourView(OwnView):
    """N(m_k, Σ_k + Γ) for every behaviour k, with its probability."""

    __repr__ = brief_repr

    names: tuple[Hashable, ...]
    weights: FloatArray
    components: tuple[Gaussian, ...]
    channel: AdditiveGaussian
    _pairs: dict[tuple[int, int], Any] = attrs.field(factory=dict, init=False, repr=False)

    @classmethod
    def of(cls, belief: Any, channel: AdditiveGaussian) -> BehaviourView:
        """Return the view of a mixture."""
        return cls(belief.names, belief.weights, belief.components, channel)

    def reading(self, measure: LossMeasure) -> Reading:
        """Return one of the quantities that are known here."""
        quantity, given = measure.quantity, dict(measure.quantity.parameters)
        known: dict[str, Callable[..., Reading]] = {
            "Rényi divergence": lambda order: self._worst(lambda i, j: self.renyi(i, j, order)),
            "hockey-stick divergence": lambda epsilon: self._worst(
                lambda i, j: self.unshared(i, j, epsilon)
            ),
            "advantage": lambda: self._worst(lambda i, j: self.unshared(i, j, 0.0)),
            "power": lambda false_alarm: attrs.evolve(
                self._worst(lambda i, j: self.power(i, j, false_alarm)), bound="upper"
            ),
            "Bayes success": lambda within=None: self.success(),  # noqa: ARG005 - of real values
            "posterior gap": self.posterior_gap,
        }
        if quantity.name not in known:
            raise OutsideHypotheses(f"{measure.name} has no formula for two normal laws.")
        return known[quantity.name](**given)

    def _worst(self, ends_of: Callable[[int, int], Ends]) -> Reading:
        """Return the reading of the worst ordered pair."""
        found = {
            pair: ends_of(*pair) for pair in itertools.permutations(range(len(self.weights)), 2)
        }
        if not found:  # one behaviour, against itself
            return between((0.0, 0.0), None)
        worst = max(found, key=lambda pair: found[pair][1])
        low = max(ends[0] for ends in found.values())
        return between(
            (low, found[worst][1]), {"pair": tuple(self.names[number] for number in worst)}
        )

    # Rényi divergences ----------------------------------------------------------------------------

    def renyi(self, i: int, j: int, order: float) -> Ends:
        """Return D_λ(P_i ‖ P_j) = ½ λ δᵀS⁻¹δ + (log |S| − (1−λ) log |A| − λ log |B|) / (2(1−λ)).

        A and B are the covariances of P_i and P_j, S = λB + (1−λ)A, δ the difference of the means;
        infinite unless S ≻ 0. At the order ∞, with B − A in place of S, ½ δᵀ(B−A)⁻¹δ +
        ½ (log |B| − log |A|), infinite unless B ⪰ A; at the order 1, ½ (δᵀB⁻¹δ + tr(B⁻¹A − I) +
        log |B| − log |A|). Where B − A is not definite, and not seen to be indefinite, infinity is
        an upper end.
        """
        if self._same(i, j):
            return 0.0, 0.0
        if math.isinf(order) and self.components[i].covariance == self.components[j].covariance:
            return math.inf, math.inf  # two shifted laws
        found = exact.certify(functools.partial(self._ball_renyi, i, j, order))
        if found is None:
            raise Undecidable(
                f"the divergence of order {order:g} between behaviours must be decided in "
                f"{exact.LAST_BITS} bits; it is not."
            )
        return found

    def _same(self, i: int, j: int) -> bool:
        one, other = self.components[i], self.components[j]
        return one == other and (one.exact is None) == (other.exact is None)

    def _ball_renyi(self, i: int, j: int, order: float, numbers: exact.Balls) -> Ends | None:
        noise = self.channel.noise.formula(numbers, sampled=True)
        a, b = (self._known(k).formula(numbers) + noise for k in (i, j))
        if math.isinf(order):
            middle = b - a
        else:
            power = numbers.number(order)
            middle = b * power + a * (numbers.number(1.0) - power)
        definite = exact.is_positive_definite(middle)
        if not definite:
            certain = math.isfinite(order) or _is_indefinite(middle)
            return None if definite is None else (math.inf if certain else 0.0, math.inf)
        logs = [exact.log_determinant(matrix) for matrix in (middle, a, b)]
        if any(log is None for log in logs):
            return None
        apart = numbers.matrix([[numbers.number(float(x))] for x in self._apart(i, j)])
        square = (apart.transpose() * exact.solve(middle, apart))[0, 0]
        if order in (1.0, math.inf):
            if order == 1.0:
                ratio = exact.solve(b, a)
                square = sum((ratio[k, k] - 1 for k in range(a.nrows())), square)
            ball = (square + logs[2] - logs[1]) / 2
        else:
            rest = numbers.number(1.0) - power
            ball = square * power / 2 + (logs[0] - rest * logs[1] - power * logs[2]) / (2 * rest)
        middle_of, radius = float(ball.mid()), float(ball.rad())
        if not (math.isfinite(middle_of) and radius <= exact.TARGET * abs(middle_of)):
            return None
        slack = radius + 4 * ROUNDOFF * abs(middle_of)
        return max(middle_of - slack, 0.0), max(middle_of + slack, 0.0)

    def _known(self, k: int) -> Gaussian:
        component = self.components[k]
        if not exact.balls_apply(component):
            raise Undecidable(
                "a behaviour must be known exactly, of at most "
                f"{exact.MOST_IN_BALLS} entries; give it as a kernel's prior."
            )
        return component

    def _apart(self, i: int, j: int) -> FloatArray:
        """Return m_i − m_j, in float64, as stored."""
        means = [
            np.zeros(c.entries) if c.mean is None else c.mean
            for c in (self.components[i], self.components[j])
        ]
        return np.asarray(means[0] - means[1])

    # Shared mass ----------------------------------------------------------------------------------

    def unshared(self, i: int, j: int, epsilon: float) -> Ends:
        """Return two ends of δ(ε) = ∫ max(0, p_i − e^ε p_j) = 1 − ∫ min(p_i, e^ε p_j).

        δ falls with ε while the errors grow like e^ε: a smaller ε may give the better upper end.
        """
        smaller = [epsilon * share for share in (0.75, 0.5, 0.25)] if epsilon > 1.0 else []
        low = max(self.shared(i, j, one)[0] for one in (epsilon, *smaller))
        high = self.shared(i, j, epsilon)[1]
        return max(1.0 - high, 0.0), min(max(1.0 - low, 0.0), 1.0)

    def shared(self, i: int, j: int, epsilon: float) -> Ends:
        """Return two ends of ∫ min(p_i, e^ε p_j)."""
        if self._same(i, j):
            return min(1.0, math.exp(epsilon)), min(1.0, math.exp(epsilon))
        if (i, j) not in self._pairs:
            self._pairs[i, j] = self._whitened(i, j)
        mass, error = self._pairs[i, j]
        low, high = mass.ends(epsilon)
        # Laws that differ by `error` in total variation: Devroye, Mehrabian and Reddad (2018).
        error *= 1.0 + math.exp(min(epsilon, LARGEST))
        most = min(1.0, math.exp(min(epsilon, 0.0)))
        return max(low - error, 0.0), min(high + error, most)

    def _whitened(self, i: int, j: int) -> tuple[SharedMass, float]:
        """Return the mass that P_i and P_j share, as N(δ, diag w) and N(0, I), and an error.

        T, whatever its rounding, is invertible: the laws of TZ are those of Z. What is left of
        T A Tᵀ − diag w and T B Tᵀ − I moves the laws by at most 3/2 of its norm, each.
        """
        noise = self.channel.noise.dense()
        a, b = (self.components[k].covariance.dense() + noise for k in (i, j))
        try:
            root = np.linalg.cholesky(b)
        except np.linalg.LinAlgError:
            raise Undecidable(
                "every entry of a trace must have enough noise of its own for float64; add some."
            ) from None
        first = np.linalg.solve(root, np.eye(len(b)))
        _, axes = np.linalg.eigh(first @ a @ first.T)
        change = axes.T @ first
        variances = np.diagonal(change @ a @ change.T).copy()
        if not (np.isfinite(variances).all() and (variances > 0.0).all()):
            raise Undecidable("the laws under two behaviours are too different for float64.")
        scale = 1.0 / np.sqrt(variances)
        left_a = scale[:, None] * (change @ a @ change.T - np.diag(variances)) * scale
        left_b = change @ b @ change.T - np.eye(len(b))
        # The residuals themselves are rounded, and the covariances were when they were stored.
        size, units = np.abs(change), 32.0 * len(b) * ROUNDOFF
        hidden_a = units * scale[:, None] * (size @ np.abs(a) @ size.T) * scale
        hidden_b = units * (size @ np.abs(b) @ size.T)
        parts = (left_a, hidden_a, left_b, hidden_b)
        moved = sum(float(np.linalg.norm(part)) for part in parts)
        shifts = change @ self._apart(i, j)
        moved += units * float(np.linalg.norm((size @ np.abs(self._apart(i, j))) * (1.0 + scale)))
        return SharedMass.of(variances, shifts), 1.5 * moved

    def power(self, i: int, j: int, false_alarm: float) -> Ends:
        """Return an upper end of the best test's power, t α + δ(log t) for the best t found.

        Every t gives an upper end. With the likelier of two tests at hand, raising an alarm by
        chance, the power is at least α.
        """
        from scipy.optimize import minimize_scalar

        def dual(log_ratio: float) -> float:
            return false_alarm * math.exp(log_ratio) + self.unshared(i, j, log_ratio)[1]

        found = minimize_scalar(
            dual, bounds=(-30.0, 30.0), method="bounded", options={"xatol": 1e-5}
        )
        return false_alarm, min(dual(float(found.x)), 1.0)

    # Guesses and events ---------------------------------------------------------------------------

    def success(self) -> Reading:
        """Return how often the best guess is right: exact for two behaviours, else between ends.

        With a₁ ≥ a₂ ≥ … the joint densities at an output, a guess errs by a₂ + … + a_K, which is at
        most the sum of min(a_i, a_j) over pairs, Σ (k − 1) a_k, and at least a (K − 1)th of it.
        """
        count = len(self.weights)
        low = high = 0.0
        for i, j in itertools.combinations(range(count), 2):
            shared = self.shared(i, j, math.log(self.weights[j] / self.weights[i]))
            low += self.weights[i] * shared[0]
            high += self.weights[i] * shared[1]
        least = float(self.weights.max())
        ends = max(1.0 - high, least), min(1.0, 1.0 - low / max(count - 1, 1))
        return between((min(ends), max(ends)), None)

    def posterior_gap(self) -> Reading:
        """Return the largest rise of a behaviour's probability: from the divergences of order ∞.

        Pr[i | z] = 1 / (1 + Σ_j (w_j/w_i) p_j(z)/p_i(z)), and p_i/p_j is at most e^{D_∞}; for two
        behaviours there is a z at which, or near which, it is.
        """
        count, found = len(self.weights), []
        for i in range(count):
            others = [j for j in range(count) if j != i]
            tops = [self.renyi(i, j, math.inf) for j in others]
            ends = []
            for side in (0, 1):
                rest = sum(
                    self.weights[j] / self.weights[i] * math.exp(-top[side])
                    for j, top in zip(others, tops, strict=True)
                )
                ends.append(max(1.0 / (1.0 + rest) - float(self.weights[i]), 0.0))
            found.append((ends[0] if count <= 2 else 0.0, ends[1] * (1 + 8 * ROUNDOFF)))
        worst = max(range(count), key=lambda i: found[i][1])
        low = max(ends[0] for ends in found)
        return between((low, found[worst][1]), {"event": self.names[worst]})


def _is_indefinite(matrix: Any) -> bool:
    """Whether some vector of one or two entries surely shows a negative direction."""
    size = matrix.nrows()
    return exact.pivots(matrix)[-1] < 0 or any(
        matrix[i, i] * matrix[j, j] < matrix[i, j] * matrix[i, j]
        for i, j in itertools.combinations(range(size), 2)
    )


def between(ends: Ends, witness: Any) -> Reading:
    """Return the reading of a loss between two ends, given by the worse one."""
    low, high = ends
    how = "two normal laws"
    if low == high or (math.isfinite(high) and high - low <= AGREEMENT * high):
        error = 0.0 if low == high else (high - low) / high
        return Reading(value=high, bound="exact", relative_error=error, witness=witness, how=how)
    return Reading(value=high, bound="upper", interval=(low, high), witness=witness, how=how)


@attrs.frozen(eq=False)
class SharedMass:
    """∫ min(p, e^ε q), p = N(δ, diag w), q = N(0, I), for every ε from one sum.

    For r, a > 0, min(r, a) = (1/2π) ∫ r^λ a^{1−λ} / (λ(1−λ)) dt along λ = ½ + it, so that with
    M(λ) = ∫ p^λ q^{1−λ} = Π w^{(1−λ)/2} s^{−1/2} exp(−½ λ(1−λ) δ²/s), s = λ + (1−λ)w,

        ∫ min(p, e^ε q) = (e^{ε/2} / π) ∫_0^∞ Re[M(½ + it) e^{−itε}] / (¼ + t²) dt.

    Summed at a step h instead, it is Σ_m G(ε + 2πm/h) by Poisson's formula, with
    G(x) = e^{−x/2} ∫ min(p, e^x q) between 0 and e^{−|x|/2}: the sum is too large, by at most
    2 e^{|ε|/2} Σ_{m≥1} e^{−πm/h}. |M(½ + it)| falls with t in each factor: what lies beyond t is at
    most |M(½ + it)| / (π t).
    """

    points: FloatArray
    sizes: FloatArray  # |M| times the weight of the point
    phases: FloatArray
    tail: float
    entries: int

    @classmethod
    def of(cls, variances: FloatArray, shifts: FloatArray) -> SharedMass:
        """Evaluate M along the line, until what is left is negligible or the points are many."""
        logs: list[Any] = []
        count, tail = 0, 1.0
        while count < MOST_POINTS and tail > 1e-16:
            more = max(count, FIRST_POINTS)
            t = STEP * np.arange(count, count + more, dtype=np.float64)
            logs.append(_log_moment(variances, shifts, t))
            count += more
            tail = math.exp(logs[-1].real[-1]) / (math.pi * float(t[-1]))
        whole, t = np.concatenate(logs), STEP * np.arange(count, dtype=np.float64)
        weights = np.where(t == 0.0, 0.5, 1.0) * STEP / math.pi / (0.25 + t * t)
        return cls(t, np.exp(whole.real) * weights, whole.imag, tail, len(variances))

    def ends(self, epsilon: float) -> Ends:
        """Return two ends of ∫ min(p, e^ε q), which grows with ε and is at most 1 and e^ε."""
        if epsilon > LARGEST:
            return self.ends(LARGEST)[0], 1.0
        if epsilon < -LARGEST:
            return 0.0, math.exp(epsilon)
        total = float((self.sizes * np.cos(self.phases - self.points * epsilon)).sum())
        # The exponent of a point is a sum over the entries; its phase is as exact as t and ε.
        rounding = 64.0 * ROUNDOFF * (self.entries + 100.0 * (1.0 + abs(epsilon)))
        rounding *= float(self.sizes.sum())
        folded = 2.0 * math.exp(abs(epsilon) / 2.0 - math.pi / STEP) / -math.expm1(-math.pi / STEP)
        factor = math.exp(epsilon / 2.0)
        low = (total - self.tail - rounding - folded) * factor
        high = (total + self.tail + rounding) * factor
        most = min(1.0, math.exp(epsilon))
        return min(max(low, 0.0), most), min(max(high, 0.0), most)


def _log_moment(variances: FloatArray, shifts: FloatArray, t: FloatArray) -> Any:
    """Return log M(½ + it), a complex number for each t."""
    power = 0.5 + 1j * t
    other = 1.0 - power
    logs = np.zeros(len(t), dtype=complex)
    for variance, shift in zip(variances.tolist(), shifts.tolist(), strict=True):
        spread = power + other * variance
        logs += 0.5 * (other * math.log(variance) - np.log(spread))
        logs -= 0.5 * power * other * shift * shift / spread
    return logs
