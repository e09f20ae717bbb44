"""What all outputs tell together about a trace that is seen now and then."""

from __future__ import annotations

import attrs
import numpy as np

from sfumato.inference.arrivals import arrivals
from sfumato.inference.entropies import entropies, entropy_terms, top_term
from sfumato.inference.rounded_information import RoundedInformation
from sfumato.inference.sightings import Sightings, Watch
from sfumato.probabilities import FloatArray


def sighted_information(sightings: Sightings) -> RoundedInformation:
    """Return I(X; Y) in nats.

    Pr[y] is the product over its segments (a, b) of w(a, b) = Pr[next sighting is b | last one
    was a], so H(Y) is the sum over a of v(a) times the entropy of the law w(a, ·), with v(a) the
    probability that a is seen at all, v(b) = Σ_a v(a) w(a, b). Where a state is seen by chance,
    H(Y | X) is the expected entropy of those choices. Exact; `Sightings.operations` says how long
    it takes, where listing all outputs takes 2^T. The w of one time are used as soon as they are
    known, and not kept. Rounding: each step of w and v adds up at most M and N terms, and a
    logarithm at most doubles what they lose.

    Examples
    --------
    >>> from sfumato.beliefs.markov import Markov
    >>> from sfumato.channels.symbols import Symbols
    >>> from sfumato.inference.sightings import sightings_of
    >>> chain = Markov([0.5, 0.5], np.full((2, 2), 0.5), steps=3)
    >>> seen = Symbols((0, 1), (0, 1), [[[1.0, 0.0], [0.0, 1.0]]] * 3)
    >>> float(round(sighted_information(sightings_of(chain, seen)).value / np.log(2), 12))
    3.0
    """
    visits = np.zeros(len(sightings))
    visits[0] = 1.0
    parts = [_told(sightings, watch, visits) for watch in sightings.watches()]
    gained, lost = np.sum(parts, axis=0)
    belief = sightings.belief
    operations = 4.0 * belief.steps * (belief.state_count + len(sightings) + 8)
    return RoundedInformation.up(float(gained), float(lost), operations)


def _told(sightings: Sightings, watch: Watch, visits: FloatArray) -> tuple[float, float]:
    """Return the segments' parts of H(Y) and H(Y | X), and add to `visits` where they lead."""
    chances = entropies(np.stack([watch.unseen, watch.seen], axis=-1))
    laws = _GrowingLaws.of(len(watch.starts))
    lost = 0.0
    for time, law in arrivals(sightings, watch):
        before = visits[watch.starts[: len(law)]]
        nodes = sightings.entering(time)
        places = sightings.states[nodes]
        weights = law[:, places] * watch.seen[time, places]
        visits[nodes] += before @ weights
        laws.add(weights)
        lost += float(before @ (law @ chances[time]))
    # Whoever was seen at the last step comes to the end for certain, which tells nothing more.
    laws.add((law @ watch.unseen[-1])[:, None])
    return float(visits[watch.starts] @ laws.entropies()), lost


@attrs.define(eq=False)
class _GrowingLaws:
    """Laws of which a few outcomes become known at a time; the largest of each is kept apart."""

    top: FloatArray
    rest: FloatArray
    terms: FloatArray

    @classmethod
    def of(cls, count: int) -> _GrowingLaws:
        return cls(np.zeros(count), np.zeros(count), np.zeros(count))

    def add(self, chances: FloatArray) -> None:
        """Add outcomes to the first laws, (S, K)."""
        rows = np.arange(len(chances))
        table = np.column_stack([self.top[rows], chances])
        largest = table.argmax(axis=1)
        self.top[rows] = table[rows, largest]
        table[rows, largest] = 0.0
        self.rest[rows] += table.sum(axis=1)
        self.terms[rows] += entropy_terms(table).sum(axis=1)

    def entropies(self) -> FloatArray:
        return np.asarray(self.terms + top_term(self.top, self.rest))
