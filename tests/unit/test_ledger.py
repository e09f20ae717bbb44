"""The ledger: what is known together, what is refused, and a file that cannot be bent."""

from __future__ import annotations

import itertools
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import attrs
import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import sfumato as sf
from sfumato.beliefs import Markov
from sfumato.channels import JointEmission, Suppression, Symbols
from sfumato.release.accounting import ALWAYS, Account, Past

RENYI = sf.measures.renyi(order=2.0)


def noisy(mse=1.0, times=20, index=9, mechanism="gaussian_uniform", length_scale=3.0, **more):
    prior = sf.priors.rbf(length_scale=length_scale, times=times, **more)
    return getattr(sf.mechanisms, mechanism)(mse=mse).protect(prior, sf.secrets.basic(index))


def rbf(positions, length_scale=3.0):
    t = np.asarray(positions, dtype=float)
    return np.exp(-((t[:, None] - t) ** 2) / (2 * length_scale**2))


def information(positions, noise, secret, length_scale=3.0):
    """Oracle: 1/V - 1/Sigma of the stacked releases, by the definition, in balls of 400 bits."""
    import flint

    place, before = [*positions, secret], flint.ctx.prec
    flint.ctx.prec = 400
    try:
        scale = 2 * flint.arb(length_scale) ** 2
        rows = [[(-(flint.arb(a - b) ** 2) / scale).exp() for b in place] for a in place]
        n = len(positions)
        total = [[rows[i][j] + flint.arb(float(noise[i, j])) for j in range(n)] for i in range(n)]
        column = flint.arb_mat([[rows[i][n]] for i in range(n)])
        solved = flint.arb_mat(total).solve(column)
        v = 1 - (column.transpose() * solved)[0, 0]
        return float((1 / v - 1).mid())
    finally:
        flint.ctx.prec = before


