"""The files of a new plugin: small, whole, and kept to the laws as they are."""

from __future__ import annotations

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
class @cls@(sf.DeclaredSecret):
    """Where the trace ends."""

    name = "@name@"
    yields = {Gaussian: Displacements}

    radius: float = parameter(POSITIVE, default=1.0, doc="radius of the pairs to be confused")

    def question(self, belief: Any) -> Displacements:
        """Return the displacements of the last time's entries."""
        last = belief.entries_at(belief.times - 1)
        return Displacements(groups=((last,),), radii=self.radius)


@sf.hookimpl
def sfumato_secrets() -> list[type[sf.DeclaredSecret]]:
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
class @cls@(sf.DeclaredMechanism):
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
def sfumato_mechanisms() -> list[type[sf.DeclaredMechanism]]:
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
class @cls@(sf.DeclaredAdversary):
    """Guesses the likeliest state of each time, whatever is released."""

    name = "@name@"
    reads = ((Markov, Emission),)

    def infer(self, belief: Any, channel: Any, observed: Any) -> Any:
        """Return the guessed trace."""
        return belief.decode(belief.marginals().argmax(axis=1))


@sf.hookimpl
def sfumato_adversaries() -> list[type[sf.DeclaredAdversary]]:
    """Register the adversary."""
    return [@cls@]
'''

_MEASURE = '''
"""The measure @name@."""

from typing import Any

import numpy as np

import sfumato as sf
from sfumato.beliefs import Gaussian
from sfumato.channels import AdditiveGaussian
from sfumato.parameters import declare
from sfumato.questions import Displacements


@declare
class @cls@(sf.DeclaredMeasure):
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
            return sf.Reading(value=float((signal / noise).max()))


@sf.hookimpl
def sfumato_measures() -> list[type[sf.DeclaredMeasure]]:
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
