"""Geo-indistinguishable noise on places: planar Laplace with remapping, and the exponential one."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any

import numpy as np

from sfumato.beliefs import Markov
from sfumato.channels import Symbols
from sfumato.errors import OutsideHypotheses
from sfumato.parameters import POSITIVE, SWITCH, declare, parameter
from sfumato.protocols import Mechanism, PriorClass, Quantity, Release, Secret
from sfumato.values import FloatArray
from sfumato_location.places import PLACES, distances_between

EXPECTED_DISTANCE = Quantity("expected distance to the place", unit="units of the places")

FAR = 750.0
"""ε times a distance beyond which e^{−ε r} is below what float64 holds."""


@declare
class AtPlaces(Mechanism):
    """Shows a place drawn by the true one; at a distance d at most e^{ε d} times likelier.

    The author writes `laws`.
    """

    asks = ((Markov, object),)
    yields = Symbols
    promises = (("epsilon", "geo_indistinguishability"),)
    strength = ("epsilon", "less")

    epsilon: float = parameter(POSITIVE, doc="ε for each unit of distance")
    places: FloatArray = parameter(PLACES, doc="coordinates of the places, as the prior has them")

    @abstractmethod
    def laws(self, belief: Markov) -> tuple[FloatArray, dict[str, float]]:
        """Return Pr[z is shown | x], (T, M, M) or (M, M) for all times, and what is claimed."""

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Design for the first member; over a class the utility is the least favourable one's."""
        belief = belief_about(self, prior)
        laws, claims = self.laws(belief)
        far, count = distances_between(self.places), belief.state_count
        tables = np.broadcast_to(laws, (belief.steps, count, count))
        if ((tables == 0.0).any(axis=1) & (tables > 0.0).any(axis=1)).any():
            raise OutsideHypotheses(
                f"{self.name} shows a place from everywhere or from nowhere; places "
                f"{far.max():.6g} apart at ε = {self.epsilon:g} are too far for float64: take a "
                f"smaller map or ε."
            )
        channel = Symbols(belief.states, belief.states, tables)
        each = (channel.probabilities * far).sum(axis=2)
        worst = prior.supremum(
            lambda member: float((member.belief().marginals() * each).sum(axis=1).mean())
        )
        return Release(self, prior, secret, channel, worst.value, EXPECTED_DISTANCE, claims)


def belief_about(mechanism: Any, prior: PriorClass) -> Markov:
    """Return what the first member believes, if it is about the mechanism's places."""
    belief: Markov = next(prior.members()).belief()
    if len(mechanism.places) != belief.state_count:
        wanted = f"coordinates for the {belief.state_count} states"
        raise mechanism.reject("places", wanted, mechanism.places)
    return belief


def keep_apart(law: FloatArray, far: FloatArray, epsilon: float) -> FloatArray:
    """Mix a law with an even one, just enough that C_xz ≤ e^{ε d(x,y)} C_yz holds.

    With κ of the even law the constraint reads
    (1 − κ)(e^{−εd} C_xz − C_yz) ≤ (κ/M)(1 − e^{−εd}): what a solver's or float64's slack breaks by
    τ (1 − e^{−εd}) is mended by κ = Mτ/(1 + Mτ), at a cost of the order of κ.
    """
    count = len(law)
    apart = far > 0.0
    excess = np.exp(-epsilon * far)[:, :, None] * law[:, None, :] - law[None, :, :]
    room = np.where(apart, -np.expm1(-epsilon * far), 1.0)
    worst = float((excess.max(axis=2) / room).max(where=apart, initial=0.0))
    if worst <= 0.0:
        return law
    share = 2.0 * count * worst / (1.0 + 2.0 * count * worst)
    return np.asarray((1.0 - share) * law + share / count)


@declare
class LocationExponential(AtPlaces):
    """Show z with probability $∝ exp(−ε d(x, z) / 2)$: the exponential mechanism for distances.

    ε per unit of distance holds as the weights' ratio is at most $e^{ε d/2}$, and so is that of the
    sums that they are divided by.

    Reference: McSherry and Talwar (2007); Chatzikokolakis et al. (2013), for distances.

    >>> import sfumato as sf
    >>> walk = sf.priors.location_walk([[0, 0], [1, 0]], reach=1.0, steps=1)
    >>> mechanism = sf.mechanisms.location_exponential(epsilon=2.0, places=[[0, 0], [1, 0]])
    >>> mechanism.protect(walk, sf.secrets.basic(0)).channel.probabilities.round(4).tolist()
    [[[0.7311, 0.2689], [0.2689, 0.7311]]]
    """

    name = "location_exponential"

    def laws(self, belief: Markov) -> tuple[FloatArray, dict[str, float]]:
        """Return the same law for all times."""
        del belief
        far = distances_between(self.places)
        weights = np.exp(-self.epsilon * far / 2.0)
        return keep_apart(weights / weights.sum(axis=1, keepdims=True), far, self.epsilon), {}


