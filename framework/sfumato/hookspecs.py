"""The whole extension surface: one hook for each noun, and for what goes with them.

A plugin is a module (or a single file) with functions marked ``@sf.hookimpl``.
It enters by an entry point of the group ``sfumato``, by ``--plugin FILE`` on every command, or by
the environment variable ``SFUMATO_PLUGINS``.
"""
# Bodies are empty: pluggy only reads the signatures.
# mypy: disable-error-code="empty-body"

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

    from sfumato.datasets.formats import Format
    from sfumato.figures import Figure

PROJECT = "sfumato"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def sfumato_priors() -> Iterable[type[Prior]]:
    '''Return prior classes.

    A whole plugin, an Ornstein-Uhlenbeck process (``sfumato new`` writes it under another name):

    >>> import numpy as np
    >>> import sfumato as sf
    >>> from sfumato.beliefs import Gaussian
    >>> from sfumato.matrices import Dense
    >>> from sfumato.parameters import POSITIVE, TIMES, declare, parameter, stamps
    >>> @declare
    ... class OrnsteinUhlenbeck(sf.Prior):
    ...     """A process that forgets at a constant rate: covariance exp(-|s - t| / l)."""
    ...
    ...     name = "ornstein_uhlenbeck"
    ...     yields = Gaussian
    ...
    ...     length_scale: float = parameter(POSITIVE, doc="time after which 1/e is remembered")
    ...     times: object = parameter(TIMES("n"), doc="number of points 0, 1, ..., or time stamps")
    ...
    ...     def belief(self) -> Gaussian:
    ...         t = stamps(self.times)
    ...         covariance = np.exp(-np.abs(t[:, None] - t) / self.length_scale)
    ...         return Gaussian(Dense(covariance), definite=True)
    >>> @sf.hookimpl
    ... def sfumato_priors():
    ...     return [OrnsteinUhlenbeck]
    >>> OrnsteinUhlenbeck(length_scale=2.0, times=3)
    sf.priors.ornstein_uhlenbeck(length_scale=2.0, times=3)
    '''


@hookspec
def sfumato_secrets() -> Iterable[type[Secret]]:
    '''Return secret classes.

    A whole plugin, where somebody was at a landmark time:

    >>> import sfumato as sf
    >>> from sfumato.beliefs import Gaussian
    >>> from sfumato.parameters import INDEX, POSITIVE, declare, parameter
    >>> from sfumato.questions import Displacements
    >>> @declare
    ... class Landmark(sf.Secret):
    ...     """Where the trace was at one time, or began."""
    ...
    ...     name = "landmark"
    ...     yields = {Gaussian: Displacements}
    ...
    ...     index: int = parameter(INDEX("n"), default=0, doc="position in the trace")
    ...     radius: float = parameter(POSITIVE, default=1.0, doc="radius of the pairs")
    ...
    ...     def question(self, belief: Gaussian) -> Displacements:
    ...         moved = belief.entries_at(self.index)
    ...         return Displacements(groups=((moved,),), radii=self.radius)
    >>> @sf.hookimpl
    ... def sfumato_secrets():
    ...     return [Landmark]
    '''


@hookspec
def sfumato_mechanisms() -> Iterable[type[Mechanism]]:
    '''Return mechanism classes.

    A whole plugin, independent noise whose variance grows along the trace:

    >>> import numpy as np
    >>> import sfumato as sf
    >>> from sfumato.beliefs import Gaussian
    >>> from sfumato.channels import AdditiveGaussian
    >>> from sfumato.matrices import Diagonal
    >>> from sfumato.parameters import POSITIVE, declare, parameter
    >>> @declare
    ... class Ramp(sf.Mechanism):
    ...     """Independent noise that grows along the trace."""
    ...
    ...     name = "ramp"
    ...     asks = ((Gaussian, object),)
    ...     yields = AdditiveGaussian
    ...
    ...     mse: float = parameter(POSITIVE, doc="average noise variance per entry")
    ...
    ...     def design(self, prior: sf.PriorClass, secret: sf.Secret) -> sf.Release:
    ...         belief = next(prior.members()).belief()
    ...         ramp = np.arange(1.0, belief.entries + 1)
    ...         noise = Diagonal(self.mse * ramp / ramp.mean())
    ...         return sf.Release(
    ...             mechanism=self,
    ...             prior=prior,
    ...             secret=secret,
    ...             channel=AdditiveGaussian(noise, dimensions=belief.dimensions),
    ...             utility_value=noise.trace() / belief.entries,  # of the noise really drawn
    ...             utility_quantity=sf.MEAN_SQUARED_ERROR,
    ...         )
    >>> @sf.hookimpl
    ... def sfumato_mechanisms():
    ...     return [Ramp]
    '''


