"""How long `import sfumato` takes, against `import numpy` (wanted: at most 3 times as long)."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

REPEATS = 9


def seconds(code: str) -> float:
    """Return the median time of a fresh interpreter that runs `code`, less an idle one's."""

    def once(program: str) -> float:
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", program], check=True)
        return time.perf_counter() - began

    idle = statistics.median(once("pass") for _ in range(REPEATS))
    return statistics.median(once(code) for _ in range(REPEATS)) - idle


if __name__ == "__main__":
    numpy = seconds("import numpy")
    ours = seconds("import sfumato")
    listed = seconds("import sfumato as sf; sf.registry.names('prior')")
    print(f"import sfumato / import numpy:               {ours / numpy:5.2f}")
    print(f"import and list every name / import numpy:   {listed / numpy:5.2f}")