LAYOUTS = {
    "once": [(0, 1.0)],
    "twice": [(0, 1.0), (0, 1.0)],
    "overlap": [(0, 1.0), (5, 0.5)],
    "next": [(0, 1.0), (20, 1.0)],
    "three": [(0, 1.0), (3, 2.0), (30, 0.1)],
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("mechanism", ["gaussian_uniform", "gaussian_optimal"])
def test_what_is_known_is_the_loss_of_all_releases_stacked(tmp_path, layout, mechanism):
    ledger = sf.Ledger(tmp_path / "l", budget=(RENYI, 1e9))
    positions, blocks = [], []
    for at, mse in layout:
        release = noisy(mse, mechanism=mechanism)
        ledger.record(release, person="ann", at=at)
        positions += range(at, at + 20)
        blocks.append(release.channel.covariance())
    noise = np.zeros((len(positions),) * 2)
    for k, block in enumerate(blocks):
        noise[20 * k : 20 * k + 20, 20 * k : 20 * k + 20] = block
    for at, _ in layout:
        found = ledger.known(RENYI, sf.secrets.basic(9), person="ann", at=at)
        assert found.bound == "exact"
        assert found.value == pytest.approx(information(positions, noise, at + 9), rel=1e-6)


@pytest.mark.parametrize(
    ("mechanism", "prior"),
    [
        ("gaussian_uniform", sf.priors.rbf(length_scale=3.0, times=20)),
        ("gaussian_given", sf.priors.rbf(length_scale=3.0, times=20)),
        ("gaussian_uniform", sf.priors.matern(length_scale=2.0, nu=0.5, times=20)),
        (
            "gaussian_uniform",
            sf.AnyOf(*(sf.priors.rbf(length_scale=l, times=20) for l in (1.0, 3.0))),
        ),
        ("gaussian_uniform", sf.priors.rbf(length_scale=3.0, times=20, dimensions=2)),
    ],
    ids=["uniform", "correlated", "rough", "class", "plane"],
)
def test_forgetting_bounds_from_above_and_closely(monkeypatch, mechanism, prior):
    """Against the same ledger that forgets nothing."""
    secret = sf.secrets.basic(9)
    given = {"mse": 0.5}
    if mechanism == "gaussian_given":
        given = {"covariance": 0.3 * np.eye(20) + 0.5 * rbf(range(20), 2.0)}
    release = getattr(sf.mechanisms, mechanism)(**given).protect(prior, secret)
    account = account_of(release, [20 * k for k in range(14)])
    for at in (0, 100, 260):
        bounded = account.known(RENYI, secret, at, 20)
        assert bounded.bound == "upper"
        with monkeypatch.context() as changed:
            changed.setattr("sfumato.release.accounting.TOGETHER", 10**6)
            truth = account.known(RENYI, secret, at, 20)
        assert truth.bound == "exact"
        assert truth.value <= bounded.value <= 1.01 * truth.value + 0.01


LENGTHS = sf.Interval(2.0, 3.5)
CLASSES = {
    "length": {"length_scale": LENGTHS},
    "both": {"length_scale": LENGTHS, "variance": sf.Interval(0.8, 1.6)},
    "scale": {"length_scale": 3.0, "variance": sf.Interval(0.8, 1.6)},
}


MEMBERS = {
    "length": [(2.0, 1.0), (2.7, 1.0), (3.5, 1.0)],
    "both": list(itertools.product((2.0, 2.7, 3.5), (0.8, 1.2, 1.6))),
    "scale": [(3.0, 0.8), (3.0, 1.2), (3.0, 1.6)],
}


@pytest.mark.parametrize("kind", CLASSES)
def test_over_an_interval_what_is_forgotten_is_proved(kind):
    """No member, read with everything that was released, knows more; and little is given away."""
    prior, secret = sf.priors.rbf(**CLASSES[kind], times=20), sf.secrets.basic(9)
    release = sf.mechanisms.gaussian_uniform(mse=0.8).protect(prior, secret)
    starts = [*range(0, 600, 20), 205, 205, 330]
    account = account_of(release, starts)
    for at in (0, 200, 300):
        found = account.known(RENYI, secret, at, 20)
        assert found.bound == "upper"
        near = [start + k for start in starts for k in range(20) if abs(start - at) <= 160]
        truths = []
        for scale, variance in MEMBERS[kind]:
            total = variance * rbf(near, scale) + 0.8 * np.eye(len(near))
            cross = variance * rbf([at + 9, *near], scale)[0, 1:]
            left = variance - cross @ np.linalg.solve(total, cross)
            truths.append(1 / left - 1 / variance)
        assert max(truths) * (1 - 1e-9) <= found.ceiling <= 1.01 * max(truths)


def test_random_releases_are_never_said_to_tell_less(monkeypatch):
    """Oracle: all releases stacked; forgetting begins at once, so that bounds are tried too."""
    monkeypatch.setattr("sfumato.release.accounting.TOGETHER", 10)
    rng, bounds = np.random.default_rng(11), 0
    for _ in range(12):
        n, low = int(rng.integers(3, 7)), float(rng.uniform(0.5, 2.0))
        length = [low, sf.Interval(low, 1.6 * low)][int(rng.integers(2))]
        prior, index = sf.priors.rbf(length_scale=length, times=n), int(rng.integers(n))
        secret, blocks = sf.secrets.basic(index), []
        account = Account(prior.specification(), n)
        for number in range(int(rng.integers(2, 7))):
            root = rng.normal(size=(n, n)) * 0.4 * (rng.random() < 0.3)
            noise = np.diag(rng.uniform(0.2, 2.0, n)) + root @ root.T
            given = sf.mechanisms.gaussian_given(covariance=noise).protect(prior, secret)
            at = int(rng.integers(30))
            account.add(Past(at, given.channel, str(number), secret))
            blocks.append((at, given.channel.covariance()))
        at = blocks[0][0]
        found = account.known(RENYI, secret, at, n)
        bounds += found.bound == "upper"
        places = [start + k for start, _ in blocks for k in range(n)]
        noise = np.zeros((len(places),) * 2)
        for k, (_, block) in enumerate(blocks):
            noise[n * k : n * k + n, n * k : n * k + n] = block
        members = [low] if length == low else [low, 1.25 * low, 1.6 * low]
        truth = max(information(places, noise, at + index, one) for one in members)
        assert truth <= found.ceiling * (1 + 1e-9)
        assert found.ceiling <= 1.05 * truth + 0.01
    assert bounds >= 5


def account_of(release, starts):
    account = Account(release.prior.specification(), release.channel.shape[0])
    for at in starts:
        account.add(Past(at, release.channel, "one", release.secret))
    return account


def test_what_is_settled_stays_a_bound_whatever_comes_later(monkeypatch):
    """A bound that was found without the later releases holds with all of them."""
    release, secret = noisy(0.5), sf.secrets.basic(9)
    account = account_of(release, [20 * k for k in range(12)])
    before = account.known(RENYI, secret, 0, 20)
    rng, edge = np.random.default_rng(0), 20 + account.width + 1
    for number, at in enumerate(rng.integers(edge, edge + 40, 15)):
        new = Past(int(at), release.channel, "one", secret)
        if number == 0:
            assert (secret, 0, 20) not in account.affected(new)
        account.add(new)
    monkeypatch.setattr("sfumato.release.accounting.TOGETHER", 10**6)
    after = account.known(RENYI, secret, 0, 20)
    assert after.bound == "exact"
    assert after.value <= before.value


def test_noise_with_a_tiny_floor_is_forgotten_too(tmp_path, monkeypatch):
    """Oracle: the windows around, stacked, in balls; those further away tell next to nothing."""
    monkeypatch.setattr("sfumato.release.accounting.SLOW", 0.0)
    monkeypatch.setattr("sfumato.release.accounting.TOGETHER", 50)
    release = noisy(times=10, index=4, length_scale=1.5, mechanism="gaussian_optimal")
    assert release.channel.noise.smallest_eigenvalue() < 1e-5
    ledger, secret = sf.Ledger(tmp_path / "l", budget=(RENYI, 1e9)), sf.secrets.basic(4)
    for k in range(30):
        ledger.record(release, person="ann", at=10 * k)
    account = ledger._accounts["ann"]
    assert account.width < 150
    assert sf.Ledger(ledger.path)._accounts["ann"].width == account.width
    assert len(account.affected(attrs.evolve(account.pasts[0], at=300))) < 30
    places = list(range(90, 210))
    noise = np.kron(np.eye(12), release.channel.covariance())
    truth = information(places, noise, 154, 1.5)
    found = ledger.known(RENYI, secret, person="ann", at=150)
    assert found.bound == "upper"
    assert truth * (1 - 1e-9) <= found.ceiling <= 1.01 * truth + 0.01


def test_what_is_summed_of_all_releases_is_theirs_whatever_was_planned_meanwhile():
    """Oracle: the same sums over the list; a plan, even one within another, leaves no trace."""
    rng, account = np.random.default_rng(3), account_of(noisy(0.5), [])
    kinds = [(noisy(mse, times=n, index=0), str(mse)) for mse, n in ((0.5, 20), (2.0, 7))]

    def require_sums():
        pasts = account.pasts
        distinct = {(past.at, past.key): past.points for past in pasts}
        told = sum(past.points / past.floor for past in pasts)
        floor = min((past.floor for past in pasts), default=math.inf)
        longest = max((past.points for past in pasts), default=0)
        expected = (longest, floor, pytest.approx(told), sum(distinct.values()))
        assert account._sums == expected

    for _ in range(40):
        plans = []
        for _ in range(3):
            release, key = kinds[rng.integers(2)]
            plans.append(Past(int(rng.integers(15)), release.channel, key, release.secret))
        with account.planning(plans[0], plans[0]):
            require_sums()
            with account.planning(plans[1]):
                require_sums()
        require_sums()
        account.add(plans[2])
        require_sums()


def test_a_refusal_leaves_what_is_near_as_it_was(tmp_path, monkeypatch):
    """Else secrets that were not read again would count as read."""
    monkeypatch.setattr("sfumato.release.accounting.TOGETHER", 50)
    release = noisy(times=10, index=4, length_scale=1.5)
    limit = 1.5 * RENYI.loss(release.prior, release.secret, release).value
    ledger = sf.Ledger(tmp_path / "l", budget=(RENYI, limit))
    for k in range(12):
        ledger.record(release, person="ann", at=10 * k)
    account = ledger._accounts["ann"]
    width = account.width
    assert 1 < width < ALWAYS
    quiet = noisy(1e-9, times=10, index=4, length_scale=1.5)
    with pytest.raises(sf.OverBudget):  # so much that all are read again
        ledger.record(quiet, person="ann", at=500)
    assert account.width == width
    assert ledger.room(quiet, person="ann", at=500) == 0
    assert account.width == width


@pytest.mark.parametrize(("count", "apart"), [(12, 20), (20, 10)])
def test_information_about_the_trace_counts_every_release(tmp_path, count, apart):
    """Far releases tell nothing of the secret, but of the trace they do: ½ log det(I + Σ/γ)."""
    ledger = sf.Ledger(tmp_path / "a", budget=(RENYI, 1e6))
    release, begins = noisy(), [number * apart for number in range(count)]
    for begin in begins:
        ledger.record(release, person="ann", at=begin)
    places = [begin + time for begin in begins for time in range(20)]
    truth = np.linalg.slogdet(np.eye(len(places)) + rbf(places))[1] / 2
    information, secret = sf.measures.mutual_information(), release.secret
    known = ledger.known(information, secret, person="ann", at=begins[count // 2])
    assert known.bound == "exact"
    assert known.value == pytest.approx(truth, rel=1e-9)
    about_secret = sf.measures.mutual_information(about="secret")
    assert ledger.known(about_secret, secret, person="ann", at=begins[count // 2]).bound == "upper"
    with pytest.raises(sf.ParameterError, match="finite number"):
        sf.Ledger(tmp_path / "b", budget=(RENYI, math.inf))
    with pytest.raises(sf.Incompatible, match="counts what a release is good for"):
        ledger.known(sf.measures.mean_squared_error(), secret, person="ann", at=0)


def test_a_prior_that_never_dies_out_is_never_forgotten():
    prior, secret = sf.priors.periodic(length_scale=1.0, period=7.0, times=20), sf.secrets.basic(9)
    release = sf.mechanisms.gaussian_uniform(mse=1.0).protect(prior, secret)
    account = account_of(release, [20 * k for k in range(11)])
    whole = sf.mechanisms.gaussian_uniform(mse=1.0).protect(
        sf.priors.periodic(length_scale=1.0, period=7.0, times=220), secret
    )
    truth = RENYI.loss(whole.prior, secret, whole)
    found = account.known(RENYI, secret, 0, 20)
    assert account.width == ALWAYS
    assert truth.value * (1 - 1e-6) <= found.ceiling <= truth.value * 1.001


def test_the_thousandth_release_costs_no_more_than_three_times_the_first(tmp_path):
    release, first, later = noisy(times=50, index=24, length_scale=6.0), [], []
    with threadpool_limits(1):
        for number in range(7):
            ledger = sf.Ledger(tmp_path / f"l{number}", budget=(RENYI, 1e9))
            begin = time.process_time()
            ledger.record(release, person="ann")
            first.append(time.process_time() - begin)
        account = ledger._accounts["ann"]
        for k in range(1, 980):
            account.add(attrs.evolve(account.pasts[0], at=50 * k))
        for k in range(980, 1000):
            begin = time.process_time()
            ledger.record(release, person="ann", at=50 * k)
            later.append(time.process_time() - begin)
    assert np.median(later) <= 3 * np.median(first[1:])


NEXT = """
import sys, time
import sfumato as sf
prior, secret = sf.priors.rbf(length_scale=6.0, times=50), sf.secrets.basic(24)
release = sf.mechanisms.gaussian_optimal(mse=1.0).protect(prior, secret)
sf.Ledger(sys.argv[1], budget=(sf.measures.advantage(), 0.99)).record(
    release, person="ann", at=int(sys.argv[2])
)
print(time.process_time())
"""


def test_a_new_process_costs_hardly_more_after_a_thousand_releases_than_after_thirty(
    tmp_path, monkeypatch
):
    """Of noise with a tiny floor, which is forgotten only hundreds of positions away."""
    monkeypatch.setattr(os, "fsync", lambda _: None)  # a thousand of them take long

    def cost(path, at):
        one = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, "-c", NEXT, str(path), str(at)]
        return float(subprocess.run(command, env=one, capture_output=True, check=True).stdout)

    ledger = sf.Ledger(tmp_path / "many", budget=(sf.measures.advantage(), 0.99))
    release = noisy(times=50, index=24, length_scale=6.0, mechanism="gaussian_optimal")
    with threadpool_limits(1):
        for k in range(30):
            ledger.record(release, person="ann", at=50 * k)
    shutil.copy(tmp_path / "many", tmp_path / "few")
    shutil.copy(tmp_path / "many.head", tmp_path / "few.head")
    last = json.loads((tmp_path / "many").read_text("utf-8").splitlines()[-1])
    own = {key: last[key] for key in last if key not in ("hash", "number", "previous")}
    for k in range(30, 1000):  # what recording would write
        ledger._append({**own, "at": 50 * k})
    assert ledger._accounts["ann"].width % 50 == 0  # just up to the next release
    later = min(cost(tmp_path / "many", 50 * k) for k in range(1000, 1003))  # of a busy machine
    assert later <= 1.5 * min(cost(tmp_path / "few", 50 * k) for k in range(30, 33))


# --- refusals -----------------------------------------------------------------------------------


def test_a_second_release_is_refused_unless_it_is_accounted_for(tmp_path):
    release = noisy()
    plain = sf.Ledger(tmp_path / "plain")
    plain.record(release, person="ann")
    for at in (0, 19):
        with pytest.raises(sf.OverBudget, match="released before"):
            plain.apply(release, np.zeros(20), person="ann", at=at)
    plain.record(release, person="ann", at=20)
    plain.record(release, person="bob")
    assert len(plain) == 3


@pytest.mark.parametrize("mechanism", ["gaussian_uniform", "gaussian_optimal"])
@pytest.mark.parametrize("limit", [0.5, 0.8, 0.95])
def test_what_is_said_to_have_room_is_accepted_and_one_more_is_not(tmp_path, mechanism, limit):
    release = noisy(6.0, mechanism=mechanism)
    ledger = sf.Ledger(tmp_path / "a", budget=(sf.measures.advantage(), limit))
    ledger.record(noisy(8.0, index=3), person="ann", at=7)
    room = ledger.room(release, person="ann")
    for _ in range(room):
        ledger.record(release, person="ann")
    assert ledger.room(release, person="ann") == 0
    with pytest.raises(sf.OverBudget):
        ledger.record(release, person="ann")


def test_a_budget_is_kept_and_says_what_is_left(tmp_path):
    release, secret = noisy(), sf.secrets.basic(9)
    once = RENYI.loss(release.prior, secret, release).value
    losses = [RENYI.loss(release.prior, secret, noisy(1 / k)).value for k in range(1, 8)]
    limit = (losses[3] + losses[4]) / 2
    ledger = sf.Ledger(tmp_path / "l", budget=(RENYI, limit))
    assert ledger.room(release, person="ann") == 4
    for k in range(4):
        assert ledger.room(release, person="ann") == 4 - k
        ledger.apply(release, np.zeros(20), person="ann")
        found = ledger.known(RENYI, secret, person="ann")
        assert found.value == pytest.approx(losses[k], rel=1e-9)
    assert ledger.room(release, person="ann") == 0
    with pytest.raises(sf.OverBudget, match="would be known of 'ann'"):
        ledger.apply(release, np.zeros(20), person="ann")
    assert len(ledger) == 4
    assert once < limit


@pytest.mark.parametrize("measure", ["advantage", "bayes_success", "power"])
def test_a_budget_of_what_is_certain_anyway_lets_everything_through(tmp_path, measure):
    """No probability is above 1, whatever rounding adds to it."""
    measure = getattr(sf.measures, measure)()
    ledger = sf.Ledger(tmp_path / "a", budget=(measure, 1.0))
    release = noisy(1e-3)
    assert measure.loss(release.prior, release.secret, release).ceiling == 1.0
    for _ in range(2):
        ledger.record(release, person="ann")
    assert len(ledger) == 2


def test_an_old_secret_is_protected_from_a_new_release(tmp_path):
    """The neighbouring window tells of the edge of the first one."""
    secret = sf.secrets.basic(19)
    prior = sf.priors.rbf(length_scale=3.0, times=20)
    loud = sf.mechanisms.gaussian_uniform(mse=1.0).protect(prior, secret)
    limit = RENYI.loss(prior, secret, loud).value * 1.01
    ledger = sf.Ledger(tmp_path / "l", budget=(RENYI, limit))
    ledger.record(loud, person="ann")
    with pytest.raises(sf.OverBudget):
        ledger.record(loud, person="ann", at=20)
    ledger.record(loud, person="ann", at=60)


def test_what_cannot_be_counted_together_is_refused(tmp_path):
    ledger = sf.Ledger(tmp_path / "l", budget=(RENYI, 1e9))
    ledger.record(noisy(), person="ann")
    with pytest.raises(sf.Incompatible, match="counted under the prior"):
        ledger.record(noisy(length_scale=4.0), person="ann", at=20)
    stamped = sf.priors.rbf(length_scale=3.0, times=[0.0, 1.5])
    release = sf.mechanisms.gaussian_uniform(mse=1.0).protect(stamped, sf.secrets.basic(0))
    with pytest.raises(sf.Incompatible, match="stamps"):
        ledger.record(release, person="bob")
    with pytest.raises(sf.ParameterError, match="position"):
        ledger.record(noisy(), person="ann", at=-1)
    with pytest.raises(sf.ParameterError, match="nothing was released"):
        ledger.known(RENYI, sf.secrets.basic(0), person="eve")
    with pytest.raises(sf.ParameterError, match="has the budget"):
        sf.Ledger(tmp_path / "l", budget=(RENYI, 2.0))
    assert len(ledger) == 1


def test_a_belief_that_is_no_gaussian_and_no_chain_is_refused_in_a_sentence(tmp_path):
    """A mixture of Gaussian traces has no joint covariance to be updated."""
    parts = [sf.priors.rbf(length_scale=scale, times=6) for scale in (9.0, 2.0)]
    prior, secret = sf.priors.behaviours(parts), sf.secrets.which_behaviour()
    release = sf.mechanisms.behaviour_noise(mse=1.0).protect(prior, secret)
    for budget in (None, (sf.measures.advantage(), 0.9)):
        ledger = sf.Ledger(tmp_path / f"{bool(budget)}", budget=budget)
        with pytest.raises(sf.Incompatible, match="'behaviours' is of mixtures of Gaussian traces"):
            ledger.record(release, person="ann")
        assert len(sf.Ledger(ledger.path)) == 0


def test_all_are_recorded_or_none(tmp_path):
    ledger = sf.Ledger(tmp_path / "l")
    release = noisy()
    with pytest.raises(sf.OverBudget):
        ledger.record_all([(release, "ann", 0), (release, "bob", 0), (release, "ann", 5)])
    assert len(ledger) == 0
    assert len(sf.Ledger(tmp_path / "l")) == 0
    ledger.record_all([(release, "ann", 0), (release, "bob", 0)])
    assert len(sf.Ledger(tmp_path / "l")) == 2


def test_an_interval_of_priors_is_proved_and_nothing_forgotten(tmp_path):
    prior = sf.priors.rbf(length_scale=sf.Interval(2.0, 3.0), times=8)
    secret = sf.secrets.basic(4)
    release = sf.mechanisms.gaussian_uniform(mse=1.0).protect(prior, secret)
    ledger = sf.Ledger(tmp_path / "l", budget=(RENYI, 1e9))
    ledger.record(release, person="ann")
    ledger.record(release, person="ann")
    half = sf.mechanisms.gaussian_uniform(mse=0.5).protect(prior, secret)
    found, truth = ledger.known(RENYI, secret, person="ann"), RENYI.loss(prior, secret, half)
    assert found.ceiling == pytest.approx(truth.ceiling, rel=1e-3)
    assert math.isfinite(found.ceiling)


# --- chains -------------------------------------------------------------------------------------

INITIAL, MOVES = (
    np.array([0.6, 0.3, 0.1]),
    np.array([[0.8, 0.15, 0.05], [0.2, 0.75, 0.05], [0.5, 0.3, 0.2]]),
)


def brute_gap(parts, steps, time, state):
    """Oracle: max Pr[X_t = s | all outputs] - Pr[X_t = s], by listing traces and outputs."""
    states = range(3)
    joint: dict[tuple, list[float]] = {}
    prior = 0.0
    for path in itertools.product(states, repeat=steps):
        chance = INITIAL[path[0]] * np.prod([MOVES[a, b] for a, b in itertools.pairwise(path)])
        prior += chance * (path[time] == state)
        options = [
            [(path[at + k], 1 - table[k][path[at + k]]), (None, table[k][path[at + k]])]
            for at, table in parts
            for k in range(len(table))
        ]
        for shown in itertools.product(*options):
            weight = chance * np.prod([p for _, p in shown])
            if weight > 0:
                cell = joint.setdefault(tuple(s for s, _ in shown), [0.0, 0.0])
                cell[0] += weight
                cell[1] += weight * (path[time] == state)
    return max(hit / total for total, hit in joint.values()) - prior


@pytest.mark.parametrize(
    "layout", [[(0, 0), (0, 0)], [(0, 0), (0, 1)], [(0, 0), (1, 1)], [(0, 1), (2, 0)]]
)
def test_channels_of_a_chain_multiply(tmp_path, layout):
    tables = [[[0.3, 0.4, 1.0], [0.2, 0.5, 0.9]], [[0.9, 0.1, 0.8], [0.6, 0.7, 1.0]]]
    chain = sf.priors.markov_chain(initial=INITIAL, transitions=MOVES, steps=2)
    gap, secret = sf.measures.posterior_gap(), sf.secrets.contexts({2})
    ledger = sf.Ledger(tmp_path / "l", budget=(gap, 1.0))
    for at, which in layout:
        release = sf.mechanisms.suppress_given(probabilities=tables[which]).protect(chain, secret)
        ledger.record(release, person="ann", at=at)
    steps = max(at + 2 for at, _ in layout)
    parts = [(at, tables[which]) for at, which in layout]
    for at, _ in layout:
        found = ledger.known(gap, secret, person="ann", at=at)
        truth = max(brute_gap(parts, steps, at + k, 2) for k in range(2))
        assert found.value == pytest.approx(truth, rel=1e-9)


def test_windows_that_remember_are_one_suppression_where_they_do_not_overlap(tmp_path):
    """Oracle: the gap of every trace and output of both windows, by their own likelihoods."""
    rng = np.random.default_rng(3)
    chain = sf.priors.markov_chain(initial=INITIAL, transitions=MOVES, steps=2)
    gap, secret = sf.measures.posterior_gap(), sf.secrets.contexts({2})
    account, parts = Account(chain.specification(), 2), []
    for at in (0, 2):
        channel = Suppression((0, 1, 2), rng.random((2, 3)), rng.random((2, 3, 2, 3)))
        account.add(Past(at, channel, str(at), secret))
        parts.append((at, channel))
    joint, prior = {}, np.zeros(4)
    for path in itertools.product(range(3), repeat=4):
        chance = INITIAL[path[0]] * np.prod([MOVES[a, b] for a, b in itertools.pairwise(path)])
        hit = np.array(path) == 2
        prior += chance * hit
        for shown in itertools.product(*(itertools.product(*c.outputs()) for _, c in parts)):
            logs = (
                c.log_likelihood(one, path[at : at + 2])
                for (at, c), one in zip(parts, shown, strict=True)
            )
            weight = chance * math.exp(sum(logs))
            if weight > 0:
                cell = joint.setdefault(shown, np.zeros(5))
                cell += weight * np.array([1, *hit])
    for at in (0, 2):
        rises = [c[1 + t] / c[0] - prior[t] for c in joint.values() for t in (at, at + 1)]
        found = account.known(gap, secret, at, 2)
        assert found.bound == "exact"
        assert found.value == pytest.approx(max(rises), rel=1e-9)


def test_two_that_remember_at_once_are_bounded_by_hiding_as_seldom_as_ever(monkeypatch):
    rng = np.random.default_rng(8)
    chain = sf.priors.markov_chain(initial=INITIAL, transitions=MOVES, steps=2)
    gap, secret = sf.measures.posterior_gap(), sf.secrets.contexts({2})
    for _ in range(10):
        account = Account(chain.specification(), 2)
        for name in "ab":
            start = np.c_[rng.uniform(0.7, 1, (2, 2)), np.ones(2)]
            after = np.pad(
                rng.uniform(0.7, 1, (2, 3, 2, 2)), [(0, 0)] * 3 + [(0, 1)], constant_values=1
            )
            account.add(Past(0, Suppression((0, 1, 2), start, after), name, secret))
        truth = account.known(gap, secret, 0, 2)
        assert truth.bound == "exact"
        with monkeypatch.context() as changed:
            changed.setattr("sfumato.release.time_lines.STEPS", 1)
            found = account.known(gap, secret, 0, 2)
        assert found.bound == "upper"
        assert truth.value <= found.value <= 2 * truth.value


def test_a_long_chain_that_changes_is_read_exactly():
    rng, steps = np.random.default_rng(2), 24
    moves = 0.5 * MOVES + 0.5 * rng.dirichlet(np.ones(3), size=(steps - 1, 3))
    chain = sf.priors.markov_chain(initial=INITIAL, transitions=moves, steps=steps)
    gap, secret = sf.measures.posterior_gap(), sf.secrets.contexts({2})
    release = sf.mechanisms.suppress_segmented(delta=0.1).protect(chain, secret)
    account = Account(chain.specification(), steps)
    account.add(Past(0, release.channel, "one", secret))
    found, truth = account.known(gap, secret, 0, steps), gap.loss(chain, secret, release)
    assert found.bound == "exact"
    assert found.value == pytest.approx(truth.value, rel=1e-12)


def test_states_of_a_person_that_overlap_in_time_are_noticed(tmp_path):
    chain = sf.priors.markov_chain(initial=INITIAL, transitions=MOVES, steps=2)
    gap, secret = sf.measures.posterior_gap(), sf.secrets.contexts({2})
    release = sf.mechanisms.suppress_given(probabilities=[[0.3, 0.4, 1.0]] * 2)
    release = release.protect(chain, secret)
    ledger = sf.Ledger(tmp_path / "l", budget=(gap, 1.0))
    ledger.record_all([(release, "ann@0", 0, (0.0, 10.0)), (release, "ann@0", 2, (10.0, 20.0))])
    before = ledger.known(gap, secret, person="ann@0").value
    for clash in (
        ("ann@5", 0, (5.0, 12.0)),  # another trace of the same time
        ("ann@0", 1, (5.0, 15.0)),  # some of the same steps
        ("ann@0", 0, (0.0, 14.0)),  # other times for the same steps
    ):
        with pytest.raises(sf.OverBudget, match="overlap"):
            sf.Ledger(tmp_path / "l").record_all([(release, *clash)])
    with pytest.raises(sf.Incompatible, match="with times and without"):
        ledger.record(release, person="ann")
    assert len(ledger) == 2
    ledger.record_all([(release, "bob@5", 0, (5.0, 12.0)), (release, "ann@20", 0, (20.0, 30.0))])
    ledger.record_all([(release, "ann@0", 0, (0.0, 10.0))])  # the same again: it is counted
    assert ledger.known(gap, secret, person="ann@0").value > before


def test_a_chain_that_changes_has_no_time_line_beyond_its_steps(tmp_path):
    moves = np.array([MOVES, MOVES[::-1]])
    chain = sf.priors.markov_chain(initial=INITIAL, transitions=moves, steps=3)
    gap, secret = sf.measures.posterior_gap(), sf.secrets.contexts({2})
    ledger = sf.Ledger(tmp_path / "l", budget=(gap, 1.0))
    once, twice = (
        sf.mechanisms.suppress_given(probabilities=np.full((3, 3), p)).protect(chain, secret)
        for p in (0.5, 0.25)
    )
    ledger.record(once, person="ann")
    ledger.record(once, person="ann")
    with pytest.raises(sf.Incompatible, match="no time line beyond"):
        ledger.record(once, person="ann", at=1)
    found = sf.Ledger(tmp_path / "l").known(gap, secret, person="ann")
    assert found.value == pytest.approx(gap.loss(chain, secret, twice).value, rel=1e-12)


def test_a_hidden_memory_is_read_alone(tmp_path):
    chain = sf.priors.markov_chain(initial=INITIAL, transitions=MOVES, steps=3)
    gap, secret = sf.measures.posterior_gap(), sf.secrets.contexts({2})
    release = sf.mechanisms.suppress_optimal(delta=0.2).protect(chain, secret)
    ledger = sf.Ledger(tmp_path / "l", budget=(gap, 1.0))
    ledger.record(release, person="ann")
    found = ledger.known(gap, secret, person="ann").value
    assert found == pytest.approx(gap.loss(chain, secret, release).value)
    for at in (0, 3):
        with pytest.raises(sf.Incompatible, match="read alone"):
            ledger.record(release, person="ann", at=at)


def test_a_joint_emission_is_the_product_of_its_parts():
    rng = np.random.default_rng(5)
    one = Symbols((0, 1), "ab", rng.dirichlet(np.ones(2), size=(2, 2)))
    two = Suppression((0, 1), rng.random((3, 2)), rng.random((3, 2, 3, 2)))
    joint = JointEmission((0, 1), 3, ((1, one), (0, two)), frozenset({2}))
    total = dict.fromkeys(itertools.product((0, 1), repeat=3), 0.0)
    for output in itertools.product(*joint.outputs()):
        for trace in total:
            log = joint.log_likelihood(output, trace)
            apart = one.log_likelihood([output[1][0], output[2][0]], trace[1:])
            apart += two.log_likelihood([output[0][0], output[1][1], output[2][1]], trace)
            apart += 0.0 if output[2][2] == trace[2] else -np.inf
            assert log == pytest.approx(apart) or log == apart
            total[trace] += math.exp(log)
    assert all(chance == pytest.approx(1.0) for chance in total.values())
    from sfumato.inference.markov.enumeration import enumerate_outputs

    chain = Markov([0.4, 0.6], [[0.5, 0.5], [0.1, 0.9]], steps=3)
    listed = enumerate_outputs(chain, joint)
    assert listed.probabilities.sum() == pytest.approx(1.0)
    drawn = joint.sample_many(np.array([[0, 1, 0]] * 5), rng)
    assert all(joint.log_likelihood(one, (0, 1, 0)) > -np.inf for one in drawn)


def test_a_long_chain_is_bounded_by_telling_the_states_around(tmp_path):
    chain = sf.priors.markov_chain(initial=INITIAL, transitions=MOVES, steps=4)
    gap, secret = sf.measures.posterior_gap(), sf.secrets.contexts({2})
    table = np.tile([0.3, 0.4, 1.0], (4, 1))
    release = sf.mechanisms.suppress_given(probabilities=table).protect(chain, secret)
    ledger = sf.Ledger(tmp_path / "l", budget=(gap, 1.0))
    for k in range(9):
        ledger.record(release, person="ann", at=4 * k)
    whole_chain = sf.priors.markov_chain(initial=INITIAL, transitions=MOVES, steps=36)
    times = sf.secrets.contexts({2}, times=list(range(16, 20)))
    whole = sf.mechanisms.suppress_given(probabilities=np.tile(table[0], (36, 1)))
    truth = gap.loss(whole_chain, times, whole.protect(whole_chain, times))
    found = ledger.known(gap, secret, person="ann", at=16)
    assert found.bound == "upper"
    assert truth.value <= found.value <= truth.value * 1.2
    with pytest.raises(sf.OutsideHypotheses, match="may fall when more is seen"):
        ledger.known(sf.measures.breach_rate(delta=0.1), secret, person="ann", at=16)


def test_an_interval_of_chains_is_read_from_position_0_on_or_refused(tmp_path):
    chain = sf.priors.line_chain(states=3, tau=sf.Interval(0.5, 0.6), steps=5)
    gap, secret = sf.measures.posterior_gap(), sf.secrets.contexts({2})
    release = sf.mechanisms.suppress_given(probabilities=np.tile([0.3, 0.4, 1.0], (5, 1)))
    release = release.protect(chain, secret)
    ledger = sf.Ledger(tmp_path / "l", budget=(gap, 1.0))
    ledger.record(release, person="ann")
    ledger.record(release, person="ann", at=5)
    member = sf.priors.line_chain(states=3, tau=0.55, steps=10)
    whole = sf.mechanisms.suppress_given(probabilities=np.tile([0.3, 0.4, 1.0], (10, 1)))
    times = sf.secrets.contexts({2}, times=list(range(5, 10)))
    truth = gap.loss(member, times, whole.protect(member, times))
    assert truth.value <= ledger.known(gap, secret, person="ann", at=5).ceiling
    with pytest.raises(sf.OutsideHypotheses, match="must read from position 0 on; got a trace who"):
        ledger.record(release, person="ann", at=20)
    assert len(ledger) == len(sf.Ledger(tmp_path / "l")) == 2


# --- the file -----------------------------------------------------------------------------------


def filled(path, count=3):
    ledger = sf.Ledger(path, budget=(RENYI, 1e9))
    for k in range(count):
        ledger.record(noisy(), person="ann", at=20 * k)
    return ledger


def lines(path):
    return path.read_text(encoding="utf-8").splitlines(keepends=True)


BENT = {
    "edited": lambda rows: [*rows[:2], rows[2].replace('"at":20', '"at":99'), *rows[3:]],
    "an entry taken out": lambda rows: [*rows[:2], *rows[3:]],
    "reordered": lambda rows: [rows[0], rows[2], rows[1], *rows[3:]],
    "rolled back": lambda rows: rows[:-1],
    "rolled back to nothing": lambda rows: [],
    "last line cut": lambda rows: [*rows[:-1], rows[-1][:-5]],
    "no JSON": lambda rows: [*rows[:-1], "hello\n"],
    "resealed": lambda rows: [*rows[:2], resealed(rows[2]), *rows[3:]],
}


def resealed(row):
    from sfumato.release.checker import sealed_line

    table = json.loads(row)
    del table["hash"]
    return sealed_line({**table, "at": 99})


@pytest.mark.parametrize("bend", BENT.values(), ids=BENT)
def test_a_bent_ledger_is_noticed(tmp_path, bend):
    path = tmp_path / "l"
    filled(path)
    path.write_text("".join(bend(lines(path))), encoding="utf-8")
    with pytest.raises(sf.BrokenLedger):
        sf.Ledger(path)


def test_a_ledger_that_is_gone_or_has_no_head_is_noticed(tmp_path):
    path = tmp_path / "l"
    ledger = filled(path)
    head = Path(f"{path}.head")
    saved = head.read_text(encoding="utf-8")
    head.unlink()
    with pytest.raises(sf.BrokenLedger, match="missing"):
        sf.Ledger(path)
    head.write_text(saved, encoding="utf-8")
    path.unlink()
    with pytest.raises(sf.BrokenLedger, match="is gone"):
        sf.Ledger(path)
    with pytest.raises(sf.BrokenLedger):
        ledger.record(noisy(), person="ann", at=90)


def test_an_open_ledger_notices_that_its_file_was_swapped(tmp_path):
    path = tmp_path / "l"
    ledger = filled(path)
    other = sf.Ledger(tmp_path / "m", budget=(RENYI, 1e9))
    for k in range(5):
        other.record(noisy(), person="eve", at=20 * k)
    for end in ("", ".head"):
        Path(f"{path}{end}").write_text(Path(f"{other.path}{end}").read_text("utf-8"), "utf-8")
    with pytest.raises(sf.BrokenLedger):
        ledger.record(noisy(), person="bob")


def test_what_a_killed_writer_left_is_mended(tmp_path):
    path = tmp_path / "l"
    filled(path)
    head = Path(f"{path}.head").read_text("utf-8")
    whole = path.read_text("utf-8")
    sf.Ledger(path).record(noisy(), person="bob")
    longer = path.read_text("utf-8")
    Path(f"{path}.head").write_text(head, "utf-8")  # killed before the head was counted
    assert len(sf.Ledger(path)) == 4
    path.write_text(whole + longer[len(whole) :][:50], "utf-8")  # killed within the line
    Path(f"{path}.head").write_text(head, "utf-8")
    mended = sf.Ledger(path)
    assert len(mended) == 3
    assert path.read_text("utf-8") == whole
    mended.record(noisy(), person="bob")
    assert len(sf.Ledger(path)) == 4


WRITER = (
    "import itertools, sys, sfumato as sf\n"
    "prior, secret = sf.priors.rbf(length_scale=3.0, times=20), sf.secrets.basic(9)\n"
    "release = sf.mechanisms.gaussian_uniform(mse=1.0).protect(prior, secret)\n"
    "ledger = sf.Ledger(sys.argv[1])\n"
    "for k in itertools.count() if len(sys.argv) < 4 else range(int(sys.argv[3])):\n"
    "    ledger.record(release, person=sys.argv[2], at=20 * k)\n"
    "    print(k, flush=True)\n"
)


def test_writers_at_once_lose_nothing(tmp_path):
    path = tmp_path / "l"
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), who, "6"]) for who in "abc"
    ]
    assert [writer.wait(200) for writer in writers] == [0, 0, 0]
    accounts = sf.Ledger(path)._accounts
    assert {who: len(one.pasts) for who, one in accounts.items()} == dict.fromkeys("abc", 6)


