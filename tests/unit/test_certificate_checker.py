"""The checker: it stands alone, proves what is true, and rejects what was bent."""

from __future__ import annotations

import ast
import itertools
import json
import math
import subprocess
import sys
from fractions import Fraction

import attrs
import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.commands import cli
from sfumato.release import checker
from sfumato.release.certificates import certificate_text, certify, sealed

EVEN = "gaussian_uniform mse=0.5"
CENTRE = "basic index=4"
SCENARIOS = {
    "rbf": (
        "rbf length_scale=3.0 times=20",
        "basic index=9 radius=0.5",
        "gaussian_optimal mse=0.5",
    ),
    "matern": ("matern length_scale=3.0 times=15 variance=4.0", "basic index=3", EVEN),
    "periodic": ("periodic length_scale=1.0 period=6.5 times=15", "basic index=3", EVEN),
    "plane": ("rbf length_scale=3.0 times=8 dimensions=2", "basic index=3", EVEN),
    "class": ("rbf length_scale={any_of=[1.0,3.0]} times=12", "basic index=3", EVEN),
}
HOME = """{ name = "markov_chain", initial = [0.5, 0.3, 0.2],
    transitions = [[0.6, 0.3, 0.1], [0.3, 0.5, 0.2], [0.2, 0.2, 0.6]],
    steps = 4, states = ["home", "work", "bar"] }""".replace("\n", " ")
CHAIN = (HOME, 'contexts states=["bar"]')
RENYI, GAP = sf.measures.renyi(order=2.0), sf.measures.posterior_gap()
ADVANTAGE = sf.measures.advantage()


@pytest.fixture(autouse=True)
def _restore(fresh_registry):
    """Every command loads the registry anew."""


def sfumato(*arguments):
    return CliRunner().invoke(cli, list(map(str, arguments)))


@pytest.fixture
def shop(tmp_path):
    """A release in a ledger, with its certificate."""
    prior, secret, mechanism = SCENARIOS["rbf"]
    rows = [f"ann,{10 * k},{math.sin(k / 3)}" for k in range(20)]
    (tmp_path / "in.csv").write_text("user,time,x\n" + "\n".join(rows) + "\n", "utf-8")
    done = sfumato(
        *("release", tmp_path / "in.csv", "--prior", prior, "--secret", secret),
        *("--mechanism", mechanism, "-o", tmp_path / "out.csv"),
        *("--certificate", tmp_path / "c.json", "--ledger", tmp_path / "ledger"),
        *("--budget", "advantage", "0.9", "--measure", "renyi", "--measure", "advantage"),
        *("--measure", "mean_squared_error"),
    )
    assert done.exit_code == 0, done.output
    tmp_path.joinpath("said").write_text(done.stderr, "utf-8")
    return tmp_path


def check(shop, certificate=None):
    if certificate is not None:
        (shop / "c.json").write_text(json.dumps(certificate), "utf-8")
    return sfumato(
        *("certificate", "check", shop / "c.json"),
        *("--trace", shop / "out.csv", "--ledger", shop / "ledger"),
    )


def test_a_true_certificate_is_proved_and_said_aloud(shop):
    done = check(shop)
    assert done.exit_code == 0, done.output
    assert done.output.count("proved  ") == 2
    assert "not checked  mean squared error" in done.output
    plain = json.loads(sfumato("certificate", "check", shop / "c.json", "--json").output)
    assert [one["verdict"] for one in plain].count("proved") == 2
    table = json.loads((shop / "c.json").read_text("utf-8"))
    assert next(iter(table)) == "guarantees"
    assert not table["guarantees"][0]["utility"]
    assert table["guarantees"][-1]["utility"]
    said = (shop / "said").read_text("utf-8")
    for key in ("against", "about", "covers"):
        assert table[key] in said
    assert table["guarantees"][0]["statement"] in said


def bent(table, place, value):
    table = json.loads(json.dumps(table))
    inner = table
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return table


def resealed(table):
    return {**table, "seal": checker.seal_of(table)}


