"""Check a certificate without sfumato: this one file and Python's standard library are enough.

    python checker.py CERTIFICATE.json [--trace RELEASED.csv] [--ledger FILE]

What is proved, in exact arithmetic, from the numbers in the certificate alone:

* for Gaussian beliefs (rbf, matern, periodic; one prior, a list of them, or intervals of the
  variance and of the length scale of rbf; up to 100 values) and a secret at one time: that the
  information M about it is at most m, and with it the Rényi divergence and the advantage. M <= m if
  and only if C + G - a a'/m is positive semidefinite, G the noise covariance, a and C the mean and
  covariance of the trace given the secret. Kernel values are enclosed to 70 digits, the matrix is
  rounded to whole multiples of 2^-160, all that rounding could hide is subtracted from its
  diagonal, and the leading minors, whole numbers, are positive.
* for chains of states that are suppressed, with or without regard to the last release: the largest
  posterior gap, over all segments between two releases, as a fraction.

What is proved is said in words of this file; everything else is listed as not checked. The seal is
a hash, not a signature: no proof rests on it; nor is it shown that the noise was really drawn.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import math
import operator
import os
import re
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

Table = dict[str, Any]
Rows = list[list[Fraction]]
Whole = list[list[int]]
LEDGER_START = "0" * 64
MOST_VALUES, MOST_STEPS, MOST_CELLS = 100, 30_000_000, 200
DIGITS, BITS = 75, 160
COARSE_BITS = 80  # where what is between two length scales is left out anyway
COMMON = "length_scale times variance dimensions across"
GAUSSIAN = {"rbf": COMMON, "periodic": f"{COMMON} period", "matern": f"{COMMON} nu"}
CHAIN = {"markov_chain": "initial transitions steps states"}
CHANNELS = {"AdditiveGaussian": "noise dimensions", "Suppression": "states start after shown"}
NOISE = {"Diagonal": "variances", "Dense": "entries", "LowRank": "factor", "Sum": "terms"}
NOISE["Scaled"] = "factor base"
QUANTITIES = {
    "renyi": "Rényi divergence (order={order:g}) [nats]",
    "advantage": "advantage [probability]",
    "posterior_gap": "posterior gap [probability]",
}
NUMBERS = r"(=|≤) ([-+.e\d]+)(?:, ≥ ([-+.e\d]+))? against every belief of the class"
LOOKED_AT = """guarantees against about covers estimates prior secret channel channel_sha256
    study_sha256 released_sha256 ledger seal"""
LONG = 60  # characters of a parameter that are said
AGAINST = "anyone who believes in {} and knows how the release is made, but not the noise"
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899")
DAMAGE = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)


class NotCheckedError(Exception):
    """What is claimed is of a kind that is not proved here."""


def canonical(table: Any) -> str:
    """Return the one text of a table that hashes are taken of."""
    return json.dumps(table, sort_keys=True, separators=(",", ":"), allow_nan=False)


def hash_of(data: str | bytes) -> str:
    """Return the SHA-256 of a text or of bytes, in hexadecimal."""
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


def seal_of(table: dict[str, Any]) -> str:
    """Return the hash of a table without its own seal."""
    return hash_of(canonical({key: value for key, value in table.items() if key != "seal"}))


def sealed_line(table: dict[str, Any]) -> str:
    """Return a ledger's entry as its line, with its hash."""
    return canonical({**table, "hash": hash_of(canonical(table))}) + "\n"