@declare
class PlanarLaplace(AtPlaces):
    """Planar Laplace noise, shown as the nearest place: density $ε²/(2π) e^{−ε r}$ around x.

    What is drawn is the place: the probability of z given x is that of z's Voronoi cell, so the
    table is the law of what is sampled. With `remap` a place is then replaced by the one that is
    nearest on average to where one may have been, given the prior at that time: post-processing,
    which costs no privacy.

    Reference: Andrés et al. (2013); Chatzikokolakis, Elsalamouny and Palamidessi (2017), remapping.

    >>> import sfumato as sf
    >>> places = sf.priors.location_walk.grid(3, 3, step=1.1)
    >>> walk = sf.priors.location_walk(places, reach=1.0, steps=1)
    >>> noise = sf.mechanisms.planar_laplace(epsilon=0.9, places=places, remap=False)
    >>> release = noise.protect(walk, sf.secrets.basic(0))
    >>> smallest = sf.measures.geo_indistinguishability(places=places)
    >>> round(smallest.loss(walk, sf.secrets.basic(0), release).value, 4)
    0.8844
    """

    name = "planar_laplace"

    remap: bool = parameter(
        SWITCH, default=True, doc="whether to show the place nearest on average"
    )

    def laws(self, belief: Markov) -> tuple[FloatArray, dict[str, float]]:
        """Return the law of every time, each with its own remapping."""
        far = distances_between(self.places)
        law = keep_apart(cell_chances(self.places, self.epsilon), far, self.epsilon)
        if not self.remap:
            return law, {}
        return np.stack([_remapped(law, far, marginal) for marginal in belief.marginals()]), {}


def _remapped(law: FloatArray, far: FloatArray, marginal: FloatArray) -> FloatArray:
    """Return Pr[w(z) | x], w(z) the place of least Σ_x π_x C_xz d(x, w)."""
    best = ((marginal[:, None] * law).T @ far).argmin(axis=1)
    shown = np.zeros_like(law)
    np.add.at(shown.T, best, law.T)
    return shown


def cell_chances(places: FloatArray, epsilon: float) -> FloatArray:
    """Return Pr[x plus planar Laplace noise lies nearest to z], (M, M).

    Within r of x lies a share 1 − G(r), G(r) = (1 + εr) e^{−εr}, of the noise. In polar coordinates
    about x a polygon has the share w − Σ_edges ∮ G(r(θ)) dθ/2π, w = 1 if x is inside and else 0, as
    the angles under which x sees the edges then cancel. On the edge at distance h, with
    r = h cosh u, dθ = du/cosh u: smooth, and small where the edge is far.
    """
    reach = FAR / epsilon + 2.0 * float(np.ptp(places, axis=0).max(initial=0.0))
    chances = np.zeros((len(places), len(places)))
    for z in range(len(places)):
        corners = _voronoi_cell(places, z, reach)
        for one, other in zip(corners, np.roll(corners, -1, axis=0), strict=True):
            chances[:, z] -= _edge_integral(one - places, other - places, epsilon)
        chances[z, z] += 1.0
    chances = np.maximum(chances, 0.0)
    return np.asarray(chances / chances.sum(axis=1, keepdims=True))


def _voronoi_cell(places: FloatArray, z: int, reach: float) -> FloatArray:
    """Return the corners, anticlockwise, of what is nearest to z within a far square around it."""
    from scipy.spatial import HalfspaceIntersection

    others = np.delete(places, z, axis=0) - places[z]
    lengths = np.hypot(*others.T)[:, None]
    nearer = np.column_stack([others / lengths, -lengths / 2.0])  # n·x ≤ half the distance
    square = [[1.0, 0.0, -reach], [0.0, 1.0, -reach], [-1.0, 0.0, -reach], [0.0, -1.0, -reach]]
    corners = HalfspaceIntersection(np.vstack([nearer, square]), np.zeros(2)).intersections
    around = np.argsort(np.arctan2(corners[:, 1], corners[:, 0]))
    return np.asarray(places[z] + corners[around])


def _edge_integral(one: FloatArray, other: FloatArray, epsilon: float) -> FloatArray:
    """Return ∫ G(r(θ)) dθ/2π along the edge as seen from every place, signed, (M,)."""
    along = other[0] - one[0]
    length = float(np.hypot(*along))
    if length == 0.0:
        return np.zeros(len(one))
    crossed = (one[:, 0] * along[1] - one[:, 1] * along[0]) / length  # signed distance to the line
    height = np.abs(crossed)
    seen = height > 0.0
    safe = np.where(seen, height, 1.0)
    start, end = (np.arcsinh((corner @ along) / length / safe) for corner in (one, other))
    nodes, weights = np.polynomial.legendre.leggauss(24)
    panels = max(1, math.ceil(float(np.abs(end - start).max()) / 0.5))
    edges = start[:, None] + (end - start)[:, None] * np.arange(panels) / panels
    half = (end - start)[:, None, None] / panels / 2.0
    u = edges[:, :, None] + half * (1.0 + nodes)
    with np.errstate(over="ignore"):
        cosh = np.cosh(u)
        scaled = np.minimum(epsilon * safe[:, None, None] * cosh, 2.0 * FAR)
    values = (1.0 + scaled) * np.exp(-scaled) / cosh
    total = (values * weights * half).sum(axis=(1, 2)) / (2.0 * math.pi)
    return np.where(seen, np.sign(crossed) * total, 0.0)
