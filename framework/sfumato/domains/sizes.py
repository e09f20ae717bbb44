"""Named sizes that several parameters must agree on."""

from __future__ import annotations

import re
from collections.abc import Mapping

_EXPRESSION = re.compile(r"^([A-Za-z]+)([+-]\d+)?$")


def split_size(expression: str) -> tuple[str, int]:
    """Return the name and the offset of a size such as ``"T-1"``.

    >>> split_size("T-1")
    ('T', -1)
    """
    match = _EXPRESSION.match(expression)
    if match is None:
        raise ValueError(f"a size must look like 'n' or 'T-1'; got {expression!r}.")
    return match[1], int(match[2] or 0)


def evaluate_size(expression: str, sizes: Mapping[str, int]) -> int:
    """Return the number a size expression stands for."""
    name, offset = split_size(expression)
    return sizes[name] + offset


class Sizes(dict[str, int]):
    """The sizes bound so far while one object's parameters are read in order.

    >>> sizes = Sizes()
    >>> sizes.agree("M", 3), sizes.agree("M", 4)
    (True, False)
    """

    def agree(self, expression: str, length: int) -> bool:
        """Bind the size to `length`, or say whether it agrees with the earlier binding."""
        name, offset = split_size(expression)
        return self.setdefault(name, length - offset) == length - offset

    def wanted(self, expression: str) -> str:
        """Describe a size for an error: ``"T-1 = 4"``, or ``"n"`` while it is free."""
        name, _ = split_size(expression)
        return f"{expression} = {evaluate_size(expression, self)}" if name in self else expression
