"""`sfumato fit`, from files to a class that `sfumato release` takes."""

from __future__ import annotations

import json
import re
import tomllib

import numpy as np
import pytest
from click.testing import CliRunner

import sfumato as sf
from sfumato.commands import cli
from sfumato.datasets import read_state_table, read_trace_table


@pytest.fixture(autouse=True)
def _restore(fresh_registry):
    """Every command loads the registry anew."""


def run(command, *arguments):
    return CliRunner().invoke(cli, [command, *map(str, arguments)])


def read(path):
    return tomllib.loads(path.read_text(encoding="utf-8"))


def walks(folder, count=6, points=30, scale=2.0):
    """Smooth traces, standard deviation `scale`, length scale 4 samples, measured to 5 %."""
    draws = sf.priors.rbf(length_scale=4.0, times=points).belief()
    rng = np.random.default_rng(0)
    rows = ["user,trace,time,x"]
    for number in range(count):
        values = scale * (draws.sample(rng) + 0.05 * rng.standard_normal(points)) + 100.0
        rows += [f"ann,{number},{10 * k},{value}" for k, value in enumerate(values.tolist())]
    path = folder / "walks.csv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def test_traces_become_intervals_of_quartiles(tmp_path):
    out = tmp_path / "prior.toml"
    done = run("fit", walks(tmp_path), "--prior", "rbf", "-o", out)
    assert done.exit_code == 0, done.output
    table = read(out)
    low, high = table["prior"]["length_scale"]["interval"]
    assert 3.0 < low <= high < 5.5
    assert table["prior"]["times"] == 30
    assert table["fitted"]["traces"] == 6
    quartiles = table["fitted"]["quartiles_of_length_scale"]
    assert quartiles[0] == pytest.approx(low, abs=1e-6)
    assert quartiles[2] == pytest.approx(high, abs=1e-6)
    # The variance is in the units of the file: it was 4 before the mean of each trace was taken.
    assert 1.0 < table["fitted"]["quartiles_of_variance"][1] < 6.0
    assert "quartiles_of_length_scale" in done.stderr


def test_standardised_traces_keep_their_own_variance_in_the_class(tmp_path):
    out = tmp_path / "prior.toml"
    done = run("fit", walks(tmp_path), "--prior", "rbf", "-o", out, "--standardise")
    assert done.exit_code == 0, done.output
    traces = read_trace_table(tmp_path / "walks.csv")
    spreads = np.quantile([np.var(trace.values) for trace in traces], (0.25, 0.75))
    assert read(out)["prior"]["variance"]["interval"] == pytest.approx(spreads)
    assert read(out)["fitted"]["standardised"] is True
    assert "variance" not in read(out)["fitted"]


def test_a_known_variance_agrees_with_scikit_learn():
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel

    belief = sf.priors.rbf(length_scale=4.0, times=25, variance=2.0).belief()
    trace = belief.sample(np.random.default_rng(1))
    fitted = sf.priors.rbf.fit([trace], noise=0.01, normalise=False, variance=2.0)
    length = float(fitted.effective["length_scale"][0])
    kernel = ConstantKernel(2.0, "fixed") * RBF(length)
    regressor = GaussianProcessRegressor(kernel, alpha=0.02, optimizer=None)
    regressor.fit(np.arange(25.0)[:, None], trace)

    def likelihood(at):
        return regressor.log_marginal_likelihood(np.log([at]))

    assert fitted.log_likelihoods[0] == pytest.approx(likelihood(length), rel=1e-9)
    assert likelihood(length) >= max(likelihood(length * f) for f in (0.9, 0.99, 1.01, 1.1))
    assert fitted.prior_class().variance == 2.0
    with pytest.raises(ValueError, match="normalise=False where the variance is known"):
        sf.priors.rbf.fit([trace], variance=2.0)


