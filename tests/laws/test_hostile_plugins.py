"""A plugin that hangs, exits, prints, patches or breaks at import fails, and nothing else does."""

from __future__ import annotations

import json
import time

import pytest
from click.testing import CliRunner

import sfumato.plugin_registry
from sfumato.commands import cli
from sfumato.laws.trial import PROFILES
from sfumato.laws.verification import verify
from sfumato.plugin_registry import Registry, TookTooLong, within

PLUGIN = '''
import os, sys, time
import numpy as np
import sfumato as sf
from sfumato.beliefs import Gaussian
from sfumato.matrices import Diagonal
from sfumato.parameters import COUNT, declare, parameter

IMPORTED


@declare
class Hostile(sf.Prior):
    """Independent entries, and something else."""

    name = "hostile"
    yields = Gaussian
    times: int = parameter(COUNT("n"), doc="number of points")

    def belief(self):
        BELIEF
        return Gaussian(Diagonal(np.ones(self.times)))


@sf.hookimpl
def sfumato_priors():
    return [Hostile]
'''


@pytest.fixture
def hostile(tmp_path):
    def write(belief="pass", imported=""):
        file = tmp_path / "hostile.py"
        file.write_text(PLUGIN.replace("BELIEF", belief).replace("IMPORTED", imported))
        return file

    return write


@pytest.fixture
def impatient(monkeypatch):
    """An example hangs after two seconds, and so does an import."""
    import attrs

    monkeypatch.setitem(PROFILES, "quick", attrs.evolve(PROFILES["quick"], limit=2.0))
    monkeypatch.setattr(sfumato.plugin_registry, "IMPORTED_WITHIN", 2.0)


def outcomes(file, *names, **where):
    found = verify("hostile", *names, registry=Registry.load([file]), **where)
    return {verdict.case.law.name: verdict for verdict in found.verdicts}


@pytest.mark.usefixtures("impatient")
def test_a_plugin_that_hangs_is_reported(hostile):
    file = hostile("time.sleep(3600) if self.times > 1 else None")
    verdict = outcomes(file, "belief.possible")["belief.possible"]
    assert verdict.outcome == "violated"
    assert "must end within 2 s" in verdict.message


def test_a_plugin_that_exits_is_reported(hostile):
    verdict = outcomes(hostile("sys.exit(0)"), "belief.possible")["belief.possible"]
    assert verdict.outcome == "violated"
    assert "SystemExit" in verdict.message


def test_a_plugin_that_ends_its_process_costs_its_own_case_only(hostile):
    file = hostile("os._exit(3) if self.times == 2 else None")
    found = outcomes(file, "belief.possible", "interface.frozen", isolated=True)
    assert found["belief.possible"].outcome == "violated"
    assert "the worker process died" in found["belief.possible"].message
    assert found["interface.frozen"].outcome == "holds"


def test_a_plugin_that_ends_every_process_costs_a_few_cases_only(hostile):
    found = verify("hostile", isolated=True, registry=Registry.load([hostile("os._exit(3)")]))
    dead = [one for one in found.verdicts if "process died" in one.message]
    given_up = [one for one in found.verdicts if "3 cases did not end" in one.message]
    assert 3 <= len(dead) <= 4
    assert len(given_up) > 100


def test_what_works_has_seconds_of_the_processor_and_what_sleeps_those_of_the_clock(monkeypatch):
    busy = iter([0.0, 0.0, 0.05, 0.1, 0.2])  # a machine that lends a quarter of its time
    monkeypatch.setattr(time, "process_time", lambda: next(busy))
    began = time.monotonic()
    with pytest.raises(TookTooLong, match=r"0\.2 s"), within(0.2, "it"):
        time.sleep(5.0)
    assert 0.5 < time.monotonic() - began < 4.0
    monkeypatch.undo()
    began = time.monotonic()
    with pytest.raises(TookTooLong), within(0.2, "it"):
        time.sleep(5.0)
    assert time.monotonic() - began < 3.0


def test_what_a_plugin_prints_does_not_reach_the_report(hostile):
    file = hostile(
        'print("nonsense"); sys.stdout.flush()', 'print("early nonsense", file=sys.stderr)'
    )
    arguments = ["verify", "hostile", "belief.possible", "--json", "--profile", "quick"]
    done = CliRunner().invoke(cli, [*arguments, "--plugin", str(file)])
    assert json.loads(done.stdout)["ok"]


@pytest.mark.parametrize(
    "patch",
    [
        "import sfumato.laws.law as law; law.require = lambda *_: None",
        "sf.Prior.members = lambda self: iter([self])",
    ],
)
def test_a_plugin_that_patches_the_framework_is_reported(hostile, patch):
    from sfumato.laws import law

    kept, members = law.require, sfumato.protocols.Prior.members
    try:
        verdict = outcomes(hostile(imported=patch), "belief.possible")["belief.possible"]
    finally:
        law.require, sfumato.protocols.Prior.members = kept, members
    assert verdict.outcome == "violated"
    assert "must leave the framework alone" in verdict.message


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    ("imported", "words"),
    [("while True: pass", "TookTooLong"), ("sys.exit(1)", "SystemExit"), ("1 / 0", "ZeroDivision")],
)
def test_a_plugin_that_cannot_be_imported_is_named_and_skipped(hostile, imported, words):
    with pytest.warns(match=rf"hostile\.py' was skipped: {words}"):
        registry = Registry.load([hostile(imported=imported)])
    assert "hostile" not in registry.names("prior")
