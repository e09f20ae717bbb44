"""The same examples everywhere: neither hash seeds nor what is loaded first change any."""

from __future__ import annotations

import os
import subprocess
import sys

PROGRAM = """
import attrs
from sfumato.laws.law import cases_of
from sfumato.laws.law import law_named
from sfumato.laws.trial import PROFILES, try_case
from sfumato.plugin_registry import Registry

OTHER
shipped = Registry.load(strict=True)
for name in ("belief.possible", "budget.promise", "soundness.floor_ceiling"):
    for case in list(cases_of(law_named(name), shipped))[:2]:
        seen = []
        def watch(seen=seen, **given):
            seen.append(given)

        # The function's parameters say which nouns are drawn.
        watch.__signature__ = __import__("inspect").signature(case.law.statement)
        watched = attrs.evolve(case.law, statement=watch)
        try_case(attrs.evolve(case, law=watched), shipped, PROFILES["quick"])
        print(case, seen)
"""


def drawn(folder, other, hash_seed):
    paths = [str(folder), *sys.path]
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.replace("OTHER", other)],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
        cwd=folder,
    )
    return done.stdout


def test_the_order_of_imports_and_hash_seeds_change_no_example(tmp_path):
    plain = drawn(tmp_path, "", "1")
    assert "rbf" in plain
    assert drawn(tmp_path, "import sfumato.report, sfumato.figures", "2") == plain
    tmp_path.joinpath("odd.py").write_text("NUMBERS = (0.123456, 2.71828e5, 7.5)\n")
    assert drawn(tmp_path, "import odd", "1") == plain  # see tests/conftest.py
