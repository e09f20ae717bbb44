"""A worker process: reads one message a line, answers one line (``python -m``)."""

from __future__ import annotations

import os
import sys

from sfumato.comparison.engine import answer
from sfumato.values import to_json


def main() -> None:
    """Answer messages until the input ends; what plugins print goes to the error stream."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        try:
            reply = {"answer": answer(line)}
        except Exception as error:  # noqa: BLE001 - the caller reports it with the cell
            reply = {"error": f"{type(error).__name__}: {error}"}
        replies.write(to_json(reply) + "\n")
        replies.flush()


if __name__ == "__main__":
    main()
