"""Plugins are values, answer as they declare, the same when asked twice, and change nothing."""
# ruff: noqa: D401 - a law is a statement, not a command

from __future__ import annotations

import atexit
import contextlib
import functools
import importlib
import math
import sys
import tomllib
import unicodedata
from collections.abc import Callable
from concurrent.futures import BrokenExecutor
from difflib import SequenceMatcher
from typing import Any, TypeVar

import attrs
import numpy as np

import sfumato as sf
from sfumato.channels import Emission
from sfumato.comparison.executors import Workers
from sfumato.compatibility import question_type, require_one_trace
from sfumato.errors import REFUSALS, Incompatible, OutsideHypotheses, ParameterError
from sfumato.laws.capabilities import (
    PROMISES,
    design,
    read,
    rebuild,
    require_agreement,
)
from sfumato.laws.law import NotHere, Violation, law, require
from sfumato.laws.transformations import Changed
from sfumato.parameters import SEED
from sfumato.plugin_registry import Registry, default_registry, use_registry
from sfumato.protocols import Quantity, Release, Situation

_T = TypeVar("_T")

CERTIFIED = 1e-2
"""An exact value whose certified error is larger is none."""


def _twice(ask: Callable[[], _T], *given: Any, what: str) -> _T:
    """Return the answer, if a second one is the same and what was given is as it was."""
    before = [contents_of(item) for item in given]
    first, second = ask(), ask()
    require(
        contents_of(first) == contents_of(second),
        f"{what} must be the same when asked for twice; got {first!r} and {second!r}",
    )
    require(
        [contents_of(item) for item in given] == before,
        f"asking for {what} must not change what it is asked about",
    )
    return first


def _require_known_promises(plugin: Any) -> None:
    if type(plugin).kind == "mechanism":
        own = [item.name for item in type(plugin).parameters()]
        measures = default_registry().names("measure")
        unknown = {
            pair for pair in plugin.promises if pair[0] not in own or pair[1] not in measures
        }
        wanted = "a parameter of its own with the name of a measure"
    else:
        unknown = set(plugin.promises) - set(PROMISES[type(plugin).kind])
        wanted = f"among {PROMISES[type(plugin).kind]}"
    require(not unknown, f"promises must be {wanted}; got {sorted(unknown)}")


@law("contract.question", over=("secret",))
def question_is_as_declared(prior: Any, secret: Any) -> None:
    """A secret's question is of the declared type, and the same when asked for twice."""
    belief = prior.belief()
    try:
        question = _twice(
            lambda: attrs.evolve(secret).question(belief), belief, secret, what="the question"
        )
    except ParameterError as reason:
        raise NotHere(str(reason)) from None
    declared = question_type(secret, type(belief))
    require(
        declared is not None and isinstance(question, declared),
        f"the question must be of the declared type; got {type(question).__name__}",
    )


@law("contract.release", over=("mechanism",), cost=4, seed=SEED)
def release_is_as_declared(
    prior: Any, secret: Any, mechanism: Any, release: Release, seed: int
) -> None:
    """A mechanism's release is for what it was asked for, and the same when designed twice."""
    _require_known_promises(mechanism)
    belief = prior.belief()
    again = design(rebuild(mechanism), rebuild(prior), rebuild(secret))
    require(
        isinstance(release.channel, mechanism.yields),
        f"the channel must be a {mechanism.yields.__name__}; got {type(release.channel).__name__}",
    )
    asked = (mechanism, prior, secret)
    require(
        (release.mechanism, release.prior, release.secret) == asked,
        f"the release must be of {asked}; got {release}",
    )
    try:
        require_one_trace(belief, release.channel)
    except Incompatible as reason:
        raise Violation(str(reason)) from None
    require(
        contents_of((release.channel, release.utility()))
        == contents_of((again.channel, again.utility())),
        f"designing twice must give the same channel; got {release.channel} and {again.channel}",
    )
    untouched = rebuild(prior).belief()
    require(
        contents_of(belief) == contents_of(untouched),
        f"designing must not change the belief; {untouched} became {belief}",
    )
    trace = belief.sample(np.random.default_rng(seed))
    given = np.array(trace) if isinstance(trace, np.ndarray) else list(trace)
    shown = contents_of(given)
    output = release.apply(given, np.random.default_rng(seed))
    require(contents_of(given) == shown, "releasing a trace must not change it")
    if isinstance(release.channel, Emission):
        _require_one_evidence(release.channel, trace, output)


