"""Fitting against scikit-learn's optimiser, known truths and the paper's data."""

from __future__ import annotations

import csv
import gzip
import math
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor, kernels

import sfumato as sf
from sfumato.comparison import executors as progress

DATA = Path(__file__).parents[4] / "shared" / "data"


def normalised(trace):
    return (trace - trace.mean()) / trace.std()


def fitted_by_scikit_learn(kernel, stamps, trace, noise):
    model = GaussianProcessRegressor(kernel, alpha=noise, n_restarts_optimizer=2, random_state=0)
    model.fit(stamps[:, None], trace)
    return model.kernel_, model.log_marginal_likelihood_value_


def drawn(count, times, length, seed=0, noise=0.05):
    rng = np.random.default_rng(seed)
    belief = sf.priors.rbf(length_scale=length, times=times).belief()
    clean = belief.sample(rng, count)
    return clean + noise * rng.standard_normal(clean.shape)


@pytest.mark.parametrize("irregular", [False, True])
def test_length_scales_are_scikit_learns(irregular):
    rng = np.random.default_rng(1)
    stamps = np.cumsum(rng.uniform(1, 9, 30)) if irregular else 5.0 * np.arange(30)
    traces = drawn(4, stamps, 20.0)
    fitted = sf.priors.rbf.fit(traces, times=stamps)
    period = np.median(np.diff(stamps))
    for position, trace in enumerate(traces):
        kernel, likelihood = fitted_by_scikit_learn(
            kernels.RBF(20.0, (0.1 * period, 200 * period)), stamps, normalised(trace), 0.0025
        )
        assert fitted.log_likelihoods[position] == pytest.approx(likelihood, abs=1e-6)
        found = fitted.parameters["length_scale"][position]
        assert found == pytest.approx(kernel.length_scale, rel=1e-3)
        assert fitted.effective["length_scale"][position] == pytest.approx(found / period)
    assert not fitted.at_bound.any()


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
def test_matern_length_scales_are_scikit_learns(nu):
    traces = drawn(2, 25, 4.0)
    fitted = sf.priors.matern.fit(traces, nu=nu, noise=0.01)
    for position, trace in enumerate(traces):
        kernel, likelihood = fitted_by_scikit_learn(
            kernels.Matern(4.0, (0.1, 200), nu=nu), np.arange(25.0), normalised(trace), 0.01
        )
        assert fitted.log_likelihoods[position] >= likelihood - 1e-6
        assert fitted.parameters["length_scale"][position] == pytest.approx(
            kernel.length_scale, rel=1e-3
        )


def test_the_period_is_found_with_the_length_scale():
    rng = np.random.default_rng(2)
    belief = sf.priors.periodic(length_scale=1.0, period=24.0, times=60).belief()
    traces = belief.sample(rng, 3) + 0.1 * rng.standard_normal((3, 60))
    # A multiple of the period explains a trace as well, so the search is told where to look.
    fitted = sf.priors.periodic.fit(traces, noise=0.01, bounds={"period": (16.0, 34.0)})
    np.testing.assert_allclose(fitted.parameters["period"], 24.0, rtol=0.02)
    known = sf.priors.periodic.fit(traces, noise=0.01, period=24.0)
    assert set(known.parameters) == {"length_scale"}
    assert np.all(fitted.log_likelihoods >= known.log_likelihoods - 1e-9)
    assert "period=24.0" in repr(known.prior_class())


def test_many_traces_at_once_are_each_alone():
    traces = drawn(5, 20, 3.0)
    together = sf.priors.rbf.fit(traces)
    for position, trace in enumerate(traces):
        alone = sf.priors.rbf.fit([trace])
        # Sums of several traces at once are rounded in another order on some machines.
        expected = together.effective["length_scale"][position]
        assert alone.effective["length_scale"][0] == pytest.approx(expected, rel=1e-9)


def test_units_of_time_do_not_matter():
    traces = drawn(3, 20, 3.0)
    seconds = sf.priors.rbf.fit(traces, times=60.0 * np.arange(20) + 1e6)
    minutes = sf.priors.rbf.fit(traces)
    np.testing.assert_allclose(
        seconds.effective["length_scale"], minutes.effective["length_scale"], rtol=1e-4
    )
    np.testing.assert_allclose(
        seconds.parameters["length_scale"], 60 * minutes.parameters["length_scale"], rtol=1e-4
    )


def test_without_normalising_the_variance_is_fitted_too():
    traces = 3.0 * drawn(40, 40, 3.0)
    fitted = sf.priors.rbf.fit(traces, normalise=False)
    assert np.median(fitted.effective["variance"]) == pytest.approx(9.0, rel=0.3)
    # The best variance, given the shape, by its definition.
    length, trace = fitted.effective["length_scale"][0], traces[0]
    lags = np.subtract.outer(np.arange(40), np.arange(40))
    shape = np.exp(-0.5 * (lags / length) ** 2) + 0.0025 * np.eye(40)
    best = trace @ np.linalg.solve(shape, trace) / 40
    assert fitted.effective["variance"][0] == pytest.approx(best, rel=1e-6)
    sign, logarithm = np.linalg.slogdet(2 * np.pi * best * shape)
    likelihood = -0.5 * (40 + logarithm)
    assert sign == 1
    assert fitted.log_likelihoods[0] == pytest.approx(likelihood, abs=1e-6)


