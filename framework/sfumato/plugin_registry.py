"""The registry: every plugin by noun and name, as an immutable value."""

from __future__ import annotations

import importlib.util
import inspect
import os
import re
import signal
import sys
import threading
import time
import tomllib
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

import attrs
import pluggy

from sfumato import hookspecs
from sfumato.errors import (
    BrokenPluginWarning,
    DuplicateName,
    ParameterError,
    PluginError,
    UnknownName,
    UnknownParameter,
    did_you_mean,
)
from sfumato.parameters import Declared
from sfumato.prior_classes.combinations import combine, joint_traces
from sfumato.prior_classes.families import family_of, sets_of
from sfumato.prior_classes.sets import AnyOf, Interval
from sfumato.protocols import NOUNS, Prior, Secret
from sfumato.questions.secret_unions import SecretUnion

Builder = Callable[["Registry", Mapping[str, Any]], Any]


@contextmanager
def note_place(place: str) -> Iterator[None]:
    """Note on an error where in the specification it happened, innermost place first."""
    try:
        yield
    except (ParameterError, UnknownName, UnknownParameter) as error:
        error.add_note(place)
        raise


def class_of_values(plain: Any) -> Any:
    """Return an interval or a choice from its plain form, also inside a table; the rest as it is.

    >>> from sfumato.plugin_registry import class_of_values
    >>> class_of_values({"interval": [1, 2]})
    sf.Interval(1.0, 2.0)
    >>> class_of_values({"name": "RBF", "length_scale": {"interval": [1, 2]}})
    {'name': 'RBF', 'length_scale': sf.Interval(1.0, 2.0)}
    """
    if isinstance(plain, Mapping) and set(plain) == {"interval"}:
        ends = list_under(plain, "interval")
        if len(ends) != 2:
            raise ParameterError(f"interval must be [low, high]; got {ends!r}.")
        return Interval(*ends)
    if isinstance(plain, Mapping) and set(plain) == {"any_of"}:
        return AnyOf.listed(map(class_of_values, list_under(plain, "any_of")))
    if isinstance(plain, Mapping):
        return {key: class_of_values(value) for key, value in plain.items()}
    return plain


def list_under(table: Mapping[str, Any], key: str) -> list[Any]:
    """Return the list under a key, or say what was there instead."""
    value = table[key]
    if not isinstance(value, (list, tuple)):
        raise ParameterError(f"{key} must be a list; got {value!r}.")
    return list(value)


def _combine_parts(
    kind: str, key: str, combine_all: Callable[[list[Any]], Any]
) -> tuple[tuple[str, frozenset[str]], Builder]:
    """Return how to build a form that is a list of other specifications under one key."""

    def build(registry: Registry, table: Mapping[str, Any]) -> Any:
        parts = []
        for number, part in enumerate(list_under(table, key)):
            with note_place(f"{key}[{number}]"):
                parts.append(registry.build(kind, part))
        return combine_all(parts)

    return (kind, frozenset({key})), build


FORMS: Mapping[tuple[str, frozenset[str]], Builder] = dict(
    (
        _combine_parts("prior", "any_of", lambda parts: AnyOf(*parts)),
        _combine_parts("prior", "sum", partial(combine, "sum")),
        _combine_parts("prior", "product", partial(combine, "product")),
        _combine_parts("secret", "union", lambda parts: SecretUnion(tuple(parts))),
        (
            ("prior", frozenset({"joint", "positions"})),
            lambda registry, table: joint_traces(
                registry.build("prior", table["joint"]), list_under(table, "positions")
            ),
        ),
    )
)


class TookTooLong(BaseException):
    """Something has not ended in its time; no exception of a program, which would catch it."""


