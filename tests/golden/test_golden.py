"""Everything in golden.json is computed again from its tables and must not have moved."""

import importlib.util
import json
import math
from collections import defaultdict
from pathlib import Path

import pytest

HERE = Path(__file__).parent
_specification = importlib.util.spec_from_file_location("make_golden", HERE / "make_golden.py")
make_golden = importlib.util.module_from_spec(_specification)
_specification.loader.exec_module(make_golden)

WORDS = {"how", "route"}  # how a number was found may change
OF_OTHERS = {"relative_error", "relative_gap"}  # below, and from bounds that are compared
PROMISED_ERROR = 1e-5  # the largest relative error that a measure may certify for an exact value
NOTHING = 1e-11  # of probabilities and of what was written to 12 digits; losses by noise go lower

# What was refused because a definition read one world only, and is answered since it reads more.
NOW_READ = {"posterior_gap", "breach_rate", "differential_privacy"}
# An attacker who meets two equally likely traces takes the one that rounding prefers, and of noise
# that is optimal for one loss only that loss is unique: these rows differ from machine to machine.
TIED_TRIALS = 2
NOT_OPTIMISED = {"posterior_interval": 1e-3, "renyi_paper_bound": 1e-5}
# What was only searched, an estimate with an open end, is proved to this.
PROVED_TO = 2e-3

BUNDLES = defaultdict(list)
for _table in json.loads((HERE / "golden.json").read_text(encoding="utf-8")):
    BUNDLES[_table["name"].split(":")[0]].append(_table)


@pytest.mark.parametrize("bundle", BUNDLES)
def test_nothing_has_moved(bundle):
    moved = [line for table in BUNDLES[bundle] for line in compared(table)]
    assert not moved, "\n" + "\n".join(moved)


def compared(table):
    """Return a line for each thing that is not as it was."""
    rows = table["rows"]
    answers = make_golden.found(table, [row["ask"] for row in rows])
    return [
        f"{table['name']}, {label(row['ask'])}: {line}"
        for row, new in zip(rows, answers, strict=False)  # a design that is refused answers alone
        for line in differences(row["found"], new, table, row["ask"])
    ]


def label(ask):
    parts = [ask[kind] for kind in ("measure", "adversary") if kind in ask]
    return json.dumps(parts[0]) if parts else "output" if "apply" in ask else ask


def differences(old, new, table, ask):  # noqa: C901 - one list of all that may differ
    measure = ask.get("measure", {}) if isinstance(ask, dict) else {}
    if "refused" in old or "refused" in new:
        if measure.get("name") in NOW_READ and "refused" in old:
            return
        if old != new:
            yield f"was {old}, is {new}"
        return
    stronger = (old.get("bound"), new.get("bound"))
    if stronger in {("estimate", "upper"), ("upper", "exact")} and not allows(old, new, table):
        yield f"was {old}, is {new}"
    if stronger in {("estimate", "upper"), ("upper", "exact")}:
        return
    errors = [found.get("relative_error", 0.0) for found in (old, new)]
    if errors[1] > max(errors[0], PROMISED_ERROR):
        yield f"relative_error was {errors[0]}, is {errors[1]}"
    tolerance = max(table["tolerance"], *errors)
    if table["tolerance"] > make_golden.ROUNDING:
        tolerance = max(tolerance, NOT_OPTIMISED.get(measure.get("name"), 0.0))
    absolute = 0.0 if "value" in old and "gaussian" in str(table["mechanism"]) else NOTHING
    if measure.get("name") == "attack_success":
        absolute = TIED_TRIALS / measure.get("trials", 1000)
    for key in sorted((old.keys() | new.keys()) - WORDS - OF_OTHERS):
        one, other = old.get(key, "missing"), new.get(key, "missing")
        searched = key == "utility" and table["tolerance"] > make_golden.ROUNDING
        if searched and (other < one if old["worse"] == "larger" else other > one):
            continue  # a search that finds a better design has not moved for the worse
        if stronger == ("upper", "upper") and is_tighter(old, key, one, other):
            continue  # attacks and enumeration test it from below
        if not close(one, other, tolerance, absolute):
            yield f"{key} was {one}, is {other} (tolerance {tolerance:.1g})"


def allows(old, new, table):
    """Whether what was searched or bounded is now proved or exact, and no more than it could be."""
    if old["bound"] == "upper":
        return new["value"] <= old["ceiling"] * (1 + table["tolerance"])
    low, high = old["floor"] * (1 - 1e-5), old["floor"] * (1 + PROVED_TO)
    return old["ceiling"] == "inf" and low <= new["value"] <= high


def is_tighter(old, key, one, other):
    return key in {"value", "ceiling"} and "reconstruction" in old["quantity"] and other < one


def close(old, new, tolerance, absolute):
    """Whether two plain values are equal up to the tolerance in every number."""
    if isinstance(old, float) and isinstance(new, (float, int)):
        return math.isclose(old, new, rel_tol=tolerance, abs_tol=absolute)
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return all(
            close(one, other, tolerance, absolute) for one, other in zip(old, new, strict=True)
        )
    if isinstance(old, dict) and isinstance(new, dict) and old.keys() == new.keys():
        return all(close(old[key], new[key], tolerance, absolute) for key in old)
    return old == new