BENDS = {
    "a smaller loss": (("guarantees", 0, "ceiling"), 0.01),
    "another secret": (("secret", "index"), 3),
    "another prior": (("prior", "length_scale"), 9.0),
    "less noise": (("channel", "noise", "terms", 1, "variances", 0), 1e-9),
    "another person's ledger entry": (("ledger",), ["0" * 64]),
    "another released trace": (("released_sha256",), "0" * 64),
    "a smaller error": (("guarantees", 1, "ceiling"), 1e-3),
    "other words about what": (("about",), "basic(index=9, radius=5.0)"),
    "other words against whom": (("against",), "anyone"),
}


@pytest.mark.parametrize("bend", BENDS.values(), ids=BENDS)
def test_a_tampered_certificate_is_rejected_sealed_again_or_not(shop, bend):
    table = json.loads((shop / "c.json").read_text("utf-8"))
    for one in (bent(table, *bend), resealed(bent(table, *bend))):
        done = check(shop, one)
        assert done.exit_code == 1
        assert "FALSE" in done.output


def test_a_swapped_trace_and_an_edited_ledger_are_rejected(shop):
    text = (shop / "out.csv").read_text("utf-8")
    (shop / "out.csv").write_text(text.replace("0,", "1,", 1), "utf-8")
    assert "FALSE  the hash of the released trace" in check(shop).output
    (shop / "out.csv").write_text(text, "utf-8")
    assert check(shop).exit_code == 0
    ledger = (shop / "ledger").read_text("utf-8")
    (shop / "ledger").write_text(ledger.replace('"at":0', '"at":7'), "utf-8")
    done = check(shop)
    assert done.exit_code == 1
    assert "FALSE  the ledger" in done.output
    (shop / "ledger").write_text(ledger.splitlines(keepends=True)[0], "utf-8")
    assert "rolled back" in check(shop).output
    (shop / "ledger.head").unlink()  # rolled back with its head: the certificate still names it
    assert "FALSE  the ledger holds the entries" in check(shop).output


@pytest.mark.parametrize(("length_scale", "verdict"), [(3.0, "true"), (1.0, "FALSE")])
def test_entries_counted_under_another_prior_are_of_another_release(shop, length_scale, verdict):
    """The same noise, secret and released trace, counted where next to nothing adds up."""
    table = json.loads((shop / "c.json").read_text("utf-8"))
    prior = sf.priors.rbf(length_scale=length_scale, times=20)
    release = sf.mechanisms.gaussian_given(covariance=np.eye(20)).protect(
        prior, sf.secrets.basic(9, radius=0.5)
    )
    own = sf.priors.rbf(length_scale=3.0, times=20)
    claimed = attrs.evolve(release, prior=own)
    entries = sf.Ledger(shop / "other").record_all(
        [(release, "ann", 0)], released=table["released_sha256"]
    )
    paper = {**certify(claimed, [RENYI], None), "ledger": entries}
    paper = sealed({**paper, "released_sha256": table["released_sha256"]})
    found = checker.check(json.dumps(paper), shop / "out.csv", shop / "other")
    assert (verdict, "those entries are of this release") in found


def test_damaged_files_are_false_not_a_crash(shop):
    for text in ("", "{}", "[]", '{"guarantees": 3}', "null"):
        (shop / "c.json").write_text(text, "utf-8")
        done = check(shop)
        assert done.exit_code == 1
        assert "FALSE" in done.output