@contextmanager
def within(seconds: float | None, what: str) -> Iterator[Callable[[], None]]:
    """Interrupt what does not end in time, and yield what starts the clock anew.

    What works on a loaded machine has so many seconds of its processor; what sleeps has those of
    the clock. Only Python's own steps can be interrupted, in a main thread of Unix; elsewhere
    nothing is.

    >>> from sfumato.plugin_registry import within
    >>> with within(60.0, "this") as start_anew:
    ...     start_anew()
    """
    main = threading.current_thread() is threading.main_thread()
    if seconds is None or not main or not hasattr(signal, "setitimer"):
        yield lambda: None
        return
    began = seen = time.process_time()

    def start_anew() -> None:
        nonlocal began, seen
        began = seen = time.process_time()
        signal.setitimer(signal.ITIMER_REAL, seconds)

    def interrupt(*_: object) -> None:
        nonlocal seen
        now = time.process_time()
        works, left, seen = now - seen > WORKS * seconds, seconds - (now - began), now
        if not works or left <= WORKS * seconds:
            raise TookTooLong(f"{what} must end within {seconds:g} s; it does not.")
        signal.setitimer(signal.ITIMER_REAL, seconds)

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        start_anew()
        yield start_anew
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


WORKS = 0.01
"""The share of the time that one must have had the processor not to be taken for asleep."""

IMPORTED_WITHIN = 60.0
"""Seconds that a plugin's file may take to be imported."""


def _build_design(registry: Registry, table: dict[str, Any]) -> Any:
    """Return a mechanism whose table says under `design` for which prior or secret it designs."""
    from sfumato.release.designs import DesignedFor

    design = table.pop("design")
    if not isinstance(design, Mapping) or not set(design) <= {"prior", "secret"}:
        raise ParameterError(f"design must be a table of a prior and a secret; got {design!r}.")
    with note_place("design"):
        own = {
            kind: registry.build(kind, table_of_text(one) if isinstance(one, str) else one)
            for kind, one in design.items()
        }
    return DesignedFor(registry.build("mechanism", table), **own)


def table_of_text(text: str) -> dict[str, Any]:
    """Return the table of a noun that is written as a name with ``key=value`` pairs, in TOML.

    >>> from sfumato.plugin_registry import table_of_text
    >>> table_of_text("basic index=24 radius=0.5")
    {'name': 'basic', 'index': 24, 'radius': 0.5}
    """
    name, *pairs = re.split(r"\s+(?=\w+\s*=)", text.strip())
    try:
        return {"name": name, **tomllib.loads("\n".join(pairs))}
    except ValueError as error:
        raise ParameterError(
            f"a plugin must be a name with key=value pairs, values as in TOML (quote text, as in "
            f'key="value"); got {text!r}: {error}.'
        ) from None


GROUP = "sfumato"
BY_HAND = "by hand"
"""The origin of an entry that no installed package and no plugin file registers."""
ENVIRONMENT = "SFUMATO_PLUGINS"

OTHERS: Mapping[str, str] = MappingProxyType(
    {
        "study": "sfumato_studies",
        "figure": "sfumato_figures",
        "strategy": "sfumato_strategies",
        "format": "sfumato_formats",
        "world": "sfumato_worlds",
    }
)


@attrs.frozen
class Entry:
    """One registered thing and the plugin it came from."""

    kind: str
    name: str
    value: Any
    origin: str


@attrs.frozen
class Problem:
    """A plugin that was skipped, and why."""

    origin: str
    reason: str


