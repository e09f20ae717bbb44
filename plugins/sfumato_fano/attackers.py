"""Adversaries that answer with one guess of the whole trajectory."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from sfumato.beliefs import Markov
from sfumato.channels import Emission, NoisyVectors
from sfumato.errors import ParameterError
from sfumato.inference.markov.smoothing import forward_backward, viterbi
from sfumato.parameters import OPTIONAL, Label, declare, parameter
from sfumato.protocols import Adversary
from sfumato.values import FloatArray
from sfumato_fano.best_guess import count_mistakes
from sfumato_fano.marked_paths import MarkedPaths
from sfumato_fano.sightings import IntArray


class Guesser(Adversary):
    """An adversary whose answer is a trajectory; it works on many outputs at once.

    The author writes `guesses`, for a batch of outputs that are all different.
    """

    reads = ((Markov, Emission),)

    @abstractmethod
    def guesses(
        self, belief: Markov, channel: Emission, observed: Sequence[Any], mistakes: int | None
    ) -> IntArray:
        """Return guesses as positions, (B, T); `mistakes` is how many are allowed, if known."""

    def infer(self, belief: Markov, channel: Emission, observed: Any) -> tuple[Hashable, ...]:
        """Return the guessed labels."""
        self.require(belief, channel)
        _require_lengths(channel, [observed])
        channel.evidence(observed)  # even those who do not look refuse what is never released
        return belief.decode(self.guesses(belief, channel, [observed], None)[0])

    def infer_many(
        self,
        belief: Markov,
        channel: Emission,
        observed: Sequence[Any],
        mistakes: int | None = None,
    ) -> IntArray:
        """Return guesses as positions, (B, T); equal outputs are solved once."""
        self.require(belief, channel)
        _require_lengths(channel, observed)
        first, number = distinct_outputs(observed)
        return self.guesses(belief, channel, [observed[place] for place in first], mistakes)[number]


def _require_lengths(channel: Emission, observed: Sequence[Any]) -> None:
    """Raise unless every output has one symbol for each step."""
    for output in observed:
        length = len(output) if isinstance(output, (Sequence, np.ndarray)) else None
        if length != channel.steps:
            got = repr(output) if length is None else length
            raise ParameterError(f"observed must have {channel.steps} symbols; got {got}.")


def distinct_outputs(observed: Sequence[Any]) -> tuple[IntArray, IntArray]:
    """Return where each different output occurs first, and the number of every output.

    >>> [part.tolist() for part in distinct_outputs([(0, 1), (1, 1), (0, 1)])]
    [[0, 1], [0, 1, 0]]
    """
    numbers: dict[Hashable, int] = {}
    number = np.empty(len(observed), dtype=np.intp)
    for place, output in enumerate(observed):
        plain = isinstance(output, np.ndarray) and output.dtype != object
        key = output.tobytes() if plain else tuple(output)
        number[place] = numbers.setdefault(key, len(numbers))
    return np.unique(number, return_index=True)[1], number


@declare
class MaximumPosterior(Guesser):
    """The trajectory of largest posterior probability, by the Viterbi recursion.

    For noisy counts the ways between sensors are found once for all outputs. Optimal for guesses
    without mistakes; with mistakes allowed others can do better.

    Reference: Koga, Meehan and Chaudhuri (2024), section 3.2.2, the MAP estimator.

    >>> import sfumato as sf
    >>> from sfumato.channels import Symbols
    >>> belief = Markov([0.6, 0.4], [[0.5, 0.5], [0.5, 0.5]], steps=1)
    >>> channel = Symbols((0, 1), (0, 1), [[[1.0, 0.0], [0.0, 1.0]]])
    >>> sf.adversaries.map().infer(belief, channel, [1])
    (1,)
    """

    name = "map"
    promises = ("most probable trace",)

    def guesses(
        self, belief: Markov, channel: Emission, observed: Sequence[Any], mistakes: int | None
    ) -> IntArray:
        """Return the likeliest trajectory for each output."""
        del mistakes
        if isinstance(channel, NoisyVectors):
            marked = MarkedPaths.of(belief, channel)
            if marked.is_quick:
                return marked.best(observed)
        return viterbi(belief, channel.evidence_batch(observed))[0]


@declare
class MarginalMode(Guesser):
    """At each step the state of largest posterior probability, by smoothing.

    No guess has a larger expected number of matches, so it beats `map` when many mistakes are
    allowed; the guessed trajectory itself may be impossible.

    >>> import sfumato as sf
    >>> from sfumato.channels import Symbols
    >>> belief = Markov([0.4, 0.6], [[0.5, 0.5], [1.0, 0.0]], steps=2)
    >>> blind = Symbols((0, 1), ("nothing",), [[[1.0], [1.0]]] * 2)
    >>> sf.adversaries.marginal_mode().infer(belief, blind, ["nothing"] * 2)
    (1, 0)
    """

    name = "marginal_mode"

    def guesses(
        self, belief: Markov, channel: Emission, observed: Sequence[Any], mistakes: int | None
    ) -> IntArray:
        """Return the likeliest state of every step, for each output."""
        del mistakes
        smoothed = forward_backward(belief, channel.evidence_batch(observed))
        return np.asarray(smoothed.marginals.argmax(axis=-1), dtype=np.intp)


@declare
class PriorMode(Guesser):
    """The trajectory of largest prior probability, whatever was released.

    Its success is what the prior alone gives away.

    Reference: Koga, Meehan and Chaudhuri (2024), section 3.2.2, the maximum a priori estimator.

    >>> import sfumato as sf
    >>> from sfumato.channels import Symbols
    >>> belief = Markov([0.6, 0.4], [[0.5, 0.5], [0.5, 0.5]], steps=1)
    >>> channel = Symbols((0, 1), (0, 1), [[[1.0, 0.0], [0.0, 1.0]]])
    >>> sf.adversaries.prior_mode().infer(belief, channel, [1])
    (0,)
    """

    name = "prior_mode"

    def guesses(
        self, belief: Markov, channel: Emission, observed: Sequence[Any], mistakes: int | None
    ) -> IntArray:
        """Return the same trajectory for each output."""
        del channel, mistakes
        path, _ = viterbi(belief, np.zeros((belief.steps, belief.state_count)))
        return np.tile(path, (len(observed), 1))


@declare
class Constant(Guesser):
    """One and the same place at every step: a given one, or the best of all M.

    The best place has the largest chance to be right up to the allowed mistakes, computed from
    the prior. Where the mistakes are not known (in `infer`), it is the place with the largest
    expected number of matches.

    Reference: Koga, Meehan and Chaudhuri (2024), section 3.2.2, the lucky constant estimator.

    >>> import sfumato as sf
    >>> from sfumato.channels import Symbols
    >>> belief = Markov([0.6, 0.4], [[0.5, 0.5], [0.5, 0.5]], steps=2)
    >>> blind = Symbols((0, 1), ("nothing",), [[[1.0], [1.0]]] * 2)
    >>> sf.adversaries.constant().infer(belief, blind, ["nothing"] * 2)
    (0, 0)
    """

    name = "constant"

    place: Hashable = parameter(
        OPTIONAL(Label("M")), default=None, doc="the place; the best one by default"
    )

    def guesses(
        self, belief: Markov, channel: Emission, observed: Sequence[Any], mistakes: int | None
    ) -> IntArray:
        """Return the same place everywhere."""
        del channel
        if self.place is not None:
            if self.place not in belief.states:
                raise self.reject("place", f"among {list(belief.states)}", self.place)
            best = belief.index(self.place)
        elif mistakes is None:
            best = int(belief.marginals().sum(axis=0).argmax())
        else:
            best = int(staying_successes(belief, mistakes).argmax())
        return np.full((len(observed), belief.steps), best, dtype=np.intp)


def staying_successes(belief: Markov, mistakes: int) -> FloatArray:
    """Return Pr[X_t = l for all but at most `mistakes` times t], for every state l, (M,).

    >>> chain = Markov([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], steps=2)
    >>> staying_successes(chain, 0).tolist(), staying_successes(chain, 1).tolist()
    ([0.25, 0.25], [0.75, 0.75])
    """
    count = belief.state_count
    if mistakes >= belief.steps:
        return np.ones(count)
    law = np.zeros((count, mistakes + 1, count))  # (guessed place, mistakes so far, state)
    law[:, 0] = belief.initial
    law = count_mistakes(law, np.arange(count))
    for matrix in belief.transitions:
        law = count_mistakes(law @ matrix, np.arange(count))
    return np.asarray(np.minimum(law.sum(axis=(1, 2)), 1.0))
