"""The one place where randomness comes from."""

from __future__ import annotations

import secrets

import numpy as np


def secure_generator() -> np.random.Generator:
    """Return a generator driven by ChaCha, seeded from the operating system.

    Released noise is drawn from it unless a generator is passed for research;
    numpy's own generators are predictable from their output.
    """
    from randomgen import ChaCha

    # 256 bits of key from the system; 20 rounds is the cipher's full strength.
    return np.random.Generator(ChaCha(key=secrets.randbits(256), rounds=20))


def generator_or_secure(rng: np.random.Generator | None) -> np.random.Generator:
    """Return `rng`, or the secure generator where none is given."""
    if rng is None:
        return secure_generator()
    if not isinstance(rng, np.random.Generator):
        raise TypeError(
            f"rng must be a numpy random Generator or None (the secure source); "
            f"got {type(rng).__name__}."
        )
    return rng


def source_name(rng: np.random.Generator | None) -> str:
    """Say which source a draw came from, for the certificate."""
    if rng is None:
        return "ChaCha20, seeded from the operating system"
    return f"{type(rng.bit_generator).__name__}, given by the caller (for research only)"
