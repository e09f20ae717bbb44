"""Which brute force computes a quantity."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sfumato.beliefs import Gaussian, Markov
from sfumato.channels import AdditiveGaussian, Emission, NoisyVectors, Symbols
from sfumato.laws.law import NotHere
from sfumato.laws.oracles import gaussian as odds
from sfumato.laws.oracles import gaussian as rational_gaussian
from sfumato.laws.oracles import markov as breaches
from sfumato.laws.oracles import markov as markov_tables
from sfumato.laws.oracles import markov as neighbours
from sfumato.laws.oracles.bracket import Bracket
from sfumato.laws.oracles.markov import in_cells, without_noise
from sfumato.questions import Displacements, Events, Guess

Parameters = Mapping[str, Any]
Oracle = Callable[[Any, Any, Any, Parameters], Bracket]
Situation = tuple[type, type, type]

_REAL = (Gaussian, Displacements, AdditiveGaussian)
_EVENTS = (Markov, Events, Emission)
_GUESS = (Markov, Guess, Emission)
_CHAIN = (Markov, object, Emission)


def _mean_of_odds(b: Any, q: Any, c: Any) -> Bracket:
    """Return ½ΔᵀMΔ, the Rényi divergence as if of order one."""
    return rational_gaussian.renyi(b, q, c, 1.0)


def _odds_gap(b: Any, q: Any, c: Any, p: Parameters) -> Bracket:
    """Return the quantile; it grows with the mean."""
    mean = _mean_of_odds(b, q, c)
    return Bracket(*(odds.log_odds_gap(end, float(p["delta"])) for end in (mean.low, mean.high)))


def _listed(of_table: Callable[[Any, Any, Any], float]) -> Oracle:
    """Return the oracle of a loss that a table of all outputs gives; real outputs bracket it."""

    def oracle(b: Any, q: Any, c: Any, _: Parameters) -> Bracket:
        if isinstance(c, NoisyVectors):
            return Bracket(of_table(b, q, in_cells(c)), of_table(b, q, without_noise(c)))
        return Bracket.of(of_table(b, q, c))

    return oracle


# quantity, then (belief, question, channel) -> brute force on the objects and the parameters
ORACLES: tuple[tuple[str, Situation, Oracle], ...] = (
    (
        "Rényi divergence",
        _REAL,
        lambda b, q, c, p: rational_gaussian.renyi(b, q, c, float(p["order"])),
    ),
    ("log-odds gap", _REAL, _odds_gap),
    ("expected log-odds gap", _REAL, lambda b, q, c, _: _mean_of_odds(b, q, c)),
    (
        "posterior interval",
        _REAL,
        lambda b, q, c, _: rational_gaussian.posterior_interval(b, q, c),
    ),
    (
        "mean squared error",
        (Gaussian, object, AdditiveGaussian),
        lambda _b, _q, c, _p: rational_gaussian.mean_squared_error(c),
    ),
    (
        "mutual information",
        (Gaussian, object, AdditiveGaussian),
        lambda b, _q, c, _p: rational_gaussian.mutual_information(b, c),
    ),
    ("mutual information", _CHAIN, _listed(markov_tables.mutual_information)),
    ("posterior gap", _EVENTS, _listed(markov_tables.posterior_gap)),
    ("reconstruction success", _GUESS, _listed(markov_tables.reconstruction)),
    (
        "breach rate",
        _EVENTS,
        lambda b, q, c, p: Bracket.of(
            breaches.breach_rate(
                belief=b,
                question=q,
                channel=c,
                traces=p["traces"],
                delta=float(p["delta"]),
                per=str(p["per"]),
            )
        ),
    ),
    *(
        (
            "differential privacy",
            (Markov, object, channel),
            lambda b, _q, c, p: Bracket.of(
                neighbours.differential_privacy(b, c, float(p["delta"]))
            ),
        )
        for channel in (NoisyVectors, Symbols)
    ),
    (
        "released fraction",
        _CHAIN,
        lambda b, _q, c, _p: Bracket.of(markov_tables.expected_releases(b, c) / b.steps),
    ),
    (
        "expected number of released states",
        _CHAIN,
        lambda b, _q, c, _p: Bracket.of(markov_tables.expected_releases(b, c)),
    ),
)


def brute_force(measure: Any, belief: Any, question: Any, channel: Any) -> Bracket:
    """Return what is known of the true value of the measure's quantity.

    A measure of a quantity of its own may bring its oracle: a method
    ``brute_force(belief, question, channel)``.
    """
    if hasattr(measure, "brute_force"):
        return Bracket.of(measure.brute_force(belief, question, channel))
    declared = {item.name: getattr(measure, item.name) for item in measure.parameters()}
    return true_value(measure.quantity, belief, question, channel, declared)


def true_value(
    quantity: Any, belief: Any, question: Any, channel: Any, declared: Parameters | None = None
) -> Bracket:
    """Return what is known of the true value of a quantity, if an oracle knows it."""
    given = (belief, question, channel)
    for name, types, oracle in ORACLES:
        if name == quantity.name and all(map(isinstance, given, types)):
            try:
                return oracle(*given, {**(declared or {}), **dict(quantity.parameters)})
            except KeyError as missing:
                raise NotHere(f"the oracle of '{name}' needs the parameter {missing}") from None
    raise NotHere(f"no oracle knows the quantity '{quantity.name}' here")
