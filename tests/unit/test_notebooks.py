"""What notebooks need: short reprs, rich ones, numbers as numbers, and everything pickles."""

from __future__ import annotations

import copy
import inspect
import math
import pickle
from decimal import Decimal
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.datasets import RealTrace, StateSequence
from sfumato.laws import verify
from sfumato.quantities import reading_text, round_outwards
from sfumato.release.certificates import certify
from sfumato.report.cards import mark_sentence
from sfumato.views import view_of
from sfumato_information_flow.refinement import refinement

PRIOR = sf.priors.rbf(length_scale=2.0, times=6)
FAMILY = sf.priors.rbf(length_scale=sf.Interval(1.0, 3.0), times=6)
SECRET = sf.secrets.basic(2)
CHAIN = sf.priors.markov_chain(
    initial=[0.5, 0.5], transitions=[[0.9, 0.1], [0.2, 0.8]], steps=4, states=["s", "x"]
)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    release = sf.mechanisms.gaussian_uniform(mse=0.1).protect(PRIOR, SECRET)
    best = sf.mechanisms.gaussian_optimal(mse=0.1).protect(PRIOR, SECRET)
    loss = sf.measures.renyi().loss(PRIOR, SECRET, release)
    table = sf.compare(
        [PRIOR], [SECRET], [release.mechanism, best.mechanism], [sf.measures.renyi()]
    )
    study = sf.Study.from_table(
        {
            "title": "x",
            "priors": [PRIOR],
            "secrets": [SECRET],
            "mechanisms": [release.mechanism],
            "measures": ["renyi"],
        }
    )
    here = {"quantity": sf.Quantity("gap"), "scenario": sf.Scenario(0, 0, 0)}
    verification = verify("belief.possible", "rbf")
    stream = release.stream()
    stream.send(0.1)
    (risk,) = study.run(maps=True).comparisons[0].maps
    contexts = sf.secrets.contexts({"s"})
    at = sf.mechanisms.suppress_sensitive().protect(CHAIN, contexts).situation(CHAIN, contexts)
    return {
        "situation": at,
        "question": at.question,
        "every state": sf.secrets.every_point().question(at.belief),
        "every value": sf.secrets.every_point().question(sf.priors.rbf(2.0, times=99).belief()),
        "view": view_of(at.belief, at.question, at.channel),
        "view of a value": view_of(
            PRIOR.belief(), SECRET.question(PRIOR.belief()), release.channel
        ),
        "population": sf.measures.differential_privacy().of_population(
            [CHAIN, CHAIN], sf.secrets.trajectory(), sf.mechanisms.sensor_counts("s")
        ),
        "ledger": sf.Ledger(
            tmp_path_factory.mktemp("ledger") / "ann.ledger", budget=(sf.measures.advantage(), 0.9)
        ),
        "fit": sf.priors.rbf.fit([[0.1, 0.2, 0.3, 0.1, 0.4], [0.3, 0.1, 0.2, 0.1, 0.0]]),
        "chains": sf.priors.markov_chain.fit_each({"ann": [[0, 1, 1]], "bob": [0, 1, 0]}),
        "cell": table.cells[0],
        "risk map": risk,
        "risk row": risk.rows[0],
        "stream": stream,
        "posterior": sf.adversaries.gaussian_posterior().infer(
            PRIOR.belief(), release.channel, [0.0] * 6
        ),
        "verification": verification,
        "verdict": verification.verdicts[0],
        "contradiction": sf.contradictions(
            [
                sf.Loss(value=0.5, bound="exact", **here),
                sf.Loss(value=0.4, bound="upper", **here),
            ]
        )[0],
        "refinement": refinement(np.eye(2), np.array([[0.8, 0.2], [0.3, 0.7]])),
        "trace": RealTrace("ann", range(500), range(500)),
        "states": StateSequence("ann", range(500), ["home"] * 500, name="day.csv"),
        "prior": PRIOR,
        "family": FAMILY,
        "choice": sf.AnyOf(1.0, 3.0),
        "either": sf.AnyOf(PRIOR, sf.priors.matern(length_scale=1.0, times=6, nu=1.5)),
        "sum": PRIOR + PRIOR,
        "class of sums": FAMILY + PRIOR,
        "kernel class": sf.priors.kernel(
            kernel={"name": "RBF", "length_scale": sf.Interval(1.0, 2.0)}, times=5
        ),
        "chain": CHAIN,
        "secret": SECRET,
        "union": SECRET | sf.secrets.basic(4),
        "contexts": sf.secrets.contexts({"s"}),
        "mechanism": release.mechanism,
        "measure": sf.measures.renyi(),
        "adversary": sf.adversaries.map(),
        "release": release,
        "suppression": sf.mechanisms.suppress_sensitive().protect(
            CHAIN, sf.secrets.contexts({"s"})
        ),
        "best": best,
        "loss": loss,
        "comparison": table,
        "result": study.run(),
        "supremum": FAMILY.supremum(lambda member: member.length_scale),
        "constructor": sf.priors.rbf,
        "namespace": sf.priors,
        "labelled": sf.Labelled(SECRET, "x"),
        "study": study,
        "part": study.parts[0],
        "calibration": sf.calibrate(
            release.mechanism, PRIOR, SECRET, sf.measures.advantage(), target=0.5
        ),
    }


