"""Compute the golden file: ``python tests/golden/make_golden.py`` writes golden.json beside it.

A group is a release (prior, secret and mechanism as plain tables) and what is asked of it; its
`rows` hold each ask with what was found. `found(group)` computes them again from the tables alone,
through the public names of `sfumato`, so that files of the library may move freely.
"""

import itertools
import json
import math
import os
import sys
import warnings
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

import sfumato as sf

FILE = Path(__file__).with_name("golden.json")

# How far a number may move, relatively, where its own certified error is smaller.
ROUNDING = 1e-9
SOLVED = 1e-6  # the noise comes from an interior-point solver, which stops near the optimum
SEARCHED = 1e-6  # a maximiser over an interval, or a table, is found up to the search's last step


# The tables.


def noun(name, **parameters):
    return {"name": name, **parameters}


def any_of(*options):
    return {"any_of": list(options)}


def interval(low, high):
    return {"interval": [low, high]}


def union(*parts):
    return {"union": list(parts)}


def rbf(length_scale, times, **more):
    return noun("rbf", length_scale=length_scale, times=times, **more)


def periodic(length_scale, period, times, **more):
    return noun("periodic", length_scale=length_scale, period=period, times=times, **more)


def matern(length_scale, times, **more):
    return noun("matern", length_scale=length_scale, times=times, **more)


def basic(index, radius=1.0):
    return noun("basic", index=index, radius=radius)


def compound(*indices, radius=1.0):
    return noun("compound", indices=list(indices), radius=radius)


def chain(initial, transitions, steps, **more):
    return noun("markov_chain", initial=initial, transitions=transitions, steps=steps, **more)


def contexts(*states, **more):
    return noun("contexts", states=list(states), **more)


def counts(sensors, **more):
    return noun("sensor_counts", sensors=sensors, **more)


def noise(name, mse, **more):
    return noun(f"gaussian_{name}", mse=mse, **more)


def suppress(name, **more):
    return noun(f"suppress_{name}", **more)


def group(name, prior, secret, mechanism, asks, **more):
    """Return a group; `designed_for` replaces the prior or the secret while designing."""
    table = {"name": name, "prior": prior, "secret": secret, "mechanism": mechanism, **more}
    return {**table, "asks": ["design", *asks]}


def measures(*tables):
    return [{"measure": noun(table) if isinstance(table, str) else table} for table in tables]


def attack(trace, *adversaries, seed=0):
    """Return asks for a seeded output of the trace, and for what adversaries infer from it."""
    seen = {"apply": trace, "seed": seed}
    return [seen, *({**seen, "adversary": adversary} for adversary in adversaries)]


# Traces of real numbers under additive noise.

RENYI = noun("renyi", order=2.0)
PAIRS = measures(
    RENYI,
    "renyi_paper_bound",
    "odds_gap",
    noun("odds_gap", delta=0.05, conversion=True),
    "posterior_interval",
    "mutual_information",
)
MORE_PAIRS = measures(
    noun("renyi", order=1.25),
    noun("odds_gap", expected=True),
    noun("odds_gap", conversion=True, conversion_order=3.0),
    noun("odds_gap", conversion=True, expected=True, conversion_order=2.0),
    noun("misspecification", order=2.0, region=3.0),
    "mean_squared_error",
    "posterior_gap",  # refused: there are no events
)
FEW = measures(RENYI, "posterior_interval")