def test_the_checker_stands_alone(shop):
    """One file, the standard library, in an interpreter that cannot import sfumato."""
    program = sfumato("certificate", "check", "--program").output
    tree = ast.parse(program)
    modules = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    modules |= {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    assert {name.split(".")[0] for name in modules} <= {*sys.stdlib_module_names}
    assert len(program.splitlines()) < 640
    (shop / "alone.py").write_text(program, "utf-8")
    files = ["--trace", "out.csv", "--ledger", "ledger"]
    done = subprocess.run(
        [sys.executable, "-I", "-S", "alone.py", "c.json", *files],
        cwd=shop, capture_output=True, text=True, encoding="utf-8", check=False,
        env={"PYTHONIOENCODING": "utf-8", "PYTHONUTF8": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == check(shop).output.splitlines()[-1]


def certificate_of(prior, secret, mechanism, *measures):
    build = sf.registry.build
    from sfumato.commands.arguments import specification

    nouns = [
        build(kind, specification(kind, text))
        for kind, text in (("prior", prior), ("secret", secret), ("mechanism", mechanism))
    ]
    release = nouns[2].protect(*nouns[:2])
    table = sealed(certify(release, measures, None))
    return json.loads(certificate_text(table))


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)
def test_true_values_are_proved_and_smaller_ones_are_not(scenario):
    measures = sf.measures.renyi(order=3.0), sf.measures.advantage()
    table = certificate_of(*scenario, *measures)
    for claim in table["guarantees"]:
        assert checker.check_claim(table, claim)[0] == "proved"
        lower = {**claim, "ceiling": claim["value"] * (1 - 1e-5)}
        assert checker.check_claim(table, lower)[0] == "FALSE"


INTERVALS = {
    "length": ("rbf length_scale={interval=[2.0,4.0]} times=9", "basic index=4", EVEN),
    "variance": ("matern length_scale=3.0 variance={interval=[1.0,4.0]} times=9", CENTRE, EVEN),
    "both": (
        "rbf length_scale={interval=[1.5,4.0]} variance={interval=[1.0,4.0]} times=6 dimensions=2",
        "basic index=2",
        "gaussian_uniform mse=2.0",
    ),
}


@pytest.mark.parametrize("scenario", INTERVALS.values(), ids=INTERVALS)
def test_intervals_of_priors_are_proved_and_no_member_may_be_worse(scenario):
    table = certificate_of(*scenario, sf.measures.renyi(order=3.0), sf.measures.advantage())
    assert len(table["guarantees"]) == 2
    for claim in table["guarantees"]:
        assert checker.check_claim(table, claim)[0] == "proved"
        # `floor` is attained by a member, so less than that is a lie.
        lower = {**claim, "ceiling": claim["floor"] * (1 - 1e-5)}
        assert checker.check_claim(table, lower)[0] == "FALSE"


def test_between_two_length_scales_the_matrix_bends_no_further_than_is_said():
    """Oracle: the largest eigenvalue of the difference from the chord, on a grid."""
    spec = {"name": "rbf", "times": list(range(7)), "variance": 2.0, "dimensions": 1}
    most, low, high = Fraction(3, 2), 1.5, 1.9

    def matrix(scale):
        lags = np.subtract.outer(np.arange(7), np.arange(7))
        rho = np.exp(-(lags**2) / (2 * scale**2))
        return 2 * rho - (1 / 2 + 1 / (1.5 * 4)) * 4 * np.outer(rho[3], rho[3])

    worst = 0.0
    for part in np.linspace(0, 1, 41):
        scale = low ** (1 - part) * high**part
        chord = (1 - part) * matrix(low) + part * matrix(high)
        worst = max(worst, np.linalg.norm(matrix(scale) - chord, 2))
    said = float(checker.bend(spec, 3, most, (low, high)))
    assert worst <= said <= 20 * worst


def brute_gap(initial, moves, steps, start, after, events):  # noqa: PLR0917
    """Oracle: every trace and output, in fractions."""
    count = len(initial)
    joint, prior = {}, [Fraction(0)] * len(events)
    for path in itertools.product(range(count), repeat=steps):
        weight = initial[path[0]]
        for a, b in itertools.pairwise(path):
            weight *= moves[a][b]
        hits = [path[t] in states for t, states in events]
        for k, hit in enumerate(hits):
            prior[k] += weight * hit
        for shown in itertools.product((False, True), repeat=steps):
            chance, last = weight, None
            for t, state in enumerate(path):
                table = start if last is None or after is None else after[last[0]][last[1]]
                chance *= 1 - table[t][state] if shown[t] else table[t][state]
                last = (t, state) if shown[t] else last
            if chance:
                output = tuple(s if seen else None for s, seen in zip(path, shown, strict=True))
                cell = joint.setdefault(output, [Fraction(0)] * (1 + len(events)))
                cell[0] += chance
                for k, hit in enumerate(hits):
                    cell[k + 1] += chance * hit
    return max(
        cell[k + 1] / cell[0] - prior[k] for cell in joint.values() for k in range(len(events))
    )


EIGHTHS = st.integers(0, 8).map(lambda n: n / 8)


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_the_largest_gap_is_that_of_every_trace_and_output(data):
    law = st.sampled_from([[0.5, 0.5], [0.25, 0.75], [1.0, 0.0], [0.125, 0.875]])
    initial, moves = data.draw(law), [data.draw(law) for _ in range(2)]
    steps = data.draw(st.integers(1, 3))
    row = st.lists(EIGHTHS, min_size=2, max_size=2)
    table = st.lists(row, min_size=steps, max_size=steps)
    start = data.draw(table)
    after = data.draw(
        st.none()
        | st.lists(st.lists(table, min_size=2, max_size=2), min_size=steps, max_size=steps)
    )
    events = [(t, {0}) for t in range(steps)]
    spec = {"initial": initial, "transitions": moves, "steps": steps}
    found = checker.largest_gap(spec, {"start": start, "after": after}, events)
    exact = [[Fraction(p) for p in law] for law in moves]
    tables = lambda t: t and [[Fraction(p) for p in row] for row in t]  # noqa: E731
    later = after and [[tables(one) for one in states] for states in after]
    truth = brute_gap(list(map(Fraction, initial)), exact, steps, tables(start), later, events)
    assert found == max(truth, Fraction(0))


@pytest.mark.parametrize("mechanism", ["suppress_probabilistic", "suppress_segmented"])
def test_gaps_of_suppressed_chains_are_proved(mechanism):
    gap = sf.measures.posterior_gap()
    table = certificate_of(*CHAIN, f"{mechanism} delta=0.2", gap)
    (claim,) = table["guarantees"]
    assert checker.check_claim(table, claim)[0] == "proved"
    lower = {**claim, "ceiling": claim["value"] - 1e-6}
    assert checker.check_claim(table, lower)[0] == "FALSE"


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("channel", "start"), []),
        (("channel", "start"), [[1, 1]]),
        (("secret", "times"), [-1]),
        (("secret", "times"), []),
    ],
)
def test_a_chain_of_another_shape_proves_nothing(place, value):
    gap = sf.measures.posterior_gap()
    table = bent(certificate_of(*CHAIN, "suppress_probabilistic delta=0.2", gap), place, value)
    with pytest.raises(ValueError, match=r"step and state|times that"):
        checker.check_claim(table, {**table["guarantees"][0], "ceiling": 0.01})


