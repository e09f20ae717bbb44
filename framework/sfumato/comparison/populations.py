"""One loss for every person of a population."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import numbers
import os
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import attrs
import numpy as np
from numpy.typing import NDArray

from sfumato.comparison.executors import run
from sfumato.errors import ParameterError
from sfumato.plugin_registry import default_registry
from sfumato.protocols import (
    Loss,
    LossMeasure,
    Mechanism,
    Prior,
    PriorClass,
    Quantity,
    Secret,
)
from sfumato.quantities import count_text

if TYPE_CHECKING:
    import pandas as pd


@attrs.frozen(eq=False)
class PopulationLosses:
    """One loss for each person, in the order in which they were given.

    `values`, `bounds`, `intervals` (of estimates, else None) and `hows` are as a `Loss` has them;
    `errors` are what went wrong for a person, else None: nothing is known of such a loss, so its
    value is the worst there is, an upper bound. `names` are the people's, where they came with any,
    else their numbers; `solved` says how many different people there were, as equal ones are solved
    once.

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
    errors: tuple[str | None, ...]
    names: tuple[Hashable, ...]
    quantity: Quantity
    solved: int

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return f"<PopulationLosses of {count_text(len(self), 'person')}: {self.quantity}>"

    def _repr_html_(self) -> str:
        from sfumato.report.cards import result_card

        failed = sum(error is not None for error in self.errors)
        quartiles = np.quantile(self.values, [0.25, 0.5, 0.75], method="nearest")
        told = dict(zip(("lower_quartile", "median", "upper_quartile"), quartiles, strict=True))
        return result_card(
            count_text(len(self), "person"), str(self.quantity), **told, failed=failed
        )

    def to_pandas(self) -> pd.DataFrame:
        """Return one row for each person."""
        import pandas as pd

        ends = [interval or (None, None) for interval in self.intervals]
        return pd.DataFrame(
            {
                "person": [name if isinstance(name, int) else str(name) for name in self.names],
                "value": self.values,
                "bound": self.bounds,
                "low": pd.array([low for low, _ in ends], dtype="Float64"),
                "high": pd.array([high for _, high in ends], dtype="Float64"),
                "how": self.hows,
                "error": pd.array(self.errors, dtype="string"),
            }
        )


CHUNK = 32
"""How many people one task holds: what is in memory does not grow with the population."""

