"""What a release is certified to do, and its channel number for number, in plain values."""

from __future__ import annotations

import importlib.metadata
import json
import math
import platform
from collections.abc import Iterable, Mapping
from typing import Any

import attrs
import numpy as np

from sfumato import channels, matrices
from sfumato.compatibility import why_no_loss
from sfumato.errors import REFUSALS, DataError, Incompatible, ParameterError
from sfumato.plugin_registry import Registry
from sfumato.protocols import Loss, LossMeasure, Prior, Release
from sfumato.quantities import reading_text
from sfumato.randomness import source_name
from sfumato.release.checker import AGAINST, seal_of, words_of
from sfumato.values import digest, to_json

SPOKEN = 3
"""How many guarantees are said aloud."""

LARGEST = 4_000_000
"""How many characters a channel may take in a certificate; of a larger one the hash is there."""

LIBRARIES = ("sfumato", "numpy", "scipy", "cvxpy", "python-flint", "randomgen")


KEPT: Mapping[str, type] = {
    kind.__name__: kind
    for kind in (
        *(channels.AdditiveGaussian, channels.Suppression, channels.RememberingSuppression),
        *(channels.Symbols, matrices.BlockDiagonal, matrices.Dense, matrices.Diagonal),
        *(matrices.Kronecker, matrices.LowRank, matrices.Scaled, matrices.Sum, matrices.Toeplitz),
    )
}
"""The channels, and the matrices of them, that can be written down and read again."""


def certify(
    release: Release,
    measures: Iterable[LossMeasure],
    rng: np.random.Generator | None,
    left_out: Iterable[LossMeasure] = (),
) -> dict[str, Any]:
    """Return the certificate: what each measure finds, the release's own, randomness, versions.

    A loss is among the ``guarantees`` only if it is limited on its worse side; what was merely
    searched or estimated is kept apart, and so are measures that do not apply and those
    `left_out` as too slow. The worst belief is written where it is not the prior itself.

    >>> import sfumato as sf
    >>> from sfumato.release.certificates import certify
    >>> prior, secret = sf.priors.rbf(length_scale=6.0, times=50), sf.secrets.basic(24)
    >>> release = sf.mechanisms.gaussian_uniform(mse=0.02).protect(prior, secret)
    >>> certify(release, [sf.measures.renyi(order=2.0)], None)["guarantees"][0]["statement"]
    'Rényi divergence (order=2) [nats] = 260.603 against every belief of the class'
    """
    found: dict[str, Any] = {"guarantees": [], "estimates": [], "refusals": [], "left_out": []}
    for measure in sorted(measures, key=lambda one: "utility" in one.promises):  # privacy first
        try:
            loss = measure.loss(release.prior, release.secret, release)
        except REFUSALS as refusal:
            found["refusals"].append({"measure": measure.specification(), "reason": str(refusal)})
        else:
            entry = _entry(measure, loss, release)
            found["guarantees" if is_limited(loss) else "estimates"].append(entry)
    for measure in left_out:
        reason = f"slow, so by default only for {measure.default_for}; name it to have it"
        found["left_out"].append({"measure": measure.specification(), "reason": reason})
    versions = {name: importlib.metadata.version(name) for name in LIBRARIES}
    return {
        "guarantees": found.pop("guarantees"),
        "against": AGAINST.format(words_of(_plain(release.prior.specification()))),
        "about": words_of(_plain(release.secret.specification())),
        "covers": "each released trace on its own, not several of one person together",
        **found,
        **release.certificate,
        **_evidence(release),
        "random_source": source_name(rng),
        "versions": {"python": platform.python_version(), **versions},
    }


def sealed(certificate: Mapping[str, Any], **files: Any) -> dict[str, Any]:
    """Return the certificate with the hashes of files and of itself, for `checker` to look at."""
    table = _plain({**certificate, **files})
    return {**table, "seal": seal_of(table)}


def spoken(certificate: Mapping[str, Any]) -> list[str]:
    """Return what a certificate says, for people: what is guaranteed, against whom, of what."""
    privacy = [claim for claim in certificate["guarantees"] if not claim["utility"]]
    said = [f"guaranteed: {claim['statement']}" for claim in privacy[:SPOKEN]]
    if not privacy:
        said = ["guaranteed: nothing about privacy; see the estimates and refusals"]
    if len(privacy) > SPOKEN:
        said.append(f"            and {len(privacy) - SPOKEN} more in the certificate")
    return [
        *said,
        *(f"{key + ':':<12}{certificate[key]}" for key in ("against", "about", "covers")),
    ]


def _evidence(release: Release) -> dict[str, Any]:
    """Return what a third party needs to check the claims: the channel's numbers."""
    try:
        table = table_of_channel(release.channel)
    except Incompatible:
        return {"channel": None, "channel_sha256": None}
    kept = table if len(to_json(table)) <= LARGEST else None
    nouns = [noun.specification() for noun in (release.prior, release.secret, release.mechanism)]
    own = digest(table)
    return {
        "channel": kept,
        "channel_sha256": own,
        "study_sha256": digest([*_plain(nouns), own]),
    }


