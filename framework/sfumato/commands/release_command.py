"""`sfumato release`: a trace in, the protected trace and its certificate out."""

from __future__ import annotations

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
    print_json,
    with_json,
    with_plugins,
    with_source,
)
from sfumato.comparison.executors import progress
from sfumato.datasets import Preparation, RealTrace, StateSequence
from sfumato.datasets.preparation import Window, usual_step
from sfumato.errors import REFUSALS, DataError, OverBudget
from sfumato.plugin_registry import default_registry
from sfumato.protocols import Release
from sfumato.quantities import count_text
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

TOLD = (
    *("output", "traces", "windows", "prepared"),
    *("guarantees", "against", "about", "covers", "ledger", "released_sha256"),
)
"""What `--json` prints of a release that was made, as far as there is a certificate of it."""

UNNAMED = "somebody"
"""The person of all data in a ledger that do not say whose they are."""


@click.command("release")
@with_plugins
@with_json
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
    type=(str, float),
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
    budget: tuple[str, float] | None,
    person: str | None,
    force: bool,
    seed: int | None,
    stream: bool,
    state: Path | None,
    as_json: bool,
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
    if stream == (trace is not None) or (not stream and output is None) or (stream and as_json):
        raise click.UsageError(
            "give a TRACE and --output, or --stream and neither; --json is for a TRACE, as a "
            "stream is answered line by line."
        )
    refuse_unwritable(*filter(None, (output, certificate)), overwrite=force)
    with progress("designing the release"):
        release = noun("mechanism", mechanism, registry).protect(
            noun("prior", prior, registry), noun("secret", secret, registry)
        )
    if release.prior.yields is Markov and MARK in next(release.prior.members()).belief().states:
        raise DataError(f"a state must not be named '{MARK}', as what is withheld is; got one.")
    preparation = preparation_of(prior)
    counted = _open_ledger(ledger, budget, registry)
    table: dict[str, Any] = {}
    if certificate is not None:
        table = _certified(release, measures, rng, preparation)
    if trace is not None and output is not None:
        given = source(trace, preparation)
        records = given.of_user(_read(given, preparation, release), user)
        for record in records:
            preparation.require_rate(record)
        windows = [window for record in records for window in preparation.windows(record)]
        text = _released_text(release, windows, given, rng)
        table["released_sha256"] = hash_of(text)
        if counted is None and preparation.window is not None and len(windows) > 1:
            counted = _open_ledger(output.with_name(f"{output.name}.ledger"), None, registry)
        if counted is not None:  # before anything is released
            planning = lambda: _planned(release, windows, preparation, person, counted)  # noqa: E731
            claims, must = table.get("guarantees", ()), ledger is not None or len(counted) > 0
            table |= _count(counted, planning, hash_of(text), claims, must=must)
        # The certificate first: killed in between, nothing is released without one.
        lines = _seal(certificate, table)
        write_whole(output, text)
        lines.append(f"released {count_text(len(records), 'trace')} to {output}")
        if preparation.window is not None:
            lines.append(_words_prepared(records, windows, preparation))
            table["prepared"] = lines[-1]
        table |= {"output": str(output), "traces": len(records), "windows": len(windows)}
        _tell(lines, table, as_json=as_json)
    if stream:
        _tell(_seal(certificate, table), table, as_json=False)
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


def _seal(certificate: Path | None, table: Mapping[str, Any]) -> list[str]:
    """Write the certificate, if there is to be one; return what it says, for people."""
    if certificate is None:
        return [f"covers: {table['covers']}"] if "covers" in table else []
    write_whole(certificate, certificate_text(sealed(table)) + "\n")
    return spoken(table)


def _tell(lines: Iterable[str], table: Mapping[str, Any], *, as_json: bool) -> None:
    """Say what was done, or print it as JSON."""
    if as_json:
        print_json({key: table[key] for key in TOLD if key in table})
        return
    for line in lines:
        click.echo(line, err=True)


def _open_ledger(path: Path | None, budget: tuple[str, float] | None, registry: Any) -> Any:
    """Return the ledger, made with its budget where there is none; None without a path."""
    if path is None:
        if budget is not None:
            raise click.UsageError("a budget is that of a ledger: give --ledger, too.")
        return None
    from sfumato.release.ledger import Ledger

    return Ledger(path, budget=budget and (noun("measure", budget[0], registry), budget[1]))


def _planned(
    release: Release,
    windows: Sequence[Window],
    preparation: Preparation,
    person: str | None,
    ledger: Any,
) -> tuple[list[tuple[Any, ...]], float | None]:
    """Return what a ledger is to count of all windows, and the seconds between its positions.

    Real values lie on their person's time line, to the nearest beat. A trace of states is a pass of
    its chain, told from others by its beginning; a chain that changes is passed in every window.
    """
    records = [window.record for window in windows]
    named = {record.user for record in records if record.named}
    if person is not None and len(named) > 1:
        raise click.UsageError(f"--person is one; the data name {len(named)}: give --user, too.")
    whose = [person or (one.user if one.named else UNNAMED) for one in records]
    _require_told_apart(ledger, whose)
    belief = next(release.prior.members()).belief()
    if isinstance(belief, Markov):
        planned = []
        for window, who in zip(windows, whose, strict=True):
            span = float(window.record.times[0]), _end(window.record.times)
            again = not belief.is_homogeneous
            begin, first = (span[0], 0) if again else (window.begin, window.first)
            planned.append((release, f"{who}@{begin:.15g}", first, span))
        return planned, None
    step = preparation.seconds or usual_step(records) or 1.0
    for one in records if preparation.seconds is None else ():
        places = np.rint((one.times - one.times[0]) / step)
        if (places != np.arange(len(places))).any():
            raise DataError(
                f"a ledger counts samples at one rate; the trace of '{one.user}' is not one every "
                f"{step:g} s: fit a prior, which says what samples are kept."
            )
    starts = [math.floor(one.begin / step + 0.5) + one.first for one in windows]
    return [(release, *each) for each in zip(whose, starts, strict=True)], step


