"""What a measure finds for every person of a population."""

from __future__ import annotations

from collections.abc import Hashable

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.protocols import Quantity


@attrs.frozen(eq=False)
class PopulationLosses:
    """One loss for each person, in the order in which they were given.

    Parameters
    ----------
    values
        The losses, (N,).
    bounds, intervals, hows
        The direction of each, the interval of an estimate (else None) and how it was found, as a
        `Loss` has them.
    names
        The people's names, where they came with any, else their numbers.
    quantity
        What they are losses of.
    solved
        How many different people there were; equal ones are solved once.

    Examples
    --------
    >>> import sfumato as sf
    >>> people = sf.priors.markov_chain.fit_each({"ann": [0, 1, 0], "bob": [1, 1, 1]})
    >>> found = sf.measures.differential_privacy().of_population(
    ...     people, sf.secrets.trajectory(), sf.mechanisms.sensor_counts(0))
    >>> found.values.tolist(), len(found), found.names
    ([inf, inf], 2, ('ann', 'bob'))
    """

    values: NDArray[np.float64]
    bounds: tuple[str, ...]
    intervals: tuple[tuple[float, float] | None, ...]
    hows: tuple[str, ...]
    names: tuple[Hashable, ...]
    quantity: Quantity
    solved: int

    def __len__(self) -> int:
        return len(self.values)
