"""Brute force over all trajectories and outputs: the oracle of this world."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import sfumato as sf


class Game:
    """A chain and its sensors as plain numbers; everything is summed over every trajectory."""

    def __init__(self, initial, matrices, sensors):
        self.initial, self.matrices, self.sensors = initial, matrices, sensors
        self.steps, self.states = len(matrices) + 1, len(initial)
        self.paths = {}
        for path in itertools.product(range(self.states), repeat=self.steps):
            p = initial[path[0]]
            for t, matrix in enumerate(matrices):
                p *= matrix[path[t]][path[t + 1]]
            if p > 0:
                self.paths[path] = p

    def means(self, t, state):
        return tuple(float(state == place) for place in self.sensors[t])

    def joint(self):
        """Return Pr[x, y] of raw counts as {y: {x: p}}."""
        table = {}
        for path, p in self.paths.items():
            y = tuple(self.means(t, x) for t, x in enumerate(path))
            table.setdefault(y, {})[path] = p
        return table

    def success(self, mistakes):
        """Return the success of the best guesser of raw counts, over all M^T guesses."""
        return sum(self.best(posterior, mistakes) for posterior in self.joint().values())

    def best(self, weights, mistakes):
        guesses = itertools.product(range(self.states), repeat=self.steps)
        return max(self.hit(weights, guess, mistakes) for guess in guesses)

    def hit(self, weights, guess, mistakes):
        return sum(
            p
            for path, p in weights.items()
            if sum(a != b for a, b in zip(path, guess, strict=True)) <= mistakes
        )

    def entropy(self):
        return -sum(p * math.log(p) for p in self.paths.values())

    def information(self):
        outputs = {y: sum(v.values()) for y, v in self.joint().items()}
        return sum(
            p * math.log(1.0 / outputs[y]) for y, v in self.joint().items() for p in v.values()
        )

    def prior(self):
        if self.steps == 1:
            return sf.priors.markov_chain(self.initial, np.eye(self.states), 1)
        return sf.priors.markov_chain(self.initial, np.array(self.matrices), self.steps)

    def mechanism(self, noise=None):
        return sf.mechanisms.sensor_counts([list(here) for here in self.sensors], noise=noise)

    def scenario(self, mistakes, noise=None):
        prior, secret = self.prior(), sf.secrets.trajectory(mistakes)
        return prior, secret, self.mechanism(noise).protect(prior, secret)


def random_game(seed, states=None, steps=None, sensors=None):
    rng = np.random.default_rng(seed)
    states = states or int(rng.integers(2, 5))
    steps = steps or int(rng.integers(1, 5 if states > 3 else 6))
    matrices = rng.dirichlet(np.full(states, 0.5), (steps - 1, states))
    matrices[matrices < 0.05] = 0.0  # impossible moves
    matrices /= matrices.sum(axis=-1, keepdims=True)
    most = min(sensors or 2, states)
    watched = [
        tuple(int(x) for x in rng.choice(states, rng.integers(1, most + 1), replace=False))
        for _ in range(steps)
    ]
    return Game(rng.dirichlet(np.ones(states)), matrices, watched)


def stationary_game(seed, states=3, steps=4):
    """One matrix at every step, started in its stationary law (solved by linear algebra)."""
    rng = np.random.default_rng(seed)
    matrix = rng.dirichlet(np.full(states, 0.7), states)
    system = np.vstack([matrix.T - np.eye(states), np.ones(states)])
    law = np.linalg.lstsq(system, np.append(np.zeros(states), 1.0), rcond=None)[0]
    watched = [(int(place),) for place in rng.integers(states, size=steps)]
    return Game(np.abs(law) / np.abs(law).sum(), [matrix] * (steps - 1), watched)


@pytest.fixture
def game():
    return random_game


@pytest.fixture
def stationary():
    return stationary_game


@pytest.fixture
def make_game():
    return Game
