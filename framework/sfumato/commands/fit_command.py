"""`sfumato fit`: a data set in, a class of priors out."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import click
import numpy as np

from sfumato.beliefs import Gaussian
from sfumato.commands.arguments import DATA, PATH, Source, specification, with_plugins, with_source
from sfumato.datasets import RealTrace, labels_of
from sfumato.errors import DataError
from sfumato.plugin_registry import default_registry
from sfumato.prior_classes.sets import AnyOf
from sfumato.protocols import Prior
from sfumato.values import refuse_unwritable, write_whole

QUARTILES = (0.25, 0.75)
QUARTERS = (0.25, 0.5, 0.75)


@click.command("fit")
@with_plugins
@with_source
@click.argument("data", type=DATA)
@click.option("--prior", required=True, help="The kind of prior and what is known of it: rbf.")
@click.option("--output", "-o", required=True, type=PATH, help="TOML file.")
@click.option("--published", is_flag=True, help="Prepare the data as in the literature.")
@click.option("--standardise", is_flag=True, help="Scale every trace to variance one.")
@click.option("--noise", default=0.0025, show_default=True, help="Measurement error's share.")
@click.option("--quantiles", nargs=2, type=float, default=QUARTILES, show_default=True)
@click.option("--times", type=click.IntRange(1), help="Points of a trace; 50, or as all have.")
@click.option("--smoothing", default=1.0, show_default=True, help="Added to each move's count.")
@click.option("--user", help="Fit only this user's traces.")
@click.option("--force", is_flag=True, help="Overwrite the output.")
def command(
    *,
    data: Path,
    prior: str,
    output: Path,
    published: bool,
    standardise: bool,
    noise: float,
    quantiles: tuple[float, float],
    times: int | None,
    smoothing: float,
    user: str | None,
    force: bool,
    source: Callable[[Path], Source],
) -> None:
    """Fit DATA and write the class of priors that it suggests.

    Real traces: the quantiles of every fitted parameter are the ends of an interval.
    Days of an activity home: one chain with a matrix for each step.
    Other sequences: one chain for each user, from all their traces; the class holds them all.
    """
    import tomli_w

    refuse_unwritable(output, overwrite=force)
    known = specification("prior", prior)
    cls = default_registry().get("prior", known.pop("name"))  # before much is read
    given = source(data)
    prepared = given.published() if published else map(_centre, given.records())
    records = given.of_user(prepared, user)
    recipe = given.format.published if published else None
    if isinstance(records[0], RealTrace):
        settings = {"noise": noise, "normalise": standardise, **(recipe.options if recipe else {})}
        found, facts = _fit_traces(cls, known, records, settings, quantiles=quantiles, times=times)
    else:
        found, facts = _fit_sequences(cls, records, given.format.kind, smoothing, times)
    facts = {"data": data.name, **facts}
    if recipe:
        facts["prepared"] = recipe.note
        facts.pop("seconds_per_sample", None)  # prepared traces have clocks of their own
    write_whole(output, tomli_w.dumps({"prior": found, "fitted": facts}))
    for name, value in facts.items():
        click.echo(f"{name}: {value}", err=True)


def _fit_traces(
    cls: Any,
    known: Mapping[str, Any],
    records: Sequence[Any],
    settings: Mapping[str, Any],
    *,
    quantiles: tuple[float, float],
    times: int | None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the class and what was found: quartiles of every parameter, in samples."""
    if cls.yields is not Gaussian or cls.fit.__func__ is Prior.fit.__func__:  # type: ignore[attr-defined]
        raise DataError(
            f"data that are numbers must have a prior that is fitted to numbers, such as rbf; got "
            f"'{cls.name}'."
        )
    usable = [trace for trace in records if _can_be_fitted(trace)]
    if not usable:
        raise DataError("the data must have a trace that moves at increasing times; got none.")
    _require_known(cls, known)
    fitted = cls.fit(
        [trace.values for trace in usable],
        times=[trace.times for trace in usable],
        **settings,
        **known,
    )
    points = {len(trace) for trace in usable}
    length = times or (points.pop() if len(points) == 1 else 50)
    found = fitted.prior_class(quantiles=quantiles, times=length)
    facts: dict[str, Any] = {
        "traces": len(usable),
        "left_out": len(records) - len(usable),
        "series": len(fitted),
        "at_bound": int(np.sum(fitted.at_bound)),
        "standardised": settings["normalise"] or "variance" in settings,
        "seconds_per_sample": float(np.median(np.concatenate([np.diff(t.times) for t in usable]))),
    }
    for name, values in fitted.effective.items():
        facts[f"quartiles_of_{name}"] = [round(float(q), 6) for q in np.quantile(values, QUARTERS)]
    return found.specification(), facts


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


def _centre(record: Any) -> Any:
    """Return a real trace with mean zero, whatever its mean was: priors take any mean."""
    if not isinstance(record, RealTrace):
        return record
    return attrs.evolve(record, values=record.values - record.values.mean(axis=0))


def _can_be_fitted(trace: RealTrace) -> bool:
    """Whether the times increase and every coordinate moves."""
    moves = np.ptp(trace.values, axis=0) > 0
    return len(trace) > 1 and bool((np.diff(trace.times) > 0).all() and moves.all())


def _fit_sequences(
    cls: Any, records: Sequence[Any], kind: str, smoothing: float, steps: int | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    if not hasattr(cls, "fit_each"):
        raise DataError(
            f"data that are states must have a prior that is fitted to states, such as "
            f"markov_chain; got '{cls.name}'."
        )
    states = labels_of(records)
    traces = [list(record.states) for record in records]
    if kind == "days":
        chain = cls.fit(traces, homogeneous=False, smoothing=smoothing, states=states)
        return chain.specification(), {"days": len(traces), "states": list(states)}
    people: dict[str, list[list[Hashable]]] = {}
    for record, trace in zip(records, traces, strict=True):
        people.setdefault(record.user, []).append(trace)
    chains = cls.fit_each(people, smoothing=smoothing, states=states, steps=steps)
    found = chains[0] if len(chains) == 1 else AnyOf(*chains)
    facts = {"users": len(people), "traces": len(traces), "states": len(states)}
    return found.specification(), facts
