"""The segmented check: suppression probabilities that depend on the last release."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sfumato.beliefs import Markov
from sfumato.channels import Suppression
from sfumato.parameters import UNIT, declare, parameter
from sfumato.protocols import DeclaredMechanism, PriorClass, Release, Secret
from sfumato.questions import Events
from sfumato_suppression.hybrid import hybrid_channels
from sfumato_suppression.private_design import Chains, private_release
from sfumato_suppression.segmented_search import segmented_channel


@declare
class Segmented(DeclaredMechanism):
    """Suppress state j at time t with a probability that depends on the last release.

    A suppressed stretch between two releases is private or not on its own, whatever lies outside
    it. So each stretch has probabilities of its own, never worth less than those of the
    probabilistic or of the simulatable check: the utility is never below the hybrid's.
    Certified δ-private from scratch before it is returned.

    Reference: extends Götz, Nath and Gehrke (2012), section 3.3; the proof is in
    `sfumato.inference.segment_check`.

    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain(
    ...     initial=[0.5, 0.5], transitions=[[0.5, 0.5], [0.5, 0.5]], steps=3, states=["s", "x"]
    ... )
    >>> secret = sf.secrets.contexts({"s"})
    >>> release = sf.mechanisms.suppress_segmented(delta=0.25).protect(chain, secret)
    >>> round(release.utility(), 6)
    1.0
    """

    name = "suppress_segmented"
    asks = ((Markov, Events),)
    yields = Suppression

    delta: float = parameter(UNIT, doc="how far an output may raise a sensitive probability")

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Search and certify; the seeds stand by."""
        return private_release(self, prior, secret, self.delta, _channels)


def _channels(chains: Chains) -> Iterator[Suppression]:
    """Yield the segmented channel and the hybrid's, which it starts from."""
    seeds = list(hybrid_channels(chains))
    tables = np.array([seed.start for seed in seeds if seed.after is None])
    yield segmented_channel(chains, tables)
    yield from seeds
