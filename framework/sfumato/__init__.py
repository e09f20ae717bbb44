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

from sfumato.version import __version__

if TYPE_CHECKING:
    from sfumato.comparison import Comparison as Comparison
    from sfumato.comparison import compare as compare
    from sfumato.composition import compose as compose
    from sfumato.errors import BrokenPluginWarning as BrokenPluginWarning
    from sfumato.errors import DataError as DataError
    from sfumato.errors import DuplicateName as DuplicateName
    from sfumato.errors import ImpossibleObservation as ImpossibleObservation
    from sfumato.errors import Incompatible as Incompatible
    from sfumato.errors import OutsideHypotheses as OutsideHypotheses
    from sfumato.errors import ParameterError as ParameterError
    from sfumato.errors import PluginError as PluginError
    from sfumato.errors import SolverFailed as SolverFailed
    from sfumato.errors import Undecidable as Undecidable
    from sfumato.errors import UnknownName as UnknownName
    from sfumato.errors import UnknownParameter as UnknownParameter
    from sfumato.hookspecs import hookimpl as hookimpl
    from sfumato.labelled import Labelled as Labelled
    from sfumato.namespaces import adversaries as adversaries
    from sfumato.namespaces import measures as measures
    from sfumato.namespaces import mechanisms as mechanisms
    from sfumato.namespaces import priors as priors
    from sfumato.namespaces import secrets as secrets
    from sfumato.plugin_registry import Registry as Registry
    from sfumato.prior_classes import AnyOf as AnyOf
    from sfumato.prior_classes import Interval as Interval
    from sfumato.prior_families import Family as Family
    from sfumato.protocols.adversary import Adversary as Adversary
    from sfumato.protocols.adversary import DeclaredAdversary as DeclaredAdversary
    from sfumato.protocols.loss import Loss as Loss
    from sfumato.protocols.loss import Reading as Reading
    from sfumato.protocols.loss_measure import DeclaredMeasure as DeclaredMeasure
    from sfumato.protocols.loss_measure import LossMeasure as LossMeasure
    from sfumato.protocols.mechanism import DeclaredMechanism as DeclaredMechanism
    from sfumato.protocols.mechanism import Mechanism as Mechanism
    from sfumato.protocols.prior import Prior as Prior
    from sfumato.protocols.prior_class import PriorClass as PriorClass
    from sfumato.protocols.prior_class import Supremum as Supremum
    from sfumato.protocols.quantity import Quantity as Quantity
    from sfumato.protocols.release import Release as Release
    from sfumato.protocols.scenario import Scenario as Scenario
    from sfumato.protocols.secret import DeclaredSecret as DeclaredSecret
    from sfumato.protocols.secret import Secret as Secret
    from sfumato.quantities import EXPECTED_RELEASES as EXPECTED_RELEASES
    from sfumato.quantities import MEAN_SQUARED_ERROR as MEAN_SQUARED_ERROR
    from sfumato.quantities import NOISE_VARIANCE as NOISE_VARIANCE
    from sfumato.secret_unions import SecretUnion as SecretUnion
    from sfumato.soundness import Contradiction as Contradiction
    from sfumato.soundness import contradictions as contradictions
    from sfumato.studies import Part as Part
    from sfumato.studies import Study as Study
    from sfumato.suppressed import SUPPRESSED as SUPPRESSED

    registry: Registry

_HOMES = {
    "comparison": ("Comparison", "compare"),
    "composition": ("compose",),
    "errors": (
        "BrokenPluginWarning",
        "DataError",
        "DuplicateName",
        "ImpossibleObservation",
        "Incompatible",
        "OutsideHypotheses",
        "ParameterError",
        "PluginError",
        "SolverFailed",
        "Undecidable",
        "UnknownName",
        "UnknownParameter",
    ),
    "hookspecs": ("hookimpl",),
    "labelled": ("Labelled",),
    "namespaces": ("adversaries", "measures", "mechanisms", "priors", "secrets"),
    "plugin_registry": ("Registry",),
    "prior_classes": ("AnyOf", "Interval"),
    "prior_families": ("Family",),
    "protocols": (
        "Adversary",
        "DeclaredAdversary",
        "DeclaredMeasure",
        "DeclaredMechanism",
        "DeclaredSecret",
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
    "quantities": ("EXPECTED_RELEASES", "MEAN_SQUARED_ERROR", "NOISE_VARIANCE"),
    "secret_unions": ("SecretUnion",),
    "soundness": ("Contradiction", "contradictions"),
    "studies": ("Part", "Study"),
    "suppressed": ("SUPPRESSED",),
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
