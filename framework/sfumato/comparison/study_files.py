"""Sweeps: one table of a study that stands for many, one for each value of a parameter.

Anywhere inside a noun's table a value may be

    { sweep = [1.0, 3.0, 6.0] }        these values
    { linspace = [0.1, 0.5, 5] }       5 values from 0.1 to 0.5, evenly
    { logspace = [0.01, 1.0, 5] }      5 values from 0.01 to 1.0, evenly in the logarithm

and several sweeps in one noun make every combination.
"""

from __future__ import annotations

import difflib
import itertools
import math
import numbers
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.comparison.cells import MAX_CELLS, Labelled
from sfumato.comparison.study import Part, Study, StudyError
from sfumato.domains.alternatives import Either, Plugin
from sfumato.domains.domain import Domain
from sfumato.errors import ParameterError
from sfumato.plugin_registry import Registry, did_you_mean
from sfumato.values import from_json, to_json

if TYPE_CHECKING:
    from sfumato.comparison.cells import Comparison
    from sfumato.comparison.study import StudyResult


SWEEPS = ("sweep", "linspace", "logspace")
FORMS = (*SWEEPS, "interval", "any_of")
"""What a table in place of a value can be: a sweep of values, or a class of them."""
NEAR = 0.75
"""How alike a misspelt form is to its name, from 0 to 1."""


def count(plain: Any, where: str) -> int:
    """Return how many nouns a table stands for, without making them.

    >>> count({"name": "rbf", "length_scale": {"linspace": [0, 1, 1_000_000_000]}}, "priors[0]")
    1000000000
    """
    if _is_sweep(plain):
        return _length(plain, where)
    _check_form(plain, where)
    inner: list[tuple[str, Any]] = []
    if isinstance(plain, Mapping):
        inner = [(f"{where}.{key}", value) for key, value in plain.items()]
    elif isinstance(plain, list):
        inner = [(f"{where}[{place}]", value) for place, value in enumerate(plain)]
    return math.prod(count(value, place) for place, value in inner)


def expand(plain: Any, where: str) -> Iterator[Any]:
    """Yield the tables without sweeps that a table stands for, the first sweep slowest.

    >>> list(expand({"mse": {"sweep": [1, 2]}}, "mechanisms[0]"))
    [{'mse': 1}, {'mse': 2}]
    """
    if _is_sweep(plain):
        yield from _values(plain, where)
    elif isinstance(plain, Mapping):
        yield from _expand_items(list(plain.items()), where)
    elif isinstance(plain, list) and count(plain, where) != 1:
        items = [(str(place), value) for place, value in enumerate(plain)]
        for table in _expand_items(items, where):
            yield list(table.values())
    else:
        yield plain


def _expand_items(items: list[tuple[str, Any]], where: str) -> Iterator[dict[str, Any]]:
    choices = [list(expand(value, f"{where}.{key}")) for key, value in items]
    for chosen in itertools.product(*choices):
        yield dict(zip((key for key, _ in items), chosen, strict=True))


def _is_sweep(plain: Any) -> bool:
    return isinstance(plain, Mapping) and len(plain) == 1 and next(iter(plain)) in SWEEPS


def _check_form(plain: Any, where: str) -> None:
    """Refuse a table that was meant as a sweep or a class and is neither."""
    if not isinstance(plain, Mapping) or "name" in plain:
        return
    forms = [key for key in plain if key in FORMS]
    if len(forms) > 1:
        raise StudyError(f"{where} must be one of {', '.join(FORMS)}; got {' and '.join(forms)}.")
    if len(plain) == 1 and not forms:
        (key,) = plain
        near = difflib.get_close_matches(str(key), FORMS, n=1, cutoff=NEAR)
        if near:
            raise StudyError(f"{where} has no form '{key}'; did you mean '{near[0]}'?")


def _length(plain: Mapping[str, Any], where: str) -> int:
    ((form, given),) = plain.items()
    if not isinstance(given, list) or not given:
        raise StudyError(f"{where}.{form} must be a list of values; got {given!r}.")
    if form == "sweep":
        return len(given)
    _, _, steps = _ends(form, given, where)
    return steps


