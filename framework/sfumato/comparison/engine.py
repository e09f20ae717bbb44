"""From a study to its result: what the cache holds, what is left to do, and who does it."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import attrs

from sfumato.comparison.cache import Cache, classes_of, fingerprint, framework_fingerprint
from sfumato.comparison.cells import Cell, Comparison, Finding, Labelled, measure_scenario
from sfumato.comparison.executors import one_thread_for_linear_algebra, run
from sfumato.comparison.study import Part, Study, StudyError, StudyResult
from sfumato.parameters import Declared
from sfumato.plugin_registry import Registry, default_registry
from sfumato.values import digest, from_json, to_json


def derived_seed(study_seed: int, *digests: str) -> int:
    """Return 32 bits of the hash of the study's seed and the digests of the specifications.

    >>> derived_seed(0, "a", "b") == derived_seed(0, "a", "b") != derived_seed(1, "a", "b")
    True
    """
    text = "\n".join((str(study_seed), *digests))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4])


def takes_seed(noun: Any) -> bool:
    """Whether the noun declares a parameter `seed` and leaves it open, as None.

    A seed with any other default is the noun's own: 0 that was given could not be told from it.
    """
    return _declares_seed(noun) and noun.seed is None


def own_seed(noun: Any) -> int | None:
    """Return the seed that the noun itself says."""
    return int(noun.seed) if _declares_seed(noun) and noun.seed is not None else None


def _declares_seed(noun: Any) -> bool:
    return isinstance(noun, Declared) and any(p.name == "seed" for p in type(noun).parameters())


def with_seed(noun: Any, seed: int) -> Any:
    """Return the noun with its seed set, if it takes one."""
    return attrs.evolve(noun, seed=seed) if takes_seed(noun) else noun


FACTORS = ("prior", "secret", "mechanism")


class NotRegistered(ValueError):
    """A noun's class is not in the registry, so that no other process can build it."""


@attrs.frozen(kw_only=True)
class Work:
    """A scenario and its measures; here as objects, elsewhere rebuilt from specifications."""

    prior: Any
    secret: Any
    mechanism: Any
    measures: tuple[Any, ...]

    def run(self) -> Iterator[Finding]:
        """Yield what each measure finds."""
        return measure_scenario(self.prior, self.secret, self.mechanism, self.measures)

    def _nouns(self) -> tuple[Any, ...]:
        return (self.prior, self.secret, self.mechanism, *self.measures)

    def code(self) -> str:
        """Return a hash of all the code the work needs, to be equal wherever it is done."""
        return digest([framework_fingerprint(), *(fingerprint(noun) for noun in self._nouns())])

    def message(self, registry: Registry) -> str:
        """Write the work as text: specifications, plugin files and a hash of the code."""
        for noun in self._nouns():
            for cls in classes_of(noun):
                _require_registered(cls, registry)
        return to_json(
            {
                **{factor: getattr(self, factor).specification() for factor in FACTORS},
                "measures": [measure.specification() for measure in self.measures],
                "code": self.code(),
            }
        )


def answer(message: str) -> str:
    """Do the work that a message describes, in whatever process this is, and write the findings."""
    table = from_json(message)
    registry = default_registry()
    work = Work(
        **{factor: registry.build(factor, table[factor]) for factor in FACTORS},
        measures=tuple(registry.build("measure", plain) for plain in table["measures"]),
    )
    if work.code() != table["code"]:
        raise RuntimeError(
            "the worker must run the same sfumato, plugins and numpy as the caller; its code is "
            "different."
        )
    return to_json([finding.plain() for finding in work.run()])


def read_answer(text: str) -> list[Finding]:
    """Read the findings that `answer` wrote."""
    return [Finding.from_plain(plain) for plain in from_json(text)]


def failed(work: Work, reason: str) -> list[Finding]:
    """Return the findings of work that could not be done."""
    return [Finding(outcome="failed", reason=reason) for _ in work.measures]


def _require_registered(cls: type, registry: Registry) -> None:
    kind, name = str(getattr(cls, "kind", "")), str(getattr(cls, "name", cls.__name__))
    known = [entry.value for entry in registry.find(name) if entry.kind == kind]
    if cls not in known:
        raise NotRegistered(
            f"{name} must be registered to be measured in another process; put its class into a "
            "plugin file, or run the study in this process."
        )


def run_in_process(works: Sequence[Work]) -> Iterator[tuple[int, int, Finding]]:
    """Yield (number of the work, number of the measure, finding), each as it is found."""
    with one_thread_for_linear_algebra():
        for number, work in enumerate(works):
            for place, finding in enumerate(work.run()):
                yield number, place, finding


FORMAT = 1
"""Of cache entries; a new one when findings change their form."""

Progress = Callable[[int, int], None]
Execute = Callable[[Sequence[Work]], Iterator[tuple[int, int, Finding]]]


@attrs.frozen
class Identified:
    """A noun with the hashes of what it says and of the code behind it, computed once."""

    labelled: Labelled
    noun: Any
    said: str
    code: str | None

    @classmethod
    def of(cls, labelled: Labelled) -> Identified:
        """Hash a noun; one without a specification cannot be kept."""
        noun = labelled.noun
        if not hasattr(noun, "specification"):
            return cls(labelled, noun, str(noun), None)
        return cls(labelled, noun, digest(noun.specification()), fingerprint(noun))

    def seeded(self, study_seed: int, *others: str) -> tuple[Identified, int | None]:
        """Return the noun with a seed, drawn where it leaves one open, and that seed."""
        if not takes_seed(self.noun):
            return self, own_seed(self.noun)
        seed = derived_seed(study_seed, *others, self.said)
        noun = with_seed(self.noun, seed)
        return attrs.evolve(self, noun=noun, said=digest(noun.specification())), seed


