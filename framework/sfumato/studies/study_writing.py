"""Writing a study down: the TOML that asks the same question again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfumato.comparison import MAX_CELLS
from sfumato.plain_json import from_json, to_json
from sfumato.studies.study import Part, Study

if TYPE_CHECKING:
    from sfumato.comparison import Comparison
    from sfumato.studies.study_result import StudyResult

LISTS = ("priors", "secrets", "mechanisms", "measures")


def to_toml(study: Study) -> str:
    """Return the text of a study file; sweeps are written out.

    >>> import sfumato as sf
    >>> part = sf.Part(priors=[sf.priors.rbf(length_scale=2.0, times=5)],
    ...     secrets=[sf.secrets.basic(2)], measures=[sf.measures.renyi()],
    ...     mechanisms=[sf.mechanisms.gaussian_uniform(mse=0.1)])
    >>> study = sf.Study(title="One cell", parts=[part])
    >>> import tomllib
    >>> sf.Study.from_table(tomllib.loads(to_toml(study))) == study
    True
    """
    import tomli_w

    table: dict[str, Any] = {"title": study.title}
    if study.notes:
        table["notes"] = study.notes
    if study.seed:
        table["seed"] = study.seed
    if study.max_cells != MAX_CELLS:
        table["max_cells"] = study.max_cells
    table["parts"] = [_part(part) for part in study.parts]
    return tomli_w.dumps(from_json(to_json(table)), indent=2)


def _part(part: Part) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for key in ("title", "notes"):
        if getattr(part, key):
            table[key] = getattr(part, key)
    for key in LISTS:
        table[key] = [
            {
                **labelled.noun.specification(),
                **({"label": labelled.label} if labelled.label else {}),
            }
            for labelled in getattr(part, key)
        ]
    return table


def as_study_result(comparison: Comparison) -> StudyResult:
    """Return a comparison as the result of a study of one part, whose lists are its nouns."""
    from sfumato.labelled import Labelled
    from sfumato.studies.study_result import StudyResult

    lists: dict[str, Any] = {
        key: dict.fromkeys(
            Labelled(getattr(cell, kind), cell.labels.get(kind, "")) for cell in comparison.cells
        )
        for key, kind in zip(LISTS, ("prior", "secret", "mechanism", "measure"), strict=True)
    }
    size = max(MAX_CELLS, len(comparison.cells))
    title = comparison.title or "A comparison"
    study = Study(title=title, notes=comparison.notes, parts=(Part(**lists),), max_cells=size)
    return StudyResult(study=study, comparisons=(comparison,))
