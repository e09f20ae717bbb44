"""A few digits that tell one suppressing release from another."""

from __future__ import annotations

import hashlib
import json

import numpy as np

from sfumato.channels import suppression_of
from sfumato.protocols import Release

DECIMALS = 6
"""Tables are read to so many decimals: a design done again may differ by rounding."""

LENGTH = 16
"""How many hexadecimal digits are kept: two releases share them with probability 2⁻⁶⁴."""


def release_fingerprint(release: Release) -> str:
    """Return digits that depend on what was asked for and on the tables that came of it.

    The recipe (mechanism, prior and secret) counts in full, so that another δ is another release.

    >>> import sfumato as sf
    >>> chain = sf.priors.markov_chain(initial=[0.5, 0.5], transitions=[[1, 0], [0, 1]], steps=1)
    >>> strict, lax = (
    ...     sf.mechanisms.suppress_hybrid(delta=delta).protect(chain, sf.secrets.contexts({0}))
    ...     for delta in (0.1, 0.2)
    ... )
    >>> release_fingerprint(strict) == release_fingerprint(lax)
    False
    """
    recipe = [noun.specification() for noun in (release.mechanism, release.prior, release.secret)]
    digest = hashlib.sha256(json.dumps(recipe, sort_keys=True, default=repr).encode())
    channel = suppression_of(release.channel)
    digest.update(repr(channel.states).encode())
    for table in (channel.start, channel.after):
        if table is not None:
            digest.update(np.round(table, DECIMALS).tobytes())
    return digest.hexdigest()[:LENGTH]
