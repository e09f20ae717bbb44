"""Markov chain priors, and the secrets of state traces."""

from __future__ import annotations

from sfumato.hookspecs import hookimpl
from sfumato.protocols import Prior, Secret


@hookimpl
def sfumato_priors() -> list[type[Prior]]:
    """Register the priors."""
    from sfumato_markov_chain.markov_chain import LineChain, MarkovChain, MixedChain

    return [MarkovChain, LineChain, MixedChain]


@hookimpl
def sfumato_secrets() -> list[type[Secret]]:
    """Register the secrets."""
    from sfumato_markov_chain.secrets import Contexts, Trajectory

    return [Contexts, Trajectory]
