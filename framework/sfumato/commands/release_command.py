"""`sfumato release`: a trace in, the protected trace and its certificate out."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
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
    fitted_step,
    noun,
    with_plugins,
    with_source,
)
from sfumato.datasets import RealTrace, StateSequence
from sfumato.errors import DataError
from sfumato.plugin_registry import default_registry
from sfumato.protocols import Release
from sfumato.release.certificates import certificate_text, certify, default_measures
from sfumato.values import SUPPRESSED, refuse_unwritable, write_whole

STEP_RATIO = 1.5
"""How much the time between samples may differ from that of the traces fitted."""

MARK = "⊥"
"""What stands for a state that was withheld, in files and streams."""


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
    force: bool,
    seed: int | None,
    stream: bool,
    state: Path | None,
    source: Callable[[Path], Source],
) -> None:
    """Release TRACE so that the secret stays hidden, and certify it.

    Every trace of the file is released on its own, with noise of its own.
    With --stream there is no TRACE: states come on standard input, one on each line.
    """
    registry = default_registry()
    rng = None if seed is None else np.random.default_rng(seed)
    if stream == (trace is not None) or (not stream and output is None):
        raise click.UsageError("give a TRACE and --output, or --stream and neither.")
    refuse_unwritable(*filter(None, (output, certificate)), overwrite=force)
    release = noun("mechanism", mechanism, registry).protect(
        noun("prior", prior, registry), noun("secret", secret, registry)
    )
    _refuse_mark(release)
    step = fitted_step(prior)
    paper = ""
    if certificate is not None:
        chosen = [noun("measure", text, registry) for text in measures]
        used, left_out = (chosen, []) if chosen else default_measures(release, registry)
        table = certify(release, used, rng, left_out)
        table["covers"] = "each released trace on its own, not several of one person together"
        if step is not None:
            table["seconds_per_sample"] = step
        paper = certificate_text(table) + "\n"
    if trace is not None and output is not None:
        given = source(trace)
        records = given.of_user(given.records(), user)
        for record in records:
            _require_step(record, step)
        tables = [_released_table(release, record, given, rng) for record in records]
        released = pd.concat(tables, ignore_index=True)
        if len({record.user for record in records}) == len(records):  # nobody has several
            released = released.drop(columns="trace")
        write_whole(output, released.to_csv(index=False, lineterminator="\n"))
        count = "1 trace" if len(records) == 1 else f"{len(records)} traces"
        click.echo(f"released {count} to {output}", err=True)
    if certificate is not None:  # last, so that there is none of what was not released
        write_whole(certificate, paper)
    if stream:
        _answer(release, rng, state)


def _refuse_mark(release: Release) -> None:
    """Refuse a state that could not be told from a withheld one."""
    if release.prior.yields is Markov and MARK in next(release.prior.members()).belief().states:
        raise DataError(f"a state must not be named '{MARK}'; got one.")


def _released_table(
    release: Release, record: RealTrace | StateSequence, given: Source, rng: Any
) -> pd.DataFrame:
    """Return one released record as (user, trace, time, state), or with its values."""
    head = {"user": record.user, "trace": record.name, "time": record.times}
    belief = release.prior.yields
    if belief is not (Markov if isinstance(record, StateSequence) else Gaussian):
        raise DataError(
            f"the prior '{release.prior.name}' must fit the data, {type(record).__name__}; got one "
            f"of {belief.__name__} beliefs."
        )
    if isinstance(record, StateSequence):
        states = [_symbol_text(symbol) for symbol in release.apply(record.states, rng)]
        return pd.DataFrame({**head, "state": states})
    shape = release.channel.shape
    if len(record) != shape[0] or record.dimensions != (shape[1] if len(shape) > 1 else 1):
        raise DataError(
            f"the trace of '{record.user}' must have {' x '.join(map(str, shape))} values as the "
            f"prior has; got {len(record)} x {record.dimensions}."
        )
    _warn_of_gaps(record)
    values = release.apply(np.reshape(record.values, shape), rng).reshape(len(record), -1)
    count = record.dimensions
    names = ["x", "y", "z"][:count] if count <= 3 else [f"x{place}" for place in range(count)]
    if given.flat is not None:
        values, names = given.flat.degrees(values), ["lat", "lon"]
    return pd.DataFrame({**head, **dict(zip(names, values.T, strict=True))})


def _require_step(record: RealTrace | StateSequence, step: float | None) -> None:
    """Refuse a trace sampled at another rate than the traces that the prior was fitted to.

    A fitted length scale counts samples: at another rate it is the length scale of another motion.
    """
    if step is None or len(record) < 2:
        return
    found = float(np.median(np.diff(record.times)))
    if not step / STEP_RATIO <= found <= step * STEP_RATIO:
        raise DataError(
            f"the trace of '{record.user}' must have a sample about every {step:g} s, as those "
            f"that the prior was fitted to; got one every {found:g} s: fit a prior at that rate."
        )


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
    return MARK if symbol is SUPPRESSED else symbol


def _answer(release: Release, rng: Any, state: Path | None) -> None:
    """Answer every line of standard input at once; keep the state before the answer is shown."""
    saved = _read_state(state) if state and state.exists() else None
    stream = release.stream(rng) if saved is None else release.stream(state=saved)
    for line in sys.stdin:
        answer = _symbol_text(stream.send(line.rstrip("\r\n")))
        if state is not None:
            write_whole(state, json.dumps(stream.state), confidential=True)
        click.echo(answer)
        sys.stdout.flush()


def _read_state(state: Path) -> Any:
    try:
        return json.loads(state.read_text(encoding="utf-8"))
    except ValueError:
        # What is there is not shown, as it may hold the stream's key.
        raise DataError(
            f"{state} must be JSON that a stream has written; got something else."
        ) from None
