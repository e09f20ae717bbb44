"""Compute the golden file: ``python tests/golden/make_golden.py`` writes golden.json beside it.

A group is a release (prior, secret and mechanism as plain tables) and what is asked of it; its
`rows` hold each ask with what was found. `found` computes them again from the tables alone,
through the public names of `sfumato`, so that files of the library may move freely.
"""

import json
import math
import os
import sys
import warnings
from itertools import chain, cycle, product
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

import sfumato as sf

FILE = Path(__file__).with_name("golden.json")

# How far a number may move, relatively, where its own certified error is smaller.
ROUNDING = 1e-9
# Solvers and searches stop near an optimum, so that rounding moves what they return: noise by a
# convex program, tables of suppression, the worst member of an interval.
STOPPING = 1e-6
STOPPING_MECHANISMS = {
    *(f"gaussian_{name}" for name in ("optimal", "sdp_a", "multiple_secrets")),
    *(f"suppress_{name}" for name in ("probabilistic", "hybrid", "segmented", "set_labels")),
}

POSITIONAL = {
    "rbf": ("length_scale", "times"),
    "matern": ("length_scale", "times", "nu"),
    "periodic": ("length_scale", "period", "times"),
    "kernel": ("kernel", "times"),
    "markov_chain": ("initial", "transitions", "steps", "states"),
    "basic": ("index", "radius"),
    "compound": ("indices", "radius"),
    "contexts": ("states", "times"),
    "trajectory": ("mistakes",),
    "sensor_counts": ("sensors", "noise"),
    "suppress_given": ("probabilities",),
    "suppress_set_labels": ("mechanism", "labels"),
}


def noun(name, *values, **more):
    """Return the table of a plugin's object; noise is given its mse, suppression its delta."""
    first = "mse" if name.startswith("gaussian_") else "delta"
    return {"name": name, **dict(zip(POSITIONAL.get(name, (first,)), values, strict=False)), **more}


def any_of(*options):
    return {"any_of": list(options)}


def group(name, prior, secret, mechanism, asks=(), **more):
    """Return a group; `designed_for` replaces the prior or the secret while designing."""
    stops = mechanism.get("name") in STOPPING_MECHANISMS or "interval" in json.dumps(prior)
    table = {"name": name, "prior": prior, "secret": secret, "mechanism": mechanism, **more}
    return {**table, "tolerance": STOPPING if stops else ROUNDING, "asks": ["design", *asks]}


def measures(*tables):
    return [{"measure": noun(table) if isinstance(table, str) else table} for table in tables]


def attack(trace, *adversaries, seed=0):
    """Return asks for a seeded output of the trace, and for what adversaries infer from it."""
    seen = {"apply": trace, "seed": seed}
    return [seen, *({**seen, "adversary": noun(adversary)} for adversary in adversaries)]


# Traces of real numbers under additive noise.

