"""Names that fit beside a figure: cut where they are long, and still told apart."""

from __future__ import annotations

from collections.abc import Sequence

LONGEST = 46
"""Characters of a name beside a panel."""
BETWEEN = " · "


def short_names(names: Sequence[tuple[str, ...]], longest: int = LONGEST) -> list[str]:
    """Join the words of each name, cutting the longest words until the names fit.

    >>> short_names([("rough", "uniform"), ("rough", "optimal")])
    ['rough · uniform', 'rough · optimal']
    >>> short_names([("a very long name", "x"), ("a very long one", "x")], longest=12)
    ['a very… · x', 'a ver…#2 · x']
    """
    if not any(map(any, names)):  # nothing varies, so there is nothing to tell apart
        return [""] * len(names)
    widest = [max(map(len, words)) for words in zip(*names, strict=True)]
    room = longest - len(BETWEEN) * (sum(width > 0 for width in widest) - 1)
    while sum(widest) > room and max(widest) > 6:
        widest[widest.index(max(widest))] -= 1
    columns = [
        _cut(words, width) for words, width in zip(zip(*names, strict=True), widest, strict=True)
    ]
    return [BETWEEN.join(word for word in words if word) for words in zip(*columns, strict=True)]


def _cut(words: Sequence[str], width: int) -> list[str]:
    """Return the words at a width; cut ones that became equal are numbered."""
    known: dict[str, dict[str, int]] = {}
    cut = []
    for word in words:
        short = word if len(word) <= width else word[: width - 1].rstrip() + "…"
        number = known.setdefault(short, {}).setdefault(word, len(known[short]) + 1)
        cut.append(short if number == 1 else f"{short[: width - 3].rstrip('…')}…#{number}")
    return cut
