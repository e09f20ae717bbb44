"""How long `import sfumato` takes, against `import numpy` (wanted: at most 3 times as long)."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys

REPEATS = 9


def seconds(code: str) -> float:
    """Return the median processor time of an interpreter that runs `code`, less an idle one's."""

    def once(program: str) -> float:
        began = os.times()
        subprocess.run([sys.executable, "-c", program], check=True)
        ended = os.times()
        return ended.children_user + ended.children_system - sum(began[2:4])

    idle = statistics.median(once("pass") for _ in range(REPEATS))
    return statistics.median(once(code) for _ in range(REPEATS)) - idle


if __name__ == "__main__":
    numpy = seconds("import numpy")
    ours = seconds("import sfumato")
    listed = seconds("import sfumato as sf; sf.registry.names('prior')")
    print(f"import sfumato / import numpy:               {ours / numpy:5.2f}")
    print(f"import and list every name / import numpy:   {listed / numpy:5.2f}")