RENYI = noun("renyi", order=2.0)
CONVERTED = noun("odds_gap", conversion=True, conversion_order=3.0)
BOUNDED = noun("misspecification", region=3.0)
PAIRS = measures(RENYI, "renyi_paper_bound", "odds_gap", "posterior_interval")
DETERMINANT = measures("mutual_information")
MORE_PAIRS = [
    *measures(noun("renyi", order=1.25), noun("odds_gap", expected=True), BOUNDED, CONVERTED),
    *measures(noun("odds_gap", delta=0.05, conversion=True), "mean_squared_error"),
    *measures(noun("odds_gap", conversion=True, expected=True, conversion_order=2.0)),
    *measures("posterior_gap"),  # refused: there are no events
]
IRREGULAR = [0.0, 0.3, 1.0, 2.5, 2.6, 4.0]
SINE = {"name": "ExpSineSquared", "length_scale": 1.0, "periodicity": 2.5}
QUADRATIC = {"name": "RationalQuadratic", "length_scale": 2.0, "alpha": 1.5}
WHITE = {"name": "WhiteKernel", "noise_level": 0.1}
TRACE_PRIORS = {
    "rbf": noun("rbf", 1.5, 6),
    "rbf irregular": noun("rbf", 1.0, IRREGULAR, variance=4.0),
    "matern 1/2": noun("matern", 2.0, 6, 0.5),
    "matern 3/2 irregular": noun("matern", 2.0, IRREGULAR),
    "matern 5/2": noun("matern", 1.0, 6, 2.5, variance=0.25),
    "periodic copies": noun("periodic", 1.0, 4.0, 6),
    "periodic": noun("periodic", 0.8, 3.7, 6),
    "kernel sum": noun("kernel", {"name": "Sum", "k1": QUADRATIC, "k2": WHITE}, 6),
    "kernel product": noun("kernel", {"name": "Product", "k1": QUADRATIC, "k2": SINE}, 6),
    "sum": {"sum": [noun("rbf", 3.0, 6), noun("matern", 1.0, 6, 0.5, variance=0.5)]},
    "product": {"product": [noun("rbf", 3.0, 6), noun("periodic", 1.0, 2.5, 6)]},
    "plane": noun("rbf", 1.5, 4, dimensions=2),
    "across": noun("matern", 2.0, 4, across=[[1.0, 0.6], [0.6, 2.0]]),
    "flat across": noun("rbf", 1.0, 4, across=[[1.0, 0.0], [0.0, 0.0]]),
}
BASICS = [noun("basic", 0), noun("compound", [1, 3], 0.5), noun("basic", 3, 2.0)]
ONE, NEAR, MIDDLE = noun("rbf", 2.0, 6), noun("rbf", 2.02, 6), noun("basic", 2)
TRACE_SECRETS = {
    "basic": MIDDLE,
    "compound": noun("compound", [1, 3], 0.5),
    "every point": noun("every_point", radius=0.7),
    "union": {"union": BASICS},
}
UNIFORM = noun("gaussian_uniform", 0.3)
NOISES = {
    "uniform": UNIFORM,
    "optimal": noun("gaussian_optimal", 0.5),
    "concentrated": noun("gaussian_concentrated", 0.2),
    "sdp_a": noun("gaussian_sdp_a", 0.4),
    "multiple": noun("gaussian_multiple_secrets", 0.4),
    "uniform to epsilon": noun("gaussian_uniform", epsilon=1.5, order=2.0),
    "own noise": noun("gaussian_optimal", 0.5, independent_secret_noise=True),
}


def traces():
    """Yield every prior with every secret, and the mechanisms in turn."""
    turns = cycle(NOISES.items())
    for (prior, table), (secret, hidden) in product(TRACE_PRIORS.items(), TRACE_SECRETS.items()):
        name, mechanism = next(turns)
        # Noise by a solver is nearly singular: its determinant says next to nothing.
        once = [] if mechanism["name"] in STOPPING_MECHANISMS else DETERMINANT
        more = MORE_PAIRS if hidden == MIDDLE else []
        yield group(f"{prior}: {secret}, {name}", table, hidden, mechanism, PAIRS + once + more)