def test_a_writer_killed_at_any_moment_leaves_a_sound_ledger(tmp_path):
    path, written = tmp_path / "l", 0
    for person, wait in (("a", 0.003), ("b", 0.011), ("c", 0.027)):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), person], stdout=subprocess.PIPE, text=True
        ) as writer:
            said = [writer.stdout.readline() for _ in range(3)]
            time.sleep(wait)
            os.kill(writer.pid, signal.SIGKILL)
            said += writer.stdout.read().splitlines()
        written += len(said)
        assert len(sf.Ledger(path)) >= written  # all that was said to be written is there
        written = len(sf.Ledger(path))


POINTS = ("write", "half", "fsync", "close", "head", "done")
DIES = """
import os, sys
import sfumato as sf
from sfumato.release import ledger as module
prior, secret = sf.priors.rbf(length_scale=3.0, times=20), sf.secrets.basic(9)
release = sf.mechanisms.gaussian_uniform(mse=1.0).protect(prior, secret)
book, point = sf.Ledger(sys.argv[1]), sys.argv[2]
write, fsync, close, head = os.write, os.fsync, os.close, module.write_whole
die = lambda *_, **__: os._exit(9)
if point == "write":
    os.write = die
elif point == "half":
    os.write = lambda handle, data: (write(handle, data[: len(data) // 2]), die())
elif point == "fsync":
    os.fsync = die
elif point == "close":
    os.close = lambda handle: (close(handle), die())
elif point == "head":
    module.write_whole = die
book.record(release, person="ann", at=20)
die()
"""


