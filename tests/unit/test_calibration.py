"""The weakest setting that meets a target, held to closed forms and to the other side."""

import json
import math
import re

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.special import ndtri

import sfumato as sf
from sfumato.commands import cli
from sfumato.commands.list_command import definitions_by_world
from sfumato.release.calibration import in_words

PRIOR, SECRET = sf.priors.rbf(length_scale=3.0, times=1), sf.secrets.basic(0)
CHAIN = sf.priors.markov_chain(
    [0.6, 0.3, 0.1], [[0.8, 0.15, 0.05], [0.2, 0.75, 0.05], [0.5, 0.3, 0.2]], steps=4
)
UNIFORM = sf.mechanisms.gaussian_uniform(mse=1.0)


@pytest.mark.parametrize("target", [0.05, 0.3, 0.9])
def test_one_entry_has_a_closed_form(target):
    """Of one entry M = 1/mse, and the advantage is 2Φ(1/(2√mse)) − 1."""
    found = sf.calibrate(UNIFORM, PRIOR, SECRET, sf.measures.advantage(), target)
    truth = 1 / (2 * ndtri((1 + target) / 2)) ** 2
    assert truth <= found.mechanism.mse <= truth * 1.002
    assert found.loss.ceiling <= target < found.weaker.floor


def test_smaller_can_be_worse():
    """The squared error left to a guess is 1/(1 + 1/mse) at most one, and at least the target."""
    found = sf.calibrate(UNIFORM, PRIOR, SECRET, sf.measures.expected_error(), 0.75)
    assert found.mechanism.mse == pytest.approx(3.0, rel=2e-3)
    assert found.loss.floor >= 0.75
    with pytest.raises(sf.OutsideHypotheses, match="out of reach"):
        sf.calibrate(UNIFORM, PRIOR, SECRET, sf.measures.expected_error(), 1.5)


def test_a_whole_class_is_kept():
    prior = sf.priors.rbf(length_scale=sf.Interval(3.0, 6.0), times=12)
    secret, measure = sf.secrets.basic(5), sf.measures.renyi(order=2.0)
    found = sf.calibrate(UNIFORM, prior, secret, measure, 1.0, tolerance=1e-2)
    for scale in (3.0, 4.0, 5.0, 6.0):
        member = sf.priors.rbf(length_scale=scale, times=12)
        assert measure.loss(member, secret, found.release).value <= 1.0


def test_suppression_is_calibrated_by_another_measure():
    secret, mechanism = sf.secrets.contexts([2]), sf.mechanisms.suppress_simulatable(delta=0.1)
    found = sf.calibrate(mechanism, CHAIN, secret, sf.measures.advantage(), 0.5)
    assert found.loss.ceiling <= 0.5
    assert 0.0 <= found.mechanism.delta <= 1.0


def test_noise_of_counts():
    mechanism = sf.mechanisms.sensor_counts([0, 1, 2, 0], noise=1.0)
    found = sf.calibrate(mechanism, CHAIN, sf.secrets.basic(1), sf.measures.advantage(), 0.3)
    assert found.loss.ceiling <= 0.3
    assert found.mechanism.noise > 0


@pytest.mark.parametrize(
    "mechanism",
    [
        sf.mechanisms.randomised_response(epsilon=3.0),
        sf.mechanisms.emission_given(emission=[[0.9, 0.1], [0.2, 0.8], [0.0, 1.0]]),
        sf.mechanisms.emission_given(emission=[np.eye(3).tolist()] * 4, symbols=["x", "y", "z"]),
    ],
    ids=lambda mechanism: mechanism.name,
)
def test_states_shown_at_random_are_calibrated(mechanism):
    """Oracle: the gap by enumeration of every trace and output, at the target and just short."""
    secret, gap = sf.secrets.contexts([2]), sf.measures.posterior_gap()
    found = sf.calibrate(mechanism, CHAIN, secret, gap, 0.1)
    name, hides = mechanism.strength
    strength = getattr(found.mechanism, name)
    weaker = mechanism.at_strength(strength * (0.98 if hides == "more" else 1.02))
    question = secret.question(CHAIN.belief())
    for release, below in ((found.release, True), (weaker.protect(CHAIN, secret), False)):
        truth = gap.brute_force(CHAIN.belief(), question, release.channel).value
        assert (truth <= 0.1 + 1e-9) == below


