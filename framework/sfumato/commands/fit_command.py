"""`sfumato fit`: a data set in, a class of priors out."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

from sfumato.beliefs import Gaussian
from sfumato.commands.arguments import (
    DATA,
    PATH,
    Source,
    print_json,
    specification,
    with_json,
    with_plugins,
    with_source,
)
from sfumato.datasets import Preparation, RealTrace, labels_of
from sfumato.datasets.preparation import SLOWEST, Window, median_step, usual_step
from sfumato.errors import DataError
from sfumato.plugin_registry import default_registry
from sfumato.prior_classes.sets import AnyOf
from sfumato.quantities import count_text
from sfumato.values import refuse_unwritable, write_whole

QUARTILES = (0.25, 0.75)
QUARTERS = (0.25, 0.5, 0.75)

POINTS = 50
"""Samples of a window, and steps of a chain, at most, where nobody says otherwise."""

MOST_SAMPLES = 10_000
"""Samples that a fit uses at most, in windows spread evenly over the data."""

MOST_NUMBERS = 10_000_000
"""Probabilities of moves that a class of chains holds at most."""


Found = tuple[dict[str, Any], dict[str, Any], Preparation]
"""A class of priors, what is worth knowing about it, and how the data were prepared."""


@click.command("fit")
@with_plugins
@with_json
@with_source
@click.argument("data", type=DATA)
@click.option("--prior", required=True, help="The kind of prior and what is known of it: rbf.")
@click.option("--output", "-o", required=True, type=PATH, help="TOML file.")
@click.option("--published", is_flag=True, help="Prepare the data as in the literature.")
@click.option("--standardise", is_flag=True, help="Fit every window scaled to variance one.")
@click.option("--noise", default=0.0025, show_default=True, help="Measurement error's share.")
@click.option("--quantiles", nargs=2, type=float, default=QUARTILES, show_default=True)
@click.option("--times", type=click.IntRange(1), help="Samples of a window; 50, or what there is.")
@click.option(
    "--every",
    type=click.FloatRange(1e-9, 1e18),
    metavar="SECONDS",
    help="Time between samples; as most traces have it by default.",
)
@click.option("--smoothing", default=1.0, show_default=True, help="Added to each move's count.")
@click.option("--user", help="Fit only this user's traces.")
@click.option("--force", is_flag=True, help="Overwrite the output.")
def command(
    *,
    data: Path,
    prior: str,
    output: Path,
    published: bool,
    user: str | None,
    force: bool,
    as_json: bool,
    source: Callable[..., Source],
    **options: Any,
) -> None:
    """Fit DATA and write the class of priors that it suggests, and how DATA were prepared.

    Real traces: one sample for each beat is kept, and windows of them are fitted, at most 10,000
    samples; the quantiles of every fitted parameter are the ends of an interval.
    Days of an activity home: one chain with a matrix for each step.
    Other sequences: one chain for each user, from all their traces; the class holds them all.
    """
    import tomli_w

    refuse_unwritable(output, overwrite=force)
    known = specification("prior", prior)
    cls = default_registry().get("prior", known.pop("name"))  # before much is read
    given = source(data)
    recipe = given.recipe if published else None
    records = given.of_user(given.records(), user)
    ready = given.published(user) if published else None
    for name, value in ((n, known[n]) for n in ("times", "steps") if n in known):
        if options["times"] not in (None, value):
            raise DataError(f"--times must be {name}={value}; got {options['times']}.")
    fit = _fit_numbers if isinstance(records[0], RealTrace) else _fit_states
    found, fitted, preparation = fit(cls, known, given, records, ready, **options)
    facts = {"data": data.name, **fitted, **({"prepared": recipe.note} if recipe else {})}
    written = {"prior": found, "fitted": facts, "preparation": preparation.plain()}
    write_whole(output, tomli_w.dumps(written))
    if as_json:
        print_json(written)
        return
    for fact, told in facts.items():
        click.echo(f"{fact}: {told}", err=True)


def _fit_numbers(
    cls: Any, known: Any, given: Source, records: Any, ready: Any, **options: Any
) -> Found:
    """Return the class, from quantiles of every parameter; `ready` is what was published."""
    if cls.yields is not Gaussian or not cls.overrides("fit"):
        raise DataError(
            f"data that are numbers must have a prior that is fitted to numbers, such as rbf; got "
            f"'{cls.name}'."
        )
    length = known.pop("times", options["times"])
    _require_known(cls, known)
    settings = {"noise": options["noise"], "normalise": options["standardise"], **known}
    if ready is None:
        seconds = options["every"] or usual_step(records)
    elif length or options["every"]:
        raise DataError("--published must be without --times and --every; got one of them.")
    else:
        ready = [trace for trace in ready if _can_be_fitted(trace)]
        settings = {**settings, **given.recipe.options, **known}
        seconds = given.recipe.seconds * (usual_step(ready) or 1.0)
    if length is None:
        thinned = (next(Preparation(seconds=seconds).windows(r)).places for r in records)
        length = min(POINTS, max(map(len, ready or thinned)))
    metres = None if given.flat is None else given.flat.latitude
    preparation = Preparation(seconds=seconds, window=length, metres=metres)
    usable = _usable_windows(records, preparation, length)
    most = min(len(usable), max(1, MOST_SAMPLES // length))
    spread = np.unique(np.linspace(0, len(usable) - 1, most).round().astype(int))
    chosen = [usable[k] for k in spread]
    traces: Sequence[Any] = [window.record for window in chosen] if ready is None else ready
    times = [window.places for window in chosen] if ready is None else [t.times for t in traces]
    # Centred: priors take any mean.
    centred = [trace.values - trace.values.mean(axis=0) for trace in traces]
    fitted = cls.fit(centred, times=times, **settings)
    prior = fitted.prior_class(quantiles=options["quantiles"], times=length).specification()
    scaled = settings["normalise"] or (ready is not None and "variance" not in known)
    if scaled and "variance" in {item.name for item in cls.parameters()}:
        pieces: list[Any] = [window.record for window in chosen]
        spreads = np.concatenate([piece.values.var(axis=0) for piece in pieces])
        low, high = np.quantile(spreads, options["quantiles"]).tolist()
        prior["variance"] = {"interval": [low, high]} if low < high else low
    facts: dict[str, Any] = {
        "used": _words_used(records, usable, traces, preparation)
        if ready is None
        else f"{count_text(len(ready), 'trace')} that the published preparation leaves of "
        f"{len(records)}; their variance from {count_text(len(chosen), 'window')} of {length}",
        "traces": len(records),
        "windows": len(traces),
        "series": len(fitted),
        "at_bound": int(np.sum(fitted.at_bound)),
        "standardised": scaled,
    }
    if words := _words_at_bound(fitted, options["quantiles"]):
        facts["at_bound_means"] = words
    for name, values in fitted.effective.items():
        quartiles = np.quantile(values, QUARTERS)
        facts[f"quartiles_of_{name}"] = [float(f"{quartile:.7g}") for quartile in quartiles]
    return prior, facts, preparation


def _usable_windows(
    records: Sequence[RealTrace], preparation: Preparation, length: int
) -> list[Window]:
    """Return the windows with half of their samples, most of them neighbours, that move."""
    slowest = SLOWEST * (preparation.seconds or 0.0)
    found = [
        window
        for record in records
        if (median_step(record) or 0.0) <= slowest
        for window in preparation.windows(record)
        if len(window.places) >= max(2, length / 2)
        and np.median(np.diff(window.places)) == 1
        and _can_be_fitted(window.record)
    ]
    if not found:
        raise DataError(
            f"the data must have a trace that moves, in a window of {length} samples with half of "
            f"them there, one every {preparation.seconds or 0:g} s; got none: try --times or "
            f"--every."
        )
    return found


def _words_used(
    records: Sequence[RealTrace],
    usable: Sequence[Window],
    traces: Sequence[RealTrace],
    preparation: Preparation,
) -> str:
    """Return what of the data was fitted, in a sentence."""
    beat = f"{preparation.window} samples, one every {preparation.seconds:g} s"
    metres = preparation.metres
    units = "" if metres is None else f", in metres around latitude {metres:g}"
    slow = sum((median_step(r) or 0.0) > SLOWEST * (preparation.seconds or 0.0) for r in records)
    late = f"; left out, as sampled more slowly: {count_text(slow, 'trace')}" if slow else ""
    of = f"{len(traces)} of " if len(traces) < len(usable) else ""
    windows = count_text(len(usable) if of else len(traces), "window")
    return f"{of}{windows} of {beat}{units}, from {count_text(len(records), 'trace')}{late}"


def _words_at_bound(fitted: Any, quantiles: tuple[float, float]) -> str:
    """Return what it means for the class that searches have stopped at an end of their range."""
    count, total = int(np.sum(fitted.at_bound)), len(fitted)
    if not count:
        return ""
    stopped = fitted.at_bound
    reached = [
        name
        for name, values in fitted.effective.items()
        if name != "variance"  # which is not searched for
        for low, high in [np.quantile(values, quantiles)]
        # Outside the quantiles it does not matter how far a fit may lie beyond.
        if np.any((values[stopped] >= low * 0.9999) & (values[stopped] <= high * 1.0001))
    ]
    told = f"{count} of {total} fits stopped at an end of the search, and may lie beyond it"
    if not reached:
        return f"{told}; the quantiles lie inside, so that the class does not depend on it"
    return (
        f"{told}; the ends of the class in {' and '.join(reached)} are those of the search, or "
        f"depend on them, and the data do not say so much: take longer windows (--times), or say "
        f"what is known (--prior '{fitted.prior.name} {reached[0]}=...')"
    )


def _require_known(cls: Any, known: Mapping[str, Any]) -> None:
    """Refuse a prior whose fit needs to be told something that was not."""
    _, *others = inspect.signature(cls.fit).parameters.items()  # the first are the traces
    for name, wanted in others:
        many = wanted.kind in (wanted.VAR_POSITIONAL, wanted.VAR_KEYWORD)
        if wanted.default is wanted.empty and not many and name not in known:
            raise DataError(
                f"the prior '{cls.name}' must be given {name} to be fitted; got none: write "
                f"--prior '{cls.name} {name}=...'."
            )


def _can_be_fitted(trace: Any) -> bool:
    """Whether the times increase and every coordinate moves."""
    moves = np.ptp(trace.values, axis=0) > 0
    return len(trace) > 1 and bool((np.diff(trace.times) > 0).all() and moves.all())


def _fit_states(
    cls: Any, known: Any, given: Source, records: Any, ready: Any, **options: Any
) -> Found:
    """Return one chain for the days of a home, else one for each user."""
    if not cls.overrides("fit_each"):
        raise DataError(
            f"data that are states must have a prior that is fitted to states, such as "
            f"markov_chain; got '{cls.name}'."
        )
    if options["every"] or options["standardise"]:
        raise DataError("--every and --standardise must have traces of numbers; got states.")
    for name in known.keys() - {"steps", "states", "smoothing"}:
        raise DataError(
            f"of '{cls.name}' only steps, states and smoothing can be known, the rest is fitted; "
            f"got {name}."
        )
    chosen = records if ready is None else ready
    traces = [list(record.states) for record in chosen]
    days, longest = given.format.kind == "days", max(map(len, traces))
    steps = longest if days or ready is not None else min(POINTS, longest)
    settings = {
        "smoothing": options["smoothing"],
        "states": labels_of(chosen),
        "steps": options["times"] or steps,
        **known,
    }
    states = settings["states"]
    people: dict[str, list[list[Hashable]]] = {}
    for record, trace in zip(chosen, traces, strict=True):
        people.setdefault(record.user, []).append(trace)
    _require_small(len(people) if not days else settings["steps"], len(states))
    states_used = count_text(sum(map(len, traces)), "state")
    facts: dict[str, Any] = {
        "used": f"{states_used}, of {count_text(len(traces), 'trace')}, "
        f"for windows of {settings['steps']}"
    }
    if days:
        chain = cls.fit(traces, homogeneous=False, **settings)
        facts |= {"days": len(traces), "states": list(states)}
        preparation = Preparation(window=settings["steps"], minutes=given.minutes)
    else:
        chains = cls.fit_each(people, **settings)
        chain = chains[0] if len(chains) == 1 else AnyOf(*chains)
        facts |= {"users": len(people), "traces": len(traces), "states": len(states)}
        preparation = Preparation(window=settings["steps"], published=ready is not None)
    return chain.specification(), facts, preparation


def _require_small(matrices: int, states: int) -> None:
    """Refuse a class that no memory holds, before anything is allocated."""
    if matrices * states**2 > MOST_NUMBERS:
        raise DataError(
            f"a class of chains must hold at most {MOST_NUMBERS:,} probabilities of moves; "
            f"{matrices:,} matrices over {states:,} states would hold {matrices * states**2:,}: "
            f"fit one person's own places (--user), or check-ins as published (--published)."
        )
