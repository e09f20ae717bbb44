"""What happens to a row that cannot be read: an error that names it, or a count."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

import attrs

from sfumato.datasets.text_lines import require_text
from sfumato.errors import DataError

Raw = TypeVar("Raw")
Row = TypeVar("Row")


class BadRow(DataError):
    """A row of a data file cannot be read; the text names file, line and reason."""


@attrs.define
class BadRows:
    """How bad rows are treated, and how many there were.

    With `skip`, bad rows are left out and counted; without, the first one is an error.

    >>> rows = BadRows(skip=True)
    >>> list(rows.parsed("numbers.txt", enumerate(["1", "x", "3"], start=1), int))
    [1, 3]
    >>> rows.count, rows.first
    (1, "numbers.txt, line 2: invalid literal for int() with base 10: 'x'.")
    """

    skip: bool = False
    count: int = 0
    first: str = ""

    def parsed(
        self, path: str | Path, lines: Iterable[tuple[int, Raw]], parse: Callable[[Raw], Row]
    ) -> Iterator[Row]:
        """Yield the parsed lines; `lines` are pairs of line number and content."""
        for number, line in lines:
            try:
                if isinstance(line, str):
                    require_text(line)
                row = parse(line)
            except IndexError:
                self.report(path, number, "a row must have all its cells; got too few")
                continue
            except (ValueError, KeyError) as error:
                self.report(path, number, str(error))
                continue
            yield row

    def report(self, path: str | Path, line: int, reason: str) -> None:
        """Count the row, or raise `BadRow` for it."""
        text = f"{Path(path).name}, line {line}: {reason.rstrip('.')}."
        if not self.skip:
            raise BadRow(
                f"{text[:-1]}; mend the row, or skip bad ones (--skip-bad, or in Python "
                "bad_rows=BadRows(skip=True))."
            )
        self.count += 1
        self.first = self.first or text