PARTS = ("situation", "question", "every state", "every value", "view", "view of a value")
NO_RESULTS = ("constructor", "namespace", "labelled", *PARTS)
STAY = ("ledger", "stream")
"""A file, and what may answer only once: they are not copied."""
NOT_COMPARED = (
    *PARTS,
    "posterior",
    "chains",
    "population",
    "fit",
    "risk map",
    "risk row",
    "verification",
)


class Balanced(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.words = [], []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def words(result):
    found = Balanced()
    found.feed(result._repr_html_())
    assert found.open == []
    return " ".join(" ".join(found.words).split())


def test_every_repr_is_short(results):
    for name, result in results.items():
        if name != "namespace":
            assert len(repr(result)) <= 200, name
        assert "\n" not in repr(result)
    assert len(repr(sf.registry)) <= 200


def test_every_card_can_be_shown(results):
    for name, result in results.items():
        if name not in NO_RESULTS:
            assert words(result), name


def test_everything_pickles_and_copies(results):
    for name, result in results.items():
        if name in STAY:
            continue
        for again in (
            pickle.loads(pickle.dumps(result)),  # noqa: S301 - our own
            copy.copy(result),
            copy.deepcopy(result),
        ):
            assert repr(again) == repr(result), name
            assert again == result or name in NOT_COMPARED, name


def test_pictures_pickle_too(results):
    picture = results["comparison"].plot()
    again = pickle.loads(pickle.dumps(picture))  # noqa: S301 - our own
    assert again._repr_svg_() == picture._repr_svg_()


def test_cards_of_other_results_say_what_they_are(results):
    row = results["risk row"]
    losses = f"losses {min(row.losses.values()):.6g} to {max(row.losses.values()):.6g}"
    for name, said in {
        "calibration": str(results["calibration"]).splitlines()[-1],
        "supremum": "member",
        "study": "cells 1",
        "part": "cells 1",
        "population": "2 people",
        "ledger": "advantage() up to 0.9",
        "fit": "length_scale",
        "chains": "2 people states 2",
        "cell": "gaussian_uniform",
        "risk map": f"Risk map {results['risk map'].quantity} prior",
        "risk row": losses,
        "stream": "1 of 6 steps answered",
        "posterior": "Posterior",
        "verification": "every law holds",
        "verdict": "belief.possible",
        "contradiction": "one loss says at least 0.5",
        "refinement": "a post-processing",
        "trace": "ann: 500 samples from 0 s to 499 s",
        "states": "day.csv",
    }.items():
        assert said in words(results[name]), name
    assert losses in words(results["risk map"])
    assert repr(results["fit"]) == "<rbf fitted to 2 traces>"
    assert "1 of 6 steps answered" in repr(results["stream"])


def test_a_loss_shows_its_mark_its_sentence_and_how(results):
    told = words(results["loss"])
    assert f"Rényi divergence (order=2) [nats] = {results['loss'].value:.6g}" in told
    assert "Exact" in told
    assert "eigenvalue" in told
    assert "witness" in told


def test_a_release_says_what_is_promised_and_to_whom(results):
    told = words(results["best"])
    assert "hides basic index=2" in told
    assert "from anyone who believes rbf length_scale=2, times=6" in told
    assert "mean squared error [squared units of the trace] 0.1" in told
    assert "lower bound ≥" in told
    assert "nothing yet" in words(results["release"])


def test_priors_and_secrets_are_a_line(results):
    assert words(results["family"]).startswith("rbf length_scale=1 to 3, times=6 Smooth traces")
    assert words(results["union"]).startswith("basic(index=2) | basic(index=4)")
    assert words(results["secret"]).startswith("basic index=2 The value at one time")


def test_a_comparison_is_its_table(results):
    told = words(results["comparison"])
    assert results["comparison"].findings[0] in told
    for cell in results["comparison"].measured:
        assert reading_text(cell.loss) in told
    assert repr(results["comparison"]) == "<Comparison of 2 cells: 2 measured>"
    assert repr(results["result"]) == "<StudyResult of 1 cell in 1 part>"
    assert reading_text(results["comparison"].measured[0].loss) in words(results["result"])


def test_figures_show_themselves(results):
    assert results["comparison"].plot()._repr_svg_().startswith("<svg")


def test_a_loss_is_a_number(results):
    loss = results["loss"]
    assert float(loss) == loss.value
    assert f"{loss:.3f}" == f"{loss.value:.3f}"
    assert f"{loss}" == str(loss)
    bound = sf.Reading(value=1 / 3, bound="upper")
    assert f"{bound:.3f}" == "0.334"
    assert f"{bound:>8.3f}" == "   0.334"
    assert f"{sf.Reading(value=1 / 3, bound='lower'):.2e}" == "3.33e-01"
    assert f"{sf.Reading(value=math.inf, bound='upper'):.3f}" == "∞"


@given(
    st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300),
    st.sampled_from([".6g", ".3g", ".1g", ".2e", ".12g"]),
)
def test_printed_bounds_still_hold(value, form):
    up, down, near = (round_outwards(value, bound, form) for bound in ("upper", "lower", "exact"))
    assert Decimal(up) >= Decimal(repr(value)) >= Decimal(down)
    assert near == format(value, form) or Decimal(near) in (Decimal(up), Decimal(down))
    if value:  # no further out than one unit of the last digit
        digits = int(form[1:-1]) + (form[-1] == "e")
        unit = Decimal(1).scaleb(Decimal(repr(value)).adjusted() - digits + 1)
        assert Decimal(up) - Decimal(down) <= unit


