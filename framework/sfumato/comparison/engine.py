"""From a study to its result: what the cache holds, what is left to do, and who does it."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing
from functools import partial
from typing import Any

import attrs
from typing_extensions import Generator

from sfumato.comparison.cache import Cache, classes_of, fingerprint, framework_fingerprint
from sfumato.comparison.cells import FACTORS, Cell, Comparison, Labelled, answer_each, ask_loss
from sfumato.comparison.executors import run
from sfumato.comparison.risk_maps import PlannedMap, RisksOf, draw_map, plan_maps
from sfumato.comparison.study import Part, Study, StudyResult
from sfumato.errors import StudyError
from sfumato.parameters import Declared
from sfumato.plugin_registry import Registry, default_registry
from sfumato.protocols import NOUNS
from sfumato.values import digest, from_json, to_json

FORMAT = 2
"""Of cache entries; a new one when cells change their form."""

Progress = Callable[[int, int], None]


# Nouns -------------------------------------------------------------------------------------------


@attrs.frozen
class Identified:
    """A noun with the hashes of what it says and of the code behind it, computed once."""

    noun: Any
    said: str
    code: str | None

    @classmethod
    def of(cls, noun: Any) -> Identified:
        """Hash a noun; one without a specification cannot be kept."""
        if not hasattr(noun, "specification"):
            return cls(noun, str(noun), None)
        return cls(noun, digest(noun.specification()), fingerprint(noun))

    def with_seed(self, study_seed: int, *others: str) -> tuple[Identified, int | None]:
        """Return the noun with a seed, drawn where it leaves one open (None), and that seed.

        A seed with any other default is the noun's own: 0 that was given could not be told from it.
        """
        noun = self.noun
        cls = type(noun)
        if not issubclass(cls, Declared) or all(one.name != "seed" for one in cls.parameters()):
            return self, None
        if noun.seed is not None:
            return self, int(noun.seed)
        seed = derived_seed(study_seed, *others, self.said)
        noun = attrs.evolve(noun, seed=seed)
        return attrs.evolve(self, noun=noun, said=digest(noun.specification())), seed


def derived_seed(study_seed: int, *digests: str) -> int:
    """Return 32 bits of the hash of the study's seed and the digests of the specifications.

    >>> from sfumato.comparison.engine import derived_seed
    >>> derived_seed(0, "a", "b") == derived_seed(0, "a", "b") != derived_seed(1, "a", "b")
    True
    """
    text = "\n".join((str(study_seed), *digests))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4])


def _key(*nouns: Identified) -> Hashable:
    """Return the name of a cell in the cache: what it asks, and the code that answers.

    Where that code cannot be told, the name is one that nothing else has.
    """
    codes = [noun.code for noun in nouns]
    if any(code is None for code in codes):
        return object()
    texts = [str(FORMAT), framework_fingerprint(), *(noun.said for noun in nouns), *map(str, codes)]
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


# Work --------------------------------------------------------------------------------------------


class NotRegistered(ValueError):
    """A noun's class is not in the registry, so that no other process can build it."""


@attrs.frozen(kw_only=True)
class Work:
    """A scenario and what is asked of it: objects here, rebuilt from specifications elsewhere."""

    prior: Any
    secret: Any
    mechanism: Any
    measures: tuple[Any, ...]
    keys: tuple[Hashable, ...] = ()

    def cells(self) -> Iterator[Cell]:
        """Yield the answers, each as it is found."""
        asks = (m if isinstance(m, RisksOf) else partial(ask_loss, m) for m in self.measures)
        return answer_each(self.prior, self.secret, self.mechanism, asks)

    def code(self) -> str:
        """Return a hash of all the code the work needs, to be equal wherever it is done."""
        return digest([framework_fingerprint(), *map(fingerprint, self._nouns())])

    def message(self, registry: Registry) -> str:
        """Write the work as text: specifications and a hash of the code."""
        registered = {entry.value for entry in registry.entries if entry.kind in NOUNS}
        for cls in classes_of(self._nouns()):
            if cls not in registered:
                raise NotRegistered(
                    f"{getattr(cls, 'name', cls.__name__)} must be registered to be measured in "
                    "another process; put its class into a plugin file, or run the study in this "
                    "process."
                )
        nouns = {kind: getattr(self, kind).specification() for kind in FACTORS}
        measures = [measure.specification() for measure in self.measures]
        return to_json({**nouns, "measures": measures, "code": self.code()})

    def _nouns(self) -> tuple[Any, ...]:
        return self.prior, self.secret, self.mechanism, *self.measures


