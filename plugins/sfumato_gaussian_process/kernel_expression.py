"""A scikit-learn kernel as a plain value: names and numbers, never code."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from typing import Any

import attrs

NUMBERS: Mapping[str, tuple[str, ...]] = {
    "RBF": ("length_scale",),
    "Matern": ("length_scale", "nu"),
    "RationalQuadratic": ("length_scale", "alpha"),
    "ExpSineSquared": ("length_scale", "periodicity"),
    "ConstantKernel": ("constant_value",),
    "WhiteKernel": ("noise_level",),
    "DotProduct": ("sigma_0",),
    "Exponentiation": ("exponent",),
}
"""The numeric parameters of every kernel that is taken."""

PARTS: Mapping[str, tuple[str, ...]] = {
    "Sum": ("k1", "k2"),
    "Product": ("k1", "k2"),
    "Exponentiation": ("kernel",),
}
"""The kernels inside another."""

NAMES = tuple(dict.fromkeys((*NUMBERS, *PARTS)))
ZERO_ALLOWED = frozenset({"sigma_0", "noise_level"})
SMOOTHNESS = (0.5, 1.5, 2.5, math.inf)


@attrs.frozen(repr=False)
class KernelExpression:
    """A kernel's class name, its numbers and the kernels inside it.

    >>> table = {"name": "RBF", "length_scale": 2.0}
    >>> KernelExpression.read(table).plain() == table
    True
    """

    name: str
    numbers: tuple[tuple[str, float], ...]
    parts: tuple[KernelExpression, ...]

    @classmethod
    def read(cls, value: Any) -> KernelExpression:
        """Read a table such as ``{"name": "RBF", "length_scale": 2.0}``, or a kernel object.

        Raises ValueError with words that complete "must be ...".
        """
        if isinstance(value, KernelExpression):
            return value
        table = value if isinstance(value, Mapping) else _table(value)
        name = table.get("name")
        if name not in NAMES:
            raise ValueError(f"one of the kernels {', '.join(NAMES)}, not {name!r}")
        inner, known = PARTS.get(name, ()), NUMBERS.get(name, ())
        for key in table:
            if key not in ("name", *inner, *known):
                raise ValueError(f"without the unknown parameter {key!r} of {name}")
        for key in (*inner, *known):
            if key not in table:
                raise ValueError(f"a {name} with the parameter {key!r}")
        return cls(
            name,
            tuple((key, _number(name, key, table[key])) for key in known),
            tuple(cls.read(table[key]) for key in inner),
        )

    @staticmethod
    def opened(value: Any) -> Any:
        """Return the tables of a kernel and of those inside it, unchecked; the rest as it is.

        >>> from sklearn.gaussian_process.kernels import RBF
        >>> KernelExpression.opened(RBF(2.0))
        {'name': 'RBF', 'length_scale': 2.0}
        """
        if isinstance(value, KernelExpression):
            return value.plain()
        if isinstance(value, Mapping):
            table = dict(value)
        elif _is_kernel(value):
            table = _table(value)
        else:
            return value
        return {key: KernelExpression.opened(inner) for key, inner in table.items()}

    def plain(self) -> dict[str, Any]:
        """Return the table that `read` reads."""
        inner = zip(PARTS.get(self.name, ()), self.parts, strict=True)
        return {
            "name": self.name,
            **{key: part.plain() for key, part in inner},
            **dict(self.numbers),
        }

    def __repr__(self) -> str:
        return repr(self.plain()).replace("inf", "float('inf')")

    def number(self, key: str) -> float:
        """Return one of the numbers."""
        return dict(self.numbers)[key]

    def scikit_learn(self) -> Any:
        """Return the scikit-learn kernel."""
        from sklearn.gaussian_process import kernels

        inner = zip(PARTS.get(self.name, ()), self.parts, strict=True)
        made = {key: part.scikit_learn() for key, part in inner}
        return getattr(kernels, self.name)(**made, **dict(self.numbers))


def _is_kernel(value: Any) -> bool:
    """Whether a value is of one of scikit-learn's own classes that are taken."""
    name = type(value).__name__
    if name not in NAMES:
        return False
    from sklearn.gaussian_process import kernels

    return type(value) is getattr(kernels, name)


def _table(kernel: Any) -> dict[str, Any]:
    """Read a kernel object of scikit-learn's own classes; bounds of its search do not count."""
    if not _is_kernel(kernel):
        raise ValueError(f"a scikit-learn kernel or a table, one of {', '.join(NAMES)}")
    name = type(kernel).__name__
    wanted = (*PARTS.get(name, ()), *NUMBERS.get(name, ()))
    return {"name": name, **{key: getattr(kernel, key) for key in wanted}}


def _number(name: str, key: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or math.isnan(value):
        raise ValueError(f"a {name} whose {key} is one real number")
    number = float(value)
    if key == "nu":
        if number not in SMOOTHNESS:
            raise ValueError(f"a {name} whose nu is one of {SMOOTHNESS}")
    elif not math.isfinite(number) or number < 0 or (number == 0 and key not in ZERO_ALLOWED):
        raise ValueError(f"a {name} whose {key} is finite and positive")
    if key == "exponent" and number != int(number):
        # Other powers of a covariance need not be a covariance.
        raise ValueError(f"an {name} whose exponent is a whole number")
    return number
