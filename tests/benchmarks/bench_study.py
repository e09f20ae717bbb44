"""What a study costs beside its losses: processor time and memory of a trivial cell.

Wanted: at most 1 ms a cell in one process, and memory that grows by the results alone.
``python tests/benchmarks/bench_study.py 100000`` takes two minutes of processor time: on one core
of a shared machine 0.28 ms a cell (0.72 kept, 0.16 resumed), and at the most 1.4 kB (kept, too).
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time

import sfumato as sf


def run(cells: int, cache: str | None) -> None:
    """Print milliseconds and bytes per cell of a study of mean squared errors."""
    study = sf.Study.from_table(
        {
            "title": "Trivial cells",
            "priors": [{"name": "rbf", "length_scale": 2.0, "times": 3}],
            "secrets": [sf.secrets.basic(1)],
            "mechanisms": [{"name": "gaussian_uniform", "mse": {"linspace": [1.0, 2.0, cells]}}],
            "measures": ["mean_squared_error"],
        }
    )
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    study.run(cache=cache)
    spent = time.process_time() - began
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(f"{1000 * spent / cells:6.2f} ms {1024 * grown / cells:8.0f} bytes")


if __name__ == "__main__":
    if len(sys.argv) == 4:
        run(int(sys.argv[2]), sys.argv[3] or None)
    else:
        count = sys.argv[1] if len(sys.argv) > 1 else "10000"
        with tempfile.TemporaryDirectory() as folder:
            for title, place in (("not kept", ""), ("kept", folder), ("resumed", folder)):
                print(f"{count} cells, {title:9}", end="", flush=True)
                subprocess.run([sys.executable, __file__, "one", count, place], check=True)
