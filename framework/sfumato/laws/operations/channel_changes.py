"""Post-processing a channel, silencing it, opening it."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from sfumato.channels import AdditiveGaussian, Emission, NoisyVectors, Suppression, Symbols
from sfumato.laws.operations.beginning import Beginning
from sfumato.laws.violation import NotHere
from sfumato.matrices import Diagonal, LowRank, Sum

SILENCE = 1e14
"""How many times more noise than signal counts as releasing nothing."""


def garbled(channel: Any, rng: np.random.Generator) -> Any:
    """Return the channel followed by a random post-processing of what it releases."""
    if isinstance(channel, AdditiveGaussian):
        return noisier(channel, rng, amount=float(rng.uniform(0.01, 2.0)))
    if isinstance(channel, Symbols):
        size = len(channel.alphabet)
        mixing = rng.dirichlet(np.full(size, 0.5), size=(channel.steps, size))
        return Symbols(channel.states, channel.alphabet, channel.probabilities @ mixing)
    if isinstance(channel, NoisyVectors):
        return attrs.evolve(channel, scale=channel.scale * float(rng.uniform(1.0, 3.0)))
    if isinstance(channel, Suppression) and channel.after is None:
        return more_suppressed(channel, rng)
    if isinstance(channel, Emission):
        return Beginning(channel, int(rng.integers(0, channel.steps)))
    raise NotHere(f"no post-processing is known for {type(channel).__name__} channels")


def noisier(channel: AdditiveGaussian, rng: np.random.Generator, amount: float) -> AdditiveGaussian:
    """Return the channel with more noise: of rank one, and a little on some entries."""
    direction = rng.standard_normal((channel.entries, 1))
    direction *= np.sqrt(amount) / np.linalg.norm(direction)
    some = amount * rng.integers(0, 2, channel.entries) * rng.uniform(0, 1, channel.entries)
    extra = (LowRank(direction), Diagonal(some))
    return attrs.evolve(channel, noise=Sum((channel.noise, *extra)))


def more_suppressed(channel: Suppression, rng: np.random.Generator) -> Suppression:
    """Return memoryless suppression with larger probabilities, some of them one."""
    more = rng.uniform(0, 1, channel.start.shape) * rng.integers(0, 2, channel.start.shape)
    return Suppression.memoryless(channel.states, channel.start + (1.0 - channel.start) * more)


def silent(channel: Any, belief: Any) -> Any:
    """Return a channel of the same kind that releases nothing (Gaussian: next to nothing)."""
    if isinstance(channel, AdditiveGaussian):
        scale = SILENCE * float(belief.covariance.diagonal().max())
        return attrs.evolve(channel, noise=Diagonal(np.full(channel.entries, scale)))
    if isinstance(channel, Suppression):
        return Suppression.memoryless(channel.states, np.ones(channel.start.shape))
    if isinstance(channel, NoisyVectors):
        return attrs.evolve(channel, means=np.zeros_like(channel.means))
    if isinstance(channel, Emission):
        blank = np.ones((channel.steps, len(channel.states), 1))
        return Symbols(channel.states, ("nothing",), blank)
    raise NotHere(f"silence is not known for {type(channel).__name__} channels")


def identity(channel: Any) -> Any:
    """Return a channel of the same kind that releases the trace itself."""
    if isinstance(channel, AdditiveGaussian):
        return attrs.evolve(channel, noise=Diagonal(np.zeros(channel.entries)))
    if isinstance(channel, Suppression):
        return Suppression.memoryless(channel.states, np.zeros(channel.start.shape))
    if isinstance(channel, Emission):
        states = channel.states
        every = np.broadcast_to(np.eye(len(states)), (channel.steps, len(states), len(states)))
        return Symbols(states, states, every)
    raise NotHere(f"releasing everything is not known for {type(channel).__name__} channels")
