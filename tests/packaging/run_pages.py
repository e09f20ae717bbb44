"""Run what pages show, with nothing but what is installed.

``python tests/packaging/run_pages.py README.md docs/tutorials/*.md`` follows each page in order, in
a folder of its own, as a reader would: Python blocks and code cells are executed and share their
names, a TOML block becomes ``study.toml``, and lines that begin with ``sfumato`` are run.
It needs no notebook server, so it shows that one install runs everything that the pages show.
"""

from __future__ import annotations

import contextlib
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
OPTIONS = re.compile(r"\A(?:---\n.*?\n---\n|(?::\w+:[^\n]*\n)+)", re.DOTALL)


def blocks_of(page: str) -> list[tuple[str, str]]:
    """Return the languages and texts of a page's blocks, without the options of cells.

    >>> blocks_of('''A page.
    ... ```{code-cell} python
    ... :tags: [remove-cell]
    ... x = 1
    ... ```
    ... ''')
    [('python', 'x = 1\\n')]
    """
    found = BLOCK.findall(page)
    return [(kind.removeprefix("{code-cell} "), OPTIONS.sub("", text)) for kind, text in found]


def run(file: Path) -> int:
    """Follow a page in the current folder, and return how many blocks were run."""
    names: dict[str, object] = {"__name__": "__main__"}
    ran = 0
    for number, (language, text) in enumerate(blocks_of(file.read_text(encoding="utf-8"))):
        if language == "python":
            exec(compile(text, f"{file}, block {number}", "exec"), names)  # noqa: S102 - our pages
        elif language == "toml":
            Path("study.toml").write_text(text, encoding="utf-8")
        elif not language and text.startswith("sfumato "):
            for line in text.splitlines():
                subprocess.run(shlex.split(line), check=True)
        else:
            continue
        ran += 1
    return ran


if __name__ == "__main__":
    import matplotlib as mpl

    mpl.use("agg")
    for argument in sys.argv[1:]:
        page = Path(argument).resolve()
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            sys.stdout.write(f"{argument}: {run(page)} blocks ran\n")
