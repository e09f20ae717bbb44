"""`sfumato list`: everything registered, or what fits together."""

from __future__ import annotations

import itertools
import string
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import attrs
import click

from sfumato.commands.arguments import (
    plain_table,
    print_json,
    require_known,
    with_json,
    with_plugins,
)
from sfumato.comparison.cells import FACTORS, answer_each, ask_loss
from sfumato.compatibility import why_no_loss, why_no_release
from sfumato.plugin_registry import (
    Registry,
    default_registry,
    note_place,
    written_document,
)
from sfumato.protocols import NOUNS

if TYPE_CHECKING:
    from rich.table import Table

COLUMNS = ("kind", "name", "what it is", "from")
Standing = Literal["exact", "bounded", "impossible"]
MARKS: Mapping[str, str] = {"exact": "●", "bounded": "◐", "impossible": "–"}
Fits = dict[str, tuple[str, ...]]
"""The measures that apply to each mechanism."""


@click.command("list")
@with_plugins
@with_json
@click.option(
    "--compatible",
    is_flag=False,
    flag_value="",
    default=None,
    metavar="[NAME]",
    help="Show which combinations fit together, all of them or those with NAME.",
)
@click.option(
    "--matrix",
    is_flag=True,
    help="Show which definition can be read in which world, tried on small scenarios.",
)
def command(*, compatible: str | None, as_json: bool, matrix: bool) -> None:
    """List every registered prior, secret, mechanism, adversary and measure."""
    from rich.console import Console

    registry, console = default_registry(), Console()
    if matrix:
        _print_worlds(registry, as_json=as_json)
        return
    if compatible is not None:
        scenarios = list(_scenarios(registry, compatible))
        names = (*FACTORS, "measures")
        if as_json:
            print_json([dict(zip(names, one, strict=True)) for one in scenarios])
        for words, fits in () if as_json else _merged(scenarios).items():
            console.print(f"[bold]{words}[/bold]", highlight=False)
            console.print(*_matrices(fits, console.width), "")
        return
    rows = list(_summaries(registry))
    if as_json:
        print_json([dict(zip(COLUMNS, row, strict=True)) for row in rows])
        return
    for kind, group in itertools.groupby(rows, key=lambda row: row[0]):
        console.print(f"[bold]{NOUNS[kind].plural}[/bold]")
        console.print(_group(list(group)), "")


def _summaries(registry: Registry) -> Iterator[tuple[str, ...]]:
    for entry in (registry.entry(kind, name) for kind in NOUNS for name in registry.names(kind)):
        summary = written_document(entry.value).split("\n\n")[0].replace("\n", " ")
        yield entry.kind, entry.name, summary, entry.origin.split("'")[1]