SCALES = noun("rbf", any_of(1.0, 2.0, 4.0), 6)
TRACE_CLASSES = {
    "choice of scales": SCALES,
    "choice of priors": any_of(ONE, noun("matern", 2.0, 6), noun("periodic", 1.0, 4.0, 6)),
    "choice of choices": any_of(SCALES, noun("matern", any_of(1.0, 2.0), 6, 0.5)),
    "choice of two": noun("rbf", any_of(1.0, 2.0), 6, variance=any_of(0.5, 2.0)),
    "interval of scales": noun("rbf", {"interval": [1.0, 3.0]}, 6),
    "interval of variances": noun("matern", 2.0, 6, variance={"interval": [0.5, 2.0]}),
    "interval of periods": noun("periodic", 1.0, {"interval": [3.3, 7.0]}, 6),
    "interval in kernel": noun("kernel", {**QUADRATIC, "length_scale": {"interval": [1, 3]}}, 6),
    "sum of classes": {"sum": [SCALES, noun("matern", 1.0, 6)]},
    "plane of two": noun("matern", 1.0, 3, any_of(0.5, 2.5), dimensions=2),
}
EPSILON = {"epsilon": 0.7, "order": 2.0}
CALIBRATED = {
    "uniform": (SCALES, noun("gaussian_uniform", epsilon=0.7, order=3.0)),
    "concentrated": (SCALES, noun("gaussian_concentrated", epsilon=1e9, order=2.0)),
    "unreachable": (SCALES, noun("gaussian_concentrated", **EPSILON)),
    "optimal": (SCALES, noun("gaussian_optimal", **EPSILON)),
    "multiple": (ONE, noun("gaussian_multiple_secrets", **EPSILON)),
    "sdp_a": (ONE, noun("gaussian_sdp_a", **EPSILON)),
    "sdp_a for none": (SCALES, noun("gaussian_sdp_a", 0.4)),  # refused: designed for one prior
    "sdp_a for one": (SCALES, noun("gaussian_sdp_a", 0.4, design_prior=ONE, rescale=10.0)),
    "optimal for one": (SCALES, noun("gaussian_optimal", 0.4, design_prior=ONE)),
}


def trace_classes():
    """Yield classes of priors: finite, proved and searched suprema, and designs for them."""
    secrets = cycle([MIDDLE, noun("compound", [0, 2]), noun("every_point")])
    for name, prior in TRACE_CLASSES.items():
        asks = PAIRS[::3] if "interval" in name else PAIRS + DETERMINANT
        yield group(f"{name}: uniform", prior, next(secrets), UNIFORM, asks)
        yield group(f"{name}: optimal", prior, MIDDLE, NOISES["optimal"], PAIRS[::3])
    for name, (prior, mechanism) in CALIBRATED.items():
        yield group(f"calibrated: {name}", prior, MIDDLE, mechanism, PAIRS[::3])
    smaller = noun("misspecification", region=0.1)  # refused: smaller than the secret
    asks = measures(RENYI, BOUNDED, "misspecification", smaller)
    for name, true in {"near": NEAR, "far": noun("rbf", 6.0, 6), "any": any_of(ONE, NEAR)}.items():
        for mechanism in (UNIFORM, given([1.0, 0.0] * 3)):
            title = f"misspecified: {name}, {mechanism['name']}"
            yield group(title, true, MIDDLE, mechanism, asks, designed_for={"prior": ONE})
    asked, also = TRACE_SECRETS["compound"], {"designed_for": {"secret": MIDDLE}}
    yield group("unprotected", ONE, asked, NOISES["concentrated"], PAIRS, **also)


def given(diagonal, direction=(0.0,)):
    """Return noise of these variances, plus one draw that all entries share by `direction`."""
    covariance = np.diag(diagonal) + np.outer(direction, direction)
    return noun("gaussian_given", covariance=covariance.tolist())


