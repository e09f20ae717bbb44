"""The whole extension surface: one hook for each noun, and for studies, figures and strategies.

A plugin is a module (or a single file) with functions marked ``@sf.hookimpl``.
It enters by an entry point of the group ``sfumato``, by ``--plugin FILE`` on every command, or by
the environment variable ``SFUMATO_PLUGINS``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pluggy

from sfumato.protocols import (
    Adversary,
    LossMeasure,
    Mechanism,
    Prior,
    Secret,
)

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from sfumato.figures import Figure

PROJECT = "sfumato"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def sfumato_priors() -> Iterable[type[Prior]]:
    """Return prior classes.

    A whole plugin, an Ornstein-Uhlenbeck process with covariance exp(-|s - t| / l):

    >>> import numpy as np
    >>> import sfumato as sf
    >>> from sfumato.beliefs import Gaussian
    >>> from sfumato.matrices import Dense
    >>> from sfumato.parameters import POSITIVE, TIMES, declare, parameter, stamps
    >>> @declare
    ... class OrnsteinUhlenbeck(sf.Prior):
    ...     "A process that forgets at a constant rate."
    ...     name = "ornstein_uhlenbeck"
    ...     yields = Gaussian
    ...     length_scale: float = parameter(POSITIVE, doc="time after which 1/e is remembered")
    ...     times: object = parameter(TIMES("n"), doc="number of points, or time stamps")
    ...     def belief(self):
    ...         t = stamps(self.times)
    ...         return Gaussian(Dense(np.exp(-np.abs(t[:, None] - t) / self.length_scale)))
    >>> @sf.hookimpl
    ... def sfumato_priors():
    ...     return [OrnsteinUhlenbeck]
    >>> OrnsteinUhlenbeck(length_scale=2.0, times=3)
    sf.priors.ornstein_uhlenbeck(length_scale=2.0, times=3)
    """
    raise NotImplementedError  # pluggy only reads the signature


@hookspec
def sfumato_secrets() -> Iterable[type[Secret]]:
    """Return secret classes.

    A whole plugin, the first point of a trace:

    >>> import sfumato as sf
    >>> from sfumato.beliefs import Gaussian
    >>> from sfumato.parameters import POSITIVE, declare, parameter
    >>> from sfumato.questions import Displacements
    >>> @declare
    ... class Beginning(sf.Secret):
    ...     "Where the trace began."
    ...     name = "beginning"
    ...     yields = {Gaussian: Displacements}
    ...     radius: float = parameter(POSITIVE, default=1.0, doc="radius of the pairs")
    ...     def question(self, belief):
    ...         return Displacements(groups=((belief.entries_at(0),),), radii=self.radius)
    >>> @sf.hookimpl
    ... def sfumato_secrets():
    ...     return [Beginning]
    """
    raise NotImplementedError  # pluggy only reads the signature


@hookspec
def sfumato_mechanisms() -> Iterable[type[Mechanism]]:
    """Return mechanism classes.

    A whole plugin, independent noise whose variance grows along the trace:

    >>> import numpy as np
    >>> import sfumato as sf
    >>> from sfumato.beliefs import Gaussian
    >>> from sfumato.channels import AdditiveGaussian
    >>> from sfumato.matrices import Diagonal
    >>> from sfumato.parameters import POSITIVE, declare, parameter
    >>> @declare
    ... class Ramp(sf.Mechanism):
    ...     "Independent noise that grows along the trace."
    ...     name = "ramp"
    ...     asks = ((Gaussian, object),)
    ...     yields = AdditiveGaussian
    ...     mse: float = parameter(POSITIVE, doc="average noise variance per entry")
    ...     def design(self, prior, secret):
    ...         belief = next(prior.members()).belief()
    ...         ramp = np.arange(1.0, belief.entries + 1)
    ...         noise = Diagonal(self.mse * ramp / ramp.mean())
    ...         return sf.Release(
    ...             mechanism=self, prior=prior, secret=secret,
    ...             channel=AdditiveGaussian(noise, dimensions=belief.dimensions),
    ...             utility_value=self.mse, utility_quantity=sf.MEAN_SQUARED_ERROR)
    >>> @sf.hookimpl
    ... def sfumato_mechanisms():
    ...     return [Ramp]
    """
    raise NotImplementedError  # pluggy only reads the signature


@hookspec
def sfumato_adversaries() -> Iterable[type[Adversary]]:
    """Return adversary classes.

    A whole plugin, someone who believes what the release says:

    >>> import sfumato as sf
    >>> from sfumato.beliefs import Gaussian
    >>> from sfumato.channels import AdditiveGaussian
    >>> from sfumato.parameters import declare
    >>> @declare
    ... class Credulous(sf.Adversary):
    ...     "Takes the released trace for the true one."
    ...     name = "credulous"
    ...     reads = ((Gaussian, AdditiveGaussian),)
    ...     def infer(self, belief, channel, observed):
    ...         return observed
    >>> @sf.hookimpl
    ... def sfumato_adversaries():
    ...     return [Credulous]
    """
    raise NotImplementedError  # pluggy only reads the signature


@hookspec
def sfumato_measures() -> Iterable[type[LossMeasure]]:
    """Return measure classes.

    A whole plugin, the largest noise variance of any entry:

    >>> import sfumato as sf
    >>> from sfumato.beliefs import Gaussian
    >>> from sfumato.channels import AdditiveGaussian
    >>> from sfumato.parameters import declare
    >>> @declare
    ... class LargestVariance(sf.LossMeasure):
    ...     "The largest noise variance of any entry."
    ...     name = "largest_variance"
    ...     reads = ((Gaussian, object, AdditiveGaussian),)
    ...     @property
    ...     def quantity(self):
    ...         return sf.Quantity("largest noise variance")
    ...     def evaluate(self, belief, question, channel):
    ...         return sf.Reading(value=channel.noise.diagonal().max(), bound="exact")
    ...     def brute_force(self, belief, question, channel):
    ...         noise = channel.covariance()
    ...         variances = [noise[entry, entry] for entry in range(belief.entries)]
    ...         return sf.Reading(value=max(variances), bound="exact")
    >>> @sf.hookimpl
    ... def sfumato_measures():
    ...     return [LargestVariance]
    """
    raise NotImplementedError  # pluggy only reads the signature


@hookspec
def sfumato_studies() -> Mapping[str, Path]:
    """Return bundled studies: a name and a TOML file each.

    >>> from pathlib import Path
    >>> import sfumato as sf
    >>> @sf.hookimpl
    ... def sfumato_studies():
    ...     return {"my_figure": Path("my_figure.toml")}
    """
    raise NotImplementedError  # pluggy only reads the signature


@hookspec
def sfumato_strategies() -> Mapping[str, Callable[[Mapping[str, int]], SearchStrategy[Any]]]:
    """Return Hypothesis strategies for plugins whose declared domains do not say enough.

    Each key is a registered name; the function gets the sizes already drawn (such as ``n``) and
    returns a strategy of whole objects.

    >>> import sfumato as sf
    >>> @sf.hookimpl
    ... def sfumato_strategies():
    ...     from hypothesis import strategies as st
    ...     return {"credulous": lambda sizes: st.builds(sf.adversaries.credulous)}
    """
    raise NotImplementedError  # pluggy only reads the signature


@hookspec
def sfumato_figures() -> Mapping[str, Figure]:
    """Return published figures that can be computed again, by name.

    >>> import sfumato as sf
    >>> from sfumato.figures import Curve, Drawing, Figure, Panel
    >>> def compute(request):
    ...     line = Curve("loss", [1.0, 2.0], [0.5, 0.25])
    ...     return Drawing(panels=[Panel(title="a", x="noise", y="loss", curves=[line])])
    >>> @sf.hookimpl
    ... def sfumato_figures():
    ...     return {"nobody1999_figure_1": Figure("Nobody (1999), Figure 1", compute)}
    """
    raise NotImplementedError  # pluggy only reads the signature
