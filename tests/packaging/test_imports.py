"""What importing costs: heavy libraries come when they are needed, not before."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("scipy", "sklearn", "cvxpy", "pandas", "matplotlib", "hypothesis", "dask", "flint")


def loaded_after(code):
    """Return which heavy libraries a fresh interpreter has loaded after running `code`."""
    program = f"{code}\nimport sys\nprint(*[m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_import_loads_nothing_heavy():
    assert loaded_after("import sfumato") == set()


def test_listing_every_name_loads_at_most_scipy():
    code = (
        "import sfumato as sf\n"
        "for kind in ('prior', 'secret', 'mechanism', 'adversary', 'measure'):\n"
        "    assert sf.registry.names(kind)\n"
        "dir(sf.priors)"
    )
    assert loaded_after(code) <= {"scipy"}


def test_the_check_sees_what_is_loaded():
    assert loaded_after("import scipy") == {"scipy"}


GUARDS = """
import sfumato as sf
for make in (
    lambda: sf.priors.rbf(length_scale=float("nan"), times=5),
    lambda: sf.priors.markov_chain(initial=[0.5, 0.4], transitions=[[1.0]], steps=2),
    lambda: sf.mechanisms.gaussian_given(covariance=[[1.0, 2.0], [2.0, 1.0]]),
    lambda: sf.measures.renyi(order=0.5),
    lambda: sf.Reading(value=float("nan"), bound="exact"),
):
    try:
        make()
    except ValueError:
        continue
    raise SystemExit("a guard vanished")
print("guarded")
"""


def test_guards_do_not_vanish_under_optimisation():
    done = subprocess.run(
        [sys.executable, "-O", "-c", GUARDS], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "guarded"
