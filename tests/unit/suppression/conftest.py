"""Random chains, and a brute force over all traces and outputs that knows nothing of segments."""

import itertools

import numpy as np
import pytest

import sfumato as sf


def _random_law(rng, count):
    weights = rng.integers(0, 5, count) * (rng.random(count) < 0.7)
    if weights.sum() == 0:
        weights[rng.integers(count)] = 1
    return weights / weights.sum()


def _random_chain(rng):
    """Zeros, unreachable and absorbing states, states certain beforehand, rare states."""
    steps, count = [(1, 4), (2, 4), (3, 3), (4, 3), (4, 2), (5, 2)][rng.integers(6)]
    matrices = np.array([[_random_law(rng, count) for _ in range(count)] for _ in range(steps)])
    if rng.random() < 0.3:
        matrices[:, 0] = np.eye(count)[0]
    if rng.random() < 0.3 and steps > 1:
        matrices[rng.integers(steps)] = np.eye(count)[rng.integers(count)]  # certain next
    if rng.random() < 0.2:
        rare = rng.random((steps, count, count)) ** 12
        matrices = rare / rare.sum(axis=2, keepdims=True)
    states = [f"state {k}" for k in range(count)]
    return sf.priors.markov_chain(
        initial=_random_law(rng, count),
        transitions=matrices[1:] if steps > 1 else matrices[0],
        steps=steps,
        states=states,
    )


def _random_secret(rng, chain):
    belief = chain.belief()
    size = rng.integers(1, max(2, belief.state_count))
    states = {belief.states[k] for k in rng.choice(belief.state_count, size, replace=False)}
    times = None
    if rng.random() < 0.3:
        times = sorted(rng.choice(belief.steps, rng.integers(1, belief.steps + 1), replace=False))
    return sf.secrets.contexts(states, times=times, together=bool(rng.random() < 0.3))


def _joint(belief, channel):
    """Pr[x, o] as traces (P, T) and a list of (output, weights over traces)."""
    steps, count = belief.steps, belief.state_count
    paths = np.array(list(itertools.product(range(count), repeat=steps)))
    hidden = np.array(list(itertools.product([False, True], repeat=steps)))
    path = np.repeat(paths, len(hidden), axis=0)
    hide = np.tile(hidden, (len(paths), 1))
    weight = belief.initial[path[:, 0]].copy()
    for t in range(steps - 1):
        weight *= belief.transitions[t][path[:, t], path[:, t + 1]]
    last_time = np.full(len(path), -1)
    last_state = np.zeros(len(path), dtype=int)
    for t in range(steps):
        chance = channel.start[t, path[:, t]]
        if channel.after is not None:
            later = channel.after[last_time, last_state, t, path[:, t]]
            chance = np.where(last_time >= 0, later, chance)
        weight *= np.where(hide[:, t], chance, 1.0 - chance)
        last_time = np.where(hide[:, t], last_time, t)
        last_state = np.where(hide[:, t], last_state, path[:, t])
    outputs = np.where(hide, count, path)
    keep = weight > 0
    return path[keep], outputs[keep], weight[keep]


def _brute_force_gap(belief, channel, question):
    """max over all outputs and events of Pr[A | o] − Pr[A], A = "in the mask at some time"."""
    path, outputs, weight = _joint(belief, channel)
    _, group = np.unique(outputs, axis=0, return_inverse=True)
    total = np.bincount(group.ravel(), weight)
    worst = -1.0
    for mask in question.masks:
        inside = mask[np.arange(belief.steps), path].any(axis=1)
        joint = np.bincount(group.ravel(), weight * inside, minlength=len(total))
        worst = max(worst, float((joint / total).max() - (weight * inside).sum()))
    return worst


@pytest.fixture
def random_chain():
    return _random_chain


@pytest.fixture
def random_secret():
    return _random_secret


@pytest.fixture
def joint():
    return _joint


@pytest.fixture
def brute_force_gap():
    return _brute_force_gap
