"""The worst-case loss of independent noise on a ten-point trace."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.figures import Curve, Drawing, FigureRequest, Panel, Style
from sfumato.plugin_registry import measures, mechanisms, priors, secrets

POINTS = 10
SECRET = (0, 2, 4, 6, 8)
ORDER = 2.0
VARIANCES = np.linspace(0.1, 2.0, 39)
SQUARED_LENGTH_SCALES = (1.0, 2.0, 4.0, 8.0)

ACCOUNT = """
    Exact: panel (a) is equation (4), at radius 1 and order 2 (the paper names neither).
    At l = 1 the loss is {low:.2f} times that of independent points at noise variance 0.1 and
    {high:.2f} times at 1; the paper says 1.5, without the variance.

    Differs: the dashed curves are new: the loss over pairs within radius 1 at each point, where
    equation (4) takes the ball around them.
    Panel (b) shows the displacements alone, at noise variance 0.1, as the example trace is not
    published.
    That compliance at the largest length scale implies it below is false in general.
"""


def _noise(variance: float) -> Any:
    return mechanisms.gaussian_uniform(mse=variance)


def figure_2(request: FigureRequest) -> Drawing:
    """Return the loss against the noise variance, and the worst pair at length scale 2."""
    del request  # nothing to choose
    secret = secrets.compound(list(SECRET), radius=1.0)
    # Of independent points, the loss is (λ/2) |S| r² / σ².
    curves = [Curve("independent", VARIANCES, ORDER / 2 * len(SECRET) / VARIANCES)]
    kinds: dict[str, tuple[Any, Style]] = {
        "": (measures.renyi_paper_bound(order=ORDER), "line"),
        ", exact": (measures.renyi(order=ORDER), "dashed"),
    }
    for kind, (measure, style) in kinds.items():
        for squared in SQUARED_LENGTH_SCALES:
            prior = priors.rbf(length_scale=float(np.sqrt(squared)), times=POINTS)
            losses = [
                measure.loss(prior, secret, _noise(variance).protect(prior, secret)).value
                for variance in VARIANCES.tolist()
            ]
            words = f"l² = {squared:g}"
            curves.append(Curve(words + kind, VARIANCES, losses, style, words))
    panel = Panel(
        title="(a) worst-case loss",
        x="noise variance of every point",
        y=f"Rényi divergence, order {ORDER:g} [nats]",
        curves=curves,
        log="y",
    )
    return Drawing(
        panels=[panel, _worst_pair(secret)],
        account=ACCOUNT.format(low=_rise(curves, 0.1), high=_rise(curves, 1.0)),
    )


def _rise(curves: list[Curve], variance: float) -> float:
    """Return how much more l = 1 loses than independent points."""
    place = int(np.argmin(np.abs(VARIANCES - variance)))
    return float(curves[1].y[place] / curves[0].y[place])


def _worst_pair(secret: object) -> Panel:
    """Return the displacements that are told apart best at l = 2, in the ball and in the box."""
    prior = priors.rbf(length_scale=2.0, times=POINTS)
    loss = measures.renyi(order=ORDER).loss(prior, secret, _noise(0.1).protect(prior, secret))
    box = np.ravel(loss.witness["displacement"])
    ball = _worst_in_the_ball(prior.belief().covariance.dense(), 0.1)
    return Panel(
        title="(b) what is told apart best, l = 2",
        x="time",
        y="displacement Δs",
        curves=[
            Curve("Δs of equation (4)", SECRET, ball * np.sign(ball @ box), "dots"),
            Curve("Δs of the exact loss", SECRET, box, "dots"),
        ],
    )


def _worst_in_the_ball(covariance: NDArray[np.float64], variance: float) -> NDArray[np.float64]:
    """Return the eigenvector of Σ_eff's largest eigenvalue, of squared length |S|.

    Σ_eff = GᵀC⁻¹G with the regression G = Σ_us Σ_ss⁻¹ and C = Σ_u|s + σ² I.
    """
    secret = np.array(SECRET)
    others = np.setdiff1d(np.arange(POINTS), secret)
    cross = covariance[np.ix_(others, secret)]
    gain = np.linalg.solve(covariance[np.ix_(secret, secret)], cross.T).T
    rest = covariance[np.ix_(others, others)] - gain @ cross.T + variance * np.eye(len(others))
    worst = np.linalg.eigh(gain.T @ np.linalg.solve(rest, gain))[1][:, -1]
    return np.asarray(np.sqrt(len(SECRET)) * worst)