@attrs.frozen
class Registry:
    """Everything registered, in a fixed order; a value that never changes once loaded.

    It does not pickle, as plugins are code: another process loads its own, with `Registry.load`.

    >>> import sfumato as sf
    >>> "rbf" in sf.registry.names("prior")
    True
    """

    entries: tuple[Entry, ...]
    problems: tuple[Problem, ...] = ()
    paths: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<Registry of {len(self.entries)} entries, {len(self.problems)} problems>"

    @classmethod
    def load(
        cls,
        paths: Iterable[str | Path] = (),
        *,
        installed: bool = True,
        strict: bool = False,
    ) -> Registry:
        """Load installed plugins and one-file plugins.

        Parameters
        ----------
        paths
            Python files with hooks in them.
        installed
            Whether to load the plugins registered by entry points.
        strict
            Raise for a broken plugin instead of reporting and skipping it.
        """
        files = tuple(dict.fromkeys(str(Path(path).resolve()) for path in paths))
        found: list[Entry] = []
        problems: list[Problem] = []
        for origin, load in _sources(files, installed=installed):
            try:
                found.extend(_entries(origin, load()))
            except (Exception, SystemExit, TookTooLong) as error:
                if strict:
                    raise PluginError(f"plugin {origin} is broken: {error}") from error
                problems.append(Problem(origin, _one_line(error)))
        _refuse_duplicates(found)
        for problem in problems:
            warnings.warn(
                f"plugin {problem.origin} was skipped: {problem.reason}",
                BrokenPluginWarning,
                stacklevel=2,
            )
        ordered = sorted(found, key=lambda entry: (entry.kind, entry.name))
        return cls(tuple(ordered), tuple(problems), files)

    def names(self, kind: str) -> list[str]:
        """Return the registered names of a noun, in alphabetical order."""
        self._require_kind(kind)
        return [entry.name for entry in self.entries if entry.kind == kind]

    def entry(self, kind: str, name: str) -> Entry:
        """Return the entry, or say what was meant."""
        self._require_kind(kind)
        for entry in self.entries:
            if entry.kind == kind and entry.name == name:
                return entry
        raise UnknownName(
            f"there is no {kind} named '{name}'; {did_you_mean(name, self.names(kind))}"
        )

    def get(self, kind: str, name: str) -> Any:
        """Return the registered class (or study file, or figure, or another value)."""
        return self.entry(kind, name).value

    def find(self, name: str) -> list[Entry]:
        """Return every entry of that name, whatever its noun."""
        return [entry for entry in self.entries if entry.name == name]

    def with_classes(self, *classes: Any) -> Registry:
        """Return the registry with classes of one's own, those that it has not."""
        known = [entry.value for entry in self.entries]
        new = [Entry(cls.kind, cls.name, cls, BY_HAND) for cls in classes if cls not in known]
        return attrs.evolve(self, entries=(*self.entries, *new))

    def _require_kind(self, kind: str) -> None:
        known = (*NOUNS, *OTHERS)
        if kind not in known:
            raise UnknownName(f"there is no noun '{kind}'; {did_you_mean(kind, known)}")

    def make(self, kind: str, name: str, /, *args: Any, **parameters: Any) -> Any:
        """Construct a plugin's object; intervals and choices make a prior a family."""
        cls = self.get(kind, name)
        given = _by_name(cls, args, parameters)
        try:
            sets = sets_of(cls, given)
        except RecursionError:
            raise ParameterError(f"{name} must not be nested so deeply.") from None
        if kind == "prior":
            return family_of(cls, given)
        for key, value in sets.items():
            raise ParameterError(
                f"{name}.{key} must be one value (only priors take classes); got {value!r}."
            )
        return cls(**given)

    def build(self, kind: str, specification: Mapping[str, Any]) -> Any:
        """Rebuild what a plain table specifies: a plugin by name, or a form made of others.

        >>> import sfumato as sf
        >>> sf.registry.build("prior", {"name": "rbf", "length_scale": 6.0, "times": 50})
        sf.priors.rbf(length_scale=6.0, times=50)
        """
        if not isinstance(specification, Mapping):
            raise ParameterError(f"a {kind} must be a table with a name; got {specification!r}.")
        form = FORMS.get((kind, frozenset(specification)))
        if form is not None:
            try:
                return form(self, specification)
            except RecursionError:
                raise ParameterError(f"a {kind} must not be nested so deeply.") from None
        plain = dict(specification)
        name = plain.pop("name", None)
        if not isinstance(name, str):
            raise ParameterError(f"a {kind} must have a name; got {dict(specification)!r}.")
        if kind == "mechanism" and "design" in plain:
            return _build_design(self, {**plain, "name": name})
        domains = {item.name: item.domain for item in self.get(kind, name).parameters()}
        values = {}
        for key, value in plain.items():
            with note_place(key):
                inner = domains[key].build(value, self.build) if key in domains else value
                values[key] = class_of_values(inner)
        return self.make(kind, name, **values)


