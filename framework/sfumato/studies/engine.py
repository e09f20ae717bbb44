"""From a study to its result: what the cache holds, what is left to do, and who does it."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import attrs

from sfumato.comparison import Cell, Comparison
from sfumato.finding import Finding
from sfumato.labelled import Labelled
from sfumato.plain_json import digest
from sfumato.plugin_registry import default_registry
from sfumato.studies.cache import Cache
from sfumato.studies.cell_seeds import derived_seed, own_seed, takes_seed, with_seed
from sfumato.studies.code_fingerprint import fingerprint, framework_fingerprint
from sfumato.studies.study import Part, Study
from sfumato.studies.study_error import StudyError
from sfumato.studies.study_result import StudyResult
from sfumato.studies.work import Work

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
    if dask is not None:
        from sfumato.studies.dask_cluster import run_on_dask

        return partial(run_on_dask, address=dask, registry=default_registry())
    if jobs < 1:
        raise StudyError(f"jobs must be 1 or more; got {jobs}.")
    if jobs > 1:
        from sfumato.studies.worker_processes import run_in_workers

        return partial(run_in_workers, jobs=jobs, registry=default_registry())
    from sfumato.studies.in_process import run_in_process

    return run_in_process


def _key(*nouns: Identified) -> str | None:
    """Return the name of a cell in the cache: what it asks, and the code that answers."""
    codes = [noun.code for noun in nouns]
    if any(code is None for code in codes):
        return None
    texts = [str(FORMAT), framework_fingerprint(), *(noun.said for noun in nouns), *map(str, codes)]
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()
