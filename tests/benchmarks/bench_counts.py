"""The counting world against peers and literal loops: ratios measured in one run.

Wanted: Monte Carlo of the likeliest trajectory at least 10 times faster than a compiled Viterbi
called once per trial, for raw and for noisy counts; the programme of Theorem 1, whether or not
cheaper bounds settle it, at least 50 times faster than its literal loops in plain Python, timed
in full; a population of 9,760 people in under a minute on two free cores, and time linear
in the number of people: from 1,000 to 100,000 through two workers of a Dask cluster, one of which
is killed on the way, with processor time and memory for each.
"""

from __future__ import annotations

import itertools
import os
import resource
import signal
import statistics
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

import sfumato as sf
from sfumato.channels import NoisyVectors
from sfumato_fano.best_guess import count_mistakes
from sfumato_fano.fano import position_sets, programme

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
    """Return f(m) as the proof of Theorem 1 prints it, in plain Python on lists.

    Four nested loops, over m, k, the last state x and the last gap, around the largest product
    over the state y before it.
    """
    P = np.array(belief.matrix(0))
    powers = [np.linalg.matrix_power(P, gap).tolist() for gap in range(STEPS)]
    pi, places = belief.initial.tolist(), range(STATES)
    g = {}
    for k in range(1, STEPS):
        g[2, k] = [max(powers[k][y][x] * pi[y] for y in places) for x in places]
    for m in range(3, STEPS + 1):
        for k in range(m - 1, STEPS):
            g[m, k] = [0.0] * STATES
            for x in places:
                for gap in range(1, k - m + 3):
                    best = max(powers[gap][y][x] * g[m - 1, k - gap][y] for y in places)
                    g[m, k][x] = max(g[m, k][x], best)
    tops = [max(max(g[m, k]) for k in range(m - 1, STEPS)) for m in range(2, STEPS + 1)]
    return np.array([1.0, max(pi), *tops])


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


def attacked(belief, channel, mistakes: int, trials: int = 2000) -> float:
    """Return the success of the ball attacker: of raw counts with at most three sightings, exactly.

    More sightings add to it, so that it is a lower bound. Noisy counts are drawn.
    """
    steps, rng = belief.steps, np.random.default_rng(0)
    if noisy := isinstance(channel, NoisyVectors):
        shown = list(channel.sample_many(belief.sample_encoded(rng, trials), rng))
    else:
        few = [
            set(c) for n in range(4) for c in itertools.combinations(range(steps), min(n, steps))
        ]
        shown = [tuple(int(t in seen) for t in range(steps)) for seen in few]
        shown = [
            y for y in dict.fromkeys(shown) if np.isfinite(channel.evidence(y).max(axis=1)).all()
        ]
    total = 0.0
    for begin in range(0, len(shown), 100):
        part = shown[begin : begin + 100]
        evidence = channel.evidence_batch(part)
        guesses = sf.adversaries.hamming_ball().infer_many(belief, channel, part, mistakes)
        within = ball_masses(belief, evidence, guesses, mistakes)
        whole = ball_masses(belief, evidence, guesses, steps) if noisy else 1.0
        total += float((within / whole).sum())
    return total / len(shown) if noisy else total


def ball_masses(belief, evidence, guesses, mistakes: int) -> np.ndarray:
    """Return Pr[d(X, g) ≤ s, o], up to a factor of each o, (B,)."""
    weights = np.exp(evidence - evidence.max(axis=2, keepdims=True))
    law = np.zeros((len(evidence), mistakes + 1, belief.state_count))
    law[:, 0] = belief.initial
    for step in range(belief.steps):
        law = law if step == 0 else law @ belief.matrix(step - 1)
        law = count_mistakes(law * weights[:, None, step], guesses[:, step])
    return law.sum(axis=(1, 2))