def read_ledger(
    path: str | os.PathLike[str], start: int = 0, head: str = LEDGER_START, count: int = 0
) -> tuple[list[dict[str, Any]], int, int]:
    """Return the entries from byte `start` on, where they end, and how many the head has counted.

    A last line without its end was never finished, and is left out. An edited, missing or reordered
    entry, and a file shorter than its head says, raise ValueError.
    """
    path, counter = Path(path), Path(f"{path}.head")
    noted = counter.read_text(encoding="utf-8") if counter.exists() else f"0 {LEDGER_START}"
    number, top = noted.split()
    counted = int(number)
    if not path.exists():
        if counted or count:
            raise ValueError(f"{path} is gone; it had {max(counted, count)} entries.")
        return [], 0, 0
    with path.open("rb") as stream:
        stream.seek(start)
        lines = stream.read().split(b"\n")
    if path.stat().st_size < start:
        raise ValueError(f"{path} was cut short.")
    entries: list[Table] = []
    end, seen = start, {count: head}
    for place, line in enumerate(lines[:-1], start=count):
        try:
            entry = json.loads(line)
            own = sealed_line({key: value for key, value in entry.items() if key != "hash"})
            whole = (entry["number"], entry["previous"], own.encode()) == (
                place,
                seen[place],
                line + b"\n",
            )
        except DAMAGE:
            whole = False
        if not whole:
            raise ValueError(f"entry {place} of {path} is not what was written.")
        entries.append(entry)
        seen[place + 1] = entry["hash"]
        end += len(line) + 1
    if (total := count + len(entries)) < counted:
        raise ValueError(f"{path} was rolled back: it has {total} entries where {counted} were.")
    if counted in seen and seen[counted] != top:
        raise ValueError(f"{path} was replaced: its head is of other entries.")
    if counted == 0 and total > 1:
        raise ValueError(f"{counter} is missing, so nobody can tell whether {path} is whole.")
    return entries, end, counted


def require(what: str, table: Table, known: dict[str, str], key: str = "name") -> str:
    """Return the name of what is known here; refuse other names, and words that nobody reads."""
    name: str = table.get(key, "made of several")
    if name not in known:
        raise NotCheckedError(f"the {what} {name}")
    if more := set(table) - {key, *known[name].split()}:
        raise NotCheckedError(f"the {what} {name} with {min(more)}")
    return name


def members_of(spec: Table, known: dict[str, str], *intervals: str) -> list[Table]:
    """Return the tables of a class's members; some parameters may still be intervals in them."""
    if set(spec) == {"any_of"}:
        found = [one for part in spec["any_of"] for one in members_of(part, known, *intervals)]
    else:
        require("prior", spec, known)
        many = [isinstance(v, dict) and set(v) == {"any_of"} for v in spec.values()]
        lists = [v["any_of"] if m else [v] for m, v in zip(many, spec.values(), strict=True)]
        if math.prod(map(len, lists)) > MOST_VALUES:
            raise NotCheckedError("a class of so many priors")
        found = [dict(zip(spec, one, strict=True)) for one in itertools.product(*lists)]
    for key, value in ((k, v) for one in found for k, v in one.items() if isinstance(v, dict)):
        if set(value) != {"interval"} or key not in intervals:
            raise NotCheckedError(f"a class that is not a list of priors ({key})")
        if not 0 < value["interval"][0] <= value["interval"][1]:
            raise ValueError("an interval that is none")
    if not found:
        raise ValueError("a class without a prior")
    return found


def with_stamps(spec: Table) -> Table:
    """Return a prior with all its times, if they are not too many."""
    times, wide = spec["times"], spec.get("dimensions") or 1
    times = range(times) if isinstance(times, int) else times
    if len(times) * wide > MOST_VALUES:
        raise NotCheckedError(f"{len(times) * wide} values, more than {MOST_VALUES}")
    return {**spec, "times": list(times), "dimensions": wide}


