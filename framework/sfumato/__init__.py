"""sfumato: inferential privacy of correlated data.

State what the adversary believes (`sf.priors`), what must stay hidden (`sf.secrets`), what is
released (`sf.mechanisms`), who attacks (`sf.adversaries`) and how loss is counted
(`sf.measures`); compare them with `sf.compare`.

>>> import sfumato as sf
>>> prior = sf.priors.rbf(length_scale=6.0, times=50)
>>> secret = sf.secrets.basic(24, radius=1.0)
>>> release = sf.mechanisms.gaussian_uniform(mse=0.02).protect(prior, secret)
>>> loss = sf.measures.renyi(order=2.0).loss(prior, secret, release)
>>> round(loss.value, 3), loss.bound
(260.603, 'exact')
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from sfumato.comparison.cells import Comparison as Comparison
    from sfumato.comparison.cells import Labelled as Labelled
    from sfumato.comparison.cells import compare as compare
    from sfumato.comparison.soundness import Contradiction as Contradiction
    from sfumato.comparison.soundness import contradictions as contradictions
    from sfumato.comparison.study import Part as Part
    from sfumato.comparison.study import Study as Study
    from sfumato.errors import BrokenLedger as BrokenLedger
    from sfumato.errors import BrokenPluginWarning as BrokenPluginWarning
    from sfumato.errors import DataError as DataError
    from sfumato.errors import DuplicateName as DuplicateName
    from sfumato.errors import ImpossibleObservation as ImpossibleObservation
    from sfumato.errors import Incompatible as Incompatible
    from sfumato.errors import OutsideHypotheses as OutsideHypotheses
    from sfumato.errors import OverBudget as OverBudget
    from sfumato.errors import ParameterError as ParameterError
    from sfumato.errors import PluginError as PluginError
    from sfumato.errors import SolverFailed as SolverFailed
    from sfumato.errors import Undecidable as Undecidable
    from sfumato.errors import UnknownName as UnknownName
    from sfumato.errors import UnknownParameter as UnknownParameter
    from sfumato.hookspecs import hookimpl as hookimpl
    from sfumato.plugin_registry import Registry as Registry
    from sfumato.plugin_registry import adversaries as adversaries
    from sfumato.plugin_registry import measures as measures
    from sfumato.plugin_registry import mechanisms as mechanisms
    from sfumato.plugin_registry import priors as priors
    from sfumato.plugin_registry import secrets as secrets
    from sfumato.prior_classes.families import Family as Family
    from sfumato.prior_classes.sets import AnyOf as AnyOf
    from sfumato.prior_classes.sets import Interval as Interval
    from sfumato.protocols import Adversary as Adversary
    from sfumato.protocols import Loss as Loss
    from sfumato.protocols import LossMeasure as LossMeasure
    from sfumato.protocols import Mechanism as Mechanism
    from sfumato.protocols import Prior as Prior
    from sfumato.protocols import PriorClass as PriorClass
    from sfumato.protocols import Quantity as Quantity
    from sfumato.protocols import Reading as Reading
    from sfumato.protocols import Release as Release
    from sfumato.protocols import Scenario as Scenario
    from sfumato.protocols import Secret as Secret
    from sfumato.protocols import Supremum as Supremum
    from sfumato.quantities import EXPECTED_RELEASES as EXPECTED_RELEASES
    from sfumato.quantities import MEAN_SQUARED_ERROR as MEAN_SQUARED_ERROR
    from sfumato.quantities import NOISE_VARIANCE as NOISE_VARIANCE
    from sfumato.questions.secret_unions import SecretUnion as SecretUnion
    from sfumato.release.calibration import calibrate as calibrate
    from sfumato.release.composition import compose as compose
    from sfumato.release.ledger import Ledger as Ledger
    from sfumato.values import SUPPRESSED as SUPPRESSED

    registry: Registry

_HOMES = {
    "comparison.cells": (
        "Comparison",
        "Labelled",
        "compare",
    ),
    "comparison.soundness": (
        "Contradiction",
        "contradictions",
    ),
    "comparison.study": (
        "Part",
        "Study",
    ),
    "errors": (
        "BrokenLedger",
        "BrokenPluginWarning",
        "DataError",
        "DuplicateName",
        "ImpossibleObservation",
        "Incompatible",
        "OutsideHypotheses",
        "OverBudget",
        "ParameterError",
        "PluginError",
        "SolverFailed",
        "Undecidable",
        "UnknownName",
        "UnknownParameter",
    ),
    "hookspecs": ("hookimpl",),
    "plugin_registry": (
        "Registry",
        "adversaries",
        "measures",
        "mechanisms",
        "priors",
        "secrets",
    ),
    "prior_classes.families": ("Family",),
    "prior_classes.sets": (
        "AnyOf",
        "Interval",
    ),
    "protocols": (
        "Adversary",
        "Loss",
        "LossMeasure",
        "Mechanism",
        "Prior",
        "PriorClass",
        "Quantity",
        "Reading",
        "Release",
        "Scenario",
        "Secret",
        "Supremum",
    ),
    "quantities": (
        "EXPECTED_RELEASES",
        "MEAN_SQUARED_ERROR",
        "NOISE_VARIANCE",
    ),
    "questions.secret_unions": ("SecretUnion",),
    "release.calibration": ("calibrate",),
    "release.composition": ("compose",),
    "release.ledger": ("Ledger",),
    "values": ("SUPPRESSED",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [  # noqa: PLE0604 - the table above is the one list of public names
    "__version__",
    "registry",
    *_HOME_OF,
]


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used; the registry, whenever it is asked for."""
    if name == "registry":
        from sfumato.plugin_registry import default_registry

        return default_registry()
    if name not in _HOME_OF:
        raise AttributeError(f"module 'sfumato' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"sfumato.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
