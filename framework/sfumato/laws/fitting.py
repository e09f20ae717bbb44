"""Which registered classes fit together, decided from their declared types alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sfumato import compatibility
from sfumato.plugin_registry import Registry

ORDER = ("prior", "secret", "mechanism", "measure", "adversary")
"""The nouns in the order in which a situation is built up."""

Classes = Mapping[str, Any]


def fitting(
    registry: Registry, kinds: Sequence[str], fixed: Classes | None = None
) -> Iterator[dict[str, Any]]:
    """Yield every combination of classes of the nouns `kinds` that fits; `fixed` ones stay.

    >>> import sfumato as sf
    >>> uniform = sf.registry.get("mechanism", "gaussian_uniform")
    >>> found = fitting(sf.registry, ("prior", "secret", "mechanism"), {"mechanism": uniform})
    >>> ("rbf", "basic") in {(row["prior"].name, row["secret"].name) for row in found}
    True
    """
    given = dict(fixed or {})
    wanted = [kind for kind in ORDER if kind in kinds or kind in given]
    yield from _extended(registry, wanted, given, {})


def _extended(
    registry: Registry, wanted: Sequence[str], given: Classes, chosen: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    if not wanted:
        yield dict(chosen)
        return
    kind = wanted[0]
    options = (
        [given[kind]]
        if kind in given
        else [registry.get(kind, name) for name in registry.names(kind)]
    )
    for option in options:
        extended = {**chosen, kind: option}
        if _fits(extended, kind):
            yield from _extended(registry, wanted[1:], given, extended)


def _fits(chosen: Classes, newest: str) -> bool:
    """Whether the newest noun fits the ones chosen before it, as far as they are known."""
    prior, secret = chosen.get("prior"), chosen.get("secret")
    mechanism, measure = chosen.get("mechanism"), chosen.get("measure")
    if newest == "secret" and prior is not None:
        return not compatibility.why_no_question(secret, prior)
    if newest == "mechanism" and prior is not None and secret is not None:
        return not compatibility.why_no_release(mechanism, prior, secret)
    if newest == "measure" and None not in (prior, secret) and mechanism is not None:
        channel, giver = mechanism.yields, mechanism.name
        return not compatibility.why_no_loss(measure, prior, secret, channel, giver)
    if newest == "adversary" and None not in (prior, mechanism):
        return reads_pair(chosen["adversary"], prior, mechanism)
    return True


def reads_pair(adversary: Any, prior: Any, mechanism: Any) -> bool:
    """Whether the adversary can reason about the prior's belief and the mechanism's channel."""
    slots = (
        ("beliefs", prior.yields, prior.name),
        ("channels", mechanism.yields, mechanism.name),
    )
    return not compatibility.why_not(adversary, "reads", slots, adversary.reads)