def _by_name(cls: type[Declared], args: tuple[Any, ...], given: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments by name, rejecting unknown and missing ones in one sentence."""
    declared = cls.parameters()
    names = [item.name for item in declared]
    if len(args) > len(names):
        raise UnknownParameter(f"{cls.name} takes at most {len(names)} arguments; got {len(args)}.")
    named = dict(zip(names, args, strict=False))
    for key, value in given.items():
        if key not in names:
            raise UnknownParameter(
                f"{cls.name} has no parameter '{key}'; {did_you_mean(key, names)}"
            )
        if key in named:
            raise UnknownParameter(f"{cls.name}.{key} must be given once; got it twice.")
        named[key] = value
    missing = [item.name for item in declared if item.required and item.name not in named]
    if missing:
        raise UnknownParameter(f"{cls.name} must have the parameter '{missing[0]}'; got none.")
    return named


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _sources(
    files: tuple[str, ...], *, installed: bool
) -> Iterator[tuple[str, Callable[[], ModuleType]]]:
    """Yield plugins in an order that does not depend on installation: by name, then files."""
    if installed:
        points = sorted(set(entry_points(group=GROUP)), key=lambda point: (point.name, point.value))
        for point in points:
            yield f"'{point.name}' ({point.value})", point.load
    for file in files:
        yield f"'{file}'", lambda file=file: _load_file(file)  # type: ignore[misc]  # bound now


def _load_file(file: str) -> ModuleType:
    """Import a single file under a name of its own."""
    path = Path(file)
    if not path.is_file():
        raise PluginError(f"there is no file {path.name}")
    name = f"sfumato_file_plugin_{path.stem}_{abs(hash(file)):x}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise PluginError(f"{path.name} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with within(IMPORTED_WITHIN, f"importing {path.name}"):
            spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _entries(origin: str, module: ModuleType) -> list[Entry]:
    """Call a plugin's hooks through a manager of its own, so that blame falls on the right one."""
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    manager.register(module, name=origin)
    manager.check_pending()  # a misspelt hook must not be silent
    found: list[Entry] = []
    for kind, noun in NOUNS.items():
        for result in getattr(manager.hook, f"sfumato_{noun.plural}")():
            found.extend(_check_class(kind, cls, noun, origin) for cls in result)
    for kind, hook in OTHERS.items():
        for result in getattr(manager.hook, hook)():
            found.extend(_named_values(kind, hook, result, origin))
    if not found:
        raise PluginError("it registers nothing; mark its hooks with @sf.hookimpl")
    return found


def _named_values(kind: str, hook: str, result: Any, origin: str) -> list[Entry]:
    """Return the entries of a hook that returns a mapping from names."""
    if not isinstance(result, Mapping) or not all(isinstance(name, str) for name in result):
        raise PluginError(f"{hook} must return a mapping from names; got {result!r}")
    return [Entry(kind, name, value, origin) for name, value in result.items()]


def _check_class(kind: str, cls: Any, base: type[Declared], origin: str) -> Entry:
    """Return the entry for a class that keeps its noun's contract."""
    if not (isinstance(cls, type) and issubclass(cls, base)):
        raise PluginError(f"a {kind} must be a subclass of {base.__name__}; got {cls!r}")
    if not attrs.has(cls):
        raise PluginError(f"{cls.__name__} must be decorated with @declare")
    if inspect.isabstract(cls):
        missing = ", ".join(sorted(cls.__abstractmethods__))
        raise PluginError(f"{cls.__name__} must define {missing}")
    needed = {"prior": ("yields",), "secret": ("yields",), "mechanism": ("asks", "yields")}
    for attribute in ("name", *needed.get(kind, ("reads",))):
        if not hasattr(cls, attribute):
            raise PluginError(f"{cls.__name__} must have the class attribute '{attribute}'")
    _check_types(cls)
    name: str = cls.name  # type: ignore[attr-defined]  # just looked
    if not name.isidentifier():
        raise PluginError(f"{cls.__name__}.name must be an identifier; got {name!r}")
    return Entry(kind, name, cls, origin)


def _check_types(cls: Any) -> None:
    """Require the declared types in the form from which compatibility is decided."""
    for attribute in ("asks", "reads"):
        rows = getattr(cls, attribute, ())
        if not isinstance(rows, tuple) or not all(
            isinstance(row, tuple) and all(isinstance(item, type) for item in row) for row in rows
        ):
            raise PluginError(
                f"{cls.__name__}.{attribute} must be a tuple of tuples of types; got {rows!r}"
            )
    yields = getattr(cls, "yields", object)
    wanted = Mapping if issubclass(cls, Secret) else type
    if not isinstance(yields, wanted):
        expected = "a mapping from beliefs to questions" if wanted is Mapping else "a type"
        raise PluginError(f"{cls.__name__}.yields must be {expected}; got {yields!r}")


def _refuse_duplicates(entries: list[Entry]) -> None:
    seen: dict[tuple[str, str], Entry] = {}
    for entry in entries:
        first = seen.setdefault((entry.kind, entry.name), entry)
        if first is not entry:
            raise DuplicateName(
                f"the {entry.kind} '{entry.name}' is registered twice: by plugin {first.origin} "
                f"and by plugin {entry.origin}; uninstall or rename one of them."
            )


_lock = threading.RLock()
_default: list[Registry] = []
_loading: list[bool] = []


def default_registry() -> Registry:
    """Return the registry of installed plugins and those named by the environment variable."""
    with _lock:
        if not _default:
            if _loading:
                raise PluginError("it used the registry while the registry was being loaded")
            named = os.environ.get(ENVIRONMENT, "")
            _loading.append(True)
            try:
                _default.append(Registry.load(path for path in named.split(os.pathsep) if path))
            finally:
                _loading.clear()
        return _default[0]


def use_registry(registry: Registry) -> None:
    """Make `registry` the default one."""
    with _lock:
        _default[:] = [registry]


@attrs.frozen
class Constructor:
    """A callable that makes one plugin's objects."""

    kind: str
    name: str

    def __call__(self, *args: Any, **parameters: Any) -> Any:
        """Construct the object; `Interval` and `AnyOf` make a prior a family."""
        return default_registry().make(self.kind, self.name, *args, **parameters)

    @property
    def plugin(self) -> Any:
        """The plugin's class, with its class methods (such as `fit`)."""
        return default_registry().get(self.kind, self.name)

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]  # of the plugin, not of this class
        return _document(self.plugin)

    @property
    def __signature__(self) -> inspect.Signature:
        given = inspect.signature(self.plugin).parameters.values()
        bare = [one.replace(annotation=inspect.Parameter.empty) for one in given]
        return inspect.Signature(bare)

    def __dir__(self) -> list[str]:
        prior = issubclass(self.plugin, Prior)
        fits = [name for name in ("fit", "fit_each") if prior and self.plugin.overrides(name)]
        return ["parameters", "plugin", *fits]

    def __getattr__(self, attribute: str) -> Any:
        """Reach the class's own constructors and methods: ``sf.priors.rbf.fit``."""
        if attribute.startswith("_"):
            raise AttributeError(attribute)
        return getattr(self.plugin, attribute)

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name}{self.__signature__}>"


