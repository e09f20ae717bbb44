"""Mechanisms that always show something: a state at random, or a coarser one."""

from __future__ import annotations

import math
from collections.abc import Hashable

import numpy as np

from sfumato.beliefs import Markov
from sfumato.channels import Symbols
from sfumato.parameters import (
    LABEL_SET,
    LABELS,
    LIST_OF,
    OPTIONAL,
    POSITIVE,
    STOCHASTIC,
    UNIT,
    declare,
    parameter,
)
from sfumato.protocols import Mechanism, PriorClass, Quantity, Release, Secret
from sfumato.values import FloatArray, Labels

TRUE_STATES = Quantity(
    "expected number of states shown as they are", unit="states", worse="smaller"
)


@declare
class RandomisedResponse(Mechanism):
    """Show each state with probability $e^ε / (e^ε + M − 1)$, otherwise any other one, evenly.

    One step is ε-differentially private, a trace of T steps T·ε; what that protects of correlated
    states is for the measures to say.

    Reference: Warner (1965); Kairouz, Oh and Viswanath (2014), the M-ary form.

    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain(initial=[0.5, 0.5], transitions=[[1, 0], [0, 1]], steps=1)
    >>> mechanism = sf.mechanisms.randomised_response(epsilon=1.0986122886681098)
    >>> release = mechanism.protect(chain, sf.secrets.contexts({0}))
    >>> release.channel.probabilities.round(6).tolist(), round(release.utility(), 6)
    ([[[0.75, 0.25], [0.25, 0.75]]], 0.75)
    """

    name = "randomised_response"
    asks = ((Markov, object),)
    yields = Symbols
    strength = ("epsilon", "less")

    epsilon: float = parameter(POSITIVE, doc="log-ratio of a true and another state's chances")

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Toss the same coins at every time."""
        belief: Markov = next(prior.members()).belief()
        count = belief.state_count
        # e^ε / (e^ε + M − 1) and 1 / (e^ε + M − 1), which do not overflow in this form.
        rare = math.exp(-self.epsilon) / (1.0 + (count - 1) * math.exp(-self.epsilon))
        law = np.full((count, count), rare)
        np.fill_diagonal(law, 1.0 - (count - 1) * rare)
        laws = np.broadcast_to(law, (belief.steps, count, count))
        channel = Symbols(belief.states, belief.states, laws)
        return _release(self, prior, secret, channel)


@declare
class Generalise(Mechanism):
    """Show a group of states instead of the state: "somewhere in town" for home and work.

    Groups that share a state are one. A state in none is shown as it is, the others as the set of
    their group; nothing is drawn at random.

    Reference: Samarati and Sweeney (1998), generalisation.

    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain(
    ...     initial=[0.25, 0.25, 0.5], transitions=[[0, 0, 1]] * 3, steps=2, states=["a", "b", "c"]
    ... )
    >>> mechanism = sf.mechanisms.generalise(groups=[{"a", "b"}])
    >>> release = mechanism.protect(chain, sf.secrets.contexts({"a"}))
    >>> release.apply(["c", "c"]), release.utility()
    (('c', 'c'), 1.5)
    """

    name = "generalise"
    asks = ((Markov, object),)
    yields = Symbols

    groups: tuple[tuple[Hashable, ...], ...] = parameter(
        LIST_OF(LABEL_SET("M")), doc="sets of states that are shown as one"
    )

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Merge the groups, and show each state's."""
        belief: Markov = next(prior.members()).belief()
        unknown = [state for group in self.groups for state in group if state not in belief.states]
        if unknown:
            raise self.reject("groups", f"of states among {list(belief.states)}", unknown[0])
        shown = self._labels(belief.states)
        alphabet = tuple(dict.fromkeys(shown))
        law = np.array([[label == symbol for symbol in alphabet] for label in shown], dtype=float)
        laws = np.broadcast_to(law, (belief.steps, *law.shape))
        return _release(self, prior, secret, Symbols(belief.states, alphabet, laws))

    def _labels(self, states: Labels) -> Labels:
        """Return what is shown for each state."""
        merged: list[set[Hashable]] = []
        for group in map(set, self.groups):
            apart = [other for other in merged if not other & group]
            merged = [*apart, group.union(*(other for other in merged if other & group))]
        sets = {state: frozenset(group) for group in merged for state in group if len(group) > 1}
        return tuple(sets.get(state, state) for state in states)


@declare
class EmissionGiven(Mechanism):
    """Show symbols by an emission matrix from anywhere, such as another library's.

    $Pr[symbol y | state m] = (1 − blur) emission[m, y] + blur / Y$: each symbol is replaced by any,
    evenly, with probability `blur`, which is what calibration turns. More of it is the same done
    once more to what is released, so no loss grows with it.

    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain(initial=[0.5, 0.5], transitions=[[1, 0], [0, 1]], steps=1)
    >>> mechanism = sf.mechanisms.emission_given(emission=[[0.75, 0.25], [0.25, 0.75]], blur=0.5)
    >>> release = mechanism.protect(chain, sf.secrets.contexts({0}))
    >>> release.channel.probabilities.tolist(), release.utility()
    ([[[0.625, 0.375], [0.375, 0.625]]], 0.625)
    """

    name = "emission_given"
    asks = ((Markov, object),)
    yields = Symbols
    strength = ("blur", "more")

    emission: FloatArray = parameter(
        STOCHASTIC("M", "Y") | STOCHASTIC("T", "M", "Y"),
        doc="a law of symbols for each state, or for each time and state",
    )
    symbols: tuple[Hashable, ...] | None = parameter(
        OPTIONAL(LABELS("Y")), default=None, doc="what is shown; the states themselves by default"
    )
    blur: float = parameter(UNIT, default=0.0, doc="how often any symbol is shown instead")

    def check(self) -> None:
        """Refuse a blur that is too small for float64 to multiply."""
        if 0.0 < self.blur < 1e-30:
            raise self.reject("blur", "0, or at least 1e-30", self.blur)

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Emit by the same law at every time, or by the one given for it."""
        belief: Markov = next(prior.members()).belief()
        fits = (belief.steps, belief.state_count)[3 - self.emission.ndim :]
        if self.emission.shape[:-1] != fits:
            raise self.reject("emission", f"laws for {fits}, as the trace has it", self.emission)
        laws = np.broadcast_to(self.emission, (belief.steps, *self.emission.shape[-2:]))
        laws = (1.0 - self.blur) * laws + self.blur / laws.shape[-1]
        own = belief.states if laws.shape[-1] == belief.state_count else range(laws.shape[-1])
        symbols = tuple(own) if self.symbols is None else self.symbols
        return _release(self, prior, secret, Symbols(belief.states, symbols, laws))


def _release(mechanism: Mechanism, prior: PriorClass, secret: Secret, channel: Symbols) -> Release:
    """Return the release; over a class its utility is that of the least favourable member."""
    same = [[state == symbol for symbol in channel.alphabet] for state in channel.states]
    shown = (channel.probabilities * np.array(same)).sum(axis=2)  # as itself, (T, M)
    worst = prior.supremum(lambda member: -float((member.belief().marginals() * shown).sum()))
    return Release(mechanism, prior, secret, channel, -worst.value, TRUE_STATES)
