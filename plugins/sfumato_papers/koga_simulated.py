"""Reconstruction of simulated people from released counts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from sfumato.figures import Curve, Drawing, FigureRequest, Panel
from sfumato.plugin_registry import adversaries, measures, mechanisms, priors, secrets

TAU = 0.1
STEPS = 10
PLACES = 100
MISTAKES = 5
TRIALS = 1000
SEED = 0

ATTACKERS = {
    "MAP attacker": "map",
    "prior attacker": "prior_mode",
    "constant attacker": "constant",
    "marginal attacker (ours)": "marginal_mode",
}
BOUNDS = {
    "loose bound": "fano_loose",
    "tight bound": "fano_tight",
    "reconstruction (ours)": "reconstruction",
}

ACCOUNT = """
    Exact: chains with a stationary start, τ = 0.1, and M = 100, T = 10, s = 5 where not swept;
    equations (3) to (5) and Theorem 1; 1000 trajectories for each attacker.

    Differs: the swept values and the random sensors are not published; sensors are drawn
    uniformly with seed 0.
    Success is at most s wrong steps, as the definition says (the experiments have < s once).
    {attack}
    Two curves are new: our bound, and the attacker who maximises posterior marginals.
"""
NOISE = """
    Our bound never rises above its value without noise; the paper's may, as they use a looser
    bound on the information of noisy counts.
"""

Setting = tuple[int, int, int, float | None]
"""Number of places, of steps, of mistakes, and the noise's standard deviation."""


def figure_5(request: FigureRequest) -> Drawing:
    """Return the success against the places, the steps to be right in, and the steps."""
    sweeps = {
        "number of places M": [(m, STEPS, MISTAKES, None) for m in (10, 20, 50, 100, 200)],
        "steps that must be right, T - s": [
            (PLACES, STEPS, STEPS - right, None) for right in range(1, STEPS + 1)
        ],
        "steps T, half of them may be wrong": [
            (PLACES, t, t // 2, None) for t in (2, 4, 6, 8, 10, 14, 20)
        ],
        "steps T, two must be right": [(PLACES, t, t - 2, None) for t in (2, 4, 6, 8, 10, 14, 20)],
    }
    marks = {
        "number of places M": lambda setting: setting[0],
        "steps that must be right, T - s": lambda setting: setting[1] - setting[2],
        "steps T, half of them may be wrong": lambda setting: setting[1],
        "steps T, two must be right": lambda setting: setting[1],
    }
    settings: list[Setting] = [setting for sweep in sweeps.values() for setting in sweep]
    found = dict(zip(settings, request.each(success, settings, "reconstruction"), strict=True))
    panels = [
        _panel(words, [marks[words](setting) for setting in sweep], [found[s] for s in sweep])
        for words, sweep in sweeps.items()
    ]
    fewest = found[sweeps["number of places M"][0]]["MAP attacker"]
    attack = f"The MAP attacker succeeds with {fewest:.0%} for M = 10 (the paper: about 30 %)."
    return Drawing(panels=panels, account=ACCOUNT.format(attack=attack))


def figure_7(request: FigureRequest) -> Drawing:
    """Return the success against the noise, with what the raw counts give for reference."""
    deviations = (0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0)
    settings: list[Setting] = [(PLACES, STEPS, MISTAKES, sigma) for sigma in deviations]
    raw: Setting = (PLACES, STEPS, MISTAKES, None)
    *noisy, without = request.each(success, [*settings, raw], "reconstruction")
    panel = _panel("noise standard deviation σ", deviations, noisy)
    levels = [
        Curve(f"{name}, no noise", [0.0], [without[name]], "level", name)
        for name in ("tight bound", "reconstruction (ours)", "MAP attacker")
    ]
    return Drawing(
        panels=[
            Panel(title=panel.title, x=panel.x, y=panel.y, curves=[*panel.curves, *levels], log="x")
        ],
        account=ACCOUNT.format(attack=_smallest(noisy)) + NOISE,
        columns=1,
    )


def _smallest(found: list[dict[str, float]]) -> str:
    """Return what cannot be seen in a picture that begins at zero."""
    ours = max(one["reconstruction (ours)"] for one in found)
    attack = max(one[name] for one in found for name in ATTACKERS)
    return f"Our bound is at most {ours:.2g}, the best attacker has {attack:.2g}."


def success(setting: Setting) -> dict[str, float]:
    """Return every bound's and every attacker's success in one setting."""
    places, steps, mistakes, noise = setting
    chain = priors.markov_chain.simulated(states=places, tau=TAU, steps=steps)
    secret = secrets.trajectory(mistakes=mistakes)
    release = mechanisms.sensor_counts("drawn", noise=noise, seed=SEED).protect(chain, secret)
    chosen: dict[str, Any] = {words: getattr(measures, name)() for words, name in BOUNDS.items()}
    for words, name in ATTACKERS.items():
        adversary = getattr(adversaries, name)()
        chosen[words] = measures.attack_success(adversary=adversary, trials=TRIALS, seed=SEED)
    return {
        words: float(measure.loss(chain, secret, release).value)
        for words, measure in chosen.items()
    }


def _panel(words: str, places: Iterable[float], found: list[dict[str, float]]) -> Panel:
    at = np.asarray(list(places), dtype=float)
    return Panel(
        title=words,
        x=words,
        y="chance of reconstruction",
        curves=[
            Curve(
                name,
                at,
                [one[name] for one in found],
                "line" if name in BOUNDS else "dashed",
            )
            for name in (*BOUNDS, *ATTACKERS)
        ],
    )
