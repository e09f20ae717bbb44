"""The probabilistic check: suppression probabilities for every state and time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sfumato.beliefs import Markov
from sfumato.channels import Suppression
from sfumato.parameters import CHOICE, UNIT, declare, parameter
from sfumato.protocols import Mechanism, PriorClass, Release, Secret
from sfumato.questions import Events
from sfumato_suppression.design import private_release
from sfumato_suppression.memoryless_search import (
    MemorylessTable,
    best_grid_table,
    by_worth,
    expected_worth,
    greedy_tables,
    lower_all,
)
from sfumato_suppression.protected_chain import Chains
from sfumato_suppression.segmented_search import segmented_channel, simulatable_channel


@declare
class Probabilistic(Mechanism):
    """Suppress state j at time t with probability p[t, j], searched for high utility.

    ``search="greedy"`` lowers one probability after the other, in several orders, on the grid of
    tenths and then exactly; ``search="exhaustive"`` finds the best table on that grid, which is
    possible for small chains only, and lowers it exactly.
    Either way the table is certified δ-private before it is returned.

    Reference: Götz, Nath and Gehrke (2012), section 3 and algorithm 3.

    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain(
    ...     initial=[0.5, 0.5], transitions=[[1, 0], [0, 1]], steps=1, states=["s", "x"]
    ... )
    >>> mechanism = sf.mechanisms.suppress_probabilistic(delta=0.25)
    >>> release = mechanism.protect(chain, sf.secrets.contexts({"s"}))
    >>> release.channel.start.round(6).tolist(), round(release.utility(), 6)
    ([[1.0, 0.333333]], 0.333333)
    """

    name = "suppress_probabilistic"
    asks = ((Markov, Events),)
    yields = Suppression

    delta: float = parameter(UNIT, doc="how far an output may raise a sensitive probability")
    search: str = parameter(
        CHOICE("greedy", "exhaustive"), default="greedy", doc="how tables are searched"
    )

    def design(self, prior: PriorClass, secret: Secret) -> Release:
        """Search and certify."""
        found = memoryless_channels if self.search == "greedy" else _best_channel
        return private_release(self, prior, secret, self.delta, found)


def memoryless_channels(chains: Chains) -> Iterator[Suppression]:
    """Yield the channels of the greedy search."""
    for table in greedy_tables(chains):
        yield Suppression.memoryless(chains[0].belief.states, table)


def _best_channel(chains: Chains) -> Iterator[Suppression]:
    """Yield the best channel on the grid, polished, and those of the greedy search.

    Polishing leaves the grid, so the best table on it need not stay the best.
    """
    table = MemorylessTable(chains, best_grid_table(chains))
    lower_all(table, by_worth(expected_worth(chains)), grid=0)
    yield Suppression.memoryless(chains[0].belief.states, table.chances)
    yield from memoryless_channels(chains)


@declare
class Simulatable(Mechanism):
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


@declare
class Hybrid(Mechanism):
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


@declare
class Segmented(Mechanism):
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