IRREGULAR = [0.0, 0.3, 1.0, 2.5, 2.6, 4.0]
SINE = {"name": "ExpSineSquared", "length_scale": 1.0, "periodicity": 2.5}
SMOOTH_AND_WHITE = {
    "name": "Sum",
    "k1": {"name": "RBF", "length_scale": 2.0},
    "k2": {"name": "WhiteKernel", "noise_level": 0.1},
}
QUADRATIC = {"name": "RationalQuadratic", "length_scale": 2.0, "alpha": 1.5}
TRACE_PRIORS = {
    "rbf": rbf(1.5, 6),
    "rbf irregular": rbf(1.0, IRREGULAR, variance=4.0),
    "matern 1/2": matern(2.0, 6, nu=0.5),
    "matern 3/2 irregular": matern(2.0, IRREGULAR, nu=1.5),
    "matern 5/2": matern(1.0, 6, nu=2.5, variance=0.25),
    "periodic copies": periodic(1.0, 4.0, 6),
    "periodic": periodic(0.8, 3.7, 6),
    "kernel sum": noun("kernel", kernel=SMOOTH_AND_WHITE, times=6),
    "kernel product": noun(
        "kernel", kernel={"name": "Product", "k1": QUADRATIC, "k2": SINE}, times=6
    ),
    "sum": {"sum": [rbf(3.0, 6), matern(1.0, 6, nu=0.5, variance=0.5)]},
    "product": {"product": [rbf(3.0, 6), periodic(1.0, 2.5, 6)]},
    "plane": rbf(1.5, 4, dimensions=2),
    "across": matern(2.0, 4, across=[[1.0, 0.6], [0.6, 2.0]]),
    "flat across": rbf(1.0, 4, across=[[1.0, 0.0], [0.0, 0.0]]),
}
TRACE_SECRETS = {
    "basic": basic(2),
    "compound": compound(1, 3, radius=0.5),
    "every point": noun("every_point", radius=0.7),
    "union": union(basic(0), compound(1, 3, radius=0.5), basic(3, radius=2.0)),
}
NOISES = {
    "uniform": noise("uniform", 0.3),
    "optimal": noise("optimal", 0.5),
    "concentrated": noise("concentrated", 0.2),
    "sdp_a": noise("sdp_a", 0.4),
    "multiple": noise("multiple_secrets", 0.4),
    "uniform to epsilon": noun("gaussian_uniform", epsilon=1.5, order=2.0),
    "own noise": noise("optimal", 0.5, independent_secret_noise=True),
}
SOLVERS = {"optimal", "sdp_a", "multiple", "own noise"}


def traces():
    """Yield every prior with every secret, and the mechanisms in turn."""
    turns = itertools.cycle(NOISES.items())
    for (prior, table), (secret, hidden) in itertools.product(
        TRACE_PRIORS.items(), TRACE_SECRETS.items()
    ):
        name, mechanism = next(turns)
        asks = PAIRS + (MORE_PAIRS if secret == "basic" else [])
        if name in SOLVERS:  # nearly singular noise, of which a determinant says next to nothing
            asks = [ask for ask in asks if ask["measure"]["name"] != "mutual_information"]
        tolerance = SOLVED if name in SOLVERS else ROUNDING
        title = f"{prior}: {secret}, {name}"
        yield group(title, table, hidden, mechanism, asks, tolerance=tolerance)


TRACE_CLASSES = {
    "choice of scales": rbf(any_of(1.0, 2.0, 4.0), 6),
    "choice of priors": any_of(rbf(1.0, 6), matern(2.0, 6), periodic(1.0, 4.0, 6)),
    "choice of choices": any_of(rbf(any_of(1.0, 2.0), 6), matern(1.0, 6, nu=0.5)),
    "choice of scales and variances": rbf(any_of(1.0, 2.0), 6, variance=any_of(0.5, 2.0)),
    "interval of scales": rbf(interval(1.0, 3.0), 6),
    "interval of variances": matern(2.0, 6, variance=interval(0.5, 2.0)),
    "interval of periods": periodic(1.0, interval(3.3, 7.0), 6),
    "interval inside a kernel": noun(
        "kernel", kernel={**QUADRATIC, "length_scale": interval(1.0, 3.0)}, times=6
    ),
    "sum of classes": {"sum": [rbf(any_of(1.0, 3.0), 5), matern(1.0, 5)]},
    "rough or smooth plane": matern(1.0, 3, nu=any_of(0.5, 2.5), dimensions=2),
}