def correlation(spec: Table, lag: Decimal) -> Decimal:
    """Return the correlation at a lag, to 70 digits or better."""
    if min(spec["length_scale"], spec.get("variance", 1.0), spec.get("period", 1.0)) <= 0:
        raise ValueError("a prior whose parameters are not positive")
    length = Decimal(spec["length_scale"])
    if spec["name"] == "rbf":
        return (-((lag / length) ** 2) / 2).exp()
    if spec["name"] == "periodic":
        turn = lag / Decimal(spec["period"])
        if turn > 10**6 * min(length, Decimal(1)):  # of which too few digits would be left
            raise NotCheckedError("so many periods")
        x = PI * (turn - turn.to_integral_value())  # sin² has this period
        sine = series(x, lambda k: -x * x / ((k + 1) * (k + 2)))
        return (-2 * (sine / length) ** 2).exp()
    nu = spec.get("nu", 1.5)
    u = (2 * Decimal(nu)).sqrt() * lag / length
    return {0.5: Decimal(1), 1.5: 1 + u, 2.5: 1 + u + u * u / 3}[nu] * (-u).exp()


def series(term: Decimal, ratio: Callable[[int], Decimal]) -> Decimal:
    """Return the sum of terms whose ratios are those of k = 1, 3, 5, ..."""
    total, k = term, 1
    while abs(term) > Decimal(10) ** -(DIGITS + 5):
        term *= ratio(k)
        total, k = total + term, k + 2
    return total


def error_function(x: Decimal) -> Decimal:
    """Return erf x for x >= 0, by positive terms."""
    return 2 * (-x * x).exp() * series(x, lambda k: 2 * x * x / (k + 2)) / PI.sqrt()


def noise_matrix(table: Table) -> Rows:
    """Return a noise covariance as rows of fractions."""
    kind = require("noise", table, NOISE, "kind")
    rows = table.get(NOISE[kind], ())
    if len(rows) > MOST_VALUES:  # before a table of all their pairs is made
        raise NotCheckedError(f"{len(rows)} values, more than {MOST_VALUES}")
    if kind == "Diagonal":
        return [[Fraction(i == j and x) for j in range(len(rows))] for i, x in enumerate(rows)]
    if kind == "Dense":
        return [[Fraction(x) for x in row] for row in rows]
    if kind == "LowRank":
        rows = [[Fraction(x) for x in row] for row in rows]
        return [[sum(map(operator.mul, x, y), Fraction(0)) for y in rows] for x in rows]
    if kind == "Scaled":
        return [[Fraction(table["factor"]) * x for x in y] for y in noise_matrix(table["base"])]
    lines = [zip(*rows, strict=True) for rows in zip(*map(noise_matrix, rows), strict=True)]
    return [[sum(cells, Fraction(0)) for cells in line] for line in lines]


def information_is_at_most(spec: Table, noise: Rows, index: int, most: Fraction) -> bool:
    """Whether the information about the coordinates at one time is proved to be at most `most`."""
    if spec.get("across") is not None:
        raise NotCheckedError("coordinates that depend on one another")
    wide, size = spec["dimensions"], len(spec["times"]) * spec["dimensions"]
    if len(noise) != size or most <= 0 or not 0 <= index * wide < size:
        return False
    if isinstance(spec.get("variance"), dict):  # a'(v C + G)^-1 a falls with v
        spec = {**spec, "variance": spec["variance"]["interval"][0]}
    alone = all(noise[i][j] == 0 for i in range(size) for j in range(i) if (i - j) % wide)
    if alone and wide > 1:  # each coordinate by itself; those with the same noise once
        blocks = {tuple(tuple(row[k::wide]) for row in noise[k::wide]) for k in range(wide)}
        one = {**spec, "dimensions": 1}
        return all(information_is_at_most(one, list(map(list, b)), index, most) for b in blocks)
    if isinstance(spec["length_scale"], dict):
        return interval_is_covered(spec, noise, index, most)
    return is_covered(spec, noise, index, most, Fraction(0))