def _require_one_evidence(channel: Emission, trace: Any, output: Any) -> None:
    """Require that what an output tells is the same in a batch, by symbols, and for a trace."""
    rows = channel.evidence(output)
    whole = float(rows[np.arange(len(rows)), channel.encode(trace)].sum())
    found = channel.log_likelihood(output, trace)
    require(
        found == whole or math.isclose(found, whole, rel_tol=1e-9, abs_tol=1e-9),
        f"the log-likelihood of {output!r} for {trace!r} must be {whole}; got {found}",
    )
    told = [("in a batch", channel.evidence_batch([output])[0])]
    with contextlib.suppress(OutsideHypotheses):  # where symbols cannot be listed
        memory: Any = ()
        steps = []
        for time, alphabet in enumerate(channel.outputs()):
            steps.append(channel.next_evidence(memory, time)[alphabet.index(output[time])])
            memory = channel.remember(memory, time, output[time])
        told.append(("symbol by symbol", np.array(steps)))
    for how, other in told:
        require(
            np.allclose(np.exp(rows), np.exp(other), rtol=1e-9, atol=1e-12),
            f"the evidence of {output!r} must be the same {how}; got {rows} and {other}",
        )


@law("contract.reading", over=("measure",))
def reading_is_as_declared(at: Situation, release: Release, measure: Any) -> None:
    """A measure finds the same twice, and its loss for one prior is what it finds."""
    _require_known_promises(measure)
    given = (at.belief, at.question, at.channel)
    reading = _twice(lambda: read(measure, at), *given, what="the reading")
    require(
        reading.bound != "exact" or reading.relative_error <= CERTIFIED,
        f"an exact value must be certified to {CERTIFIED}; got {reading.relative_error:.3g}",
    )
    loss = measure.loss(release.prior, release.secret, release)
    require_agreement(reading, loss, "taking the loss of a single prior")
    require(
        loss.quantity == measure.quantity,
        f"the loss must be of {measure.quantity}; got {loss.quantity}",
    )


NEARLY = 0.9
"""From this share of equal letters on, two names look alike."""


@law("contract.quantity", over=("measure",), cost=4)
def quantity_is_not_nearly_another(measure: Any) -> None:
    """A quantity is another one's by name, parameters, unit and direction, or it is plainly not."""
    mine = measure.quantity
    registry = default_registry()
    for name in registry.names("measure"):
        cls = registry.get("measure", name)
        if cls is type(measure) or any(item.required for item in cls.parameters()):
            continue
        other = cls().quantity
        alike = SequenceMatcher(None, _letters(mine.name), _letters(other.name)).ratio()
        require(
            alike < NEARLY or _kind_of(mine) == _kind_of(other),
            f"{mine!r} is nearly the quantity of {name}, {other!r}: use the same, or another name",
        )


def _kind_of(quantity: Quantity) -> tuple[str, list[str], str, str]:
    """Return all of a quantity but the values of its parameters."""
    return quantity.name, sorted(dict(quantity.parameters)), quantity.unit, quantity.worse


def _letters(name: str) -> str:
    """Return the letters of a name without accents, spaces or capitals."""
    plain = unicodedata.normalize("NFKD", name).casefold()
    return "".join(letter for letter in plain if letter.isalnum())