def trace_classes():
    """Yield classes of priors: finite, proved and searched suprema, and designs for them."""
    secrets = itertools.cycle([basic(2), compound(0, 2), noun("every_point")])
    for name, prior in TRACE_CLASSES.items():
        tolerance = SEARCHED if "interval" in name else ROUNDING
        secret = next(secrets)
        mechanism = noise("uniform", 0.3)
        yield group(f"{name}: uniform", prior, secret, mechanism, PAIRS, tolerance=tolerance)
        mechanism = noise("optimal", 0.5)
        yield group(f"{name}: optimal", prior, basic(1), mechanism, FEW, tolerance=SOLVED)
    scales, one = TRACE_CLASSES["choice of scales"], rbf(2.0, 6)
    near = rbf(2.02, 6)
    beyond = measures(
        RENYI,
        noun("misspecification", region=2.0),
        "misspecification",
        noun("misspecification", region=0.1),  # refused: smaller than the secret
    )
    for name, mechanism in {
        "sdp_a": noise("sdp_a", 0.4),  # refused: designed for one prior
        "sdp_a for one": noise("sdp_a", 0.4, design_prior=one, rescale=10.0),
        "multiple for one": noise("multiple_secrets", 0.4, design_prior=one),
        "optimal for one": noise("optimal", 0.4, design_prior=one),
        "uniform to epsilon": noun("gaussian_uniform", epsilon=0.7, order=3.0),
        "concentrated to epsilon": noun("gaussian_concentrated", epsilon=40.0, order=2.0),
        "optimal to epsilon": noun("gaussian_optimal", epsilon=0.7, order=1.5),
        "multiple to epsilon": noun(
            "gaussian_multiple_secrets", epsilon=0.7, order=2.0, design_prior=one
        ),
        "sdp_a to epsilon": noun("gaussian_sdp_a", epsilon=0.7, order=2.0, design_prior=one),
    }.items():
        yield group(f"scales: {name}", scales, basic(2), mechanism, FEW, tolerance=SOLVED)
    for name, true in {"near": near, "far": rbf(6.0, 6), "class": any_of(one, near)}.items():
        for built, mechanism in {
            "uniform": noise("uniform", 1.0),
            "given": given([1, 0] * 3),
        }.items():
            title = f"misspecified: {name}, {built}"
            yield group(title, true, basic(2), mechanism, beyond, designed_for={"prior": one})
    title = "misspecified: another secret"
    yield group(
        title,
        one,
        compound(1, 4),
        noise("concentrated", 0.5),
        PAIRS,
        designed_for={"secret": basic(1)},
    )


def given(diagonal, direction=None):
    """Return noise of these variances, plus one draw that all entries share by `direction`."""
    covariance = np.diag(np.array(diagonal, dtype=float))
    if direction is not None:
        covariance += np.outer(direction, direction)
    return noun("gaussian_given", covariance=covariance.tolist())


