"""The best possible chance to guess a whole trace, up to some mistakes, from a finite output."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs.markov import Markov
from sfumato.channels.emission import Emission
from sfumato.errors import OutsideHypotheses, ParameterError
from sfumato.inference.enumeration import DEFAULT_LIMIT, enumerate_outputs
from sfumato.inference.forward_backward import forward_backward, pair_marginals
from sfumato.inference.viterbi import viterbi
from sfumato.probabilities import FloatArray

IntArray = NDArray[np.intp]


def bayes_success(
    belief: Markov, channel: Emission, mistakes: int, limit: int = DEFAULT_LIMIT
) -> float:
    """Return Σ_o Pr[o] max over guesses g of Pr[Hamming(X, g) ≤ mistakes | o].

    Given an output, the trace is again a Markov chain. Guesses grow one state at a time; a law
    over (mistakes so far, state) tells the chance that a beginning is still within `mistakes`,
    which bounds what any continuation can reach. Beginnings that cannot beat the more successful
    of two complete guesses (most probable trace, most probable states) are dropped. A state
    of posterior probability zero need never be guessed: replacing it can only add matches.

    Parameters
    ----------
    belief, channel
        A chain and a finite emission.
    mistakes
        How many wrong states still count as success.
    limit
        How many outputs, and how many beginnings of guesses at once, before refusing.

    Raises
    ------
    OutsideHypotheses
        If there are more than `limit` outputs or beginnings.

    Examples
    --------
    >>> from sfumato.channels.symbols import Symbols
    >>> chain = Markov([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], steps=2)
    >>> blind = Symbols((0, 1), ("nothing",), np.ones((2, 2, 1)))
    >>> round(bayes_success(chain, blind, 0), 12), round(bayes_success(chain, blind, 1), 12)
    (0.25, 0.75)
    """
    if isinstance(mistakes, bool) or not isinstance(mistakes, (int, np.integer)) or mistakes < 0:
        raise ParameterError(f"mistakes must be a non-negative integer; got {mistakes!r}.")
    outputs = enumerate_outputs(belief, channel, limit)
    if mistakes >= belief.steps:
        return 1.0
    total = 0.0
    for part in outputs.parts(4_000_000 // belief.state_count):
        evidence = outputs.log_evidence(part)
        if mistakes == 0:
            total += float(np.exp(viterbi(belief, evidence)[1]).sum())
        else:
            best = _best_chances(belief, evidence, int(mistakes), limit)
            total += float(outputs.probabilities[part] @ best)
    return min(total, 1.0)


def _best_chances(belief: Markov, evidence: FloatArray, mistakes: int, limit: int) -> FloatArray:
    """Return max_g Pr[Hamming(X, g) ≤ mistakes | o] for each of B outputs."""
    marginals = forward_backward(belief, evidence).marginals
    moves = _posterior_moves(pair_marginals(belief, evidence), marginals)
    everyone = np.arange(len(evidence))
    best = np.zeros(len(evidence))
    for guesses in (viterbi(belief, evidence)[0], marginals.argmax(axis=-1)):
        law = _first_law(marginals[:, 0], mistakes)
        for time in range(belief.steps):
            law = law if time == 0 else law @ moves[:, time - 1]
            law = _judged(law, guesses[:, time])
        best = np.maximum(best, law.sum(axis=(1, 2)))
    owner, law = everyone, _first_law(marginals[:, 0], mistakes)
    for time in range(belief.steps):
        law = law if time == 0 else law @ moves[owner, time - 1]
        parents, states = np.nonzero(marginals[owner, time] > 0.0)
        if len(parents) > limit:
            raise OutsideHypotheses(
                f"exact success is searched over at most limit = {limit} beginnings of guesses; "
                f"there are {len(parents)} at step {time}, so take fewer steps or mistakes."
            )
        law = _judged(law[parents], states)
        owner = owner[parents]
        promising = law.sum(axis=(1, 2)) > best[owner]
        owner, law = owner[promising], law[promising]
    np.maximum.at(best, owner, law.sum(axis=(1, 2)))
    return best


def _posterior_moves(pairs: FloatArray, marginals: FloatArray) -> FloatArray:
    """Return Pr[X_{t+1} = j | X_t = i, o], zero where i is impossible."""
    before = marginals[:, :-1, :, None]
    return np.divide(pairs, before, out=np.zeros_like(pairs), where=before > 0.0)


def _first_law(marginal: FloatArray, mistakes: int) -> FloatArray:
    """Return the law over (mistakes so far, state) before the first guess is judged."""
    law = np.zeros((len(marginal), mistakes + 1, marginal.shape[1]))
    law[:, 0] = marginal
    return law


def _judged(law: FloatArray, guess: IntArray) -> FloatArray:
    """Count a mistake in every state but the guessed one; too many mistakes drop out."""
    rows = np.arange(len(law))
    judged = np.zeros_like(law)
    judged[:, 1:] = law[:, :-1]
    judged[rows, :, guess] = law[rows, :, guess]
    return judged
