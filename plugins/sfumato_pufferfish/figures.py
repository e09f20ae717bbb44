"""How much more noise a count takes by Markov quilts than it needs, over a grid of chains."""

from __future__ import annotations

import numpy as np

from sfumato import mechanisms, priors, secrets
from sfumato.figures import Curve, Drawing, FigureRequest, Panel
from sfumato.prior_classes.sets import AnyOf
from sfumato.protocols import PriorClass

STEPS, EPSILON = 100, 1.0
STAYS = (0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9)
"""Chances of a one to be followed by a one."""
LEAVES = (0.1, 0.2, 0.3, 0.4, 0.5)
"""Chances of a zero to be followed by a one."""
CLASSES = tuple(
    (0.5 - width, 0.5 + width) for width in (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4)
)
"""Classes of chains that stay with a chance between two ends: both ends and the middle."""

ACCOUNT = """
    Number of ones in a stationary chain of two states, {steps} steps, epsilon = {epsilon:g}, all
    states secret. Shown is the scale of the Markov quilt mechanism's Laplace noise (exact form)
    over that of laplace_count, which is the smallest that gives the same epsilon for this count.
    At (q, p) = (0.1, 0.9) it is {first:.4f}, at (0.2, 0.7) {second:.4f}; the largest is {most:.4f}.
    The quilt's noise is for any query that one state moves by one, and composes linearly; the
    exact one is for this count and this chain, or this class of chains. A class is that of three
    chains, which stay with the chances at its ends and in its middle.
"""


def chain(q: float, p: float) -> PriorClass:
    """Return the stationary chain that goes from 0 to 1 with chance q and from 1 to 1 with p."""
    return priors.markov_chain("stationary", [[1.0 - q, q], [1.0 - p, p]], steps=STEPS)  # type: ignore[no-any-return]


def scales(ends: tuple[tuple[float, float], ...]) -> dict[str, float]:
    """Return the scale of every mechanism for the class of some chains."""
    members = [chain(q, p) for q, p in ends]
    prior = members[0] if len(members) == 1 else AnyOf(*members)
    chosen = {
        "Markov quilt": mechanisms.markov_quilt,
        "Wasserstein": mechanisms.wasserstein_laplace,
        "exact": mechanisms.laplace_count,
    }
    return {
        words: one(states=[1], epsilon=EPSILON).protect(prior, secrets.every_point()).channel.scale
        for words, one in chosen.items()
    }


def quilt_ratio(request: FigureRequest) -> Drawing:
    """Return the ratio of noises over a grid of chains, and over ever wider classes."""
    grid = [((q, p),) for q in LEAVES for p in STAYS]
    wide = [tuple((1.0 - stay, stay) for stay in (low, 0.5, high)) for low, high in CLASSES]
    found = request.each(scales, [*grid, *wide], "calibrating")
    ratios = np.array([one["Markov quilt"] / one["exact"] for one in found[: len(grid)]])
    by_row = ratios.reshape(len(LEAVES), len(STAYS))
    curves = [Curve(f"q = {q:g}", STAYS, row) for q, row in zip(LEAVES, by_row, strict=True)]
    widths = [high - low for low, high in CLASSES]
    rest = found[len(grid) :]
    classes = [
        Curve(f"{words} / exact", widths, [one[words] / one["exact"] for one in rest])
        for words in ("Markov quilt", "Wasserstein")
    ]
    account = ACCOUNT.format(
        steps=STEPS,
        epsilon=EPSILON,
        first=by_row[0, -1],
        second=by_row[1, STAYS.index(0.7)],
        most=max(ratios.max(), float(classes[0].y.max())),
    )
    x = "chance p that a one is followed by a one"
    return Drawing(
        panels=[
            Panel(title="One chain", x=x, y="noise by quilts / exact noise", curves=curves),
            Panel(
                title="A class of chains",
                x="width of the class of chances to stay",
                y="noise / exact noise",
                curves=classes,
            ),
        ],
        account=account,
    )
