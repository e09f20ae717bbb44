"""`sfumato new KIND NAME`: a plugin package that installs, appears and passes `verify`."""

from __future__ import annotations

import importlib.util
import keyword
import re
from pathlib import Path

import click

from sfumato.commands.arguments import with_plugins
from sfumato.plugin_registry import default_registry

PROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "@project@"
version = "0.1.0"
description = "A @kind@ for sfumato."
requires-python = ">=3.11"
dependencies = ["sfumato[laws]"]

[project.entry-points.sfumato]
@name@ = "@name@"

[tool.hatch.build]
include = ["@name@.py"]
"""

TEST = '''
"""Every law of sfumato, tried on @name@; each is a test of its own."""

from @name@ import @cls@
from sfumato.laws import conformance

test_laws = conformance(@cls@)
'''

_PRIOR = '''
"""The prior @name@."""

from typing import Any

import numpy as np

import sfumato as sf
from sfumato.beliefs import Gaussian
from sfumato.matrices import Dense
from sfumato.parameters import POSITIVE, TIMES, declare, parameter, stamps


@declare
class @cls@(sf.Prior):
    """A process that forgets at a constant rate: covariance exp(-|s - t| / l)."""

    name = "@name@"
    yields = Gaussian

    length_scale: float = parameter(POSITIVE, doc="time after which 1/e is remembered")
    times: Any = parameter(TIMES("n"), doc="number of points 0, 1, ..., or time stamps")

    def belief(self) -> Gaussian:
        """Return the belief in its mathematical form."""
        t = stamps(self.times)
        covariance = np.exp(-np.abs(t[:, None] - t) / self.length_scale)
        return Gaussian(Dense(covariance), definite=True)


@sf.hookimpl
def sfumato_priors() -> list[type[sf.Prior]]:
    """Register the prior."""
    return [@cls@]
'''

_SECRET_BODY = '''
"""The secret @name@."""

from typing import Any

import sfumato as sf
from sfumato.beliefs import Gaussian
from sfumato.parameters import POSITIVE, declare, parameter
from sfumato.questions import Displacements


@declare
class @cls@(sf.Secret):
    """Where the trace ends."""

    name = "@name@"
    yields = {Gaussian: Displacements}

    radius: float = parameter(POSITIVE, default=1.0, doc="radius of the pairs to be confused")

    def question(self, belief: Any) -> Displacements:
        """Return the displacements of the last time's entries."""
        last = belief.entries_at(belief.times - 1)
        return Displacements(groups=((last,),), radii=self.radius)


@sf.hookimpl
def sfumato_secrets() -> list[type[sf.Secret]]:
    """Register the secret."""
    return [@cls@]
'''  # noqa: S105 - a template

_MECHANISM = '''
"""The mechanism @name@."""

from typing import Any

import numpy as np

import sfumato as sf
from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.matrices import Diagonal
from sfumato.parameters import POSITIVE, declare, parameter


@declare
class @cls@(sf.Mechanism):
    """Independent noise that grows along the trace."""

    name = "@name@"
    asks = ((Gaussian, object),)
    yields = AdditiveGaussian

    mse: float = parameter(POSITIVE, doc="average noise variance per entry")

    def design(self, prior: Any, secret: Any) -> sf.Release:
        """Return the release; its utility is that of the noise really drawn."""
        belief = next(prior.members()).belief()
        ramp = np.arange(1.0, belief.entries + 1)
        noise = Diagonal(self.mse * ramp / ramp.mean())
        return sf.Release(
            mechanism=self,
            prior=prior,
            secret=secret,
            channel=AdditiveGaussian(noise, dimensions=belief.dimensions),
            utility_value=noise.trace() / belief.entries,
            utility_quantity=sf.MEAN_SQUARED_ERROR,
        )


@sf.hookimpl
def sfumato_mechanisms() -> list[type[sf.Mechanism]]:
    """Register the mechanism."""
    return [@cls@]
'''

_ADVERSARY = '''
"""The adversary @name@."""

from typing import Any

import sfumato as sf
from sfumato.beliefs import Markov
from sfumato.channels import Emission
from sfumato.parameters import declare


@declare
class @cls@(sf.Adversary):
    """Guesses the likeliest state of each time, whatever is released."""

    name = "@name@"
    reads = ((Markov, Emission),)

    def infer(self, belief: Any, channel: Any, observed: Any) -> Any:
        """Return the guessed trace."""
        return belief.decode(belief.marginals().argmax(axis=1))


