"""Meehan and Chaudhuri (2019, 2021): what an adversary is left with, and the noise that does it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from itertools import product
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

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
        return _misspecified_widths(chosen, length_scale, ours=ours)
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


def _misspecified_widths(chosen: Setting, length_scale: float, *, ours: bool) -> dict[str, float]:
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


POINTS = 10
SECRET = (0, 2, 4, 6, 8)
ORDER = 2.0
VARIANCES = np.linspace(0.1, 2.0, 39)
SQUARED_LENGTH_SCALES = (1.0, 2.0, 4.0, 8.0)

WORKSHOP = """
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


def workshop_figure_2(request: FigureRequest) -> Drawing:
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
        account=WORKSHOP.format(low=_rise(curves, 0.1), high=_rise(curves, 1.0)),
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