def extremes():
    """Yield what float64 can hardly or cannot tell: exact arithmetic, infinities, refusals."""
    smooth, copies, four = noun("rbf", 10.0, 50), noun("periodic", 1, 10, 50), noun("rbf", 1.0, 4)
    for name, prior, secret, mechanism in (
        ("smooth", smooth, 24, NOISES["concentrated"]),
        ("smooth, optimal", smooth, 24, noun("gaussian_optimal", 0.02)),
        ("two times", smooth, noun("compound", [10, 40]), noun("gaussian_uniform", 1e-3)),
        ("close times", smooth, noun("compound", [24, 25]), UNIFORM),
        ("smooth class", noun("rbf", any_of(1.0, 10.0), 50), 24, NOISES["concentrated"]),
        ("tiny noise", noun("rbf", 3.0, 8), 3, noun("gaussian_uniform", 1e-12)),
        ("huge noise", noun("rbf", 3.0, 8), 3, noun("gaussian_uniform", 1e12)),
        ("tiny noise, optimal", noun("rbf", 2.0, 8), 3, noun("gaussian_optimal", 1e-9)),
        ("nearly a copy", noun("rbf", 1.0, [0.0, 1e-7, 1.0]), 0, NOISES["concentrated"]),
        ("copies, all noisy", copies, 24, UNIFORM),
        ("copies, one noisy", copies, 24, NOISES["concentrated"]),
        ("copies, optimal", noun("periodic", 1.0, 5.0, 15), 7, NOISES["optimal"]),
        ("no noise", four, 1, given([0.0] * 4)),
        ("no noise on the secret", four, 1, given([1.0, 0.0, 1.0, 1.0])),
        ("shared noise", four, 1, given([0.0] * 4, [0.3, 1.0, 0.3, 0.1])),
        ("shared by copies", noun("periodic", 1.0, 2.0, 4), 1, given([0.0] * 4, [0, 1, 0, 1])),
        ("wide radius", four, noun("basic", 0, 1e300), UNIFORM),
        ("narrow radius", four, noun("basic", 0, 1e-150), UNIFORM),
        ("every time", noun("matern", 3.0, 50), noun("every_point"), NOISES["optimal"]),
        ("nearly constant", noun("rbf", 1e4, 6), 2, NOISES["concentrated"]),
        ("one entry", noun("rbf", 1.0, 1), 0, NOISES["optimal"]),
    ):
        hidden = noun("basic", secret) if isinstance(secret, int) else secret
        # The paper's bound fails with an OverflowError at a wide radius: nothing to hold on to.
        asks = PAIRS[::2] if "wide" in name else PAIRS
        yield group(f"extreme {name}", prior, hidden, mechanism, asks)


def several():
    """Yield several releases of one trace, a joint trace, and a population."""
    prior, parts = noun("rbf", 2.0, 5), [UNIFORM, NOISES["concentrated"]]
    for whole, second in ((5, 0), (10, 5)):
        positions = [list(range(5)), list(range(second, second + 5))]
        both = {"composition": parts, "of": prior, "positions": positions}
        yield group(f"composed in {whole}", noun("rbf", 2.0, whole), MIDDLE, both, PAIRS)
    joint = {"joint": prior, "positions": [0, 1, 1, 3, 4]}
    yield group("joint", joint, noun("basic", 1), UNIFORM, PAIRS)
    people = [CHAINS[name] for name in ("day", "no memory", "day", "gates")]
    asks = measures("reconstruction", "fano_loose", ATTACKS[0])
    asks = [{**ask, "people": people} for ask in asks]
    yield group("population", DAY, noun("trajectory", 1), COUNTS["counts"], asks)


# Traces of states, some of them suppressed or counted.