def answer(message: str) -> str:
    """Do the work that a message describes, in whatever process this is, and write the cells."""
    table, registry = from_json(message), default_registry()
    work = Work(
        **{kind: registry.build(kind, table[kind]) for kind in FACTORS},
        measures=tuple(
            registry.build("measure", plain) if "name" in plain else RisksOf.build(plain, registry)
            for plain in table["measures"]
        ),
    )
    if work.code() != table["code"]:
        raise RuntimeError(
            "the worker must run the same sfumato, plugins and numpy as the caller; its code is "
            "different."
        )
    return to_json([cell.plain() for cell in work.cells()])


def _run(
    works: Sequence[Work], jobs: int, dask: str | None
) -> Iterator[tuple[Sequence[Hashable], Sequence[Cell]]]:
    """Yield the keys and the cells of what is finished: by scenario, in this process by cell."""
    keys: list[tuple[Hashable, ...]]
    finished: Generator[tuple[int, Future[Any]]]
    if jobs == 1 and dask is None:
        keys = [(key,) for work in works for key in work.keys]
        finished = run(next, (cells for work in works for cells in [work.cells()] * len(work.keys)))
    else:
        keys = [work.keys for work in works]
        messages = [work.message(default_registry()) for work in works]
        finished = run(answer, messages, jobs=jobs, cluster=dask)
    with closing(finished):
        for number, future in finished:
            error = future.exception()
            if error is not None:
                failed = Cell(outcome="failed", reason=f"{type(error).__name__}: {error}")
                yield keys[number], [failed] * len(keys[number])
            elif isinstance(future.result(), Cell):
                yield keys[number], [future.result()]
            else:
                yield keys[number], list(map(Cell.from_plain, from_json(future.result())))


# Studies -----------------------------------------------------------------------------------------


@attrs.define
class Plan:
    """The cells that a study asks for, by key: those that are there, and the work that is left."""

    study: Study
    progress: Progress | None = None
    jobs: int = 1
    dask: str | None = None
    cache: Cache | None = attrs.field(default=None, converter=attrs.converters.optional(Cache))
    cells: dict[Hashable, Cell] = attrs.field(factory=dict, init=False)
    seeds: dict[Hashable, int | None] = attrs.field(factory=dict, init=False)
    works: list[Work] = attrs.field(factory=list, init=False)
    asked: int = attrs.field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        if self.jobs < 1:
            raise StudyError(f"jobs must be 1 or more; got {self.jobs}.")

    def ask(self, scenario: Sequence[Identified], measures: Iterable[Identified]) -> list[Hashable]:
        """Ask measures of a scenario and return the keys of the cells; equal ones share one."""
        # A mechanism keeps its own seed: its row must name the very mechanism that was measured.
        keys: list[Hashable] = []
        left: dict[Hashable, Any] = {}
        for given in measures:
            measure, seed = given.with_seed(self.study.seed, *(noun.said for noun in scenario))
            key = _key(*scenario, measure)
            keys.append(key)
            if key in self.seeds:
                continue
            self.seeds[key] = seed
            kept = self.cache.get(key) if self.cache and isinstance(key, str) else None
            if kept is None:
                left[key] = measure.noun
            else:
                self.cells[key] = attrs.evolve(kept, seed=seed)
        self.asked += len(keys)
        if left:
            nouns = dict(zip(FACTORS, (noun.noun for noun in scenario), strict=True))
            self.works.append(Work(**nouns, measures=tuple(left.values()), keys=tuple(left)))
        return keys

    def execute(self) -> None:
        """Do the work that is left, keeping each cell as it comes."""
        works, self.works = self.works, []
        left = sum(len(work.keys) for work in works)
        self._report(left)
        for keys, cells in _run(works, self.jobs, self.dask) if works else ():
            for key, cell in zip(keys, cells, strict=True):
                seed = self.seeds[key]
                self.cells[key] = cell if seed is None else attrs.evolve(cell, seed=seed)
                if self.cache and isinstance(key, str):
                    self.cache.put(key, self.cells[key])
                left -= 1
                self._report(left)

    def _report(self, left: int) -> None:
        if self.progress is not None:
            self.progress(self.asked - left, self.asked)