@pytest.mark.parametrize("point", POINTS)
def test_a_writer_killed_at_every_point_loses_nothing_that_was_released(tmp_path, point):
    path = tmp_path / "l"
    sf.Ledger(path).record(noisy(), person="ann")
    done = subprocess.run([sys.executable, "-c", DIES, str(path), point], check=False, timeout=200)
    assert done.returncode == 9
    ledger = sf.Ledger(path)
    assert len(ledger) == (1 if point in ("write", "half") else 2)
    ledger.record(noisy(), person="ann", at=40)
    assert len(sf.Ledger(path)) == len(ledger)


@pytest.mark.parametrize("call", ["write", "fsync"])
def test_a_full_disk_refuses_the_release_and_leaves_a_sound_ledger(tmp_path, monkeypatch, call):
    path = tmp_path / "l"
    ledger = sf.Ledger(path)
    ledger.record(noisy(), person="ann")
    write = os.write

    def full(handle, data=b""):
        if call == "write":
            write(handle, data[:40])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(os, call, full)
        with pytest.raises(OSError, match="No space"):
            ledger.apply(noisy(), np.zeros(20), person="ann", at=20)
    # What cannot be told from written is counted, though it was not released.
    assert len(sf.Ledger(path)) == (1 if call == "write" else 2)
    ledger.record(noisy(), person="ann", at=40)
    assert len(sf.Ledger(path)) == len(ledger)


