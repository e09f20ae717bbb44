"""From a table, as TOML gives it, to a study: validated, unknown keys rejected, never any code."""

from __future__ import annotations

import numbers
import re
from collections.abc import Iterator, Mapping
from typing import Any

from sfumato.comparison import MAX_CELLS
from sfumato.domains.alternatives import Either, Plugin
from sfumato.domains.domain import Domain
from sfumato.errors import ParameterError
from sfumato.labelled import Labelled
from sfumato.plugin_registry import Registry, did_you_mean
from sfumato.studies.study import Part, Study
from sfumato.studies.study_error import StudyError
from sfumato.studies.sweeps import count, expand

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