def test_a_given_covariance_is_scaled():
    """Of one entry M = 1/noise, as for noise that is designed."""
    given = sf.mechanisms.gaussian_given(covariance=[[0.5]])
    found = sf.calibrate(given, PRIOR, SECRET, sf.measures.advantage(), 0.3)
    assert 0.5 * found.mechanism.scale == pytest.approx(1 / (2 * ndtri(0.65)) ** 2, rel=2e-3)
    assert "where a coin has 50" in str(found)


def test_what_cannot_be_calibrated_says_so():
    with pytest.raises(sf.Incompatible, match="declares no strength"):
        sf.calibrate(
            sf.mechanisms.suppress_sensitive(),
            CHAIN,
            sf.secrets.contexts([2]),
            sf.measures.advantage(),
            0.1,
        )
    to_epsilon = sf.mechanisms.gaussian_uniform(epsilon=1.0, order=2.0)
    with pytest.raises(sf.ParameterError, match="must be given to be calibrated"):
        sf.calibrate(to_epsilon, PRIOR, SECRET, sf.measures.advantage(), 0.1)
    with pytest.raises(sf.ParameterError, match="target must be a number"):
        sf.calibrate(UNIFORM, PRIOR, SECRET, sf.measures.advantage(), math.nan)


@pytest.mark.parametrize(
    ("risk", "words"),
    [
        (("--advantage", "30%"), "guessed 65 percent of the time"),
        (("--measure", "renyi order=2.0", "--target", "0.5"), "Rényi divergence"),
    ],
)
def test_the_command_says_it_in_a_sentence(risk, words):
    nouns = ["--prior", "rbf length_scale=3.0 times=5", "--secret", "basic index=2"]
    nouns += ["--mechanism", "gaussian_uniform mse=1.0"]
    answer = CliRunner().invoke(cli, ["calibrate", *nouns, *risk])
    assert answer.exit_code == 0, answer.output
    assert words in " ".join(answer.output.split())
    assert "sf.mechanisms.gaussian_uniform(mse=" in answer.output


@pytest.mark.parametrize(
    ("error", "said"), [("40m", "40 m"), ("0.04km", "0.04 km"), ("4e3cm", "4,000 cm"), ("40", "40")]
)
def test_a_length_is_read_and_answered_in_its_own_unit(error, said):
    """The posterior variance of one value is v γ / (v + γ): 40² for v = 100², γ = 1904.76."""
    nouns = ["--prior", "rbf length_scale=1e-3 variance=10000.0 times=1"]
    nouns += ["--secret", "basic index=0", "--mechanism", "gaussian_uniform mse=1.0"]
    answer = CliRunner().invoke(cli, ["calibrate", *nouns, "--error", error])
    assert answer.exit_code == 0, answer.output
    noise = float(re.search(r"with mse = (\S+)", answer.output)[1])
    assert noise == pytest.approx(1e4 * 1600 / (1e4 - 1600), rel=2e-3)
    asked = said.replace(",", "")
    assert f"at {asked}, no less than the {asked} that was asked for" in answer.output
    assert f"typically off by {said}, while" in answer.output


@pytest.mark.parametrize("error", ["40ft", "5%", "-40", "4e", "inf"])
def test_a_length_in_another_unit_is_refused(error):
    nouns = ["--prior", "rbf length_scale=3.0 times=5", "--secret", "basic index=2"]
    nouns += ["--mechanism", "gaussian_uniform mse=1.0"]
    answer = CliRunner().invoke(cli, ["calibrate", *nouns, "--error", error])
    assert answer.exit_code == 2
    assert "a number such as 0.2, 0.2cm, 0.2m, 0.2km here" in answer.output
    shares = CliRunner().invoke(cli, ["calibrate", *nouns, "--advantage", "30m"])
    assert "a number such as 0.2, 0.2% here; got '30m'" in shares.output
    far = CliRunner().invoke(cli, ["calibrate", *nouns, "--error", "20"])
    assert "the target 20 (root mean square) is out of reach" in str(far.exception)


