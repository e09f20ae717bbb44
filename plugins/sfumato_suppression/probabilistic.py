"""The probabilistic check: suppression probabilities for every state and time."""

from __future__ import annotations

from collections.abc import Iterator

from sfumato.beliefs import Markov
from sfumato.channels import Suppression
from sfumato.parameters import CHOICE, UNIT, declare, parameter
from sfumato.protocols import DeclaredMechanism, PriorClass, Release, Secret
from sfumato.questions import Events
from sfumato_suppression.coordinate_search import MemorylessTable
from sfumato_suppression.exhaustive_search import best_grid_table
from sfumato_suppression.memoryless_search import (
    by_worth,
    expected_worth,
    greedy_tables,
    lower_all,
)
from sfumato_suppression.private_design import Chains, private_release


@declare
class Probabilistic(DeclaredMechanism):
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
