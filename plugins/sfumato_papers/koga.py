"""Reconstruction of people from released counts: simulated ones, and those of real check-ins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.datasets import BadRows, labels_of
from sfumato.datasets.formats import format_of, formats
from sfumato.errors import DataError
from sfumato.figures import Curve, Drawing, FigureRequest, Panel, Style
from sfumato.plugin_registry import adversaries, measures, mechanisms, priors, secrets
from sfumato_papers.check_ins import ELSEWHERE, check_ins_as_published

SEED = 0
CHANCE = "chance of reconstruction"
SIGMA = "noise standard deviation σ"

# Simulated people ---------------------------------------------------------------------------------

TAU = 0.1
STEPS = 10
PLACES = 100
MISTAKES = 5
TRIALS = 1000
LENGTHS = (2, 4, 6, 8, 10, 14, 20)
NOISES = (0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0)

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
    sweeps: dict[str, dict[float, Setting]] = {
        "number of places M": {m: (m, STEPS, MISTAKES, None) for m in (10, 20, 50, 100, 200)},
        "steps that must be right, T - s": {
            right: (PLACES, STEPS, STEPS - right, None) for right in range(1, STEPS + 1)
        },
        "steps T, half of them may be wrong": {t: (PLACES, t, t // 2, None) for t in LENGTHS},
        "steps T, two must be right": {t: (PLACES, t, t - 2, None) for t in LENGTHS},
    }
    settings = [setting for sweep in sweeps.values() for setting in sweep.values()]
    found = dict(zip(settings, request.each(success, settings, "reconstruction"), strict=True))
    panels = [
        _panel(words, sweep, [found[setting] for setting in sweep.values()])
        for words, sweep in sweeps.items()
    ]
    fewest = found[settings[0]]["MAP attacker"]
    attack = f"The MAP attacker succeeds with {fewest:.0%} for M = 10 (the paper: about 30 %)."
    return Drawing(panels=panels, account=ACCOUNT.format(attack=attack))


def figure_7(request: FigureRequest) -> Drawing:
    """Return the success against the noise, with what the raw counts give for reference."""
    settings: list[Setting] = [(PLACES, STEPS, MISTAKES, sigma) for sigma in (*NOISES, None)]
    *noisy, raw = request.each(success, settings, "reconstruction")
    levels = [
        Curve(f"{name}, no noise", [0.0], [raw[name]], "level", name)
        for name in ("tight bound", "reconstruction (ours)", "MAP attacker")
    ]
    panel = _panel(SIGMA, NOISES, noisy)
    panel = attrs.evolve(panel, curves=[*panel.curves, *levels], log="x")
    # What cannot be seen in a picture that begins at zero.
    ours = max(one["reconstruction (ours)"] for one in noisy)
    best = max(one[name] for one in noisy for name in ATTACKERS)
    attack = f"Our bound is at most {ours:.2g}, the best attacker has {best:.2g}."
    return Drawing(panels=[panel], account=ACCOUNT.format(attack=attack) + NOISE, columns=1)


def success(setting: Setting) -> dict[str, float]:
    """Return every bound's and every attacker's success in one setting."""
    places, steps, mistakes, noise = setting
    chain = priors.markov_chain.simulated(states=places, tau=TAU, steps=steps)
    secret = secrets.trajectory(mistakes=mistakes)
    release = _drawn_sensors(noise).protect(chain, secret)
    chosen = {words: getattr(measures, name)() for words, name in BOUNDS.items()}
    for words, name in ATTACKERS.items():
        adversary = getattr(adversaries, name)()
        chosen[words] = measures.attack_success(adversary=adversary, trials=TRIALS, seed=SEED)
    return {words: one.loss(chain, secret, release).value for words, one in chosen.items()}


def _drawn_sensors(noise: float | None = None) -> Any:
    return mechanisms.sensor_counts("drawn", noise=noise, seed=SEED)


def _panel(words: str, places: Iterable[float], found: Sequence[dict[str, float]]) -> Panel:
    at = list(places)
    curves = [
        Curve(name, at, [one[name] for one in found], "line" if name in BOUNDS else "dashed")
        for name in (*BOUNDS, *ATTACKERS)
    ]
    return Panel(title=words, x=words, y=CHANCE, curves=curves)


# Real people --------------------------------------------------------------------------------------

HORIZON = 5
"""The last steps are the trajectory that is attacked; the steps before train the chain."""

REAL_MISTAKES = 1
SMOOTHING = 0.001
"""Added to the count of every move: without it, rows of places never visited are undefined."""

DEVIATIONS = (0.3, 0.5, 1.0, 2.0, 4.0)

STYLES: dict[str, Style] = {
    "MAP attacker": "dashed",
    "prior attacker": "dots",  # often on the line of the MAP attacker
    "constant attacker": "dashed",
}

PEOPLE = """
    Exact: windows of 20 days, the 100 places visited most and "somewhere else", people seen in 10
    windows or more, chains fitted to all but the last 5 windows, a stationary start, s = 1 where
    not swept, equations (3) to (5) and Theorem 1.
    {people} people of {data} with {windows} windows ({bad} bad rows were skipped); the paper has
    9760 people and 27 windows for Foursquare, 318 and 32 for Gowalla.

    Differs: the paper does not say how a window with several places, or a place never left, is
    treated: the place visited most often stands for a window, and {added} is added to every
    count of moves.
    Random sensors are drawn with seed 0.
