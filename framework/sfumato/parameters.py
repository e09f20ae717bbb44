"""Declared parameters: an attrs class whose fields carry their domains.

A plugin's class is decorated with `declare`, and each field is written
``length_scale: float = parameter(POSITIVE, doc="...")``.
Constructing the class checks every field in order, binding named sizes as it goes, and an
object's `specification` is the plain table from which an equal object is rebuilt anywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, TypeVar, dataclass_transform

import attrs
import numpy as np

from sfumato.domains import *  # noqa: F403 - authors import every domain from here
from sfumato.domains.domain import Domain, Rejected, Sizes
from sfumato.errors import ParameterError
from sfumato.values import ByContent, content_key

_KEY = "sfumato.parameter"
REQUIRED = attrs.NOTHING
_T = TypeVar("_T")


@attrs.frozen
class Parameter:
    """One declared parameter: its name, domain, default and one line of documentation."""

    name: str
    domain: Domain
    default: Any
    doc: str

    @property
    def required(self) -> bool:
        """Whether there is no default."""
        return self.default is REQUIRED


def parameter(domain: Domain, *, default: Any = REQUIRED, doc: str = "") -> Any:
    """Declare a field of a plugin class, with its domain.

    >>> import sfumato as sf
    >>> [item.name for item in sf.priors.rbf.parameters()]
    ['length_scale', 'times', ...]
    """
    return attrs.field(default=default, metadata={_KEY: (domain, doc)})


@attrs.frozen
class ExactlyOne:
    """Exactly one of several parameters is given; the others are None.

    >>> from sfumato.parameters import ExactlyOne
    >>> ExactlyOne(("mse", "epsilon")).problem({"mse": None, "epsilon": None})
    'exactly one of mse, epsilon; got none of them'
    """

    names: tuple[str, ...]

    def problem(self, values: Mapping[str, Any]) -> str | None:
        """Complete the sentence "rbf must have ...", or return None."""
        given = [name for name in self.names if values[name] is not None]
        if len(given) == 1:
            return None
        got = " and ".join(given) if given else "none of them"
        return f"exactly one of {', '.join(self.names)}; got {got}"

    def choose(self, pick: Callable[[tuple[str, ...]], str]) -> frozenset[str]:
        """Return the parameters that a drawn object leaves out."""
        return frozenset(self.names) - {pick(self.names)}


@attrs.frozen
class Together:
    """`name` is given exactly when `partner` is.

    >>> from sfumato.parameters import Together
    >>> Together("epsilon", "order").problem({"epsilon": 1.0, "order": None})
    'epsilon and order together; got epsilon without order'
    """

    name: str
    partner: str

    def problem(self, values: Mapping[str, Any]) -> str | None:
        """Complete the sentence "rbf must have ...", or return None."""
        if (values[self.name] is None) == (values[self.partner] is None):
            return None
        given, missing = (
            (self.name, self.partner) if values[self.partner] is None else (self.partner, self.name)
        )
        return f"{self.name} and {self.partner} together; got {given} without {missing}"


Rule = ExactlyOne | Together


def _shown(value: object) -> str:
    """Show a rejected value in one short line."""
    if isinstance(value, np.ndarray):
        return f"an array of {value.shape}"
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - a value that cannot even be shown must still be refused
        return f"a {type(value).__name__}"
    return text if len(text) <= 80 else text[:77] + "..."


class Declared(ByContent):
    """What `declare` gives a class: parameters, specification, equality by content, repr."""

    name: ClassVar[str]
    kind: ClassVar[str]
    plural: ClassVar[str]
    rules: ClassVar[tuple[Rule, ...]] = ()
    waivers: ClassVar[Mapping[str, str]] = {}
    """Laws that the class is known to break, each with its reason: expected failures."""
    sizes: dict[str, int]

    @classmethod
    def parameters(cls) -> tuple[Parameter, ...]:
        """Return the declared parameters in order."""
        return tuple(
            Parameter(field.name, *_domain_first(field.metadata[_KEY], field.default))
            for field in attrs.fields(cls)  # type: ignore[arg-type]  # made by `declare`
        )

    def check(self) -> None:
        """Check what no single domain can; raise `ParameterError` (for authors to override)."""

    def reject(self, field: str, reason: str, value: object) -> ParameterError:
        """Return the error for a parameter: "rbf.length_scale must be positive; got -1.0."."""
        return ParameterError(f"{type(self).name}.{field} must be {reason}; got {_shown(value)}.")

    def given(self) -> Iterator[tuple[Parameter, Any]]:
        """Yield the parameters that differ from their defaults, with their values."""
        for declared in self.parameters():
            value = getattr(self, declared.name)
            if declared.required or content_key(value) != content_key(declared.default):
                yield declared, value

    def specification(self) -> dict[str, Any]:
        """Return the plain table, as a study file would hold it, that rebuilds this object."""
        plain = {declared.name: declared.domain.plain(value) for declared, value in self.given()}
        return {"name": type(self).name, **plain}

    def __repr__(self) -> str:
        inside = ", ".join(
            f"{declared.name}={code(declared.domain, value)}" for declared, value in self.given()
        )
        return f"sf.{type(self).plural}.{type(self).name}({inside})"

    def _repr_html_(self) -> str:
        from sfumato.report.cards import noun_line

        return noun_line(self)


def _domain_first(declared: tuple[Domain, str], default: Any) -> tuple[Domain, Any, str]:
    domain, doc = declared
    return domain, default, doc


def code(domain: Domain, value: object) -> str:
    """Write a value as Python that evaluates to an equal one."""
    if _is_noun(value):
        return repr(value)
    if isinstance(value, tuple) and any(map(_is_noun, value)):
        return f"[{', '.join(map(repr, value))}]"
    return literal(domain.plain(value))


def _is_noun(value: object) -> bool:
    """Whether a value is one of the five nouns, such as a prior or a class of priors."""
    return isinstance(getattr(type(value), "kind", None), str)


def literal(plain: object) -> str:
    """Write plain values as Python does, and infinities so that they can be read again.

    >>> import math
    >>> from sfumato.parameters import literal
    >>> literal({"nu": math.inf})
    "{'nu': float('inf')}"
    """
    if isinstance(plain, float) and math.isinf(plain):
        return f"float('{plain}')"
    if isinstance(plain, list):
        return f"[{', '.join(map(literal, plain))}]"
    if isinstance(plain, dict):
        return f"{{{', '.join(f'{key!r}: {literal(value)}' for key, value in plain.items())}}}"
    return repr(plain)


def _validate(self: Declared) -> None:
    """Convert every field in order, then check the rules and what the author checks."""
    cls, sizes = type(self), Sizes()
    for declared in cls.parameters():
        value = getattr(self, declared.name)
        try:
            converted = (
                None
                if value is None and declared.default is None
                else declared.domain.convert(value, sizes)
            )
        except Rejected as reason:
            raise self.reject(declared.name, str(reason), value) from None
        object.__setattr__(self, declared.name, converted)
    values = {declared.name: getattr(self, declared.name) for declared in cls.parameters()}
    for rule in cls.rules:
        problem = rule.problem(values)
        if problem:
            raise ParameterError(f"{cls.name} must have {problem}.")
    object.__setattr__(self, "sizes", dict(sizes))
    self.check()


@dataclass_transform(frozen_default=True, field_specifiers=(parameter,))
def declare(cls: type[_T]) -> type[_T]:
    """Make a frozen attrs class whose declared parameters are checked on construction."""
    if not issubclass(cls, Declared):
        raise TypeError(f"@declare takes a class of one of the five nouns; got {cls.__name__}.")
    cls.__attrs_post_init__ = _validate  # type: ignore[attr-defined]  # attrs calls it
    made = attrs.frozen(eq=False, repr=False, slots=False)(cls)
    undeclared = [
        field.name
        for field in attrs.fields(made)  # type: ignore[arg-type]  # just made
        if _KEY not in field.metadata
    ]
    if undeclared:
        raise TypeError(
            f"every field of {cls.__name__} must be declared with parameter(DOMAIN); "
            f"got a plain field {undeclared[0]!r}."
        )
    return made
