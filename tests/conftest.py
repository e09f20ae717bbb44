"""Settings shared by all tests."""

from __future__ import annotations

import getpass
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Hypothesis also draws the numbers that stand in loaded modules, unless these are installed or lie
# below a folder called tests. One-file plugins that other tests write must not change what a law
# draws, whichever of them a worker has run before: they are written below such a folder.
_below = Path(tempfile.gettempdir(), f"sfumato-{getpass.getuser()}", "tests")
_below.mkdir(parents=True, exist_ok=True, mode=0o700)
tempfile.tempdir = str(_below)
os.environ["SFUMATO_STREAMS"] = str(_below / "streams")  # not among the user's own

settings.register_profile(
    "ci",
    derandomize=True,  # the same examples on every machine
    deadline=None,  # machines are noisy: no test asserts seconds
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("ci")


@pytest.fixture
def real_data():
    """Return a function that gives the path of a real file, or skips the test with a reason."""

    def find(*parts):
        path = Path(__file__).parents[2].joinpath("shared", "data", *parts)
        if not path.exists():
            pytest.skip(f"the data set {'/'.join(parts)} is not beside the checkout")
        return path

    return find


@pytest.fixture
def fresh_registry():
    """Put the default registry back after a test that replaces it."""
    from sfumato.plugin_registry import default_registry, use_registry

    before = default_registry()
    yield
    use_registry(before)


PLUGIN = '''
"""An Ornstein-Uhlenbeck prior."""
import numpy as np
import sfumato as sf
from sfumato.beliefs import Gaussian
from sfumato.matrices import Dense
from sfumato.parameters import POSITIVE, TIMES, declare, parameter, stamps


@declare
class OrnsteinUhlenbeck(sf.Prior):
    """A process that forgets at a constant rate: covariance exp(-|s - t| / l)."""

    name = "ornstein_uhlenbeck"
    yields = Gaussian

    length_scale: float = parameter(POSITIVE, doc="time after which 1/e is remembered")
    times: object = parameter(TIMES("n"), doc="number of points, or time stamps")

    def belief(self):
        t = stamps(self.times)
        return Gaussian(Dense(np.exp(-np.abs(t[:, None] - t) / self.length_scale)), definite=True)


@sf.hookimpl
def sfumato_priors():
    return [OrnsteinUhlenbeck]
'''


@pytest.fixture
def plugin_file(tmp_path):
    """A one-file plugin of thirty lines, somewhere outside the project."""
    file = tmp_path / "ornstein_uhlenbeck.py"
    file.write_text(PLUGIN)
    return file