def extremes():
    """Yield what float64 can hardly or cannot tell: exact arithmetic, infinities, refusals."""
    smooth, middle = rbf(10.0, 50), basic(24)
    half = measures(RENYI, "odds_gap", "posterior_interval", "renyi_paper_bound")
    for name, prior, secret, mechanism in (
        ("smooth, concentrated", smooth, middle, noise("concentrated", 0.02)),
        ("smooth, uniform", smooth, middle, noise("uniform", 0.02)),
        ("smooth, optimal", smooth, middle, noise("optimal", 0.02)),
        ("smooth, two times", smooth, compound(10, 40), noise("uniform", 1e-3)),
        ("smooth, close times", smooth, compound(24, 25), noise("uniform", 0.1)),
        ("smooth class", rbf(any_of(1.0, 10.0), 50), middle, noise("concentrated", 0.1)),
        ("tiny noise", rbf(3.0, 8), basic(3), noise("uniform", 1e-12)),
        ("huge noise", rbf(3.0, 8), basic(3), noise("uniform", 1e12)),
        ("tiny noise, rough", matern(3.0, 8, nu=0.5), basic(3), noise("uniform", 1e-14)),
        ("tiny noise, optimal", rbf(2.0, 8), basic(3), noise("optimal", 1e-9)),
        ("nearly a copy", rbf(1.0, [0.0, 1e-7, 1.0, 2.0]), basic(0), noise("concentrated", 0.1)),
        ("copies, all noisy", periodic(1.0, 10.0, 50), middle, noise("uniform", 0.1)),
        ("copies, one noisy", periodic(1.0, 10.0, 50), middle, noise("concentrated", 0.1)),
        ("copies, optimal", periodic(1.0, 5.0, 15), basic(7), noise("optimal", 0.1)),
        ("no noise", rbf(1.0, 4), basic(1), given([0, 0, 0, 0])),
        ("noise on one entry", rbf(1.0, 4), basic(1), given([0, 1, 0, 0])),
        ("no noise on the secret", rbf(1.0, 4), basic(1), given([1, 0, 1, 1])),
        ("shared noise", rbf(1.0, 4), basic(1), given([0] * 4, [0.3, 1.0, 0.3, 0.1])),
        ("shared noise, copies", periodic(1.0, 2.0, 4), basic(1), given([0] * 4, [0, 1, 0, 1])),
        ("shared and own noise", rbf(1.0, 4), compound(0, 2), given([1e-3] * 4, [1, 1, 1, 1])),
        ("wide radius", rbf(1.0, 3), basic(0, radius=1e300), noise("uniform", 1.0)),
        ("narrow radius", rbf(1.0, 3), basic(0, radius=1e-150), noise("uniform", 1.0)),
        ("wide radius, optimal", rbf(1.0, 3), basic(0, radius=1e300), noise("optimal", 1.0)),
        ("many times", matern(3.0, 50), noun("every_point"), noise("optimal", 0.1)),
        ("many copies", matern(3.0, 50), noun("every_point"), noise("uniform", 0.1)),
        ("nearly constant", rbf(1e4, 6), basic(2), noise("concentrated", 0.1)),
        ("nearly constant, uniform", rbf(1e6, 6), basic(2), noise("uniform", 0.1)),
        ("one entry", rbf(1.0, 1), basic(0), noise("optimal", 0.1)),
    ):
        tolerance = SOLVED if mechanism["name"] == "gaussian_optimal" else ROUNDING
        yield group(f"extreme: {name}", prior, secret, mechanism, half, tolerance=tolerance)


def compositions():
    """Yield several releases of one trace, and a trace told at chosen positions."""
    prior, secret = rbf(2.0, 5), basic(2)
    one, other = noise("uniform", 1.0), noise("concentrated", 0.5)
    for name, positions in {
        "twice": [range(5), range(5)],
        "apart": [range(5), range(5, 10)],
    }.items():
        whole = prior if name == "twice" else rbf(2.0, 10)
        both = {"composition": [one, other], "of": prior, "positions": [list(p) for p in positions]}
        yield group(f"composed: {name}", whole, secret, both, PAIRS)
    joint = {"joint": prior, "positions": [0, 1, 1, 3, 4]}
    yield group("composed: joint", joint, basic(1), one, PAIRS)