@law("contract.population", over=("measure",))
def population_loses_what_each_does(
    prior: Any, secret: Any, mechanism: Any, release: Release, measure: Any
) -> None:
    """What a measure finds for many people is what it finds for each of them."""
    if not hasattr(measure, "of_population"):
        raise NotHere(f"{measure.name} has no losses of populations")
    people, releases = _People([prior]), [release]
    with contextlib.suppress(NotHere, *REFUSALS):  # where the mechanism cannot be for the other
        other = _somebody_else(prior)
        releases.append(design(mechanism, other, secret))
        people.append(other)

    def alone() -> list[float]:
        each = enumerate(zip(people, releases, strict=True))
        return [measure.for_person(n).loss(one, secret, own).value for n, (one, own) in each]

    found = measure.of_population(people, secret, mechanism, processes=1)
    wanted, again = alone(), alone()
    if again != wanted:
        raise NotHere(f"{measure.name} draws anew each time")
    pairs = zip(found.values.tolist(), wanted, strict=True)
    require(
        all(a == b or math.isclose(a, b, rel_tol=1e-9) for a, b in pairs),
        f"everyone must lose what they lose alone, {wanted}; got {found.values.tolist()}",
    )


class _People(list[Any]):
    """Priors of which some are in no registry."""

    def some(self, chosen: list[int]) -> list[Any]:
        """Return some of them, for this process."""
        return [self[person] for person in chosen]


def _somebody_else(prior: Any) -> Any:
    """Return who begins elsewhere; without states, the same person."""
    return Changed(prior=prior, home=0) if hasattr(prior.belief(), "state_count") else prior


@law("contract.inference", over=("adversary",), seed=SEED)
def inference_is_as_declared(at: Situation, adversary: Any, seed: int) -> None:
    """An adversary infers the same twice from what it sees, and changes nothing."""
    _require_known_promises(adversary)
    rng = np.random.default_rng(seed)
    seen = at.channel.sample(at.belief.sample(rng), rng)
    given = (at.belief, at.channel, seen)
    _twice(lambda: adversary.infer(*given), *given, what="the inference")


BAD_VALUES: tuple[Any, ...] = (
    *(math.nan, math.inf, -1.0, 0, -3, 2.5, 1j, True, None, "nonsense", b"bytes", {}, object()),
    *([], [math.nan], [[1.0, math.nan]], np.zeros((0, 3))),
)
"""What people and programs pass by mistake."""

OTHER_VALUES: tuple[Any, ...] = (0, 1, 3, 0.5, 1.5, True)
"""Simple values, some of which suit most parameters."""


@law("interface.round_trip", over=("plugin",))
def written_and_read_back(plugin: Any) -> None:
    """A plugin is rebuilt equal from its specification, from TOML and from its repr."""
    registry, kind = default_registry(), type(plugin).kind
    plain = plugin.specification()
    _require_equal(registry.build(kind, plain), plugin, "its specification")
    import tomli_w

    read = tomllib.loads(tomli_w.dumps({"plugin": plain}))["plugin"]
    _require_equal(registry.build(kind, read), plugin, "TOML")
    code = repr(plugin)
    _require_equal(eval(code, {"sf": sf}), plugin, f"its repr {code}")  # noqa: S307 - our own repr


@law("interface.equality", over=("plugin",))
def different_plugins_differ(plugin: Any) -> None:
    """Plugins with different parameters are not equal."""
    for item in type(plugin).parameters():
        for value in (item.default, *OTHER_VALUES):
            try:
                other = attrs.evolve(plugin, **{item.name: value})
            except (ParameterError, *REFUSALS):
                continue
            same = other.specification() == plugin.specification()
            require(
                (other == plugin) == same,
                f"{other!r} and {plugin!r} must {'' if same else 'not '}be equal",
            )


def _require_equal(made: Any, plugin: Any, source: str) -> None:
    require(
        made == plugin and hash(made) == hash(plugin),
        f"a plugin rebuilt from {source} must be equal, with an equal hash; "
        f"got {made!r} for {plugin!r}",
    )


@law("interface.frozen", over=("plugin",))
def never_changed(plugin: Any) -> None:
    """A plugin cannot be changed, nor can the arrays it holds."""
    for item in type(plugin).parameters():
        value = getattr(plugin, item.name)
        try:
            setattr(plugin, item.name, value)
        except attrs.exceptions.FrozenInstanceError:
            pass
        else:
            raise Violation(f"{item.name} must not be assignable")
        if isinstance(value, np.ndarray):
            require(not value.flags.writeable, f"the array {item.name} must be read-only")


