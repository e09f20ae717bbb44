"""Study files: TOML in and out, with sweeps, every error naming its place.

Anywhere inside a noun's table a value may be

    { sweep = [1.0, 3.0, 6.0] }        these values
    { linspace = [0.1, 0.5, 5] }       5 values from 0.1 to 0.5, evenly
    { logspace = [0.01, 1.0, 5] }      5 values from 0.01 to 1.0, evenly in the logarithm

and several sweeps in one noun make every combination.
"""

from __future__ import annotations

import math
import numbers
import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import attrs

from sfumato.comparison.cells import KINDS, MAX_CELLS, Comparison, Labelled
from sfumato.comparison.study import Part, Study, StudyResult
from sfumato.domains.alternatives import Either, Plugin
from sfumato.domains.domain import Domain
from sfumato.errors import ParameterError, StudyError, did_you_mean
from sfumato.plugin_registry import Registry
from sfumato.protocols import NOUNS
from sfumato.values import from_json, to_json

SWEEPS = ("sweep", "linspace", "logspace")
FORMS = (*SWEEPS, "interval", "any_of")
"""What a table in place of a value can be: a sweep of values, or a class of them."""
LISTS = {NOUNS[kind].plural: kind for kind in KINDS}
ADVERSARIES = NOUNS["adversary"].plural
OWN_KEYS = (*LISTS, ADVERSARIES, "maps")
"""What a study of one part says itself, and one of several parts in each of them."""
SHALLOW = "must have tables and lists that are not nested so deeply."
MANY_CELLS = 1_000_000
"""What `max_cells` can be raised to: all cells of a study are kept in memory."""


# Sweeps ------------------------------------------------------------------------------------------


def count(plain: Any, where: str) -> int:
    """Return how many nouns a table stands for, without making them.

    >>> from sfumato.comparison.study_files import count
    >>> count({"name": "rbf", "length_scale": {"linspace": [0, 1, 1_000_000_000]}}, "priors[0]")
    1000000000
    """
    return _variants(plain, where)[0]


def expand(plain: Any, where: str) -> Iterator[Any]:
    """Yield the tables without sweeps that a table stands for, the first sweep slowest.

    >>> from sfumato.comparison.study_files import expand
    >>> list(expand({"mse": {"sweep": [1, 2]}}, "mechanisms[0]"))
    [{'mse': 1}, {'mse': 2}]
    """
    size, make = _variants(plain, where)
    return map(make, range(size))


def _variants(plain: Any, where: str) -> tuple[int, Callable[[int], Any]]:
    """Return how many values a table stands for, and what makes each of them."""
    if isinstance(plain, Mapping) and len(plain) == 1 and next(iter(plain)) in SWEEPS:
        return _sweep(plain, where)
    _check_form(plain, where)
    if isinstance(plain, Mapping):
        inner = [_variants(value, f"{where}.{key}") for key, value in plain.items()]
    elif isinstance(plain, list) and any(isinstance(value, (Mapping, list)) for value in plain):
        inner = [_variants(value, f"{where}[{place}]") for place, value in enumerate(plain)]
    else:
        return 1, lambda _: plain

    def make(number: int) -> Any:
        chosen: list[Any] = []
        for size, one in reversed(inner):  # the digits of the number, the last first
            number, digit = divmod(number, size)
            chosen.insert(0, one(digit))
        return dict(zip(plain, chosen, strict=True)) if isinstance(plain, Mapping) else chosen

    return math.prod(size for size, _ in inner), make


def _check_form(plain: Any, where: str) -> None:
    """Refuse a table that was meant as a sweep or a class and is neither."""
    if not isinstance(plain, Mapping) or "name" in plain:
        return
    forms = [key for key in plain if key in FORMS]
    if len(forms) > 1:
        raise StudyError(f"{where} must be one of {', '.join(FORMS)}; got {' and '.join(forms)}.")
    if len(plain) == 1 and not forms:
        (key,) = plain
        hint = did_you_mean(str(key), FORMS)
        if hint.startswith("did"):
            raise StudyError(f"{where} has no form '{key}'; {hint}")