def _require_told_apart(ledger: Any, whose: Iterable[str]) -> None:
    """Refuse to count somebody unnamed beside others, one of whom may be the same person."""
    if UNNAMED in (people := ledger.people | set(whose)) and len(people) > 1:
        raise DataError(
            f"who is unnamed in {ledger.path.name} may be {min(people - {UNNAMED})!r}: say whose "
            f"all data of a ledger are, by a column 'user' or --person, or use another."
        )


def _end(times: Any) -> float:
    """Return a time before which states were: one at a rate holds until the next would come."""
    steps = np.diff(times)
    at_a_rate = len(steps) > 1 and np.ptp(steps) <= 1e-6 * steps[0]
    return float(times[-1] + steps[0]) if at_a_rate else float(np.nextafter(times[-1], np.inf))


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


def _read(given: Source, preparation: Preparation, release: Release) -> Iterable[Any]:
    """Return the records, prepared as the literature does where the prior was fitted so."""
    if preparation.published and (replay := given.recipe.replay) is not None:
        return replay(given.records(), next(release.prior.members()).belief().states)
    return given.records()


def _words_prepared(
    records: Sequence[Any], windows: Sequence[Window], preparation: Preparation
) -> str:
    """Return what was done to the data, in a sentence."""
    kept, all_of = (sum(map(len, some)) for some in ([w.places for w in windows], records))
    done = [f"{count_text(len(windows), 'window')} of {preparation.window}"]
    if preparation.seconds is not None:
        done.append(f"a sample every {preparation.seconds:g} s ({kept} of {all_of})")
    if preparation.metres is not None:
        done.append(f"noise in metres around latitude {preparation.metres:g}")
    return f"prepared as the prior was fitted: {', '.join(done)}"


def _released_text(release: Release, windows: Sequence[Window], given: Source, rng: Any) -> str:
    """Return all released windows as the text of a CSV file."""
    tables = []
    for window in windows:
        record = window.record
        named = Markov if isinstance(record, StateSequence) else Gaussian
        if release.prior.yields is not named:
            raise DataError(
                f"the prior '{release.prior.name}' must fit the data, {type(record).__name__}; got "
                f"one of {release.prior.yields.__name__} beliefs."
            )
        columns = (_released_states if named is Markov else _released_values)(
            release, window, given, rng
        )
        head = {"user": record.user, "trace": record.name, "time": record.times}
        tables.append(pd.DataFrame({**head, **columns}))
    released = pd.concat(tables, ignore_index=True)
    traces = {(window.record.user, window.record.name) for window in windows}
    if len({user for user, _ in traces}) == len(traces):  # nobody has several
        released = released.drop(columns="trace")
    return str(released.to_csv(index=False, lineterminator="\n"))


def _released_states(release: Release, window: Any, _given: Source, rng: Any) -> dict[str, Any]:
    """Return the column of states of one released window."""
    states = window.record.states
    missing = [states[-1]] * (window.points - len(states))  # answered, and left out
    symbols = release.apply((*states, *missing), rng)[: len(states)]
    return {"state": [_symbol_text(symbol) for symbol in symbols]}


def _released_values(release: Release, window: Any, given: Source, rng: Any) -> dict[str, Any]:
    """Return the columns of values of one released window."""
    record, places, count = window.record, window.places, window.record.dimensions
    shape = release.channel.shape
    if (window.points, count) != (*shape, 1)[:2]:
        raise DataError(
            f"the trace of '{record.user}' must have {' x '.join(map(str, shape))} values as the "
            f"prior has; got {window.points} x {count}."
        )
    if len(record) == window.points:
        _warn_of_gaps(record)
    whole = np.zeros((window.points, count))
    whole[places] = record.values  # noqa: PD011 - no frame
    values = release.apply(whole.reshape(shape), rng).reshape(whole.shape)[places]
    plain = ["x", "y", "z"][:count] if count <= 3 else [f"x{place}" for place in range(count)]
    names = record.columns or plain
    if given.flat is not None:
        values, names = given.flat.degrees(values), ["lat", "lon"]
    return dict(zip(names, values.T, strict=True))


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
    saved = (
        state.read_text(encoding="utf-8", errors="replace") if state and state.exists() else None
    )
    stream = release.stream(rng) if saved is None else release.stream(state=saved)
    if ledger is not None:
        if person is None:
            raise click.UsageError("a stream in a ledger must say whose it is: give --person.")
        _require_told_apart(ledger, [person])
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