@law("interface.domains", over=("plugin",), cost=3)
def bad_values_are_rejected(plugin: Any) -> None:
    """A value outside a parameter's domain is a ParameterError; NaN is outside of every domain."""
    cls = type(plugin)
    given = {item.name: getattr(plugin, item.name) for item in cls.parameters()}
    for item in cls.parameters():
        for bad in BAD_VALUES:
            if bad is None and item.default is None:
                continue
            inside = item.domain.takes(bad) or item.domain.takes(bad, plugin.sizes)
            if inside and not _has_nan(bad):
                continue
            try:
                made = cls(**{**given, item.name: bad})
            except ParameterError:
                continue
            except Exception as error:  # noqa: BLE001 - the wrong error is the finding
                sentence = f"{item.name}={bad!r} must be a ParameterError; got {error!r}"
                raise Violation(sentence) from None
            raise Violation(f"{item.name}={bad!r} must be rejected; got {made!r}")


def _has_nan(value: Any) -> bool:
    try:
        return bool(np.isnan(np.asarray(value, dtype=float)).any())
    except (TypeError, ValueError):
        return False


@law("interface.process", over=("plugin",), cost=2)
def rebuilt_in_another_process(plugin: Any) -> None:
    """Another process rebuilds an equal plugin from the specification."""
    home, paths = (type(plugin).__module__, type(plugin).__qualname__), default_registry().paths
    task = (type(plugin).kind, plugin.specification(), home, paths, tuple(sys.path))
    try:
        text, plain = _other_process().submit(_rebuild, task).result()
    except BrokenExecutor:  # once, it may have been ended from outside
        text, plain = _other_process().submit(_rebuild, task).result()
    if text is None:
        raise NotHere(f"another process cannot import {home[0]}")
    require(
        text == repr(plugin) and plain == plugin.specification(),
        f"another process must rebuild {plugin!r}; it made {text}",
    )


def contents_of(value: Any) -> Any:
    """Return plain contents: equal for equal answers, whatever their class compares."""
    if isinstance(value, np.ndarray):
        return (value.shape, value.dtype.str, contents_of(value.ravel().tolist()))
    if isinstance(value, (list, tuple)):
        return [contents_of(item) for item in value]
    if isinstance(value, dict):
        return {key: contents_of(item) for key, item in value.items()}
    if attrs.has(type(value)):
        fields = (getattr(value, field.name) for field in attrs.fields(type(value)))
        # Functions that a belief carries are made anew each time.
        return (type(value).__name__, [contents_of(item) for item in fields if not callable(item)])
    by_identity = type(value).__eq__ is object.__eq__  # type: ignore[comparison-overlap]  # it can be
    if by_identity and hasattr(value, "__dict__") and not callable(value):
        return (type(value).__name__, contents_of(vars(value)))
    return value


@functools.cache
def _other_process() -> Workers:
    """Return a worker that loads everything anew, and stays until this process ends."""
    workers = Workers()
    atexit.register(workers.stop)
    return workers


def _rebuild(
    task: tuple[str, Any, tuple[str, str], tuple[str, ...], tuple[str, ...]],
) -> tuple[str | None, Any]:
    """Rebuild one plugin; what goes wrong is an answer too, and None that it is not there."""
    kind, plain, home, paths, folders = task
    sys.path += [folder for folder in folders if folder not in sys.path]
    try:
        registry = _registry(paths)
        if plain["name"] not in registry.names(kind):
            try:
                cls = getattr(importlib.import_module(home[0]), home[1])
            except (ImportError, AttributeError):
                return None, None
            registry = registry.with_classes(cls)
        use_registry(registry)
        made = registry.build(kind, plain)
        return repr(made), made.specification()
    except Exception as error:  # noqa: BLE001 - reported to the one who asked
        return repr(error), None


_registry = functools.cache(Registry.load)