def test_users_become_a_class_of_chains(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text(
        "user,time,state\nann,0,a\nann,1,b\nann,2,a\nbob,0,b\nbob,1,b\nbob,2,b\n", encoding="utf-8"
    )
    out = tmp_path / "p.toml"
    done = run("fit", path, "--prior", "markov_chain", "-o", out, "--smoothing", 1.0)
    assert done.exit_code == 0, done.output
    built = sf.registry.build("prior", read(out)["prior"])
    ann, bob = built.members()
    # Counts plus one, over the row's total plus two.
    assert ann.transitions.tolist() == [[1 / 3, 2 / 3], [2 / 3, 1 / 3]]
    assert bob.transitions[1].tolist() == [0.25, 0.75]
    one = tmp_path / "one.toml"
    assert run("fit", path, "--prior", "markov_chain", "-o", one, "--user", "bob").exit_code == 0
    assert read(one)["fitted"]["users"] == 1
    assert read(one)["prior"]["name"] == "markov_chain"


def test_several_traces_of_a_user_make_one_chain(tmp_path):
    path = tmp_path / "s.csv"
    rows = ["ann,mon,0,a", "ann,mon,1,b", "ann,tue,5,a", "ann,tue,6,a", "bob,mon,0,b"]
    path.write_text("\n".join(["user,trace,time,state", *rows]) + "\n", encoding="utf-8")
    out = tmp_path / "p.toml"
    done = run("fit", path, "--prior", "markov_chain", "-o", out)
    assert done.exit_code == 0, done.output
    assert read(out)["fitted"]["users"] == 2
    assert read(out)["fitted"]["traces"] == 3
    ann, bob = sf.registry.build("prior", read(out)["prior"]).members()
    # From a once to b and once to a; nobody went from b on Monday to a on Tuesday.
    assert ann.transitions.tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert bob.transitions.tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert ann.steps == 2


def home(folder, days=14):
    """Someone who sleeps, works and sometimes exercises."""
    rows = ["Start time\tEnd time\tActivity", "---\t---\t---"]
    for day in range(1, days + 1):
        date, after = f"2020-01-{day:02d}", f"2020-01-{day + 1:02d}"
        rows.append(f"{date} 00:00:00\t{date} 08:00:00\tSleeping")
        rows.append(f"{date} 08:00:00\t{date} 18:00:00\tWorking")
        rows.append(f"{date} 18:00:00\t{after} 00:00:00\t{'Clinic' if day % 3 else 'Resting'}")
    path = folder / "H_ADLs.txt"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def test_a_home_is_fitted_and_a_week_released(tmp_path):
    data, prior = home(tmp_path), tmp_path / "prior.toml"
    done = run("fit", data, "--prior", "markov_chain", "-o", prior, "--minutes", 360)
    assert done.exit_code == 0, done.output
    chain = sf.registry.build("prior", read(prior)["prior"])
    assert chain.transitions.shape == (3, 4, 4)
    out, paper = tmp_path / "week.csv", tmp_path / "week.json"
    done = run(
        "release",
        *(data, "--prior", prior, "--minutes", 360, "-o", out, "--certificate", paper),
        *("--secret", 'contexts states=["Clinic"]', "--mechanism", "suppress_hybrid delta=0.2"),
        *("--measure", "posterior_gap"),
    )
    assert done.exit_code == 0, done.output
    (gap,) = json.loads(paper.read_text(encoding="utf-8"))["guarantees"]
    assert gap["value"] <= 0.2
    text = out.read_text(encoding="utf-8")
    assert text.count("\n") == 1 + 4 * 14
    assert "⊥" in text
    assert "Clinic" not in text


def test_what_cannot_be_fitted_is_said(tmp_path):
    data = walks(tmp_path)
    out = tmp_path / "p.toml"
    chained = run("fit", data, "--prior", "markov_chain", "-o", out)
    assert chained.exit_code != 0
    assert "did you mean" in str(run("fit", data, "--prior", "rbff", "-o", out).exception)
    assert run("fit", data, "--prior", "rbf", "-o", out, "--published").exit_code == 2
    out.write_text("mine", encoding="utf-8")
    assert isinstance(run("fit", data, "--prior", "rbf", "-o", out).exception, FileExistsError)
    assert out.read_text(encoding="utf-8") == "mine"
    still = tmp_path / "still.csv"
    still.write_text("time,x\n0,1\n1,1\n", encoding="utf-8")
    done = run("fit", still, "--prior", "rbf", "-o", tmp_path / "q.toml")
    assert "a trace that moves" in str(done.exception)


def test_sml2010_gives_the_published_length_scales(tmp_path, real_data):
    out = tmp_path / "temperature.toml"
    done = run(
        "fit",
        real_data("sml2010", "NEW-DATA-1.T15.txt"),
        "--prior",
        "periodic",
        "--published",
        "-o",
        out,
    )
    assert done.exit_code == 0, done.output
    fitted = read(out)["fitted"]
    assert fitted["windows"] == 10
    assert read(out)["preparation"] == {"seconds": 3600.0, "window": 48}
    # The quartiles of the published l_eff_temp, which come from the weather forecast's column.
    assert fitted["quartiles_of_length_scale"] == pytest.approx([1.04, 1.10, 1.145], abs=0.005)
    assert "weather" in fitted["prepared"]


def ends_with(monkeypatch, capsys, *words):
    """What the program says on standard error, when it ends with status 2."""
    import sys

    from sfumato.commands import main

    monkeypatch.setattr(sys, "argv", ["sfumato", *map(str, words)])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("file", "prior", "words"),
    [
        (
            ("a.csv", b"user,time,x\nann,0,nan\n"),
            "rbf",
            "a.csv, line 2: a value must be a finite number",
        ),
        (
            ("a.csv", b"user,time,x\nann,0,1\n\xff\xfe\n"),
            "rbf",
            "a.csv, line 3: a line must be a text",
        ),
        (("a.csv.gz", b"user,time,x\nann,0,1\n"), "rbf", "a.csv.gz must be a text in UTF-8"),
        (("a.npy", b"no array"), "markov_chain", "a.npy must be an array of numbers"),
        (("a.parquet", b"no table"), "rbf", "a.parquet must be a Parquet file"),
        (("a.dat", b"what"), "rbf", "the format of a.dat cannot be told; give --format"),
        (("a.csv", b"user,time,x\n"), "rbf", "the data must have a trace; got none."),
        (
            ("a.csv", b"user,time,x\na,0,1\na,1,2\n"),
            "markov_chain",
            "such as rbf; got 'markov_chain'",
        ),
        (("a.csv", b"user,time,state\na,0,b\na,1,c\n"), "rbf", "such as markov_chain; got 'rbf'"),
        (("a.csv", b"user,time,x\na,0,1\na,1,2\n"), "rfb", "did you mean 'rbf'?"),
        (("a.csv", b"user,time,x\na,0,1\na,1,2\n"), "{ name =", "the prior must be a name and"),
    ],
)
def test_what_the_user_can_mend_is_one_sentence(
    tmp_path, monkeypatch, capsys, *, file, prior, words
):
    name, content = file
    data = tmp_path / name
    data.write_bytes(content)
    said = ends_with(monkeypatch, capsys, "fit", data, "--prior", prior, "-o", tmp_path / "o.toml")
    assert words in said
    assert said.startswith("sfumato: ")
    assert said.count("\n") == 1
    assert not (tmp_path / "o.toml").exists()


