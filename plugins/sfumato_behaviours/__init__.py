"""Which behaviour was it? Hypotheses about a trace with means and covariances of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sfumato.hookspecs import hookimpl
from sfumato.protocols import Mechanism, Prior, Secret


@hookimpl
def sfumato_priors() -> list[type[Prior]]:
    """Register the prior."""
    from sfumato_behaviours.behaviours import Behaviours

    return [Behaviours]


@hookimpl
def sfumato_secrets() -> list[type[Secret]]:
    """Register the secret."""
    from sfumato_behaviours.behaviours import WhichBehaviour

    return [WhichBehaviour]


@hookimpl
def sfumato_mechanisms() -> list[type[Mechanism]]:
    """Register the mechanism."""
    from sfumato_behaviours.behaviours import BehaviourNoise

    return [BehaviourNoise]


@hookimpl
def sfumato_strategies() -> Mapping[str, Callable[[Mapping[str, int]], Any]]:
    """Draw behaviours of one trace: its domains do not say that they must be of equal length."""
    from sfumato_behaviours.behaviours import draw_behaviours

    return {"behaviours": draw_behaviours}


@hookimpl
def sfumato_worlds() -> Mapping[str, Mapping[str, Any]]:
    """Register the world of behaviours that every definition is tried on."""
    kernels = [{"name": "rbf", "length_scale": scale, "times": 10} for scale in (3.0, 1.0)]
    return {
        "a behaviour": {
            "prior": {"name": "behaviours", "components": kernels},
            "secret": {"name": "which_behaviour"},
            "mechanism": {"name": "behaviour_noise", "mse": 1.0},
            "given": {"g_vulnerability": {"gain": [[1.0, 0.0], [0.0, 2.0]]}},
        }
    }