@hookspec
def sfumato_adversaries() -> Iterable[type[Adversary]]:
    '''Return adversary classes.

    A whole plugin, someone who guesses without looking:

    >>> import sfumato as sf
    >>> from sfumato.beliefs import Markov
    >>> from sfumato.channels import Emission
    >>> from sfumato.parameters import declare
    >>> @declare
    ... class Routine(sf.Adversary):
    ...     """Guesses the likeliest state of each time, whatever is released."""
    ...
    ...     name = "routine"
    ...     reads = ((Markov, Emission),)
    ...
    ...     def infer(self, belief: Markov, channel: Emission, observed: object) -> object:
    ...         return belief.decode(belief.marginals().argmax(axis=1))
    >>> @sf.hookimpl
    ... def sfumato_adversaries():
    ...     return [Routine]
    '''


@hookspec
def sfumato_measures() -> Iterable[type[LossMeasure]]:
    '''Return measure classes.

    A whole plugin, with the brute force that shows what it calls exact:

    >>> import numpy as np
    >>> import sfumato as sf
    >>> from sfumato.beliefs import Gaussian
    >>> from sfumato.channels import AdditiveGaussian
    >>> from sfumato.parameters import declare
    >>> from sfumato.questions import Displacements
    >>> @declare
    ... class SignalToNoise(sf.LossMeasure):
    ...     """The largest ratio of prior variance to noise variance of a secret entry."""
    ...
    ...     name = "signal_to_noise"
    ...     reads = ((Gaussian, Displacements, AdditiveGaussian),)
    ...
    ...     @property
    ...     def quantity(self) -> sf.Quantity:
    ...         return sf.Quantity("signal to noise")
    ...
    ...     def evaluate(self, belief, question, channel) -> sf.Reading:
    ...         entries = list(question.entries)
    ...         signal = belief.covariance.diagonal()[entries]
    ...         noise = channel.noise.diagonal()[entries]
    ...         with np.errstate(divide="ignore"):  # without noise it is infinite
    ...             return sf.Reading(value=(signal / noise).max(), bound="exact")
    ...
    ...     def brute_force(self, belief, question, channel) -> sf.Reading:
    ...         prior, noise = belief.covariance.dense(), channel.covariance()
    ...         pairs = [(prior[k, k], noise[k, k]) for k in question.entries]
    ...         value = max(signal / spread if spread else np.inf for signal, spread in pairs)
    ...         return sf.Reading(value=value, bound="exact")
    >>> @sf.hookimpl
    ... def sfumato_measures():
    ...     return [SignalToNoise]
    '''


@hookspec
def sfumato_studies() -> Mapping[str, Path]:
    """Return bundled studies: a name and a TOML file each.

    >>> from pathlib import Path
    >>> import sfumato as sf
    >>> @sf.hookimpl
    ... def sfumato_studies():
    ...     return {"my_figure": Path("my_figure.toml")}
    """


@hookspec
def sfumato_strategies() -> Mapping[str, Callable[[Mapping[str, int]], SearchStrategy[Any]]]:
    """Return Hypothesis strategies for plugins whose declared domains do not say enough.

    Each key is a registered name; the function gets the sizes already drawn (such as ``n``) and
    returns a strategy of whole objects.

    >>> import sfumato as sf
    >>> @sf.hookimpl
    ... def sfumato_strategies():
    ...     from hypothesis import strategies as st
    ...     return {"routine": lambda sizes: st.builds(sf.adversaries.routine)}
    """


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


@hookspec
def sfumato_formats() -> Mapping[str, Format]:
    """Return data formats that ``sfumato fit`` and ``sfumato release`` can read, by name.

    >>> import sfumato as sf
    >>> from sfumato.datasets import read_trace_table
    >>> from sfumato.datasets.formats import Format
    >>> @sf.hookimpl
    ... def sfumato_formats():
    ...     return {"log": Format("traces", read_trace_table, lambda path: path.suffix == ".log")}
    """


@hookspec
def sfumato_worlds() -> Mapping[str, Mapping[str, Any]]:
    """Return small scenarios that ``sfumato list --matrix`` tries every definition on, by title.

    Each has a table for its prior, its secret and its mechanism; under ``given``, by measure, it
    may have the parameters without which a measure cannot be asked, or with which it is asked here.

    >>> import sfumato as sf
    >>> @sf.hookimpl
    ... def sfumato_worlds():
    ...     return {
    ...         "a rough value": {
    ...             "prior": {"name": "matern", "nu": 0.5, "length_scale": 3.0, "times": 10},
    ...             "secret": {"name": "basic", "index": 4},
    ...             "mechanism": {"name": "gaussian_uniform", "mse": 0.1},
    ...             "given": {"g_vulnerability": {"gain": [[1.0, 0.0], [0.0, 2.0]]}},
    ...         }
    ...     }
    """