def default_measures(
    release: Release, registry: Registry
) -> tuple[list[LossMeasure], list[LossMeasure]]:
    """Return every registered measure that applies to the release and needs no parameter.

    Two lists: those to be used, and those left out as too slow for the class (`default_for`).

    >>> import sfumato as sf
    >>> from sfumato.release.certificates import default_measures
    >>> prior = sf.priors.rbf(length_scale=sf.Interval(3, 6), times=9)
    >>> release = sf.mechanisms.gaussian_uniform(mse=0.02).protect(prior, sf.secrets.basic(4))
    >>> used, left_out = default_measures(release, sf.registry)
    >>> [measure.name for measure in left_out]
    ['breach_rate', 'misspecification', 'mutual_information']
    """
    used: list[LossMeasure] = []
    left_out: list[LossMeasure] = []
    for name in registry.names("measure"):
        cls = registry.get("measure", name)
        channel = type(release.channel)
        if why_no_loss(cls, release.prior, release.secret, channel, "the mechanism"):
            continue
        try:
            measure = registry.make("measure", name)
        except (TypeError, ParameterError):
            continue  # it needs to be told something, such as another prior
        quick = measure.default_for == "every class" or (
            isinstance(release.prior, Prior)
            if measure.default_for == "one prior"
            else release.prior.finite
        )
        (used if quick else left_out).append(measure)
    return used, left_out


def certificate_text(certificate: dict[str, Any]) -> str:
    """Write a certificate as JSON; infinities become the words "inf" and "-inf".

    >>> import math
    >>> from sfumato.release.certificates import certificate_text
    >>> print(certificate_text({"loss": math.inf, "initial": [0.5, 0.5]}))
    {
      "loss": "inf",
      "initial": [0.5, 0.5]
    }
    """
    return _indented(_plain(certificate), "\n")


def _indented(value: Any, margin: str) -> str:
    """Return JSON with an entry on each line, but lists of numbers or words on one."""
    deeper, ends = f"{margin}  ", "[]"
    if isinstance(value, dict) and value:
        ends, items = "{}", [f"{_json(k)}: {_indented(v, deeper)}" for k, v in value.items()]
    elif isinstance(value, list) and any(isinstance(item, (dict, list)) for item in value):
        items = [_indented(item, deeper) for item in value]
    else:
        return _json(value)
    return f"{ends[0]}{deeper}{f',{deeper}'.join(items)}{margin}{ends[1]}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def is_limited(loss: Loss) -> bool:
    """Whether the loss cannot be worse than a known number."""
    if loss.quantity.worse == "larger":
        return loss.ceiling < math.inf
    return loss.floor > -math.inf


def _entry(measure: LossMeasure, loss: Loss, release: Release) -> dict[str, Any]:
    scope = "against the worst belief found; worse is not ruled out"
    if is_limited(loss):
        scope = "against every belief of the class"
    entry = {
        "statement": f"{loss.quantity} {reading_text(loss)} {scope}",
        "measure": measure.specification(),
        "quantity": str(loss.quantity),
        "parameters": dict(loss.quantity.parameters),
        "worse": loss.quantity.worse,
        **{name: getattr(loss, name) for name in ("value", "bound", "floor", "ceiling", "how")},
    }
    entry["utility"] = "utility" in measure.promises
    if loss.unverified:
        entry["unverified"] = "called exact, with no brute force to show it"
    if loss.worst is not None and loss.worst != release.prior:
        entry["worst_belief"] = loss.worst.specification()
    return entry


def _plain(value: Any) -> Any:
    """Return the value in JSON's own types."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return _plain(value.tolist())
    if value != value:  # noqa: PLR0124 - NaN: there is no such number
        return None
    finite = not isinstance(value, float) or math.isfinite(value)
    known = value is None or isinstance(value, (bool, int, float, str))
    return value if known and finite else str(value)


def table_of_channel(channel: Any) -> Any:
    """Return the numbers of a channel; the same numbers make the same channel again.

    >>> from sfumato.channels import AdditiveGaussian
    >>> from sfumato.matrices import Diagonal
    >>> from sfumato.release.certificates import table_of_channel
    >>> table_of_channel(AdditiveGaussian(Diagonal([0.5, 0.5])))["noise"]
    {'kind': 'Diagonal', 'variances': [0.5, 0.5]}
    """
    kind: Any = type(channel)
    if kind in KEPT.values():
        fields = {f.alias: getattr(channel, f.name) for f in attrs.fields(kind) if f.init}
        return {"kind": kind.__name__, **{k: table_of_channel(v) for k, v in fields.items()}}
    if isinstance(channel, np.ndarray):
        return channel.tolist()
    if isinstance(channel, (tuple, list)):
        return [table_of_channel(item) for item in channel]
    if channel is None or isinstance(channel, (bool, int, float, str)):
        return channel
    kinds = ", ".join(KEPT)
    raise Incompatible(
        f"a ledger keeps channels of {kinds}, labelled by words or numbers; got a {kind.__name__}."
    )


def channel_of_table(table: Mapping[str, Any]) -> Any:
    """Return the channel that a table was made of."""
    given = {key: _read(value) for key, value in table.items() if key != "kind"}
    if table.get("kind") not in KEPT:
        raise DataError(f"a channel must be one of {', '.join(KEPT)}; got {table.get('kind')!r}.")
    return KEPT[table["kind"]](**given)


def _read(value: Any) -> Any:
    if isinstance(value, Mapping):
        return channel_of_table(value)
    if isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
        return tuple(_read(item) for item in value)
    if isinstance(value, list) and value and isinstance(value[0], list):
        # Visits are pairs of whole numbers, tables of several shapes stay a list of lists.
        return tuple(tuple(v) for v in value) if isinstance(value[0][0], int) else value
    return value