def test_coordinates_are_fitted_one_by_one_and_pooled():
    plane = np.stack([drawn(6, 20, 2.0, seed=3), drawn(6, 20, 5.0, seed=4)], axis=2)
    fitted = sf.priors.rbf.fit(plane)
    assert len(fitted) == 12
    alone = sf.priors.rbf.fit(plane[:, :, 1])
    np.testing.assert_array_equal(
        fitted.effective["length_scale"][fitted.coordinate == 1], alone.effective["length_scale"]
    )
    pooled = fitted.prior_class()
    low, high = np.quantile(fitted.effective["length_scale"], [0.25, 0.75])
    assert pooled == sf.priors.rbf(length_scale=sf.Interval(low, high), times=20, dimensions=2)


def test_the_table_has_a_row_for_each_series():
    traces = [drawn(1, n, 3.0)[0] for n in (10, 12)]
    fitted = sf.priors.rbf.fit(traces)
    table = fitted.to_pandas()
    assert table["points"].tolist() == [10, 12]
    assert list(table.columns) == [
        *("trace", "coordinate", "points", "sampling_period", "length_scale"),
        *("effective_length_scale", "log_likelihood", "at_bound"),
    ]
    with pytest.raises(sf.ParameterError, match="from 10 to 12 points"):
        fitted.prior_class()
    assert fitted.prior_class((0.5, 0.5), times=7).times == 7


def test_a_search_that_ends_at_a_bound_says_so():
    traces = drawn(2, 30, 20.0, noise=0.0)
    narrow = sf.priors.rbf.fit(traces, bounds={"length_scale": (0.5, 2.0)})
    assert narrow.at_bound.all()
    assert np.all(narrow.parameters["length_scale"] <= 2.0 * (1 + 1e-9))


