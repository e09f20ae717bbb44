"""`sfumato release`: a trace in, the protected trace and its certificate out."""

from __future__ import annotations

import functools
import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

from sfumato.beliefs import Gaussian, Markov
from sfumato.commands.arguments import (
    DATA,
    FORMS,
    PATH,
    Source,
    noun,
    preparation_of,
    with_plugins,
    with_source,
)
from sfumato.comparison.executors import progress
from sfumato.datasets import Preparation, RealTrace, StateSequence
from sfumato.datasets.preparation import Window, usual_step
from sfumato.errors import REFUSALS, DataError, OverBudget
from sfumato.plugin_registry import default_registry
from sfumato.protocols import Release
from sfumato.release.certificates import (
    certificate_text,
    certify,
    default_measures,
    is_limited,
    sealed,
    spoken,
)
from sfumato.release.checker import hash_of
from sfumato.values import SUPPRESSED, refuse_unwritable, write_whole

MARK = "⊥"
"""What stands for a state that was withheld, in files and streams."""

ALONE = "each release on its own, not several together"
"""What is covered where nothing can be proved of several releases of a person."""

UNNAMED = "somebody"
"""The person of all data in a ledger that do not say whose they are."""


@click.command("release")
@with_plugins
@with_source
@click.argument("trace", required=False, type=DATA)
@click.option("--prior", required=True, help=f"What the adversary may believe: {FORMS}.")
@click.option("--secret", required=True, help="What must stay hidden, in the same forms.")
@click.option("--mechanism", required=True, help="How to release, in the same forms.")
@click.option("--measure", "measures", multiple=True, help="Certify by this measure (repeatable).")
@click.option("--user", help="Release only this user's traces.")
@click.option("--output", "-o", type=PATH, help="The protected trace, CSV.")
@click.option("--certificate", type=PATH, help="The certificate, JSON.")
@click.option("--ledger", type=PATH, help="Count the release in this ledger, or refuse it.")
@click.option(
    "--budget",
    nargs=2,
    metavar="MEASURE LIMIT",
    help="What all releases of a person in a new ledger may give away together.",
)
@click.option(
    "--person",
    help="Whose data they are, in the ledger; as the data say, else one unnamed person.",
)
@click.option("--force", is_flag=True, help="Overwrite existing files.")
@click.option("--seed", type=int, help="Repeatable noise, for research only.")
@click.option("--stream", is_flag=True, help="Read states line by line and answer each at once.")
@click.option("--state", type=PATH, help="Where a stream is kept to resume.")
def command(
    *,
    trace: Path | None,
    prior: str,
    secret: str,
    mechanism: str,
    measures: tuple[str, ...],
    user: str | None,
    output: Path | None,
    certificate: Path | None,
    ledger: Path | None,
    budget: tuple[str, str] | None,
    person: str | None,
    force: bool,
    seed: int | None,
    stream: bool,
    state: Path | None,
    source: Callable[..., Source],
) -> None:
    """Release TRACE so that the secret stays hidden, and certify it.

    Every trace of the file is released on its own, with noise of its own; under a fitted prior it
    is first prepared as those fitted were, and cut into windows that are released one by one.
    With --stream there is no TRACE: states (or numbers, d of them with commas between) come on
    standard input, one on each line.
    With --ledger, what was released before about the same person counts, too: a second release of
    the same times is refused, unless the ledger has a budget and it stays within. Several windows
    are always counted together, without --ledger in one beside the output, OUTPUT.ledger.
    """
    registry = default_registry()
    rng = None if seed is None else np.random.default_rng(seed)
    if stream == (trace is not None) or (not stream and output is None):
        raise click.UsageError("give a TRACE and --output, or --stream and neither.")
    refuse_unwritable(*filter(None, (output, certificate)), overwrite=force)
    with progress("designing the release"):
        release = noun("mechanism", mechanism, registry).protect(
            noun("prior", prior, registry), noun("secret", secret, registry)
        )
    _refuse_mark(release)
    preparation = preparation_of(prior)
    counted = _open_ledger(ledger, budget, registry)
    table: dict[str, Any] = {}
    if certificate is not None:
        table = _certified(release, measures, rng, preparation)
    if trace is not None and output is not None:
        given = source(trace, preparation)
        records = given.of_user(_read(given, preparation, release), user)
        windows = _windows(records, preparation)
        text = _released_text(release, windows, given, rng)
        table["released_sha256"] = hash_of(text)
        if counted is None and preparation.window is not None and len(windows) > 1:
            counted = _open_ledger(output.with_name(f"{output.name}.ledger"), None, registry)
        if counted is not None:  # before anything is released
            planning = functools.partial(_planned, release, windows, preparation, person, trace)
            claims, must = table.get("guarantees", ()), ledger is not None or len(counted) > 0
            table |= _count(counted, planning, hash_of(text), claims, must=must)
        # The certificate first: killed in between, nothing is released without one.
        _seal(certificate, table)
        write_whole(output, text)
        count = "1 trace" if len(records) == 1 else f"{len(records)} traces"
        click.echo(f"released {count} to {output}", err=True)
        if preparation.window is not None:
            click.echo(_words_prepared(records, windows, preparation), err=True)
        if certificate is None and "covers" in table:
            click.echo(f"covers: {table['covers']}", err=True)
    if stream:
        _seal(certificate, table)
        _answer(release, rng, state, counted, person)


