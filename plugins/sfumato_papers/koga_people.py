"""Reconstruction of real people from released counts, with one's own check-ins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.datasets import BadRows, labels_of
from sfumato.datasets.formats import format_of, formats
from sfumato.errors import DataError
from sfumato.figures import Curve, Drawing, FigureRequest, Panel
from sfumato.figures.figure import Style
from sfumato.plugin_registry import adversaries, measures, mechanisms, priors, secrets
from sfumato_papers.check_ins import ELSEWHERE, check_ins_as_published

HORIZON = 5
"""The last steps are the trajectory that is attacked; the steps before train the chain."""

MISTAKES = 1
SMOOTHING = 0.001
"""Added to the count of every move: without it, rows of places never visited are undefined."""

DEVIATIONS = (0.3, 0.5, 1.0, 2.0, 4.0)
BOUNDS = {"loose bound": "fano_loose", "tight bound": "fano_tight", "ours": "reconstruction"}

ATTACKERS: dict[str, Style] = {
    "MAP attacker": "dashed",
    "prior attacker": "dots",  # often on the line of the MAP attacker
    "constant attacker": "dashed",
}

ACCOUNT = """
    Exact: windows of 20 days, the 100 places visited most and "somewhere else", people seen in 10
    windows or more, chains fitted to all but the last 5 windows, a stationary start, s = 1 where
    not swept, equations (3) to (5) and Theorem 1.
    {people} people of {data} with {windows} windows ({bad} bad rows were skipped); the paper has
    9760 people and 27 windows for Foursquare, 318 and 32 for Gowalla.

    Differs: the paper does not say how a window with several places, or a place never left, is
    treated: the place visited most often stands for a window, and {smoothing} is added to every
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
    words = ACCOUNT.format(
        people=len(people),
        data=data.name,
        windows=len(people[0]),
        bad=rows.count,
        smoothing=SMOOTHING,
    )
    last = tuple(person.states[-HORIZON:] for person in people)
    return Population(chains, past, last, visits.most_common(1)[0][0], words)


def figure_3(request: FigureRequest) -> Drawing:
    """Return each person's bound against how often they visit the one place that is watched."""
    everyone = population(request.data)
    watched = mechanisms.sensor_counts(everyone.busiest)
    often = [states.count(everyone.busiest) / len(states) for states in everyone.past]
    bounds = _losses(everyone.chains, watched, "fano_tight", MISTAKES, request)
    return _scatter(everyone, "frequency of visits to the watched place", often, bounds)


def figure_4(request: FigureRequest) -> Drawing:
    """Return each person's bound against the spectral gap of their chain."""
    everyone = population(request.data)
    drawn = mechanisms.sensor_counts("drawn", seed=0)
    gaps = everyone.chains.spectral_gaps()
    bounds = _losses(everyone.chains, drawn, "fano_tight", MISTAKES, request)
    return _scatter(everyone, "spectral gap", gaps, bounds)


def figure_6(request: FigureRequest) -> Drawing:
    """Return mean bounds and attacks against the steps that must be right."""
    everyone = population(request.data)
    drawn = mechanisms.sensor_counts("drawn", seed=0)
    right = list(range(1, HORIZON + 1))
    curves = [
        Curve(
            name,
            right,
            [
                np.mean(_losses(everyone.chains, drawn, measure, HORIZON - steps, request))
                for steps in right
            ],
        )
        for name, measure in BOUNDS.items()
    ]
    matches = _matches(everyone, drawn)
    curves += [
        Curve(name, right, [np.mean(found >= steps) for steps in right], ATTACKERS[name])
        for name, found in matches.items()
    ]
    panel = Panel(
        title="mean over people",
        x="steps that must be right, of 5",
        y="chance of reconstruction",
        curves=curves,
    )
    return Drawing(panels=[panel], account=everyone.account + ATTACKS, columns=1)


def figure_8(request: FigureRequest) -> Drawing:
    """Return mean bounds and attacks against the noise."""
    everyone = population(request.data)
    noisy = [mechanisms.sensor_counts("drawn", noise=sigma, seed=0) for sigma in DEVIATIONS]
    raw = mechanisms.sensor_counts("drawn", seed=0)

    def mean(measure: str, mechanism: Any) -> float:
        return float(np.mean(_losses(everyone.chains, mechanism, measure, MISTAKES, request)))

    curves = []
    for name, measure in BOUNDS.items():
        curves.append(Curve(name, DEVIATIONS, [mean(measure, one) for one in noisy]))
        curves.append(Curve(f"{name}, no noise", [0.0], [mean(measure, raw)], "level", name))
    attacks = [_matches(everyone, mechanism) for mechanism in noisy]
    curves += [
        Curve(
            name,
            DEVIATIONS,
            [np.mean(found[name] >= HORIZON - MISTAKES) for found in attacks],
            ATTACKERS[name],
        )
        for name in attacks[0]
    ]
    panel = Panel(
        title="mean over people",
        x="noise standard deviation σ",
        y="chance of reconstruction",
        curves=curves,
        log="x",
    )
    return Drawing(panels=[panel], account=everyone.account + ATTACKS, columns=1)


def _losses(
    chains: Any, mechanism: Any, measure: str, mistakes: int, request: FigureRequest
) -> NDArray[np.float64]:
    """Return one measure of every person, in parallel."""
    chosen = getattr(measures, measure)()
    found = chosen.of_population(
        chains, secrets.trajectory(mistakes=mistakes), mechanism, processes=request.jobs
    )
    return np.asarray(found.values)


def _matches(everyone: Population, mechanism: Any) -> dict[str, NDArray[np.int64]]:
    """Return how many steps each attacker gets right of what each person really did."""
    rng = np.random.default_rng(0)
    guessers: dict[str, Callable[[Any, Any, Any], Sequence[Hashable]]] = {
        "MAP attacker": adversaries.map().infer,
        "prior attacker": adversaries.prior_mode().infer,
    }
    found: dict[str, list[int]] = {name: [] for name in guessers}
    for chain, truth in zip(everyone.chains, everyone.last, strict=True):
        channel = mechanism.protect(chain, secrets.trajectory(mistakes=MISTAKES)).channel
        belief = chain.belief()
        observed = channel.sample(truth, rng)
        for name, infer in guessers.items():
            guess = infer(belief, channel, observed)
            found[name].append(sum(a == b for a, b in zip(guess, truth, strict=True)))
    hits = {name: np.array(counts) for name, counts in found.items()}
    hits["constant attacker"] = _best_constant(everyone)
    return hits


def _best_constant(everyone: Population) -> NDArray[np.int64]:
    """Return the matches of the one place that, always guessed, is right for most people."""
    places = {place for states in everyone.last for place in states} - {ELSEWHERE}
    counts = {
        place: np.array([states.count(place) for states in everyone.last]) for place in places
    }
    return max(counts.values(), key=lambda found: (found >= HORIZON - MISTAKES).mean())


def _scatter(
    everyone: Population, words: str, x: Sequence[float], y: NDArray[np.float64]
) -> Drawing:
    panel = Panel(
        title="each person",
        x=words,
        y="tight bound on reconstruction",
        curves=[Curve("person", x, y, "dots")],
    )
    correlation = float(np.corrcoef(np.asarray(x), y)[0, 1])
    account = f"{everyone.account}    The correlation over people is {correlation:.2f}.\n"
    return Drawing(panels=[panel], account=account, columns=1)