def release_of(trace, prior, out, *words):
    return run(
        "release",
        *(trace, "--prior", prior, "--secret", "basic index=9 radius=0.5", "-o", out, "--force"),
        *("--mechanism", "gaussian_uniform mse=0.04", "--measure", "renyi", *words),
    )


@pytest.mark.parametrize(
    ("seconds", "points", "kept"),
    [
        (10, range(30), range(30)),
        (10, range(71), range(71)),  # three windows, the last of them short
        (10, [*range(20), *range(45, 60)], [*range(20), *range(45, 60)]),  # a gap
        (1, range(30), [0, 10, 20, 29]),  # the nearest sample to each beat
    ],
)
def test_a_trace_is_thinned_and_cut_as_those_fitted(tmp_path, seconds, points, kept):
    prior, paper, trace = (tmp_path / name for name in ("prior.toml", "c.json", "t.csv"))
    assert run("fit", walks(tmp_path), "--prior", "rbf", "-o", prior).exit_code == 0
    assert read(prior)["preparation"] == {"seconds": 10.0, "window": 30}
    rows = [f"ann,{seconds * k},{100 * np.sin(k / 3)}" for k in points]
    trace.write_text("\n".join(["user,time,x", *rows]) + "\n", encoding="utf-8")
    done = release_of(trace, prior, tmp_path / "o.csv", "--certificate", paper)
    assert done.exit_code == 0, done.output
    (after,) = read_trace_table(tmp_path / "o.csv")
    assert after.times.tolist() == [seconds * k for k in kept]
    noise = after.values[:, 0] - 100 * np.sin(np.array(kept) / 3)
    assert 0 < np.abs(noise).max() < 1.5
    table = json.loads(paper.read_text(encoding="utf-8"))
    assert table["preparation"] == {"seconds": 10.0, "window": 30}
    several = points[-1] >= 30 and seconds == 10
    assert ("all releases of a person together: Rényi" in table["covers"]) == several
    assert ("each released trace on its own" in table["covers"]) != several


