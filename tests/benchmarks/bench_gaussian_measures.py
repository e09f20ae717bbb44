"""The exact loss of all n basic secrets, against one Cholesky factorisation and inverse.

Fitting many traces, against scikit-learn on each. Ratios of processor time on one thread (or on
OMP_NUM_THREADS, if it is set), so that other work on the machine matters little.
"""

from __future__ import annotations

import os
import statistics
import time
import warnings
from collections.abc import Callable

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

import sfumato as sf
from sfumato.views import view

REPEATS = 7


def seconds(work: Callable[[], object]) -> float:
    """Return the median processor time of a few runs."""
    found = []
    for _ in range(REPEATS):
        began = time.process_time()
        work()
        found.append(time.process_time() - began)
    return statistics.median(found)


def all_basic_secrets(n: int, *, correlated: bool) -> float:
    """Return the ratio for a smooth trace of n points with independent or correlated noise."""
    prior, secret = sf.priors.rbf(length_scale=6.0, times=n), sf.secrets.every_point()
    belief = prior.belief()
    added = 0.02 * np.eye(n)
    mechanism = sf.mechanisms.gaussian_uniform(mse=0.02)
    if correlated:
        added = added + 0.01 * belief.covariance.dense()
        mechanism = sf.mechanisms.gaussian_given(covariance=added)
    release = mechanism.protect(prior, secret)
    question, measure = secret.question(belief), sf.measures.renyi(order=2.0)
    total = belief.covariance.dense() + added

    def factorise() -> None:
        factor, _ = dpotrf(total, lower=1)
        dpotri(factor, lower=1)

    def measured() -> None:
        view._views.clear()  # else all runs but the first only look it up
        measure.evaluate(belief, question, release.channel)

    measured()
    return seconds(measured) / seconds(factorise)


def fitting(count: int) -> float:
    """Return scikit-learn's time to fit `count` traces of 50 points over ours."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF

    rng = np.random.default_rng(0)
    smooth = sf.priors.rbf(length_scale=6.0, times=50).belief().sample(rng, count)
    traces = smooth + 0.05 * rng.standard_normal(smooth.shape)
    stamps = np.arange(50.0)[:, None]

    def one_by_one() -> None:
        for trace in traces:
            model = GaussianProcessRegressor(RBF(8.0, (0.1, 200.0)), alpha=0.0025)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a bound that is reached
                model.fit(stamps, (trace - trace.mean()) / trace.std())

    began = time.process_time()
    one_by_one()
    theirs = time.process_time() - began
    began = time.process_time()
    sf.priors.rbf.fit(traces)
    return theirs / (time.process_time() - began)


if __name__ == "__main__":
    for n in (500, 1000, 2000, 4000):
        for correlated in (False, True):
            ratio = all_basic_secrets(n, correlated=correlated)
            kind = "correlated" if correlated else "independent"
            print(
                f"exact loss of all {n} basic secrets, {kind} noise, over Cholesky and inverse: "
                f"{ratio:.2f} (wanted <= 3)",
                flush=True,
            )
    print(f"scikit-learn over fitting 500 traces of 50 points: {fitting(500):.1f}")