def _values(plain: Mapping[str, Any], where: str) -> list[Any]:
    _length(plain, where)
    ((form, given),) = plain.items()
    if form == "sweep":
        return list(given)
    low, high, steps = _ends(form, given, where)
    shares = [step / (steps - 1) for step in range(steps)]
    if form == "logspace":
        inner = [low * (high / low) ** share for share in shares[1:-1]]
        return [float(low), *inner, float(high)]
    whole = isinstance(low, int) and isinstance(high, int) and (high - low) % (steps - 1) == 0
    if whole:  # so that whole parameters can be swept, too
        return list(range(low, high + 1, (high - low) // (steps - 1)))
    return [low + (high - low) * share for share in shares]


def _ends(form: str, given: list[Any], where: str) -> tuple[Any, Any, int]:
    """Return the ends and the number of values of an evenly spaced sweep."""
    real = [isinstance(n, numbers.Real) and not isinstance(n, bool) for n in given]
    if len(given) != 3 or not all(real) or not isinstance(given[2], int) or given[2] < 2:
        raise StudyError(
            f"{where}.{form} must be [from, to, how many], with 2 or more of them; got {given!r}."
        )
    low, high, steps = given
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise StudyError(f"{where}.{form} must go up between finite ends; got {given!r}.")
    if form == "linspace" and not math.isfinite(float(high) - float(low)):
        raise StudyError(f"{where}.linspace must span a finite range; got {given!r}.")
    if form == "logspace" and low <= 0:
        raise StudyError(
            f"{where}.logspace must have positive ends (the values, not exponents); got {given!r}."
        )
    if form == "logspace" and not math.isfinite(float(high) / float(low)):
        raise StudyError(f"{where}.logspace must span a finite ratio; got {given!r}.")
    return low, high, steps


LISTS = {
    "priors": "prior",
    "secrets": "secret",
    "mechanisms": "mechanism",
    "measures": "measure",
}
ADVERSARIES = "adversaries"
MANY_CELLS = 1_000_000
"""What `max_cells` can be raised to: all cells of a study are kept in memory."""
PART_KEYS = {"title", "notes", ADVERSARIES, *LISTS}


def study_from_table(table: Mapping[str, Any], registry: Registry, source: str) -> Study:
    """Return the study that a table describes; its size is known before anything is built."""
    _only_keys(table, {"seed", "max_cells", "parts", *PART_KEYS}, source)
    most = _whole(table, "max_cells", MAX_CELLS, source)
    if not 1 <= most <= MANY_CELLS:
        raise StudyError(
            f"{source}: max_cells must lie in 1 to {MANY_CELLS:,}; got {most:,}: split the study."
        )
    parts = dict(_part_tables(table, source))
    total = sum(_part_size(part, registry, where) for where, part in parts.items())
    if total > most:
        raise StudyError(
            f"{source} must have at most {most:,} cells; got {total:,}: make its sweeps smaller "
            "or raise max_cells."
        )
    return Study(
        title=_text(table, "title", source) or source,
        notes=_text(table, "notes", source),
        seed=_whole(table, "seed", 0, source),
        max_cells=most,
        parts=tuple(_part(part, registry, where) for where, part in parts.items()),
    )


def _part_tables(table: Mapping[str, Any], source: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each part's table with its place: those listed, or the whole study as one."""
    if "parts" not in table:
        own = {key: table[key] for key in (*LISTS, ADVERSARIES) if key in table}
        yield f"{source}: ", own
        return
    doubled = [key for key in (*LISTS, ADVERSARIES) if key in table]
    if doubled:
        raise StudyError(f"{source} must have '{doubled[0]}' inside its parts; got both.")
    parts = table["parts"]
    if not isinstance(parts, list) or not parts:
        raise StudyError(f"{source}: parts must be a list of tables, [[parts]].")
    for place, part in enumerate(parts):
        where = f"{source}: parts[{place}]"
        if not isinstance(part, Mapping):
            raise StudyError(f"{where} must be a table; got {part!r}.")
        _only_keys(part, PART_KEYS, where)
        yield f"{where}.", part


def _part_size(table: Mapping[str, Any], registry: Registry, where: str) -> int:
    """Return the number of cells of a part, from the tables alone."""
    size = 1
    adversaries = _total(_items(table, ADVERSARIES, where, needed=False))
    for key in LISTS:
        items = _items(table, key, where, needed=False)
        if key == "measures" and adversaries:
            size *= sum(
                _total([(place, item)])
                * (adversaries if _open_adversary(item, registry) is not None else 1)
                for place, item in items
            )
        else:
            size *= _total(items)
    return size


def _total(items: list[tuple[str, Any]]) -> int:
    return sum(count(item, place) for place, item in items)


def _items(
    table: Mapping[str, Any], key: str, where: str, *, needed: bool = True
) -> list[tuple[str, Any]]:
    """Return the items of a list, each with its place in the file."""
    items = table.get(key, [] if not needed else None)
    if not isinstance(items, (list, tuple)) or (needed and not items):
        who = where.rstrip(": .")
        raise StudyError(f"{who} must have a list '{key}'; got {items!r}.")
    return [(f"{where}{key}[{place}]", item) for place, item in enumerate(items)]


def _part(table: Mapping[str, Any], registry: Registry, where: str) -> Part:
    adversaries = [
        built
        for place, item in _items(table, ADVERSARIES, where, needed=False)
        for built in _built(registry, "adversary", item, place)
    ]
    lists = {}
    for key, kind in LISTS.items():
        items = _items(table, key, where)
        if key == "measures" and adversaries:
            items = list(_with_adversaries(items, adversaries, registry, where))
        lists[key] = tuple(
            built for place, item in items for built in _built(registry, kind, item, place)
        )
    return Part(title=_text(table, "title", where), notes=_text(table, "notes", where), **lists)


def _built(registry: Registry, kind: str, item: Any, where: str) -> Iterator[Labelled]:
    """Build the nouns of one item, naming the place in the file if they cannot be built."""
    if isinstance(item, Labelled) or getattr(item, "kind", None) == kind:
        yield Labelled.of(item)
        return
    specification = {"name": item} if isinstance(item, str) else item
    if not isinstance(specification, Mapping):
        raise StudyError(f"{where} must be a name or a table with a name; got {item!r}.")
    label = _text(specification, "label", where)
    plain = {key: value for key, value in specification.items() if key != "label"}
    for table in expand(plain, where):
        try:
            yield Labelled(registry.build(kind, table), label)
        except (ParameterError, TypeError, LookupError) as error:
            inner = reversed(getattr(error, "__notes__", []))
            raise StudyError(_placed(str(error), ".".join([where, *inner]))) from None


def _placed(message: str, where: str) -> str:
    """Name the place: "mechanisms[2].mse must be ..." for "gaussian_uniform.mse must be ..."."""
    unknown = re.fullmatch(r"(\w+) has no parameter '(\w+)'; (.*)", message)
    if unknown:
        return f"{where}.{unknown[2]} is no parameter of {unknown[1]}; {unknown[3]}"
    plugin, dot, rest = message.partition(".")
    own = dot and plugin.isidentifier() and rest.split(" ")[0].isidentifier()
    return f"{where}.{rest}" if own else f"{where}: {message}"


def _with_adversaries(
    items: list[tuple[str, Any]], adversaries: list[Labelled], registry: Registry, where: str
) -> Iterator[tuple[str, Any]]:
    """Give every measure that leaves its adversary open each of the listed ones."""
    taken = False
    for place, item in items:
        parameter = _open_adversary(item, registry)
        if parameter is None:
            yield place, item
            continue
        taken = True
        table = {"name": item} if isinstance(item, str) else item
        for adversary in adversaries:
            name = table.get("label") or table["name"]
            label = {"label": f"{name}, {adversary.label}"} if adversary.label else {}
            yield place, {**table, parameter: adversary.noun.specification(), **label}
    if not taken:
        raise StudyError(
            f"{where}{ADVERSARIES} must have a measure that takes an adversary; none of these does."
        )


def _open_adversary(item: Any, registry: Registry) -> str | None:
    """Return the parameter in which a measure's table leaves its adversary open."""
    table = {"name": item} if isinstance(item, str) else item
    if not isinstance(table, Mapping) or table.get("name") not in registry.names("measure"):
        return None
    for declared in registry.get("measure", table["name"]).parameters():
        if _takes_adversary(declared.domain) and declared.name not in table:
            return str(declared.name)
    return None


def _takes_adversary(domain: Domain) -> bool:
    if isinstance(domain, Either):
        return any(_takes_adversary(option) for option in domain.options)
    return isinstance(domain, Plugin) and domain.kind == "adversary"


def _only_keys(table: Mapping[str, Any], known: set[str], where: str) -> None:
    for key in table:
        if key not in known:
            raise StudyError(f"{where} has no key '{key}'; {did_you_mean(key, known)}")


def _text(table: Mapping[str, Any], key: str, where: str) -> str:
    value = table.get(key, "")
    if not isinstance(value, str):
        raise StudyError(f"{where.rstrip(': .')}: {key} must be text; got {value!r}.")
    return value


def _whole(table: Mapping[str, Any], key: str, default: int, where: str) -> int:
    value = table.get(key, default)
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < 0:
        raise StudyError(f"{where}: {key} must be a whole number, 0 or more; got {value!r}.")
    return int(value)


def default_study(registry: Registry) -> Study:
    """Return the bundled example: one small question in each of three worlds."""
    text = files("sfumato.comparison").joinpath("default.toml").read_text(encoding="utf-8")
    return parse_study(text, registry, "default.toml")


def bundled_study(name: str, registry: Registry) -> Study:
    """Return a study that a plugin registers by the hook `sfumato_studies`."""
    return read_study(Path(registry.get("study", name)), registry)


def read_study(path: Path, registry: Registry) -> Study:
    """Read a study file."""
    try:
        text = path.read_text(encoding="utf-8-sig")  # some editors begin a file with a mark
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise StudyError(f"{path.name} must be UTF-8 text; line {line} is not.") from None
    except IsADirectoryError:
        raise StudyError(f"{path} must be a study file; it is a folder.") from None
    except FileNotFoundError:
        raise StudyError(f"there is no study file {path}.") from None
    return parse_study(text, registry, path.name)


def parse_study(text: str, registry: Registry, source: str) -> Study:
    """Return the study that a TOML text describes; a syntax error names its line."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise StudyError(f"{source} is not TOML: {_with_line(str(error), text)}.") from None
    return study_from_table(table, registry, source)


def _with_line(message: str, text: str) -> str:
    """Name the last line, and where what is unfinished there begins, for "at end of document"."""
    if "end of document" not in message:
        return message
    lines = text.splitlines()
    begun = next((place for place in _assignments(lines) if _is_toml(lines[:place])), None)
    beginning = "" if begun is None else f"; what begins at line {begun + 1} is not finished"
    place = f"at line {len(lines)}, the end of the document{beginning}"
    return message.replace("at end of document", place)


def _assignments(lines: Sequence[str]) -> Iterator[int]:
    """Yield the places of lines that look like ``key = ...``, the last first."""
    for place in reversed(range(len(lines))):
        if re.match(r"""\s*[\w."'-]+\s*=""", lines[place]):
            yield place


def _is_toml(lines: Sequence[str]) -> bool:
    try:
        tomllib.loads("\n".join(lines))
    except tomllib.TOMLDecodeError:
        return False
    return True


WRITTEN_LISTS = ("priors", "secrets", "mechanisms", "measures")


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
    table["parts"] = [_written_part(part) for part in study.parts]
    return tomli_w.dumps(from_json(to_json(table)), indent=2)


def _written_part(part: Part) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for key in ("title", "notes"):
        if getattr(part, key):
            table[key] = getattr(part, key)
    for key in WRITTEN_LISTS:
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
    from sfumato.comparison.cells import Labelled
    from sfumato.comparison.study import StudyResult

    lists: dict[str, Any] = {
        key: dict.fromkeys(
            Labelled(getattr(cell, kind), cell.labels.get(kind, "")) for cell in comparison.cells
        )
        for key, kind in zip(
            WRITTEN_LISTS, ("prior", "secret", "mechanism", "measure"), strict=True
        )
    }
    size = max(MAX_CELLS, len(comparison.cells))
    title = comparison.title or "A comparison"
    study = Study(title=title, notes=comparison.notes, parts=(Part(**lists),), max_cells=size)
    return StudyResult(study=study, comparisons=(comparison,))