Answer = tuple[float, str, tuple[float, float] | None, str, str | None]
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
        cluster: str | None = None,
        path: str | Path | None = None,
    ) -> PopulationLosses:
        """Return the loss of every person's prior under one secret and one mechanism.

        People are solved in parallel, a few at a time, in a fixed order; equal people are solved
        once. What goes wrong for a person is that person's `errors`; what goes wrong for everyone
        is raised. A progress bar appears on the standard error stream after two seconds.

        Parameters
        ----------
        people
            Priors, such as ``sf.priors.markov_chain.fit_each(traces)``, which makes each of them
            only when it is needed.
        secret, mechanism
            Common to all.
        processes
            How many to use; one for each core by default.
        cluster
            The address of a Dask scheduler to use instead.
        path
            A Parquet file to write, one row for each person. What is solved is kept beside it until
            then (in a file with the ending ``.partial``), so that a run that was stopped goes on
            where it was.

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
        first, number, fingerprint = _different(people)
        # Specifications travel to the workers, not classes: one-file plugins are rebuilt there.
        nouns = {"measure": measure, "secret": secret, "mechanism": mechanism}
        plain = {kind: noun.specification() for kind, noun in nouns.items()}
        fingerprint.update(json.dumps(plain, sort_keys=True, default=repr).encode())
        answers: dict[int, Answer] = {}
        partial = None if path is None else Path(f"{path}.partial")
        with _open_journal(partial, fingerprint.hexdigest(), answers) as note:
            left = [person for person in first if person not in answers]
            for size in (CHUNK, 1):  # a person whose worker dies takes no others along
                chunks = [left[begin : begin + size] for begin in range(0, len(left), size)]
                tasks = ((plain, _portable(people, chunk), chunk) for chunk in chunks)
                workers = min(int(processes or os.cpu_count() or 1), max(len(chunks), 1))
                what, left = f"people, {size} at a time", []
                for place, future in run(
                    _solve, tasks, jobs=workers, cluster=cluster, what=what, total=len(chunks)
                ):
                    chunk, error = chunks[place], future.exception()
                    if isinstance(error, ConnectionError) or (error and size == 1):
                        note([(person, _failure(measure, error)) for person in chunk])
                    elif error:
                        left += chunk
                    else:
                        note(list(zip(chunk, future.result(), strict=True)))
            if all(answers[person][4] for person in first):
                _loss(measure, people[first[0]], secret, mechanism, first[0])
        told = zip(*(answers[first[kind]] for kind in number), strict=True)
        values, bounds, intervals, hows, errors = told
        found = PopulationLosses(
            values=np.array(values),
            bounds=bounds,
            intervals=intervals,
            hows=hows,
            errors=errors,
            names=tuple(getattr(people, "names", range(len(people)))),
            quantity=measure.quantity,
            solved=len(first),
        )
        if path is not None:
            found.to_pandas().to_parquet(path, index=False)
            Path(f"{path}.partial").unlink()
        return found


@contextlib.contextmanager
def _open_journal(
    file: Path | None, fingerprint: str, answers: dict[int, Answer]
) -> Iterator[Callable[[list[tuple[int, Answer]]], None]]:
    """Read the answers that a file holds, and yield how to note further ones, there and here.

    A line is a chunk of people; the first says whose losses these are. The last may be torn: it is
    done again. Failures are tried again by the next run.
    """
    if file is None:
        yield answers.update
        return
    lines = file.read_text(encoding="utf-8").split("\n") if file.exists() else [fingerprint]
    if lines[0] != fingerprint:
        raise ParameterError(
            f"{file} must hold losses of these people, this secret, mechanism and measure; it "
            "holds others, so delete it or write elsewhere."
        )
    whole = lines[: -1 if len(lines) > 1 else None]
    for line in whole[1:]:
        for person, (value, bound, interval, how, error) in json.loads(line):
            if error is None:
                ends = None if interval is None else (float(interval[0]), float(interval[1]))
                answers[person] = (float(value), bound, ends, how, None)
    with file.open("w", encoding="utf-8") as journal:
        journal.write("".join(f"{line}\n" for line in whole))

        def note(found: list[tuple[int, Answer]]) -> None:
            answers.update(found)
            journal.write(json.dumps(found) + "\n")
            journal.flush()

        yield note


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


def _different(people: Sequence[Prior]) -> tuple[list[int], list[int], hashlib._Hash]:
    """Return who comes first of each kind, the kind of every person, and a digest of all."""
    everyone, kinds = hashlib.sha256(), dict[bytes, int]()
    key = getattr(people, "key", None)
    first, number = list[int](), list[int]()
    for person in range(len(people)):
        told = key(person) if key else json.dumps(people[person].specification()).encode()
        digest = hashlib.blake2b(told, digest_size=16).digest()
        everyone.update(digest)
        number.append(kinds.setdefault(digest, len(kinds)))
        if number[-1] == len(first):
            first.append(person)
    return first, number, everyone


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
        try:
            prior = registry.build("prior", given) if isinstance(given, Mapping) else given
            loss = _loss(measure, prior, secret, mechanism, person)
        except Exception as error:  # noqa: BLE001 - the row says it
            answers.append(_failure(measure, error))
        else:
            answers.append((loss.value, loss.bound, loss.interval, loss.how, None))
    return answers


def _loss(measure: Any, prior: Any, secret: Secret, mechanism: Mechanism, person: int) -> Loss:
    """Return one person's loss."""
    try:
        release = mechanism.protect(prior, secret)
        found: Loss = measure.for_person(person).loss(prior, secret, release)
    except Exception as error:
        error.add_note(f"This happened for person {person} (counted from 0).")
        raise
    return found


def _failure(measure: LossMeasure, error: BaseException) -> Answer:
    """Return the row of a person of whose loss nothing is known: it is at most the worst."""
    worst = measure.quantity.sign * math.inf
    reason = f"{type(error).__name__}: {error}"
    return worst, "upper", None, "failed", reason
