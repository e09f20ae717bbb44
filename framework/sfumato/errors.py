"""The errors that carry meaning: three refusals, and what is simply wrong.

A comparison treats only the three refusals as answers ("this cell cannot be filled, because ...").
Anything else is a failed cell.
"""

from __future__ import annotations


class Incompatible(TypeError):
    """These types never fit: the measure does not read that belief, question or channel."""


class OutsideHypotheses(ValueError):
    """The theorem behind a number does not apply to this input."""


class Undecidable(ArithmeticError):
    """Float64 cannot tell: any finite number printed here could be too small."""


REFUSALS = (Incompatible, OutsideHypotheses, Undecidable)


class ParameterError(ValueError):
    """A parameter lies outside its declared domain."""


class ImpossibleObservation(ValueError):
    """The observed output has probability zero under the belief and the channel."""


class SolverFailed(RuntimeError):
    """A numerical solver did not return a solution that can be vouched for."""


class PluginError(RuntimeError):
    """A plugin cannot be loaded or does not keep the contract."""


class DuplicateName(PluginError):
    """Two plugins register the same name."""


class BrokenPluginWarning(UserWarning):
    """A plugin was skipped because it is broken; the warning names it and says why."""