def test_windows_are_counted_together_in_a_ledger_beside_the_output(tmp_path):
    prior, paper, trace = (tmp_path / name for name in ("prior.toml", "c.json", "t.csv"))
    assert run("fit", walks(tmp_path), "--prior", "rbf", "-o", prior).exit_code == 0
    rows = [f"ann,{10 * k},{100 * np.sin(k / 3)}" for k in range(71)]
    trace.write_text("\n".join(["user,time,x", *rows]) + "\n", encoding="utf-8")
    done = release_of(trace, prior, tmp_path / "o.csv", "--certificate", paper)
    covers = json.loads(paper.read_text(encoding="utf-8"))["covers"]
    assert f"covers:     {covers}" in done.stderr
    # The same noise on all 90 times at once, read without any ledger.
    table = {**read(prior)["prior"], "times": 90}
    whole = sf.registry.build("prior", table)
    renyi, uniform = sf.measures.renyi(), sf.mechanisms.gaussian_uniform(mse=0.04)
    losses = [
        renyi.loss(whole, secret, uniform.protect(whole, secret))
        for secret in (sf.secrets.basic(k, radius=0.5) for k in (9, 39, 69))
    ]
    said = float(re.search(r"≤ ([\d.]+), as the ledger o.csv.ledger", covers)[1])
    assert said >= max(loss.floor for loss in losses) * (1 - 1e-5)  # it has six digits
    assert said == pytest.approx(max(loss.ceiling for loss in losses), rel=1e-3)
    checked = run("certificate", "check", paper, "--ledger", tmp_path / "o.csv.ledger")
    assert ", 0 false" in checked.output
    assert "the ledger holds the entries that the certificate names" in checked.output
    before = (tmp_path / "o.csv").read_bytes()
    again = release_of(trace, prior, tmp_path / "o.csv")
    assert "were released before" in str(again.exception)
    assert (tmp_path / "o.csv").read_bytes() == before
    free = release_of(trace, prior, tmp_path / "free.csv")  # no certificate: said all the same
    assert "covers: no time of a person twice, and each release on its own" in free.stderr