@sf.hookimpl
def sfumato_adversaries() -> list[type[sf.Adversary]]:
    """Register the adversary."""
    return [@cls@]
'''

_MEASURE = '''
"""The measure @name@."""

import math
from fractions import Fraction
from typing import Any

import numpy as np

import sfumato as sf
from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.parameters import declare
from sfumato.questions import Displacements


@declare
class @cls@(sf.LossMeasure):
    """The largest signal-to-noise ratio of a secret entry: prior variance over noise variance."""

    name = "@name@"
    reads = ((Gaussian, Displacements, AdditiveGaussian),)

    @property
    def quantity(self) -> sf.Quantity:
        """A ratio: larger is worse."""
        return sf.Quantity("signal to noise")

    def evaluate(self, belief: Any, question: Any, channel: Any) -> sf.Reading:
        """Return the ratio; without noise it is infinite."""
        entries = list(question.entries)
        signal = belief.covariance.diagonal()[entries]
        noise = channel.noise.diagonal()[entries]
        with np.errstate(divide="ignore"):
            return sf.Reading(value=float((signal / noise).max()), bound="exact")

    def brute_force(self, belief: Any, question: Any, channel: Any) -> sf.Reading:
        """Return the same ratio in fractions: what shows that it is exact."""
        signal, noise = belief.covariance.dense(), channel.covariance()
        ratios = [
            float(Fraction(signal[i, i]) / Fraction(noise[i, i])) if noise[i, i] else math.inf
            for i in question.entries
        ]
        return sf.Reading(value=max(ratios), bound="exact")


@sf.hookimpl
def sfumato_measures() -> list[type[sf.LossMeasure]]:
    """Register the measure."""
    return [@cls@]
'''

BODIES = {
    "prior": _PRIOR,
    "secret": _SECRET_BODY,
    "mechanism": _MECHANISM,
    "adversary": _ADVERSARY,
    "measure": _MEASURE,
}


@click.command("new")
@with_plugins
@click.argument("kind", type=click.Choice(sorted(BODIES)))
@click.argument("name")
@click.option(
    "--into",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(),
    help="The folder in which the package's folder is made; the current one by default.",
)
def command(kind: str, name: str, into: Path) -> None:
    """Write a plugin package NAME: one file with a KIND, its test and its entry point."""
    _require_free(kind, name)
    folder = into / name
    if folder.exists():
        raise click.UsageError(f"{folder} exists already; choose another name or folder.")
    folder.mkdir(parents=True)
    words = {
        "name": name,
        "cls": _class_name(name),
        "kind": kind,
        "project": name.replace("_", "-"),
    }
    for file, template in {
        f"{name}.py": BODIES[kind],
        f"test_{name}.py": TEST,
        "pyproject.toml": PROJECT,
    }.items():
        (folder / file).write_text(_filled(template, words), encoding="utf-8")
    click.echo(
        f"wrote {folder}: try\n"
        f"  sfumato verify {name} --plugin {folder / name}.py\n"
        f"  pip install -e {folder} && sfumato verify {name} && pytest {folder}"
    )


def _require_free(kind: str, name: str) -> None:
    if not name.isidentifier() or name != name.lower():
        raise click.UsageError(f"NAME must be a lower-case identifier; got {name!r}.")
    cls = _class_name(name)
    if keyword.iskeyword(name) or keyword.iskeyword(cls):
        raise click.UsageError(f"NAME must not be a word of Python; got {name!r}.")
    if re.search(rf"\b{cls}\b", BODIES[kind]):
        raise click.UsageError(
            f"NAME must leave {cls} to what a {kind} imports; got {name!r}: choose another name."
        )
    if name in default_registry().names(kind):
        raise click.UsageError(f"there is a {kind} named '{name}' already; choose another name.")
    found = importlib.util.find_spec(name)
    if found is not None and found.origin is not None:  # None: only a folder of that name
        raise click.UsageError(
            f"NAME must not hide a module that can be imported; got {name!r}: choose another name."
        )


def _class_name(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def _filled(template: str, words: dict[str, str]) -> str:
    """Replace @name@ and its like; braces are left to Python."""
    for word, value in words.items():
        template = template.replace(f"@{word}@", value)
    return template.lstrip("\n")
