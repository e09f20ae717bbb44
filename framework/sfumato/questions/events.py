"""What is asked of a trace of states: events, the state itself, several states jointly, all of it.

Every question but the last says by `asked` which secret variables it is about, and what of them:
pairs of values that must look alike, events that must not become likelier, guesses that are right.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Hashable, Iterable, Iterator, Mapping
from functools import singledispatch
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from sfumato.errors import OutsideHypotheses
from sfumato.questions.displacements import Displacements
from sfumato.values import ByContent, brief_repr, content_key, read_only

BoolArray = NDArray[np.bool_]

MOST_VALUES = 4096
"""How many joint states of several times are told apart at most."""
MOST_IN_MASKS = 2**26
"""How many booleans the masks of all events have at most."""


@attrs.frozen(eq=False)
class Asked:
    """One secret variable, a function of the states at some times, and what is asked of it.

    Attributes
    ----------
    times
        The k times it depends on.
    names
        What the R values are called in a witness.
    pairs
        Ordered pairs of values that must look alike, (P, 2).
    events
        The values that are events, which must not become much likelier.
    hits
        Which of W guesses is right for which value, (W, R).
    mask
        For an event over several times, (T, M): the values are whether $X_t$ lies in the mask at
        some time, or at none. It may be about more joint states than `members` may list.
    """

    __repr__ = brief_repr

    times: tuple[int, ...]
    _members: BoolArray | None
    names: tuple[Hashable, ...]
    pairs: NDArray[np.intp]
    events: tuple[int, ...]
    hits: BoolArray
    mask: BoolArray | None = None

    @property
    def members(self) -> BoolArray:
        """Which joint states give each value, (R, M^k): a partition, from the mask if there is one.

        The last time changes fastest.
        """
        if self._members is not None or self.mask is None:
            return np.asarray(self._members, dtype=bool)
        count = self.mask.shape[1]
        check_values(count, len(self.times))
        inside = np.zeros((count,) * len(self.times), dtype=bool)
        for axis, time in enumerate(self.times):
            inside |= np.expand_dims(
                self.mask[time], tuple(a for a in range(len(self.times)) if a != axis)
            )
        return np.stack([inside.ravel(), ~inside.ravel()])


def _one_of(alone: Masks, name: Hashable, *, both_ways: bool) -> Asked:
    """Return what is asked of one event, given by its mask: whether it has happened."""
    single, both = len(alone.times) == 1, np.eye(2, dtype=bool)
    members = np.stack([alone.rows[0], ~alone.rows[0]]) if single else None
    ways = np.array([(0, 1), (1, 0)] if both_ways else [(0, 1)])
    names, times = (name, ("not", name)), tuple(alone.times.tolist())
    return Asked(times, members, names, ways, (0,), both, None if single else alone.listed()[0])


def _states_of(
    times: tuple[int, ...], names: tuple[Hashable, ...], close: BoolArray | None
) -> Asked:
    """Return what is asked of the states at some times: values that are close must look alike.

    Without `close` any two must, and the very states are to be guessed.
    """
    every = np.eye(len(names), dtype=bool)
    pairs = np.argwhere(~every if close is None else close & ~every)
    hits = every if close is None else close
    return Asked(times, every, names, pairs, tuple(range(len(names))), hits)


def _require_alike(parts: list[Any]) -> None:
    if any(content_key(part.close) != content_key(parts[0].close) for part in parts):
        raise OutsideHypotheses("a union must count distances between states alike in all parts.")


def check_values(states: int, times: int) -> None:
    """Refuse a joint question about so many times that its values cannot be listed."""
    if states**times > MOST_VALUES:
        raise OutsideHypotheses(
            f"a question about {times} times jointly has {states}^{times} values; at most "
            f"{MOST_VALUES} are told apart: ask about fewer times."
        )


def _whole_numbers(value: ArrayLike) -> NDArray[np.intp]:
    return read_only(value, np.intp)


def _booleans(value: ArrayLike) -> BoolArray:
    return read_only(value, np.bool_)


@attrs.frozen(eq=False)
class Masks(ByContent):
    """Masks of events, (E, T, M), of which only the times are kept that an event is about.

    >>> import numpy as np
    >>> from sfumato.questions.events import Masks
    >>> Masks.single([1], np.array([[True, False]]), steps=3).listed().tolist()
    [[[False, False], [True, False], [False, False]]]
    >>> Masks.single(range(10**5), np.ones((10**5, 2), dtype=bool), steps=10**5).listed()
    Traceback (most recent call last):
    sfumato.errors.OutsideHypotheses: a question may have ... ask about 335 events at most, ...
    """

    __repr__ = brief_repr

    dtype: ClassVar[Any] = np.dtype(bool)
    ndim: ClassVar[int] = 3

    shape: tuple[int, int, int]
    events: NDArray[np.intp] = attrs.field(converter=_whole_numbers)  # (N,), in order
    times: NDArray[np.intp] = attrs.field(converter=_whole_numbers)  # (N,), in order in each event
    rows: BoolArray = attrs.field(converter=_booleans)  # (N, M), each with some state

    @classmethod
    def single(cls, times: ArrayLike, rows: BoolArray, steps: int) -> Masks:
        """Return those of events of one time each, (E,), about the states of its row, (E, M)."""
        return cls((len(rows), steps, rows.shape[1]), np.arange(len(rows)), times, rows)

    def require_few(self) -> None:
        """Refuse so many that they would fill the memory, or take hours if each takes all steps."""
        events, steps, states = self.shape
        if events * steps * states > MOST_IN_MASKS:
            raise OutsideHypotheses(
                f"a question may have events x steps x states up to {MOST_IN_MASKS:,}; got "
                f"{events:,} x {steps:,} x {states:,}: ask about "
                f"{MOST_IN_MASKS // (steps * states):,} events at most, or a shorter chain."
            )

    def listed(self) -> BoolArray:
        """Return all of them, (E, T, M), if they are few."""
        self.require_few()
        masks = np.zeros(self.shape, dtype=bool)
        masks[self.events, self.times] = self.rows
        return _booleans(masks)

    def alone(self) -> Iterator[Masks]:
        """Yield the masks of each event by itself."""
        ends = np.searchsorted(self.events, np.arange(self.shape[0] + 1)).tolist()
        for begin, end in itertools.pairwise(ends):
            own = np.zeros(end - begin, dtype=np.intp)
            yield Masks((1, *self.shape[1:]), own, self.times[begin:end], self.rows[begin:end])


def masks_of(value: ArrayLike | Masks) -> Masks:
    """Keep the rows of masks, (E, T, M), that have some state."""
    if isinstance(value, Masks):
        return value
    array = np.asarray(value)
    if array.dtype != np.bool_:
        raise ValueError(f"events.masks must be booleans; got {array.dtype}.")
    if array.ndim != 3:
        raise ValueError(
            f"events.masks must have shape (events, times, states); got {array.shape}."
        )
    events, times = np.nonzero(array.any(axis=2))
    return Masks(array.shape, events, times, array[events, times])


@attrs.frozen(eq=False)
class Events(ByContent):
    """Masks over time and state: event e says that $X_t$ lies in its mask for some time t.

    Most events are about a single time. An event over a window of times is a union, "in the
    hospital at some time between 9 and 12".

    Attributes
    ----------
    masks
        Booleans of shape (events, times, states), each non-zero at one time or at several; `kept`
        are the same by their times, which any chain has room for.
    names
        What each event is called in a witness, such as ``("hospital", 3)``.
    both_ways
        Whether not being in the event must also look like being in it. By default only an event
        against its opposite counts: what can raise the belief in it.

    >>> import numpy as np
    >>> from sfumato.questions import Events
    >>> Events(np.array([[[False, False], [True, False]]]), (("hospital", 1),)).times
    array([1])
    """

    __repr__ = brief_repr

    words: ClassVar[str] = "events"

    kept: Masks = attrs.field(converter=masks_of, alias="masks")
    names: tuple[Hashable, ...]
    both_ways: bool = False

    def asked(self) -> tuple[Asked, ...]:
        """Return one secret variable for each event: whether it has happened."""
        each = zip(self.kept.alone(), self.names, strict=True)
        return tuple(_one_of(mask, name, both_ways=self.both_ways) for mask, name in each)

    def __attrs_post_init__(self) -> None:
        if len(self.names) != self.kept.shape[0] or not self.names:
            raise ValueError(
                f"events.masks must have shape (events, times, states), one name each; "
                f"got {self.kept.shape} and {len(self.names)} names."
            )
        if not np.bincount(self.kept.events, minlength=len(self.names)).all():
            raise ValueError("each event must be about some time; one is about none.")

    @functools.cached_property
    def masks(self) -> BoolArray:
        """The masks, (events, times, states), unless they are too many to list."""
        return self.kept.listed()

    @property
    def has_windows(self) -> bool:
        """Whether some event is about several times."""
        return len(self.kept.events) > len(self.names)

    def single_times(self) -> Events:
        """Return each event at each of its times, as an event of that time alone.

        >>> import numpy as np
        >>> from sfumato.questions import Events
        >>> Events(np.ones((1, 2, 3), dtype=bool), ("ill",)).single_times().names
        (('ill', 0), ('ill', 1))
        """
        kept = self.kept
        names = zip((self.names[event] for event in kept.events), kept.times.tolist(), strict=True)
        return Events(Masks.single(kept.times, kept.rows, kept.shape[1]), tuple(names))

    @classmethod
    def union(cls, questions: Iterable[Events]) -> Events:
        """Return the question that has the events of all."""
        parts = list(questions)
        kept = [part.kept for part in parts]
        firsts = np.cumsum([0, *(one.shape[0] for one in kept)]).tolist()
        masks = Masks(
            (firsts.pop(), *kept[0].shape[1:]),
            np.concatenate([one.events + first for one, first in zip(kept, firsts, strict=True)]),
            np.concatenate([one.times for one in kept]),
            np.concatenate([one.rows for one in kept]),
        )
        ways = any(part.both_ways for part in parts)
        return cls(masks, tuple(name for part in parts for name in part.names), ways)

    @property
    def times(self) -> NDArray[np.intp]:
        """The time of each event, its first one for a window."""
        firsts = np.searchsorted(self.kept.events, np.arange(len(self.names)))
        return np.asarray(self.kept.times[firsts])


@attrs.frozen(eq=False)
class StateAt(Events):
    """The state at each of some times: its events are all $X_t = a$, its guess is the state.

    Attributes
    ----------
    close
        Which states must look alike, and count as a right guess for one another, (M, M).

    >>> import numpy as np
    >>> from sfumato.beliefs import Markov
    >>> from sfumato.questions import StateAt
    >>> chain = Markov([0.5, 0.5], np.eye(2), steps=3)
    >>> [asked.pairs.tolist() for asked in StateAt.of(chain, [1]).asked()]
    [[[0, 1], [1, 0]]]
    """

    __repr__ = brief_repr

    words: ClassVar[str] = "states"

    close: BoolArray | None = attrs.field(default=None, kw_only=True)

    @classmethod
    def of(cls, belief: Any, times: Iterable[int], close: BoolArray | None = None) -> StateAt:
        """Return the question about those times; without `close`, of any two states."""
        wanted, size = list(times), belief.state_count
        rows = np.tile(np.eye(size, dtype=bool), (len(wanted), 1))
        masks = Masks.single(np.repeat(wanted, size), rows, belief.steps)
        names = tuple((state, time) for time in wanted for state in belief.states)
        return cls(masks, names, close=close)

    def asked(self) -> tuple[Asked, ...]:
        """Return one secret variable for each time: its state."""
        size = self.kept.shape[2]
        starts, times = range(0, len(self.names), size), self.times.tolist()
        return tuple(_states_of((times[i],), self.names[i : i + size], self.close) for i in starts)

    @classmethod
    def union(cls, questions: Iterable[Events]) -> Events:
        """Return the question about all the times; states must be close alike in all parts."""
        parts: list[Any] = list(questions)
        _require_alike(parts)
        whole = Events.union(parts)
        return cls(whole.kept, whole.names, whole.both_ways, close=parts[0].close)


@attrs.frozen(eq=False)
class JointStates(ByContent):
    """The states at several times, jointly: pairs differ by close states at each of them.

    >>> import numpy as np
    >>> from sfumato.beliefs import Markov
    >>> from sfumato.questions import JointStates
    >>> chain = Markov([0.5, 0.5], np.eye(2), steps=3)
    >>> JointStates(((0, 2),), chain.states).asked()[0].names
    ((0, 0), (0, 1), (1, 0), (1, 1))
    """

    __repr__ = brief_repr

    words: ClassVar[str] = "several states jointly"

    groups: tuple[tuple[int, ...], ...]
    states: tuple[Hashable, ...]
    close: BoolArray | None = None

    def asked(self) -> tuple[Asked, ...]:
        """Return one secret variable for each group of times: their states together."""
        return tuple(map(self._asked, self.groups))

    def _asked(self, times: tuple[int, ...]) -> Asked:
        check_values(len(self.states), len(times))
        close = self.close
        for _ in times[1:]:
            close = None if close is None else np.kron(close, np.asarray(self.close))
        names = tuple(itertools.product(self.states, repeat=len(times)))
        return _states_of(times, names, close)

    @classmethod
    def union(cls, questions: Iterable[JointStates]) -> JointStates:
        """Return the question that has the groups of all."""
        parts = list(questions)
        _require_alike(parts)
        groups = tuple(group for part in parts for group in part.groups)
        return cls(groups, parts[0].states, parts[0].close)


def _plain(value: object) -> object:
    """Return numpy's whole numbers as Python's; anything else as it is."""
    return int(value) if isinstance(value, np.integer) else value


@attrs.frozen
class Guess:
    """The adversary succeeds with a guess that differs in at most `mistakes` positions.

    >>> from sfumato.questions import Guess
    >>> Guess(2).mistakes
    2
    """

    words: ClassVar[str] = "a guess of the whole trace"

    mistakes: int = attrs.field(converter=_plain)

    def __attrs_post_init__(self) -> None:
        if isinstance(self.mistakes, bool) or not isinstance(self.mistakes, int):
            raise ValueError(  # noqa: TRY004 - one error for every bad value
                f"guess.mistakes must be a whole number; got {self.mistakes!r}."
            )
        if self.mistakes < 0:
            raise ValueError(f"guess.mistakes must be 0 or more; got {self.mistakes}.")


ByTime = Mapping[str, Mapping[int, Any]]


@singledispatch
def by_time(question: Any, belief: Any) -> ByTime:
    """Return, for each thing that is asked, the question about it at every single time.

    A question that has no times, such as one about a whole trajectory, gives nothing.
    Packages with questions of their own register how those are taken apart.

    >>> import numpy as np
    >>> from sfumato.beliefs import Gaussian
    >>> from sfumato.matrices import Diagonal
    >>> from sfumato.questions import Displacements
    >>> from sfumato.questions.events import by_time
    >>> belief = Gaussian(Diagonal(np.ones(3)))
    >>> list(by_time(Displacements(groups=(((1,),),), radii=1.0), belief)["any value"])
    [0, 1, 2]
    """
    del question, belief
    return {}


@by_time.register
def _(question: Displacements, belief: Any) -> ByTime:
    """Ask of every time of the trace, whatever times the question names, by its widest radius."""
    radius = max(question.radii)
    return {
        "any value": {
            time: Displacements(groups=((belief.entries_at(time),),), radii=radius)
            for time in range(belief.times)
        }
    }


@by_time.register
def _(question: Events, belief: Any) -> ByTime:
    """Ask of every event by itself, at its own time, or at each of its times for a window."""
    found: dict[str, dict[int, Events]] = {}
    for mask, name in zip(question.kept.alone(), question.names, strict=True):
        states = [str(belief.states[state]) for state in np.flatnonzero(mask.rows[0])]
        row = " or ".join(states) if len(mask.times) == 1 else str(name)
        alone = Events(mask, (name,), question.both_ways)
        found.setdefault(row, {}).update(dict.fromkeys(mask.times.tolist(), alone))
    return found


@by_time.register
def _(question: StateAt, belief: Any) -> ByTime:
    """Ask of the state at every time of the trace, whatever times the question names."""
    return {
        "any state": {
            time: StateAt.of(belief, [time], question.close) for time in range(belief.steps)
        }
    }