FAR = 1e80  # too far for the digits that are kept: 0.6 is taken for 1
EMPTY = "a class without a prior"


@pytest.mark.parametrize(
    ("bend", "reason"),
    [
        ({"any_of": []}, EMPTY),
        ({"name": "rbf", "length_scale": {"any_of": []}, "times": 2}, EMPTY),
        ({"name": "rbf", "length_scale": {"interval": [9.0, 1.0]}, "times": 2}, "that is none"),
        (
            {"name": "rbf", "length_scale": 1.0, "variance": {"interval": [9.0, 1.0]}, "times": 2},
            "that is none",
        ),
        ({"name": "periodic", "length_scale": 1.0, "period": 3.3, "times": [0.0, FAR]}, "periods"),
    ],
)
def test_a_class_that_is_none_proves_nothing(bend, reason):
    table = certificate_of("rbf length_scale=2.0 times=2", "basic index=0", EVEN, RENYI)
    with pytest.raises((ValueError, checker.NotCheckedError), match=reason):
        checker.check_gaussian({**table, "prior": bend}, table["guarantees"][0])


@pytest.mark.parametrize(
    "noise",
    [
        {"kind": "Diagonal", "variances": [4.0, -0.001]},
        {"kind": "Dense", "entries": [[1.0, 1.5], [1.5, 1.0]]},
        {"kind": "Scaled", "factor": -0.1, "base": {"kind": "Diagonal", "variances": [1.0, 1.0]}},
    ],
)
def test_noise_that_nobody_can_draw_proves_nothing(noise):
    """The matrix of the proof is definite: of a variance of 9 some of the noise may be negative."""
    prior = "rbf length_scale=0.1 variance=9.0 times=2"
    table = certificate_of(prior, "basic index=0", EVEN, RENYI)
    channel = {"kind": "AdditiveGaussian", "noise": noise}
    claim = {**table["guarantees"][0], "ceiling": 1e6}
    assert checker.check_claim({**table, "channel": channel}, claim)[0] == "not checked"


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("prior", "initial"), [0.2, 0.1, 0.1]),
        (("prior", "initial"), [1.5, -0.6, 0.1]),
        (("prior", "transitions", 0), [0.3, 0.3, 0.1, 0.3]),
        (("prior", "transitions", 0), [0.6, 0.5, -0.1]),
    ],
)
def test_laws_that_are_none_prove_nothing(place, value):
    table = bent(certificate_of(*CHAIN, "suppress_probabilistic delta=0.2", GAP), place, value)
    with pytest.raises(ValueError, match="that is none"):
        checker.check_claim(table, {**table["guarantees"][0], "ceiling": 0.99})


