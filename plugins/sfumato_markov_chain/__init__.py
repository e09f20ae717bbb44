"""The Markov chain prior, and the secrets of state traces."""

from __future__ import annotations

from sfumato.hookspecs import hookimpl
from sfumato.protocols import DeclaredSecret, Prior


@hookimpl
def sfumato_priors() -> list[type[Prior]]:
    """Register the prior."""
    from sfumato_markov_chain.markov_chain import MarkovChain

    return [MarkovChain]


@hookimpl
def sfumato_secrets() -> list[type[DeclaredSecret]]:
    """Register the secrets."""
    from sfumato_markov_chain.contexts import Contexts
    from sfumato_markov_chain.trajectory import Trajectory

    return [Contexts, Trajectory]