"""
ATTACKS = """
    Our bound is new. The paper's tight bound is above its loose one where a person has few places,
    as for simulated people (Figure 5).
    Attacks are on what people really did, so they may exceed bounds that hold for the fitted
    chains; the paper sees the same.
"""


@attrs.frozen(eq=False)
class Population:
    """The fitted chains of all people, what they really did, and the most visited place."""

    chains: Any
    past: tuple[tuple[Hashable, ...], ...]
    last: tuple[tuple[Hashable, ...], ...]
    busiest: Hashable
    account: str


def population(data: Path | None) -> Population:
    """Return the people of a file of check-ins."""
    if data is None:
        raise DataError(
            "this figure must have check-ins of your own; give --data with a Gowalla or Foursquare "
            "file."
        )
    rows = BadRows(skip=True)
    people = check_ins_as_published(formats()[format_of(data)].read(data, rows))
    if not people:
        raise DataError(f"{data.name} must have people seen in ten windows; got none.")
    past = tuple(person.states[:-HORIZON] for person in people)
    chains = priors.markov_chain.fit_each(
        past, smoothing=SMOOTHING, states=labels_of(people), steps=HORIZON
    )
    visits = Counter(state for states in past for state in states if state != ELSEWHERE)
    account = PEOPLE.format(
        people=len(people), data=data.name, windows=len(people[0]), bad=rows.count, added=SMOOTHING
    )
    last = tuple(person.states[-HORIZON:] for person in people)
    return Population(chains, past, last, visits.most_common(1)[0][0], account)


def figure_3(request: FigureRequest) -> Drawing:
    """Return each person's bound against how often they visit the one place that is watched."""
    everyone = population(request.data)
    often = [states.count(everyone.busiest) / len(states) for states in everyone.past]
    words = "frequency of visits to the watched place"
    return _scatter(everyone, words, often, mechanisms.sensor_counts(everyone.busiest), request)


def figure_4(request: FigureRequest) -> Drawing:
    """Return each person's bound against the spectral gap of their chain."""
    everyone = population(request.data)
    gaps = everyone.chains.spectral_gaps()
    return _scatter(everyone, "spectral gap", gaps, _drawn_sensors(), request)


def figure_6(request: FigureRequest) -> Drawing:
    """Return mean bounds and attacks against the steps that must be right."""
    everyone = population(request.data)
    scenarios = {right: (_drawn_sensors(), HORIZON - right) for right in range(1, HORIZON + 1)}
    curves = _mean_curves(everyone, scenarios, request)
    return _means("steps that must be right, of 5", curves, everyone)


