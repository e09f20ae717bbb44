"""The conformance kit: laws that every plugin keeps, and what tries to break them."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfumato.laws.law import Violation
    from sfumato.laws.strategies import instances, scenarios
    from sfumato.laws.trial import check
    from sfumato.laws.verification import conformance, verify

_HOMES = {
    "Violation": "law",
    "check": "trial",
    "conformance": "verification",
    "instances": "strategies",
    "scenarios": "strategies",
    "verify": "verification",
}

__all__ = ["Violation", "check", "conformance", "instances", "scenarios", "verify"]


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used."""
    if name not in _HOMES:
        raise AttributeError(f"module 'sfumato.laws' has no attribute {name!r}")
    return getattr(importlib.import_module(f"sfumato.laws.{_HOMES[name]}"), name)
