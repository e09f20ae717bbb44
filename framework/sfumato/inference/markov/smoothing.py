"""What an output tells about each state of a Markov chain: smoothing."""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.beliefs import Markov
from sfumato.errors import ImpossibleObservation, ParameterError
from sfumato.inference.markov.probabilities import (
    SMALL,
    is_risky,
    log_of,
    log_product,
    log_sum,
    max_products,
    row_maxima,
)
from sfumato.values import FloatArray

TINY = float(np.finfo(np.float64).tiny)


@attrs.frozen(eq=False)
class Smoothed:
    """Pr[X_t = m | o], (..., T, M), an exact zero being impossible, and log Pr[o] (a density)."""

    marginals: FloatArray
    log_probability: FloatArray


@attrs.frozen(eq=False)
class _Messages:
    """Logarithms of the forward and backward messages, (B, k, M), each row scaled at will."""

    forward: FloatArray
    backward: FloatArray
    log_probability: FloatArray


def forward_backward(belief: Markov, log_evidence: FloatArray) -> Smoothed:
    """Return Pr[X_t | o] and log Pr[o] for one output or a batch of them.

    α_t(m) = e_t(m) Σ_k α_{t−1}(k) P_t(k, m) and β_t(k) = Σ_m P_{t+1}(k, m) e_{t+1}(m) β_{t+1}(m)
    give Pr[X_t = m | o] ∝ α_t(m) β_t(m), with e_t the evidence. Each message is scaled to sum to
    one. Where a positive factor below 1e-100 could underflow, that output is
    done again with logarithms, so a zero in the answer is a zero of the mathematics.

    The evidence is as an emission gives it, (..., k, M) with k ≤ T: the posterior is then of the
    first k states. An output of probability zero is an `ImpossibleObservation`.

    >>> import numpy as np
    >>> from sfumato.beliefs import Markov
    >>> from sfumato.inference.markov.smoothing import forward_backward
    >>> chain = Markov([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], steps=2)
    >>> smoothed = forward_backward(chain, np.log([[1.0, 0.5], [0.5, 1.0]]))
    >>> smoothed.marginals.round(3).tolist()
    [[0.537, 0.463], [0.463, 0.537]]
    """
    messages = _messages(belief, _checked_evidence(belief, log_evidence))
    joint = messages.forward + messages.backward
    marginals = np.exp(joint - log_sum(joint)[..., None])
    shape = np.shape(log_evidence)
    return Smoothed(marginals.reshape(shape), messages.log_probability.reshape(shape[:-2]))


def pair_marginals(belief: Markov, log_evidence: FloatArray) -> FloatArray:
    """Return Pr[X_t = i, X_{t+1} = j | o] as (..., k − 1, M, M)."""
    batch = _checked_evidence(belief, log_evidence)
    messages = _messages(belief, batch)
    later = batch[:, 1:] + messages.backward[:, 1:]
    size, length, count = batch.shape
    pairs = np.empty((size, length - 1, count, count))
    for time, log_matrix in enumerate(belief.log_transitions[: length - 1]):
        joint = messages.forward[:, time, :, None] + log_matrix + later[:, time, None, :]
        flat = joint.reshape(size, -1)
        pairs[:, time] = np.exp(flat - log_sum(flat)[:, None]).reshape(joint.shape)
    return pairs.reshape(*np.shape(log_evidence)[:-2], length - 1, count, count)


def _checked_evidence(belief: Markov, log_evidence: FloatArray) -> FloatArray:
    """Return the evidence as (B, k, M), with nothing that is not a log-likelihood."""
    shape = np.shape(log_evidence)
    if len(shape) < 2 or shape[-1] != belief.state_count or not 1 <= shape[-2] <= belief.steps:
        raise ParameterError(
            f"log_evidence must have shape (..., k, {belief.state_count}) with "
            f"1 <= k <= {belief.steps}; got {shape}."
        )
    batch = np.asarray(log_evidence, dtype=np.float64).reshape(-1, *shape[-2:])
    if not (batch < np.inf).all():  # NaN is not below infinity either
        raise ParameterError("log_evidence must be below infinity and not NaN.")
    return batch


def _messages(belief: Markov, batch: FloatArray) -> _Messages:
    """Run the fast passes, and the careful ones for the outputs that need them."""
    messages, risky = _scaled_messages(belief, batch)
    if risky.any():
        careful = _careful_messages(belief, batch[risky])
        messages.forward[risky] = careful.forward
        messages.backward[risky] = careful.backward
        messages.log_probability[risky] = careful.log_probability
    _refuse_impossible(np.asarray((messages.forward > -np.inf).any(axis=-1)))
    return messages