@pytest.mark.parametrize("risks", [(), ("--advantage", "0.1", "--gap", "0.1"), ("--gap", "much")])
def test_a_bad_target_is_a_sentence(risks):
    nouns = ["--prior", "rbf length_scale=3.0 times=5", "--secret", "basic index=2"]
    nouns += ["--mechanism", "gaussian_uniform mse=1.0"]
    answer = CliRunner().invoke(cli, ["calibrate", *nouns, *risks])
    assert answer.exit_code == 2


def test_the_command_prints_json():
    nouns = ["--prior", "rbf length_scale=3.0 times=5", "--secret", "basic index=2"]
    nouns += ["--mechanism", "gaussian_uniform mse=1.0", "--advantage", "0.3", "--json"]
    found = json.loads(CliRunner().invoke(cli, ["calibrate", *nouns]).output)
    assert found["ceiling"] <= 0.3 < found["at_half_the_strength"]
    assert found["mechanism"]["name"] == "gaussian_uniform"


def test_the_matrix_of_definitions_prints_json():
    places = json.loads(CliRunner().invoke(cli, ["list", "--matrix", "--json"]).output)
    standing = {(place["measure"], place["world"]): place["standing"] for place in places}
    assert standing["advantage", "a real value"] == "exact"
    assert standing["advantage", "noisy counts"] == "bounded"
    assert standing["advantage", "the whole trace, counted"] == "impossible"
    assert standing["g_vulnerability", "contexts, suppressed"] == "exact"
    assert standing["attack_success map", "the whole trace, counted"] == "bounded"
    assert standing["breach_rate", "a real value"] == "exact"
    assert standing["odds_gap", "near a place"] == "bounded"


ROUGH = """
import sfumato as sf
@sf.hookimpl
def sfumato_worlds():
    return {"a rough value": {
        "prior": {"name": "matern", "nu": 0.5, "length_scale": 3.0, "times": 10},
        "secret": {"name": "basic", "index": 4},
        %s
        "given": {"g_vulnerability": {"gain": [[1.0, 0.0], [0.0, 2.0]]}},
    }}
"""


def test_a_package_brings_its_world_to_the_matrix(tmp_path, fresh_registry):
    file = tmp_path / "rough.py"
    file.write_text(ROUGH % '"mechanism": {"name": "gaussian_uniform", "mse": 0.1},')
    done = CliRunner().invoke(cli, ["list", "--matrix", "--json", "--plugin", str(file)])
    standing = {
        place["measure"]: place["standing"]
        for place in json.loads(done.output)
        if place["world"] == "a rough value"
    }
    assert standing["advantage"] == "exact"
    assert standing["geo_indistinguishability"] == "impossible"


def test_a_world_that_lacks_a_mechanism_says_so(tmp_path):
    file = tmp_path / "rough.py"
    file.write_text(ROUGH % "")
    with pytest.raises(sf.ParameterError, match="a mechanism must be a table with a name") as told:
        definitions_by_world(sf.Registry.load([file]))
    assert told.value.__notes__ == ["the world 'a rough value'"]


@pytest.mark.parametrize("bound", ["upper", "lower"])
def test_words_never_flatter_a_certified_end(bound):
    for end in np.random.default_rng(5).uniform(0.0, 1.0, 200):
        words = in_words(sf.Quantity("Bayes success"), end, bound)
        said = float(words.partition("right ")[2].split()[0]) / 100
        assert said >= end if bound == "upper" else said <= end
        words = in_words(sf.Quantity("advantage"), end, bound)
        said = float(words.partition("guessed ")[2].split()[0]) / 50 - 1
        assert said >= end - 1e-15 if bound == "upper" else said <= end + 1e-15


def test_the_end_that_is_printed_is_at_least_the_certified_one():
    prior, secret = sf.priors.rbf(length_scale=2.0, times=5), sf.secrets.basic(2)
    for target in (0.1, 0.23, 0.317):
        found = sf.calibrate(
            sf.mechanisms.gaussian_uniform(mse=1.0), prior, secret, sf.measures.advantage(), target
        )
        assert float(str(found).partition(" at ")[2].partition(",")[0]) >= found.end
