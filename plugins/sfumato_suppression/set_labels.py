"""Protection against those who know a chain of set labels, who are weaker but can learn."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import attrs

from sfumato.beliefs import Markov
from sfumato.channels import RelabelledSuppression, Suppression
from sfumato.errors import OutsideHypotheses
from sfumato.labels import Labels
from sfumato.parameters import PLUGIN, declare, parameter
from sfumato.protocols import DeclaredMechanism, PriorClass, Release, Secret
from sfumato.questions import Events
from sfumato_suppression.label_sets import LABEL_SETS, SetLabel
from sfumato_suppression.set_label_secret import SetLabelSecret
from sfumato_suppression.suppressing_release import suppressing_release


@declare
class SetLabels(DeclaredMechanism):
    """Release set labels, with every state protected that may stand for a sensitive context.

    The adversary knows the chain, but of each state only a set of contexts, one of which is the
    true one. With μ the largest number of possible states that may stand for one sensitive
    context at one time, the inner mechanism protects each of them with δ/μ. For any beliefs
    q(s | a) about what state a stands for, the rise of Pr[X_t = s] is then

        Σ_a q(s | a) (Pr[a | o] − Pr[a]) ≤ μ · δ/μ = δ,

    as the output depends on the states only, and so tells nothing about q. That is why the
    labels, and not the contexts, must be released: a context would tell what its state stands
    for. A state whose set no other state has is shown as that set, otherwise as a pair of its
    number and the set. Sensitive contexts must be states of the chain; a label may name others,
    but those cannot be declared sensitive.

    Reference: Götz, Nath and Gehrke (2012), section 6 and theorem 7.

    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain(
    ...     initial=[0.5, 0.5], transitions=[[1, 0], [0, 1]], steps=1, states=["s", "x"]
    ... )
    >>> mechanism = sf.mechanisms.suppress_set_labels(
    ...     mechanism=sf.mechanisms.suppress_probabilistic(delta=0.25),
    ...     labels={"s": {"s", "y", "z"}},
    ... )
    >>> release = mechanism.protect(chain, sf.secrets.contexts({"s"}))
    >>> release.channel.shown[1], release.certificate["multiplicity"]
    (frozenset({'x'}), 1)
    """

    name = "suppress_set_labels"
    asks = ((Markov, Events),)
    yields = RelabelledSuppression

    mechanism: DeclaredMechanism = parameter(
        PLUGIN("mechanism"), doc="a suppression; its delta becomes delta over the multiplicity"
    )
    labels: tuple[SetLabel, ...] = parameter(
        LABEL_SETS, doc="the contexts that each state may stand for; unlisted states are known"
    )

    def check(self) -> None:
        """Require a suppression inside."""
        if self.mechanism.yields is not Suppression:
            raise self.reject("mechanism", "one that suppresses states", self.mechanism)

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Design the inner mechanism for the suspicious states, and relabel what it releases."""
        beliefs = [member.belief() for member in prior.members()]
        states = beliefs[0].states
        unknown = [state for state, _ in self.labels if state not in states]
        if unknown:
            raise self.reject("labels", f"about states among {list(states)}", unknown[0])
        if any(secret.question(belief).has_windows for belief in beliefs):
            raise OutsideHypotheses(
                f"{self.name} protects events of a single time; a window of times has no set label."
            )
        sets = {state: frozenset(contexts) for state, contexts in self.labels}
        suspicious = SetLabelSecret(secret, sets)
        multiplicity = max(suspicious.multiplicity(belief) for belief in beliefs)
        inner = self._inner(multiplicity).protect(prior, suspicious)
        channel = RelabelledSuppression(inner.channel, _shown(states, sets))
        claims = {**inner.claims, "multiplicity": multiplicity}
        return suppressing_release(self, prior, secret, channel, claims)

    def _inner(self, multiplicity: int) -> DeclaredMechanism:
        """Return the inner mechanism with δ/μ in place of δ, where it has a δ."""
        if not hasattr(self.mechanism, "delta"):
            return self.mechanism
        given: Any = self.mechanism  # some have a δ, others not
        stricter: DeclaredMechanism = attrs.evolve(given, delta=given.delta / multiplicity)
        return stricter


def _shown(states: Labels, sets: dict[Hashable, frozenset[Hashable]]) -> Labels:
    """Return what is shown for each state: its set, with its number where sets are shared."""
    labels = [sets.get(state, frozenset({state})) for state in states]
    return tuple(
        label if labels.count(label) == 1 else (number, label)
        for number, label in enumerate(labels)
    )
