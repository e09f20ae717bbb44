"""From plain tables back to objects: what a study file holds, and what workers are sent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sfumato.combined_classes import combine
from sfumato.errors import ParameterError, UnknownName, UnknownParameter
from sfumato.joint_traces import joint_traces
from sfumato.prior_classes import AnyOf, Interval
from sfumato.secret_unions import SecretUnion

if TYPE_CHECKING:
    from sfumato.plugin_registry import Registry

Builder = Callable[["Registry", Mapping[str, Any]], Any]


def build(registry: Registry, kind: str, specification: Mapping[str, Any]) -> Any:
    """Return what a plain table specifies: a plugin by name, or a form made of others."""
    if not isinstance(specification, Mapping):
        raise ParameterError(f"a {kind} must be a table with a name; got {specification!r}.")
    form = FORMS.get((kind, frozenset(specification)))
    if form is not None:
        return form(registry, specification)
    plain = dict(specification)
    name = plain.pop("name", None)
    if not isinstance(name, str):
        raise ParameterError(f"a {kind} must have a name; got {dict(specification)!r}.")
    domains = {item.name: item.domain for item in registry.get(kind, name).parameters()}
    values = {}
    for key, value in plain.items():
        with placed(key):
            inner = domains[key].build(value, registry.build) if key in domains else value
            values[key] = class_of_values(inner)
    return registry.make(kind, name, **values)


@contextmanager
def placed(place: str) -> Iterator[None]:
    """Note on an error where in the specification it happened, innermost place first."""
    try:
        yield
    except (ParameterError, UnknownName, UnknownParameter) as error:
        error.add_note(place)
        raise


def class_of_values(plain: Any) -> Any:
    """Return an interval or a choice from its plain form, also inside a table; the rest as it is.

    >>> class_of_values({"interval": [1, 2]})
    sf.Interval(1.0, 2.0)
    >>> class_of_values({"name": "RBF", "length_scale": {"interval": [1, 2]}})
    {'name': 'RBF', 'length_scale': sf.Interval(1.0, 2.0)}
    """
    if isinstance(plain, Mapping) and set(plain) == {"interval"}:
        ends = listed(plain, "interval")
        if len(ends) != 2:
            raise ParameterError(f"interval must be [low, high]; got {ends!r}.")
        return Interval(*ends)
    if isinstance(plain, Mapping) and set(plain) == {"any_of"}:
        return AnyOf.listed(map(class_of_values, listed(plain, "any_of")))
    if isinstance(plain, Mapping):
        return {key: class_of_values(value) for key, value in plain.items()}
    return plain


def listed(table: Mapping[str, Any], key: str) -> list[Any]:
    """Return the list under a key, or say what was there instead."""
    value = table[key]
    if not isinstance(value, (list, tuple)):
        raise ParameterError(f"{key} must be a list; got {value!r}.")
    return list(value)


def _parts(registry: Registry, kind: str, table: Mapping[str, Any], key: str) -> list[Any]:
    parts = []
    for number, part in enumerate(listed(table, key)):
        with placed(f"{key}[{number}]"):
            parts.append(build(registry, kind, part))
    return parts


FORMS: Mapping[tuple[str, frozenset[str]], Builder] = {
    ("prior", frozenset({"any_of"})): lambda registry, table: AnyOf(
        *_parts(registry, "prior", table, "any_of")
    ),
    ("prior", frozenset({"sum"})): lambda registry, table: combine(
        "sum", _parts(registry, "prior", table, "sum")
    ),
    ("prior", frozenset({"product"})): lambda registry, table: combine(
        "product", _parts(registry, "prior", table, "product")
    ),
    ("prior", frozenset({"joint", "positions"})): lambda registry, table: joint_traces(
        build(registry, "prior", table["joint"]), listed(table, "positions")
    ),
    ("secret", frozenset({"union"})): lambda registry, table: SecretUnion(
        tuple(_parts(registry, "secret", table, "union"))
    ),
}