def samples():
    """Yield seeded outputs, and what adversaries make of them."""
    trace = [0.1, -0.4, 1.0, 0.3, -2.0, 0.5]
    posterior = noun("gaussian_posterior")
    for name, mechanism in {
        "uniform": noise("uniform", 0.3),
        "concentrated": noise("concentrated", 0.3),
        "given": given([0.2] * 6, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]),
        "closed form": noise("optimal", 0.3),
    }.items():
        asks = attack(trace, posterior)
        yield group(f"sampled: {name}", rbf(1.5, 6), basic(2), mechanism, asks)
    plane = [[0.0, 1.0], [0.5, 0.5], [1.0, -1.0], [2.0, 0.0]]
    asks = attack(plane, posterior, seed=7)
    yield group("sampled: plane", TRACE_PRIORS["across"], basic(2), noise("uniform", 0.3), asks)
    guessers = ("hidden_markov_posterior", "frequency_only", "map", "marginal_mode")
    asks = attack(
        ["home", "work", "hospital", "home", "home"],
        *map(noun, (*guessers, "prior_mode", "constant", "gaussian_posterior")),
        noun("constant", place="work"),
    )
    sensors = ["work", "home", "hospital", "home", "work"]
    labels = [["work", ["hospital", "work"]]]
    inner = suppress("probabilistic", delta=0.3)
    for name, mechanism in {
        "suppressed": suppress("given", probabilities=TABLE),
        "sensitive": suppress("sensitive"),
        "segmented": suppress("segmented", delta=0.3),
        "set labels": suppress("set_labels", mechanism=inner, labels=labels),
        "counts": counts(sensors),
        "two counts": counts([["home", "work"]] * 5),
        "noisy counts": counts(sensors, noise=0.5),
        "noisy two counts": counts([["home", "work"]] * 5, noise=1.0),
        "drawn sensors": counts("drawn", seed=3),
    }.items():
        yield group(f"sampled: {name}", DAY, contexts("hospital"), mechanism, asks)


# Traces of states, some of them suppressed or counted.

LABELS = ["home", "work", "hospital"]
STEP = [[0.6, 0.35, 0.05], [0.3, 0.6, 0.1], [0.45, 0.4, 0.15]]
OTHER_STEP = [[0.2, 0.5, 0.3], [0.5, 0.25, 0.25], [0.3, 0.3, 0.4]]
GATE = [[0.0, 1.0, 0.0], [0.5, 0.0, 0.5], [1.0, 0.0, 0.0]]
FIXED = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
TABLE = [[0.1, 0.2, 0.9], [0.0, 0.5, 1.0], [0.3, 0.3, 0.8], [1.0, 0.0, 0.7], [0.25, 0.5, 1.0]]
DAY = chain("stationary", STEP, 5, states=LABELS)
CHAINS = {
    "day": DAY,
    "day from home": chain([1.0, 0.0, 0.0], STEP, 5, states=LABELS),
    "changing": chain([0.5, 0.3, 0.2], [STEP, OTHER_STEP, GATE, STEP], 5, states=LABELS),
    "gates": chain([0.4, 0.6, 0.0], GATE, 5, states=LABELS),
    "fixed": chain([0.5, 0.3, 0.2], FIXED, 5, states=LABELS),
    "no memory": chain("stationary", [[0.5, 0.3, 0.2]] * 3, 5, states=LABELS),
    "choice": any_of(DAY, chain([0.2, 0.5, 0.3], OTHER_STEP, 5, states=LABELS)),
    "choice of steps": chain("stationary", any_of(STEP, OTHER_STEP), 5, states=LABELS),
}
EVENTS = {
    "hospital": contexts("hospital"),
    "two": contexts("hospital", "work", times=[1, 3]),
    "together": contexts("hospital", "work", together=True),
    "union": union(contexts("hospital"), contexts("work", times=[0])),
    "window": contexts("hospital", times=[1, 2], window=True),
}
SUPPRESSIONS = {
    "segmented": suppress("segmented", delta=0.2),
    "given": suppress("given", probabilities=TABLE),
    "probabilistic": suppress("probabilistic", delta=0.15),
    "simulatable": suppress("simulatable", delta=0.3),
    "hybrid": suppress("hybrid", delta=0.2),
    "sensitive": suppress("sensitive"),
    "set labels": suppress(
        "set_labels",
        mechanism=suppress("probabilistic", delta=0.3),
        labels=[["work", ["hospital", "work"]]],
    ),
    "counts": counts(["home", "work", "hospital", "home", "work"]),
}
SEARCHES = {"segmented", "probabilistic", "hybrid", "set labels"}
DAYS = [["home", "work", "hospital", "home", "home"], ["home", "home", "work", "work", "home"]]
RISES = measures(
    "posterior_gap",
    "released_fraction",
    noun("breach_rate", traces=DAYS, seed=1),
    noun("breach_rate", traces=DAYS, delta=0.3, per="length"),
    "mutual_information",
    "fano_loose",  # refused: there is nothing to guess
)


