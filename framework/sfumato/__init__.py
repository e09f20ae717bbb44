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
    from sfumato.comparison import Comparison, compare
    from sfumato.composition import compose
    from sfumato.errors import (
        BrokenPluginWarning,
        DuplicateName,
        ImpossibleObservation,
        Incompatible,
        OutsideHypotheses,
        ParameterError,
        PluginError,
        SolverFailed,
        Undecidable,
        UnknownName,
        UnknownParameter,
    )
    from sfumato.hookspecs import hookimpl
    from sfumato.labelled import Labelled
    from sfumato.namespaces import adversaries, measures, mechanisms, priors, secrets
    from sfumato.plugin_registry import Registry
    from sfumato.prior_classes import AnyOf, Family, Interval
    from sfumato.protocols.adversary import Adversary, DeclaredAdversary
    from sfumato.protocols.loss import Loss, Reading
    from sfumato.protocols.loss_measure import DeclaredMeasure, LossMeasure
    from sfumato.protocols.mechanism import DeclaredMechanism, Mechanism
    from sfumato.protocols.prior import Prior
    from sfumato.protocols.prior_class import PriorClass, Supremum
    from sfumato.protocols.quantity import Quantity
    from sfumato.protocols.release import Release
    from sfumato.protocols.scenario import Scenario
    from sfumato.protocols.secret import DeclaredSecret, Secret
    from sfumato.quantities import EXPECTED_RELEASES, MEAN_SQUARED_ERROR, NOISE_VARIANCE
    from sfumato.secret_unions import SecretUnion
    from sfumato.soundness import Contradiction, contradictions
    from sfumato.studies import Part, Study
    from sfumato.suppressed import SUPPRESSED

    registry: Registry

_HOMES = {
    "comparison": ("Comparison", "compare"),
    "composition": ("compose",),
    "errors": (
        "BrokenPluginWarning",
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
    "prior_classes": ("AnyOf", "Family", "Interval"),
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
