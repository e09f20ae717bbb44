"""Budgets for every step that keep the temporal leakage of all times at a target."""

from __future__ import annotations

import math

import numpy as np

from sfumato.beliefs import Markov
from sfumato.channels import Symbols
from sfumato.errors import OutsideHypotheses
from sfumato.matrices.matrix import ROUNDOFF
from sfumato.parameters import POSITIVE, declare, parameter
from sfumato.protocols import Mechanism, PriorClass, Quantity, Release, Secret
from sfumato.questions import Events
from sfumato.values import FloatArray
from sfumato_temporal.leakage import backward_matrices, leakages, supremum

MOST = 300.0
"""An inner budget hides nothing from here on, and e to its power is still a number."""

TRUE_STATES = Quantity(
    "expected number of states shown as they are", unit="states", worse="smaller"
)


def allocate(belief: Markov, leakage: float) -> FloatArray:
    """Return ε_t for every step, such that the total leakage of no time exceeds the target.

    In a stationary chain it is the target at every time: with levels β backwards and φ forwards of
    one inner budget ε = β − L_B(β) = φ − L_F(φ) and β + φ − ε the target, the first step gets β,
    the last φ and all others ε. Elsewhere every step gets as much as the worst time allows.

    Reference: Cao, Yoshikawa, Xiao and Xiong (2018), algorithm for a finite horizon.
    """
    budgets = np.full(belief.steps, leakage)
    if belief.steps > 2 and belief.is_stationary():
        levels = _levels(belief, leakage)
        # Of classes that are never left every step tells anew: no inner budget keeps a level.
        budgets = levels if levels.any() else budgets
    low, high = 0.0, 1.0
    if _keeps(belief, budgets, leakage):
        return budgets
    for _ in range(52):
        middle = (low + high) / 2.0
        kept = _keeps(belief, middle * budgets, leakage)
        low, high = (middle, high) if kept else (low, middle)
    return low * budgets


def _keeps(belief: Markov, budgets: FloatArray, leakage: float) -> bool:
    # The laws that are made of the budgets are rounded, and so are their logarithms.
    room = 1e-11 * leakage + 16 * ROUNDOFF * belief.steps * (1.0 + math.log(belief.state_count))
    return float(leakages(belief, budgets)["total"].max()) <= leakage - room


def _levels(belief: Markov, leakage: float) -> FloatArray:
    """Return the budgets of two levels, by bisection of the inner budget that they belong to."""
    matrices = backward_matrices(belief)[0], belief.matrix(0)
    low, high, ends = 0.0, min(leakage, MOST), [0.0, 0.0]
    for _ in range(52):
        inner = (low + high) / 2.0
        levels = [supremum(matrix, inner) for matrix in matrices]
        if sum(levels) - inner <= leakage:
            low, ends = inner, levels
        else:
            high = inner
    budgets = np.full(belief.steps, low)
    budgets[[0, -1]] = ends
    return budgets


@declare
class TemporalResponse(Mechanism):
    """Randomised response whose budget at each step keeps the temporal leakage at a target.

    Each step shows the state with chance $e^{ε_t} / (e^{ε_t} + M − 1)$, or any other, evenly,
    with the budgets of `allocate`; over a class each step has the smallest of its members' budgets.

    Reference: Cao, Yoshikawa, Xiao and Xiong (2018).

    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain("stationary", [[0.8, 0.2], [0.2, 0.8]], steps=5)
    >>> secret = sf.secrets.every_point()
    >>> release = sf.mechanisms.temporal_response(epsilon=1.0).protect(chain, secret)
    >>> round(sf.measures.temporal_leakage().loss(chain, secret, release).value, 9)
    1.0
    """

    name = "temporal_response"
    asks = ((Markov, Events),)  # of single times: several of them together lose more
    yields = Symbols
    promises = (("epsilon", "temporal_leakage"),)

    epsilon: float = parameter(POSITIVE, doc="the largest total leakage of any time")

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Allocate the budgets and toss the coins."""
        if not prior.finite:
            raise OutsideHypotheses("budgets are for the members of a class: give them by AnyOf.")
        beliefs = [member.belief() for member in prior.members()]
        if secret.question(beliefs[0]).has_windows:
            raise OutsideHypotheses("the budgets are for single times: a window loses more.")
        # Beyond e^700 a chance would round to none, which tells more.
        each = [allocate(belief, self.epsilon) for belief in beliefs]
        budgets = np.min(each, axis=0).clip(max=700.0)
        count = beliefs[0].state_count
        laws = np.empty((len(budgets), count, count))
        for law, epsilon in zip(laws, budgets, strict=True):
            total = 1.0 + (count - 1) * math.exp(-epsilon)
            law[:] = math.exp(-epsilon) / total
            np.fill_diagonal(law, 1.0 / total)
        shown = laws[:, range(count), range(count)]
        worst = prior.supremum(lambda member: -float((member.belief().marginals() * shown).sum()))
        channel = Symbols(beliefs[0].states, beliefs[0].states, laws)
        claims = {"budgets": budgets.tolist()}
        return Release(self, prior, secret, channel, -worst.value, TRUE_STATES, claims)
