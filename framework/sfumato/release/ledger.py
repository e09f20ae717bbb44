"""A ledger: what was released about whom, so that releases are counted together.

The file has a JSON table on each line, each with the hash of the one before; beside it
``FILE.head`` holds how many there are and the last hash. Entries are appended under a lock, written
to disk before anything is released, and only then counted in the head.
"""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from sfumato.errors import BrokenLedger, Incompatible, OverBudget, ParameterError
from sfumato.plugin_registry import default_registry
from sfumato.protocols import Loss, LossMeasure, Release, Secret
from sfumato.quantities import count_text
from sfumato.release.accounting import Account, Past, without_length
from sfumato.release.certificates import channel_of_table, table_of_channel
from sfumato.release.checker import LEDGER_START, read_ledger, sealed_line
from sfumato.values import digest, write_whole

MANY = 1_000
"""How many further releases `room` counts at most."""


@attrs.frozen
class Budget:
    """The most that may be known, by a measure, about any secret that a release was to hide."""

    measure: LossMeasure
    limit: float = attrs.field(converter=float)

    def __attrs_post_init__(self) -> None:
        if not math.isfinite(self.limit) or not isinstance(self.measure, LossMeasure):
            raise ParameterError(f"a budget must be a measure and a finite number; got {self!r}.")

    def exceeded_by(self, loss: Loss) -> bool:
        """Whether the loss may be worse than the limit."""
        if loss.quantity.worse == "larger":
            return not loss.ceiling <= self.limit
        return not loss.floor >= self.limit


@attrs.frozen
class Spell:
    """Steps of a person's trace of states, and the time (seconds) from which and before which.

    States come one by one, not at a rate: nothing but their times says which are the same.
    """

    person: str
    at: int
    end: int
    span: tuple[float, float] | None

    @property
    def of(self) -> str:
        """Whose it is: a person's traces of states are told apart by when they begin."""
        return self.person if self.span is None else self.person.rpartition("@")[0]

    def require_apart(self, other: Spell) -> None:
        """Refuse what may be the same states and cannot be counted as such."""
        if self == other or self.span is other.span is None:
            return
        if self.span is None or other.span is None:
            raise Incompatible(
                f"states of '{self.of}' were counted with times and without; nobody can tell "
                f"whether they are the same: use one way, or another person's name."
            )
        (begin, end), (since, until) = self.span, other.span
        apart = end <= since or until <= begin
        if self.person == other.person:  # of one trace the steps tell, in order
            apart = self.end <= other.at and begin <= since and end <= until
            apart |= other.end <= self.at and since <= begin and until <= end
        if not apart:
            raise OverBudget(
                f"states of '{self.of}' from {begin:.15g} s to {end:.15g} s overlap with others "
                f"that were released, from {since:.15g} s to {until:.15g} s: release the same "
                f"windows again, or states of other times; nothing was released."
            )


