"""Meehan and Chaudhuri (2021): what an adversary is left with, and the noise that does it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from itertools import product
from typing import Any

import attrs
import numpy as np

from sfumato.errors import REFUSALS
from sfumato.figures import Curve, Drawing, FigureRequest, MatrixPanel, Panel, Style
from sfumato.inference.gaussian.scalar_informations import scalar_informations
from sfumato.plugin_registry import measures, mechanisms, priors, secrets
from sfumato.prior_classes.sets import AnyOf

MSE = 0.02
MIDDLE = 24
SEED = 0

ACCOUNT = """
    Exact: the priors, secrets, noise budgets and the 20 length scales of the published code; the
    intervals are those of the noise that is sampled, to all digits shown.
    The published SDP curves need the option rescale: their code solves for 10 times the budget
    (1000 times for the two neighbouring locations, 10,000 times for all points) and divides the
    noise by it. So do these curves.

    Differs: the published code inverts both covariances with 1e-6 added to their diagonals, which
    lifts its curve of concentrated noise, whose true value is nearly zero from l = 3 on, and hides
    what a misspecified prior costs: designed for l = 6, data of l = 9 leave 0.31, not 0.40.
    Points that float64 and balls cannot decide are left out.
    Our curves are new, at equal noise: gaussian_optimal, and for the misspecified priors one
    design for all three.
    The band and the line are the quartiles and the median of length scales fitted to GeoLife
    (2.34, 5.39, 8.00) and to SML2010 (1.04, 1.10, 1.14, from the weather forecast's column, which
    the published code takes for the dining room); the paper's figure has about 6 and 1.1.
    What differs for GeoLife is which traces are the first 50 of a user: the authors took them in
    the order of the directory. Fitted as they do, 3,761 of their 3,762 pairs are reproduced; our
    likelihood is the higher in 280 of 7,522 series and the lower in 3.
"""


@attrs.frozen
class Setting:
    """One kernel of the figure: its priors, two points together and swept length scales."""

    prior: Callable[[float], Any]
    compound: Any
    rescale: float
    length_scales: tuple[float, ...]
    quartiles: tuple[float, float, float]


def setting(kernel: str) -> Setting:
    """Return the setting of "RBF" (location) or "PER" (temperature)."""
    if kernel == "RBF":
        return Setting(
            lambda length_scale: priors.rbf(length_scale=length_scale, times=50),
            secrets.compound([24, 25]),
            1000.0,
            tuple(np.sqrt(np.linspace(1.0, 100.0, 20)).tolist()),
            (2.34, 5.39, 8.00),
        )
    return Setting(
        lambda length_scale: priors.periodic(length_scale=length_scale, period=24.0, times=48),
        secrets.compound([16, 32]),
        10.0,
        tuple(np.sqrt(np.linspace(0.25, 2.25, 20)).tolist()),
        (1.04, 1.10, 1.14),
    )


PANELS = ("basic secret", "compound secret", "all basic secrets", "misspecified prior")
TITLES = dict(
    zip("abcdefgh", [(kernel, words) for kernel in ("RBF", "PER") for words in PANELS], strict=True)
)

Task = tuple[str, float, bool]
"""A panel, a length scale, and whether the published programs are left out."""


def figure_2(request: FigureRequest, letters: str = "abcdefgh") -> Drawing:
    """Return the panels named: the posterior interval against the length scale."""
    tasks: list[Task] = [
        (letter, length_scale, request.ours)
        for letter in letters
        for length_scale in setting(TITLES[letter][0]).length_scales
    ]
    found = dict(zip(tasks, request.each(intervals, tasks, "posterior intervals"), strict=True))
    panels = []
    for letter in letters:
        kernel, words = TITLES[letter]
        chosen = setting(kernel)
        at = {scale: found[letter, scale, request.ours] for scale in chosen.length_scales}
        names = dict.fromkeys(name for values in at.values() for name in values)
        low, middle, high = chosen.quartiles
        panels.append(
            Panel(
                title=f"({letter}) {kernel}, {words}",
                x="length scale, in samples",
                y="posterior interval",
                curves=[_curve(name, at) for name in names],
                band=(low, high),
                mark=middle,
                band_name="middle half of fitted length scales",
                mark_name="their median",
            )
        )
    return Drawing(panels=panels, account=ACCOUNT, columns=min(4, len(letters)))


def _curve(name: str, at: dict[float, dict[str, float]]) -> Curve:
    known = {scale: values[name] for scale, values in at.items() if name in values}
    family = name.partition(", ")[2] or ("SDP" if "all three" in name else name)
    style: Style = "dashed" if "ours" in name else "line"
    return Curve(name, list(known), list(known.values()), style, family)


def intervals(task: Task) -> dict[str, float]:
    """Return the interval of every mechanism at one point of one panel."""
    letter, length_scale, ours = task
    kernel, words = TITLES[letter]
    chosen = setting(kernel)
    prior = chosen.prior(length_scale)
    if words == "all basic secrets":
        return _every_point(prior, ours=ours)
    if words == "misspecified prior":
        return _misspecified(chosen, length_scale, ours=ours)
    one = words == "basic secret"
    secret = secrets.basic(MIDDLE) if one else chosen.compound
    named: dict[str, Any] = {
        "uniform": mechanisms.gaussian_uniform(mse=MSE),
        "concentrated": mechanisms.gaussian_concentrated(mse=MSE),
        "optimal (ours)": mechanisms.gaussian_optimal(mse=MSE),
    }
    if not ours:
        rescale = 10.0 if one else chosen.rescale
        named = {"SDP": mechanisms.gaussian_sdp_a(mse=MSE, rescale=rescale), **named}
    found = {}
    for name, mechanism in named.items():
        with suppress(*REFUSALS):  # left out of the curve, as the account says
            found[name] = _width(prior, secret, mechanism.protect(prior, secret))
    return found


def _width(prior: Any, secret: Any, release: Any) -> float:
    return float(measures.posterior_interval().loss(prior, secret, release).value)


def _every_point(prior: Any, *, ours: bool) -> dict[str, float]:
    """Return 2 √(mean posterior variance); the budget is what Algorithm 1 ends up with."""
    secret = secrets.every_point()
    found, mse = {}, MSE
    if not ours:
        single = mechanisms.gaussian_multiple_secrets(mse=MSE, rescale=1e4).protect(prior, secret)
        # Algorithm 1 gives each secret the budget MSE; all is linear in it, so scale to that.
        mse = MSE * MSE / single.claims["mse_of_each_secret"]
        noise = single.channel.covariance() * (mse / MSE)
        published = mechanisms.gaussian_given(covariance=noise)
        found["SDP"] = _mean_width(prior, published.protect(prior, secret))
    uniform, best = mechanisms.gaussian_uniform(mse=mse), mechanisms.gaussian_optimal(mse=mse)
    found["uniform"] = _mean_width(prior, uniform.protect(prior, secret))
    found["optimal (ours)"] = _mean_width(prior, best.protect(prior, secret))
    return found


def _mean_width(prior: Any, release: Any) -> float:
    belief = prior.belief()
    gains, _ = scalar_informations(belief, release.channel)
    variances = 1.0 / (1.0 / belief.covariance.diagonal() + gains)
    return float(2.0 * np.sqrt(np.mean(variances)))


def _misspecified(chosen: Setting, length_scale: float, *, ours: bool) -> dict[str, float]:
    """Return what the adversary knows who has the true prior, where the designer has another."""
    truths = {
        "": chosen.prior(length_scale),
        ", data less correlated": chosen.prior(0.5 * length_scale),
        ", data more correlated": chosen.prior(1.5 * length_scale),
    }
    secret, best = secrets.basic(MIDDLE), mechanisms.gaussian_optimal(mse=MSE)
    releases = {"optimal for all three (ours)": best.protect(AnyOf(*truths.values()), secret)}
    if not ours:
        sdp = mechanisms.gaussian_sdp_a(mse=MSE, rescale=10.0)
        releases = {"SDP": sdp.protect(truths[""], secret), **releases}
    found = {}
    for (name, release), (words, truth) in product(releases.items(), truths.items()):
        with suppress(*REFUSALS):  # left out of the curve, as the account says
            found[name + words] = _width(truth, secret, release)
    return found


COVARIANCES = """
    Exact: the baselines and the mechanisms of the appendix at the median priors (l = 6 for the
    RBF kernel, l = 1.1 and period 24 for the periodic one), with the published budgets; warmer is
    larger, from the smallest to the largest entry of each matrix.

    Differs: the draws are other draws, of seed 0.
    The panels named ours are new: gaussian_optimal. For one secret it is one shared draw times a
    smooth bump; for all points, noise shaped like the prior.
