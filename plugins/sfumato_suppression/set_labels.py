"""Protection against those who know a chain of set labels, who are weaker but can learn."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import attrs
import numpy as np

from sfumato.beliefs import Markov
from sfumato.channels import Suppression
from sfumato.errors import OutsideHypotheses
from sfumato.inference.markov.probabilities import reachable_states
from sfumato.parameters import LABEL_SET, PLUGIN, Domain, Label, Rejected, Sizes, declare, parameter
from sfumato.protocols import Mechanism, PriorClass, Release, Secret
from sfumato.questions import Events
from sfumato.questions.events import Masks
from sfumato.values import Labels
from sfumato_suppression.release import suppressing_release

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


SetLabel = tuple[Hashable, tuple[Hashable, ...]]


@attrs.frozen
class LabelSets(Domain):
    """A mapping from states to sets of contexts, or a list of (state, contexts) pairs.

    Kept as a tuple of pairs, in a fixed order.

    >>> from sfumato.domains import Sizes
    >>> from sfumato_suppression.set_labels import LABEL_SETS
    >>> LABEL_SETS.convert({"s": {"y", "s"}}, Sizes())
    (('s', ('s', 'y')),)
    """

    @property
    def sentence(self) -> str:
        """Return the form of the mapping."""
        return "a mapping from states to non-empty sets of contexts that hold the state itself"

    def convert(self, value: Any, sizes: Sizes) -> tuple[SetLabel, ...]:
        """Return the pairs; every set must hold its own state."""
        sets: dict[Hashable, tuple[Hashable, ...]] = {}
        try:
            for state, contexts in value.items() if isinstance(value, Mapping) else value:
                kept, label = (
                    LABEL_SET("M").convert(contexts, Sizes()),
                    Label().convert(state, sizes),
                )
                if label not in kept or label in sets:
                    raise Rejected(self.sentence)
                sets[label] = tuple(sorted(kept, key=repr))
        except (TypeError, ValueError):  # not pairs
            raise Rejected(self.sentence) from None
        return tuple(sorted(sets.items(), key=repr))

    def plain(self, value: Any) -> Any:
        """Write a list of pairs."""
        return [[state, list(contexts)] for state, contexts in value]

    def strategy(self, sizes: Mapping[str, int]) -> SearchStrategy[Any]:
        """Draw sets for the default labels 0, 1, ...: each state, and perhaps another."""
        from hypothesis import strategies as st

        count = sizes.get("M", 3)
        states = st.integers(0, count - 1)
        return st.dictionaries(states, states, max_size=count).map(
            lambda others: {state: {state, other} for state, other in others.items()}
        )


LABEL_SETS = LabelSets()


@attrs.frozen(eq=False, repr=False)
class SuspectStates(Secret[Markov, Events]):
    """Every state that may stand for a sensitive context, one event each.

    `labels` are the contexts that each state may stand for; one that is not listed is known.
    """

    name: ClassVar[str] = "set_labels"
    yields: ClassVar[Mapping[type, type]] = {Markov: Events}

    secret: Secret
    labels: Mapping[Hashable, frozenset[Hashable]]

    def question(self, belief: Markov) -> Events:
        """Return one event for each suspicious state at each time of an event."""
        suspects = self._suspects(belief)
        found = dict.fromkeys((time, s) for states, time in suspects for s in states.tolist())
        times, states = np.array(list(found), dtype=np.intp).reshape(-1, 2).T
        rows = np.eye(belief.state_count, dtype=bool)[states]
        names = tuple((belief.states[state], time) for time, state in found)
        return Events(Masks.single(times, rows, belief.steps), names)

    def multiplicity(self, belief: Markov) -> int:
        """Return μ, the largest number of possible states that may stand for one event."""
        possible = reachable_states(belief)
        return max(1, *(int(possible[t, members].sum()) for members, t in self._suspects(belief)))

    def _suspects(self, belief: Markov) -> list[tuple[np.ndarray, int]]:
        """Return, for each event, the states whose labels meet it, and its time."""
        question: Events = self.secret.question(belief)
        found = []
        for mask, time in zip(question.masks, question.times, strict=True):
            contexts = {belief.states[state] for state in np.flatnonzero(mask[time])}
            labels = (self.labels.get(state, frozenset({state})) for state in belief.states)
            found.append((np.flatnonzero([bool(label & contexts) for label in labels]), int(time)))
        return found

    def specification(self) -> dict[str, Any]:
        """Return the secret that it was made from."""
        return self.secret.specification()


@declare
class SetLabels(Mechanism):
    """Release set labels, with every state protected that may stand for a sensitive context.

    The adversary knows the chain, but of each state only a set of contexts, one of which is the
    true one. With μ the largest number of possible states that may stand for one sensitive
    context at one time, the inner mechanism protects each of them with δ/μ. For any beliefs
    $q(s | a)$ about what state a stands for, the rise of $Pr[X_t = s]$ is then

    $∑_a q(s | a) (Pr[a | o] − Pr[a]) ≤ μ · δ/μ = δ$,

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
    yields = Suppression

    mechanism: Mechanism = parameter(
        PLUGIN("mechanism", Suppression),
        doc="a suppression; the gap that it promises is divided by the multiplicity",
    )
    labels: tuple[SetLabel, ...] = parameter(
        LABEL_SETS, doc="the contexts that each state may stand for; unlisted states are known"
    )

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Design the inner mechanism for the suspicious states, and relabel what it releases."""
        if isinstance(self.mechanism, SetLabels):
            raise self.reject("mechanism", "one that shows states as they are", self.mechanism)
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
        suspicious = SuspectStates(secret, sets)
        multiplicity = max(suspicious.multiplicity(belief) for belief in beliefs)
        stricter: Any = self.mechanism
        for named, measure in stricter.promises:
            if measure == "posterior_gap":
                promised = getattr(stricter, named) / multiplicity
                stricter = attrs.evolve(stricter, **{named: promised})
        inner = stricter.protect(prior, suspicious)
        decides, shown = inner.channel, _labels_to_show(states, sets)
        channel = Suppression(states, decides.start, decides.after, shown=shown)
        claims = {**inner.claims, "multiplicity": multiplicity}
        return suppressing_release(self, prior, secret, channel, claims)


def _labels_to_show(states: Labels, sets: dict[Hashable, frozenset[Hashable]]) -> Labels:
    """Return what is shown for each state: its set, with its number where sets are shared."""
    labels = [sets.get(state, frozenset({state})) for state in states]
    return tuple(
        label if labels.count(label) == 1 else (number, label)
        for number, label in enumerate(labels)
    )
