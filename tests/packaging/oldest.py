"""Print the lower bounds of the dependencies as constraints: ``pip install . -c oldest.txt``."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[2] / "pyproject.toml"


def oldest(dependencies: list[str]) -> str:
    """Return a constraint for each dependency: the oldest version that it allows.

    >>> oldest(["numpy>=1.26", "rich>=13.7"])
    'numpy==1.26\\nrich==13.7\\n'
    """
    return "".join(f"{one.replace('>=', '==')}\n" for one in dependencies)


if __name__ == "__main__":
    table = tomllib.loads(PROJECT.read_text(encoding="utf-8"))
    sys.stdout.write(oldest(table["project"]["dependencies"]))