def chains():
    """Yield every chain with every event, and the mechanisms in turn."""
    turns = itertools.cycle(SUPPRESSIONS.items())
    for (prior, table), (secret, hidden) in itertools.product(CHAINS.items(), EVENTS.items()):
        name, mechanism = next(turns)
        tolerance = SEARCHED if name in SEARCHES else ROUNDING
        title = f"{prior}: {secret}, {name}"
        yield group(title, table, hidden, mechanism, RISES, tolerance=tolerance)
    few = chain([0.7, 0.3], [[0.7, 0.3], [0.4, 0.6]], 3)
    for delta in (0.0, 0.05, 0.5, 1.0):
        for name in ("probabilistic", "simulatable", "segmented", "hybrid"):
            mechanism = suppress(name, delta=delta)
            asks = RISES[:2]
            title = f"delta {delta}: {name}"
            yield group(title, few, contexts(1), mechanism, asks, tolerance=SEARCHED)
        mechanism = suppress("probabilistic", delta=delta, search="exhaustive")
        title = f"delta {delta}: exhaustive"
        yield group(title, few, contexts(1), mechanism, RISES[:2], tolerance=SEARCHED)
    long = chain("stationary", STEP, 40, states=LABELS)
    for name in ("sensitive", "segmented", "simulatable"):
        mechanism = suppress(name) if name == "sensitive" else suppress(name, delta=0.2)
        asks = RISES[:2] + RISES[4:5]
        yield group(
            f"long: {name}", long, contexts("hospital"), mechanism, asks, tolerance=SEARCHED
        )


def guesses():
    """Yield reconstruction of whole traces from counts and from what is not suppressed."""
    attacks = [
        noun("attack_success", adversary=noun(name), trials=60, seed=5)
        for name in ("map", "marginal_mode", "prior_mode", "constant", "hidden_markov_posterior")
    ]
    asks = measures(
        "reconstruction",
        noun("reconstruction", method="enumeration"),
        "fano_loose",
        "fano_tight",
        "mutual_information",
        noun("mutual_information", method="paper"),
        "differential_privacy",
        noun("differential_privacy", delta=0.01, formula="paper"),
        *attacks,
    )
    sensors = ["home", "work", "hospital", "home", "work"]
    mechanisms = {
        "counts": counts(sensors),
        "noisy": counts(sensors, noise=0.5),
        "very noisy": counts("home", noise=50.0),
        "two sensors": counts([["home", "work"], "home", ["hospital"], "work", ["work", "home"]]),
        "noisy pair": counts([["home", "hospital"]] * 5, noise=2.0),
        "drawn": counts("drawn", seed=11),
        "given": suppress("given", probabilities=TABLE),
    }
    turns = itertools.cycle(mechanisms.items())
    for (prior, table), mistakes in itertools.product(CHAINS.items(), (0, 1, 3)):
        name, mechanism = next(turns)
        secret = noun("trajectory", mistakes=mistakes)
        yield group(f"guess {prior}: {mistakes} mistakes, {name}", table, secret, mechanism, asks)
    long = chain("stationary", STEP, 60, states=LABELS)
    asks = measures("reconstruction", "fano_loose", "fano_tight", "mutual_information")
    for name in ("noisy", "counts"):
        mechanism = counts("drawn", seed=2, **({"noise": 1.0} if name == "noisy" else {}))
        yield group(f"guess long: {name}", long, noun("trajectory", mistakes=4), mechanism, asks)
    people = [CHAINS[name] for name in ("day", "no memory", "day", "gates")]
    asks = [
        {**ask, "people": people} for ask in measures("reconstruction", "fano_loose", attacks[0])
    ]
    yield group("guess population", DAY, noun("trajectory", mistakes=1), counts(sensors), asks)