def written_document(cls: type) -> str:
    """Return what a plugin's author wrote, without the signs of formulas and of typesetting."""
    return (inspect.getdoc(cls) or "").replace("$", "").replace("``", "`")


def _document(cls: type[Declared]) -> str:
    """Return what a plugin's author wrote, then its parameters with their meanings, and `fit`."""
    summary, gap, rest = written_document(cls).partition("\n\n")
    lines = [summary, "", "Parameters", "----------"]
    for item in cls.parameters():
        default = "" if item.required else f"; {item.default!r} unless given"
        lines += [f"{item.name} : {item.domain.sentence}{default}", f"    {item.doc or item.name}"]
    if issubclass(cls, Prior) and cls.overrides("fit"):
        given = inspect.signature(cls.fit).parameters.values()
        bare = inspect.Signature([one.replace(annotation=one.empty) for one in given])
        lines += ["", "Methods", "-------", f"fit{bare}"]
        lines += [f"    {(inspect.getdoc(cls.fit) or '').splitlines()[0]}"]
    return "\n".join(lines) + (f"{gap}{rest}" if rest else "")


@attrs.frozen
class Namespace:
    """Everything registered for one noun, by attribute, with tab completion."""

    kind: str

    def __getattr__(self, name: str) -> Constructor:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            default_registry().entry(self.kind, name)
        except LookupError as error:
            raise AttributeError(str(error)) from None
        return Constructor(self.kind, name)

    def __dir__(self) -> list[str]:
        return default_registry().names(self.kind)

    def __repr__(self) -> str:
        return f"<{self.kind} namespace: {', '.join(dir(self))}>"


priors = Namespace("prior")
secrets = Namespace("secret")
mechanisms = Namespace("mechanism")
adversaries = Namespace("adversary")
measures = Namespace("measure")
