"""The exact loss of all n basic secrets, against one Cholesky factorisation and inverse.

Wanted: at most 3 times as long. Fitting many traces, against scikit-learn on each.
"""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

import sfumato as sf

REPEATS = 7


def seconds(work: Callable[[], object]) -> float:
    """Return the median time of a few runs."""
    found = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        work()
        found.append(time.perf_counter() - began)
    return statistics.median(found)


def all_basic_secrets(n: int) -> float:
    """Return the ratio for a smooth trace of n points with independent noise."""
    prior, secret = sf.priors.rbf(length_scale=6.0, times=n), sf.secrets.every_point()
    release = sf.mechanisms.gaussian_uniform(mse=0.02).protect(prior, secret)
    belief = prior.belief()
    question, measure = secret.question(belief), sf.measures.renyi(order=2.0)
    total = belief.covariance.dense() + 0.02 * np.eye(n)

    def factorise() -> None:
        factor, _ = dpotrf(total, lower=1)
        dpotri(factor, lower=1)

    def measured() -> None:
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

    began = time.perf_counter()
    one_by_one()
    theirs = time.perf_counter() - began
    began = time.perf_counter()
    sf.priors.rbf.fit(traces)
    return theirs / (time.perf_counter() - began)


if __name__ == "__main__":
    for n in (500, 1000, 2000, 4000):
        print(f"all {n} basic secrets / Cholesky and inverse:  {all_basic_secrets(n):5.2f}")
    print(f"scikit-learn / fitting 500 traces:            {fitting(500):5.2f}")