def refusals():
    """Yield what does not fit or is no parameter at all."""
    for name, prior, secret, mechanism in (
        ("chain, noise", DAY, noun("trajectory"), noise("uniform", 1.0)),
        ("trace, counts", rbf(1.0, 4), basic(1), counts("home")),
        ("trace, contexts", rbf(1.0, 4), contexts("home"), noise("uniform", 1.0)),
        ("index", rbf(1.0, 4), basic(4), noise("uniform", 1.0)),
        ("indices", rbf(1.0, 4), compound(1, 1), noise("uniform", 1.0)),
        ("scale", rbf(-1.0, 4), basic(1), noise("uniform", 1.0)),
        ("times", rbf(1.0, [0.0, 2.0, 1.0]), basic(1), noise("uniform", 1.0)),
        ("lengths", any_of(rbf(1.0, 4), rbf(1.0, 5)), basic(1), noise("uniform", 1.0)),
        ("interval", rbf(interval(2.0, 1.0), 4), basic(1), noise("uniform", 1.0)),
        ("size", rbf(1.0, 4), basic(1), given([1, 1, 1])),
        ("budget", rbf(1.0, 4), basic(1), noun("gaussian_uniform", mse=1.0, epsilon=1.0, order=2)),
        ("no order", rbf(1.0, 4), basic(1), noun("gaussian_uniform", epsilon=1.0)),
        ("name", noun("rfb", length_scale=1.0, times=4), basic(1), noise("uniform", 1.0)),
        ("parameter", rbf(1.0, 4, scale=1.0), basic(1), noise("uniform", 1.0)),
        (
            "indefinite",
            rbf(1.0, 2),
            basic(1),
            given(
                [
                    0,
                    0,
                ],
                None,
            )
            | {"covariance": [[1, 2], [2, 1]]},
        ),
        ("law", chain([0.5, 0.6], [[1, 0], [0, 1]], 2), contexts(0), suppress("sensitive")),
        ("step", chain([0.5, 0.5], [[1, 1], [0, 1]], 2), contexts(0), suppress("sensitive")),
        ("state", DAY, contexts("beach"), suppress("sensitive")),
        ("table", DAY, contexts("home"), suppress("given", probabilities=[[0.5, 0.5]])),
        ("delta", DAY, contexts("home"), suppress("segmented", delta=1.5)),
        ("sensor", DAY, noun("trajectory"), counts("beach")),
        ("window", DAY, EVENTS["window"], suppress("segmented", delta=0.2)),
        ("mixed union", DAY, union(contexts("home"), basic(1)), suppress("sensitive")),
        (
            "unreachable",
            rbf(1.0, 4),
            basic(1),
            noun("gaussian_concentrated", epsilon=1e-3, order=2.0),
        ),
    ):
        yield group(f"refused: {name}", prior, secret, mechanism, [])
    asks = measures(
        noun("renyi", order=1.0),
        noun("odds_gap", delta=0.0),
        "attack_success",
        noun("breach_rate", traces=DAYS),
        "nothing",
        "released_fraction",
        "differential_privacy",
    )
    yield group("refused: measures", rbf(1.0, 4), basic(1), noise("uniform", 1.0), asks)
    asks = attack(["home"], noun("map")) + attack(["beach"] * 5)
    yield group("refused: traces", DAY, contexts("home"), suppress("sensitive"), asks)


WORLDS = (traces, trace_classes, extremes, compositions, samples, chains, guesses, refusals)


# What is found.