def _certified(
    release: Release, measures: Sequence[str], rng: Any, preparation: Preparation
) -> dict[str, Any]:
    """Return what the certificate says, by the measures asked for or those that apply."""
    registry = default_registry()
    chosen = [noun("measure", text, registry) for text in measures]
    used, left_out = (chosen, []) if chosen else default_measures(release, registry)
    with progress("certifying the release"):
        table = certify(release, used, rng, left_out)
    if preparation.window is not None:
        table["preparation"] = preparation.plain()
    return table


def _seal(certificate: Path | None, table: Mapping[str, Any]) -> None:
    """Write the certificate, if there is to be one, and say what it says."""
    if certificate is None:
        return
    write_whole(certificate, certificate_text(sealed(table)) + "\n")
    for line in spoken(table):
        click.echo(line, err=True)


def _open_ledger(path: Path | None, budget: tuple[str, str] | None, registry: Any) -> Any:
    """Return the ledger, made with its budget where there is none; None without a path."""
    if path is None:
        if budget is not None:
            raise click.UsageError("a budget is that of a ledger: give --ledger, too.")
        return None
    from sfumato.release.ledger import Ledger

    if budget is None:
        return Ledger(path)
    try:
        limit = float(budget[1])
    except ValueError:
        raise click.UsageError(f"the limit must be a number; got {budget[1]!r}.") from None
    return Ledger(path, budget=(noun("measure", budget[0], registry), limit))


def _planned(
    release: Release,
    windows: Sequence[Window],
    preparation: Preparation,
    person: str | None,
    path: Path,
) -> tuple[list[tuple[Any, ...]], float | None]:
    """Return what a ledger is to count of all windows, and the seconds between its positions.

    Real values lie on their person's time line, to the nearest beat. A trace of states is a pass of
    its chain, told from others by its beginning; a chain that changes is passed in every window.
    """
    records = [window.record for window in windows]
    users = {record.user for record in records}
    named = {user for user in users if not (path.is_file() and user.startswith(path.stem))}
    if person is not None and len(named) > 1:
        raise click.UsageError(f"--person is one; the data name {len(named)}: give --user, too.")
    belief = next(release.prior.members()).belief()
    if isinstance(belief, Markov):
        planned = []
        for window in windows:
            times, again = window.record.times, not belief.is_homogeneous
            begin, first = (float(times[0]), 0) if again else (window.begin, window.first)
            who = f"{_name(window, person, named)}@{begin:.15g}"
            planned.append((release, who, first, (float(times[0]), _end(times))))
        return planned, None
    step = preparation.seconds or usual_step(records) or 1.0
    for window in windows:
        places = np.rint((window.record.times - window.record.times[0]) / step)
        if preparation.seconds is None and (places != np.arange(len(places))).any():
            raise DataError(
                f"a ledger counts samples at one rate; the trace of '{window.record.user}' is not "
                f"one every {step:g} s: fit a prior, which says what samples are kept."
            )
    return [
        (release, _name(one, person, named), math.floor(one.begin / step + 0.5) + one.first)
        for one in windows
    ], step