def test_an_advantage_is_proved_to_the_last_digits():
    """Oracle: erf(√M r/√8) of one value with noise, M = 1/mse, by the definition."""
    for radius, mse in ((1e-3, 1000.0), (0.7, 0.5), (3.0, 0.2)):
        secret = f"basic index=0 radius={radius}"
        noise = f"gaussian_uniform mse={mse}"
        table = certificate_of("rbf length_scale=2.0 times=1", secret, noise, ADVANTAGE)
        claim = table["guarantees"][0]
        assert checker.check_claim(table, claim)[0] == "proved"
        truth = math.erf(radius / math.sqrt(8 * mse))
        assert claim["ceiling"] == pytest.approx(truth, rel=1e-12)
        lower = {**claim, "ceiling": truth * (1 - 1e-12)}
        assert checker.check_claim(table, lower)[0] == "FALSE"


def test_noise_that_is_not_symmetric_proves_nothing():
    table = certificate_of(
        "rbf length_scale=2.0 times=2",
        "basic index=0",
        "gaussian_given covariance=[[1.0,0.5],[0.5,1.0]]",
        sf.measures.renyi(),
    )
    (claim,) = (one for one in table["guarantees"] if one["measure"]["name"] == "renyi")
    assert checker.check_claim(table, claim)[0] == "proved"
    text = json.dumps(table["channel"]).replace("[[1.0, 0.5]", "[[1.0, 0.9]")
    table["channel"] = json.loads(text)
    assert checker.check_claim(table, claim)[0] == "FALSE"


@pytest.mark.parametrize(
    ("prior", "secret", "mechanism", "measure", "reason"),
    [
        (
            "matern length_scale={interval=[1.0,2.0]} times=5",
            "basic index=3",
            EVEN,
            RENYI,
            "length scales of matern",
        ),
        ("rbf length_scale=2.0 times=120", "basic index=3", EVEN, RENYI, "more than 100"),
        ("rbf length_scale=2.0 times=5", "every_point", EVEN, RENYI, "the secret every_point"),
        (
            "periodic length_scale=1.0 period={interval=[6.0,7.0]} times=5",
            "basic index=3",
            EVEN,
            sf.measures.advantage(),
            "not a list",
        ),
        ("rbf length_scale=2.0 times=5", "basic index=3", EVEN, GAP, "the measure posterior_gap"),
        (*CHAIN, "randomised_response epsilon=0.5", GAP, "the channel Symbols"),
        (
            "line_chain states=3 tau=0.5 steps=4",
            "contexts states=[1]",
            "suppress_probabilistic delta=0.2",
            GAP,
            "the prior line_chain",
        ),
    ],
)
def test_what_is_not_proved_is_said_to_be_unchecked(prior, secret, mechanism, measure, reason):
    table = certificate_of(prior, secret, mechanism, measure)
    verdicts = [checker.check_claim(table, claim) for claim in table["guarantees"]]
    assert [verdict for verdict, _ in verdicts] == ["not checked"]
    assert reason in verdicts[0][1]


def test_nothing_proved_is_no_success(shop):
    table = json.loads((shop / "c.json").read_text("utf-8"))
    table["guarantees"] = table["guarantees"][-1:]
    done = check(shop, resealed(table))
    assert done.exit_code == 1
    assert "0 claims proved" in done.output