def _group(rows: list[tuple[str, ...]]) -> Table:
    """Return the names of one noun, indented, with what they are in as many lines as it takes."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, show_header=False, padding=(0, 0, 0, 2))
    table.add_column(no_wrap=True, style="bold")
    table.add_column()
    table.add_column(no_wrap=True, style="dim")
    for _, name, summary, origin in rows:
        table.add_row(name, escape(summary), escape(origin))
    return table


def _scenarios(registry: Registry, name: str) -> Iterator[tuple[str, str, str, tuple[str, ...]]]:
    """Yield each (prior, secret, mechanism) that fits, with the measures that apply to it.

    Nothing is constructed: the classes' declared types decide.
    """
    if name:
        require_known(name, registry)
    kinds = [[registry.get(kind, one) for one in registry.names(kind)] for kind in NOUNS]
    priors, secrets, mechanisms, _, measures = kinds
    for prior, secret, mechanism in itertools.product(priors, secrets, mechanisms):
        if why_no_release(mechanism, prior, secret):
            continue
        fitting = [
            measure.name
            for measure in measures
            if not why_no_loss(measure, prior, secret, mechanism.yields, mechanism.name)
        ]
        triple = (prior.name, secret.name, mechanism.name)
        if name in ("", *triple):
            yield *triple, tuple(fitting)
        elif name in fitting:
            yield *triple, (name,)


def _merged(scenarios: list[tuple[str, str, str, tuple[str, ...]]]) -> dict[str, Fits]:
    """Return one matrix for all priors and secrets that fit alike, named by them."""
    fits: dict[tuple[str, str], Fits] = {}
    for prior, secret, mechanism, measures in scenarios:
        fits.setdefault((prior, secret), {})[mechanism] = measures
    alike: dict[Any, dict[str, list[str]]] = {}
    for (prior, secret), own in fits.items():
        alike.setdefault(tuple(own.items()), {}).setdefault(secret, []).append(prior)
    found: dict[str, Fits] = {}
    for own, by_secret in alike.items():
        for priors in dict.fromkeys(map(tuple, by_secret.values())):
            secrets = [secret for secret, those in by_secret.items() if tuple(those) == priors]
            found[f"{_words('prior', priors)}; {_words('secret', secrets)}"] = dict(own)
    return found


def _words(kind: str, names: Any) -> str:
    return f"{kind if len(names) == 1 else f'{kind}s'} {', '.join(names)}"


def _matrices(fits: Mapping[str, tuple[str, ...]], width: int) -> Iterator[Table]:
    """Yield mechanisms by measures, a tick where they fit, in as many tables as the width asks.

    Measures whose names are too wide to stand beside each other are numbered, with a key.
    """
    from rich import box
    from rich.table import Table

    measures = list(dict.fromkeys(name for row in fits.values() for name in row))
    room = width - max(map(len, [*fits, "mechanism"])) - 3
    numbered = sum(len(name) + 3 for name in measures) > room
    titles = [str(place) for place in range(1, len(measures) + 1)] if numbered else measures
    columns = list(zip(titles, measures, strict=True))
    most = max(1, room // (len(titles[-1]) + 3)) if numbered else len(columns)
    for first in range(0, len(columns), most):
        some = columns[first : first + most]
        key = "  ".join(f"{title}={name}" for title, name in some)
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, caption=key if numbered else None)
        table.caption_justify = "left"
        table.add_column("mechanism", no_wrap=True)
        for title, _ in some:
            table.add_column(title, justify="center", no_wrap=True)
        for mechanism, own in fits.items():
            table.add_row(mechanism, *("✓" if name in own else "·" for _, name in some))
        yield table


# Definitions by worlds ----------------------------------------------------------------------------


@attrs.frozen
class Place:
    """How a definition stands in a world, and why it cannot be read there."""

    measure: str
    world: str
    standing: Standing
    reason: str = ""


def definitions_by_world(registry: Registry) -> tuple[Place, ...]:
    """Try every registered measure on a small scenario of each world.

    >>> from sfumato.commands.list_command import definitions_by_world
    >>> from sfumato.plugin_registry import default_registry
    >>> places = definitions_by_world(default_registry())
    >>> [p.standing for p in places if (p.measure, p.world) == ("renyi", "a real value")]
    ['exact']
    """
    found: list[Place] = []
    for title in registry.names("world"):
        world = registry.get("world", title)
        with note_place(f"the world '{title}'"):
            nouns = [registry.build(kind, world.get(kind)) for kind in FACTORS]
            found += _places(registry, title, nouns, world.get("given", {}))
    return tuple(found)


def _places(registry: Registry, world: str, nouns: list[Any], given: Any) -> list[Place]:
    """Try every measure, of attackers by each of them.

    `given` are other parameters without which a measure cannot be asked.
    """
    found: list[Place] = []
    tried: dict[str, Any] = {}
    for name in registry.names("measure"):
        own = given.get(name, {})
        parameters = registry.get("measure", name).parameters()
        needed = [p.name for p in parameters if p.required and p.name not in own]
        if needed == ["adversary"]:
            for one in registry.names("adversary"):
                table = {"name": name, "adversary": one}
                tried[f"{name} {one}"] = registry.build("measure", table)
        elif needed:
            reason = f"needs to be given its {' and '.join(needed)}"
            found.append(Place(name, world, "impossible", reason))
        else:
            tried[name] = registry.build("measure", {"name": name, **own})
    prior, secret, mechanism = nouns
    asked = [partial(ask_loss, one) for one in tried.values()]
    cells = answer_each(prior, secret, mechanism, asked)
    for (title, measure), cell in zip(tried.items(), cells, strict=True):
        if cell.loss is None:
            reason = cell.reason.removeprefix(f"{measure.name} ")
            found.append(Place(title, world, "impossible", reason))
        else:
            standing: Standing = "exact" if cell.loss.bound == "exact" else "bounded"
            found.append(Place(title, world, standing))
    return found


def _print_worlds(registry: Registry, *, as_json: bool) -> None:
    """Print definitions by worlds, with a numbered reason for each that is impossible."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    places = definitions_by_world(registry)
    if as_json:
        print_json([attrs.asdict(place) for place in places])
        return
    worlds = list(dict.fromkeys(place.world for place in places))
    console = Console()
    lettered = max(map(len, (place.measure for place in places))) + 18 * len(worlds) > console.width
    letters = dict(zip(worlds, string.ascii_uppercase if lettered else worlds, strict=False))
    table = plain_table("definition", *letters.values())
    table.columns[0].no_wrap = True
    table.padding = (0, 1 if lettered else 2, 0, 0)
    reasons: dict[str, int] = {}
    rows: dict[str, dict[str, str]] = {}
    for place in places:
        mark = MARKS[place.standing]
        if place.standing == "impossible":
            mark += str(reasons.setdefault(place.reason, len(reasons) + 1))
        rows.setdefault(place.measure, {})[place.world] = mark
    last = ""
    for measure in sorted(rows):
        name, _, attacker = measure.partition(" ")
        label = f"  … {attacker}" if attacker and name == last else measure
        table.add_row(label, *(rows[measure][world] for world in worlds))
        last = name
    console.print(table)
    if lettered:
        console.print("; ".join(f"{letter} {world}" for world, letter in letters.items()))
    console.print("● exact   ◐ bounded   – impossible, because:")
    key = Table(box=None, show_header=False, padding=(0, 1, 0, 1))
    for reason, number in reasons.items():
        key.add_row(str(number), Text(reason))
    console.print(key)