def figure_8(request: FigureRequest) -> Drawing:
    """Return mean bounds and attacks against the noise."""
    everyone = population(request.data)
    scenarios = {sigma: (_drawn_sensors(sigma), REAL_MISTAKES) for sigma in DEVIATIONS}
    curves = _mean_curves(everyone, scenarios, request)
    for name, measure in BOUNDS.items():
        level = _losses(everyone, _drawn_sensors(), REAL_MISTAKES, measure, request).mean()
        curves.append(Curve(f"{name}, no noise", [0.0], [level], "level", name))
    return _means(SIGMA, curves, everyone, log="x")


def _means(
    words: str, curves: Sequence[Curve], everyone: Population, log: Literal["", "x"] = ""
) -> Drawing:
    panel = Panel(title="mean over people", x=words, y=CHANCE, curves=curves, log=log)
    return Drawing(panels=[panel], account=everyone.account + ATTACKS, columns=1)


def _mean_curves(
    everyone: Population, scenarios: Mapping[Any, tuple[Any, int]], request: FigureRequest
) -> list[Curve]:
    """Return every bound's mean over people, and the share of them that each attacker succeeds on.

    A scenario is a mechanism and a number of mistakes, at its place on the axis.
    """
    at, different = list(scenarios), {mechanism for mechanism, _ in scenarios.values()}
    found = {mechanism: _matches(everyone, mechanism) for mechanism in different}
    curves = []
    for name, measure in BOUNDS.items():
        losses = [_losses(everyone, *one, measure, request).mean() for one in scenarios.values()]
        curves.append(Curve(name, at, losses))
    for name, style in STYLES.items():
        shares = [
            np.mean(found[mechanism][name] >= HORIZON - mistakes)
            for mechanism, mistakes in scenarios.values()
        ]
        curves.append(Curve(name, at, shares, style))
    return curves


def _losses(
    everyone: Population, mechanism: Any, mistakes: int, measure: str, request: FigureRequest
) -> NDArray[np.float64]:
    """Return one measure of every person, in parallel."""
    secret, chosen = secrets.trajectory(mistakes=mistakes), getattr(measures, measure)()
    found = chosen.of_population(everyone.chains, secret, mechanism, processes=request.jobs)
    return np.asarray(found.values)


def _matches(everyone: Population, mechanism: Any) -> dict[str, NDArray[np.int64]]:
    """Return how many steps each attacker gets right of what each person really did."""
    rng, secret = np.random.default_rng(SEED), secrets.trajectory(mistakes=REAL_MISTAKES)
    guessers = {"MAP attacker": adversaries.map(), "prior attacker": adversaries.prior_mode()}
    hits: dict[str, list[int]] = {name: [] for name in guessers}
    for chain, truth in zip(everyone.chains, everyone.last, strict=True):
        channel = mechanism.protect(chain, secret).channel
        observed = channel.sample(truth, rng)
        for name, adversary in guessers.items():
            guess = adversary.infer(chain.belief(), channel, observed)
            hits[name].append(sum(a == b for a, b in zip(guess, truth, strict=True)))
    found = {name: np.array(counts) for name, counts in hits.items()}
    return {**found, "constant attacker": _best_constant(everyone)}


def _best_constant(everyone: Population) -> NDArray[np.int64]:
    """Return the matches of the one place that, always guessed, is right for most people.

    Of equals, the one right for most steps: which place it is must not depend on the run.
    """
    places = {place for states in everyone.last for place in states} - {ELSEWHERE}
    counts = [
        np.array([states.count(place) for states in everyone.last])
        for place in sorted(places, key=str)
    ]
    enough = HORIZON - REAL_MISTAKES
    return max(counts, key=lambda found: ((found >= enough).mean(), found.sum()))


def _scatter(
    everyone: Population, words: str, x: Sequence[float], mechanism: Any, request: FigureRequest
) -> Drawing:
    """Return every person's tight bound against something else of theirs."""
    y = _losses(everyone, mechanism, REAL_MISTAKES, "fano_tight", request)
    curve = Curve("person", x, y, "dots")
    panel = Panel(title="each person", x=words, y="tight bound on reconstruction", curves=[curve])
    correlation = float(np.corrcoef(np.asarray(x), y)[0, 1])
    account = f"{everyone.account}    The correlation over people is {correlation:.2f}.\n"
    return Drawing(panels=[panel], account=account, columns=1)