class Ledger:
    """An append-only record of releases, each counted with all that went before.

    It keeps channels, prior classes and positions on a person's time line, never data.

    Parameters
    ----------
    path
        The file; it is made where there is none.
    budget
        A measure and the most that it may find about any recorded release's secret, by all releases
        of the person together. It is written into the ledger when that is made, and holds for every
        later writer. Without one, times that were released once are refused a second time.

    Examples
    --------
    >>> import tempfile
    >>> import sfumato as sf
    >>> prior, secret = sf.priors.rbf(length_scale=6.0, times=50), sf.secrets.basic(24)
    >>> noisy = sf.mechanisms.gaussian_uniform(mse=1.0).protect(prior, secret)
    >>> advantage = sf.measures.advantage()
    >>> ledger = sf.Ledger(f"{tempfile.mkdtemp()}/ann.ledger", budget=(advantage, 0.97))
    >>> released = ledger.apply(noisy, [0.0] * 50, person="ann")
    >>> print(ledger.known(advantage, secret, person="ann"))
    advantage [probability] = 0.832162
    >>> ledger.room(noisy, person="ann")
    1
    >>> again = ledger.apply(noisy, [0.0] * 50, person="ann")
    >>> ledger.apply(noisy, [0.0] * 50, person="ann")
    Traceback (most recent call last):
    sfumato.errors.OverBudget: ...
    """

    def __init__(
        self, path: str | os.PathLike[str], *, budget: tuple[LossMeasure, float] | None = None
    ) -> None:
        self.path = Path(path)
        self._accounts: dict[str, Account] = {}
        self._channels: dict[str, Any] = {}
        self._spells: dict[str, list[Spell]] = {}
        self._made: set[tuple[str, int, str, str | None]] = set()
        self._bytes, self._head, self._count = 0, LEDGER_START, 0
        self.budget: Budget | None = None
        wanted = None if budget is None else Budget(*budget)
        with self._locked():
            if self._count == 0:
                limit = wanted and {
                    "measure": wanted.measure.specification(),
                    "limit": wanted.limit,
                }
                self._append({"ledger": 1, "budget": limit})
            elif wanted is not None and wanted != self.budget:
                raise ParameterError(
                    f"{self.path} has the budget {self.budget}; got another, {wanted}."
                )

    @property
    def head(self) -> str:
        """The hash of the last entry: who has noted it down can tell a ledger cut short."""
        return self._head

    @property
    def people(self) -> set[str]:
        """Whom the releases are about."""
        real = {who for who, account in self._accounts.items() if not account.is_chain}
        return real | set(self._spells)

    def __len__(self) -> int:
        """Return the number of releases."""
        return self._count - 1

    def __repr__(self) -> str:
        return f"<Ledger {self.path.name!r} of {count_text(len(self), 'release')}>"

    def _repr_html_(self) -> str:
        from sfumato.report.cards import result_card

        limit = f"{self.budget.measure!r} up to {self.budget.limit:g}" if self.budget else "none"
        facts = {"releases": len(self), "budget": limit, "last entry": self.head}
        return result_card("Ledger", str(self.path), **facts)

    def record(self, release: Release, *, person: str, at: int = 0) -> str:
        """Count a release before it is made, or refuse it; the hash of its entry is returned.

        `at` is the position on the person's time line at which the trace begins.
        """
        (entry,) = self.record_all([(release, person, at)])
        return entry

    def record_all(
        self,
        planned: Iterable[tuple[Any, ...]],
        *,
        step: float | None = None,
        released: str | None = None,
    ) -> list[str]:
        """Count several releases, each with its person and position: all of them, or none.

        `step` says how many seconds there are from one position to the next, where that is known;
        `released` may hold a hash of what is released. Of states, a fourth item of each may say
        from what time to before what time (seconds) they were; the person is then ``"ann@begin"``,
        one for each trace of hers, and what overlaps is refused unless it is the same times.
        """
        with self._locked():
            held: list[tuple[Account, Past, dict[str, Any]]] = []
            plan = contextlib.ExitStack()
            before = {who: list(spells) for who, spells in self._spells.items()}
            try:
                for release, person, at, *span in planned:
                    account, new = self._planned(release, person, at, step)
                    if account.is_chain:
                        self._place(Spell(person, new.at, new.end, span[0] if span else None))
                    self._refuse(account, new, person)
                    self._accounts.setdefault(person, account)
                    plan.enter_context(account.planning(new))
                    table = {
                        "person": person,
                        "at": new.at,
                        "points": new.points,
                        "step": step,
                        "span": list(span[0]) if span else None,
                        "prior": without_length(release.prior.specification()),
                        "mechanism": release.mechanism.specification(),
                        "secret": release.secret.specification(),
                        "channel": new.key,
                        "released": released,
                    }
                    held.append((account, new, table))
            finally:
                plan.close()
                self._accounts = {who: one for who, one in self._accounts.items() if one.pasts}
                self._spells = before
            entries = []
            for account, new, table in held:
                if new.key not in self._channels:
                    table["table"] = table_of_channel(new.channel)
                entries.append(self._append({**table, "width": account.width}))
            return entries

    def _place(self, new: Spell) -> None:
        """Take steps of states in, if nothing that was released may be the same."""
        for other in self._spells.get(new.of, []):
            new.require_apart(other)
        self._spells.setdefault(new.of, []).append(new)

    def apply(
        self,
        release: Release,
        trace: Any,
        *,
        person: str,
        at: int = 0,
        rng: np.random.Generator | None = None,
    ) -> Any:
        """Record the release and make it."""
        self.record(release, person=person, at=at)
        return release.apply(trace, rng)

    def known(
        self,
        measure: LossMeasure,
        secret: Secret,
        *,
        person: str,
        at: int = 0,
        points: int | None = None,
    ) -> Loss:
        """Return what is known by now about a secret of the trace of `points` times from `at`.

        All releases of the person count. `points` may be left out where a release began there.
        """
        self._refresh()
        if person not in self._accounts:
            raise ParameterError(f"nothing was released about '{person}' in {self.path}.")
        account = self._accounts[person]
        begun = [past.points for past in account.pasts if past.at == at]
        if points is None and not begun:
            raise ParameterError(f"points must be given, as no release begins at {at}; got none.")
        return account.known(measure, secret, at, points or begun[0])

    def holds(self, release: Release, released: str, *, person: str, at: int = 0) -> bool:
        """Whether that release of the person was counted, with the hash of what is released."""
        self._refresh()
        return (person, at, digest(table_of_channel(release.channel)), released) in self._made

    def room(self, release: Release, *, person: str, at: int = 0) -> int:
        """Return how many times the release may still be made there, up to 1,000.

        What is known grows with every release, so the last number that fits is found by halving.
        """
        self._refresh()
        if self.budget is None:
            raise ParameterError(f"{self.path} has no budget, so nothing limits what is released.")
        known = self._accounts.get(person)
        account, new = self._planned(release, person, at, known.step if known else None)

        def fits(times: int) -> bool:
            return self._too_much(account, new, times) is None

        if not fits(1):
            return 0
        low, high = 1, 2
        while high <= MANY and fits(high):
            low, high = high, 2 * high
        high = min(high, MANY + 1)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if fits(middle) else (low, middle)
        return low

    # --- what may be released ------------------------------------------------------------------

    def _planned(
        self, release: Release, person: str, at: int, step: float | None
    ) -> tuple[Account, Past]:
        """Return the person's account and the release as it would stand in it."""
        if isinstance(at, bool) or not isinstance(at, (int, np.integer)) or at < 0:
            raise ParameterError(f"at must be a position on the time line, 0 or more; got {at!r}.")
        table = without_length(release.prior.specification())
        belief = next(release.prior.members()).belief()
        account = self._accounts.get(person) or Account(table, belief.trace_form[0])
        if digest(account.table) != digest(table):
            raise Incompatible(
                f"releases about '{person}' are counted under the prior {account.table}; got "
                f"{table}: use that prior, or another ledger, which then knows nothing of this one."
            )
        if account.pasts and account.step != step:
            raise Incompatible(
                f"positions of '{person}' are {account.step} s apart; got {step} s, so nobody can "
                f"tell which are the same: release samples at one rate, or under another name."
            )
        account.step = step
        _require_regular(release, account, int(at))
        key = digest(table_of_channel(release.channel))
        channel = self._channels.get(key, release.channel)
        return account, Past(int(at), channel, key, release.secret)

    def _refuse(self, account: Account, new: Past, person: str) -> None:
        if self.budget is None and account.within(new.at, new.end, 0):
            raise OverBudget(
                f"times {new.at} to {new.end - 1} of '{person}' were released before: noise "
                f"that is fresh averages out. Give the ledger a budget, so that both count "
                f"together; nothing was released."
            )
        if self.budget is not None and (loss := self._too_much(account, new, 1)) is not None:
            raise OverBudget(
                f"with this release {loss} would be known of '{person}', beyond the ledger's "
                f"{self.budget.limit:g}; nothing was released."
            )

    def _too_much(self, account: Account, new: Past, times: int) -> Loss | None:
        """Return what would be known too much of if a release was made so many times."""
        if self.budget is None:
            return None
        width, affected = account.width, account.affected(new, times)
        try:
            with account.planning(*[new] * times):
                for secret, at, points in affected:
                    found = account.known(self.budget.measure, secret, at, points)
                    if self.budget.exceeded_by(found):
                        return found
            width = account.width
        finally:
            account.width = width  # of readings that were finished
        return None

    # --- the file --------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the lock; what a writer that was killed has left is mended first."""
        import fcntl

        with Path(f"{self.path}.lock").open("a", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._refresh(mend=True)
            yield

    def _refresh(self, *, mend: bool = False) -> None:
        """Read what others have written since; refuse a file that is not what it was."""
        held = (self._bytes, self._head, self._count)
        try:
            entries, end, counted = read_ledger(self.path, *held)
        except ValueError as error:
            raise BrokenLedger(str(error)) from None
        for entry in entries:
            self._take(entry)
        self._bytes = end
        if entries:
            self._head, self._count = entries[-1]["hash"], self._count + len(entries)
        if mend and self.path.exists():
            if self.path.stat().st_size > end:  # half a line: its release was never made
                os.truncate(self.path, end)
            if counted != self._count:
                self._write_head()

    def _take(self, entry: Mapping[str, Any]) -> None:
        """Take an entry into the accounts."""
        registry = default_registry()
        if "ledger" in entry:
            found = entry["budget"]
            if found is not None:
                self.budget = Budget(registry.build("measure", found["measure"]), found["limit"])
            return
        key = entry["channel"]
        if "table" in entry:
            if digest(entry["table"]) != key:
                raise BrokenLedger(f"entry {entry['number']} of {self.path} has another channel.")
            self._channels[key] = channel_of_table(entry["table"])
        if entry["person"] not in self._accounts:
            self._accounts[entry["person"]] = Account(entry["prior"], entry["points"])
        account = self._accounts[entry["person"]]
        secret = registry.build("secret", entry["secret"])
        past = Past(entry["at"], self._channels[key], key, secret)
        account.add(past)
        self._made.add((entry["person"], past.at, key, entry["released"]))
        account.width, account.step = entry["width"], entry["step"]
        if account.is_chain:
            span = entry["span"] and tuple(entry["span"])
            spell = Spell(entry["person"], past.at, past.end, span)
            self._spells.setdefault(spell.of, []).append(spell)

    def _append(self, table: Mapping[str, Any]) -> str:
        """Write an entry to the disk, then count it."""
        line = sealed_line({**table, "number": self._count, "previous": self._head})
        handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            data = line.encode()
            while data:
                data = data[os.write(handle, data) :]
            os.fsync(handle)
        finally:
            os.close(handle)
        self._refresh()
        self._write_head()
        return self._head

    def _write_head(self) -> None:
        text = f"{self._count} {self._head}\n"
        write_whole(Path(f"{self.path}.head"), text, confidential=True)


def _require_regular(release: Release, account: Account, at: int) -> None:
    """Refuse what has no place on a time line of positions 0, 1, …."""
    points, table = release.channel.trace_form[0], release.prior.specification()
    if not account.repeats and at:
        raise Incompatible(
            "a chain with a matrix for each of its steps has no time line beyond them; at must "
            f"be 0, got {at}."
        )
    if not account.repeats and {past.points for past in account.pasts} - {points}:
        raise Incompatible("a chain with a matrix for each of its steps must keep its length.")
    if digest(table) != digest(without_length(table, points)):
        raise Incompatible(
            "a ledger counts positions 0, 1, …; the prior must have a number of times, got stamps."
        )