@given(st.floats(min_value=-1e6, max_value=1e6), st.integers(0, 6))
def test_printed_bounds_hold_with_decimals(value, places):
    up, down = (round_outwards(value, bound, f".{places}f") for bound in ("upper", "lower"))
    assert Decimal(up) >= Decimal(repr(value)) >= Decimal(down)


def test_bounds_are_rounded_outwards_wherever_they_are_printed():
    class Above(sf.LossMeasure):
        name, reads = "above", ((object, object, object),)
        quantity = sf.Quantity("gap")

        def specification(self):
            return {"name": "above"}

        def evaluate(self, belief, question, channel):
            return sf.Reading(value=229.04841, bound="upper")

    release = sf.mechanisms.gaussian_uniform(mse=0.1).protect(PRIOR, SECRET)
    loss = Above().loss(PRIOR, SECRET, release)
    (entry,) = certify(release, [Above()], None)["guarantees"]
    for text in (
        str(loss),
        repr(loss),
        loss._repr_html_(),
        mark_sentence(loss),
        entry["statement"],
    ):
        assert "229.049" in text
        assert "229.048" not in text


@pytest.mark.parametrize(
    ("reading", "sentence"),
    [
        (sf.Reading(value=0.5, bound="exact"), "Exact."),
        (
            sf.Reading(value=1 / 3, bound="lower"),
            "A lower bound: the true value is not below 0.333333.",
        ),
        (
            sf.Reading(value=1.0, bound="estimate", interval=(0.9, math.inf)),
            "An estimate: the true value is not below 0.9.",
        ),
        (
            sf.Reading(value=1.0, bound="estimate", interval=(0.9, 1.1)),
            "An estimate: the true value is taken to lie between 0.9 and 1.1.",
        ),
    ],
)
def test_marks_are_said_in_words(reading, sentence):
    assert mark_sentence(reading) == sentence


def test_help_tells_the_parameters_and_fit():
    for name in sf.registry.names("prior"):
        constructor = getattr(sf.priors, name)
        for item in constructor.parameters():
            assert f"{item.name} : {item.domain.sentence}" in constructor.__doc__
            assert item.doc in constructor.__doc__
    assert "fit(traces, *, times=None, noise=0.0025," in sf.priors.rbf.__doc__
    assert "fit" in dir(sf.priors.rbf)
    assert str(inspect.signature(sf.secrets.basic)).startswith("(index, radius=1.0")
    assert "rbf" in dir(sf.priors)
