"""How fast `gaussian_optimal` is, against the programs it replaces; ratios measured in one run.

Pass names of the parts to run only some: basic every_point long class compound many.
The compound part solves the direct program at n = 100, which takes minutes.
"""

from __future__ import annotations

import math
import resource
import sys
import time

import numpy as np

import sfumato as sf

MIDDLE = sf.secrets.basic(24)
RENYI = sf.measures.renyi(order=2.0)


def rbf(length_scale, times=50):
    return sf.priors.rbf(length_scale=length_scale, times=times)


def timed(work, repeats=1):
    """Return the shortest processor time of a few runs, and the result."""
    times = []
    for _ in range(repeats):
        began = time.process_time()
        result = work()
        times.append(time.process_time() - began)
    return min(times), result


def designed(prior, secret, mse, repeats=1, **options):
    mechanism = sf.mechanisms.gaussian_optimal(mse=mse, **options)
    return timed(lambda: mechanism.protect(prior, secret), repeats)


def direct_program(problems, budget):
    """Solve min t with one matrix inequality [[blkdiag(d_k), Aᵀ], [A, C + Γ]] ⪰ 0 a problem."""
    import cvxpy as cp

    size = len(problems[0][0])
    noise, worst = cp.Variable((size, size), PSD=True), cp.Variable()
    constraints = [cp.trace(noise) <= budget]
    for prior, chosen in problems:
        weights = prior[:, chosen] @ np.linalg.inv(prior[np.ix_(chosen, chosen)])
        spread = prior - weights @ prior[chosen]
        bounds = cp.Variable(len(chosen))
        corner = cp.diag(bounds)
        matrix = cp.bmat([[corner, weights.T], [weights, (spread + spread.T) / 2 + noise]])
        constraints += [matrix >> 0, cp.sum(bounds) <= worst]
    problem = cp.Problem(cp.Minimize(worst), constraints)
    problem.solve(solver=cp.CLARABEL)
    return problem.status, worst.value


def covariance(length_scale, times=50):
    return rbf(length_scale, times).belief().covariance.dense()


def shown(text, ours, theirs, wanted):
    print(f"{text:58s} {theirs / ours:10.1f} x  (wanted {wanted}; ours {ours:.4f} s)", flush=True)


def basic():
    prior = rbf(6.0)
    designed(prior, MIDDLE, 0.02)
    ours, release = designed(prior, MIDDLE, 0.02, repeats=5)
    theirs, other = timed(lambda: sf.mechanisms.gaussian_sdp_a(mse=0.02).protect(prior, MIDDLE))
    shown("basic secret, n = 50, against gaussian_sdp_a", ours, theirs, ">= 20")
    for l in (1.0, 3.0, 6.0, 10.0):
        best = designed(rbf(l), MIDDLE, 0.02)[1]
        other = sf.mechanisms.gaussian_sdp_a(mse=0.02).protect(rbf(l), MIDDLE)
        losses = [RENYI.loss(rbf(l), MIDDLE, r).value for r in (best, other)]
        print(f"    l = {l:4.1f}: loss {losses[0]:.4f} against {losses[1]:.4f}")
    print(f"    relative gap {release.claims['relative_gap']:.1e}")


def every_point():
    prior, secret = rbf(6.0), sf.secrets.every_point()
    ours, _ = designed(prior, secret, 17.368 / 50, repeats=5)
    mechanism = sf.mechanisms.gaussian_multiple_secrets(mse=17.368 / 50)
    theirs, other = timed(lambda: mechanism.protect(prior, secret))
    shown("every point, n = 50, against gaussian_multiple_secrets", ours, theirs, ">= 1000")
    print(f"    its loss is {RENYI.loss(prior, secret, other).value:.4f}; the best is 2.8789")


def long():
    times = {}
    for n in (100_000, 1_000_000):
        prior, secret = rbf(6.0, n), sf.secrets.basic(n // 2)
        times[n], release = designed(prior, secret, 1 / n)
        gap = release.claims["relative_gap"]
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(f"n = {n}: {times[n]:.2f} s, gap {gap:.1e}, at most {memory:.2f} GiB so far")
    growth = times[1_000_000] / times[100_000]
    linear = 10 * math.log(1_000_000) / math.log(100_000)
    print(f"growth over that of n log n: {growth / linear:.2f} (wanted <= 1.3)")


def classes():
    lengths = (3.0, 6.0, 9.0, 12.0)
    finite, release = designed(rbf(sf.AnyOf(*lengths)), MIDDLE, 0.02, repeats=5)
    began = time.process_time()
    status, value = direct_program([(covariance(l), [24]) for l in lengths], 1.0)
    theirs = time.process_time() - began
    shown("AnyOf(3, 6, 9, 12), basic secret, n = 50, against direct", finite, theirs, ">= 20")
    gap = release.claims["relative_gap"]
    print(f"    gap {gap:.1e}; the direct program is {status!r} at {value:.6g}, ours 14.0174")
    interval, release = designed(rbf(sf.Interval(3, 12)), MIDDLE, 0.02, repeats=3)
    shown("Interval(3, 12), against direct", interval, theirs, ">= 4")
    print(f"    {interval / finite:.1f} times the time of AnyOf, {release.claims['class_seen']}")
    hard, release = designed(rbf(sf.AnyOf(1.0, 2.0, 3.0, 6.0, 9.0, 12.0)), MIDDLE, 0.02)
    print(f"    six length scales from 1 (by the program): {hard:.2f} s, {release.claims}")


def compound():
    chosen = [20, 40, 50, 51, 80]
    secret = sf.secrets.compound(chosen)
    ours, release = designed(rbf(6.0, 100), secret, 0.02)
    print(f"compound of 5 times, n = 100: {ours:.2f} s, {release.claims}", flush=True)
    longer, release = designed(rbf(6.0, 200), secret, 0.02)
    print(f"the same, n = 200: {longer:.2f} s, {release.claims}", flush=True)
    began = time.process_time()
    status, value = direct_program([(covariance(6.0, 100), chosen)], 2.0)
    theirs = time.process_time() - began
    shown("compound of 5 times, n = 100, against direct", ours, theirs, ">= 10")
    print(f"    the direct program is {status!r} at {value:.6g}")


def many():
    secret = sf.secrets.basic(5)
    for index in (15, 24, 35, 45):
        secret = secret | sf.secrets.basic(index)
    prior = rbf(sf.AnyOf(*np.linspace(2.0, 11.0, 10).tolist()))
    ours, release = designed(prior, secret, 0.02)
    print(f"10 members, 5 secrets, n = 50: {ours:.2f} s, {release.claims}")


PARTS = {
    "basic": basic,
    "every_point": every_point,
    "long": long,
    "class": classes,
    "compound": compound,
    "many": many,
}

if __name__ == "__main__":
    for name in sys.argv[1:] or PARTS:
        PARTS[name]()
