"""The noise covariances of the mechanisms, and draws from them."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.figures import Curve, Drawing, FigureRequest, MatrixPanel, Panel
from sfumato.plugin_registry import mechanisms, secrets
from sfumato_papers.meehan_intervals import MSE, setting

SEED = 0

ACCOUNT = """
    Exact: the baselines and the mechanisms of the appendix at the median priors (l = 6 for the
    RBF kernel, l = 1.1 and period 24 for the periodic one), with the published budgets; warmer is
    larger, from the smallest to the largest entry of each matrix.

    Differs: the draws are other draws, of seed 0.
    The panels named ours are new: gaussian_optimal. For one secret it is one shared draw times a
    smooth bump; for all points, noise shaped like the prior.
"""


def appendix_7_1_2(request: FigureRequest) -> Drawing:
    """Return a row of matrices and draws for each: baselines, RBF, periodic, and ours."""
    rows = [_baselines()]
    if not request.ours:
        rows += [_published("RBF", 6.0), _published("PER", 1.1)]
    rows += [_ours("RBF", 6.0), _ours("PER", 1.1)]
    panels: list[Any] = []
    for releases in rows:
        panels += [
            MatrixPanel(title=name, matrix=release.channel.covariance())
            for name, release in releases.items()
        ]
        panels += [_draw(name, release) for name, release in releases.items()]
    return Drawing(panels=panels, account=ACCOUNT, columns=6)


def _draw(name: str, release: Any) -> Panel:
    noise = release.channel.noise.sample(np.random.default_rng(SEED))
    return Panel(
        title=f"{name}: a draw",
        x="index",
        y="noise",
        curves=[Curve("noise", range(len(noise)), noise)],
    )


def _baselines() -> dict[str, Any]:
    prior = setting("RBF").prior(6.0)
    spread = secrets.compound([12, 24, 36])
    concentrated = mechanisms.gaussian_concentrated(mse=MSE)
    return {
        "uniform": mechanisms.gaussian_uniform(mse=MSE).protect(prior, secrets.basic(24)),
        "concentrated, one": concentrated.protect(prior, secrets.basic(24)),
        "concentrated, three": concentrated.protect(prior, spread),
    }


def _published(kernel: str, length_scale: float) -> dict[str, Any]:
    chosen = setting(kernel)
    prior = chosen.prior(length_scale)
    one = mechanisms.gaussian_sdp_a(mse=MSE, rescale=10.0)
    two = mechanisms.gaussian_sdp_a(mse=MSE, rescale=chosen.rescale)
    every = mechanisms.gaussian_multiple_secrets(mse=MSE, rescale=1e4)
    return {
        f"{kernel}, basic": one.protect(prior, chosen.basic),
        f"{kernel}, compound": two.protect(prior, chosen.compound),
        f"{kernel}, all basic": every.protect(prior, secrets.every_point()),
    }


def _ours(kernel: str, length_scale: float) -> dict[str, Any]:
    chosen = setting(kernel)
    prior = chosen.prior(length_scale)
    best = mechanisms.gaussian_optimal(mse=MSE)
    return {
        f"{kernel}, basic, ours": best.protect(prior, chosen.basic),
        f"{kernel}, compound, ours": best.protect(prior, chosen.compound),
        f"{kernel}, all basic, ours": best.protect(prior, secrets.every_point()),
    }
