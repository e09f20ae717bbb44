"""The registry: strangers welcome, broken plugins named, duplicates refused."""

from __future__ import annotations

import subprocess
import sys
import warnings

import attrs
import pytest

import sfumato as sf
from sfumato import hookspecs
from sfumato.plugin_registry import Registry, default_registry, use_registry

NOUN_NAMES = {
    "prior": {"rbf", "periodic", "markov_chain"},
    "secret": {"basic", "contexts", "trajectory"},
    "mechanism": {"gaussian_uniform", "gaussian_given", "suppress_given", "sensor_counts"},
    "adversary": {"gaussian_posterior", "hidden_markov_posterior", "map"},
    "measure": {
        "renyi",
        "posterior_interval",
        "mean_squared_error",
        "posterior_gap",
        "reconstruction",
        "released_fraction",
    },
}


@pytest.mark.parametrize("kind", NOUN_NAMES)
def test_the_shipped_plugins_are_registered(kind):
    assert NOUN_NAMES[kind] <= set(sf.registry.names(kind))
    assert sf.registry.names(kind) == sorted(sf.registry.names(kind))
    assert not sf.registry.problems


def test_a_one_file_plugin_appears_everywhere_without_an_edit(plugin_file, fresh_registry):
    use_registry(Registry.load([plugin_file], strict=True))
    assert "ornstein_uhlenbeck" in sf.registry.names("prior")
    assert "ornstein_uhlenbeck" in dir(sf.priors)
    prior = sf.priors.ornstein_uhlenbeck(length_scale=sf.Interval(1, 2), times=9)
    table = sf.compare(
        priors=[prior],
        secrets=[sf.secrets.basic(4)],
        mechanisms=[sf.mechanisms.gaussian_uniform(mse=0.5)],
        measures=[sf.measures.renyi(order=2.0)],
    ).to_pandas()
    assert list(table.outcome) == ["measured"]


def test_a_registry_is_an_immutable_value():
    one, two = Registry.load(), Registry.load()
    assert one == two
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        one.entries = ()


BROKEN = {
    "raises on import": "raise RuntimeError('no luck')",
    "is not Python": "def (",
    "misspells a hook": "import sfumato as sf\n@sf.hookimpl\ndef sfumato_prios():\n    return []",
    "registers nothing": "x = 1",
    "returns the wrong type": (
        "import sfumato as sf\n@sf.hookimpl\ndef sfumato_priors():\n    return [3]"
    ),
    "forgets declare": (
        "import sfumato as sf\n"
        "class P(sf.Prior):\n    name='p'\n    yields=object\n    def belief(self): ...\n"
        "@sf.hookimpl\ndef sfumato_priors():\n    return [P]"
    ),
    "forgets its method": (
        "import sfumato as sf\nfrom sfumato.parameters import declare\n"
        "@declare\nclass P(sf.Prior):\n    name='p'\n    yields=object\n"
        "@sf.hookimpl\ndef sfumato_priors():\n    return [P]"
    ),
    "forgets its name": (
        "import sfumato as sf\nfrom sfumato.parameters import declare\n"
        "@declare\nclass P(sf.Prior):\n    yields=object\n    def belief(self): ...\n"
        "@sf.hookimpl\ndef sfumato_priors():\n    return [P]"
    ),
    "raises in its hook": (
        "import sfumato as sf\n@sf.hookimpl\ndef sfumato_priors():\n    raise OSError('disk')"
    ),
    "exits": "raise SystemExit(3)",
}


@pytest.mark.parametrize("how", BROKEN)
def test_a_broken_plugin_is_named_reported_and_skipped(tmp_path, how):
    file = tmp_path / "broken.py"
    file.write_text(BROKEN[how])
    with pytest.warns(sf.BrokenPluginWarning, match=r"broken\.py") as caught:
        registry = Registry.load([file])
    assert len(caught) == 1
    assert registry.names("prior") == Registry.load().names("prior")
    assert [problem.origin for problem in registry.problems] == [f"'{file}'"]
    with pytest.raises(sf.PluginError, match=r"broken\.py"):
        Registry.load([file], strict=True)


def test_a_missing_file_is_reported(tmp_path):
    with pytest.warns(sf.BrokenPluginWarning, match="there is no file"):
        Registry.load([tmp_path / "nowhere.py"])


def test_a_duplicate_name_is_an_error_that_names_both(tmp_path, plugin_file):
    twin = tmp_path / "twin.py"
    twin.write_text(plugin_file.read_text())
    with pytest.raises(sf.DuplicateName, match=r"ornstein_uhlenbeck\.py.*twin\.py"):
        Registry.load([plugin_file, twin])


def test_unknown_names_say_what_was_meant():
    with pytest.raises(AttributeError, match="did you mean 'rbf'"):
        _ = sf.priors.rfb
    with pytest.raises(LookupError, match="there is no noun"):
        sf.registry.names("priro")
    with pytest.raises(AttributeError, match="no attribute 'compar'"):
        _ = sf.compar


def test_namespaces_document_themselves():
    assert "exp" in sf.priors.rbf.__doc__
    assert "length_scale" in str(sf.priors.rbf.__signature__)
    assert "rbf" in repr(sf.priors)


def hooks():
    return sorted(name for name in vars(hookspecs) if name.startswith("sfumato_"))


@pytest.mark.parametrize("hook", hooks())
def test_every_hook_is_documented_with_a_plugin_that_runs(hook):
    """The docstrings' examples are run by the doctest collector; here they must be there."""
    document = getattr(hookspecs, hook).__doc__
    assert "@sf.hookimpl" in document
    assert f"def {hook}" in document


def test_loading_order_does_not_depend_on_installation(monkeypatch):
    from importlib import metadata

    points = list(metadata.entry_points(group="sfumato"))
    monkeypatch.setattr(
        "sfumato.plugin_registry.entry_points", lambda group: list(reversed(points))
    )
    assert Registry.load() == default_registry()


def test_plugins_named_by_the_environment_are_loaded(plugin_file):
    code = "import sfumato as sf; print('ornstein_uhlenbeck' in sf.registry.names('prior'))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"SFUMATO_PLUGINS": str(plugin_file), "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "True"


def test_no_warning_when_all_is_well():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Registry.load()


def test_a_plugin_installed_by_entry_point_appears_everywhere(plugin_file, tmp_path):
    """As pip would leave it: a module, and metadata with the entry point."""
    metadata = tmp_path / "ornstein_uhlenbeck-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: ornstein-uhlenbeck\nVersion: 1.0\n"
    )
    (metadata / "entry_points.txt").write_text("[sfumato]\nstranger = ornstein_uhlenbeck\n")
    code = (
        "import sfumato as sf\n"
        "prior = sf.priors.ornstein_uhlenbeck(length_scale=2.0, times=9)\n"
        "table = sf.compare([prior], [sf.secrets.basic(4)],\n"
        "    [sf.mechanisms.gaussian_uniform(mse=0.5)], [sf.measures.renyi(order=2.0)])\n"
        "print(*table.to_pandas().outcome)\n"
        "from sfumato.commands import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "list"],
        env={"PYTHONPATH": ":".join([str(tmp_path), *sys.path]), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[0] == "measured"
    assert "ornstein_uhlenbeck" in done.stdout
    assert "stranger" in done.stdout
