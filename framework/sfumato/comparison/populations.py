"""One loss for every person of a population."""

from __future__ import annotations

import numbers
import os
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, cast

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.comparison.executors import results
from sfumato.errors import ParameterError
from sfumato.plugin_registry import default_registry
from sfumato.protocols import LossMeasure, Mechanism, Prior, PriorClass, Quantity, Secret


@attrs.frozen(eq=False)
class PopulationLosses:
    """One loss for each person, in the order in which they were given.

    `values`, `bounds`, `intervals` (of estimates, else None) and `hows` are as a `Loss` has them;
    `names` are the people's, where they came with any, else their numbers; `solved` says how many
    different people there were, as equal ones are solved once.

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


CHUNK = 32
"""How many people one task holds: what is in memory does not grow with the population."""

Answer = tuple[float, str, tuple[float, float] | None, str]
Task = tuple[dict[str, dict[str, Any]], Any, list[int]]
"""The specifications of measure, secret and mechanism, some people, and their numbers."""


class OfPopulation:
    """Gives a measure the method `of_population`; its class names this before `LossMeasure`."""

    def for_person(self, number: int) -> OfPopulation:
        """Return the measure to be used for one person, counted from 0: by default this one."""
        del number
        return self

    def of_population(
        self,
        people: Sequence[Prior],
        secret: Secret,
        mechanism: Mechanism,
        *,
        processes: int | None = None,
    ) -> PopulationLosses:
        """Return the loss of every person's prior under one secret and one mechanism.

        People are solved in parallel, a few at a time, in a fixed order; equal people are solved
        once. A progress bar appears on the standard error stream after two seconds.

        Parameters
        ----------
        people
            Priors, such as ``sf.priors.markov_chain.fit_each(traces)``, which makes each of them
            only when it is needed.
        secret, mechanism
            Common to all.
        processes
            How many to use; one for each core by default.

        Examples
        --------
        >>> import sfumato as sf
        >>> people = sf.priors.markov_chain.fit_each(
        ...     [[0, 1, 0, 1, 1], [0, 0, 0, 0, 0], [0, 1, 0, 1, 1]], steps=3)
        >>> found = sf.measures.reconstruction().of_population(
        ...     people, sf.secrets.trajectory(mistakes=1), sf.mechanisms.sensor_counts([0, 1, 0]))
        >>> len(found), found.solved, bool(found.values[0] == found.values[2])
        (3, 2, True)
        """
        _check(people, secret, mechanism, processes)
        measure = cast("LossMeasure", self)
        first, number = _different(people)
        # Specifications travel to the workers, not classes: one-file plugins are rebuilt there.
        nouns = {"measure": measure, "secret": secret, "mechanism": mechanism}
        plain = {kind: noun.specification() for kind, noun in nouns.items()}
        chunks = [first[begin : begin + CHUNK] for begin in range(0, len(first), CHUNK)]
        tasks = ((plain, _portable(people, chunk), chunk) for chunk in chunks)
        workers = min(int(processes or os.cpu_count() or 1), len(chunks))
        what = f"people, {CHUNK} at a time"
        found = results(_solve, tasks, jobs=workers, what=what, total=len(chunks))
        answers = [answer for chunk in found for answer in chunk]
        values, bounds, intervals, hows = zip(*(answers[place] for place in number), strict=True)
        return PopulationLosses(
            values=np.array(values),
            bounds=bounds,
            intervals=intervals,
            hows=hows,
            names=tuple(getattr(people, "names", range(len(people)))),
            quantity=measure.quantity,
            solved=len(first),
        )


def _check(people: Any, secret: Any, mechanism: Any, processes: Any) -> None:
    """Require a list of priors, a secret, a mechanism and a number of processes."""
    if isinstance(people, Mapping) or not hasattr(people, "__len__"):
        raise ParameterError(f"people must be a list of priors; got {people!r}.")
    if not len(people):
        raise ParameterError("people must hold at least one prior; got none.")
    for number, person in enumerate(() if hasattr(people, "some") else people):
        if not isinstance(person, PriorClass):  # those of a fit are priors once they are made
            raise ParameterError(
                f"people must be a list of priors; got {person!r} for person {number}."
            )
    for kind, noun in (("secret", secret), ("mechanism", mechanism)):
        if getattr(type(noun), "kind", None) != kind:
            raise ParameterError(
                f"{kind} must be a {kind}, such as sf.{kind}s makes; got {noun!r}."
            )
    whole = isinstance(processes, numbers.Integral | None) and not isinstance(processes, bool)
    if not whole or (processes is not None and processes < 1):
        raise ParameterError(f"processes must be a whole number >= 1; got {processes!r}.")


def _different(people: Sequence[Prior]) -> tuple[list[int], list[int]]:
    """Return who comes first of each kind, and the kind of every person."""
    key = getattr(people, "key", people.__getitem__)
    kinds: dict[Hashable, int] = {}
    number = [kinds.setdefault(key(person), len(kinds)) for person in range(len(people))]
    return np.unique(number, return_index=True)[1].tolist(), number


def _portable(people: Sequence[Prior], chosen: list[int]) -> Any:
    """Return some of the people in a form that reaches another process."""
    if hasattr(people, "some"):
        return people.some(chosen)
    return [people[person].specification() for person in chosen]


def _solve(task: Task) -> list[Answer]:
    """Return the losses of some people, in whatever process this is."""
    plain, people, people_numbers = task
    registry = default_registry()
    measure, secret, mechanism = (registry.build(kind, table) for kind, table in plain.items())
    answers: list[Answer] = []
    for person, given in zip(people_numbers, people, strict=True):
        prior = registry.build("prior", given) if isinstance(given, Mapping) else given
        try:
            release = mechanism.protect(prior, secret)
            loss = measure.for_person(person).loss(prior, secret, release)
        except Exception as error:
            error.add_note(f"This happened for person {person} (counted from 0).")
            raise
        answers.append((loss.value, loss.bound, loss.interval, loss.how))
    return answers