def _end(times: Any) -> float:
    """Return a time before which states were: one at a rate holds until the next would come."""
    steps = np.diff(times)
    at_a_rate = len(steps) > 1 and np.ptp(steps) <= 1e-6 * steps[0]
    return float(times[-1] + steps[0]) if at_a_rate else float(np.nextafter(times[-1], np.inf))


def _name(window: Window, person: str | None, named: set[str]) -> str:
    """Return whose a window is: as said, or as the data name them; a file's name names nobody."""
    return person or (window.record.user if window.record.user in named else UNNAMED)


def _count(
    ledger: Any,
    planning: Callable[[], tuple[list[tuple[Any, ...]], float | None]],
    released: str,
    claims: Sequence[Mapping[str, Any]],
    *,
    must: bool,
) -> dict[str, Any]:
    """Count the releases of all windows, or none; return what the certificate says of it.

    What cannot be counted is refused if it must be, else it is said that nothing covers several.
    """
    try:
        planned, step = planning()
        entries = ledger.record_all(planned, step=step, released=released)
    except (DataError, OverBudget, *REFUSALS) as refusal:
        if must:
            raise
        return {"covers": f"{ALONE} ({str(refusal).partition(';')[0].rstrip('.')})"}
    if ledger.budget is not None:
        measure, limit = ledger.budget.measure, f"within {ledger.budget.limit:g}"
        covers = f"all releases of a person together: {measure.quantity} {limit}"
    else:
        covers = f"no time of a person twice, and {_together(ledger, planned, claims)}"
    if step is None:
        covers += "; a person's traces of states of other times are independent"
    covers += f", as the ledger {ledger.path.name} has them; not what was released elsewhere"
    return {"ledger": entries, "covers": covers}


def _together(
    ledger: Any, planned: Sequence[tuple[Any, ...]], claims: Sequence[Mapping[str, Any]]
) -> str:
    """Return what all releases of a person tell of any one's secret, by the first claim's measure.

    In words: each on its own where nothing is claimed, or nothing can be proved of several.
    """
    claim = next((claim for claim in claims if not claim["utility"]), None)
    if claim is None:
        return ALONE
    measure = default_registry().build("measure", claim["measure"])
    try:
        losses = [
            ledger.known(measure, one.secret, person=who, at=at) for one, who, at, *_ in planned
        ]
    except REFUSALS as refusal:
        return f"{ALONE} ({str(refusal).rstrip('.')})"
    worse = claim["worse"] == "larger"
    worst = max(losses, key=lambda loss: loss.ceiling if worse else -loss.floor)
    return f"all releases of a person together: {worst}" if is_limited(worst) else ALONE


def _refuse_mark(release: Release) -> None:
    """Refuse a state that could not be told from a withheld one."""
    if release.prior.yields is Markov and MARK in next(release.prior.members()).belief().states:
        raise DataError(f"a state must not be named '{MARK}'; got one.")


def _read(given: Source, preparation: Preparation, release: Release) -> Iterable[Any]:
    """Return the records, prepared as the literature does where the prior was fitted so."""
    if preparation.published and (replay := given.recipe.replay) is not None:
        return replay(given.records(), next(release.prior.members()).belief().states)
    return given.records()


def _windows(records: Sequence[Any], preparation: Preparation) -> list[Window]:
    """Return the windows of all records, thinned and cut as those that the prior was fitted to."""
    for record in records:
        preparation.require_rate(record)
    return [window for record in records for window in preparation.windows(record)]


def _words_prepared(
    records: Sequence[Any], windows: Sequence[Window], preparation: Preparation
) -> str:
    """Return what was done to the data, in a sentence."""
    kept, all_of = (sum(map(len, some)) for some in ([w.places for w in windows], records))
    done = [f"{len(windows)} windows of {preparation.window}"]
    if preparation.seconds is not None:
        done.append(f"a sample every {preparation.seconds:g} s ({kept} of {all_of})")
    if preparation.metres is not None:
        done.append(f"noise in metres around latitude {preparation.metres:g}")
    return f"prepared as the prior was fitted: {', '.join(done)}"


def _released_text(release: Release, windows: Sequence[Window], given: Source, rng: Any) -> str:
    """Return all released windows as the text of a CSV file."""
    tables = [_released_table(release, window, given, rng) for window in windows]
    released = pd.concat(tables, ignore_index=True)
    traces = {(window.record.user, window.record.name) for window in windows}
    if len({user for user, _ in traces}) == len(traces):  # nobody has several
        released = released.drop(columns="trace")
    return str(released.to_csv(index=False, lineterminator="\n"))


