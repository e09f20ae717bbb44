"""All definitions of one release against one check of the posterior gap, and randomised response.

Run it as a script; it takes some seconds. Times are those of the processor, in one run, and memory
that is new to the process counts in them. The check itself is one of the 17 definitions. For every
pair of 19 states and for 48 events three checks are not enough: their tables have one and three
million numbers, which the check does not form, and all definitions that are sums over outcomes have
to look at each of them once. Pairs that cannot be the worst are not compared: of 171, 36.
"""

from __future__ import annotations

import math
import time

import numpy as np

import sfumato as sf
from sfumato.channels import Suppression
from sfumato.inference.gaussian.fisher_information import fisher_information
from sfumato.inference.markov.segments import worst_segment_gap
from sfumato.views import view

STEPS, STATES = 24, 19


def seconds(work, times=3):
    """Return the least processor time of some runs."""
    best = math.inf
    for _ in range(times):
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    return best


def definitions(values):
    """Return every measure of views, for a secret of so many values; None of real ones."""
    plain = ["advantage", "hockey_stick", "power", "posterior_gap", "odds_gap", "bayes_success"]
    plain += ["bayes_leakage", "maximal_leakage", "pointwise_leakage", "expected_error", "fano"]
    found = [getattr(sf.measures, name)() for name in plain]
    found += [sf.measures.renyi(order=order) for order in (1.0, 2.0, math.inf)]
    found.append(sf.measures.mutual_information(about="secret"))
    if values is not None:
        found += [sf.measures.breach_rate(), sf.measures.g_vulnerability(gain=np.eye(values))]
    return found


def measure_all(measures, *source):
    """Return the time of all measures on a view that none of them has built."""

    def work():
        view._views.clear()
        for measure in measures:
            measure.evaluate(*source)

    return seconds(work)


def main():
    """Print the table."""
    rng = np.random.default_rng(0)
    belief = sf.priors.markov_chain(
        initial=rng.dirichlet(np.ones(STATES)),
        transitions=rng.dirichlet(np.full(STATES, 0.5), size=(STEPS - 1, STATES)),
        steps=STEPS,
    ).belief()
    channel = Suppression.memoryless(belief.states, rng.uniform(0.05, 0.95, (STEPS, STATES)))
    for title, secret, values in (
        ("one event", sf.secrets.contexts([0], times=[12]), 2),
        ("a state, every ordered pair", sf.secrets.basic(12), STATES),
        ("two states at every time", sf.secrets.contexts([0, 1]), 2),
    ):
        question = secret.question(belief)
        check = seconds(lambda q=question: worst_segment_gap(belief, channel, q.masks))
        everything = measure_all(definitions(values), belief, question, channel)
        print(
            f"{title:<30} all {everything:.4f} s, one check {check:.4f} s: {everything / check:.1f}"
        )
    prior, secret = sf.priors.rbf(length_scale=6.0, times=400), sf.secrets.basic(200)
    at = sf.mechanisms.gaussian_uniform(mse=1.0).protect(prior, secret).situation(prior, secret)
    once = seconds(lambda: fisher_information(at.belief, at.channel, [200]))
    everything = measure_all(definitions(None), at.belief, at.question, at.channel)
    title = "a real value, 400 times"
    print(
        f"{title:<30} all {everything:.4f} s, one information {once:.4f} s: {everything / once:.1f}"
    )
    prior = sf.priors.markov_chain(
        initial="stationary", transitions=rng.dirichlet(np.ones(10), size=10), steps=24
    )
    release = sf.mechanisms.randomised_response(epsilon=2.6).protect(prior, sf.secrets.basic(12))
    at = release.situation(prior, sf.secrets.basic(12))
    bounded = [
        m for m in definitions(10) if m.name not in ("breach_rate", "odds_gap", "g_vulnerability")
    ]
    everything = measure_all(bounded, at.belief, at.question, at.channel)
    print(f"randomised response, 10 states, 24 steps: all {everything:.2f} s")
    for measure in bounded:
        found = measure.evaluate(at.belief, at.question, at.channel)
        low, high = found.interval or (found.floor, found.ceiling)
        print(f"  {measure.quantity!s:<60} {low:.6g} … {high:.6g}")


if __name__ == "__main__":
    main()