def _scaled_messages(belief: Markov, batch: FloatArray) -> tuple[_Messages, NDArray[np.bool_]]:
    """Return messages of ordinary numbers, and which outputs may have lost something.

    If initial law, transitions, evidence (largest entry one) and messages (sum one) have no
    positive entry below 1e-100, then no product of three of them underflows.
    """
    transitions = belief.transitions
    shift = row_maxima(batch)
    evidence = np.exp(batch - shift)
    forward, backward, scales = np.zeros_like(batch), np.zeros_like(batch), np.zeros_like(shift)
    message = np.broadcast_to(belief.initial, evidence[:, 0].shape)
    for time in range(batch.shape[1]):
        if time > 0:
            message = message @ transitions[time - 1]
        message = message * evidence[:, time]
        total = message.sum(axis=-1, keepdims=True)
        message /= np.maximum(total, TINY)  # 0 / TINY: an impossible output stays at zero
        scales[:, time], forward[:, time] = total, message
    message = np.ones_like(evidence[:, 0])
    backward[:, -1] = message
    for time in range(batch.shape[1] - 2, -1, -1):
        message = (message * evidence[:, time + 1]) @ transitions[time].T
        message /= np.maximum(message.sum(axis=-1, keepdims=True), TINY)
        backward[:, time] = message
    risky = is_risky(batch - shift).any(axis=-1) | (belief.smallest_probability < SMALL)
    forward, backward = log_of(forward), log_of(backward)
    risky |= is_risky(forward).any(axis=-1) | is_risky(backward).any(axis=-1)
    log_probability = (log_of(scales) + shift).sum(axis=(1, 2))
    return _Messages(forward, backward, log_probability), np.asarray(risky)


def _careful_messages(belief: Markov, batch: FloatArray) -> _Messages:
    """Return messages computed as logarithms throughout."""
    smallest = belief.smallest_probability
    forward, backward, scales = np.zeros_like(batch), np.zeros_like(batch), np.zeros(len(batch))
    message = np.broadcast_to(log_of(belief.initial), batch[:, 0].shape)
    for time in range(batch.shape[1]):
        if time > 0:
            message = log_product(message, belief.transitions[time - 1], smallest)
        message = message + batch[:, time]
        scale = row_maxima(message)
        message = message - scale
        scales += scale[:, 0]
        forward[:, time] = message
    message = backward[:, -1]
    for time in range(batch.shape[1] - 2, -1, -1):
        later = message + batch[:, time + 1]
        message = log_product(later, belief.transitions[time].T, smallest)
        message = message - row_maxima(message)
        backward[:, time] = message
    return _Messages(forward, backward, scales + log_sum(forward[:, -1]))


def _refuse_impossible(possible: NDArray[np.bool_]) -> None:
    """Raise for the first output, a row, with a step after which no state is possible."""
    for output in np.flatnonzero(~possible.all(axis=-1)):
        raise ImpossibleObservation(
            f"output {output} has probability zero: its symbol at step "
            f"{int(np.argmin(possible[output]))} (both counted from 0) cannot follow the ones "
            "before it."
        )


_ENTRIES = 4_000_000
"""How many scores are held at once."""


def viterbi(belief: Markov, log_evidence: FloatArray) -> tuple[NDArray[np.intp], FloatArray]:
    """Return argmax_x Pr[x, o] as positions, (..., k), and the log of that maximum, (...).

    δ_t(m) = e_t(m) max_k δ_{t−1}(k) P_t(k, m), followed back from the best last state. Ties go to
    the smallest position, from the last state backwards.
    An output of probability zero is an `ImpossibleObservation`.

    >>> import numpy as np
    >>> from sfumato.beliefs import Markov
    >>> from sfumato.inference.markov.smoothing import viterbi
    >>> chain = Markov([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], steps=3)
    >>> path, log_probability = viterbi(chain, np.log([[0.5, 0.5], [0.5, 0.5], [0.2, 0.8]]))
    >>> path.tolist(), float(np.exp(log_probability).round(4))
    ([1, 1, 1], 0.081)
    """
    batch = _checked_evidence(belief, log_evidence)
    size, length, count = batch.shape
    paths = np.empty((size, length), dtype=np.intp)
    best = np.empty(size)
    stride = max(1, _ENTRIES // (length * count))
    for begin in range(0, size, stride):
        part = slice(begin, begin + stride)
        paths[part], best[part] = _best_paths(belief, batch[part])
    shape = np.shape(log_evidence)
    return paths.reshape(shape[:-1]), best.reshape(shape[:-2])


def _best_paths(belief: Markov, batch: FloatArray) -> tuple[NDArray[np.intp], FloatArray]:
    """Carry the best scores forward; where each came from is asked along the best path only."""
    size, length, _ = batch.shape
    log_matrices = belief.log_transitions[: length - 1]
    scores = np.empty((length, *batch[:, 0].shape))
    scores[0] = log_of(belief.initial) + batch[:, 0]
    for time, log_matrix in enumerate(log_matrices):
        scores[time + 1] = max_products(scores[time], log_matrix, "log") + batch[:, time + 1]
    _refuse_impossible(np.asarray((scores > -np.inf).any(axis=-1)).T)
    paths = np.empty((size, length), dtype=np.intp)
    paths[:, -1] = scores[-1].argmax(axis=-1)
    for time in range(length - 1, 0, -1):
        arrivals = scores[time - 1] + log_matrices[time - 1][:, paths[:, time]].T
        paths[:, time - 1] = arrivals.argmax(axis=-1)
    return paths, scores[-1, np.arange(size), paths[:, -1]]
