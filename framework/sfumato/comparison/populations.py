"""One loss for every person of a population."""

from __future__ import annotations

import numbers
import os
from collections.abc import Hashable, Mapping, Sequence
from contextlib import closing
from typing import Any, cast

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.comparison.executors import progress, run
from sfumato.errors import ParameterError
from sfumato.plugin_registry import default_registry
from sfumato.protocols import LossMeasure, Mechanism, Prior, PriorClass, Quantity, Secret


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


CHUNK = 32
"""How many people one task holds: what is in memory does not grow with the population."""

Answer = tuple[float, str, tuple[float, float] | None, str]


class OfPopulation:
    """Gives a measure the method `of_population`, written once for all of them.

    A measure's class names it before `LossMeasure`.

    >>> import sfumato as sf
    >>> isinstance(sf.measures.reconstruction(), OfPopulation)
    True
    """

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
        _check_people(people)
        _check_noun(secret, "secret")
        _check_noun(mechanism, "mechanism")
        if processes is not None and (
            isinstance(processes, bool)
            or not isinstance(processes, numbers.Integral)
            or processes < 1
        ):
            raise ParameterError(f"processes must be a whole number >= 1; got {processes!r}.")
        first, number = _different(people)
        # Specifications travel to the workers, not classes: one-file plugins are rebuilt there.
        task = _Task(
            cast("LossMeasure", self).specification(),
            secret.specification(),
            mechanism.specification(),
        )
        workers = min(int(processes or os.cpu_count() or 1), -(-len(first) // CHUNK))
        chunks = (first[begin : begin + CHUNK] for begin in range(0, len(first), CHUNK))
        parts = ((task, _portable(people, chunk), chunk) for chunk in chunks)
        found: dict[int, list[Answer]] = {}
        with (
            closing(run(_solve, parts, jobs=workers)) as finished,
            progress("people", len(first)) as update,
        ):
            for place, future in finished:
                found[place] = future.result()
                update(advance=len(found[place]))
        answers = [answer for place in sorted(found) for answer in found[place]]
        values, bounds, intervals, hows = zip(*(answers[place] for place in number), strict=True)
        quantity = cast("LossMeasure", self).quantity
        names = tuple(getattr(people, "names", range(len(people))))
        return PopulationLosses(
            values=np.array(values),
            bounds=bounds,
            intervals=intervals,
            hows=hows,
            names=names,
            quantity=quantity,
            solved=len(first),
        )


def _check_people(people: Any) -> None:
    """Require a sequence of priors; those of a fit are priors once they are made."""
    if isinstance(people, Mapping):
        raise ParameterError("people must be a list of priors; got a table, so give its values.")
    if not hasattr(people, "__len__"):
        raise ParameterError(f"people must be a list of priors; got {people!r}.")
    if not len(people):
        raise ParameterError("people must hold at least one prior; got none.")
    if hasattr(people, "some"):
        return
    for number, person in enumerate(people):
        if not isinstance(person, PriorClass):
            raise ParameterError(
                f"people must be a list of priors; got {person!r} for person {number}."
            )


def _check_noun(value: object, kind: str) -> None:
    if getattr(type(value), "kind", None) != kind:
        raise ParameterError(f"{kind} must be a {kind}, such as sf.{kind}s makes; got {value!r}.")


def _different(people: Sequence[Prior]) -> tuple[list[int], list[int]]:
    """Return who comes first of each kind, and the kind of every person."""
    key = getattr(people, "key", people.__getitem__)
    kinds: dict[Hashable, int] = {}
    first: list[int] = []
    number = []
    for person in range(len(people)):
        number.append(kinds.setdefault(key(person), len(kinds)))
        if number[-1] == len(first):
            first.append(person)
    return first, number


def _portable(people: Sequence[Prior], chosen: list[int]) -> Any:
    """Return some of the people in a form that reaches another process."""
    if hasattr(people, "some"):
        return people.some(chosen)
    return [people[person].specification() for person in chosen]


@attrs.frozen
class _Task:
    """What is to be computed, in plain tables."""

    measure: Mapping[str, Any]
    secret: Mapping[str, Any]
    mechanism: Mapping[str, Any]

    def solve(self, people: Any, numbers: Sequence[int]) -> list[Answer]:
        registry = default_registry()
        measure = registry.build("measure", self.measure)
        secret = registry.build("secret", self.secret)
        mechanism = registry.build("mechanism", self.mechanism)
        answers: list[Answer] = []
        for person, given in zip(numbers, people, strict=True):
            prior = registry.build("prior", given) if isinstance(given, Mapping) else given
            try:
                loss = measure.for_person(person).loss(
                    prior, secret, mechanism.protect(prior, secret)
                )
            except Exception as error:
                error.add_note(f"This happened for person {person} (counted from 0).")
                raise
            answers.append((loss.value, loss.bound, loss.interval, loss.how))
        return answers


def _solve(given: tuple[_Task, Any, list[int]]) -> list[Answer]:
    task, people, numbers = given
    return task.solve(people, numbers)