"""


def appendix_7_1_2(request: FigureRequest) -> Drawing:
    """Return a row of noise covariances and of draws for each: baselines, RBF, periodic, ours."""
    published = [] if request.ours else [_designs("RBF", 6.0), _designs("PER", 1.1)]
    ours = [_designs("RBF", 6.0, ours=True), _designs("PER", 1.1, ours=True)]
    panels: list[Any] = []
    for releases in [_baselines(), *published, *ours]:
        panels += [
            MatrixPanel(title=name, matrix=release.channel.covariance())
            for name, release in releases.items()
        ]
        for name, release in releases.items():
            noise = release.channel.noise.sample(np.random.default_rng(SEED))
            curve = Curve("noise", range(len(noise)), noise)
            panels.append(Panel(title=f"{name}: a draw", x="index", y="noise", curves=[curve]))
    return Drawing(panels=panels, account=COVARIANCES, columns=6)


def _baselines() -> dict[str, Any]:
    prior, middle = setting("RBF").prior(6.0), secrets.basic(MIDDLE)
    concentrated = mechanisms.gaussian_concentrated(mse=MSE)
    return {
        "uniform": mechanisms.gaussian_uniform(mse=MSE).protect(prior, middle),
        "concentrated, one": concentrated.protect(prior, middle),
        "concentrated, three": concentrated.protect(prior, secrets.compound([12, 24, 36])),
    }


def _designs(kernel: str, length_scale: float, *, ours: bool = False) -> dict[str, Any]:
    """Return a release of one, of two and of all points."""
    chosen = setting(kernel)
    prior = chosen.prior(length_scale)
    best = mechanisms.gaussian_optimal(mse=MSE)
    published = (
        mechanisms.gaussian_sdp_a(mse=MSE, rescale=10.0),
        mechanisms.gaussian_sdp_a(mse=MSE, rescale=chosen.rescale),
        mechanisms.gaussian_multiple_secrets(mse=MSE, rescale=1e4),
    )
    return {
        f"{kernel}, {words}{', ours' if ours else ''}": mechanism.protect(prior, secret)
        for words, secret, mechanism in zip(
            ("basic", "compound", "all basic"),
            (secrets.basic(MIDDLE), chosen.compound, secrets.every_point()),
            (best,) * 3 if ours else published,
            strict=True,
        )
    }