LABELS = ["home", "work", "hospital"]
STEP = [[0.6, 0.35, 0.05], [0.3, 0.6, 0.1], [0.45, 0.4, 0.15]]
OTHER = [[0.2, 0.5, 0.3], [0.5, 0.25, 0.25], [0.3, 0.3, 0.4]]
GATE = [[0.0, 1.0, 0.0], [0.5, 0.0, 0.5], [1.0, 0.0, 0.0]]
FIXED = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
TABLE = [[0.1, 0.2, 0.9], [0.0, 0.5, 1.0], [0.3, 0.3, 0.8], [1.0, 0.0, 0.7], [0.25, 0.5, 1.0]]
DAY = noun("markov_chain", "stationary", STEP, 5, LABELS)
CHAINS = {
    "day": DAY,
    "from home": noun("markov_chain", [1.0, 0.0, 0.0], STEP, 5, LABELS),
    "changing": noun("markov_chain", [0.5, 0.3, 0.2], [STEP, OTHER, GATE, STEP], 5, LABELS),
    "gates": noun("markov_chain", [0.4, 0.6, 0.0], GATE, 5, LABELS),
    "fixed": noun("markov_chain", [0.5, 0.3, 0.2], FIXED, 5, LABELS),
    "no memory": noun("markov_chain", "stationary", [[0.5, 0.3, 0.2]] * 3, 5, LABELS),
    "choice": any_of(DAY, noun("markov_chain", [0.2, 0.5, 0.3], OTHER, 5, LABELS)),
    "choice of steps": noun("markov_chain", "stationary", any_of(STEP, OTHER), 5, LABELS),
}
HOSPITAL = noun("contexts", ["hospital"])
EVENTS = {
    "hospital": HOSPITAL,
    "two": noun("contexts", ["hospital", "work"], [1, 3]),
    "together": noun("contexts", ["hospital", "work"], together=True),
    "union": {"union": [HOSPITAL, noun("contexts", ["work"], [0])]},
    "window": noun("contexts", ["hospital"], [1, 2], window=True),
}
SENSORS = ["home", "work", "hospital", "home", "work"]
MAYBE = [["work", ["hospital", "work"]]]
SUPPRESSIONS = {
    "segmented": noun("suppress_segmented", 0.2),
    "given": noun("suppress_given", TABLE),
    "probabilistic": noun("suppress_probabilistic", 0.15),
    "simulatable": noun("suppress_simulatable", 0.3),
    "hybrid": noun("suppress_hybrid", 0.2),
    "sensitive": noun("suppress_sensitive"),
    "labels": noun("suppress_set_labels", noun("suppress_probabilistic", 0.3), MAYBE),
    "counts": noun("sensor_counts", SENSORS),
}
COUNTS = {
    "counts": SUPPRESSIONS["counts"],
    "noisy": noun("sensor_counts", SENSORS, 0.5),
    "very noisy": noun("sensor_counts", "home", 50.0),
    "two": noun("sensor_counts", [["home", "work"], "home", "work", "work", ["work", "home"]]),
    "noisy pair": noun("sensor_counts", [["home", "hospital"]] * 5, 2.0),
    "drawn": noun("sensor_counts", "drawn", seed=11),
    "given": SUPPRESSIONS["given"],
}
DAYS = [["home", "work", "hospital", "home", "home"], ["home", "home", "work", "work", "home"]]
GAP = measures("posterior_gap", "released_fraction", "mutual_information")
BREACHES = noun("breach_rate", 0.3, traces=DAYS, per="length")
RISES = measures(noun("breach_rate", traces=DAYS, seed=1), BREACHES, "fano_loose")
GUESSERS = ("map", "marginal_mode", "prior_mode", "constant", "hidden_markov_posterior")
ATTACKS = [noun("attack_success", adversary=noun(g), trials=60, seed=5) for g in GUESSERS]
ATTACKS.append(noun("attack_success", adversary=noun("constant", place="work"), trials=60))
LIMITS = measures("reconstruction", "fano_loose", "fano_tight", "mutual_information")
BY_HAND = [noun("reconstruction", method="enumeration"), noun("mutual_information", method="paper")]
EPSILONS = ["differential_privacy", noun("differential_privacy", 0.01, formula="paper")]
SUCCESSES = LIMITS + measures(*BY_HAND, *EPSILONS, *ATTACKS)