def run_study(
    study: Study, *, maps: bool = False, progress: Progress | None = None, **where: Any
) -> StudyResult:
    """Run a study; see `Study.run`."""
    plan = Plan(study, progress, **where)
    asked = [list(_ask_part(plan, part)) for part in study.parts]
    plan.execute()
    alone = study.title if len(study.parts) == 1 else ""
    comparisons = tuple(
        Comparison(
            cells=tuple(plan.cells[key].with_nouns(nouns) for nouns, key in cells),
            title=part.title or alone,
            notes=part.notes,
        )
        for part, cells in zip(study.parts, asked, strict=True)
    )
    wanted = [maps if part.maps is None else part.maps for part in study.parts]
    return _map(plan, StudyResult(study=study, comparisons=comparisons, where=where), wanted)


def _ask_part(plan: Plan, part: Part) -> Iterator[tuple[tuple[Labelled, ...], Hashable]]:
    """Yield the nouns and the key of every cell of a part, in the order of the question."""
    lists = (part.priors, part.secrets, part.mechanisms, part.measures)
    *scenarios, measures = ([(one, Identified.of(one.noun)) for one in each] for each in lists)
    for scenario in itertools.product(*scenarios):
        labels, nouns = zip(*scenario, strict=True)
        keys = plan.ask(nouns, [identified for _, identified in measures])
        for (measure, _), key in zip(measures, keys, strict=True):
            yield (*labels, measure), key


def add_maps(result: StudyResult) -> StudyResult:
    """Return the result with the risk maps that it does not have yet, from where its cells are."""
    parts = zip(result.study.parts, result.comparisons, strict=True)
    wanted = [part.maps is not False and comparison.maps is None for part, comparison in parts]
    return _map(Plan(result.study, **result.where), result, wanted) if any(wanted) else result


def _map(plan: Plan, result: StudyResult, wanted: Sequence[bool]) -> StudyResult:
    """Ask for the rows of all risk maps that are wanted, run them together, and draw the maps."""
    asked = [
        [(planned, list(_ask_map(plan, planned))) for planned in plan_maps(comparison)]
        if own
        else None
        for comparison, own in zip(result.comparisons, wanted, strict=True)
    ]
    if any(asked):
        plan.execute()
    comparisons = list(result.comparisons)
    for place, maps in enumerate(asked):
        if maps is not None:
            every = comparisons[place].measured
            drawn = (
                draw_map(planned, every, [plan.cells[k] for k in keys]) for planned, keys in maps
            )
            comparisons[place] = attrs.evolve(comparisons[place], maps=tuple(drawn))
    problems = (*result.problems, *(plan.cache.problems if plan.cache else ()))
    return attrs.evolve(result, comparisons=tuple(comparisons), problems=problems)


def _ask_map(plan: Plan, planned: PlannedMap) -> Iterator[Hashable]:
    for cell, ask in planned:
        if ask is not None:
            scenario = [Identified.of(getattr(cell, kind)) for kind in FACTORS]
            yield from plan.ask(scenario, [Identified.of(ask)])
