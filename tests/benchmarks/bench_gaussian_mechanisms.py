"""How fast `gaussian_optimal` is, against the programs it replaces; ratios measured in one run.

Pass names of the parts to run only some: basic every_point long class compound many thousands.
Times are processor time on one thread (or on OMP_NUM_THREADS, if it is set), so that other work on
the machine matters little. A program that needs more than LIMIT seconds is stopped, and the ratio
printed is then a lower bound of the true one.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import resource
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

import sfumato as sf

MIDDLE = sf.secrets.basic(24)
RENYI = sf.measures.renyi(order=2.0)
LIMIT = 900
"""Seconds of processor time after which a reference is stopped."""


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


def row(text, measured, wanted):
    print(f"{text}: {measured} (wanted {wanted})", flush=True)


def limited(work, *arguments):
    """Run a reference in a process of its own: its time, whether it ended, and its result."""
    fresh = multiprocessing.get_context("spawn")  # a solver's threads do not survive a fork
    inlet, outlet = fresh.Pipe(duplex=False)
    process = fresh.Process(target=_answer, args=(outlet, LIMIT, work, *arguments))
    process.start()
    outlet.close()
    try:
        seconds, result = inlet.recv()
    except EOFError:
        return LIMIT, False, None
    finally:
        process.join()
    return seconds, True, result


def _answer(outlet, limit, work, *arguments):
    used = math.ceil(time.process_time())
    resource.setrlimit(resource.RLIMIT_CPU, (used + limit, used + limit + 1))
    began = time.process_time()
    result = work(*arguments)
    outlet.send((time.process_time() - began, result))


def ratio(ours, theirs, *, ended):
    return f"{'' if ended else '> '}{theirs / ours:.0f} x, {ours:.4f} s against {theirs:.1f} s"


# --- the programs that are replaced, word for word ---------------------------------------------


def direct_program(problems, budget):
    """Solve min t with one matrix inequality [[blkdiag(d_k), Aᵀ], [A, C + Γ]] ⪰ 0 a problem."""
    import cvxpy as cp

    size = len(problems[0][0])
    noise, worst = cp.Variable((size, size), PSD=True), cp.Variable()
    constraints = [cp.trace(noise) <= budget]
    for prior, chosen in problems:
        weights, spread = regression(prior, chosen)
        bounds = cp.Variable(len(chosen))
        corner = cp.diag(bounds)
        matrix = cp.bmat([[corner, weights.T], [weights, spread + noise]])
        constraints += [matrix >> 0, cp.sum(bounds) <= worst]
    problem = cp.Problem(cp.Minimize(worst), constraints)
    problem.solve(solver=cp.CLARABEL)
    return problem.status, float(worst.value)


def literal_sdp_a(prior, chosen, budget):
    """Solve max β with Ã⁺(C + Γ)Ã⁺ᵀ ⪰ β I and tr Γ ≤ B, as the paper prints SDP_A."""
    import cvxpy as cp

    weights, spread = regression(prior, chosen)
    inverse = np.linalg.pinv(weights)
    noise, smallest = cp.Variable(prior.shape, PSD=True), cp.Variable()
    held = inverse @ (spread + noise) @ inverse.T
    constraints = [held - smallest * np.eye(len(chosen)) >> 0, cp.trace(noise) <= budget]
    problem = cp.Problem(cp.Maximize(smallest), constraints)
    problem.solve(solver=cp.CLARABEL)
    return noise.value


def regression(prior, chosen):
    """Return Ã = Σ_{:,S} Σ_SS⁻¹ and C = Σ − Ã Σ_{S,:}."""
    weights = prior[:, chosen] @ np.linalg.inv(prior[np.ix_(chosen, chosen)])
    spread = prior - weights @ prior[chosen]
    return weights, (spread + spread.T) / 2


def covariance(length_scale, times=50):
    return rbf(length_scale, times).belief().covariance.dense()


def literal_multiple_secrets(length_scale, budget):
    """Solve SDP_A for every time, then min tr K with K ⪰ Γ_s for all s, as the paper prints SDP_B.

    Returns whether the solver ended well, and the budget that each secret is left with.
    """
    import cvxpy as cp

    prior = covariance(length_scale)
    each = [literal_sdp_a(prior, [s], budget) for s in range(len(prior))]
    for s, noise in enumerate(each):
        noise[s, np.arange(len(prior)) != s] = noise[np.arange(len(prior)) != s, s] = 0.0
    above = cp.Variable(prior.shape, symmetric=True)
    problem = cp.Problem(cp.Minimize(cp.trace(above)), [above - noise >> 0 for noise in each])
    problem.solve(solver=cp.SCS, eps=1e-6, max_iters=20_000)
    return problem.status, budget**2 / float(problem.value)


# --- the rows ----------------------------------------------------------------------------------


def basic():
    prior = rbf(6.0)
    literal_sdp_a(covariance(6.0, 5), [2], 1.0)  # imports
    ours, release = designed(prior, MIDDLE, 0.02, repeats=9)
    theirs, _ = timed(lambda: literal_sdp_a(covariance(6.0), [24], 1.0))
    row(
        "gaussian_optimal, basic secret, n = 50, against SDP_A through cvxpy",
        ratio(ours, theirs, ended=True),
        ">= 20 x",
    )
    closed, _ = timed(lambda: sf.mechanisms.gaussian_sdp_a(mse=0.02).protect(prior, MIDDLE), 9)
    row("    against gaussian_sdp_a, a closed form for one entry", f"{closed / ours:.2f} x", "-")
    worst = 0.0
    for l in (1.0, 3.0, 6.0, 10.0):
        best = designed(rbf(l), MIDDLE, 0.02)[1]
        other = sf.mechanisms.gaussian_sdp_a(mse=0.02).protect(rbf(l), MIDDLE)
        losses = [RENYI.loss(rbf(l), MIDDLE, r).value for r in (best, other)]
        worst = max(worst, losses[0] / losses[1])
    row("    its loss over that of gaussian_sdp_a, at most", f"{worst:.3f}", "<= 1")
    row("    certified gap", f"{release.claims['relative_gap']:.1e}", "<= 1e-4")


def every_point():
    mse = 17.368 / 50
    prior, secret = rbf(6.0), sf.secrets.every_point()
    ours, best = designed(prior, secret, mse, repeats=9)
    theirs, ended, _ = limited(literal_multiple_secrets, 6.0, 50 * mse)
    row(
        "gaussian_optimal, every_point, n = 50, against SDP_A and SDP_B through cvxpy",
        ratio(ours, theirs, ended=ended),
        ">= 1000 x",
    )
    mechanism = sf.mechanisms.gaussian_multiple_secrets(mse=mse)
    fast, other = timed(lambda: mechanism.protect(prior, secret), 3)
    row("    against gaussian_multiple_secrets, without a solver", f"{fast / ours:.0f} x", "-")
    losses = [RENYI.loss(prior, secret, release).value for release in (other, best)]
    row("    its loss over ours", f"{losses[0] / losses[1]:.2f}", ">= 1")


def long():
    times = {}
    for n in (100_000, 1_000_000):
        prior, secret = rbf(6.0, n), sf.secrets.basic(n // 2)
        times[n], release = designed(prior, secret, 1 / n, repeats=5)
        gap = release.claims["relative_gap"]
        print(f"    n = {n}: {times[n]:.2f} s, gap {gap:.1e}")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    growth = times[1_000_000] / times[100_000]
    linear = 10 * math.log(1_000_000) / math.log(100_000)
    row("basic secret, n = 1,000,000: largest memory", f"{memory:.2f} GiB", "<= 2 GiB")
    row("    growth from n = 100,000 over that of n log n", f"{growth / linear:.2f}", "<= 1.3")


def classes():
    lengths = (3.0, 6.0, 9.0, 12.0)
    finite, release = designed(rbf(sf.AnyOf(*lengths)), MIDDLE, 0.02, repeats=9)
    problems = [(covariance(l), [24]) for l in lengths]
    theirs, ended, found = limited(direct_program, problems, 1.0)
    row(
        "class AnyOf(3, 6, 9, 12), basic secret, n = 50, against the direct program",
        ratio(finite, theirs, ended=ended),
        ">= 20 x",
    )
    row("    certified gap", f"{release.claims['relative_gap']:.1e}", "<= 1e-4")
    print(f"    the direct program says {found}; ours is {release.claims['worst_loss']:.4f}")
    interval, release = designed(rbf(sf.Interval(3, 12)), MIDDLE, 0.02, repeats=9)
    row("Interval(3, 12) over AnyOf(3, 6, 9, 12)", f"{interval / finite:.1f} x", "<= 5 x")
    seen, gap = release.claims["class_seen"], release.claims["relative_gap"]
    row(f"    certified gap, {seen}", f"{gap:.1e}", "<= 1e-4")
    hard, release = designed(rbf(sf.AnyOf(1.0, 2.0, 3.0, 6.0, 9.0, 12.0)), MIDDLE, 0.02)
    gap = release.claims["relative_gap"]
    print(f"    six length scales from 1 (by the program): {hard:.2f} s, gap {gap:.1e}")


def compound():
    chosen = [20, 40, 50, 51, 80]
    secret = sf.secrets.compound(chosen)
    short = [10, 20, 25, 26, 40]
    ours, _ = designed(rbf(6.0), sf.secrets.compound(short), 0.02, repeats=3)
    theirs, ended, _ = limited(direct_program, [(covariance(6.0), short)], 1.0)
    row(
        "compound secret of 5 times, n = 50, against the direct program",
        ratio(ours, theirs, ended=ended),
        "-",
    )
    ours, release = designed(rbf(6.0, 100), secret, 0.02, repeats=3)
    theirs, ended, found = limited(direct_program, [(covariance(6.0, 100), chosen)], 2.0)
    row(
        "compound secret of 5 times, n = 100, against the direct program",
        ratio(ours, theirs, ended=ended),
        ">= 10 x",
    )
    row("    certified gap", f"{release.claims['relative_gap']:.1e}", "<= 1e-4")
    print(f"    the direct program says {found}; ours is {release.claims['worst_loss']:.4f}")
    longer, release = designed(rbf(6.0, 200), secret, 0.02)
    gap = release.claims["relative_gap"]
    row("    n = 200", f"{longer:.2f} s, gap {gap:.1e}", "feasible, <= 1e-4")


def many():
    secret = sf.secrets.basic(5)
    for index in (15, 24, 35, 45):
        secret = secret | sf.secrets.basic(index)
    prior = rbf(sf.AnyOf(*np.linspace(2.0, 11.0, 10).tolist()))
    ours, release = designed(prior, secret, 0.02)
    gap = release.claims["relative_gap"]
    row("10 members x 5 secrets, n = 50", f"{ours:.2f} s, gap {gap:.1e}", "seconds, <= 1e-4")


def thousands():
    n, middle = 2000, 1000
    prior, secret = rbf(sf.AnyOf(1.0, 3.0, 6.0, 12.0), n), sf.secrets.basic(middle)
    ours, release = designed(prior, secret, 1 / n)
    gap = release.claims["relative_gap"]
    row("4 members, basic secret, n = 2000", f"{ours:.1f} s, gap {gap:.1e}", "certified, <= 1e-4")
    times = [middle + shift for shift in (-30, -10, 0, 1, 30)]
    ours, release = designed(rbf(6.0, n), sf.secrets.compound(times), 2 / n)
    gap = release.claims["relative_gap"]
    row(
        "compound secret of 5 times, n = 2000", f"{ours:.1f} s, gap {gap:.1e}", "certified, <= 1e-4"
    )


PARTS = {
    "basic": basic,
    "every_point": every_point,
    "long": long,
    "class": classes,
    "compound": compound,
    "many": many,
    "thousands": thousands,
}

if __name__ == "__main__":
    for name in sys.argv[1:] or PARTS:
        PARTS[name]()