def chains():
    """Yield every chain with every event and number of mistakes, and the mechanisms in turn."""
    turns, others = cycle(SUPPRESSIONS.items()), cycle(COUNTS.items())
    for (prior, table), (secret, hidden) in product(CHAINS.items(), EVENTS.items()):
        name, mechanism = next(turns)
        yield group(f"{prior}: {secret}, {name}", table, hidden, mechanism, GAP + RISES)
    for (prior, table), mistakes in product(CHAINS.items(), (0, 1, 3)):
        name, mechanism = next(others)
        hidden = noun("trajectory", mistakes)
        yield group(f"{prior}: {mistakes} wrong, {name}", table, hidden, mechanism, SUCCESSES)
    short = noun("markov_chain", [0.7, 0.3], [[0.7, 0.3], [0.4, 0.6]], 3)
    for delta, name in product((0.0, 0.05, 0.5, 1.0), ("probabilistic", "segmented", "hybrid")):
        mechanism = noun(f"suppress_{name}", delta)
        yield group(f"short: {name} {delta}", short, noun("contexts", [1]), mechanism, GAP)
    exhaustive = noun("suppress_probabilistic", 0.1, search="exhaustive")
    yield group("short: exhaustive", short, noun("contexts", [1]), exhaustive, GAP)
    long = noun("markov_chain", "stationary", STEP, 25, LABELS)
    for name in ("segmented", "simulatable", "sensitive"):
        yield group(f"long: {name}", long, HOSPITAL, SUPPRESSIONS[name], GAP)
    for noise in ({}, {"noise": 1.0}):
        mechanism = noun("sensor_counts", "drawn", seed=2, **noise)
        yield group(f"long: counts {noise}", long, noun("trajectory", 4), mechanism, LIMITS)