def test_windows_that_nothing_can_count_are_released_and_said_to_be_alone(tmp_path):
    """Traces of nobody's name that overlap: whether they are one person's cannot be told."""
    prior, paper, trace = (tmp_path / name for name in ("prior.toml", "c.json", "t.csv"))
    assert run("fit", walks(tmp_path), "--prior", "rbf", "-o", prior).exit_code == 0
    rows = [f"{name},{10 * k},{np.sin(k / 3)}" for name in "ab" for k in range(30)]
    trace.write_text("\n".join(["trace,time,x", *rows]) + "\n", encoding="utf-8")
    done = release_of(trace, prior, tmp_path / "o.csv", "--certificate", paper)
    assert done.exit_code == 0, done.output
    covers = json.loads(paper.read_text(encoding="utf-8"))["covers"]
    assert covers.startswith("each release on its own, not several together (times 0 to 29 of")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("window = 0", "preparation.window must be a whole number, 1 or more; got 0"),
        ("window = 30.0", "preparation.window must be a whole number, 1 or more"),
        ("seconds = 0", "preparation.seconds must be positive; got 0"),
        ("seconds = nan", "preparation.seconds must be positive and finite"),
        ('metres = "north"', "preparation.metres must be a real number"),
        ("minutes = -5", "preparation.minutes must be a whole number, 1 or more"),
        ('published = "no"', "preparation.published must be"),
        ("windows = 30", "must have the [preparation] that sfumato fit has written"),
    ],
)
def test_a_preparation_that_is_none_is_refused(tmp_path, monkeypatch, capsys, line, words):
    prior, trace = tmp_path / "prior.toml", tmp_path / "t.csv"
    table = '[prior]\nname = "rbf"\nlength_scale = 3.0\ntimes = 30\n[preparation]\n'
    prior.write_text(f"{table}{line}\n", encoding="utf-8")
    rows = [f"ann,{10 * k},{np.sin(k / 3)}" for k in range(30)]
    trace.write_text("\n".join(["user,time,x", *rows]) + "\n", encoding="utf-8")
    nouns = ("--secret", "basic index=9", "--mechanism", "gaussian_uniform mse=1.0")
    said = ends_with(
        *(monkeypatch, capsys, "release", trace, "--prior", prior, *nouns),
        *("-o", tmp_path / "o.csv", "--measure", "renyi"),
    )
    assert words in said
    assert said.count("\n") == 1
    assert not (tmp_path / "o.csv").exists()


def test_a_slower_trace_than_the_fitted_ones_is_refused(tmp_path):
    prior, paper, trace = (tmp_path / name for name in ("prior.toml", "c.json", "t.csv"))
    assert run("fit", walks(tmp_path), "--prior", "rbf", "-o", prior).exit_code == 0
    trace.write_text("time,x\n0,1\n60,2\n120,4\n", encoding="utf-8")
    refused = release_of(trace, prior, tmp_path / "o.csv", "--certificate", paper)
    assert "got one every 60 s: fit a prior at that rate" in str(refused.exception)
    assert not paper.exists()
    prior.write_text(prior.read_text("utf-8") + "thinned = true\n", encoding="utf-8")
    refused = release_of(trace, prior, tmp_path / "o.csv")
    assert "must have the [preparation] that sfumato fit has written" in str(refused.exception)


def test_what_is_used_of_much_data_is_spread_evenly_and_said(tmp_path):
    """10,000 samples are 200 windows of 50, however long the trace is."""
    values = np.cumsum(np.random.default_rng(0).standard_normal(30_000))
    path, out = tmp_path / "long.csv", tmp_path / "p.toml"
    rows = [f"{k},{value}" for k, value in enumerate(values.tolist())]
    path.write_text("\n".join(["time,heart", *rows]) + "\n", encoding="utf-8")
    done = run("fit", path, "--prior", "rbf", "-o", out, "--json")
    assert done.exit_code == 0, done.output
    table = json.loads(done.stdout)
    assert table == read(out)
    words = "200 of 600 windows of 50 samples, one every 1 s, from 1 trace"
    assert table["fitted"]["used"] == words
    # The last quarter of the data counts as any other does.
    short = path.with_name("short.csv")
    short.write_text("\n".join(["time,heart", *rows[:22_500]]) + "\n", encoding="utf-8")
    assert run("fit", short, "--prior", "rbf", "-o", out, "--force").exit_code == 0
    assert read(out)["prior"] != table["prior"]