def print_widths() -> None:
    """Print how far our bound lies above an attack, on the paper's settings."""
    raw = [(m, 10, 5) for m in (10, 20, 50, 100, 200)] + [(100, 10, s) for s in range(10)]
    raw += [(100, t, s) for t in (2, 4, 6, 8, 14, 20) for s in (t // 2, t - 2)]
    settings = [(*one, None) for one in raw]
    settings += [(100, 10, 5, noise) for noise in (0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0)]
    for states, steps, mistakes, noise in dict.fromkeys(settings):
        chain = sf.priors.markov_chain.simulated(states=states, tau=0.1, steps=steps)
        secret = sf.secrets.trajectory(mistakes=mistakes)
        release = sf.mechanisms.sensor_counts("drawn", noise=noise, seed=0).protect(chain, secret)
        bound = sf.measures.reconstruction().loss(chain, secret, release).value
        attack = attacked(chain.belief(), release.channel, mistakes)
        words = f"M = {states}, T = {steps}, s = {mistakes}, noise {noise}"
        print(f"{words}: {attack:.3g} to {bound:.3g}, ratio {bound / attack:.3f}", flush=True)


def travellers(people: int):
    """Return made-up people among 20 places, of whom a tenth are as others are."""
    rng = np.random.default_rng(0)
    traces = rng.integers(20, size=(people, 12))
    traces[-(people // 10) :] = traces[: people // 10]
    return sf.priors.markov_chain.fit_each(traces, states=range(20), steps=6)


def cluster_run(people: int) -> None:
    """Print what a population costs on two Dask workers, one of which is killed after a second."""
    from distributed import LocalCluster

    chains, own, others = travellers(people), resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
    secret, sensors = sf.secrets.trajectory(mistakes=0), sf.mechanisms.sensor_counts("drawn")
    began, before = time.perf_counter(), [resource.getrusage(who) for who in (own, others)]
    options = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "losses.parquet"
        with LocalCluster(n_workers=2, **options) as cluster:
            killer = threading.Timer(1.0, os.kill, (cluster.workers[0].pid, signal.SIGKILL))
            killer.start()
            found = sf.measures.reconstruction().of_population(
                chains, secret, sensors, cluster=cluster.scheduler_address, path=path
            )
            killer.join()
        written = path.stat().st_size
    wall, after = time.perf_counter() - began, [resource.getrusage(who) for who in (own, others)]
    spent = sum(
        a.ru_utime + a.ru_stime - b.ru_utime - b.ru_stime
        for a, b in zip(after, before, strict=True)
    )
    failed = sum(error is not None for error in found.errors)
    print(
        f"{people:7,} people, {found.solved:,} different, {failed} failed: {wall:.0f} s of"
        " wall time, "
        f"{1e3 * spent / people:.2f} ms of processor time each; most memory"
        f" {after[0].ru_maxrss / 1024:.0f} MiB here,"
        f" {after[1].ru_maxrss / 1024:.0f} MiB in a worker;"
        f" {written / people:.0f} bytes of Parquet each",
        flush=True,
    )


def main() -> None:
    """Print every ratio."""
    print_widths()
    for people in (1_000, 10_000, 100_000):
        cluster_run(people)
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
    uneven = np.random.default_rng(0).dirichlet(np.full(STATES, 0.05), STATES)
    chains = {
        "simulated": belief,
        "uneven": sf.priors.markov_chain("stationary", uneven, STEPS).belief(),
    }
    for name, chained in chains.items():
        literal = seconds(lambda chained=chained: literal_programme(chained), repeats=3)
        expected = literal_programme(chained)
        found = position_sets(chained, STEPS)
        np.testing.assert_allclose(np.exp(found), expected, rtol=1e-10)
        full = programme(chained, STEPS - 1)
        np.testing.assert_allclose(np.exp(full[1:]), expected[1:], rtol=1e-10)
        ours = seconds(lambda chained=chained: position_sets(chained, STEPS), repeats=25)
        print(f"literal loops / position sets, {name} chain:  {literal / ours:8.1f}")
        ours = seconds(lambda chained=chained: programme(chained, STEPS - 1), repeats=25)
        print(f"literal loops / the programme, {name} chain:  {literal / ours:8.1f}")
    small, large = population_seconds(1220), population_seconds(9760)
    print(f"9,760 people: {large[0]:.0f} s of wall time, {large[1]:.0f} s of processor time")
    print(f"processor time per person, 9,760 / 1,220 people: {large[1] / 8 / small[1]:7.2f}")


if __name__ == "__main__":
    main()
