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
from sfumato import adversaries, measures, mechanisms, priors, secrets

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


def table_of(value):
    """Return plain tables in place of the objects of the five nouns, also inside lists."""
    if isinstance(value, dict):
        return {key: table_of(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [table_of(item) for item in value]
    return value.specification() if hasattr(value, "specification") else value


def group(name, prior, secret, mechanism, asks=(), **more):
    """Return a group; `designed_for` replaces the prior or the secret while designing."""
    table = {"name": name, "prior": prior, "secret": secret, "mechanism": mechanism, **more}
    table = table_of({**table, "asks": ["design", *asks]})
    stops = table["mechanism"].get("name") in STOPPING_MECHANISMS or "interval" in str(
        table["prior"]
    )
    return {**table, "tolerance": STOPPING if stops else ROUNDING}


def asking(*names):
    """Return asks for measures, some of them by name alone."""
    return [{"measure": {"name": one} if isinstance(one, str) else one} for one in names]


def attack(trace, *guessers, seed=0):
    """Return asks for a seeded output of the trace, and for what adversaries infer from it."""
    seen = {"apply": trace, "seed": seed}
    return [seen, *({**seen, "adversary": {"name": guesser}} for guesser in guessers)]


# Traces of real numbers under additive noise.

RENYI = measures.renyi(order=2.0)
CONVERTED = measures.odds_gap(conversion=True, conversion_order=3.0)
BOUNDED = measures.misspecification(region=3.0)
PAIRS = asking(RENYI, "renyi_paper_bound", "odds_gap", "posterior_interval")
DETERMINANT = asking("mutual_information")
MORE_PAIRS = [
    *asking(measures.renyi(order=1.25), measures.odds_gap(expected=True), BOUNDED, CONVERTED),
    *asking(measures.odds_gap(delta=0.05, conversion=True), "mean_squared_error"),
    *asking(measures.odds_gap(conversion=True, expected=True, conversion_order=2.0)),
    *asking("posterior_gap"),  # refused: there are no events
]
IRREGULAR = [0.0, 0.3, 1.0, 2.5, 2.6, 4.0]
SINE = {"name": "ExpSineSquared", "length_scale": 1.0, "periodicity": 2.5}
QUADRATIC = {"name": "RationalQuadratic", "length_scale": 2.0, "alpha": 1.5}
WHITE = {"name": "WhiteKernel", "noise_level": 0.1}
TRACE_PRIORS = {
    "rbf": priors.rbf(1.5, 6),
    "rbf irregular": priors.rbf(1.0, IRREGULAR, variance=4.0),
    "matern 1/2": priors.matern(2.0, 6, 0.5),
    "matern 3/2 irregular": priors.matern(2.0, IRREGULAR),
    "matern 5/2": priors.matern(1.0, 6, 2.5, variance=0.25),
    "periodic copies": priors.periodic(1.0, 4.0, 6),
    "periodic": priors.periodic(0.8, 3.7, 6),
    "kernel sum": priors.kernel({"name": "Sum", "k1": QUADRATIC, "k2": WHITE}, 6),
    "kernel product": priors.kernel({"name": "Product", "k1": QUADRATIC, "k2": SINE}, 6),
    "sum": priors.rbf(3.0, 6) + priors.matern(1.0, 6, 0.5, variance=0.5),
    "product": priors.rbf(3.0, 6) * priors.periodic(1.0, 2.5, 6),
    "plane": priors.rbf(1.5, 4, dimensions=2),
    "across": priors.matern(2.0, 4, across=[[1.0, 0.6], [0.6, 2.0]]),
    "flat across": priors.rbf(1.0, 4, across=[[1.0, 0.0], [0.0, 0.0]]),
}
ONE, NEAR, MIDDLE = priors.rbf(2.0, 6), priors.rbf(2.02, 6), secrets.basic(2)
TRACE_SECRETS = {
    "basic": MIDDLE,
    "compound": secrets.compound([1, 3], 0.5),
    "every point": secrets.every_point(radius=0.7),
    "union": secrets.basic(0) | secrets.compound([1, 3], 0.5) | secrets.basic(3, 2.0),
}
UNIFORM = mechanisms.gaussian_uniform(0.3)
NOISES = {
    "uniform": UNIFORM,
    "optimal": mechanisms.gaussian_optimal(0.5),
    "concentrated": mechanisms.gaussian_concentrated(0.2),
    "sdp_a": mechanisms.gaussian_sdp_a(0.4),
    "multiple": mechanisms.gaussian_multiple_secrets(0.4),
    "uniform to epsilon": mechanisms.gaussian_uniform(epsilon=1.5, order=2.0),
    "own noise": mechanisms.gaussian_optimal(0.5, independent_secret_noise=True),
}


def traces():
    """Yield every prior with every secret, and the mechanisms in turn."""
    turns = cycle(NOISES.items())
    for (prior, table), (secret, hidden) in product(TRACE_PRIORS.items(), TRACE_SECRETS.items()):
        name, mechanism = next(turns)
        # Noise by a solver is nearly singular: its determinant says next to nothing.
        once = [] if mechanism.name in STOPPING_MECHANISMS else DETERMINANT
        more = MORE_PAIRS if hidden == MIDDLE else []
        yield group(f"{prior}: {secret}, {name}", table, hidden, mechanism, PAIRS + once + more)


SCALES = priors.rbf(sf.AnyOf(1.0, 2.0, 4.0), 6)
TRACE_CLASSES = {
    "choice of scales": SCALES,
    "choice of priors": sf.AnyOf(ONE, priors.matern(2.0, 6), priors.periodic(1.0, 4.0, 6)),
    "choice of choices": sf.AnyOf(SCALES, priors.matern(sf.AnyOf(1.0, 2.0), 6, 0.5)),
    "choice of two": priors.rbf(sf.AnyOf(1.0, 2.0), 6, variance=sf.AnyOf(0.5, 2.0)),
    "interval of scales": priors.rbf(sf.Interval(1.0, 3.0), 6),
    "interval of variances": priors.matern(2.0, 6, variance=sf.Interval(0.5, 2.0)),
    "interval of periods": priors.periodic(1.0, sf.Interval(3.3, 7.0), 6),
    "interval in kernel": priors.kernel({**QUADRATIC, "length_scale": sf.Interval(1, 3)}, 6),
    "sum of classes": SCALES + priors.matern(1.0, 6),
    "plane of two": priors.matern(1.0, 3, sf.AnyOf(0.5, 2.5), dimensions=2),
}
EPSILON = {"epsilon": 0.7, "order": 2.0}
CALIBRATED = {
    "uniform": (SCALES, mechanisms.gaussian_uniform(epsilon=0.7, order=3.0)),
    "concentrated": (SCALES, mechanisms.gaussian_concentrated(epsilon=1e9, order=2.0)),
    "unreachable": (SCALES, mechanisms.gaussian_concentrated(**EPSILON)),
    "optimal": (SCALES, mechanisms.gaussian_optimal(**EPSILON)),
    "multiple": (ONE, mechanisms.gaussian_multiple_secrets(**EPSILON)),
    "sdp_a": (ONE, mechanisms.gaussian_sdp_a(**EPSILON)),
    "sdp_a for none": (SCALES, mechanisms.gaussian_sdp_a(0.4)),  # refused: designed for one prior
    "sdp_a for one": (SCALES, mechanisms.gaussian_sdp_a(0.4, rescale=10.0).designed_for(prior=ONE)),
    "optimal for one": (SCALES, mechanisms.gaussian_optimal(0.4).designed_for(prior=ONE)),
}


def trace_classes():
    """Yield classes of priors: finite, proved and searched suprema, and designs for them."""
    turns = cycle([MIDDLE, secrets.compound([0, 2]), secrets.every_point()])
    for name, prior in TRACE_CLASSES.items():
        asks = PAIRS[::3] if "interval" in name else PAIRS + DETERMINANT
        yield group(f"{name}: uniform", prior, next(turns), UNIFORM, asks)
        yield group(f"{name}: optimal", prior, MIDDLE, NOISES["optimal"], PAIRS[::3])
    for name, (prior, mechanism) in CALIBRATED.items():
        yield group(f"calibrated: {name}", prior, MIDDLE, mechanism, PAIRS[::3])
    smaller = measures.misspecification(region=0.1)  # refused: smaller than the secret
    asks = asking(RENYI, BOUNDED, "misspecification", smaller)
    for name, true in {"near": NEAR, "far": priors.rbf(6.0, 6), "any": sf.AnyOf(ONE, NEAR)}.items():
        for mechanism in (UNIFORM, given([1.0, 0.0] * 3)):
            title = f"misspecified: {name}, {mechanism.name}"
            yield group(title, true, MIDDLE, mechanism, asks, designed_for={"prior": ONE})
    asked, also = TRACE_SECRETS["compound"], {"designed_for": {"secret": MIDDLE}}
    yield group("unprotected", ONE, asked, NOISES["concentrated"], PAIRS, **also)


def given(diagonal, direction=(0.0,)):
    """Return noise of these variances, plus one draw that all entries share by `direction`."""
    covariance = np.diag(diagonal) + np.outer(direction, direction)
    return mechanisms.gaussian_given(covariance=covariance.tolist())


def extremes():
    """Yield what float64 can hardly or cannot tell: exact arithmetic, infinities, refusals."""
    smooth, copies, four = priors.rbf(10.0, 50), priors.periodic(1, 10, 50), priors.rbf(1.0, 4)
    for name, prior, secret, mechanism in (
        ("smooth", smooth, 24, NOISES["concentrated"]),
        ("smooth, optimal", smooth, 24, mechanisms.gaussian_optimal(0.02)),
        ("two times", smooth, secrets.compound([10, 40]), mechanisms.gaussian_uniform(1e-3)),
        ("close times", smooth, secrets.compound([24, 25]), UNIFORM),
        ("smooth class", priors.rbf(sf.AnyOf(1.0, 10.0), 50), 24, NOISES["concentrated"]),
        ("tiny noise", priors.rbf(3.0, 8), 3, mechanisms.gaussian_uniform(1e-12)),
        ("huge noise", priors.rbf(3.0, 8), 3, mechanisms.gaussian_uniform(1e12)),
        ("tiny noise, optimal", priors.rbf(2.0, 8), 3, mechanisms.gaussian_optimal(1e-9)),
        ("nearly a copy", priors.rbf(1.0, [0.0, 1e-7, 1.0]), 0, NOISES["concentrated"]),
        ("copies, all noisy", copies, 24, UNIFORM),
        ("copies, one noisy", copies, 24, NOISES["concentrated"]),
        ("copies, optimal", priors.periodic(1.0, 5.0, 15), 7, NOISES["optimal"]),
        ("no noise", four, 1, given([0.0] * 4)),
        ("no noise on the secret", four, 1, given([1.0, 0.0, 1.0, 1.0])),
        ("shared noise", four, 1, given([0.0] * 4, [0.3, 1.0, 0.3, 0.1])),
        ("shared by copies", priors.periodic(1.0, 2.0, 4), 1, given([0.0] * 4, [0, 1, 0, 1])),
        ("wide radius", four, secrets.basic(0, 1e300), UNIFORM),
        ("narrow radius", four, secrets.basic(0, 1e-150), UNIFORM),
        ("every time", priors.matern(3.0, 50), secrets.every_point(), NOISES["optimal"]),
        ("nearly constant", priors.rbf(1e4, 6), 2, NOISES["concentrated"]),
        ("one entry", priors.rbf(1.0, 1), 0, NOISES["optimal"]),
    ):
        hidden = secrets.basic(secret) if isinstance(secret, int) else secret
        # The paper's bound fails with an OverflowError at a wide radius: nothing to hold on to.
        asks = PAIRS[::2] if "wide" in name else PAIRS
        yield group(f"extreme {name}", prior, hidden, mechanism, asks)


def several():
    """Yield several releases of one trace, a joint trace, and a population."""
    prior, parts = priors.rbf(2.0, 5), [UNIFORM, NOISES["concentrated"]]
    for whole, second in ((5, 0), (10, 5)):
        positions = [list(range(5)), list(range(second, second + 5))]
        both = {"composition": parts, "of": prior, "positions": positions}
        yield group(f"composed in {whole}", priors.rbf(2.0, whole), MIDDLE, both, PAIRS)
    joint = {"joint": prior, "positions": [0, 1, 1, 3, 4]}
    yield group("joint", joint, secrets.basic(1), UNIFORM, PAIRS)
    people = [CHAINS[name] for name in ("day", "no memory", "day", "gates")]
    asks = asking("reconstruction", "fano_loose", ATTACKS[0])
    asks = [{**ask, "people": people} for ask in asks]
    yield group("population", DAY, secrets.trajectory(1), COUNTS["counts"], asks)


# Traces of states, some of them suppressed or counted.

LABELS = ["home", "work", "hospital"]
STEP = [[0.6, 0.35, 0.05], [0.3, 0.6, 0.1], [0.45, 0.4, 0.15]]
OTHER = [[0.2, 0.5, 0.3], [0.5, 0.25, 0.25], [0.3, 0.3, 0.4]]
GATE = [[0.0, 1.0, 0.0], [0.5, 0.0, 0.5], [1.0, 0.0, 0.0]]
FIXED = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
TABLE = [[0.1, 0.2, 0.9], [0.0, 0.5, 1.0], [0.3, 0.3, 0.8], [1.0, 0.0, 0.7], [0.25, 0.5, 1.0]]
DAY = priors.markov_chain("stationary", STEP, 5, LABELS)
CHAINS = {
    "day": DAY,
    "from home": priors.markov_chain([1.0, 0.0, 0.0], STEP, 5, LABELS),
    "changing": priors.markov_chain([0.5, 0.3, 0.2], [STEP, OTHER, GATE, STEP], 5, LABELS),
    "gates": priors.markov_chain([0.4, 0.6, 0.0], GATE, 5, LABELS),
    "fixed": priors.markov_chain([0.5, 0.3, 0.2], FIXED, 5, LABELS),
    "no memory": priors.markov_chain("stationary", [[0.5, 0.3, 0.2]] * 3, 5, LABELS),
    "choice": sf.AnyOf(DAY, priors.markov_chain([0.2, 0.5, 0.3], OTHER, 5, LABELS)),
    "choice of steps": priors.markov_chain("stationary", sf.AnyOf(STEP, OTHER), 5, LABELS),
}
HOSPITAL = secrets.contexts(["hospital"])
EVENTS = {
    "hospital": HOSPITAL,
    "two": secrets.contexts(["hospital", "work"], [1, 3]),
    "together": secrets.contexts(["hospital", "work"], together=True),
    "union": HOSPITAL | secrets.contexts(["work"], [0]),
    "window": secrets.contexts(["hospital"], [1, 2], window=True),
}
SENSORS = ["home", "work", "hospital", "home", "work"]
MAYBE = [["work", ["hospital", "work"]]]
SUPPRESSIONS = {
    "segmented": mechanisms.suppress_segmented(0.2),
    "given": mechanisms.suppress_given(TABLE),
    "probabilistic": mechanisms.suppress_probabilistic(0.15),
    "simulatable": mechanisms.suppress_simulatable(0.3),
    "hybrid": mechanisms.suppress_hybrid(0.2),
    "sensitive": mechanisms.suppress_sensitive(),
    "labels": mechanisms.suppress_set_labels(mechanisms.suppress_probabilistic(0.3), MAYBE),
    "counts": mechanisms.sensor_counts(SENSORS),
}
COUNTS = {
    "counts": SUPPRESSIONS["counts"],
    "noisy": mechanisms.sensor_counts(SENSORS, 0.5),
    "very noisy": mechanisms.sensor_counts("home", 50.0),
    "two": mechanisms.sensor_counts([["home", "work"], "home", "work", "work", ["work", "home"]]),
    "noisy pair": mechanisms.sensor_counts([["home", "hospital"]] * 5, 2.0),
    "drawn": mechanisms.sensor_counts("drawn", seed=11),
    "given": SUPPRESSIONS["given"],
}
DAYS = [["home", "work", "hospital", "home", "home"], ["home", "home", "work", "work", "home"]]
GAP = asking("posterior_gap", "released_fraction", "mutual_information")
BREACHES = measures.breach_rate(delta=0.3, traces=DAYS, per="length")
RISES = asking(measures.breach_rate(traces=DAYS, seed=1), BREACHES, "fano_loose")
GUESSERS = ("map", "marginal_mode", "prior_mode", "constant", "hidden_markov_posterior")
ATTACKS = [
    measures.attack_success(adversary=getattr(adversaries, g)(), trials=60, seed=5)
    for g in GUESSERS
]
ATTACKS.append(measures.attack_success(adversary=adversaries.constant(place="work"), trials=60))
LIMITS = asking("reconstruction", "fano_loose", "fano_tight", "mutual_information")
BY_HAND = [
    measures.reconstruction(method="enumeration"),
    measures.mutual_information(method="paper"),
]
EPSILONS = ["differential_privacy", measures.differential_privacy(0.01, formula="paper")]
SUCCESSES = LIMITS + asking(*BY_HAND, *EPSILONS, *ATTACKS)


def chains():
    """Yield every chain with every event and number of mistakes, and the mechanisms in turn."""
    turns, others = cycle(SUPPRESSIONS.items()), cycle(COUNTS.items())
    for (prior, table), (secret, hidden) in product(CHAINS.items(), EVENTS.items()):
        name, mechanism = next(turns)
        yield group(f"{prior}: {secret}, {name}", table, hidden, mechanism, GAP + RISES)
    for (prior, table), mistakes in product(CHAINS.items(), (0, 1, 3)):
        name, mechanism = next(others)
        hidden = secrets.trajectory(mistakes)
        yield group(f"{prior}: {mistakes} wrong, {name}", table, hidden, mechanism, SUCCESSES)
    short = priors.markov_chain([0.7, 0.3], [[0.7, 0.3], [0.4, 0.6]], 3)
    for delta, name in product((0.0, 0.05, 0.5, 1.0), ("probabilistic", "segmented", "hybrid")):
        mechanism = {"name": f"suppress_{name}", "delta": delta}
        yield group(f"short: {name} {delta}", short, secrets.contexts([1]), mechanism, GAP)
    probabilistic = mechanisms.suppress_probabilistic(0.1)
    yield group("short: probabilistic", short, secrets.contexts([1]), probabilistic, GAP)
    long = priors.markov_chain("stationary", STEP, 25, LABELS)
    for name in ("segmented", "simulatable", "sensitive"):
        yield group(f"long: {name}", long, HOSPITAL, SUPPRESSIONS[name], GAP)
    for noise in ({}, {"noise": 1.0}):
        mechanism = mechanisms.sensor_counts("drawn", seed=2, **noise)
        yield group(f"long: counts {noise}", long, secrets.trajectory(4), mechanism, LIMITS)


def samples():
    """Yield seeded outputs, and what adversaries make of them."""
    asks = attack([0.1, -0.4, 1.0, 0.3, -2.0, 0.5], "gaussian_posterior", "map")
    shared = given([0.2] * 6, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    for mechanism in (UNIFORM, NOISES["concentrated"], NOISES["optimal"], shared):
        yield group(f"sampled {mechanism.name}", ONE, MIDDLE, mechanism, asks)
    asks = attack([[0.0, 1.0], [0.5, 0.5], [1.0, -1.0], [2.0, 0.0]], "gaussian_posterior", seed=7)
    yield group("sampled plane", TRACE_PRIORS["across"], MIDDLE, UNIFORM, asks)
    asks = attack(DAYS[0], *GUESSERS, "frequency_only", "gaussian_posterior")
    for name, mechanism in {**SUPPRESSIONS, **COUNTS}.items():
        yield group(f"sampled {name}", DAY, HOSPITAL, mechanism, asks)


def refusals():
    """Yield what does not fit, or is outside its domain."""
    four, one, sensitive = priors.rbf(1.0, 4), secrets.basic(1), SUPPRESSIONS["sensitive"]
    for name, prior, secret, mechanism in (
        ("noise", DAY, secrets.trajectory(), UNIFORM),
        ("counts", four, one, COUNTS["counts"]),
        ("contexts", four, HOSPITAL, UNIFORM),
        ("index", four, secrets.basic(4), UNIFORM),
        ("scale", {"name": "rbf", "length_scale": -1.0, "times": 4}, one, UNIFORM),
        ("lengths", {"any_of": [four, ONE]}, one, UNIFORM),
        ("name", {"name": "rfb", "times": 4}, one, UNIFORM),
        ("law", {**DAY.specification(), "initial": [0.5, 0.6, 0.0]}, HOSPITAL, sensitive),
        ("step", {**DAY.specification(), "transitions": [[0.5] * 3] * 3}, HOSPITAL, sensitive),
        ("indefinite", four, one, {"name": "gaussian_given", "covariance": [[0, 1], [1, 0]]}),
        ("state", DAY, secrets.contexts(["beach"]), sensitive),
        ("union", DAY, {"union": [HOSPITAL, one]}, sensitive),
    ):
        yield group(f"refused {name}", prior, secret, mechanism, PAIRS[:1] + GAP[:1])
    asks = asking({"name": "renyi", "order": 1.0}, "attack_success", "breach_rate", "nothing")
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
