"""The simulatable check: decisions that anyone could have made."""

from __future__ import annotations

from collections.abc import Iterator

from sfumato.beliefs import Markov
from sfumato.channels import Suppression
from sfumato.parameters import UNIT, declare, parameter
from sfumato.protocols import DeclaredMechanism, PriorClass, Release, Secret
from sfumato.questions import Events
from sfumato_suppression.private_design import Chains, private_release
from sfumato_suppression.simulatable_search import simulatable_channel


@declare
class Simulatable(DeclaredMechanism):
    """Release the present state if, after the last release, any possible one could be released.

    The decision ignores the present state, so suppression itself tells nothing.

    Reference: Götz, Nath and Gehrke (2012), section 4 and algorithm 4.

    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain(
    ...     initial=[0.5, 0.5], transitions=[[0.5, 0.5], [0.5, 0.5]], steps=4, states=["a", "b"]
    ... )
    >>> secret = sf.secrets.contexts({"a"}, times=[2])
    >>> sf.mechanisms.suppress_simulatable(delta=0.25).protect(chain, secret).utility()
    3.0
    """

    name = "suppress_simulatable"
    asks = ((Markov, Events),)
    yields = Suppression

    delta: float = parameter(UNIT, doc="how far an output may raise a sensitive probability")

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Tabulate the decisions and certify them."""
        return private_release(self, prior, secret, self.delta, _channel)


def _channel(chains: Chains) -> Iterator[Suppression]:
    yield simulatable_channel(chains)