def test_fifty_values_under_optimal_noise_are_proved():
    scenario = ("rbf length_scale=6.0 times=50", "basic index=24", "gaussian_optimal mse=0.02")
    table = certificate_of(*scenario, sf.measures.renyi(order=2.0))
    assert checker.check_claim(table, table["guarantees"][0])[0] == "proved"


def test_definiteness_is_decided_exactly():
    assert checker.is_definite([[2], [1, 1]])
    assert not checker.is_definite([[1], [1, 1]])
    rng = np.random.default_rng(0)
    for _ in range(30):
        root = rng.integers(-3, 4, (4, 4))
        matrix = root @ root.T + int(rng.integers(-2, 2)) * np.eye(4, dtype=int)
        minors = [round(np.linalg.det(matrix[:k, :k])) for k in range(1, 5)]
        lower = [[int(x) for x in matrix[i, : i + 1]] for i in range(4)]
        assert checker.is_definite(lower) == all(minor > 0 for minor in minors)


def test_noise_of_many_values_is_measured_before_a_table_is_made_of_it():
    """A table of 100,000 values squared would take all memory."""
    noise = {"kind": "Sum", "terms": [{"kind": "Diagonal", "variances": [1.0] * 100_000}]}
    with pytest.raises(checker.NotCheckedError, match="100000 values, more than 100"):
        checker.noise_matrix(noise)


def test_stamps_that_are_no_whole_numbers_are_proved_too():
    """Their differences once lost digits between being listed and being looked up."""
    stamps = [0.0, 0.1, 0.7000000000000001, 1.3, 2.225073858507201]
    table = certificate_of(f"rbf length_scale=1.0 times={stamps}", "basic index=2", EVEN, RENYI)
    (claim,) = table["guarantees"]
    assert checker.check_claim(table, claim)[0] == "proved"


def words_with(number):
    return lambda claim: claim["statement"].replace(f"{claim['value']:.6g}", number)


