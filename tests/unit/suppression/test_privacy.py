"""Every mechanism with a δ keeps it, judged by brute force over all traces and outputs."""

import numpy as np
import pytest

import sfumato as sf

MECHANISMS = {
    "suppress_probabilistic": {},
    "suppress_simulatable": {},
    "suppress_hybrid": {},
    "suppress_segmented": {},
}
DELTAS = (0.0, 0.02, 0.1, 0.25, 1 / 3, 0.6, 1.0)


@pytest.mark.parametrize("block", range(20))
def test_every_mechanism_keeps_its_delta(block, random_chain, random_secret, brute_force_gap):
    for seed in range(20 * block, 20 * block + 20):
        rng = np.random.default_rng(seed)
        chain = random_chain(rng)
        secret = random_secret(rng, chain)
        delta = DELTAS[seed % len(DELTAS)]
        belief = chain.belief()
        question = secret.question(belief)
        utilities = {}
        for name in MECHANISMS:
            release = getattr(sf.mechanisms, name)(delta=delta).protect(chain, secret)
            truth = brute_force_gap(belief, release.channel, question)
            assert truth <= delta + 1e-12, (seed, name)
            loss = sf.measures.posterior_gap().loss(chain, secret, release)
            assert loss.value == pytest.approx(truth, rel=1e-9, abs=1e-12), (seed, name)
            assert loss.bound == "exact"
            utilities[name] = release.utility()
        hybrid = max(utilities["suppress_probabilistic"], utilities["suppress_simulatable"])
        assert utilities["suppress_hybrid"] == pytest.approx(hybrid, rel=1e-9, abs=1e-12)
        assert utilities["suppress_segmented"] >= utilities["suppress_hybrid"] * (1 - 1e-9)
