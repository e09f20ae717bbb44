"""The kit from outside: scripts, kept counterexamples, expected failures, commands, pytest."""

from __future__ import annotations

import json
import subprocess
import sys

import attrs
import pytest
from click.testing import CliRunner

from sfumato.commands import cli
from sfumato.errors import DataError
from sfumato.laws import conformance, verify
from sfumato.laws.counterexamples import Counterexamples, script_of
from sfumato.laws.law import NotHere, Violation, cases_of, law_named, require
from sfumato.laws.trial import PROFILES, Profile, check, profile_named, try_case, try_with_excuses
from sfumato.plugin_registry import BY_HAND, Entry, Registry

MISTAKE = '''
import numpy as np
import sfumato as sf
from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.matrices import Diagonal
from sfumato.parameters import POSITIVE, declare, parameter


@declare
class Spendthrift(sf.Mechanism):
    """Spends three times its budget."""

    name = "spendthrift"
    asks = ((Gaussian, object),)
    yields = AdditiveGaussian
    promises = (("mse", "mean_squared_error"),)
    WAIVERS
    mse: float = parameter(POSITIVE, doc="average noise variance per entry")

    def design(self, prior, secret):
        belief = next(prior.members()).belief()
        noise = Diagonal(np.full(belief.entries, FACTOR * self.mse))
        return sf.Release(
            mechanism=self, prior=prior, secret=secret,
            channel=AdditiveGaussian(noise, dimensions=belief.dimensions),
            utility_value=noise.trace() / belief.entries,
            utility_quantity=sf.MEAN_SQUARED_ERROR)


@sf.hookimpl
def sfumato_mechanisms():
    return [Spendthrift]
'''


@pytest.fixture
def plugin(tmp_path):
    """Write the plugin with a factor and waivers of one's choice."""

    def write(factor=3.0, waivers="{}"):
        file = tmp_path / "spendthrift.py"
        text = MISTAKE.replace("FACTOR", str(factor)).replace("WAIVERS", f"waivers = {waivers}\n")
        file.write_text(text)
        return file

    return write


def verdict_of(file, kept=None):
    registry = Registry.load([file])
    focus = [registry.entry("mechanism", "spendthrift")]
    (case,) = cases_of(law_named("budget.promise"), registry, focus)
    return try_case(case, registry, PROFILES["quick"], kept)