LIES = {
    "a smaller number": words_with("0.001"),
    "no number": words_with("small"),
    "another order": lambda claim: claim["statement"].replace("order=2", "order=50"),
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_a_statement_with_another_number_is_false_though_sealed_again(lie):
    table = certificate_of(*SCENARIOS["rbf"], RENYI)
    claim = {**table["guarantees"][0], "statement": lie(table["guarantees"][0])}
    assert claim != table["guarantees"][0]
    lines = checker.check(json.dumps(resealed({**table, "guarantees": [claim]})))
    assert "FALSE" in [verdict for verdict, _ in lines]
    assert "proved" not in [verdict for verdict, _ in lines]


CLAIMED = {
    "rbf": (*SCENARIOS["rbf"], RENYI),
    "class": (*SCENARIOS["class"], ADVANTAGE),
    "interval": (*INTERVALS["length"], RENYI),
    "chain": (*CHAIN, "suppress_probabilistic delta=0.2", GAP),
}
OTHERS = {  # of each field of a claim
    "measure": lambda one: [{**one, "name": "mean_squared_error"}, {**one, "order": 7.0}],
    "quantity": lambda one: [f"{one} squared", "advantage"],
    "parameters": lambda one: [{**one, "order": 7.0}, {**one, "radius": 0.1}],
    "worse": lambda _: ["smaller", ""],
    "value": lambda one: [one * 0.9, one * 1.1],
    "bound": lambda one: ["lower", "estimate", {"exact": "upper", "upper": "exact"}[one]],
    "floor": lambda one: [one * 1.1 + 1],
    "ceiling": lambda one: [one * 0.99, one * 1.01, "inf"],
    "utility": lambda _: [True, None],
}
ENDINGS = (", and of every secret", "\n     proved  all is well", "\u202e", "\x1b[2K", " ")


def forged(table, number, **changes):
    claims = [dict(claim) for claim in table["guarantees"]]
    claims[number] |= changes
    return checker.check(json.dumps(resealed({**table, "guarantees": claims})))


@pytest.mark.parametrize("scenario", CLAIMED.values(), ids=CLAIMED)
def test_no_word_and_no_number_of_a_claim_can_be_another_one(scenario):
    table = certificate_of(*scenario)
    (claim,) = table["guarantees"]
    (said,) = (what for verdict, what in checker.check(json.dumps(table)) if verdict == "proved")
    assert set(claim) - {"worst_belief"} == {*OTHERS, "statement", "how"}
    lies = [(key, value) for key, others in OTHERS.items() for value in others(claim[key])]
    words = claim["statement"].split()
    dropped = [" ".join(words[:k] + words[k + 1 :]) for k in range(len(words))]
    lies += [("statement", lie) for lie in dropped]
    lies += [("statement", claim["statement"] + ending) for ending in ENDINGS]
    for key, value in lies:
        lines = forged(table, 0, **{key: value})
        assert "proved" not in [verdict for verdict, _ in lines], (key, value)
        assert all(what.isprintable() for _, what in lines)
    lines = forged(table, 0, how="revealed in a dream")
    assert ("proved", said) in lines
    assert not any("dream" in what for _, what in lines)
    assert any(v == "not checked" and "how losses were found" in what for v, what in lines)


@pytest.mark.parametrize("scenario", CLAIMED.values(), ids=CLAIMED)
def test_a_word_that_nobody_reads_is_not_passed_over(scenario):
    """Of a prior, a secret, a channel or its noise: what it means is not known here."""
    table = certificate_of(*scenario)
    places = [("prior",), ("secret",), ("channel",), ("channel", "noise")]
    for place in places[: 3 + ("noise" in table["channel"])]:
        inner = table
        for key in place:
            inner = inner[key]
        odd = bent(table, place, {**inner, "twist": 2})
        verdict, why = checker.check_claim(odd, table["guarantees"][0])
        assert (verdict, "with twist" in why) == ("not checked", True)


def test_a_channel_of_other_dimensions_or_names_proves_nothing():
    plane = certificate_of(*SCENARIOS["plane"], RENYI)
    one = bent(plane, ("channel", "dimensions"), 1)
    assert checker.check_claim(one, plane["guarantees"][0])[0] == "FALSE"
    chain = certificate_of(*CHAIN, "suppress_probabilistic delta=0.2", GAP)
    shown = bent(chain, ("channel", "shown"), ["home", "home", "bar"])
    assert checker.check_claim(shown, chain["guarantees"][0])[0] == "not checked"


def test_what_else_is_said_is_listed_as_not_checked(shop):
    done = check(shop).output
    (rest,) = (line for line in done.splitlines() if "how losses were found" in line)
    for key in ("mechanism", "utility", "random_source", "versions", "refusals"):
        assert key in rest


def test_a_key_that_stands_twice_is_refused():
    table = certificate_of(*SCENARIOS["rbf"], RENYI)
    text = json.dumps(table).replace('{"guarantees"', '{"guarantees": "none at all", "guarantees"')
    assert json.loads(text) == table
    ((verdict, what),) = checker.check(text)
    assert verdict == "FALSE"
    assert "stands twice" in what


@pytest.mark.parametrize("names", [["home", "bar", "bar"], ["home", "work", "den", "bar"]])
def test_states_that_are_not_those_of_the_chain_prove_nothing(names):
    table = certificate_of(*CHAIN, "suppress_probabilistic delta=0.2", GAP)
    forged = bent(bent(table, ("prior", "states"), names), ("channel", "states"), names)
    claim = {**table["guarantees"][0], "ceiling": 0.0, "statement": "gap [p] = 0"}
    lines = checker.check(json.dumps(resealed({**forged, "guarantees": [claim]})))
    assert "proved" not in [verdict for verdict, _ in lines]


def test_what_is_too_large_is_said_before_it_is_built():
    table = certificate_of("rbf length_scale=3.0 times=6000", "basic index=9", EVEN, RENYI)
    (claim,) = table["guarantees"]
    assert checker.check_claim(table, claim)[1].endswith("(6000 values, more than 100)")
    claim = {**claim, "statement": "none"}
    assert checker.check_claim(bent(table, ("prior", "times"), 10**12), claim)[0] == "not checked"