def interval_is_covered(spec: Table, noise: Rows, index: int, most: Fraction) -> bool:
    """Whether `is_covered` is proved of all length scales of an interval, cell by cell."""
    if spec["name"] != "rbf":
        raise NotCheckedError(f"an interval of length scales of {spec['name']}")
    cells = [tuple(spec["length_scale"]["interval"])]
    for _ in range(MOST_CELLS):  # each is proved, or halved
        if not cells:
            return True
        ends = cells.pop()
        room = bend(spec, index, most, ends)
        for scale in ends:
            member = {**spec, "length_scale": scale}
            if not is_covered(member, noise, index, most, room):
                if not is_covered(member, noise, index, most, Fraction(0)):
                    return False
                middle = math.sqrt(ends[0] * ends[1])
                cells += [(middle, ends[1]), (ends[0], middle)]
                break
    raise NotCheckedError(f"an interval, in {MOST_CELLS} cells")


def bend(spec: Table, index: int, most: Fraction, scales: tuple[float, float]) -> Fraction:
    """Bound how far C + G - a a'/m is from a straight line between two length scales of rbf.

    With u = log l and q = d^2/l^2 the second derivative of exp(-q/2) by u is (q^2 - 2q) exp(-q/2),
    of size at most 1.24; a product of two correlations is one for q + q'. A function is within
    h^2/8 of its largest second derivative from its chord, h the width of the cell, and the norm of
    a matrix is at most its largest row sum. So if the matrix less this number is positive definite
    at both ends, the matrix is at every length scale between them.
    """
    with localcontext() as context:
        context.prec = DIGITS
        low, high = map(Decimal, scales)
        width = (high / low).ln() + Decimal(10) ** -60
        stamps = [Decimal(t) for t in spec["times"]]
        variance = Decimal(spec.get("variance", 1.0))
        factor = 1 + 1 / (variance * Decimal(most.numerator) / Decimal(most.denominator))

        def turn(square: Decimal) -> Decimal:
            q = square / low**2
            return min(Decimal("1.24"), (q * q + 2 * q) * (-square / high**2 / 2).exp())

        own = [(t - stamps[index]) ** 2 for t in stamps]
        rows = [
            sum(turn((s - t) ** 2) + factor * turn(a + b) for t, b in zip(stamps, own, strict=True))
            for s, a in zip(stamps, own, strict=True)
        ]
        return Fraction(variance * max(rows) * width**2 / 8 * (1 + Decimal(10) ** -20))


def is_covered(spec: Table, noise: Rows, index: int, most: Fraction, room: Fraction) -> bool:
    """Whether C + G - a a'/m, less `room` on its diagonal, is proved to be positive definite."""
    wide, size, unit = spec["dimensions"], len(noise), 2 ** (COARSE_BITS if room else BITS)
    with localcontext() as context:
        context.prec = DIGITS
        stamps = [Decimal(t) for t in spec["times"]]
        variance = Fraction(spec.get("variance", 1.0))
        lags = [[abs(s - t) for t in stamps] for s in stamps]
        at_lag = {lag: Fraction(correlation(spec, lag)) for row in lags for lag in row}
    kernel = [[variance * at_lag[lag] for lag in row] for row in lags]
    factor = 1 / variance + 1 / (most * variance * variance)
    if max(variance, factor * variance**2, *(noise[i][i] for i in range(size))) > 10**15:
        raise NotCheckedError("values of such a scale: use other units")
    matrix = [list(cells) for cells in noise]
    for j, i in itertools.combinations_with_replacement(range(size), 2):
        if i % wide == j % wide:
            a, b = i // wide, j // wide
            matrix[i][j] += kernel[a][b] - factor * kernel[index][a] * kernel[index][b]
        matrix[i][j] -= room if i == j else 0
    return is_definite(whole_lower(matrix, unit, 3 * size + 3))  # with the kernel's own error


