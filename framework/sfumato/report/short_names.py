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
    >>> short_names([("rbf length_scale=1", "x"), ("rbf length_scale=3", "x")], longest=15)
    ['rbf…scale=1 · x', 'rbf…scale=3 · x']
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
        short = word if len(word) <= width else _elided(word, width)
        number = known.setdefault(short, {}).setdefault(word, len(known[short]) + 1)
        cut.append(short if number == 1 else f"{_elided(word, width - 2)}#{number}")
    return cut


def _elided(word: str, width: int) -> str:
    """Leave out the middle: names begin with what they are and end with what tells them apart."""
    beginning = width // 3
    return f"{word[:beginning].rstrip()}…{word[beginning + 1 - width :].lstrip()}"