def test_a_counterexample_is_a_program_that_fails_when_run(plugin):
    verdict = verdict_of(plugin())
    assert verdict.outcome == "violated"
    done = subprocess.run(
        [sys.executable, "-c", verdict.script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "Violation: at most mse = " in done.stderr


def test_counterexamples_are_small_and_the_same_every_time(plugin):
    first, again = verdict_of(plugin()), verdict_of(plugin())
    assert first.script == again.script
    assert "times=1" in first.script


def test_a_counterexample_is_kept_and_tried_first(plugin, tmp_path):
    kept = Counterexamples(tmp_path / "kept")
    verdict_of(plugin(), kept)
    (file,) = (tmp_path / "kept").iterdir()
    assert json.loads(file.read_text())["law"] == "budget.promise"
    again = verdict_of(plugin(factor=3.0), kept)
    assert again.outcome == "violated"
    assert again.examples == 0  # the kept one came before any draw
    assert verdict_of(plugin(factor=1.0), kept).outcome == "holds"


def test_a_kept_counterexample_of_a_missing_plugin_is_passed_over(plugin, tmp_path):
    kept = Counterexamples(tmp_path / "kept")
    verdict_of(plugin(), kept)
    shipped = Registry.load(strict=True)
    uniform = [shipped.entry("mechanism", "gaussian_uniform")]
    (case,) = cases_of(law_named("budget.promise"), shipped, uniform)
    assert try_case(case, shipped, PROFILES["quick"], kept).outcome == "holds"


def test_an_expected_failure_is_shown_with_its_reason(plugin):
    registry = Registry.load([plugin(waivers='{"budget.promise": "it is rich"}')])
    found = verify("spendthrift", "budget.promise", registry=registry)
    assert found.ok
    excused = [verdict for verdict in found.verdicts if verdict.outcome == "expected failure"]
    assert [verdict.case.law.name for verdict in excused] == ["budget.promise"]
    assert "it is rich" in excused[0].message


def test_an_expected_failure_that_holds_is_an_error(plugin):
    registry = Registry.load([plugin(factor=1.0, waivers='{"budget.promise": "it is rich"}')])
    found = verify("spendthrift", "budget.promise", registry=registry)
    assert not found.ok
    assert found.unneeded == (
        "spendthrift expects budget.promise to fail, which it does not: delete that.",
    )


def test_an_unknown_name_is_a_question():
    with pytest.raises(LookupError, match="did you mean 'gaussian_uniform'"):
        verify("gaussian_unifrom")
    with pytest.raises(LookupError, match=r"did you mean 'budget\.promise'"):
        check("budget.promis")
    with pytest.raises(LookupError, match="did you mean 'quick'"):
        profile_named("quik")


def test_verify_reports_a_violation_with_exit_status_one(plugin, tmp_path, fresh_registry):
    arguments = ["verify", "spendthrift", "budget.promise", "--plugin", str(plugin())]
    arguments += ["--profile", "quick", "--workers", "1", "--examples", str(tmp_path / "kept")]
    done = CliRunner().invoke(cli, arguments)
    assert done.exit_code == 1
    assert "budget.promise" in done.output
    assert "use_registry(sf.Registry.load([" in done.output
    assert len(list((tmp_path / "kept").iterdir())) == 1


def test_verify_as_json_on_two_processes(plugin, tmp_path, fresh_registry):
    arguments = ["verify", "spendthrift", "budget.promise", "--plugin", str(plugin(factor=1.0))]
    arguments += ["--profile", "quick", "--workers", "2", "--examples", str(tmp_path), "--json"]
    done = CliRunner().invoke(cli, arguments)
    assert done.exit_code == 0
    found = json.loads(done.stdout)
    assert found["ok"]
    assert [verdict["law"] for verdict in found["verdicts"]] == ["budget.promise"]


def test_the_audit_runs_when_asked_for(tmp_path, fresh_registry, monkeypatch):
    monkeypatch.setitem(PROFILES, "quick", Profile("quick", examples=2, draws=1_000))
    arguments = ["verify", "renyi", "--audit", "--profile", "quick", "--workers", "1"]
    done = CliRunner().invoke(cli, [*arguments, "--examples", str(tmp_path)])
    assert done.exit_code == 0
    assert "audit.claim" in done.output


CONFORMING = """
from spendthrift import Spendthrift
from sfumato.laws import conformance

test_laws = conformance(Spendthrift)
test_waived = conformance(Spendthrift, waivers={"budget.promise": "it is rich"})
"""


def run_pytest(folder, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    ).stdout


def assert_the_program_fails(shown, tmp_path):
    """Paste what pytest showed and run it in another folder."""
    begin = shown.index("import sys\n\nimport sfumato")
    program = shown[begin : shown.index("\n)\n", shown.index("check(", begin)) + 3]
    (tmp_path / "elsewhere").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path / "elsewhere",
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Violation: at most mse = " in done.stderr


def test_the_pytest_door_gives_every_law_an_id(plugin, tmp_path):
    plugin()
    (tmp_path / "test_spendthrift.py").write_text(CONFORMING)
    shown = run_pytest(tmp_path, "-rA", "-k", "budget or seeds")
    assert "PASSED test_spendthrift.py::test_laws[sampling.seeds[spendthrift]]" in shown
    assert "FAILED test_spendthrift.py::test_laws[budget.promise[spendthrift]]" in shown
    assert "at most mse" in shown
    assert (
        "XFAIL test_spendthrift.py::test_waived[budget.promise[expected failure]] - it is rich"
        in shown
    )
    assert_the_program_fails(shown, tmp_path)
    (kept,) = (tmp_path / ".sfumato" / "counterexamples").glob("budget.promise-*.json")
    found = json.loads(kept.read_text())
    found["arguments"]["mechanism"]["mse"] = 7.25
    kept.write_text(json.dumps(found))
    assert "at most mse = 7.25" in run_pytest(tmp_path, "-k", "test_laws and budget.promise")
    plugin(factor=1.0)
    shown = run_pytest(tmp_path, "-rA", "-k", "budget.promise")
    assert "budget.promise is expected to fail, and holds" in shown


@pytest.mark.parametrize("kind", ["prior", "secret", "mechanism", "adversary", "measure"])
def test_a_new_plugin_passes_as_written(kind, tmp_path, fresh_registry, monkeypatch):
    monkeypatch.setitem(PROFILES, "quick", Profile("quick", examples=2, draws=200, seconds=20.0))
    name = f"fresh_{kind}"
    done = CliRunner().invoke(cli, ["new", kind, name, "--into", str(tmp_path)])
    assert done.exit_code == 0, done.output
    folder = tmp_path / name
    names = {file.name for file in folder.iterdir()}
    assert names == {f"{name}.py", f"test_{name}.py", "pyproject.toml"}
    found = verify(name, registry=Registry.load([folder / f"{name}.py"], strict=True))
    assert found.ok, [verdict.message for verdict in found.failures]
    assert any(verdict.outcome == "holds" for verdict in found.verdicts)


def test_new_refuses_names_that_are_taken_or_no_names(tmp_path, fresh_registry):
    def output(*arguments):
        done = CliRunner().invoke(cli, ["new", *arguments, "--into", str(tmp_path)])
        assert done.exit_code == 2
        return done.output

    assert "there is a prior named 'rbf' already" in output("prior", "rbf")
    assert "lower-case identifier" in output("prior", "My-Prior")
    assert "must not be a word of Python" in output("prior", "class")
    assert "must not be a word of Python" in output("prior", "none")
    assert "must not hide a module" in output("prior", "numpy")
    assert "must not hide a module" in output("measure", "sfumato")
    assert "must leave Gaussian to what a prior imports" in output("prior", "gaussian")
    assert not list(tmp_path.iterdir())
    (tmp_path / "there").mkdir()
    assert "exists already" in output("prior", "there")


def test_what_does_not_apply_is_not_a_pass():
    shipped = Registry.load(strict=True)
    (case, *_) = cases_of(law_named("belief.possible"), shipped)

    def never(prior):
        raise NotHere(f"nothing to say about {prior.name}")

    silent = attrs.evolve(case, law=attrs.evolve(case.law, statement=never))
    verdict = try_case(silent, shipped, PROFILES["quick"])
    assert verdict.outcome == "does not apply"
    assert "nothing to say" in verdict.message


def test_an_error_in_a_plugin_is_a_violation():
    shipped = Registry.load(strict=True)
    (case, *_) = cases_of(law_named("belief.possible"), shipped)

    def crashes(prior):
        raise ZeroDivisionError(prior.name)

    crashing = attrs.evolve(case, law=attrs.evolve(case.law, statement=crashes))
    assert try_case(crashing, shipped, PROFILES["quick"]).message.startswith("ZeroDivisionError")


def test_a_violation_stays_under_optimisation():
    program = "from sfumato.laws.law import require; require(False, 'broken')"
    done = subprocess.run(
        [sys.executable, "-O", "-c", program], capture_output=True, text=True, check=False
    )
    assert "Violation: broken" in done.stderr
    with pytest.raises(Violation, match="broken"):
        require(holds=False, otherwise="broken")


HALF = '''
import sfumato as sf
from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.parameters import declare


@declare
class Half(sf.LossMeasure):
    """Half of the mean squared error."""

    name = "half"
    reads = ((Gaussian, object, AdditiveGaussian),)
    promises = ("utility",)
    WAIVERS

    @property
    def quantity(self):
        return sf.Quantity("half of the error", unit="squared units of the trace")

    def evaluate(self, belief, question, channel):
        return sf.Reading(value=channel.noise.trace() / belief.entries / 2, bound="exact")


@sf.hookimpl
def sfumato_measures():
    return [Half]
'''


def half(tmp_path, waivers):
    file = tmp_path / "half.py"
    file.write_text(HALF.replace("WAIVERS", f"waivers = {waivers}\n"))
    return file


def test_what_is_called_exact_and_cannot_be_checked_is_unverified(tmp_path, fresh_registry):
    file = half(tmp_path, "{}")
    found = verify("half", "oracle.exists", "oracle.value", registry=Registry.load([file]))
    assert not found.ok
    outcomes = {(one.case.law.name, one.outcome) for one in found.verdicts}
    assert outcomes == {("oracle.exists", "unverified"), ("oracle.value", "does not apply")}
    assert "write its brute_force" in found.failures[0].message
    arguments = ["verify", "half", "--plugin", str(file), "--profile", "quick", "--workers", "1"]
    done = CliRunner().invoke(cli, [*arguments, "--examples", str(tmp_path / "kept")])
    assert done.exit_code == 1
    assert "3 unverified" in done.output
    assert "violated" not in done.output


def test_an_unverified_value_can_be_an_expected_failure(tmp_path, fresh_registry):
    file = half(tmp_path, '{"oracle.exists": "a toy"}')
    arguments = ["verify", "half", "oracle.exists", "--plugin", str(file), "--profile", "quick"]
    arguments += ["--workers", "1", "--examples", str(tmp_path / "kept")]
    done = CliRunner().invoke(cli, arguments)
    assert done.exit_code == 0
    assert "3 expected failure" in done.output
    assert "expected: a toy" in done.output


LAME = '''
import numpy as np
import sfumato as sf
from sfumato.beliefs import Gaussian
from sfumato.matrices import Diagonal
from sfumato.parameters import POSITIVE, TIMES, declare, parameter, stamps


@declare
class Lame(sf.Prior):
    """Raises for large variances."""

    name = "lame"
    yields = Gaussian
    promises = (("mse", "mean_squared_error"),)
    WAIVERS
    variance: float = parameter(POSITIVE, doc="variance")
    times: object = parameter(TIMES("n"), doc="times")

    def belief(self):
        if self.variance > LIMIT:
            raise RuntimeError("lame")
        return Gaussian(Diagonal(np.full(len(stamps(self.times)), self.variance)))


@sf.hookimpl
def sfumato_priors():
    return [Lame]
'''


def lame(tmp_path, waivers, limit=0.5):
    file = tmp_path / "lame.py"
    text = LAME.replace("WAIVERS", f"waivers = {waivers}\n").replace("LIMIT", str(limit))
    file.write_text(text)
    return Registry.load([file])


KNOWN = '{"monotone.order": "known"}'


@pytest.mark.parametrize("names", [("lame", "monotone.order"), ("renyi", "monotone.order")])
def test_an_expected_failure_covers_objects_that_are_drawn(names, tmp_path, monkeypatch):
    many = attrs.evolve(PROFILES["default"], examples=400)  # so that it is met among all priors
    monkeypatch.setitem(PROFILES, "default", many)
    found = verify(*names, registry=lame(tmp_path, KNOWN), profile="default")
    assert found.ok, (found.failures, found.unneeded)
    excused = [verdict for verdict in found.verdicts if verdict.outcome == "expected failure"]
    assert excused
    assert all(verdict.excused == ("lame",) for verdict in excused)


def test_an_expected_failure_of_what_is_drawn_hides_nothing_else(tmp_path):
    everything = lame(tmp_path, KNOWN)
    few = [one for one in everything.entries if one.kind != "prior" or one.name in ("lame", "rbf")]
    registry = attrs.evolve(everything, entries=tuple(few))  # so that it is met among the priors
    every = law_named("monotone.order")

    seen = set()

    def first_it_then_all(prior, secret, mechanism, measure, share):
        del secret, mechanism, measure, share
        seen.add(prior.name)
        require("lame" not in seen, prior.name)

    strict = attrs.evolve(every, statement=first_it_then_all)
    (case, *_) = cases_of(strict, registry, [registry.entry("prior", "lame")])
    drawn = attrs.evolve(case, classes={"measure": registry.get("measure", "renyi")})
    at_once = Profile("quick", examples=100, draws=10, shrink=False)
    verdict = try_with_excuses(drawn, registry, at_once)
    assert "lame" in seen
    assert verdict.outcome == "violated"
    assert verdict.message != "Violation: lame"


def test_an_expected_failure_of_what_is_only_drawn_is_judged_when_it_is_named(tmp_path):
    registry = lame(tmp_path, KNOWN, limit="np.inf")
    assert verify("monotone.order", registry=registry).ok
    sentence = "lame expects monotone.order to fail, which it does not: delete that."
    assert verify("lame", "monotone.order", registry=registry).unneeded == (sentence,)


def test_an_expected_failure_needs_a_reason_and_a_law(tmp_path):
    registry = lame(tmp_path, '{"monotone.order": "", "no.law": "why"}')
    assert verify("lame", "interface.frozen", registry=registry).unneeded == (
        "lame expects monotone.order to fail without a reason: say why, or delete that.",
        "lame expects no.law to fail, which is no law: delete that.",
    )
    plugin = registry.get("prior", "lame")
    plugin.waivers = {}
    with pytest.raises(ValueError, match=r"monotone\.order is expected to fail must have a reason"):
        conformance(plugin, waivers={"monotone.order": ""})


def test_a_damaged_counterexample_is_named_and_blames_no_plugin(tmp_path, fresh_registry):
    file = tmp_path / "interface.frozen-0123456789ab.json"
    arguments = ["verify", "rbf", "interface.frozen", "--profile", "quick", "--workers"]
    for text, workers in (("<<<<<<< HEAD\n{}\n", "2"), ("[]", "1"), ('{"arguments": 3}', "1")):
        file.write_text(text)
        done = CliRunner().invoke(cli, [*arguments, workers, "--examples", str(tmp_path)])
        assert isinstance(done.exception, DataError)  # the program says it and stops
        assert str(file) in str(done.exception)


UNWRITTEN = '''
import sfumato as sf
from sfumato.beliefs import Gaussian
from sfumato.parameters import TIMES, declare, parameter


@declare
class Unwritten(sf.Prior):
    """Nothing about it works."""

    name = "unwritten"
    yields = Gaussian
    times: object = parameter(TIMES("n"), doc="times")

    def specification(self):
        raise RuntimeError("no specification")

    def belief(self):
        raise RuntimeError("no belief")


@sf.hookimpl
def sfumato_priors():
    return [Unwritten]
'''


def test_a_counterexample_that_cannot_be_kept_is_still_reported(tmp_path):
    file = tmp_path / "unwritten.py"
    file.write_text(UNWRITTEN)
    registry = Registry.load([file])
    found = verify("unwritten", "belief.possible", registry=registry, kept=tmp_path / "kept")
    (verdict,) = found.verdicts
    assert verdict.outcome == "violated"
    assert "RuntimeError: no belief; its counterexample cannot be kept" in verdict.message
    assert "RuntimeError: no specification" in verdict.message
    assert "sf.priors.unwritten(" in verdict.script


def test_a_class_inside_a_function_is_left_to_the_reader_of_the_program():
    class Inner:
        name = "inner"

    nested = Entry("prior", "inner", Inner, BY_HAND)
    registry = attrs.evolve(Registry.load(strict=True), entries=(nested,))
    program = script_of(law_named("belief.possible"), {}, registry)
    assert "# inner is defined inside a function: add it here" in program
    compile(program, "program", "exec")