def whole_lower(rows: Rows, unit: int, slack: int) -> Whole:
    """Return the lower half in whole multiples of 1/unit, less `slack` of them on the diagonal."""
    cut = [[x.numerator * unit // x.denominator for x in r[: i + 1]] for i, r in enumerate(rows)]
    return [[*cells[:-1], cells[-1] - slack] for cells in cut]


def is_definite(lower: Whole) -> bool:
    """Whether a symmetric matrix of whole numbers, given by its lower half, is positive definite.

    Elimination without fractions: its pivots are the leading minors, which must all be positive.
    """
    size, last = len(lower), 1
    for k in range(size):
        pivot = lower[k][k]
        if pivot <= 0:
            return False
        for i in range(k + 1, size):
            row, first = lower[i], lower[i][k]
            for j in range(k + 1, i + 1):
                row[j] = (row[j] * pivot - first * lower[j][k]) // last
        last = pivot
    return True


def information_allowed(claim: Table, radius: Fraction) -> Fraction | float:
    """Return how much information about a value a claim allows; 0 for one that cannot be true."""
    name, ceiling = claim["measure"]["name"], Fraction(claim["ceiling"])
    if radius <= 0 or ceiling <= 0:
        return Fraction(0)
    if name == "renyi" and isinstance(order := claim["parameters"]["order"], (int, float)):
        return 2 * ceiling / (Fraction(order) * radius**2) if order >= 1 else Fraction(0)
    if name != "advantage":
        raise NotCheckedError(f"the measure {name} of Gaussian beliefs, of that order")
    if ceiling >= 1:
        return math.inf
    low, high = Decimal(0), Decimal(12)
    with localcontext() as context:
        context.prec = DIGITS
        for _ in range(200):  # the largest x with erf x at most the ceiling
            x = (low + high) / 2
            small = Fraction(error_function(x)) * (1 + Fraction(1, 10**60)) <= ceiling
            low, high = (x, high) if small else (low, x)
    return 8 * Fraction(low) ** 2 / radius**2


def check_gaussian(certificate: Table, claim: Table) -> bool:
    """Prove a claim about a Gaussian belief, or raise."""
    secret, channel = certificate["secret"], certificate["channel"]
    require("secret", secret, {"basic": "index radius"})
    found = members_of(certificate["prior"], GAUSSIAN, "variance", "length_scale")
    members = [with_stamps(one) for one in found]  # before there is a matrix
    noise, wide = noise_matrix(channel["noise"]), channel.get("dimensions", 1)
    symmetric = list(map(list, zip(*noise, strict=True))) == noise
    if not symmetric or any(one["dimensions"] != wide for one in members):
        return False
    if not is_definite(whole_lower(noise, 2**BITS, len(noise))):
        raise NotCheckedError("noise that may be none in some direction")
    most = information_allowed(claim, Fraction(secret.get("radius", 1.0)))
    return isinstance(most, float) or all(
        information_is_at_most(one, noise, secret["index"], most) for one in members
    )


def whole_laws(laws: Any, bits: int, count: int) -> Whole:
    """Return laws as multiples of 2^-bits; the largest entry is what the others leave."""
    found = whole_table(laws, bits)
    for row in found:
        rest = 2**bits - sum(row)
        if len(row) != count or abs(rest) > 2**bits // 10**9:
            raise ValueError("a law that is none")
        row[row.index(max(row))] += rest
    return found


def fine_enough(table: Any) -> int:
    """Return how many bits after the point the numbers of nested lists have."""
    if isinstance(table, list):
        return max(map(fine_enough, table), default=1)
    return max(1, Fraction(table).denominator.bit_length() - 1)


def largest_gap(spec: Table, channel: Table, events: list[tuple[int, set[int]]]) -> Fraction:
    """Return the largest posterior gap of some (time, states) over all outputs, as a fraction.

    The posterior of an event depends on its own segment alone: what was released last before it,
    and next after it. So all segments are listed; nothing is divided before the end.
    """
    if isinstance(spec["initial"], str):
        raise NotCheckedError("a chain whose first law is not written out")
    steps, count = spec["steps"], len(spec["initial"])
    after, start = channel.get("after"), channel["start"]
    rows = [start, *(one for line in after or [] for one in line)]
    if any(len(row) != steps or any(len(p) != count for p in row) for row in rows):
        raise ValueError("a table that is not of every step and state")
    if not events or not all(0 <= t < steps for t, _ in events):
        raise ValueError("times that the trace has not")
    work = steps**3 * count**3 if after else steps**2 * count**3 + steps**3 * count**2
    if work * len(events) > MOST_STEPS * steps:
        raise NotCheckedError(f"a chain of {count} states and {steps} steps, too long")
    given = spec["transitions"]
    bits = fine_enough([spec["initial"], given, start, after or []])
    one = 2**bits
    (law,) = whole_laws([spec["initial"]], bits, count)
    given = given if isinstance(given[0][0], list) else [given] * (steps - 1)
    moves = [whole_laws(matrix, bits, count) for matrix in given]
    marginals = list(itertools.accumulate(moves, step, initial=law))
    prior = [Fraction(sum(marginals[t][s] for s in states), one ** (t + 1)) for t, states in events]
    hide, asked = whole_table(start, bits), (events, prior, one)
    worst, possible = segment_gap(-1, law, hide, moves, asked)
    for u, i in itertools.product(range(steps), range(count)):
        if (u, i) not in possible:
            continue
        shown = [1 - p for (t, s), p in zip(events, prior, strict=True) if t == u and i in s]
        worst = max([worst, *shown])
        if u + 1 < steps:
            table = whole_table(after[u][i], bits) if after else hide
            gap, further = segment_gap(u, moves[u][i], table, moves, asked)
            worst, possible = max(worst, gap), possible | further
    return worst


def segment_gap(
    begin: int, flow: list[int], table: Whole, moves: list[Whole], asked: Any
) -> tuple[Fraction, set[tuple[int, int]]]:
    """Return the largest gap of the segments from one release, and the releases that can be next.

    `flow` are the masses one step after the release; `table` are the silences in force after it.
    """
    events, prior, one = asked  # of all events their prior, and what stands for 1
    worst, following = Fraction(0), set()
    runs: dict[int, list[int]] = {}  # of each event that has happened: how its mass goes on
    for t in range(begin + 1, len(table)):
        for y, mass in enumerate(flow):
            if mass and table[t][y] < one:
                following.add((t, y))
                worst = max([worst, *(Fraction(r[y], mass) - prior[k] for k, r in runs.items())])
        hidden = [mass * p for mass, p in zip(flow, table[t], strict=True)]
        runs = {k: [m * p for m, p in zip(run, table[t], strict=True)] for k, run in runs.items()}
        for k, (time, states) in enumerate(events):
            if time == t:
                runs[k] = [mass if s in states else 0 for s, mass in enumerate(hidden)]
        if t + 1 < len(table):
            flow = step(hidden, moves[t])
            runs = {k: step(run, moves[t]) for k, run in runs.items()}
        elif sum(hidden):
            ends = [Fraction(sum(run), sum(hidden)) - prior[k] for k, run in runs.items()]
            worst = max([worst, *ends])
    return worst, following


def step(masses: list[int], matrix: Whole) -> list[int]:
    """Return the masses one step later."""
    live = [(mass, row) for mass, row in zip(masses, matrix, strict=True) if mass]
    return [sum(mass * row[j] for mass, row in live) for j in range(len(masses))]


def whole_table(table: Any, bits: int) -> Whole:
    """Return probabilities as multiples of 2^-bits."""
    if not all(0 <= p <= 1 for row in table for p in row):
        raise ValueError("a probability that is none")
    return [[int(Fraction(p) * 2**bits) for p in row] for row in table]


def check_chain(certificate: Table, claim: Table) -> bool:
    """Prove a claim about a chain, or raise."""
    secret, channel = certificate["secret"], certificate["channel"]
    require("secret", secret, {"contexts": "states times together window both_ways"})
    if claim["measure"]["name"] != "posterior_gap" or secret.get("window"):
        raise NotCheckedError("other than the posterior gap of contexts at single times")
    names = channel["states"]
    if channel.get("shown") not in (None, names) or len(set(names)) < len(names):
        raise NotCheckedError("states that are shown under other names, or cannot be told apart")
    groups = [secret["states"]] if secret.get("together") else [[s] for s in secret["states"]]
    for spec in members_of(certificate["prior"], CHAIN):
        if spec.get("states", list(range(len(spec["initial"])))) != names:
            return False
        times = range(len(channel["start"])) if secret.get("times") is None else secret["times"]
        events = [(t, {names.index(s) for s in group}) for group in groups for t in times]
        if largest_gap(spec, channel, events) > Fraction(claim["ceiling"]):
            return False
    return True


def is_what_it_says(claim: Table, quantity: str) -> bool:
    """Whether a claim's words and numbers say one thing, to the digits that the words have."""
    words = re.fullmatch(re.escape(quantity) + " " + NUMBERS, claim["statement"])
    measure, low, top = claim["measure"], claim["floor"], claim["ceiling"]
    given, known = claim["parameters"], {"order"} if measure["name"] == "renyi" else set()
    if (
        not words
        or set(given) != known
        or {**given, **measure} != {"name": measure["name"], **given}
    ):
        return False
    sign, number, least = words[1], float(words[2]), float(words[3] or "-inf")
    agree = abs(number - top) <= 2e-5 * top and (number >= top or sign == "=") and least <= low
    said = quantity, {"=": "exact", "≤": "upper"}[sign], "larger", False
    same = said == tuple(claim[key] for key in ("quantity", "bound", "worse", "utility"))
    return agree and same and low <= claim["value"] <= top


def check_claim(certificate: Table, claim: Table) -> tuple[str, str]:
    """Return "proved", "FALSE" or "not checked", and what about; what is proved in own words."""
    try:
        checks = {"AdditiveGaussian": check_gaussian, "Suppression": check_chain}
        kind = require("channel", certificate.get("channel") or {}, CHANNELS, "kind")
        name = require("measure", claim["measure"], dict.fromkeys(QUANTITIES, "order"))
        proved = checks[kind](certificate, claim)
    except NotCheckedError as reason:
        return "not checked", f"{claim['statement']} ({reason})"
    quantity = QUANTITIES[name].format(**claim["parameters"])
    said = f"{quantity} is at most {claim['ceiling']!r}"
    if not is_what_it_says(claim, quantity):
        return "FALSE", f"{claim['statement']} (its numbers are: {said})"
    return ("proved" if proved else "FALSE"), said


def words_of(table: Table) -> str:
    """Return a noun's table in one short line, of values as JSON if that is not too long."""
    inside = []
    for key, value in ((key, value) for key, value in table.items() if key != "name"):
        text = json.dumps(value, ensure_ascii=False)
        cut = f"[{len(value)} values]" if isinstance(value, list) else f"{text[:LONG]}…"
        inside.append(f"{key}={text if len(text) <= LONG else cut}")
    return f"{table.get('name', 'priors')}({', '.join(inside)})"


def check_files(certificate: Table, trace: Any, ledger: Any) -> Iterator[tuple[bool | None, str]]:
    """Yield what the hashes and the words say: true, false, or None where nobody can tell."""
    yield certificate.get("seal") == seal_of(certificate), "its own seal"
    nouns = [certificate.get(n) for n in ("prior", "secret", "mechanism", "channel_sha256")]
    channel = certificate.get("channel")
    same = channel is None or hash_of(canonical(channel)) == certificate["channel_sha256"]
    whole = certificate.get("study_sha256") == hash_of(canonical(nouns))
    yield same and whole, "the hash of the study"
    said = certificate["against"], certificate["about"]
    words = AGAINST.format(words_of(certificate["prior"])), words_of(certificate["secret"])
    yield said == words, "its words on against whom, and about what"
    yield None, f"that it covers {certificate['covers']}"
    same = trace and certificate.get("released_sha256") == hash_of(Path(trace).read_bytes())
    yield same, f"the hash of the released trace {trace or '(give --trace)'}"
    named: list[str] = certificate.get("ledger") or []
    if ledger is None:
        yield None, "the ledger (give --ledger)" if named else "no ledger was kept"
        return
    try:
        entries, _, _ = read_ledger(ledger)
    except (ValueError, OSError) as error:
        yield False, f"the ledger: {error}"
        return
    yield True, f"the ledger {ledger} is whole: {(n := len(entries) - 1)} release{'s'[: n != 1]}"
    mine = [entry for entry in entries if entry["hash"] in named]
    whole = bool(named) and {entry["hash"] for entry in mine} == set(named)
    yield whole, "the ledger holds the entries that the certificate names"
    if whole:
        keys = {"mechanism": "", "secret": "", "channel": "_sha256", "released": "_sha256"}
        alike = all(one[key] == certificate[key + end] for one in mine for key, end in keys.items())
        cut = lambda pairs: {k: v for k, v in pairs if k not in ("times", "steps")}  # noqa: E731
        texts = (canonical(one["prior"]) for one in (certificate, *mine))
        priors = {canonical(json.loads(text, object_pairs_hook=cut)) for text in texts}
        yield alike and len(priors) == 1, "those entries are of this release"


def unique(pairs: list[tuple[str, Any]]) -> Table:
    """Return a table of JSON, or raise where a reader could take one key for another."""
    if len(table := dict(pairs)) < len(pairs):
        raise ValueError("a key that stands twice")
    return table


def check(text: str, trace: Any = None, ledger: Any = None) -> list[tuple[str, str]]:
    """Return lines (verdict, what) about a certificate's text."""
    try:
        certificate = json.loads(text, object_pairs_hook=unique)
        verdicts = {True: "true", False: "FALSE", None: "not checked"}
        found = [(verdicts[is_so], what) for is_so, what in check_files(certificate, trace, ledger)]
        found += [check_claim(certificate, claim) for claim in certificate["guarantees"]]
        found += [("not checked", one["statement"]) for one in certificate["estimates"]]
    except DAMAGE as e:
        found = [("FALSE", f"this is no certificate, or one that is damaged ({e!r})")]
    else:
        rest = ", ".join(key for key in certificate if key not in LOOKED_AT.split())
        found += [("not checked", f"that no loss is smaller, how losses were found; {rest}")]
    # A line of its own, or a terminal's command, would look like a verdict.
    return [(verdict, "".join(c if c.isprintable() else "?" for c in t)) for verdict, t in found]


def main(arguments: list[str] | None = None) -> int:
    """Check a certificate; the status is 0 only if something was proved and nothing is false."""
    parser = argparse.ArgumentParser(description="Check a certificate of sfumato.")
    parser.add_argument("certificate")
    parser.add_argument("--trace", help="the released trace, a CSV file")
    parser.add_argument("--ledger", help="the ledger that it was counted in")
    parser.add_argument("--json", action="store_true", help="print the verdicts as JSON")
    given = parser.parse_args(arguments)
    found = check(Path(given.certificate).read_text("utf-8", "replace"), given.trace, given.ledger)
    proved, open_, false = map([v for v, _ in found].count, ("proved", "not checked", "FALSE"))
    told = "".join(f"{verdict:>11}  {what}\n" for verdict, what in found)
    told += f"{proved} claims proved, {open_} things not checked, {false} false"
    plain = json.dumps([{"verdict": verdict, "claim": what} for verdict, what in found], indent=1)
    print(plain if given.json else told)  # noqa: T201 - a program
    return 0 if proved and not false else 1


if __name__ == "__main__":
    sys.exit(main())