def test_a_pair_that_was_rolled_back_is_shown_by_the_head_that_was_noted(tmp_path):
    """Of file and head put back together nothing in them tells; what was noted elsewhere does."""
    path = tmp_path / "l"
    ledger = filled(path)
    saved = [Path(f"{path}{end}").read_text("utf-8") for end in ("", ".head")]
    ledger.record(noisy(), person="ann", at=90)
    noted = ledger.head
    for end, text in zip(("", ".head"), saved, strict=True):
        Path(f"{path}{end}").write_text(text, "utf-8")
    assert sf.Ledger(path).head != noted
    with pytest.raises(sf.BrokenLedger):  # and whoever has it open notices
        ledger.record(noisy(), person="ann", at=120)


def test_the_file_holds_no_data(tmp_path):
    path = tmp_path / "l"
    ledger = sf.Ledger(path)
    trace = np.full(20, 12345.678)
    ledger.apply(noisy(), trace, person="ann")
    assert "1234" not in path.read_text("utf-8")
    assert path.stat().st_mode & 0o077 == 0


def test_what_comes_later_counts_for_secrets_that_were_read_exactly(tmp_path):
    smooth, advantage = sf.priors.rbf(length_scale=20.0, times=5), sf.measures.advantage()
    ledger = sf.Ledger(tmp_path / "real", budget=(advantage, 0.5))
    quiet = sf.mechanisms.gaussian_uniform(mse=0.05)
    loud = sf.mechanisms.gaussian_uniform(mse=4.0).protect(smooth, sf.secrets.basic(2))
    ledger.record(loud, person="ann", at=0)
    with pytest.raises(sf.OverBudget):
        ledger.record(quiet.protect(smooth, sf.secrets.basic(2, radius=0.05)), person="ann", at=8)
    stays = sf.priors.markov_chain(
        [0.1, 0.9], [[0.9999, 0.0001], [0.0001, 0.9999]], steps=5, states=["a", "b"]
    )
    hide = sf.mechanisms.suppress_segmented(delta=0.2)
    states = sf.Ledger(tmp_path / "states", budget=(sf.measures.posterior_gap(), 0.25))
    states.record(hide.protect(stays, sf.secrets.contexts({"a"})), person="ann", at=0)
    with pytest.raises(sf.OverBudget):
        states.record(hide.protect(stays, sf.secrets.contexts({"b"})), person="ann", at=100)