def _released_table(release: Release, window: Window, given: Source, rng: Any) -> pd.DataFrame:
    """Return one released window as (user, trace, time, state), or with its values."""
    record, places = window.record, window.places
    head = {"user": record.user, "trace": record.name, "time": record.times}
    belief = release.prior.yields
    if belief is not (Markov if isinstance(record, StateSequence) else Gaussian):
        raise DataError(
            f"the prior '{release.prior.name}' must fit the data, {type(record).__name__}; got one "
            f"of {belief.__name__} beliefs."
        )
    if isinstance(record, StateSequence):
        missing = [record.states[-1]] * (window.points - len(record))  # answered, and left out
        symbols = release.apply((*record.states, *missing), rng)[: len(record)]
        return pd.DataFrame({**head, "state": [_symbol_text(symbol) for symbol in symbols]})
    shape = release.channel.shape
    if window.points != shape[0] or record.dimensions != (shape[1] if len(shape) > 1 else 1):
        raise DataError(
            f"the trace of '{record.user}' must have {' x '.join(map(str, shape))} values as the "
            f"prior has; got {window.points} x {record.dimensions}."
        )
    if len(record) == window.points:
        _warn_of_gaps(record)
    whole = np.zeros((window.points, record.dimensions))
    whole[places] = record.values  # noqa: PD011 - no frame
    values = release.apply(whole.reshape(shape), rng).reshape(whole.shape)[places]
    count = record.dimensions
    plain = ["x", "y", "z"][:count] if count <= 3 else [f"x{place}" for place in range(count)]
    names = record.columns or plain
    if given.flat is not None:
        values, names = given.flat.degrees(values), ["lat", "lon"]
    return pd.DataFrame({**head, **dict(zip(names, values.T, strict=True))})


def _warn_of_gaps(record: RealTrace) -> None:
    """Say so where a trace is far from the regular grid that a prior on positions stands for."""
    steps = np.diff(record.times)
    if steps.size and steps.max() > 2 * np.median(steps):
        click.echo(
            f"the trace of '{record.user}' has time steps up to {steps.max():g} s, the median is "
            f"{np.median(steps):g} s; the certificate holds for the prior's own time stamps.",
            err=True,
        )


def _symbol_text(symbol: Any) -> Any:
    """Return a symbol as files and streams have it."""
    if isinstance(symbol, tuple):
        return ",".join(map(str, symbol))
    return MARK if symbol is SUPPRESSED else symbol


def _answer(
    release: Release, rng: Any, state: Path | None, ledger: Any, person: str | None
) -> None:
    """Answer every line of standard input at once; keep the state before the answer is shown."""
    saved = _read_state(state) if state and state.exists() else None
    stream = release.stream(rng) if saved is None else release.stream(state=saved)
    if ledger is not None:
        if person is None:
            raise click.UsageError("a stream in a ledger must say whose it is: give --person.")
        own = hash_of(stream.state["key"])  # of another key there is other noise for the same steps
        if saved is None:
            ledger.record_all([(release, person, 0)], released=own)
        elif not ledger.holds(release, own, person=person):
            raise click.UsageError(
                f"a stream that goes on must have been counted when it began; {ledger.path} does "
                f"not hold this one of '{person}'."
            )
    for line in sys.stdin:
        answer = _symbol_text(stream.send(_value(line.rstrip("\r\n"), release)))
        if state is not None:
            write_whole(state, json.dumps(stream.state), confidential=True)
        click.echo(answer)
        sys.stdout.flush()


def _value(text: str, release: Release) -> Any:
    """Return what a line says: a state's name, a number, or a list of numbers."""
    if release.prior.yields is not Gaussian:
        return text
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        raise DataError(f"a line must hold numbers with commas between; got {text!r}.") from None
    return numbers[0] if release.channel.dimensions == 1 and len(numbers) == 1 else numbers


def _read_state(state: Path) -> Any:
    try:
        return json.loads(state.read_text(encoding="utf-8"))
    except ValueError:
        # What is there is not shown, as it may hold the stream's key.
        raise DataError(
            f"{state} must be JSON that a stream has written; got something else."
        ) from None