def test_the_end_of_a_search_is_said_in_words(tmp_path):
    path, out = tmp_path / "two.csv", tmp_path / "p.toml"
    path.write_text("time,x\n0,1\n1,2\n", encoding="utf-8")
    assert run("fit", path, "--prior", "rbf", "-o", out).exit_code == 0
    assert "1 of 1 fits stopped at an end" in (words := read(out)["fitted"]["at_bound_means"])
    assert "the ends of the class in length_scale are those of the search" in words


@pytest.mark.parametrize(
    ("prior", "words", "points"),
    [
        ("rbf times=20", (), 20),
        ("rbf", ("--times", 20), 20),
        ("rbf", ("--every", 20), 15),
        ("rbf times=20", ("--times", 21), "--times must be times=20; got 21"),
        ("rbf across=[[1.0]]", (), "got 'across'"),
    ],
)
def test_what_is_given_is_honoured_or_refused(tmp_path, prior, words, points):
    out = tmp_path / "p.toml"
    done = run("fit", walks(tmp_path), "--prior", prior, "-o", out, *words)
    if isinstance(points, str):
        assert points in str(done.exception)
    else:
        assert done.exit_code == 0, done.output
        assert read(out)["prior"]["times"] == read(out)["preparation"]["window"] == points


@pytest.mark.parametrize(
    ("prior", "steps"),
    [
        ("markov_chain steps=6", 6),
        ("markov_chain", 50),
        ("markov_chain initial=[1.0]", "only steps, states and smoothing can be known"),
        ('markov_chain states=["a"]', "'b'"),
    ],
)
def test_steps_of_a_chain_are_honoured_and_replayed(tmp_path, prior, steps):
    path, out, released = (tmp_path / name for name in ("s.csv", "p.toml", "o.csv"))
    rows = [f"ann,{k},{'ab'[k % 3 == 0]}" for k in range(100)]
    path.write_text("\n".join(["user,time,state", *rows]) + "\n", encoding="utf-8")
    done = run("fit", path, "--prior", prior, "-o", out)
    if isinstance(steps, str):
        assert steps in str(done.exception)
        return
    assert read(out)["prior"]["steps"] == read(out)["preparation"]["window"] == steps
    mechanism = f"suppress_given probabilities={[[1.0, 0.0]] * steps}"
    words = ("--prior", out, "--secret", 'contexts states=["a"]', "--mechanism", mechanism)
    done = run("release", path, *words, "-o", released)
    assert done.exit_code == 0, done.output
    (after,) = read_state_table(released)
    assert after.states == tuple("⊥" if k % 3 else "b" for k in range(100))[:100]


def test_too_many_places_are_refused_before_anything_is_allocated(tmp_path):
    path, out = tmp_path / "s.csv", tmp_path / "p.toml"
    rows = [f"u{k % 50},{k},place {k}" for k in range(30_000)]
    path.write_text("\n".join(["user,time,state", *rows]) + "\n", encoding="utf-8")
    done = run("fit", path, "--prior", "markov_chain", "-o", out)
    assert "50 matrices over 30,000 states would hold 45,000,000,000" in str(done.exception)
    people = {k: [f"{k} {step}" for step in range(2_000)] for k in range(6)}
    chains = sf.priors.markov_chain.fit_each(people)
    with pytest.raises(ValueError, match="12,000 states"):
        _ = chains[0]
    assert run("fit", path, "--prior", "markov_chain", "-o", out, "--user", "u7").exit_code == 0
    assert read(out)["fitted"]["states"] == 600


