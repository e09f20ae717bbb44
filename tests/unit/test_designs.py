"""One release, any question: designs for others and finished releases in comparisons."""

import pytest

import sfumato as sf
from sfumato.comparison.study_files import parse_study
from sfumato.plugin_registry import default_registry

CHAIN = sf.priors.markov_chain(
    [0.6, 0.3, 0.1],
    [[0.8, 0.15, 0.05], [0.2, 0.75, 0.05], [0.5, 0.3, 0.2]],
    steps=5,
    states=("home", "work", "hospital"),
)
HOSPITAL, PLACE = sf.secrets.contexts(["hospital"]), sf.secrets.basic(2)
SEGMENTED = sf.mechanisms.suppress_segmented(delta=0.1)

STUDY = """
secrets = [{ name = "basic", index = 2 }]
measures = ["advantage"]

[[mechanisms]]
name = "suppress_segmented"
delta = 0.1
design = { secret = "contexts states=['hospital']" }

[[priors]]
name = "markov_chain"
initial = [0.6, 0.3, 0.1]
transitions = [[0.8, 0.15, 0.05], [0.2, 0.75, 0.05], [0.5, 0.3, 0.2]]
steps = 5
states = ["home", "work", "hospital"]
"""


def test_a_design_for_another_secret_is_that_design():
    own = SEGMENTED.protect(CHAIN, HOSPITAL)
    other = SEGMENTED.designed_for(secret=HOSPITAL).protect(CHAIN, PLACE)
    assert other.channel == own.channel
    measured = sf.measures.advantage().loss(CHAIN, PLACE, own)
    [cell] = sf.compare(
        [CHAIN], [PLACE], [SEGMENTED.designed_for(secret=HOSPITAL)], [sf.measures.advantage()]
    ).cells
    assert cell.loss.value == measured.value
    assert cell.secret == PLACE


def test_a_finished_release_is_measured_as_it_is():
    release = SEGMENTED.protect(CHAIN, HOSPITAL)
    table = sf.compare([CHAIN], [HOSPITAL, PLACE], [release], [sf.measures.bayes_success()])
    expected = [
        sf.measures.bayes_success().loss(CHAIN, secret, release).value
        for secret in (HOSPITAL, PLACE)
    ]
    assert [cell.loss.value for cell in table.cells] == expected


def test_a_study_says_what_a_mechanism_is_designed_for():
    registry = default_registry()
    study = parse_study(STUDY, registry, "study.toml")
    [mechanism] = [labelled.noun for labelled in study.parts[0].mechanisms]
    assert registry.build("mechanism", mechanism.specification()) == mechanism
    assert mechanism.secret == HOSPITAL
    assert repr(mechanism).startswith("sf.mechanisms.suppress_segmented(delta=0.1).designed_for(")


@pytest.mark.parametrize(
    ("design", "words"),
    [
        ({}, "must name a prior or a secret"),
        ({"measure": "renyi"}, "must be a table of a prior and a secret"),
        ({"secret": "contexts states=hospital"}, "quote text"),
        ({"secret": "context"}, "did you mean 'contexts'"),
    ],
)
def test_a_bad_design_is_a_sentence(design, words):
    with pytest.raises((sf.ParameterError, sf.UnknownName), match=words):
        default_registry().build(
            "mechanism", {"name": "suppress_segmented", "delta": 0.1, "design": design}
        )