def _sweep(plain: Mapping[str, Any], where: str) -> tuple[int, Callable[[int], Any]]:
    """Return how many values a sweep has, and what makes each of them."""
    ((form, given),) = plain.items()

    def require(holds: bool, what: str) -> None:
        if not holds:
            raise StudyError(f"{where}.{form} must {what}; got {given!r}.")

    require(isinstance(given, list) and len(given) > 0, "be a list of values")
    if form == "sweep":
        return len(given), given.__getitem__
    real = [isinstance(n, numbers.Real) and not isinstance(n, bool) for n in given]
    whole = len(given) == 3 and all(real) and isinstance(given[2], int) and given[2] >= 2
    require(whole, "be [from, to, how many], with 2 or more of them")
    low, high, steps = given
    last = steps - 1
    largest = sys.float_info.max
    require(-largest <= low < high <= largest, "go up between finite ends")
    if form == "linspace":
        require(math.isfinite(float(high) - float(low)), "span a finite range")
        if isinstance(low, int) and isinstance(high, int) and (high - low) % last == 0:
            # so that whole parameters can be swept, too
            return steps, lambda step: low + step * ((high - low) // last)
        return steps, lambda step: low + (high - low) * (step / last)
    require(low > 0, "have positive ends (the values, not exponents)")
    ratio = float(high) / float(low)
    require(math.isfinite(ratio), "span a finite ratio")
    return steps, lambda step: float(high) if step == last else low * ratio ** (step / last)


# Tables ------------------------------------------------------------------------------------------


def study_from_table(table: Mapping[str, Any], registry: Registry, source: str) -> Study:
    """Return the study that a table describes; its size is known before anything is built."""
    _only_keys(table, {"title", "notes", "seed", "max_cells", "parts", *OWN_KEYS}, source)
    most = _whole(table, "max_cells", MAX_CELLS, source)
    if not 1 <= most <= MANY_CELLS:
        raise StudyError(
            f"{source}: max_cells must lie in 1 to {MANY_CELLS:,}; got {most:,}: split the study."
        )
    parts = [PartTable(part, registry, where) for where, part in _part_tables(table, source)]
    try:
        total = sum(part.size() for part in parts)
    except RecursionError:
        raise StudyError(f"{source} {SHALLOW}") from None
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
        parts=tuple(part.build() for part in parts),
    )


