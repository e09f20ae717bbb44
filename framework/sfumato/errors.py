"""The errors that carry meaning: three refusals, and what is simply wrong.

A comparison treats only the three refusals as answers ("this cell cannot be filled, because ...").
Anything else is a failed cell.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class Incompatible(TypeError):
    """These types never fit: the measure does not read that belief, question or channel.

    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain(initial=[1.0], transitions=[[1.0]], steps=2)
    >>> sf.mechanisms.gaussian_uniform(mse=1.0).protect(chain, sf.secrets.trajectory())
    Traceback (most recent call last):
    sfumato.errors.Incompatible: gaussian_uniform needs Gaussian traces; ...
    """


class OutsideHypotheses(ValueError):
    """The theorem behind a number does not apply to this input.

    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain(
    ...     initial=[1.0, 0.0], transitions=[[0.5, 0.5], [0.5, 0.5]], steps=2)
    >>> secret = sf.secrets.trajectory()
    >>> release = sf.mechanisms.sensor_counts([0, 0]).protect(chain, secret)
    >>> sf.measures.fano_tight().loss(chain, secret, release)
    Traceback (most recent call last):
    sfumato.errors.OutsideHypotheses: fano_tight ... stationary ...
    """


class Undecidable(ArithmeticError):
    """Float64 cannot tell: any finite number printed here could be too small.

    >>> import sfumato as sf
    >>> prior, secret = sf.priors.rbf(length_scale=1.0, times=3), sf.secrets.basic(0, radius=1e300)
    >>> release = sf.mechanisms.gaussian_uniform(mse=1.0).protect(prior, secret)
    >>> sf.measures.renyi().loss(prior, secret, release)
    Traceback (most recent call last):
    sfumato.errors.Undecidable: the loss does not fit float64: ...
    """


REFUSALS = (Incompatible, OutsideHypotheses, Undecidable)


class ParameterError(ValueError):
    """A parameter lies outside its declared domain.

    >>> import sfumato as sf
    >>> sf.priors.rbf(length_scale=-1.0, times=5)
    Traceback (most recent call last):
    sfumato.errors.ParameterError: rbf.length_scale must be positive; got -1.0.
    """


class UnknownParameter(TypeError):
    """A plugin is called with a parameter it does not have, or without one it needs.

    >>> import sfumato as sf
    >>> sf.priors.rbf(lenght_scale=1.0)
    Traceback (most recent call last):
    sfumato.errors.UnknownParameter: rbf has no parameter 'lenght_scale'; did you mean ...
    """


class UnknownName(LookupError):
    """Nothing is registered under that name; the message says what was meant.

    >>> import sfumato as sf
    >>> sf.registry.get("prior", "rfb")
    Traceback (most recent call last):
    sfumato.errors.UnknownName: there is no prior named 'rfb'; did you mean 'rbf'?
    """


class ImpossibleObservation(ValueError):
    """The observed output has probability zero under the belief and the channel.

    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain(initial=[1.0, 0.0], transitions=[[1, 0], [0, 1]], steps=1)
    >>> release = sf.mechanisms.sensor_counts([0]).protect(chain, sf.secrets.trajectory())
    >>> sf.adversaries.map().infer(chain.belief(), release.channel, [0])
    Traceback (most recent call last):
    sfumato.errors.ImpossibleObservation: ...
    """


class DataError(ValueError):
    """A file, or what is asked of it, is not what it must be; the message says what to mend.

    >>> from sfumato.datasets import RealTrace
    >>> RealTrace("ann", [1.0, 0.0], [0.0, 0.0])
    Traceback (most recent call last):
    sfumato.errors.DataError: times of a trace must not decrease; got a step back: 'ann'.
    """


class StudyError(ValueError):
    """A study does not say what a study must say; the text names the place.

    >>> import sfumato as sf
    >>> sf.Study.from_table({"title": "empty"})
    Traceback (most recent call last):
    sfumato.errors.StudyError: ...
    """


class SolverFailed(RuntimeError):
    """A numerical solver did not return a solution that can be vouched for.

    >>> from sfumato import SolverFailed
    >>> issubclass(SolverFailed, RuntimeError)
    True
    """


class PluginError(RuntimeError):
    """A plugin cannot be loaded or does not keep the contract.

    >>> import sfumato as sf
    >>> sf.Registry.load(["no_such_file.py"], strict=True)
    Traceback (most recent call last):
    sfumato.errors.PluginError: plugin ...no_such_file.py' is broken: there is no file ...
    """


class DuplicateName(PluginError):
    """Two plugins register the same name; the message names both.

    >>> from sfumato import DuplicateName, PluginError
    >>> issubclass(DuplicateName, PluginError)
    True
    """


class BrokenPluginWarning(UserWarning):
    """A plugin was skipped because it is broken; the warning names it and says why.

    >>> import warnings
    >>> import sfumato as sf
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     registry = sf.Registry.load(["no_such_file.py"])
    >>> [warning.category.__name__ for warning in caught], len(registry.problems)
    (['BrokenPluginWarning'], 1)
    """


def did_you_mean(name: object, known: Iterable[object], most: int = 20) -> str:
    """Return the end of a sentence about an unknown name: the near miss, else what there is.

    >>> from sfumato.errors import did_you_mean
    >>> did_you_mean("rfb", ["rbf", "matern"]), did_you_mean("x", ["rbf", "matern"])
    ("did you mean 'rbf'?", 'there are matern, rbf.')
    """
    texts = {str(candidate): candidate for candidate in known}
    near = difflib.get_close_matches(str(name), texts, n=1)
    if near:
        return f"did you mean {texts[near[0]]!r}?"
    if not texts:
        return "there are none."
    return f"there are {', '.join(sorted(texts)[:most])}{', ...' if len(texts) > most else ''}."


class OverBudget(ValueError):
    """What was asked for would give away more than the ledger's budget allows."""


class BrokenLedger(ValueError):
    """A ledger was edited, cut short or replaced by an older one."""