def plain(value):
    """Return JSON's own types: arrays to 12 digits, infinities and marks as words."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, (np.ndarray, np.generic)):
        kept = np.round(value, 12) + 0.0 if value.dtype.kind == "f" else value
        return plain(kept.tolist())
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "covariance"):  # a Gaussian posterior
        return {"mean": plain(value.mean), "covariance": plain(value.covariance)}
    return str(value)


def release_of(table):
    """Return the prior, the secret and the release of a group."""
    build = sf.registry.build
    prior, secret = build("prior", table["prior"]), build("secret", table["secret"])
    designed = table.get("designed_for", {})
    for_prior = build("prior", designed["prior"]) if "prior" in designed else prior
    for_secret = build("secret", designed["secret"]) if "secret" in designed else secret
    mechanism = table["mechanism"]
    if "composition" not in mechanism:
        return prior, secret, build("mechanism", mechanism).protect(for_prior, for_secret)
    part = build("prior", mechanism["of"])
    parts = [build("mechanism", item).protect(part, secret) for item in mechanism["composition"]]
    release = sf.compose(parts, prior, secret, positions=mechanism["positions"])
    return release.prior, secret, release


def answer(ask, prior, secret, release):
    """Return what is found for one ask, in plain values."""
    build = sf.registry.build
    if ask == "design":
        quantity = release.utility_quantity
        utility = {"utility": release.utility(), "quantity": str(quantity), "worse": quantity.worse}
        return plain_table({**utility, **release.claims})
    if "apply" in ask:
        seen = release.apply(ask["apply"], rng=np.random.default_rng(ask["seed"]))
        if "adversary" not in ask:
            return {"output": plain(seen)}
        belief = next(prior.members()).belief()
        return {
            "inferred": plain(
                build("adversary", ask["adversary"]).infer(belief, release.channel, seen)
            )
        }
    measure = build("measure", ask["measure"])
    if "people" in ask:
        people = [build("prior", person) for person in ask["people"]]
        losses = measure.of_population(people, secret, release.mechanism, processes=1)
        return {
            "values": [plain(value) for value in losses.values.tolist()],
            "bounds": plain(losses.bounds),
        }
    loss = measure.loss(prior, secret, release)
    names = (
        "value",
        "bound",
        "floor",
        "ceiling",
        "relative_error",
        "interval",
        "estimate_of",
        "how",
    )
    return plain_table(
        {**{name: getattr(loss, name) for name in names}, "quantity": str(loss.quantity)}
    )


def plain_table(table):
    return {key: plain(value) for key, value in table.items()}


def found(table, asks):
    """Return what is found for every ask; for the design alone where it is refused."""
    try:
        made = release_of(table)
    except Exception as error:
        return [{"refused": type(error).__name__}]
    answers = []
    for ask in asks:
        try:
            answers.append(answer(ask, *made))
        except Exception as error:
            answers.append({"refused": type(error).__name__})
    return answers


def written(groups):
    """Return JSON with a line for the tables of a group and one for each of its rows."""
    blocks = []
    for table in groups:
        head = dumped({key: value for key, value in table.items() if key != "rows"})
        rows = ",\n ".join(map(dumped, table["rows"]))
        blocks.append(f'{head[:-1]}, "rows": [\n {rows}]}}')
    return "[\n" + ",\n".join(blocks) + "\n]\n"


def dumped(value):
    return json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False)


def main():
    warnings.simplefilter("error")
    groups = []
    for table in itertools.chain.from_iterable(world() for world in WORLDS):
        asks = table.pop("asks")
        answers = found(table, asks)
        rows = [{"ask": ask, "found": got} for ask, got in zip(asks, answers, strict=False)]
        groups.append({**table, "rows": rows})
    FILE.write_text(written(groups), encoding="utf-8")
    sys.stdout.write(f"{len(groups)} groups, {sum(len(g['rows']) for g in groups)} rows\n")


if __name__ == "__main__":
    main()