def samples():
    """Yield seeded outputs, and what adversaries make of them."""
    asks = attack([0.1, -0.4, 1.0, 0.3, -2.0, 0.5], "gaussian_posterior", "map")
    shared = given([0.2] * 6, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    for mechanism in (UNIFORM, NOISES["concentrated"], NOISES["optimal"], shared):
        yield group(f"sampled {mechanism['name']}", ONE, MIDDLE, mechanism, asks)
    asks = attack([[0.0, 1.0], [0.5, 0.5], [1.0, -1.0], [2.0, 0.0]], "gaussian_posterior", seed=7)
    yield group("sampled plane", TRACE_PRIORS["across"], MIDDLE, UNIFORM, asks)
    asks = attack(DAYS[0], *GUESSERS, "frequency_only", "gaussian_posterior")
    for name, mechanism in {**SUPPRESSIONS, **COUNTS}.items():
        yield group(f"sampled {name}", DAY, HOSPITAL, mechanism, asks)


def refusals():
    """Yield what does not fit, or is outside its domain."""
    four, one, sensitive = noun("rbf", 1.0, 4), noun("basic", 1), SUPPRESSIONS["sensitive"]
    two = [[1.0, 0.0], [0.0, 1.0]]
    for name, prior, secret, mechanism in (
        ("noise", DAY, noun("trajectory"), UNIFORM),
        ("counts", four, one, COUNTS["counts"]),
        ("contexts", four, HOSPITAL, UNIFORM),
        ("index", four, noun("basic", 4), UNIFORM),
        ("scale", noun("rbf", -1.0, 4), one, UNIFORM),
        ("lengths", any_of(four, ONE), one, UNIFORM),
        ("interval", noun("rbf", {"interval": [2.0, 1.0]}, 4), one, UNIFORM),
        ("indefinite", noun("rbf", 1.0, 2), one, given([0.0, -1.0])),
        ("name", noun("rfb", times=4), one, UNIFORM),
        ("law", noun("markov_chain", [0.5, 0.6], two, 2), noun("contexts", [0]), sensitive),
        ("state", DAY, noun("contexts", ["beach"]), sensitive),
        ("union", DAY, {"union": [HOSPITAL, one]}, sensitive),
    ):
        yield group(f"refused {name}", prior, secret, mechanism)
    asks = measures(noun("renyi", order=1.0), noun("odds_gap", 0.0), "attack_success", "nothing")
    yield group("refused measures", four, one, UNIFORM, asks + GAP[:2])
    asks = attack(["home"]) + attack(["beach"] * 5)
    yield group("refused traces", DAY, HOSPITAL, sensitive, asks)


def plain(value):
    """Return JSON's own types: arrays to 12 digits, sets sorted, infinities and marks as words."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, frozenset)):
        return [plain(item) for item in (sorted(value) if isinstance(value, frozenset) else value)]
    if isinstance(value, (np.ndarray, np.generic)):
        rounded = np.round(value, 12) + 0.0 if value.dtype.kind == "f" else value  # no -0.0
        return plain(rounded.tolist())
    if hasattr(value, "covariance"):  # a Gaussian posterior
        return {"mean": plain(value.mean), "covariance": plain(value.covariance)}
    finite = not isinstance(value, float) or math.isfinite(value)
    known = value is None or isinstance(value, (bool, int, float, str))
    return value if known and finite else str(value)


def release_of(table):
    """Return the prior, the secret and the release of a group."""
    build, mechanism = sf.registry.build, table["mechanism"]
    prior, secret = build("prior", table["prior"]), build("secret", table["secret"])
    designed = {"prior": table["prior"], "secret": table["secret"], **table.get("designed_for", {})}
    if "composition" in mechanism:
        part = build("prior", mechanism["of"])
        parts = [build("mechanism", one).protect(part, secret) for one in mechanism["composition"]]
        release = sf.compose(parts, prior, secret, positions=mechanism["positions"])
        return release.prior, secret, release
    meant = (build(kind, designed[kind]) for kind in ("prior", "secret"))
    return prior, secret, build("mechanism", mechanism).protect(*meant)


def answer(ask, prior, secret, release):
    """Return what is found for one ask, in plain values."""
    build = sf.registry.build
    if ask == "design":
        kind, claims = release.utility_quantity, dict(release.claims)
        return {"utility": release.utility(), "quantity": str(kind), "worse": kind.worse, **claims}
    if "apply" in ask:
        seen = release.apply(ask["apply"], rng=np.random.default_rng(ask["seed"]))
        if "adversary" not in ask:
            return {"output": seen}
        belief = next(prior.members()).belief()
        adversary = build("adversary", ask["adversary"])
        return {"inferred": adversary.infer(belief, release.channel, seen)}
    measure = build("measure", ask["measure"])
    if "people" in ask:
        people = [build("prior", person) for person in ask["people"]]
        losses = measure.of_population(people, secret, release.mechanism, processes=1)
        return {"values": losses.values.tolist(), "bounds": losses.bounds}
    loss = measure.loss(prior, secret, release)
    names = ("value", "bound", "floor", "ceiling", "interval", "estimate_of", "how")
    told = {name: getattr(loss, name) for name in (*names, "relative_error")}
    return {**told, "quantity": str(loss.quantity)}


def found(table, asks):
    """Return what is found for every ask; for the design alone where it is refused."""
    try:
        made = release_of(table)
    except Exception as error:  # noqa: BLE001 - whatever it is, its name is the answer
        return [{"refused": type(error).__name__}]
    answers = []
    for ask in asks:
        try:
            answers.append(plain(answer(ask, *made)))
        except Exception as error:  # noqa: BLE001 - whatever it is, its name is the answer
            answers.append({"refused": type(error).__name__})
    return answers


def dumped(value):
    return json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False)


def main():
    """Write a line for the tables of each group, and one for each of its rows."""
    warnings.simplefilter("error")
    worlds = (traces, trace_classes, extremes, several, chains, samples, refusals)
    blocks, rows = [], 0
    for table in chain.from_iterable(world() for world in worlds):
        asks = table.pop("asks")
        answers = found(table, asks)
        lines = [dumped({"ask": a, "found": f}) for a, f in zip(asks, answers, strict=False)]
        blocks.append(f'{dumped(table)[:-1]}, "rows": [\n ' + ",\n ".join(lines) + "]}")
        rows += len(lines)
    FILE.write_text("[\n" + ",\n".join(blocks) + "\n]\n", encoding="utf-8")
    sys.stdout.write(f"{len(blocks)} groups, {rows} rows\n")


if __name__ == "__main__":
    main()