@attrs.define(eq=False)
class Slot:
    """One cell to be filled; cells that ask the same share one."""

    key: str | None
    seed: int | None
    finding: Finding | None = None

    def fill(self, finding: Finding) -> None:
        """Keep the finding, with the seed it was found under."""
        self.finding = attrs.evolve(finding, seed=self.seed)


@attrs.define
class Plan:
    """All cells of a study in order, and the work that the cache does not save."""

    study: Study
    cache: Cache | None
    cells: list[list[tuple[tuple[Labelled, ...], Slot]]] = attrs.field(factory=list)
    works: list[tuple[Work, list[Slot]]] = attrs.field(factory=list)
    slots: dict[str, Slot] = attrs.field(factory=dict)

    def add(self, part: Part) -> None:
        """Plan a part's cells."""
        lists = (part.priors, part.secrets, part.mechanisms, part.measures)
        priors, secrets, mechanisms, measures = ([Identified.of(n) for n in one] for one in lists)
        planned: list[tuple[tuple[Labelled, ...], Slot]] = []
        for scenario in itertools.product(priors, secrets, mechanisms):
            planned.extend(self._scenario(*scenario, measures))
        self.cells.append(planned)

    def _scenario(
        self,
        prior: Identified,
        secret: Identified,
        mechanism: Identified,
        measures: Sequence[Identified],
    ) -> Iterator[tuple[tuple[Labelled, ...], Slot]]:
        # A mechanism keeps its own seed: its row must name the very mechanism that was measured.
        seed = self.study.seed
        left: list[tuple[Any, Slot]] = []
        scenario = (prior, secret, mechanism)
        for given_measure in measures:
            measure, own = given_measure.seeded(seed, *(noun.said for noun in scenario))
            slot, is_new = self._slot(_key(*scenario, measure), own)
            if is_new and slot.finding is None:
                left.append((measure.noun, slot))
            yield tuple(noun.labelled for noun in (*scenario, measure)), slot
        if left:
            work = Work(
                prior=prior.noun,
                secret=secret.noun,
                mechanism=mechanism.noun,
                measures=tuple(measure for measure, _ in left),
            )
            self.works.append((work, [slot for _, slot in left]))

    def _slot(self, key: str | None, seed: int | None) -> tuple[Slot, bool]:
        """Return the slot of a cell, filled from the cache if it can be, and whether it is new."""
        if key is None:
            return Slot(None, seed), True
        if key in self.slots:
            return self.slots[key], False
        slot = self.slots[key] = Slot(key, seed)
        kept = self.cache.get(key) if self.cache else None
        if kept is not None:
            slot.fill(kept)
        return slot, True

    def execute(self, run: Execute, progress: Progress) -> None:
        """Fill what is left, keeping each finding as it comes."""
        total = sum(len(planned) for planned in self.cells)
        left = sum(len(slots) for _, slots in self.works)
        progress(total - left, total)
        works = [work for work, _ in self.works]
        for done, (number, place, finding) in enumerate(run(works) if works else (), start=1):
            slot = self.works[number][1][place]
            slot.fill(finding)
            if self.cache and slot.key and slot.finding:
                self.cache.put(slot.key, slot.finding)
            progress(total - left + done, total)

    def comparison(
        self, part: Part, planned: list[tuple[tuple[Labelled, ...], Slot]]
    ) -> Comparison:
        """Return a part's comparison, in the order of the question."""
        cells = []
        for nouns, slot in planned:
            if slot.finding is None:
                raise RuntimeError("every cell must be filled after a run; one is not.")
            cells.append(Cell.of(nouns, slot.finding))
        alone = self.study.title if len(self.study.parts) == 1 else ""
        return Comparison(cells=tuple(cells), title=part.title or alone, notes=part.notes)


def run_study(
    study: Study,
    *,
    jobs: int = 1,
    dask: str | None = None,
    cache: Path | str | None = None,
    progress: Progress | None = None,
) -> StudyResult:
    """Run a study; see `Study.run`."""
    store = None if cache is None else Cache(Path(cache))
    plan = Plan(study, store)
    for part in study.parts:
        plan.add(part)
    plan.execute(_executor(jobs, dask), progress or (lambda _done, _total: None))
    comparisons = itertools.starmap(plan.comparison, zip(study.parts, plan.cells, strict=True))
    return StudyResult(
        study=study,
        comparisons=tuple(comparisons),
        problems=tuple(store.problems) if store else (),
    )


def _executor(jobs: int, dask: str | None) -> Execute:
    """Return who does the work."""
    if jobs < 1:
        raise StudyError(f"jobs must be 1 or more; got {jobs}.")
    if jobs == 1 and dask is None:
        return run_in_process
    return partial(_run_elsewhere, jobs=jobs, dask=dask)


def _run_elsewhere(
    works: Sequence[Work], jobs: int, dask: str | None
) -> Iterator[tuple[int, int, Finding]]:
    messages = [work.message(default_registry()) for work in works]
    with closing(run(answer, messages, jobs=jobs, cluster=dask)) as finished:
        for number, future in finished:
            error = future.exception()
            if error is None:
                findings = read_answer(future.result())
            else:
                findings = failed(works[number], str(error))
            for place, finding in enumerate(findings):
                yield number, place, finding


def _key(*nouns: Identified) -> str | None:
    """Return the name of a cell in the cache: what it asks, and the code that answers."""
    codes = [noun.code for noun in nouns]
    if any(code is None for code in codes):
        return None
    texts = [str(FORMAT), framework_fingerprint(), *(noun.said for noun in nouns), *map(str, codes)]
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()
