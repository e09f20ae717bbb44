"""Which brute force computes a quantity."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sfumato.beliefs import Gaussian, Markov
from sfumato.channels import AdditiveGaussian, Emission
from sfumato.laws.oracles import markov_tables, rational_gaussian
from sfumato.laws.violation import NotHere
from sfumato.questions import Displacements, Events, Guess

Oracle = Callable[[Any, Any, Any, dict[str, Any]], float]

# (quantity, belief, question, channel) -> brute force on the objects and the quantity's parameters
ORACLES: dict[tuple[str, type, type, type], Oracle] = {
    ("Rényi divergence", Gaussian, Displacements, AdditiveGaussian): lambda b, q, c, p: (
        rational_gaussian.renyi(b, q, c, float(p["order"]))
    ),
    ("posterior interval", Gaussian, Displacements, AdditiveGaussian): lambda b, q, c, _: (
        rational_gaussian.posterior_interval(b, q, c)
    ),
    ("mean squared error", Gaussian, object, AdditiveGaussian): lambda _b, _q, c, _p: (
        rational_gaussian.mean_squared_error(c)
    ),
    ("posterior gap", Markov, Events, Emission): lambda b, q, c, _: markov_tables.posterior_gap(
        b, q, c
    ),
    ("reconstruction success", Markov, Guess, Emission): lambda b, q, c, _: (
        markov_tables.reconstruction(b, q, c)
    ),
    ("mutual information", Markov, object, Emission): lambda b, _q, c, _p: (
        markov_tables.mutual_information(b, c)
    ),
    ("released fraction", Markov, object, Emission): lambda b, _q, c, _p: (
        markov_tables.expected_releases(b, c) / b.steps
    ),
    ("expected number of released states", Markov, object, Emission): lambda b, _q, c, _p: (
        markov_tables.expected_releases(b, c)
    ),
}


def brute_force(measure: Any, belief: Any, question: Any, channel: Any) -> float:
    """Return the true value of the measure's quantity.

    A measure of a quantity of its own may bring its oracle: a method
    ``brute_force(belief, question, channel)``.
    """
    if hasattr(measure, "brute_force"):
        return float(measure.brute_force(belief, question, channel))
    return true_value(measure.quantity, belief, question, channel)


def true_value(quantity: Any, belief: Any, question: Any, channel: Any) -> float:
    """Return the true value of a quantity, if an oracle knows it."""
    for (name, *types), oracle in ORACLES.items():
        given = (belief, question, channel)
        if name == quantity.name and all(map(isinstance, given, types)):
            return oracle(*given, dict(quantity.parameters))
    raise NotHere(f"no oracle knows the quantity '{quantity.name}' here")
