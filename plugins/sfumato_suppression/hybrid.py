"""The better of the probabilistic and the simulatable check."""

from __future__ import annotations

from collections.abc import Iterator

from sfumato.beliefs import Markov
from sfumato.channels import Suppression
from sfumato.parameters import UNIT, declare, parameter
from sfumato.protocols import DeclaredMechanism, PriorClass, Release, Secret
from sfumato.questions import Events
from sfumato_suppression.private_design import Chains, private_release
from sfumato_suppression.probabilistic import memoryless_channels
from sfumato_suppression.simulatable_search import simulatable_channel


@declare
class Hybrid(DeclaredMechanism):
    """Whichever of the two checks releases more states on average.

    Reference: Götz, Nath and Gehrke (2012), section 5.1 and theorem 5.

    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain(
    ...     initial=[0.25] * 4, transitions=[[0.25] * 4] * 4, steps=1, states=["s", "r", "x", "y"]
    ... )
    >>> secret = sf.secrets.contexts({"s", "r"})
    >>> round(sf.mechanisms.suppress_hybrid(delta=0.25).protect(chain, secret).utility(), 6)
    0.5
    """

    name = "suppress_hybrid"
    asks = ((Markov, Events),)
    yields = Suppression

    delta: float = parameter(UNIT, doc="how far an output may raise a sensitive probability")

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Design both and keep the better."""
        return private_release(self, prior, secret, self.delta, hybrid_channels)


def hybrid_channels(chains: Chains) -> Iterator[Suppression]:
    """Yield the channels of both checks."""
    yield from memoryless_channels(chains)
    yield simulatable_channel(chains)
