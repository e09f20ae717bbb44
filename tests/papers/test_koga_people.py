"""Koga, Meehan and Chaudhuri (2024) on real check-ins: the claims of the figures as inequalities.

What Figures 5 and 7 show for made-up chains (places, steps that must be right, length of the
trace, noise) is checked here for the fitted chains of real people, as Figures 6 and 8 do in part.
"""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato.datasets import BadRows, labels_of
from sfumato.datasets.formats import formats
from sfumato_papers.check_ins import check_ins_as_published

REAL = Path(__file__).parents[2].parent / "shared" / "data"
FILES = {
    "foursquare": ("foursquare_nyc", "stan", "NYC.npy"),
    "gowalla": ("gowalla_nyc", "gowalla_events.csv.gz"),
}
BOUNDS = ("fano_loose", "fano_tight", "reconstruction")
SENSORS = sf.mechanisms.sensor_counts("drawn", seed=0)
PEOPLE = 12


@pytest.fixture(scope="module", params=list(FILES))
def check_ins(request):
    path = REAL.joinpath(*FILES[request.param])
    if not path.exists():
        pytest.skip(f"the data set {'/'.join(FILES[request.param])} is not beside the checkout")
    return list(formats()[request.param].read(path, BadRows(skip=True)))


@pytest.fixture(scope="module")
def fitted(check_ins):
    """Return a function that fits chains to all but the last five windows of some people."""

    @functools.cache
    def fit(places=100, steps=5):
        people = check_ins_as_published(check_ins, places=places)
        past = [person.states[:-5] for person in people]
        chains = sf.priors.markov_chain.fit_each(
            past, smoothing=0.001, states=labels_of(people), steps=steps
        )
        return chains[:PEOPLE]

    return fit


def losses(measure, chains, mistakes, mechanism=SENSORS):
    secret = sf.secrets.trajectory(mistakes)
    return measure.of_population(chains, secret, mechanism, processes=1).values


def attack(name="map"):
    return sf.measures.attack_success(adversary=getattr(sf.adversaries, name)(), trials=200)


@pytest.mark.parametrize("name", BOUNDS)
def test_figure_5_the_more_steps_must_be_right_the_less_anyone_loses(fitted, name):
    chains = fitted()
    found = np.array([losses(getattr(sf.measures, name)(), chains, s) for s in range(6)])
    assert (np.diff(found, axis=0) >= -1e-12).all()
    assert found[-1].min() == 1.0  # nothing need be right
    assert found[0].mean() < found[4].mean() - 0.1


def test_figure_5_our_bound_is_never_above_those_of_the_paper(fitted):
    chains = fitted()
    for mistakes in (0, 1, 3):
        loose, tight, ours = (losses(getattr(sf.measures, n)(), chains, mistakes) for n in BOUNDS)
        assert (ours <= np.minimum(loose, tight) + 1e-9).all()
        assert ours.mean() < np.minimum(loose, tight).mean() - 0.05


def test_figure_5_more_places_mean_less_loss(fitted):
    for measure in (*(getattr(sf.measures, name)() for name in BOUNDS), attack()):
        few, many = (losses(measure, fitted(places=places), 1).mean() for places in (10, 100))
        assert many < few


def test_figure_5_longer_traces_help_only_whoever_needs_a_fixed_number_of_steps(fitted):
    lengths = (4, 6, 8)
    for measure in (sf.measures.reconstruction(), attack("marginal_mode")):
        half = [losses(measure, fitted(steps=t), t // 2).mean() for t in lengths]
        assert max(half) - min(half) < 0.05
        two = [losses(measure, fitted(steps=t), t - 2).mean() for t in lengths]
        assert two == sorted(two)
        assert two[-1] - two[0] > 0.05


@pytest.mark.parametrize("mistakes", [0, 1, 4])
def test_figure_6_attacks_lie_below_the_bounds(fitted, mistakes):
    secret = sf.secrets.trajectory(mistakes)
    measures = [getattr(sf.measures, name)() for name in BOUNDS]
    measures += [attack(name) for name in ("map", "marginal_mode", "prior_mode", "constant")]
    for chain in fitted()[:5]:
        release = SENSORS.protect(chain, secret)
        found = [measure.loss(chain, secret, release) for measure in measures]
        assert sf.contradictions(found) == ()


def test_figure_7_noise_lowers_every_bound_and_hardly_the_attack(fitted):
    chains = fitted()
    noisy = [sf.mechanisms.sensor_counts("drawn", noise=x, seed=0) for x in (0.3, 1.0, 4.0)]
    for name in BOUNDS:
        measure = getattr(sf.measures, name)()
        found = np.array([losses(measure, chains, 1, mechanism) for mechanism in noisy])
        assert (np.diff(found, axis=0) <= 1e-12).all()
        if name != "reconstruction":  # ours without noise is often below theirs with noise
            assert found[-1].mean() < found[0].mean()
    raw = losses(sf.measures.reconstruction(), chains, 1)
    assert (found <= raw + 1e-12).all()
    plain = losses(attack(), chains, 1).mean()
    assert all(abs(losses(attack(), chains, 1, one).mean() - plain) < 0.05 for one in noisy)
    private = sf.measures.differential_privacy(delta=0.01)
    epsilons = [losses(private, chains, 1, one) for one in noisy]
    assert all(len(set(found)) == 1 for found in epsilons)  # everyone has the same
    assert epsilons[0][0] > 5 * epsilons[-1][0]


def test_figure_4_those_who_move_fast_lose_less(fitted):
    chains = fitted()
    found = losses(sf.measures.reconstruction(), chains, 1)
    assert np.corrcoef(chains.spectral_gaps(), found)[0, 1] < 0.0