def _part_tables(table: Mapping[str, Any], source: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each part's table with its place: those listed, or the whole study as one."""
    own = {key: table[key] for key in OWN_KEYS if key in table}
    if "parts" not in table:
        yield f"{source}: ", own
        return
    if own:
        raise StudyError(f"{source} must have '{next(iter(own))}' inside its parts; got both.")
    parts = table["parts"]
    if not isinstance(parts, list) or not parts:
        raise StudyError(f"{source}: parts must be a list of tables, [[parts]].")
    for place, part in enumerate(parts):
        where = f"{source}: parts[{place}]"
        if not isinstance(part, Mapping):
            raise StudyError(f"{where} must be a table; got {part!r}.")
        _only_keys(part, {"title", "notes", *OWN_KEYS}, where)
        yield f"{where}.", part


@attrs.frozen
class PartTable:
    """The table of one part, and the place where it stands in the file."""

    table: Mapping[str, Any]
    registry: Registry
    where: str

    @property
    def who(self) -> str:
        """The place, as a sentence begins with it."""
        return self.where.rstrip(": .")

    def size(self) -> int:
        """Return the number of cells, from the table alone."""
        lists = map(self._items, LISTS)
        return math.prod(sum(count(item, place) for place, item in items) for items in lists)

    def build(self) -> Part:
        """Build the nouns."""
        lists: dict[str, Any] = {}
        for key, kind in LISTS.items():
            items = self._items(key)
            if not items:
                value = self.table.get(key)
                raise StudyError(f"{self.who} must have a list '{key}'; got {value!r}.")
            lists[key] = [noun for place, item in items for noun in self._build(kind, item, place)]
        maps = self.table.get("maps")
        if not isinstance(maps, bool | None):
            raise StudyError(f"{self.who}: maps must be true or false; got {maps!r}.")
        words = {key: _text(self.table, key, self.who) for key in ("title", "notes")}
        return Part(maps=maps, **words, **lists)

    def _items(self, key: str) -> list[tuple[str, Any]]:
        """Return the items of a list, each with its place in the file."""
        given = self.table.get(key, [])
        if not isinstance(given, (list, tuple)):
            raise StudyError(f"{self.who} must have a list '{key}'; got {given!r}.")
        items = [(f"{self.where}{key}[{place}]", item) for place, item in enumerate(given)]
        return self._with_adversaries(items) if key == "measures" else items

    def _with_adversaries(self, items: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
        """Give every measure that leaves its adversary open each of the listed ones."""
        adversaries = [_table(item, place) for place, item in self._items(ADVERSARIES)]
        found: list[tuple[str, Any]] = []
        for place, item in items:
            parameter = self._open_adversary(item)
            if parameter is None or not adversaries:
                found.append((place, item))
                continue
            table = _table(item, place)
            for adversary in adversaries:
                own = {key: value for key, value in adversary.items() if key != "label"}
                name = table.get("label") or table["name"]
                label = {"label": f"{name}, {adversary['label']}"} if "label" in adversary else {}
                found.append((place, {**table, parameter: own, **label}))
        if adversaries and found == items:
            raise StudyError(
                f"{self.where}{ADVERSARIES} must have a measure that takes an adversary; none of "
                "these does."
            )
        return found

    def _open_adversary(self, item: Any) -> str | None:
        """Return the parameter in which a measure's table leaves its adversary open."""
        table = {"name": item} if isinstance(item, str) else item
        if not isinstance(table, Mapping) or table.get("name") not in self.registry.names(
            "measure"
        ):
            return None
        for declared in self.registry.get("measure", table["name"]).parameters():
            if _takes_adversary(declared.domain) and declared.name not in table:
                return str(declared.name)
        return None

    def _build(self, kind: str, item: Any, where: str) -> Iterator[Labelled]:
        """Build the nouns of one item, naming the place in the file if they cannot be built."""
        if isinstance(item, Labelled) or getattr(item, "kind", None) == kind:
            yield Labelled.of(item)
            return
        table = _table(item, where)
        label = _text(table, "label", where)
        for plain in expand({key: table[key] for key in table if key != "label"}, where):
            try:
                yield Labelled(self.registry.build(kind, plain), label)
            except (ParameterError, TypeError, LookupError) as error:
                inner = reversed(getattr(error, "__notes__", []))
                raise StudyError(_name_place(str(error), ".".join([where, *inner]))) from None


def _table(item: Any, where: str) -> Mapping[str, Any]:
    """Return a noun's table, with its label; a bare name is one, too."""
    labelled = Labelled.of(item)
    if hasattr(labelled.noun, "specification"):
        return {**labelled.noun.specification(), **_without_empty({"label": labelled.label})}
    table = {"name": item} if isinstance(item, str) else item
    if not isinstance(table, Mapping):
        raise StudyError(f"{where} must be a name or a table with a name; got {item!r}.")
    return table


def _takes_adversary(domain: Domain) -> bool:
    if isinstance(domain, Either):
        return any(_takes_adversary(option) for option in domain.options)
    return isinstance(domain, Plugin) and domain.kind == "adversary"


def _name_place(message: str, where: str) -> str:
    """Name the place: "mechanisms[2].mse must be ..." for "gaussian_uniform.mse must be ..."."""
    unknown = re.fullmatch(r"(\w+) has no parameter '(\w+)'; (.*)", message)
    if unknown:
        return f"{where}.{unknown[2]} is no parameter of {unknown[1]}; {unknown[3]}"
    plugin, dot, rest = message.partition(".")
    own = dot and plugin.isidentifier() and rest.split(" ")[0].isidentifier()
    return f"{where}.{rest}" if own else f"{where}: {message}"


def _only_keys(table: Mapping[str, Any], known: set[str], where: str) -> None:
    for key in table:
        if key not in known:
            raise StudyError(f"{where} has no key '{key}'; {did_you_mean(key, known)}")


def _text(table: Mapping[str, Any], key: str, where: str) -> str:
    value = table.get(key, "")
    if not isinstance(value, str):
        raise StudyError(f"{where}: {key} must be text; got {value!r}.")
    return value


def _whole(table: Mapping[str, Any], key: str, default: int, where: str) -> int:
    value = table.get(key, default)
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < 0:
        raise StudyError(f"{where}: {key} must be a whole number, 0 or more; got {value!r}.")
    return int(value)


# Files -------------------------------------------------------------------------------------------


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
    except OSError as error:
        raise StudyError(f"there is no study file {path}: {error.strerror}.") from None
    return parse_study(text, registry, path.name)


def parse_study(text: str, registry: Registry, source: str) -> Study:
    """Return the study that a TOML text describes; a syntax error names its line."""
    try:
        table = tomllib.loads(text)
    except RecursionError:
        raise StudyError(f"{source} {SHALLOW}") from None
    except ValueError as error:  # also of Python, which reads no number of so many digits
        raise StudyError(f"{source} is not TOML: {error}.") from None
    return study_from_table(table, registry, source)


def to_toml(study: Study) -> str:
    """Return the text of a study file; sweeps are written out.

    >>> import sfumato as sf
    >>> from sfumato.comparison.study_files import to_toml
    >>> part = sf.Part(priors=[sf.priors.rbf(length_scale=2.0, times=5)],
    ...     secrets=[sf.secrets.basic(2)], measures=[sf.measures.renyi()],
    ...     mechanisms=[sf.mechanisms.gaussian_uniform(mse=0.1)])
    >>> study = sf.Study(title="One cell", parts=[part])
    >>> import tomllib
    >>> sf.Study.from_table(tomllib.loads(to_toml(study))) == study
    True
    """
    import tomli_w

    table: dict[str, Any] = {"title": study.title, "notes": study.notes, "seed": study.seed}
    if study.max_cells != MAX_CELLS:
        table["max_cells"] = study.max_cells
    parts = [
        {
            **_without_empty({"title": part.title, "notes": part.notes}),
            **({} if part.maps is None else {"maps": part.maps}),
            **{key: [_table(noun, key) for noun in getattr(part, key)] for key in LISTS},
        }
        for part in study.parts
    ]
    plain = from_json(to_json({**_without_empty(table), "parts": parts}))
    text = tomli_w.dumps(plain, indent=2)
    # Numbers and plain words in rows: a transition matrix would otherwise take a line a number.
    return re.sub(
        r"\[\n((?: *(?:[\w.+-]+|\"[\w .+-]*\"),\n)+) *\]",
        lambda row: "[" + ", ".join(one.strip(" ,") for one in row[1].splitlines()) + "]",
        text,
    )


def _without_empty(table: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in table.items() if value}


def as_study_result(comparison: Comparison) -> StudyResult:
    """Return a comparison as the result of a study of one part, whose lists are its nouns."""
    lists: dict[str, Any] = {
        key: dict.fromkeys(
            Labelled(getattr(cell, kind), cell.labels.get(kind, "")) for cell in comparison.cells
        )
        for key, kind in LISTS.items()
    }
    size = max(MAX_CELLS, len(comparison.cells))
    title = comparison.title or "A comparison"
    study = Study(title=title, notes=comparison.notes, parts=(Part(**lists),), max_cells=size)
    return StudyResult(study=study, comparisons=(comparison,))
