"""Run the code of documentation pages with nothing but what is installed.

``python tests/packaging/run_pages.py README.md docs/tutorials/*.md`` executes the Python blocks and
code cells of each page in order, sharing names, as a reader would. It needs no notebook server, so
it shows that one install runs everything that README and tutorials show.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

BLOCK = re.compile(r"^```(?:python|\{code-cell\} python)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
OPTIONS = re.compile(r"\A(?:---\n.*?\n---\n|(?::\w+:.*\n)+)", re.DOTALL)


def code_of(page: str) -> list[str]:
    """Return the code blocks of a page, without the options of their cells.

    >>> code_of('''A page.
    ... ```{code-cell} python
    ... :tags: [remove-cell]
    ... x = 1
    ... ```
    ... ''')
    ['x = 1\\n']
    """
    return [OPTIONS.sub("", block) for block in BLOCK.findall(page)]


def run(file: Path) -> int:
    """Execute a page, and return how many blocks it had."""
    names: dict[str, object] = {"__name__": "__main__"}
    blocks = code_of(file.read_text(encoding="utf-8"))
    for number, block in enumerate(blocks, start=1):
        exec(compile(block, f"{file}, block {number}", "exec"), names)  # noqa: S102 - our own pages
    return len(blocks)


if __name__ == "__main__":
    import matplotlib as mpl

    mpl.use("agg")
    for argument in sys.argv[1:]:
        print(f"{argument}: {run(Path(argument))} blocks ran")
