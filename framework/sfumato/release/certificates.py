"""What a release is certified to do, in plain values."""

from __future__ import annotations

import importlib.metadata
import json
import math
import platform
from collections.abc import Iterable
from typing import Any

import numpy as np

from sfumato.compatibility import why_no_loss
from sfumato.errors import REFUSALS, ParameterError
from sfumato.plugin_registry import Registry
from sfumato.protocols import Loss, Prior, PriorClass, Release
from sfumato.randomness import source_name

MARKS = {"exact": "=", "upper": "≤", "lower": "≥", "estimate": "≈"}


def certify(
    release: Release,
    measures: Iterable[Any],
    rng: np.random.Generator | None,
    left_out: Iterable[Any] = (),
) -> dict[str, Any]:
    """Return the certificate: what each measure finds, the release's own, randomness, versions.

    A loss is among the ``guarantees`` only if it is limited on its worse side; what was merely
    searched or estimated is kept apart, and so is what a measure refuses.
    The worst belief of each is written where it is not the prior itself; measures `left_out`, as
    too slow for the class, are named.

    >>> import sfumato as sf
    >>> prior, secret = sf.priors.rbf(length_scale=6.0, times=50), sf.secrets.basic(24)
    >>> release = sf.mechanisms.gaussian_uniform(mse=0.02).protect(prior, secret)
    >>> certify(release, [sf.measures.renyi(order=2.0)], None)["guarantees"][0]["statement"]
    'Rényi divergence (order=2) [nats] = 260.603 against every belief of the class'
    """
    guarantees: list[dict[str, Any]] = []
    estimates: list[dict[str, Any]] = []
    refusals: list[dict[str, Any]] = []
    for measure in measures:
        try:
            loss = measure.loss(release.prior, release.secret, release)
        except REFUSALS as refusal:
            refusals.append({"measure": measure.specification(), "reason": str(refusal)})
            continue
        entry = _entry(measure, loss, release)
        (guarantees if _limited(loss) else estimates).append(entry)
    return {
        "guarantees": guarantees,
        "estimates": estimates,
        "refusals": refusals,
        "left_out": [_left_out(measure) for measure in left_out],
        **release.certificate,
        "random_source": source_name(rng),
        "versions": _versions(),
    }


def default_measures(release: Release, registry: Registry) -> tuple[list[Any], list[Any]]:
    """Return every registered measure that reads the release and needs no parameter.

    Two lists: those to be used, and those left out as too slow for the class (`default_for`).

    >>> import sfumato as sf
    >>> prior = sf.priors.rbf(length_scale=sf.Interval(3, 6), times=9)
    >>> release = sf.mechanisms.gaussian_uniform(mse=0.02).protect(prior, sf.secrets.basic(4))
    >>> used, left_out = default_measures(release, sf.registry)
    >>> [measure.name for measure in left_out]
    ['misspecification', 'mutual_information']
    """
    used: list[Any] = []
    left_out: list[Any] = []
    for name in registry.names("measure"):
        cls = registry.get("measure", name)
        channel = type(release.channel)
        if why_no_loss(cls, release.prior, release.secret, channel, "the mechanism"):
            continue
        try:
            measure = registry.make("measure", name)
        except (TypeError, ParameterError):
            continue  # it needs to be told something, such as another prior
        (used if _quick(measure, release.prior) else left_out).append(measure)
    return used, left_out


def _quick(measure: Any, prior: PriorClass) -> bool:
    limit = getattr(measure, "default_for", "every class")
    if limit == "one prior":
        return isinstance(prior, Prior)
    return limit == "every class" or prior.finite


def _left_out(measure: Any) -> dict[str, Any]:
    return {
        "measure": measure.specification(),
        "reason": f"slow, so by default only for {measure.default_for}; name it to have it",
    }


def certificate_text(certificate: dict[str, Any]) -> str:
    """Write a certificate as JSON; infinities become the words "inf" and "-inf".

    >>> print(certificate_text({"loss": math.inf, "initial": [0.5, 0.5]}))
    {
      "loss": "inf",
      "initial": [0.5, 0.5]
    }
    """
    return _indented(_plain(certificate), "")


def _indented(value: Any, margin: str) -> str:
    """Return JSON with an entry on each line, but lists of numbers or words on one."""
    deeper = f"{margin}  "
    if isinstance(value, dict) and value:
        items = [f"{_json(key)}: {_indented(item, deeper)}" for key, item in value.items()]
        return _enclosed("{}", items, margin)
    if isinstance(value, list) and any(isinstance(item, (dict, list)) for item in value):
        return _enclosed("[]", [_indented(item, deeper) for item in value], margin)
    return _json(value)


def _enclosed(brackets: str, items: list[str], margin: str) -> str:
    inner = f",\n{margin}  ".join(items)
    return f"{brackets[0]}\n{margin}  {inner}\n{margin}{brackets[1]}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _limited(loss: Loss) -> bool:
    """Whether the loss cannot be worse than a known number."""
    if loss.quantity.worse == "larger":
        return loss.ceiling < math.inf
    return loss.floor > -math.inf


def _scope(loss: Loss) -> str:
    if _limited(loss):
        return "against every belief of the class"
    return "against the worst belief found; worse is not ruled out"


def _entry(measure: Any, loss: Loss, release: Release) -> dict[str, Any]:
    entry = {
        "statement": f"{loss.quantity} {MARKS[loss.bound]} {loss.value:.6g} {_scope(loss)}",
        "measure": measure.specification(),
        "quantity": str(loss.quantity),
        "worse": loss.quantity.worse,
        "value": loss.value,
        "bound": loss.bound,
        "floor": loss.floor,
        "ceiling": loss.ceiling,
        "how": loss.how,
    }
    if loss.worst is not None and loss.worst != release.prior:
        entry["worst_belief"] = loss.worst.specification()
    return entry


def _versions() -> dict[str, str]:
    names = ("sfumato", "numpy", "scipy", "cvxpy", "randomgen")
    found = {}
    for name in names:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed"
    return {"python": platform.python_version(), **found}


def _plain(value: Any) -> Any:
    """Return the value in JSON's own types."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return _plain(value.tolist())
    finite = not isinstance(value, float) or math.isfinite(value)
    known = value is None or isinstance(value, (bool, int, float, str))
    return value if known and finite else str(value)