def test_no_points_at_all_are_refused(tmp_path):
    out = tmp_path / "p.toml"
    assert run("fit", walks(tmp_path), "--prior", "rbf", "-o", out, "--times", 0).exit_code == 2


def test_metres_are_refused_for_data_that_are_not_degrees(tmp_path):
    out = tmp_path / "p.toml"
    done = run("fit", walks(tmp_path), "--prior", "rbf", "-o", out, "--metres", 48)
    assert "--metres must have data in degrees" in str(done.exception)


def test_a_prior_that_must_be_told_more_says_what(tmp_path):
    done = run("fit", walks(tmp_path), "--prior", "kernel", "-o", tmp_path / "p.toml")
    assert "the prior 'kernel' must be given kernel to be fitted" in str(done.exception)


FORMAT = """
import sfumato as sf
from sfumato.datasets import read_trace_table
from sfumato.datasets.formats import Format

@sf.hookimpl
def sfumato_formats():
    return {"NAME": Format("traces", read_trace_table, lambda path: path.suffix == ".log")}
"""


def test_a_plugin_brings_a_format(tmp_path):
    plugin = tmp_path / "logs.py"
    plugin.write_text(FORMAT.replace("NAME", "log"), encoding="utf-8")
    data = walks(tmp_path).rename(tmp_path / "walks.log")
    out = tmp_path / "p.toml"
    done = run("fit", data, "--prior", "rbf", "-o", out, "--plugin", plugin)
    assert done.exit_code == 0, done.output
    done = run("fit", data, "--prior", "rbf", "-o", out, "--format", "log", "--force")
    assert done.exit_code == 2
    assert "there is no format 'log'" in done.output
    plugin.write_text(FORMAT.replace("NAME", "gpx"), encoding="utf-8")
    done = run("fit", data, "--prior", "rbf", "-o", out, "--plugin", plugin, "--force")
    assert "the format 'gpx' is sfumato's own" in str(done.exception)


def test_published_geolife_says_its_rules_and_is_replayed(tmp_path):
    """Ten traces of somebody: the shape as published, the variance in metres, windows of 50."""
    folder, out = tmp_path / "Data" / "000" / "Trajectory", tmp_path / "p.toml"
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    belief = sf.priors.rbf(length_scale=6.0, times=100, variance=1e4, dimensions=2).belief()
    for number in range(10):
        walk = belief.sample(rng).reshape(100, 2)
        fixes = walk / 111194.9 + [0.5, 116.0]
        rows = [
            f"{lat},{lon},0,0,{39744 + 5 * k / 86400:.10f},-,-"
            for k, (lat, lon) in enumerate(fixes.tolist())
        ]
        text = "\n".join(["header"] * 6 + rows) + "\n"
        (folder / f"{number}.plt").write_text(text, encoding="utf-8")
    few = run("fit", tmp_path, "--prior", "rbf", "-o", out, "--published", "--user", "001")
    assert "must have a trace of 001" in str(few.exception)
    words = ("--prior", "rbf", "-o", out, "--published", "--metres", 0)
    done = run("fit", tmp_path / "Data", *words)
    assert done.exit_code == 0, done.output
    table = read(out)
    assert table["preparation"] == {"seconds": 5.0, "window": 50, "metres": 0.0}
    low, high = table["prior"]["variance"]["interval"]
    assert 1e3 < low < high < 2e4  # square metres
    released = tmp_path / "o.csv"
    done = release_of(tmp_path / "Data", out, released)
    assert done.exit_code == 0, done.output
    assert [len(trace) for trace in read_trace_table(released)] == [100] * 10
    (folder / "0.plt").unlink()
    done = run("fit", tmp_path / "Data", *words, "--force")
    assert "users with 10 traces or more" in str(done.exception)
    refused = release_of(tmp_path / "Data", out, released, "--metres", 40)
    assert "--metres must be 0, as the prior was fitted; got 40" in str(refused.exception)