TRACE = [0.0, 1.0, 0.5]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"traces": []}, "one or more traces"),
        ({"traces": [[1.0]]}, "two or more finite values"),
        ({"traces": [TRACE, [1.0, math.nan, 2.0]]}, "trace 1 must have two or more finite"),
        ({"traces": [[2.0, 2.0, 2.0]]}, "must not be constant"),
        ({"traces": ["abc"]}, "real numbers"),
        ({"traces": [TRACE], "times": [0.0, 1.0]}, "3 finite times"),
        ({"traces": [TRACE], "times": [0.0, 2.0, 1.0]}, "increasing"),
        ({"traces": [TRACE, TRACE], "times": [[0.0, 1.0, 2.0]]}, "its own times"),
        ({"traces": [TRACE], "noise": 0.0}, "noise must be finite and positive"),
        ({"traces": [TRACE], "noise": math.nan}, "noise must be finite and positive"),
        ({"traces": [TRACE], "bounds": {"length_scale": (2.0, 1.0)}}, "0 < low < high"),
        ({"traces": [TRACE], "bounds": {"nu": (1.0, 2.0)}}, "shape parameters"),
        ({"traces": [TRACE], "length_scale": 2.0}, "a free parameter"),
        ({"traces": [TRACE], "length_scale": -2.0}, r"rbf\.length_scale must be positive"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(arguments, words):
    with pytest.raises(sf.ParameterError, match=words):
        sf.priors.rbf.fit(**arguments)


def test_long_work_shows_a_bar_on_a_terminal(capsys, monkeypatch):
    sf.priors.rbf.fit([TRACE])
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(progress, "PATIENCE", -1.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich shows bars to terminals only
    sf.priors.rbf.fit([TRACE, [0.0, 1.0]])
    out, err = capsys.readouterr()
    assert (out, "fitting rbf" in err) == ("", True)


@pytest.mark.skipif(not (DATA / "sml2010").is_dir(), reason="the SML2010 data are not here")
def test_temperatures_have_the_published_length_scales():
    """The published quartiles are those of the outdoor column, two to the right of its header."""
    from scipy.signal import decimate

    rows = (DATA / "sml2010" / "NEW-DATA-1.T15.txt").read_text().splitlines()[1:]
    outdoor = np.array([float(row.split()[4]) for row in rows])[800:]
    days = np.arange(len(outdoor)) / 96
    traces = []
    for start in range(0, 20, 2):
        window = outdoor[(days > start) & (days < start + 2)]
        traces.append(decimate(normalised(window), 4, ftype="iir"))
    fitted = sf.priors.periodic.fit(
        traces,
        noise=0.1,
        normalise=True,
        bounds={"length_scale": (0.01, 100.0), "period": (16.0, 34.0)},
    )
    quartiles = np.quantile(fitted.effective["length_scale"], [0.25, 0.5, 0.75])
    np.testing.assert_allclose(quartiles, [1.04, 1.10, 1.15], atol=0.05)


@pytest.mark.skipif(not (DATA / "geolife").is_dir(), reason="the GeoLife data are not here")
def test_locations_have_length_scales_of_several_samples():
    fixes = defaultdict(list)
    with gzip.open(DATA / "geolife" / "geolife_first330s.csv.gz", "rt") as file:
        for row in csv.DictReader(file):
            if len(fixes) > 60 and (row["user"], row["traj"]) not in fixes:
                break
            day, latitude = float(row["days_1899"]), float(row["lat"])
            fixes[row["user"], row["traj"]].append((86400 * day, latitude))
    traces, times = [], []
    for trace in fixes.values():
        seconds, latitude = np.array(trace).T
        keep = (seconds - seconds[0] <= 320) & (np.diff(seconds, prepend=-1.0) > 0)
        seconds, latitude = seconds[keep], latitude[keep]
        stride = max(1, len(seconds) // 50)
        seconds, latitude = seconds[::stride][:50], latitude[::stride][:50]
        if seconds[-1] - seconds[0] >= 240 and latitude.std() > 0:
            traces.append(latitude)
            times.append(seconds)
    fitted = sf.priors.rbf.fit(traces, times=times, bounds={"length_scale": (1.0, 40.0)})
    low, middle, high = np.quantile(fitted.effective["length_scale"], [0.25, 0.5, 0.75])
    assert len(fitted) > 20
    assert 1.0 < low < middle < high < 20.0


def test_a_ridge_of_period_and_length_scale_is_climbed_to_its_end(monkeypatch):
    """A smooth trace wants ever longer periods: only the product of the two matters."""
    from sfumato_gaussian_process import maximum_likelihood

    calls, inner = [], maximum_likelihood._at

    def counted(*arguments):
        calls.append(1)
        return inner(*arguments)

    monkeypatch.setattr(maximum_likelihood, "_at", counted)
    trace = sf.priors.rbf(length_scale=3.0, times=30).belief().sample(np.random.default_rng(0), 12)
    found = sf.priors.periodic.fit(trace[9:10])
    assert found.parameters["period"] == pytest.approx([100.0])
    assert found.at_bound.all()
    assert len(calls) < 2_000


@pytest.mark.parametrize("unit", [1e-300, 1e300])
def test_units_do_not_matter_to_a_normalised_fit(unit):
    trace = sf.priors.rbf(length_scale=3.0, times=20).belief().sample(np.random.default_rng(1), 1)
    expected = sf.priors.rbf.fit(trace).parameters["length_scale"]
    found = sf.priors.rbf.fit(trace * unit).parameters["length_scale"]
    assert found == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("size", [0.0, 1e-200, 1e200])
def test_values_without_usable_squares_must_be_normalised(size):
    with pytest.raises(sf.ParameterError, match="trace 0 must have a largest value between"):
        sf.priors.rbf.fit([[size, -size, size, size]], normalise=False)


def test_what_is_no_fit_is_refused_in_a_sentence():
    trace = [[0.0, 1.0, 0.5, -1.0]]
    bad = [
        (([[]],), {}, "two or more finite values"),
        ((trace,), {"noise": "a"}, "noise must be finite and positive"),
        ((trace,), {"bounds": {"length_scale": (3,)}}, "bounds must be pairs"),
        ((trace,), {"bounds": {"length_scale": ("a", "b")}}, "bounds must be pairs"),
        ((trace,), {"times": ["a"] * 4}, "4 finite times"),
    ]
    for given, options, message in bad:
        with pytest.raises(sf.ParameterError, match=message):
            sf.priors.rbf.fit(*given, **options)
    for quantiles in ("ab", (0.5,), 0.5, (0.9, 0.1)):
        with pytest.raises(sf.ParameterError, match="quantiles must be 0 <= low <= high <= 1"):
            sf.priors.rbf.fit(trace).prior_class(quantiles=quantiles)


@pytest.mark.parametrize(
    "options",
    [{"bounds": 3}, {"bounds": "length_scale"}, {"bounds": [(1, 2)]}, {"normalise": "no"}],
    ids=str,
)
def test_options_of_another_kind_are_refused_in_one_sentence(options):
    (name,) = options
    with pytest.raises(sf.ParameterError, match=rf"^rbf\.fit {name} must be .*; got .*\.$"):
        sf.priors.rbf.fit([[0.0, 1.0, 0.5]], **options)


def test_of_two_close_peaks_the_higher_is_found():
    """The grid's best point lies under the lower one; scikit-learn's likelihood is the judge."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF

    trace = np.array(
        [-0.134, -0.287, -0.604, -0.799, -0.935, -1.165, -1.345, -1.451, -1.513, -1.71, -1.654]
    )
    trace = np.append(trace, -1.621)
    fitted = sf.priors.rbf.fit([trace])
    values = (trace - trace.mean()) / trace.std()
    model = GaussianProcessRegressor(RBF(1.0), alpha=0.0025, optimizer=None)
    model.fit(np.arange(12.0)[:, None], values)
    dense = [
        model.log_marginal_likelihood([theta]) for theta in np.log(np.geomspace(0.1, 200, 800))
    ]
    assert fitted.log_likelihoods[0] >= max(dense) - 1e-9
