"""The counting world against peers and literal loops: ratios measured in one run.

Wanted: Monte Carlo of the likeliest trajectory at least 10 times faster than a compiled Viterbi
called once per trial; the programme of Theorem 1 at least 50 times faster than the literal
quadruple loop; a population of 9,760 people in under a minute on two free cores, and time linear
in the number of people.
"""

from __future__ import annotations

import os
import statistics
import time
import warnings
from collections.abc import Callable

import numpy as np

import sfumato as sf
from sfumato.inference.position_sets import position_sets, programme

STATES, STEPS, TRIALS = 100, 10, 1000
SENSORS = [37 * t % STATES for t in range(STEPS)]


def seconds(work: Callable[[], object], repeats: int = 5) -> float:
    """Return the median time of some repetitions."""
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def viterbi_per_trial(belief, channel) -> Callable[[], None]:
    """Return a run of hmmlearn's Viterbi, once for each of the trials."""
    from hmmlearn.hmm import CategoricalHMM

    rng = np.random.default_rng(0)
    outputs = channel.sample_many(belief.sample_encoded(rng, TRIALS), rng)
    model = CategoricalHMM(n_components=STATES, n_features=2 * STEPS)
    model.startprob_, model.transmat_ = belief.initial, np.array(belief.matrix(0))
    # hmmlearn's emissions do not change with time; the cost does not depend on their values.
    model.emissionprob_ = np.full((STATES, 2 * STEPS), 1 / (2 * STEPS))
    sequences = [np.array(output, dtype=int).reshape(-1, 1) for output in outputs]

    def run() -> None:
        for sequence in sequences:
            model.decode(sequence)

    return run


def literal_programme(belief) -> np.ndarray:
    """Return f(m) by four nested loops over m, k, the last state and the last gap."""
    P, pi = np.array(belief.matrix(0)), belief.initial
    powers = {d: np.linalg.matrix_power(P, d) for d in range(1, STEPS)}
    g = {}
    for k in range(1, STEPS):
        g[2, k] = np.array([(powers[k][:, x] * pi).max() for x in range(STATES)])
    for m in range(3, STEPS + 1):
        for k in range(m - 1, STEPS):
            row = np.zeros(STATES)
            for x in range(STATES):
                for gap in range(1, k - m + 3):
                    row[x] = max(row[x], (powers[gap][:, x] * g[m - 1, k - gap]).max())
            g[m, k] = row
    tops = [max(g[m, k].max() for k in range(m - 1, STEPS)) for m in range(2, STEPS + 1)]
    return np.array([1.0, pi.max(), *tops])


def population(people: int):
    """Return traces of people with a few favourite places among 101, as in the paper's data."""
    rng = np.random.default_rng(0)
    traces = np.full((people, 22), 100)
    for trace in traces:
        favourites = rng.choice(100, size=rng.integers(2, 12), replace=False)
        trace[:] = np.where(rng.random(22) < 0.5, 100, rng.choice(favourites, 22))
    return sf.priors.markov_chain.fit_each(traces, states=range(101), steps=5)


def population_seconds(people: int) -> tuple[float, float]:
    """Return the wall time and the processor time of everyone's loss."""
    chains = population(people)
    secret, sensors = sf.secrets.trajectory(mistakes=1), sf.mechanisms.sensor_counts("drawn")
    before, began = os.times(), time.perf_counter()
    sf.measures.reconstruction().of_population(chains, secret, sensors)
    wall, after = time.perf_counter() - began, os.times()
    return wall, sum(after[:4]) - sum(before[:4])


def main() -> None:
    """Print every ratio."""
    warnings.simplefilter("ignore")  # hmmlearn warns about what is set by hand
    chain = sf.priors.markov_chain.simulated(states=STATES, tau=0.1, steps=STEPS)
    secret = sf.secrets.trajectory(mistakes=5)
    belief = chain.belief()
    attack = sf.measures.attack_success(adversary=sf.adversaries.map(), trials=TRIALS)
    for name, noise in (("raw", None), ("noisy", 1.0)):
        release = sf.mechanisms.sensor_counts(SENSORS, noise=noise).protect(chain, secret)
        if noise is None:
            peer = seconds(viterbi_per_trial(belief, release.channel), repeats=3)
        ours = seconds(lambda release=release: attack.loss(chain, secret, release))
        print(f"Viterbi once per trial / map, {name} counts:        {peer / ours:8.1f}")
    literal = seconds(lambda: literal_programme(belief), repeats=3)
    found = position_sets(belief, STEPS)
    np.testing.assert_allclose(np.exp(found.logs), literal_programme(belief), rtol=1e-10)
    ours = seconds(lambda: position_sets(belief, STEPS), repeats=25)
    print(f"literal quadruple loop / position sets:         {literal / ours:8.1f}")
    full = seconds(lambda: programme(belief, STEPS - 1), repeats=25)
    print(f"literal quadruple loop / the same, no shortcut: {literal / full:8.1f}")
    small, large = population_seconds(1220), population_seconds(9760)
    print(f"9,760 people: {large[0]:.0f} s of wall time, {large[1]:.0f} s of processor time")
    print(f"processor time per person, 9,760 / 1,220 people: {large[1] / 8 / small[1]:7.2f}")


if __name__ == "__main__":
    main()
