"""Which states must be protected against someone who knows sets of labels only."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, ClassVar

import attrs
import numpy as np

from sfumato.beliefs import Markov
from sfumato.inference.reachable_states import reachable_states
from sfumato.protocols import Secret
from sfumato.questions import Events


@attrs.frozen
class SetLabelSecret:
    """Every state that may stand for a sensitive context, one event each.

    Parameters
    ----------
    secret
        The secret about contexts.
    labels
        The contexts that each state may stand for; a state that is not listed is known.
    """

    kind: ClassVar[str] = "secret"
    name: ClassVar[str] = "set_labels"
    yields: ClassVar[Mapping[type, type]] = {Markov: Events}

    secret: Secret
    labels: Mapping[Hashable, frozenset[Hashable]] = attrs.field(hash=False)

    def question(self, belief: Markov) -> Events:
        """Return one event for each suspicious state at each time of an event."""
        masks: dict[tuple[int, int], None] = {}
        for members, time in self._suspects(belief):
            masks.update(((int(time), int(state)), None) for state in members)
        array = np.zeros((len(masks), belief.steps, belief.state_count), dtype=bool)
        for number, place in enumerate(masks):
            array[number][place] = True
        return Events(array, tuple((belief.states[state], time) for time, state in masks))

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
